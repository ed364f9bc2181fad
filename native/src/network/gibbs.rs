//! Gibbs sampling in a pairwise network (Geman & Geman 1984): a sweep visits the variables one after the other and draws each
//! from its distribution given all others.
//!
//! Threads run whole chains. Each chain has its own stream of random numbers, so that samples depend on the seed alone.

use crate::error::{Error, Result};
use crate::network::{Network, NetworkScores, zeros};
use crate::numeric::random::Random;
use crate::threads::{Interrupt, Pool, parts, share};

/// The options of the sampler.
#[derive(Clone, Copy, Debug)]
pub struct GibbsSettings {
    /// Sweeps over all variables.
    pub sweeps: usize,
    /// Every `thin`-th sweep gives a sample.
    pub thin: usize,
    pub seed: u64,
}

/// Sweeps after which the sampler recomputes the fields, so that rounding errors of their updates do not pile up.
const REFRESH: usize = 256;

/// Runs a chain from each row of `start`; returns the samples of all chains, a row each, chain by chain.
pub fn sample(
    scores: NetworkScores<'_>,
    start: &[i32],
    settings: &GibbsSettings,
    pool: Pool,
    interrupt: &Interrupt,
) -> Result<Vec<i32>> {
    let network = scores.network;
    let n = network.n_variables();
    let chains = start.len() / n.max(1);
    check(network, start, settings)?;
    let n_samples = settings.sweeps / settings.thin;
    let mut samples = zeros(n.checked_mul(n_samples).and_then(|size| size.checked_mul(chains)), || {
        format!("{chains} chains of {n_samples} samples do not fit in memory; use fewer sweeps")
    })?;
    let binary = network.states().iter().all(|&r| r == 2).then(|| Couplings::new(scores));
    let work =
        (0..chains).zip(start.chunks_exact(n.max(1))).zip(parts(&mut samples, (0..chains).map(|_| n * n_samples)));
    let done = share(pool, work.collect(), |((chain, start), out)| {
        let mut random = Random::new(settings.seed, chain as u64);
        if let Some(couplings) = &binary {
            let mut fields = vec![0.0; n];
            run(start, settings, interrupt, out, |sweep, state| {
                if sweep.is_multiple_of(REFRESH) {
                    couplings.refresh(state, &mut fields);
                }
                couplings.sweep(state, &mut fields, &mut random);
            })
        } else {
            let mut weights = Vec::new();
            run(start, settings, interrupt, out, |_, state| {
                (0..n).for_each(|i| {
                    local_scores(scores, i, state, &mut weights);
                    state[i] = draw(&mut weights, &mut random);
                });
            })
        }
    });
    done.into_iter().collect::<Result<()>>()?;
    Ok(samples)
}

/// Fails if no sweep would be kept or a state of `start` does not exist.
fn check(network: &Network, start: &[i32], settings: &GibbsSettings) -> Result<()> {
    if settings.thin == 0 {
        return Err(Error::Option("thin is 0; it must be at least 1, which keeps every sweep".into()));
    }
    for state in start.chunks_exact(network.n_variables().max(1)) {
        let wrong = |(&state, &r): (&i32, &u32)| state < 0 || state as u32 >= r;
        if let Some(i) = state.iter().zip(network.states()).position(wrong) {
            let message = format!("start: state {} of variable {i} is outside 0..{}", state[i], network.states()[i]);
            return Err(Error::Option(message));
        }
    }
    Ok(())
}

/// Runs a chain: calls `sweep` with the number of the sweep and the state, and copies every sample to a row of `out`.
fn run(
    start: &[i32],
    settings: &GibbsSettings,
    interrupt: &Interrupt,
    out: &mut [i32],
    mut sweep: impl FnMut(usize, &mut [i32]),
) -> Result<()> {
    let mut state = start.to_vec();
    let mut rows = out.chunks_exact_mut(state.len().max(1));
    for number in 0..settings.sweeps {
        interrupt.check()?;
        sweep(number, &mut state);
        if (number + 1).is_multiple_of(settings.thin) {
            let Some(row) = rows.next() else { break };
            row.copy_from_slice(&state);
        }
    }
    Ok(())
}

/// Writes the scores of the states of variable i given the states of all others.
fn local_scores(
    NetworkScores { network, node, edge }: NetworkScores<'_>,
    i: usize,
    state: &[i32],
    sums: &mut Vec<f64>,
) {
    sums.clear();
    sums.extend_from_slice(&node[network.node(i)]);
    for neighbour in network.neighbours(i) {
        let (table, other) = (network.table_from(edge, neighbour), state[neighbour.variable as usize] as usize);
        sums.iter_mut().enumerate().for_each(|(x, sum)| *sum += table.at(x, other));
    }
}

