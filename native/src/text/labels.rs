//! The labels of column and attribute files, where a cell may hold a partial label.

use crate::corpus::sink::Gold;

/// The message for a sentence with another number of labels than tokens.
pub fn unequal(tokens: usize, labels: usize) -> String {
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    format!("{tokens} token{} but {labels} label{}", plural(tokens), plural(labels))
}

/// Fails if a sentence has another number of costs than tokens, or one that is not a finite number >= 0.
pub fn check_costs(costs: &[f64], tokens: usize) -> Result<(), String> {
    if costs.len() != tokens {
        return Err(format!("{} token weights for {tokens} token{}", costs.len(), if tokens == 1 { "" } else { "s" }));
    }
    match costs.iter().position(|cost| !(0.0..f64::INFINITY).contains(cost)) {
        Some(token) => Err(format!("token {token}: weight {} is not a finite number >= 0", costs[token])),
        None => Ok(()),
    }
}

/// How a reader takes the labels of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Labels {
    /// The text has no labels, or they are ignored.
    Ignored,
    /// A cell is a label.
    Whole,
    /// A cell is a label, or the format's own mark for an unknown label: `_` in CoNLL-U files, and `null` in JSON lines.
    Marked,
    /// A cell `?` is an unknown label, and a cell `A|B` is either of two labels; other cells are labels, or the format's own mark for
    /// an unknown label. JSON lines always have `null` and lists instead.
    Partial,
}

impl Labels {
    /// How labels of this name are read. Error: there is no such name.
    pub fn named(name: &str) -> crate::error::Result<Labels> {
        match name {
            "none" => Ok(Labels::Ignored),
            "whole" => Ok(Labels::Whole),
            "marked" => Ok(Labels::Marked),
            "partial" => Ok(Labels::Partial),
            _ => Err(crate::error::Error::Option(format!("labels '{name}' are unknown"))),
        }
    }

    /// Whether the format's own mark for an unknown label stands for any label.
    pub fn marks(self) -> bool {
        matches!(self, Labels::Marked | Labels::Partial)
    }

    /// Whether the text has labels to read.
    pub fn given(self) -> bool {
        self != Labels::Ignored
    }

    /// The label in a cell; None if labels are ignored.
    #[inline(always)]
    pub fn parse(self, cell: &[u8]) -> Result<Option<Gold<'_>>, String> {
        match self {
            Labels::Ignored => Ok(None),
            Labels::Whole | Labels::Marked => Ok(Some(Gold::Label(cell))),
            Labels::Partial => parse_partial(cell).map(Some),
        }
    }
}

/// The content of a cell of partial labels.
fn parse_partial(cell: &[u8]) -> Result<Gold<'_>, String> {
    if cell == b"?" {
        return Ok(Gold::Unknown);
    }
    if !cell.contains(&b'|') {
        return Ok(Gold::Label(cell));
    }
    let names: Vec<&[u8]> = cell.split(|&byte| byte == b'|').collect();
    let message = if names.contains(&b"".as_slice()) {
        "a label is missing next to a bar"
    } else if names.contains(&b"?".as_slice()) {
        "? matches any label and must stand alone"
    } else {
        return Ok(Gold::OneOf(names));
    };
    let cell = String::from_utf8_lossy(cell);
    Err(format!(
        "label '{cell}': {message}; write A|B for one of several labels, ? for any label \
         (labels that contain bars need JSON lines)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_say_what_is_known() {
        let parse = |cell: &'static str| Labels::Partial.parse(cell.as_bytes());
        assert_eq!(parse("?"), Ok(Some(Gold::Unknown)));
        assert_eq!(parse("A"), Ok(Some(Gold::Label(b"A"))));
        assert_eq!(parse("A?"), Ok(Some(Gold::Label(b"A?"))));
        assert_eq!(parse("A|B|A"), Ok(Some(Gold::OneOf(vec![b"A", b"B", b"A"]))));
        assert_eq!(Labels::Whole.parse(b"A|"), Ok(Some(Gold::Label(b"A|"))));
        assert_eq!(Labels::Whole.parse(b"?"), Ok(Some(Gold::Label(b"?"))));
        assert_eq!(Labels::Ignored.parse(b"A|"), Ok(None));
        for bad in ["A|", "|", "|A", "A||B", "?|A"] {
            let message = parse(bad).unwrap_err();
            assert!(message.contains(bad) && message.contains("A|B"), "{message}");
        }
    }
}
