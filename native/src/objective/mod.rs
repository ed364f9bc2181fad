//! Value and gradient of negative log-likelihoods.

mod aggregate;
pub mod chain;
pub mod classifier;
mod counts;
pub mod dual;
pub mod features;
pub(crate) mod layout;
pub mod newton;
pub mod nodewise;
pub(crate) mod pass;
pub mod pseudolikelihood;
pub mod restrict;
pub(crate) mod states;
mod sums;
