//! Second order: scores of three labels in a row, exactly, in O(T L^3).
//!
//! The recursions of Sutton & McCallum (2012, section 4.1) run over pairs of neighbouring labels, as the second-order
//! chains of Sha & Pereira (2003) do, but a pair (i, j) only meets the L pairs (j, k). With psi_t(j, k) for the
//! first-order potentials of token t and its transition, and e for exp(triple score),
//!
//! alpha_t(j, k) = psi_t(j, k) * sum over i of alpha_{t-1}(i, j) e(i, j, k)
//! beta_{t-1}(i, j) = sum over k of e(i, j, k) psi_t(j, k) beta_t(j, k)
//!
//! For each label j in the middle both are products of a vector and a matrix. Pair p is made of tokens p and p + 1, from 0 on.
//! Sentences of one and two tokens have no triples: first order serves them. Scores too large for scaled probabilities go to
//! `log_space`.

pub mod buffers;
pub mod scaled;
pub mod viterbi;
