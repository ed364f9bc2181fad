//! Files of models: sealed by a checksum, written whole or not at all.

pub mod atomic;
pub mod model_file;
