//! Exact inference by elimination (Lauritzen & Spiegelhalter 1988; Koller & Friedman 2009, chapters 9 and 10).
//!
//! Variables are eliminated one after the other. A variable v leaves a clique: v and its separator S, the neighbours that v has
//! when it is eliminated. The parent of the clique is the clique of the variable of S that is eliminated first; it contains all
//! of S. On the way up (`calibrate`), each clique computes from its children
//!
//! ```text
//! t(v, s) = scores of v and of its edges into S + messages of the children,   m(s) = log sum_v exp t(v, s),
//! ```
//!
//! and t becomes p(v | s) = exp(t(v, s) - m(s)). On the way down p(v, s) = p(v | s) p(s), where p(s) is summed out of the
//! table of the parent. Messages are logarithms, and conditional probabilities are at most 1: no scores overflow, and none give
//! 0 / 0.

pub mod calibrate;
pub mod cliques;
pub mod elimination;
pub mod pairs;
pub mod sample;
mod tables;
#[cfg(test)]
mod tests;
