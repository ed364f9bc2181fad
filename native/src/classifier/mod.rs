//! Maximum-entropy classifiers over sparse matrices.

pub mod as_chain;
pub mod dual;
pub mod gram;
pub mod matrix;
pub mod newton;
pub mod objective;
mod of_corpus;
pub mod residuals;
pub mod sliced;
