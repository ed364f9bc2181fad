//! loglinear, the native half: what touches every token of every sentence.
//!
//! Data flows one way: text -> ids -> scores -> marginals -> gradient. Python decides the rest.

pub mod corpus;
pub mod error;
pub mod inference;
//MODEL pub mod model;
//MODEL pub mod model_file;
pub mod numeric;
//MODEL pub mod objective;
pub mod text;
pub mod threads;
//MODEL pub mod vectors;

#[cfg(feature = "python")]
mod bindings;
