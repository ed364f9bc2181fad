//! The native half of loglinear: everything that touches each token of each sentence.
//!
//! Data flows one way: text -> ids -> scores -> marginals -> gradient. Python decides the rest. The modules below are listed
//! by floor: a module imports only from modules listed above it.

pub mod error;
pub mod memory;
pub mod threads;

pub mod numeric;

pub mod corpus;

pub mod files;
pub mod text;

pub mod chain;
pub mod foreign;

pub mod classifier;
pub mod stochastic;

pub mod network;

#[cfg(feature = "python")]
mod bindings;

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

pub mod c_api;

#[global_allocator]
static ALLOCATOR: memory::Allocator = memory::Allocator;
