//! The mean-field approximation: independent variables whose free energy is least (Wainwright & Jordan 2008, section 5).
//!
//! ```text
//! log Z >= sum over i of mu_i . (theta_i - log mu_i) + sum over ij of mu_i . theta_ij mu_j
//! ```
//!
//! The bound holds for any distributions mu_i. Coordinate ascent sets one after the other to softmax(theta_i + sum over j of
//! theta_ij mu_j), which never lowers it, and ends in a local maximum.

use crate::error::Result;
use crate::network::NetworkScores;
use crate::numeric::log_sum_exp;
use crate::threads::Interrupt;

/// A bound of log Z from below.
pub struct MeanField {
    pub log_z: f64,
    /// Laid out as the node scores; the states of a variable sum to 1.
    pub nodes: Vec<f64>,
}

/// Ascends from the distributions `nodes` until a sweep raises the bound by at most `tolerance` times its size, or for `sweeps`.
pub fn ascend(
    scores: NetworkScores<'_>,
    nodes: &[f64],
    (tolerance, sweeps): (f64, usize),
    interrupt: &Interrupt,
) -> Result<MeanField> {
    let network = scores.network;
    let mut mu = nodes.to_vec();
    let mut fields = Vec::new();
    let mut bound = f64::NEG_INFINITY;
    for _ in 0..sweeps {
        interrupt.check()?;
        for i in 0..network.n_variables() {
            field(scores, i, &mu, &mut fields);
            let node_scores = &scores.node[network.node(i)];
            fields.iter_mut().zip(node_scores).for_each(|(field, score)| *field += score);
            let log_z = log_sum_exp(fields.iter().copied());
            mu[network.node(i)].iter_mut().zip(&fields).for_each(|(mu, field)| *mu = (field - log_z).exp());
        }
        let value = value(scores, &mu);
        let rise = value - bound;
        bound = bound.max(value);
        if rise <= tolerance * bound.abs() {
            break;
        }
    }
    Ok(MeanField { log_z: bound, nodes: mu })
}

/// Computes the sum over j of theta_ij mu_j.
fn field(scores: NetworkScores<'_>, i: usize, mu: &[f64], field: &mut Vec<f64>) {
    let network = scores.network;
    field.clear();
    field.resize(network.node(i).len(), 0.0);
    for neighbour in network.neighbours(i) {
        let table = network.table_from(scores.edge, neighbour);
        let others = &mu[network.node(neighbour.variable as usize)];
        for (x, field) in field.iter_mut().enumerate() {
            *field += others.iter().enumerate().map(|(y, other)| other * table.at(x, y)).sum::<f64>();
        }
    }
}

/// The bound at some distributions.
fn value(scores: NetworkScores<'_>, mu: &[f64]) -> f64 {
    let network = scores.network;
    let mut fields = Vec::new();
    let of_variable = |i: usize| {
        field(scores, i, mu, &mut fields);
        let terms = mu[network.node(i)].iter().zip(&scores.node[network.node(i)]).zip(&fields);
        // Half of each edge's expected score is counted at either end.
        terms.map(|((&p, score), field)| if p > 0.0 { p * (score + field / 2.0 - p.ln()) } else { 0.0 }).sum::<f64>()
    };
    (0..network.n_variables()).map(of_variable).sum()
}

#[cfg(test)]
mod tests {
    use super::ascend;
    use crate::network::enumeration::enumerated;
    use crate::network::{Network, NetworkScores};
    use crate::threads::Interrupt;

    #[test]
    fn the_bound_is_below_log_z_and_exact_without_interactions() {
        let network = Network::new(vec![2, 3, 2], vec![(0, 1), (2, 1)]).unwrap();
        let node = [0.3, -0.2, 1.0, 0.1, -0.7, 0.0, 0.4];
        let table = [0.5, -1.0, 0.2, 0.8, 0.1, -0.3, 1.1, 0.0, -0.6, 0.4, 0.9, -0.2];
        for strength in [0.0, 0.5, 3.0] {
            let edge = table.map(|score| strength * score);
            let scores = NetworkScores::new(&network, &node, &edge).unwrap();
            let (log_z, _) = enumerated(scores);
            let start = [0.5, 0.5, 0.2, 0.3, 0.5, 1.0, 0.0];
            let bounds = [1, 2, 100].map(|sweeps| {
                let optimum = ascend(scores, &start, (0.0, sweeps), &Interrupt::default()).unwrap();
                assert!((optimum.nodes[2..5].iter().sum::<f64>() - 1.0).abs() < 1e-12);
                optimum.log_z
            });
            assert!(bounds[0] <= bounds[1] && bounds[1] <= bounds[2] && bounds[2] <= log_z + 1e-12);
            assert!(log_z - bounds[2] <= 0.2 * strength * strength + 1e-12);
        }
    }
}
