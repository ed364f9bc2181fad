//! Files of models, protected by a checksum and written whole or not at all; texts, compressed or not; packages of bytes between
//! processes.

pub mod atomic;
pub mod compression;
pub mod model_file;
pub mod opening;
pub mod packed;
pub mod signature;
pub mod text_file;
