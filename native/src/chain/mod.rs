//! Linear chains, a room for each thing: inference, features, value and gradient, trained models, and labelling text with them.

pub mod features;
pub mod inference;
pub mod model;
pub mod objective;
pub mod tagging;
