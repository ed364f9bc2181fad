//! Files of models, protected by a checksum and written whole or not at all; packages of bytes between processes.

pub mod atomic;
pub mod model_file;
pub mod packed;
pub mod signature;
