//! Linear chains: features and their layout, value and gradient, inference, trained models and labelling text with them.

mod aggregate;
pub mod batch;
pub mod confidence;
mod counts;
pub mod feature_names;
pub mod features;
pub mod inference;
pub(crate) mod layout;
pub mod masks;
pub mod model;
mod model_encoding;
mod model_weights;
pub mod objective;
pub(crate) mod pass;
pub mod printing;
pub mod pruned;
pub mod restrict;
mod sample_nlls;
pub mod schemes;
mod seen;
pub mod sequence;
pub mod start;
pub(crate) mod states;
pub mod stream;
mod sums;
pub mod tagger;
mod weighted;
