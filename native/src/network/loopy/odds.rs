//! Messages between binary variables, as odds.
//!
//! Factors that depend on one variable, and constants, are moved out of an edge's table: what is left is
//! psi_00 = psi_01 = psi_10 = 1 and psi_11 = E^rho. Let B_i be the product of the odds of variable i and of all messages into it,
//! each to the power of its rho, and t = B_i / m_{j->i}. Then
//!
//! ```text
//! m_{i->j} = (1 + E t) / (1 + t) = (m_{j->i} + E B_i) / (m_{j->i} + B_i),
//! ```
//!
//! which takes one division, and no exponential or logarithm. All terms are positive, so that nothing cancels. A message lies
//! between 1 and E.

use crate::network::Marginals;
use crate::network::loopy::rule::{MessageRule, Propagation, chunks, relative, weighted};
use crate::network::loopy::slots::MessageSlots;
use crate::numeric;
use crate::numeric::chunks::dispatched;
use crate::numeric::powers::{exponentials, logs_of_ratios};
use crate::threads::{Pool, parts, share};
use pulp::Scalar;
use std::ops::Range;

/// Largest |log E|: the product of three numbers of this size and of beliefs stays in the range of a double.
pub const COUPLING_LIMIT: f64 = 200.0;
/// Largest |log| of a product B_i, E B_i or m_{j->i}; a double holds exp(+-708).
pub const RANGE_LIMIT: f64 = 690.0;
/// Partial products that `product` forms side by side.
const PRODUCTS: usize = 4;

/// The rule whose entries are odds, for binary variables.
pub struct Odds<'a> {
    slots: &'a MessageSlots,
    /// Edge -> its two variables.
    ends: &'a [(u32, u32)],
    /// Edge -> its table of scores.
    tables: &'a [[f64; 4]],
    /// Variable -> psi_i(1) / psi_i(0), with the factors moved out of its edges' tables.
    odds: Vec<f64>,
    /// Edge -> log E.
    log_couplings: Vec<f64>,
    /// Slot -> E.
    couplings: Vec<f64>,
    /// Edge -> rho.
    appearances: Option<&'a [f64]>,
    /// Slot -> rho; nothing if all are 1.
    powers: Vec<f64>,
    /// The score of the assignment of zeros.
    constant: f64,
}

/// Buffers for a block of messages.
#[derive(Default)]
pub struct Scratch {
    /// Slot -> m_{j->i}
    incoming: Vec<f64>,
    /// Slot -> B_i
    beliefs: Vec<f64>,
    raised: Raised,
}

/// Messages to the power of their rho. They are carried on from the iteration before: powers of small changes are cheap.
#[derive(Default)]
struct Raised {
    /// The slots of the block.
    block: Range<usize>,
    /// Slot -> m_{j->i}, of the iteration before.
    before: Vec<f64>,
    /// Slot -> m_{j->i}^rho
    powers: Vec<f64>,
    /// Slot -> what has become of the power since, (m_{j->i} / before)^rho.
    factors: Vec<f64>,
}

impl Raised {
    /// The powers of a block's messages. `rho` belongs to the block's slots.
    #[inline(always)]
    fn of(&mut self, block: &Range<usize>, incoming: &[f64], rho: &[f64]) -> &[f64] {
        if self.block != *block {
            self.block = block.clone();
            for buffer in [&mut self.before, &mut self.powers] {
                buffer.clear();
                buffer.resize(incoming.len(), 1.0);
            }
        }
        let factors = &mut self.factors;
        factors.resize(incoming.len(), 0.0);
        logs_of_ratios(incoming, &self.before, factors);
        factors.iter_mut().zip(rho).for_each(|(factor, rho)| *factor *= rho);
        exponentials(factors);
        self.powers.iter_mut().zip(&*factors).for_each(|(power, factor)| *power *= factor);
        self.before.copy_from_slice(incoming);
        &self.powers
    }
}

