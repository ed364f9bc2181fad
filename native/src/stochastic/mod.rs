//! Training sample by sample. A file for each update rule, named like its solver in `src/loglinear/solvers/`, written against the
//! traits of `view`; the rules share `visits` of samples in a sequence. Of chains there are `samples` with their `marks`, `weights`,
//! `inference` on a sample, and `steps` along its gradient, which `chains` joins; of graphs there is `graphs`. The learners in
//! `online` follow the mistakes of the best labelling instead of a gradient.

pub mod adagrad;
mod chains;
pub mod graphs;
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
pub mod view;
pub mod visits;
pub mod weights;
