//! Inference in a linear chain: what the scores of one sentence say about its labels.
//!
//! `Transitions` holds what all sentences share, `Lattice` the scores of one sentence and the buffers to work in. With
//! scores of triples in the transitions, inference is that of a second-order chain (`second`).

mod abreast;
mod counts;
mod dispatch;
mod lattice;
mod links;
mod log_space;
mod max_plus;
mod scaled;
mod second;
mod transitions;
mod triples;
mod viterbi;

pub use abreast::Abreast;
pub use counts::PairCounts;
pub use lattice::Lattice;
pub use links::Links;
pub use transitions::{Edge, Transitions};
pub use triples::Triples;

#[cfg(test)]
mod tests;
