//! Training sample by sample: one update rule a file, each named like its solver in `src/loglinear/solvers/`, on what they
//! share: `samples` with their `marks`, `weights`, `inference` on a sample, and `steps` along its gradient.

pub mod adagrad;
pub mod inference;
pub mod marks;
pub mod repeats;
pub mod sag;
pub mod samples;
pub mod sg;
pub mod sgd_l1;
pub mod steps;
pub mod sum_tree;
pub mod visits;
pub mod weights;
