//! Graphs with labelled nodes as update rules see them: each in local coordinates, with inference on it alone.
//!
//! Weights are rows: of each node feature a weight for each label, then of each edge feature a weight for each pair of labels.
//! Pairs may share a weight. A graph has its scores, and its gradient, by node and label and by edge and weight of a pair.

pub mod graph;
pub mod inference;
pub mod view;
pub mod weights;
