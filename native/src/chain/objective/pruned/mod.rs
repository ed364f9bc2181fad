//! Working sets of labels: an objective over the likely labels of each token, corrected so that it agrees with the whole
//! objective in value and gradient at the weights where the sets were chosen.
//!
//! With R(w) for the sum of weight * log Z over lattices that keep the labels with a marginal above tau at w0, and F for the whole
//! objective,
//!
//! S(w) = R(w) + (grad F(w0) - grad R(w0)) . (w - w0) + F(w0) - R(w0) + guard(w - w0).
//!
//! The guard stands for the curvature of the labels that were pruned: without it, a weight whose feature has hardly any mass
//! among the remaining labels could move freely.
//!
//! Tokens with a single label left cut sentences into pieces; whatever lies outside the pieces is linear in w, and so is the score
//! of the gold labels: the correction takes care of both. Sources: pruning by marginals, Pal, Sutton & McCallum (2006), "Sparse
//! forward-backward using minimum divergence beams"; the correction, Lewis & Nash (2005), "Model problems for the multigrid
//! optimization of systems governed by differential equations".
//!
//! - `likely` keeps the likely labels of each token, found in an evaluation of the whole objective;
//! - `pieces` cuts the sentences into pieces by the labels that their tokens keep;
//! - `cost` compares evaluations over these pieces with evaluations of the whole objective;
//! - `layout` lays pieces out in groups, with the features that `by_attribute` finds, in `entries`;
//! - `correction` is the linear part and the guard;
//! - `objective` evaluates S, by the recursions of `inference::pruned`.

mod by_attribute;
mod correction;
mod cost;
mod entries;
mod layout;
mod likely;
mod objective;
mod pieces;

pub use likely::{BlockLabels, LikelyLabels};
pub use objective::PrunedObjective;
pub use pieces::Bounds;
