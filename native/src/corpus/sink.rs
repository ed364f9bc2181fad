//! Where readers put what they read. One implementation encodes for training, another scores for tagging.

/// Receives sentences token by token: attributes, then `end_token`, then `end_sentence`.
pub trait Sink {
    /// A state attribute (attribute x label) with its value.
    fn state(&mut self, key: u64, value: f64, write: impl FnOnce(&mut Vec<u8>));
    /// A bigram attribute (attribute x label x label).
    fn bigram(&mut self, key: u64, write: impl FnOnce(&mut Vec<u8>));
    /// Ends a token; `label` is absent in unlabelled data.
    fn end_token(&mut self, label: Option<&[u8]>);
    fn end_sentence(&mut self, weight: f64);
}
