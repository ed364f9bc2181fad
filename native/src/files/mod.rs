//! Files of models: protected by a checksum, and written whole or not at all.

pub mod atomic;
pub mod model_file;