impl<'a> Odds<'a> {
    /// The rule for a network and its scores; none if a variable has more than two states, or if a product may leave the range
    /// of a double.
    pub fn new(task: &Propagation<'a>) -> Option<Self> {
        let network = task.scores.network;
        if network.states().iter().any(|&r| r != 2) {
            return None;
        }
        let (tables, _) = task.scores.edge.as_chunks::<4>();
        let (mut odds, mut log_couplings) = task.scores.couplings();
        let most = most_of_products(&odds, network.edges(), &log_couplings);
        if let Some(appearances) = task.appearances {
            log_couplings.iter_mut().zip(appearances).for_each(|(coupling, appearance)| *coupling /= appearance);
        }
        let largest = log_couplings.iter().fold(0.0f64, |most, coupling| most.max(coupling.abs()));
        if largest > COUPLING_LIMIT || most + largest > RANGE_LIMIT {
            return None;
        }
        let constant = task.scores.node.iter().step_by(2).sum::<f64>() + tables.iter().map(|t| t[0]).sum::<f64>();
        let mut couplings = vec![0.0; task.slots.n_messages()];
        let mut exponentials = log_couplings.clone();
        dispatched(
            #[inline(always)]
            || {
                numeric::exp_in_place(Scalar::new(), &mut odds);
                numeric::exp_in_place(Scalar::new(), &mut exponentials);
            },
        );
        for (&(a, b), &coupling) in task.slots.of_edge.iter().zip(&exponentials) {
            (couplings[a as usize], couplings[b as usize]) = (coupling, coupling);
        }
        Some(Odds {
            slots: task.slots,
            ends: network.edges(),
            tables,
            odds,
            log_couplings,
            couplings,
            appearances: task.appearances,
            powers: task.powers(),
            constant,
        })
    }

    /// Gathers the messages into consecutive variables in `incoming`. Calls `on_variable` with B_i of each variable and with its
    /// slots, counted from the first variable's.
    #[inline(always)]
    fn gather(
        &self,
        variables: Range<usize>,
        messages: &[f64],
        (incoming, raised): (&mut Vec<f64>, &mut Raised),
        mut on_variable: impl FnMut(Range<usize>, f64),
    ) {
        let block = self.slots.out_of(variables.clone());
        incoming.resize(block.len(), 0.0);
        pick(messages, &self.slots.reverse[block.clone()], incoming);
        let factors =
            if self.powers.is_empty() { &*incoming } else { raised.of(&block, incoming, &self.powers[block.clone()]) };
        for variable in variables {
            let slots = self.slots.out_of(variable..variable + 1);
            let slots = slots.start - block.start..slots.end - block.start;
            let belief = self.odds[variable] * product(&factors[slots.clone()]);
            on_variable(slots, belief);
        }
    }

    /// rho
    fn appearance(&self, edge: usize) -> f64 {
        self.appearances.map_or(1.0, |appearances| appearances[edge])
    }

    /// Z_ij / (Z_i Z_j) of an edge with the slots (a, b), and its beliefs, from B_i and B_j.
    #[inline(always)]
    fn edge(&self, (a, b): (u32, u32), (of_i, of_j): (f64, f64), messages: &[f64]) -> (f64, [f64; 4]) {
        // With q = 1 / (1 + B) = 1 / Z and u = q t: the terms 1, t_j, t_i and E t_i t_j of Z_ij, multiplied by q_i q_j.
        let (q_i, q_j) = (1.0 / (1.0 + of_i), 1.0 / (1.0 + of_j));
        let (u_i, u_j) = (of_i * q_i / messages[b as usize], of_j * q_j / messages[a as usize]);
        let terms = [q_i * q_j, q_i * u_j, u_i * q_j, self.couplings[a as usize] * u_i * u_j];
        let z = terms.iter().sum::<f64>();
        (z, terms.map(|term| term / z))
    }

