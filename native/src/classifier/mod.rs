//! Maximum-entropy classifiers over sparse and dense matrices.

pub mod as_chain;
pub mod centring;
pub mod choices;
pub mod curvature;
pub mod dense;
mod derived;
pub mod descent;
pub mod dual;
pub mod gap;
pub mod gram;
mod leap;
pub mod matrix;
pub mod newton;
pub mod objective;
mod of_corpus;
pub mod path;
pub mod point;
pub mod products;
pub mod residuals;
mod scaled;
pub mod screen;
mod search;
pub mod sliced;
pub mod softmax;
pub mod table;
mod units;
