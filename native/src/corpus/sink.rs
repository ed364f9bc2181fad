//! The interface between readers of text and their users: one implementation encodes sentences for training, another scores
//! them for tagging.

/// What the data say of a token's label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gold<'a> {
    /// The label.
    Label(&'a [u8]),
    /// Several labels, one of which is the token's.
    OneOf(Vec<&'a [u8]>),
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
    /// Ends a sentence of the given weight.
    fn end_sentence(&mut self, weight: f64);
}
