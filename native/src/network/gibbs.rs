//! Gibbs sampling in a pairwise network (Geman & Geman 1984): variables in turn, each from its distribution given all
//! others.
//!
//! Chains run side by side. Each draws from a stream of its own, so that samples depend on the seed alone.

use crate::error::{Error, Result};
use crate::network::Network;
use crate::numeric::random::Random;
use crate::threads::{Interrupt, parts, share};
use rayon::ThreadPool;

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Passes over all variables after the first `burn_in`.
    pub sweeps: usize,
    /// Of so many sweeps the last one is kept.
    pub thin: usize,
    pub burn_in: usize,
    pub seed: u64,
}

/// Sweeps after which local scores are added up anew: rounding errors of their updates do not pile up.
const REFRESH: usize = 256;

/// Runs a chain from each row of `start`; returns what they keep, a sample a row, chain by chain.
pub fn sample(
    network: &Network,
    (node_scores, edge_scores): (&[f64], &[f64]),
    start: &[i32],
    settings: &Settings,
    pool: &ThreadPool,
    interrupt: &Interrupt,
) -> Result<Vec<i32>> {
    network.check_scores(node_scores, edge_scores)?;
    let n = network.n_variables();
    let chains = start.len() / n.max(1);
    check(network, start, settings)?;
    let kept = settings.sweeps / settings.thin;
    let too_many =
        || Error::Option(format!("{chains} chains of {kept} samples do not fit the memory; ask for fewer sweeps"));
    let size = n.checked_mul(kept).and_then(|size| size.checked_mul(chains)).ok_or_else(too_many)?;
    let mut samples = Vec::new();
    samples.try_reserve_exact(size).map_err(|_| too_many())?;
    samples.resize(size, 0);
    let binary = network.states().iter().all(|&r| r == 2).then(|| Couplings::new(network, node_scores, edge_scores));
    let work = (0..chains).zip(start.chunks_exact(n.max(1))).zip(parts(&mut samples, (0..chains).map(|_| n * kept)));
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
                    local_scores(network, node_scores, edge_scores, i, state, &mut weights);
                    state[i] = draw(&mut weights, &mut random);
                });
            })
        }
    });
    done.into_iter().collect::<Result<()>>()?;
    Ok(samples)
}

fn check(network: &Network, start: &[i32], settings: &Settings) -> Result<()> {
    if settings.thin == 0 {
        return Err(Error::Option("thin is 0; every first sweep at least is to be kept: thin=1".into()));
    }
    for state in start.chunks_exact(network.n_variables().max(1)) {
        let wrong = |(&state, &r): (&i32, &u32)| state < 0 || state as u32 >= r;
        if let Some(i) = state.iter().zip(network.states()).position(wrong) {
            let message = format!("start has state {} of variable {i}, outside 0..{}", state[i], network.states()[i]);
            return Err(Error::Option(message));
        }
    }
    Ok(())
}

/// Sweeps through a chain and writes down what is to be kept.
fn run(
    start: &[i32],
    settings: &Settings,
    interrupt: &Interrupt,
    out: &mut [i32],
    mut sweep: impl FnMut(usize, &mut [i32]),
) -> Result<()> {
    let mut state = start.to_vec();
    let mut rows = out.chunks_exact_mut(state.len().max(1));
    for number in 0..settings.burn_in.saturating_add(settings.sweeps) {
        interrupt.check()?;
        sweep(number, &mut state);
        if number >= settings.burn_in && (number - settings.burn_in + 1).is_multiple_of(settings.thin) {
            let Some(row) = rows.next() else { break };
            row.copy_from_slice(&state);
        }
    }
    Ok(())
}

/// Scores of the states of a variable, given all others.
fn local_scores(
    network: &Network,
    node_scores: &[f64],
    edge_scores: &[f64],
    i: usize,
    state: &[i32],
    scores: &mut Vec<f64>,
) {
    scores.clear();
    scores.extend_from_slice(&node_scores[network.node(i)]);
    let own = scores.len();
    for neighbour in network.neighbours(i) {
        let table = &edge_scores[network.table(neighbour.edge as usize)];
        let other = state[neighbour.variable as usize] as usize;
        if neighbour.first {
            scores.iter_mut().zip(&table[other * own..]).for_each(|(sum, score)| *sum += score);
        } else {
            let column = table[other..].iter().step_by(table.len() / own);
            scores.iter_mut().zip(column).for_each(|(sum, score)| *sum += score);
        }
    }
}

/// A state, with probability in proportion to the exponential of its score.
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

/// A network of binary variables: log p(x) = sum of a_i x_i + sum of J_ij x_i x_j, but for a constant.
struct Couplings {
    /// a_i.
    log_odds: Vec<f64>,
    /// Neighbours of all variables with J_ij, and where those of each begin.
    neighbours: Vec<(u32, f64)>,
    at: Vec<usize>,
}

impl Couplings {
    fn new(network: &Network, node_scores: &[f64], edge_scores: &[f64]) -> Self {
        let mut log_odds: Vec<f64> =
            node_scores.as_chunks::<2>().0.iter().map(|scores| scores[1] - scores[0]).collect();
        let (tables, _) = edge_scores.as_chunks::<4>();
        for (&(i, j), t) in network.edges().iter().zip(tables) {
            log_odds[i as usize] += t[2] - t[0];
            log_odds[j as usize] += t[1] - t[0];
        }
        let (mut neighbours, mut at) = (Vec::with_capacity(2 * tables.len()), vec![0]);
        for i in 0..network.n_variables() {
            neighbours.extend(network.neighbours(i).iter().map(|neighbour| {
                let t = tables[neighbour.edge as usize];
                (neighbour.variable, (t[3] - t[2]) - (t[1] - t[0]))
            }));
            at.push(neighbours.len());
        }
        Couplings { log_odds, neighbours, at }
    }

    fn neighbours(&self, i: usize) -> &[(u32, f64)] {
        &self.neighbours[self.at[i]..self.at[i + 1]]
    }

    /// The log odds of each variable given all others.
    fn refresh(&self, state: &[i32], fields: &mut [f64]) {
        for (i, field) in fields.iter_mut().enumerate() {
            let on = self.neighbours(i).iter().filter(|&&(j, _)| state[j as usize] == 1);
            *field = on.fold(self.log_odds[i], |sum, (_, coupling)| sum + coupling);
        }
    }

    /// A flip of a variable tells its neighbours; most draws flip nothing and touch no neighbour.
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
        let couplings = Couplings::new(&network, &nodes, &tables);
        let (mut state, mut fields, mut anew) = (vec![0; 30], vec![0.0; 30], vec![0.0; 30]);
        couplings.refresh(&state, &mut fields);
        let mut local = Vec::new();
        for _ in 0..REFRESH {
            couplings.sweep(&mut state, &mut fields, &mut random);
            couplings.refresh(&state, &mut anew);
            for i in 0..30 {
                local_scores(&network, &nodes, &tables, i, &state, &mut local);
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
