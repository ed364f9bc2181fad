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
