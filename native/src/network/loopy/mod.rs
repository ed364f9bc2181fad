//! Loopy belief propagation: sum-product in a pairwise network (Pearl 1988; Yedidia, Freeman & Weiss 2005).
//!
//! ```text
//! m_{i->j}(x_j) = sum over x_i of psi_i(x_i) psi_ij(x_i, x_j) product over k != j of m_{k->i}(x_i)
//! ```
//!
//! Fixed points are stationary points of the Bethe free energy: at a fixed point the derivative of log Z with respect to a score
//! is the belief of its state or pair of states. On trees beliefs and log Z are exact.
//!
//! Tree-reweighted belief propagation (Wainwright, Jaakkola & Willsky 2005) gives each edge a number rho from (0, 1], the share
//! of a distribution of spanning forests that have the edge (its appearance), and computes
//!
//! ```text
//! m_{i->j}(x_j) = sum over x_i of psi_i(x_i) psi_ij(x_i, x_j)^(1 / rho_ij) product over k of m_{k->i}(x_i)^rho_ki / m_{j->i}(x_i).
//! ```
//!
//! At its fixed point, which is unique, log Z is at least the network's. With all rho = 1 it is belief propagation.
//!
//! Three rules compute the same messages. `odds` (binary variables) and `ratios` (any variables) apply if no product of messages
//! can leave the range of a double; `logs` applies to all networks and is slower.

pub mod logs;
pub mod mixing;
pub mod odds;
pub mod ratios;
pub mod rule;
pub mod run;
pub mod schedules;
pub mod slots;
#[cfg(test)]
mod tests;
