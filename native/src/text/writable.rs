//! Which labels a text can hold so that they are read again as they are. Every writer of text asks here before it writes.

use crate::error::{Error, Result};
use crate::text::labels::check_single;

/// Characters at which lines end for some programs, besides control characters: ends of lines and of paragraphs.
pub const ENDS: [char; 2] = ['\u{2028}', '\u{2029}'];

/// Where labels are written. Characters that one place cannot hold inside a label, later places cannot hold either.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// A cell that may be in quotes, as in CSV.
    Quotes,
    /// A line of another program's file, or its output.
    Program,
    /// A cell between tabs.
    Line,
    /// A line of its own, or before the tab and the text that it labels.
    Text,
    /// A cell between tabs where `_` is an unknown label.
    Marked,
    /// A cell between runs of blanks.
    Blanks,
}

impl Place {
    /// The place of this name. Error: there is none.
    pub fn named(name: &str) -> Result<Place> {
        match name {
            "quotes" => Ok(Place::Quotes),
            "line" => Ok(Place::Line),
            "text" => Ok(Place::Text),
            "blanks" => Ok(Place::Blanks),
            _ => Err(Error::Option(format!("place '{name}' is unknown"))),
        }
    }

    /// What keeps a label from being written here, as the end of a sentence; None if nothing does.
    pub fn problem(self, label: &str) -> Option<&'static str> {
        let contains = |wanted: &[char]| self > Place::Quotes && label.contains(wanted);
        if label.is_empty() {
            Some("is empty")
        } else if contains(&['\t', '\n', '\r']) || contains(&ENDS) {
            Some("contains a tab or the end of a line")
        } else if label.chars().any(|c| c.is_control() && !['\t', '\n', '\r'].contains(&c)) {
            Some("contains a control character")
        } else if self == Place::Blanks && label.contains(' ') {
            Some("contains a space, which separates columns here")
        } else if self >= Place::Line && label != label.trim_matches(' ') {
            Some("begins or ends with a space")
        } else if matches!(self, Place::Quotes | Place::Text) && label != label.trim() {
            Some("begins or ends with white space")
        } else if self >= Place::Line && check_single(label.as_bytes()).is_err() {
            Some("would be read as probabilities of labels")
        } else if self == Place::Marked && label == "_" {
            Some("would be read as an unknown label")
        } else {
            None
        }
    }

    /// Fails if one of the labels, of which `what` says whose they are, cannot be written here.
    pub fn check(self, what: &str, labels: &[String], remedy: &str) -> Result<()> {
        let wrong = labels.iter().find_map(|label| Some((label, self.problem(label)?)));
        wrong.map_or(Ok(()), |(label, problem)| {
            Err(Error::Data(format!("{what} {label:?} {problem}, so it cannot be written as text; {remedy}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Place; 6] = [Place::Quotes, Place::Program, Place::Line, Place::Text, Place::Marked, Place::Blanks];

    /// The places that can hold a label.
    fn fit(label: &str) -> Vec<Place> {
        ALL.into_iter().filter(|place| place.check("", &["A".into(), label.into()], "").is_ok()).collect()
    }

    #[test]
    fn a_label_is_refused_where_it_would_not_be_read_again_as_it_is() {
        use Place::{Blanks, Line, Marked, Program, Quotes, Text};
        for label in ["B-PER", "A|B", "?", "é", "A\u{a0}B", "A\u{200b}", "A\u{202e}B", "\"A", "A:0.7"] {
            assert_eq!(fit(label), ALL, "{label:?}");
        }
        for label in ["", "\0", "A\u{1b}[31m", "A\u{9b}B", "A\u{85}B", "A\u{b}B", "A\u{7f}"] {
            assert_eq!(fit(label), [], "{label:?}");
        }
        for label in ["A\tB", "A\nB", "A\rB", "A\u{2028}B"] {
            assert_eq!(fit(label), [Quotes], "{label:?}");
        }
        for label in ["A\r", "\nA", "\u{2029}"] {
            assert_eq!(fit(label), [], "{label:?}");
        }
        for label in [" A", "A ", " "] {
            assert_eq!(fit(label), [Program], "{label:?}");
        }
        for label in ["A\u{a0}", "\u{a0}", "\u{3000}A"] {
            assert_eq!(fit(label), [Program, Line, Marked, Blanks], "{label:?}");
        }
        assert_eq!(fit("A:0.7|B:0.3"), [Quotes, Program]);
        assert_eq!(fit("A B"), [Quotes, Program, Line, Text, Marked]);
        assert_eq!(fit("_"), [Quotes, Program, Line, Text, Blanks]);
        let message = Line.check("the label", &["A\tB".into()], "rename it").unwrap_err().to_string();
        assert_eq!(
            message,
            r#"the label "A\tB" contains a tab or the end of a line, so it cannot be written as text; rename it"#
        );
    }
}
