//! Value and gradient of negative log-likelihoods.

pub mod chain;
pub mod classifier;
pub mod features;
pub(crate) mod layout;
