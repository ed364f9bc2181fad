//! Inference in a linear chain: log Z, marginals and the best labelling of a sentence, from its scores.
//!
//! `Transitions` holds the scores that all sentences share, `Lattice` the scores of one sentence and the buffers to work in.
//! Scores of triples in the transitions make the chain one of second order.
//!
//! - `dispatch` picks the recursion for a sentence by itself: `scaled` or `second::scaled` on probabilities, `log_space` for
//!   scores too large for them, `viterbi` or `second::viterbi` for the best labelling, `n_best` for the next ones.
//! - `spans` asks for the probability of a chunk, read from labels by the rule in `chunks`.
//! - `abreast` takes eight sentences at once, over the transitions that `links` lists; `pruned` takes eight pieces of sentences
//!   whose tokens keep a few of their labels.
//!
//! `Allowed` says which transitions are allowed, and a `Mask` forbids labels of single tokens. What is forbidden has the
//! potential 0, takes no part in the choice of a recursion, and keeps no sentence off the fast recursions.

mod abreast;
mod allowed;
mod centring;
mod chunks;
pub mod constraints;
mod counts;
mod dispatch;
mod label_sets;
mod lanes;
mod lattice;
mod links;
mod log_space;
mod mask;
mod max_plus;
mod n_best;
mod pruned;
mod scaled;
mod schemes;
mod second;
mod spans;
mod transitions;
mod triples;
mod viterbi;

pub use abreast::Abreast;
pub use allowed::Allowed;
pub use chunks::{ChunkRule, Span};
pub use counts::PairCounts;
pub use label_sets::LabelSets;
pub use lattice::Lattice;
pub use links::Links;
pub use mask::Mask;
pub use n_best::Labelling;
pub use pruned::{LinkCounts, LinkFactors, Pieces, PrunedLattice};
pub use schemes::Pair;
pub use spans::SpanProbabilities;
pub use transitions::{Edge, Transitions};
pub use triples::Triples;

#[cfg(test)]
mod masked_tests;
#[cfg(test)]
mod tests;