/// Draws a state with probability proportional to the exponential of its score.
fn draw(scores: &mut [f64], random: &mut Random) -> i32 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        sum += (*score - most).exp();
        *score = sum;
    }
    let threshold = random.uniform() * sum;
    let last = scores.len() - 1;
    scores[..last].iter().position(|&sum| threshold < sum).unwrap_or(last) as i32
}

/// A network of binary variables in the form log p(x) = sum of a_i x_i + sum of J_ij x_i x_j + constant.
///
/// The field of a variable is its log odds given all others, a_i + sum over neighbours of J_ij x_j.
struct Couplings {
    /// a_i
    log_odds: Vec<f64>,
    /// j and J_ij for all neighbours j of variable 0, then of variable 1, and so on.
    neighbours: Vec<(u32, f64)>,
    /// Variable -> beginning of its neighbours; at the end, their number.
    at: Vec<usize>,
}

impl Couplings {
    /// The couplings of a network whose variables have two states each.
    fn new(scores: NetworkScores<'_>) -> Self {
        let (log_odds, couplings) = scores.couplings();
        let (mut neighbours, mut at) = (Vec::with_capacity(2 * couplings.len()), vec![0]);
        for i in 0..log_odds.len() {
            let around = scores.network.neighbours(i).iter();
            neighbours.extend(around.map(|neighbour| (neighbour.variable, couplings[neighbour.edge as usize])));
            at.push(neighbours.len());
        }
        Couplings { log_odds, neighbours, at }
    }

    /// j and J_ij for all neighbours j of variable i.
    fn neighbours(&self, i: usize) -> &[(u32, f64)] {
        &self.neighbours[self.at[i]..self.at[i + 1]]
    }

    /// Computes all fields.
    fn refresh(&self, state: &[i32], fields: &mut [f64]) {
        for (i, field) in fields.iter_mut().enumerate() {
            let on = self.neighbours(i).iter().filter(|&&(j, _)| state[j as usize] == 1);
            *field = on.fold(self.log_odds[i], |sum, (_, coupling)| sum + coupling);
        }
    }

    /// Draws each variable from its field. A variable that changes updates the fields of its neighbours; most do not change.
    fn sweep(&self, state: &mut [i32], fields: &mut [f64], random: &mut Random) {
        for i in 0..state.len() {
            let new = i32::from(random.uniform() * (1.0 + (-fields[i]).exp()) < 1.0);
            if new != state[i] {
                let sign = f64::from(new - state[i]);
                state[i] = new;
                self.neighbours(i).iter().for_each(|&(j, coupling)| fields[j as usize] += sign * coupling);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_follow_the_flips_are_those_added_up_anew() {
        let edges: Vec<(u32, u32)> = (0..30).flat_map(|i| [(i, (i + 1) % 30), (i, (i + 7) % 30)]).collect();
        let network = Network::new(vec![2; 30], edges).unwrap();
        let mut random = Random::new(5, 0);
        let mut scores = |n: usize| -> Vec<f64> { (0..n).map(|_| 2.0 * random.uniform() - 1.0).collect() };
        let (nodes, tables) = (scores(60), scores(240));
        let scores = NetworkScores::new(&network, &nodes, &tables).unwrap();
        let couplings = Couplings::new(scores);
        let (mut state, mut fields, mut anew) = (vec![0; 30], vec![0.0; 30], vec![0.0; 30]);
        couplings.refresh(&state, &mut fields);
        let mut local = Vec::new();
        for _ in 0..REFRESH {
            couplings.sweep(&mut state, &mut fields, &mut random);
            couplings.refresh(&state, &mut anew);
            for i in 0..30 {
                local_scores(scores, i, &state, &mut local);
                assert!((fields[i] - anew[i]).abs() < 1e-12);
                assert!((fields[i] - (local[1] - local[0])).abs() < 1e-12);
            }
        }
        assert!(state.contains(&1));
    }

    #[test]
    fn states_are_drawn_in_proportion_to_exponentials() {
        let mut random = Random::new(0, 0);
        let (n, mut counts) = (60_000, [0.0; 3]);
        for _ in 0..n {
            counts[draw(&mut [1000.0, 1000.0 + 2f64.ln(), -1e4], &mut random) as usize] += 1.0;
        }
        assert!((counts[0] / f64::from(n) - 1.0 / 3.0).abs() < 0.01 && counts[2] == 0.0, "{counts:?}");
    }
}