    /// Writes B_i and the beliefs of all variables; returns the sum of log Z_i, where Z_i = 1 + B_i.
    fn node_beliefs(&self, messages: &[f64], pool: Pool, odds: &mut [f64], beliefs: &mut [f64]) -> f64 {
        let sizes = || chunks(self.odds.len()).map(|chunk| chunk.len());
        let work = parts(odds, sizes()).into_iter().zip(parts(beliefs, sizes().map(|size| 2 * size)));
        let sums = share(pool, chunks(self.odds.len()).zip(work).collect(), |(chunk, (odds, beliefs))| {
            let mut z = vec![0.0; chunk.len()];
            let (mut incoming, mut raised) = (Vec::new(), Raised::default());
            dispatched(
                #[inline(always)]
                || {
                    let mut outputs = z.iter_mut().zip(odds).zip(beliefs.as_chunks_mut::<2>().0);
                    self.gather(chunk, messages, (&mut incoming, &mut raised), |_, belief| {
                        let ((z, odds), beliefs) = outputs.next().expect("one for each variable");
                        (*odds, *z) = (belief, 1.0 + belief);
                        *beliefs = [1.0 / *z, belief / *z];
                    });
                },
            );
            logs(&mut z);
            z.iter().sum::<f64>()
        });
        sums.iter().sum()
    }

    /// Writes the beliefs of all edges; returns the sum of rho log (Z_ij / (Z_i Z_j)).
    fn edge_beliefs(&self, messages: &[f64], pool: Pool, odds: &[f64], beliefs: &mut [f64]) -> f64 {
        let n = self.ends.len();
        let work = chunks(n).zip(parts(beliefs, chunks(n).map(|chunk| 4 * chunk.len())));
        let sums = share(pool, work.collect(), |(chunk, tables)| {
            let mut z = vec![0.0; chunk.len()];
            for ((z, table), edge) in z.iter_mut().zip(tables.as_chunks_mut::<4>().0).zip(chunk.clone()) {
                let (i, j) = self.ends[edge];
                (*z, *table) = self.edge(self.slots.of_edge[edge], (odds[i as usize], odds[j as usize]), messages);
            }
            logs(&mut z);
            weighted(&z, self.appearances.map(|appearances| &appearances[chunk]))
        });
        sums.iter().sum()
    }
}

/// Replaces positive numbers by their logs.
fn logs(values: &mut [f64]) {
    dispatched(
        #[inline(always)]
        || numeric::ln_in_place(Scalar::new(), values),
    );
}

/// The largest |log| of a product B_i. Bounds the factors above 1 and the factors below 1 separately: products are formed in any
/// sequence. `log_couplings` are logs of E^rho. A message to the power of rho is between 1 and E^rho.
fn most_of_products(log_odds: &[f64], edges: &[(u32, u32)], log_couplings: &[f64]) -> f64 {
    let mut bounds: Vec<[f64; 2]> = log_odds.iter().map(|&a| [a.max(0.0), (-a).max(0.0)]).collect();
    for (&(i, j), &coupling) in edges.iter().zip(log_couplings) {
        for variable in [i, j] {
            bounds[variable as usize][0] += coupling.max(0.0);
            bounds[variable as usize][1] += (-coupling).max(0.0);
        }
    }
    bounds.iter().flatten().fold(0.0, |most, &bound| bound.max(most))
}

/// Writes the values at the given places, eight at a time: one at a time, the time depends on the loop's place in memory.
#[inline(always)]
fn pick(values: &[f64], places: &[u32], out: &mut [f64]) {
    let ((out, last_out), (places, last_places)) = (out.as_chunks_mut::<8>(), places.as_chunks::<8>());
    for (out, places) in out.iter_mut().zip(places) {
        for k in 0..out.len() {
            out[k] = values[places[k] as usize];
        }
    }
    for (out, &place) in last_out.iter_mut().zip(last_places) {
        *out = values[place as usize];
    }
}

/// The product of all values, in `PRODUCTS` partial products: each multiplication in a single product would wait for the one
/// before.
#[inline(always)]
fn product(values: &[f64]) -> f64 {
    let (body, tail) = values.as_chunks::<PRODUCTS>();
    let mut lanes = [1.0; PRODUCTS];
    for values in body {
        for k in 0..PRODUCTS {
            lanes[k] *= values[k];
        }
    }
    lanes.iter().chain(tail).product()
}

