//! The interface between readers of text and their users: one implementation encodes sentences for training, another scores
//! them for tagging.

use crate::corpus::notes::Notes;
use std::ops::Range;

/// What the data say of a token's label.
#[derive(Clone, Debug, PartialEq)]
pub enum Gold<'a> {
    /// The label.
    Label(&'a [u8]),
    /// Several labels that include the token's.
    OneOf(Vec<&'a [u8]>),
    /// A distribution over labels: each label once, with its probability. The probabilities add up to 1.
    Soft(Vec<(&'a [u8], f64)>),
    /// Nothing: any label is possible.
    Unknown,
}

/// Receives sentences: the attributes of a token, then `end_token`; after the last token, `end_sentence`.
pub trait Sink {
    /// Whether state attributes of value 0 may be left out: they change no score.
    const SKIPS_ZEROS: bool = false;

    /// A state attribute (attribute x label) of the current token, with its value. `write` appends its name.
    fn state(&mut self, key: u64, value: f64, write: impl FnOnce(&mut Vec<u8>));
    /// A bigram attribute (attribute x label x label) of the current token. `write` appends its name.
    fn bigram(&mut self, key: u64, write: impl FnOnce(&mut Vec<u8>));
    /// Ends a token. Tokens of unlabelled data have no label.
    fn end_token(&mut self, label: Option<Gold<'_>>);
    /// Takes the costs of wrong labels of the current sentence's tokens, finite numbers >= 0, all of which have ended.
    fn costs(&mut self, _costs: &[f64]) {}
    /// Ends a sentence of the given weight.
    fn end_sentence(&mut self, weight: f64);
    /// Takes the places in the text of the sentence that has ended: what they are is up to the format (`text::format::Writing`).
    fn locate(&mut self, _places: &[Range<usize>]) {}
    /// Takes the place of a comment line between two sentences, or of the blank line after it, which is empty.
    fn pass_over(&mut self, _place: Range<usize>) {}
    /// Takes what the reader has noticed of a text or of a piece of it.
    fn note(&mut self, _notes: &Notes) {}
}

/// What a reader has given: a string for each token, its attributes and its label, and one for the end of each sentence.
#[cfg(test)]
#[derive(Default)]
pub struct Recorded<'t> {
    text: &'t [u8],
    strings: Vec<String>,
    attributes: String,
}

#[cfg(test)]
impl<'t> Recorded<'t> {
    /// What `read` gives of a text, or the place and the message of its mistake.
    pub fn of(
        text: &'t [u8],
        read: impl FnOnce(&mut Self) -> Result<(), crate::error::Located>,
    ) -> Result<Vec<String>, (usize, String)> {
        let mut recorded = Recorded { text, ..Recorded::default() };
        read(&mut recorded).map_err(|mistake| (mistake.offset, mistake.message))?;
        Ok(recorded.strings)
    }
}

#[cfg(test)]
impl Sink for Recorded<'_> {
    fn state(&mut self, key: u64, value: f64, write: impl FnOnce(&mut Vec<u8>)) {
        let mut name = Vec::new();
        write(&mut name);
        assert_eq!(key, super::hash::key_of(&name));
        self.attributes += &String::from_utf8(name).unwrap();
        self.attributes += &if value == 1.0 { " ".into() } else { format!("={value} ") };
    }
    fn bigram(&mut self, _key: u64, _write: impl FnOnce(&mut Vec<u8>)) {}
    fn end_token(&mut self, label: Option<Gold<'_>>) {
        let label = match label {
            Some(Gold::Label(label)) => String::from_utf8_lossy(label).into_owned(),
            Some(other) => format!("{other:?}"),
            None => "-".into(),
        };
        let attributes = std::mem::take(&mut self.attributes);
        self.strings.push(if attributes.is_empty() { format!(" {label}") } else { attributes + &label });
    }
    fn end_sentence(&mut self, weight: f64) {
        self.strings.push(format!("end {weight} at"));
    }
    fn locate(&mut self, places: &[Range<usize>]) {
        let end = self.strings.last_mut().expect("a sentence");
        places.iter().for_each(|place| *end += &format!(" [{}]", String::from_utf8_lossy(&self.text[place.clone()])));
    }
}
