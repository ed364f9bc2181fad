//! Training sample by sample: one update rule a file, each named like its solver in `src/loglinear/solvers/`.

pub mod marks;
pub mod sgd_l1;
