//! Maximum-entropy classifiers over sparse matrices.

pub mod dual;
pub mod gram;
pub mod matrix;
pub mod newton;
pub mod objective;
pub mod residuals;
pub mod sliced;
