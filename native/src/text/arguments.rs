//! The arguments of a template's macro: the row, the column, an expression between quotation marks.

use crate::error::{Error, Result};

/// The row of a macro.
#[derive(Clone, Copy)]
pub(super) enum Row {
    /// Tokens after the current one, or before it if negative.
    Relative(isize),
    /// Tokens after the first one.
    FromStart(usize),
    /// Tokens before the last one.
    FromEnd(usize),
}

impl Row {
    /// The token that the row refers to, or, if it does not exist, the distance beyond the first token (negative) or the last (positive).
    #[inline(always)]
    pub(super) fn resolve(self, token: usize, tokens: usize) -> std::result::Result<usize, isize> {
        let at = match self {
            Row::Relative(offset) => token as isize + offset,
            Row::FromStart(n) => n as isize,
            Row::FromEnd(n) => tokens as isize - 1 - n as isize,
        };
        if at < 0 {
            Err(at)
        } else if at as usize >= tokens {
            Err(at - tokens as isize + 1)
        } else {
            Ok(at as usize)
        }
    }
}

/// The arguments of a macro.
pub(super) struct Arguments<'t> {
    /// The text that has not been parsed.
    pub(super) rest: &'t str,
}

impl<'t> Arguments<'t> {
    /// The argument before the next `end`.
    pub(super) fn next(&mut self, end: char) -> Option<&'t str> {
        let (argument, rest) = self.rest.split_once(end)?;
        self.rest = rest;
        Some(argument.trim())
    }

    /// The column of the macro `name`, or what is wrong.
    pub(super) fn column(&mut self, name: &str) -> std::result::Result<&'t str, &'static str> {
        let is_last = matches!(name, "x" | "X" | "length" | "shape" | "normal");
        let closes = self.rest.contains(']');
        let column = self.next(if is_last { ']' } else { ',' });
        if !is_last && column.map_or(closes, |column| column.contains(']')) {
            return Err(expected(name).1);
        }
        column.ok_or("no column")
    }

    /// The quoted expression before the closing bracket; `\"` stands for a quotation mark.
    pub(super) fn quoted(&mut self) -> Option<String> {
        let body = self.rest.trim_start().strip_prefix('"')?;
        let mut escaped = false;
        let end = body.find(|c| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        })?;
        self.rest = body[end + 1..].trim_start().strip_prefix(']')?;
        Some(body[..end].replace("\\\"", "\""))
    }
}

/// Parses the row of a macro.
pub(super) fn parse_row(text: &str) -> Result<Row> {
    let bad = || Error::Template(format!("row '{text}' is not a number such as -1, 0, +1, @1 or @-1"));
    if let Some(absolute) = text.strip_prefix('@') {
        return match absolute.parse::<isize>().map_err(|_| bad())? {
            0 => Err(Error::Template("row '@0': absolute rows count from @1, or from @-1 at the end".into())),
            n if n > 0 => Ok(Row::FromStart(n as usize - 1)),
            n => Ok(Row::FromEnd(n.unsigned_abs() - 1)),
        };
    }
    Ok(Row::Relative(text.parse().map_err(|_| bad())?))
}

/// The names of the macros.
const MACROS: [&str; 14] =
    ["x", "X", "t", "T", "m", "M", "drop", "DROP", "length", "shape", "normal", "in", "IN", "substrings"];

/// What is wrong with the name of a macro that does not exist.
pub(super) fn unknown_macro(name: &str) -> Option<String> {
    if MACROS.contains(&name) {
        return None;
    }
    let spelt = MACROS.iter().filter(|macro_name| macro_name.eq_ignore_ascii_case(name));
    let spelt = spelt.map(|macro_name| format!("%{macro_name}")).collect::<Vec<_>>().join(" or ");
    let remedy = if spelt.is_empty() { spelt } else { format!(", write {spelt}") };
    Some(format!("unknown macro %{name}{remedy}"))
}

/// An example of a macro, and what is wrong if its last argument is missing.
pub(super) fn expected(name: &str) -> (&'static str, &'static str) {
    match name {
        "in" | "IN" => ("%in[0,0,\"towns.txt\"]", "no \"lexicon\""),
        "substrings" => ("%substrings[0,0,4]", "%substrings needs a maximum length"),
        _ => ("%x[-1,0] or %t[0,0,\"^\\u\"]", "no \"expression\""),
    }
}