/// Writes old exp(step), cut off at the limits of each number. The steps become the ones that were made.
pub fn stepped(
    rule: &impl MessageRule,
    limits: impl Iterator<Item = [f64; 2]>,
    old: &[f64],
    steps: &mut [f64],
    out: &mut [f64],
) {
    let outside: u64 = dispatched(
        #[inline(always)]
        || {
            out.copy_from_slice(steps);
            exponentials(out);
            let cut = out.iter_mut().zip(old).zip(limits).map(|((out, old), [low, high])| {
                let wanted = *out * old;
                let above = if wanted < low { low } else { wanted };
                *out = if above > high { high } else { above };
                u64::from(*out != wanted)
            });
            cut.sum()
        },
    );
    if outside > 0 {
        rule.log_steps(old, out, steps);
    }
}

/// Writes messages; returns the largest relative change. Its division waits for no other computation, and costs little.
#[inline(always)]
fn write(couplings: &[f64], incoming: &[f64], beliefs: &[f64], old: &[f64], out: &mut [f64]) -> f64 {
    let n = out.len();
    let (couplings, incoming, beliefs, old) = (&couplings[..n], &incoming[..n], &beliefs[..n], &old[..n]);
    // Numbers of at least 0 are ordered as their bits: the largest integer is found in vectors, the largest number is not.
    let mut most = 0;
    for k in 0..n {
        out[k] = (incoming[k] + couplings[k] * beliefs[k]) / (incoming[k] + beliefs[k]);
        most = relative(old[k], out[k]).to_bits().cast_signed().max(most);
    }
    f64::from_bits(most.cast_unsigned())
}

impl MessageRule for Odds<'_> {
    type Scratch = Scratch;

    fn slots(&self) -> &MessageSlots {
        self.slots
    }

    fn update(&self, variables: Range<usize>, messages: &[f64], out: &mut [f64], buffers: &mut Scratch) -> f64 {
        let block = self.slots.out_of(variables.clone());
        let Scratch { incoming, beliefs, raised } = buffers;
        beliefs.resize(block.len(), 0.0);
        dispatched(
            #[inline(always)]
            || {
                self.gather(variables, messages, (incoming, raised), |slots, belief| beliefs[slots].fill(belief));
                write(&self.couplings[block.clone()], incoming, beliefs, &messages[block.clone()], out)
            },
        )
    }

    fn stepped(&self, entries: Range<usize>, old: &[f64], steps: &mut [f64], out: &mut [f64]) {
        let limits = self.couplings[entries].iter().map(|&e| if e < 1.0 { [e, 1.0] } else { [1.0, e] });
        stepped(self, limits, old, steps, out);
    }

    fn entries_of_logs(&self, messages: &mut [f64]) {
        for (edge, (&(a, b), t)) in self.slots.of_edge.iter().zip(self.tables).enumerate() {
            let (coupling, appearance) = (self.log_couplings[edge], self.appearance(edge));
            for (slot, moved) in [(a, t[1] - t[0]), (b, t[2] - t[0])] {
                let message = &mut messages[slot as usize];
                *message = (*message - moved / appearance).clamp(coupling.min(0.0), coupling.max(0.0));
            }
        }
        dispatched(
            #[inline(always)]
            || numeric::exp_in_place(Scalar::new(), messages),
        );
    }

    fn logs_of_entries(&self, messages: &mut [f64]) {
        logs(messages);
        for (edge, (&(a, b), t)) in self.slots.of_edge.iter().zip(self.tables).enumerate() {
            let appearance = self.appearance(edge);
            messages[a as usize] += (t[1] - t[0]) / appearance;
            messages[b as usize] += (t[2] - t[0]) / appearance;
        }
    }

    /// log Z = constant + sum of log (1 + B_i) + sum of rho log (Z_ij / (Z_i Z_j)).
    fn beliefs(&self, messages: &[f64], pool: Pool) -> Marginals {
        let (mut odds, mut nodes) = (vec![0.0; self.odds.len()], vec![0.0; 2 * self.odds.len()]);
        let of_nodes = self.node_beliefs(messages, pool, &mut odds, &mut nodes);
        let mut edges = vec![0.0; 4 * self.ends.len()];
        let of_edges = self.edge_beliefs(messages, pool, &odds, &mut edges);
        Marginals { log_z: self.constant + of_nodes + of_edges, nodes, edges }
    }
}
