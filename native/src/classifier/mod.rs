//! Maximum-entropy classifiers over sparse matrices.

pub mod as_chain;
pub mod dual;
pub mod matrix;
pub mod newton;
pub mod objective;
pub mod sliced;
