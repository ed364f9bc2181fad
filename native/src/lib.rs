//! loglinear, the native half: what touches every token of every sentence.
//!
//! Data flows one way: text -> ids -> scores -> marginals -> gradient. Python decides the rest. Modules stand on those above them:

pub mod error;
pub mod threads;

pub mod numeric;

pub mod corpus;

pub mod files;
pub mod text;

pub mod chain;

pub mod classifier;
pub mod stochastic;

pub mod network;

#[cfg(feature = "python")]
mod bindings;
