//! Maximum-entropy classifiers over sparse and dense matrices.

pub mod as_chain;
pub mod dense;
pub mod dual;
pub mod gram;
pub mod matrix;
pub mod newton;
pub mod objective;
mod of_corpus;
pub mod residuals;
pub mod sliced;
pub mod table;
