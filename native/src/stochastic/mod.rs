//! Training sample by sample: one update rule a file, each named like its solver in `src/loglinear/solvers/`, on what they
//! share: `samples` with their `marks`, and `weights`.

pub mod marks;
pub mod samples;
pub mod sgd_l1;
pub mod weights;
