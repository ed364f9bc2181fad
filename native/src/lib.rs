//! loglinear, the native half: what touches every token of every sentence.
//!
//! Data flows one way: text -> ids -> scores -> marginals -> gradient. Python decides the rest.

pub mod aligned;
pub mod corpus;
pub mod design;
pub mod error;
pub mod inference;
pub mod model;
pub mod model_file;
pub mod network;
pub mod network_file;
pub mod numeric;
pub mod objective;
pub mod random;
pub mod sliced;
pub mod stochastic;
pub mod tagger;
pub mod text;
pub mod threads;
pub mod vectors;

#[cfg(feature = "python")]
mod bindings;
