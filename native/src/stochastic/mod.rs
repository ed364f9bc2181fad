//! Training sample by sample. A file for each update rule, named like its solver in `src/loglinear/solvers/`; the rules share
//! `samples` with their `marks`, `visits` of samples in a sequence, `weights`, `inference` on a sample, and `steps` along its
//! gradient. The learners in `online` follow the mistakes of the best labelling instead of a gradient.

pub mod adagrad;
pub mod inference;
pub mod marks;
pub mod online;
pub mod repeats;
pub mod sag;
pub mod samples;
pub mod sg;
pub mod sgd_l1;
pub mod steps;
pub mod sum_tree;
pub mod visits;
pub mod weights;
