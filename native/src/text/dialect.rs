//! Dialects of templates: our own rules, and the rules of Wapiti and of CRF++, whose templates can be read unchanged.

#![deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)]

use crate::error::{Error, Result};

/// The program whose rules a template follows.
///
/// | | own | `#!wapiti` | `#!crf++` |
/// | --- | --- | --- | --- |
/// | `#` starts a comment | first in a line, or after white space | anywhere | first in a line |
/// | first letter | any case | made lower case, in names too | `U` or `B` |
/// | macros | all | `%x`, `%t`, `%m`, `%X`, `%T`, `%M` | `%x`, rows from -8 to 8 |
/// | `%X` `%T` `%M` lower | all letters | ASCII letters | |
/// | expressions | `pattern::compile` | `pattern::compile_wapiti`, also matched against paddings | |
/// | beyond the ends | `_B-1`, `_B+1`, ... | `_x-1` to `_x-4`, `_x-#`, `_x+1` to `_x+4`, `_x+#` | as own |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Own,
    Wapiti,
    Crfpp,
}

impl Dialect {
    /// The first line of a template that follows these rules.
    pub fn first_line(self) -> &'static str {
        match self {
            Dialect::Own => "",
            Dialect::Wapiti => "#!wapiti",
            Dialect::Crfpp => "#!crf++",
        }
    }

    /// The rules that a template names in its first line.
    pub(super) fn of(source: &str) -> Result<Dialect> {
        let first = source.lines().next().unwrap_or("").trim_end();
        if !first.starts_with("#!") {
            return Ok(Dialect::Own);
        }
        let dialect = [Dialect::Wapiti, Dialect::Crfpp].into_iter().find(|dialect| dialect.first_line() == first);
        dialect.ok_or_else(|| {
            Error::Template(format!(
                "template line 1: unknown syntax {first}; use #!wapiti or #!crf++, or leave the line out"
            ))
        })
    }

    /// The line without a comment and the white space before it.
    pub(super) fn without_comment(self, line: &str) -> &str {
        match self {
            Dialect::Own => without_comment(line),
            Dialect::Wapiti => line.split('#').next().unwrap_or("").trim_end(),
            Dialect::Crfpp => {
                if line.starts_with('#') {
                    ""
                } else {
                    line
                }
            }
        }
    }

    /// The string that a macro finds beyond the first token (negative) or the last one (positive).
    pub(super) fn padding(self, beyond: isize) -> String {
        match self {
            Dialect::Wapiti if beyond.abs() > 4 => format!("_x{}#", if beyond < 0 { '-' } else { '+' }),
            Dialect::Wapiti => format!("_x{beyond:+}"),
            Dialect::Own | Dialect::Crfpp => format!("_B{beyond:+}"),
        }
    }
}

/// The line without a comment and the white space before it.
fn without_comment(line: &str) -> &str {
    let (mut quoted, mut previous) = (false, ' ');
    for (at, character) in line.char_indices() {
        match character {
            '"' if previous != '\\' => quoted = !quoted,
            '#' if !quoted && previous.is_whitespace() => return line[..at].trim_end(),
            _ => {}
        }
        previous = character;
    }
    line.trim_end()
}
