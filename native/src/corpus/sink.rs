//! The interface between readers of text and their users: one implementation encodes sentences for training, another scores
//! them for tagging.

/// Receives sentences: the attributes of a token, then `end_token`; after the last token, `end_sentence`.
pub trait Sink {
    /// A state attribute (attribute x label) of the current token, with its value. `write` appends its name.
    fn state(&mut self, key: u64, value: f64, write: impl FnOnce(&mut Vec<u8>));
    /// A bigram attribute (attribute x label x label) of the current token. `write` appends its name.
    fn bigram(&mut self, key: u64, write: impl FnOnce(&mut Vec<u8>));
    /// Ends a token. Tokens of unlabelled data have no label.
    fn end_token(&mut self, label: Option<&[u8]>);
    /// Ends a sentence of the given weight.
    fn end_sentence(&mut self, weight: f64);
}
