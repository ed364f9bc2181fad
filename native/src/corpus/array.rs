//! The arrays that a corpus is made of, as corpora on disk name them.

/// An array of a corpus.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Array {
    SentenceEnds,
    StateEnds,
    StateIds,
    Values,
    BigramEnds,
    BigramIds,
    Gold,
    Weights,
    AttributeKeys,
    AttributeEnds,
    AttributeNames,
    Costs,
}

/// The arrays with the names of their files, and the bytes of a number.
pub const ARRAYS: [(Array, &str, usize); 12] = [
    (Array::SentenceEnds, "sentence_ends.u64", 8),
    (Array::StateEnds, "state_ends.u64", 8),
    (Array::StateIds, "state_ids.u32", 4),
    (Array::Values, "values.f64", 8),
    (Array::BigramEnds, "bigram_ends.u64", 8),
    (Array::BigramIds, "bigram_ids.u32", 4),
    (Array::Gold, "gold.u32", 4),
    (Array::Weights, "weights.f64", 8),
    (Array::AttributeKeys, "attribute_keys.u64", 8),
    (Array::AttributeEnds, "attribute_ends.u64", 8),
    (Array::AttributeNames, "attribute_names.u8", 1),
    (Array::Costs, "costs.f64", 8),
];

impl Array {
    /// The name of the array's file, and the bytes of a number.
    pub fn row(self) -> (&'static str, usize) {
        let (_, name, width) = ARRAYS[self as usize];
        (name, width)
    }
}
