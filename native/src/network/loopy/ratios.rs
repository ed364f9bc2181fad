//! Messages between variables of any numbers of states, as ratios to the first state: the generalisation of `odds`.
//!
//! Factors that depend on one variable are moved out of an edge's table: what is left is psi(x, y) = 1 where x or y is 0, and
//! E(x, y)^rho elsewhere. Let B_i(x) be the product of the ratios of variable i and of all messages into it, each to the power of
//! its rho, and g(x) = B_i(x) / m_{j->i}(x). Then
//!
//! ```text
//! m_{i->j}(y) = (1 + sum over x > 0 of g(x) E(x, y)) / (1 + sum over x > 0 of g(x)).
//! ```
//!
//! The message lies between the least and the largest E(x, y) over all x, where E(0, y) = 1.

use crate::network::loopy::odds::{COUPLING_LIMIT, RANGE_LIMIT, stepped};
use crate::network::loopy::rule::{MessageRule, Propagation, in_chunks, total};
use crate::network::loopy::slots::MessageSlots;
use crate::network::{Marginals, Network};
use crate::numeric;
use crate::numeric::chunks::dispatched;
use crate::threads::Pool;
use pulp::Scalar;
use std::ops::Range;

/// The rule whose entries are ratios to the first state.
pub struct Ratios<'a> {
    network: &'a Network,
    slots: &'a MessageSlots,
    edge_scores: &'a [f64],
    /// psi_i(x) / psi_i(0), with the factors moved out of the tables; laid out as the node scores.
    ratios: Vec<f64>,
    /// E(x, y) for x > 0 and y > 0 of each slot, a row for each state of the sender.
    tables: Vec<f64>,
    /// Slot -> beginning of its E in `tables`.
    table_at: Vec<usize>,
    /// Entry of a message -> its least and its largest value.
    bounds: Vec<[f64; 2]>,
    /// Edge -> rho.
    appearances: Option<&'a [f64]>,
    /// Slot -> rho; nothing if all are 1.
    powers: Vec<f64>,
    /// The score of the assignment of zeros.
    constant: f64,
}

/// Buffers for one variable i; the first state is left out.
#[derive(Default)]
pub struct Scratch {
    /// B_i
    beliefs: Vec<f64>,
    /// The messages into i, neighbour by neighbour.
    incoming: Vec<f64>,
    /// rho of each of their entries.
    powers: Vec<f64>,
    /// The messages, each to the power of its rho.
    raised: Vec<f64>,
    /// g
    cavity: Vec<f64>,
}

impl<'a> Ratios<'a> {
    /// The rule for a network and its scores; none if a product may leave the range of a double.
    pub fn new(task: &Propagation<'a>) -> Option<Self> {
        let (network, slots, edge_scores) = (task.scores.network, task.slots, task.scores.edge);
        let (mut ratios, mut table_at) = (Vec::with_capacity(task.scores.node.len()), vec![0]);
        let mut tables = Vec::with_capacity(2 * edge_scores.len());
        let mut bounds = vec![[0.0f64; 2]; slots.n_entries()];
        let powers = task.powers();
        let mut constant = (0..network.edges().len()).map(|edge| edge_scores[network.table(edge).start]).sum::<f64>();
        for i in 0..network.n_variables() {
            let scores = &task.scores.node[network.node(i)];
            let first = ratios.len();
            ratios.extend(scores.iter().map(|score| score - scores[0]));
            constant += scores[0];
            for (slot, neighbour) in slots.out_of(i..i + 1).zip(network.neighbours(i)) {
                let table = network.table_from(edge_scores, neighbour);
                let power = powers.get(slot).copied().unwrap_or(1.0);
                let bounds = &mut bounds[slots.entries(slot..slot + 1)];
                for x in 1..scores.len() {
                    ratios[first + x] += table.at(x, 0) - table.at(0, 0);
                    for (y, bound) in (1..).zip(bounds.iter_mut()) {
                        let coupling = (table.at(x, y) - table.at(x, 0)) - (table.at(0, y) - table.at(0, 0));
                        let coupling = coupling / power;
                        *bound = [bound[0].min(coupling), bound[1].max(coupling)];
                        tables.push(coupling);
                    }
                }
                table_at.push(tables.len());
            }
        }
        let appearances = task.appearances;
        let rule =
            Ratios { network, slots, edge_scores, ratios, tables, table_at, bounds, appearances, powers, constant };
        rule.in_range().then(|| rule.exponentiated())
    }

    /// Whether all products are normal numbers. `ratios`, `tables` and `bounds` still hold logs.
    fn in_range(&self) -> bool {
        let most = self.bounds.iter().flatten().fold(0.0f64, |most, bound| most.max(bound.abs()));
        let fits = |i: usize| {
            let incoming = self.slots.out_of(i..i + 1);
            let starts: Vec<(usize, f64)> =
                incoming.map(|slot| (self.slots.entries_into(slot).start, self.power(slot))).collect();
            self.network.node(i).skip(1).enumerate().all(|(x, at)| {
                let ratio_range = [self.ratios[at].min(0.0), self.ratios[at].max(0.0)];
                let sums = starts.iter().map(|&(start, power)| self.bounds[start + x].map(|bound| power * bound));
                let [low, high] = sums.fold(ratio_range, |sum, bound| [sum[0] + bound[0], sum[1] + bound[1]]);
                most - low <= RANGE_LIMIT && most + high <= RANGE_LIMIT
            })
        };
        most <= COUPLING_LIMIT && (0..self.network.n_variables()).all(fits)
    }

    /// rho of a slot.
    fn power(&self, slot: usize) -> f64 {
        self.powers.get(slot).copied().unwrap_or(1.0)
    }

    /// Replaces the logs in `ratios`, `tables` and `bounds` by their exponentials.
    fn exponentiated(mut self) -> Self {
        dispatched(
            #[inline(always)]
            || {
                numeric::exp_in_place(Scalar::new(), &mut self.ratios);
                numeric::exp_in_place(Scalar::new(), &mut self.tables);
                numeric::exp_in_place(Scalar::new(), self.bounds.as_flattened_mut());
            },
        );
        self
    }

    /// Collects the messages into a variable, and computes B_i.
    #[inline(always)]
    fn gather(&self, variable: usize, messages: &[f64], buffers: &mut Scratch) {
        let Scratch { beliefs, incoming, powers, raised, .. } = buffers;
        beliefs.clear();
        beliefs.extend_from_slice(&self.ratios[self.network.node(variable)][1..]);
        incoming.clear();
        powers.clear();
        for slot in self.slots.out_of(variable..variable + 1) {
            incoming.extend_from_slice(&messages[self.slots.entries_into(slot)]);
            if let Some(&power) = self.powers.get(slot) {
                powers.resize(incoming.len(), power);
            }
        }
        let factors = if powers.is_empty() {
            &*incoming
        } else {
            raised.clone_from(incoming);
            dispatched(
                #[inline(always)]
                || {
                    numeric::ln_in_place(Scalar::new(), raised);
                    raised.iter_mut().zip(&*powers).for_each(|(value, power)| *value *= power);
                    numeric::exp_in_place(Scalar::new(), raised);
                },
            );
            &*raised
        };
        for message in factors.chunks_exact(beliefs.len()) {
            beliefs.iter_mut().zip(message).for_each(|(belief, message)| *belief *= message);
        }
    }

    /// Computes the message of a slot.
    #[inline(always)]
    fn message(&self, slot: usize, beliefs: &[f64], incoming: &[f64], cavity: &mut [f64], out: &mut [f64]) {
        let mut sum = 1.0;
        for ((g, belief), message) in cavity.iter_mut().zip(beliefs).zip(incoming) {
            *g = belief / message;
            sum += *g;
        }
        out.fill(1.0);
        let table = &self.tables[self.table_at[slot]..self.table_at[slot + 1]];
        for (g, row) in cavity.iter().zip(table.chunks_exact(out.len())) {
            out.iter_mut().zip(row).for_each(|(out, e)| *out += g * e);
        }
        let inverse = 1.0 / sum;
        out.iter_mut().for_each(|out| *out *= inverse);
    }

    /// Writes the beliefs of an edge; returns Z_ij / (Z_i Z_j). `nodes` holds the beliefs of all variables, B_i / Z_i.
    #[inline(always)]
    fn edge(&self, edge: usize, messages: &[f64], nodes: &[f64], buffers: &mut Scratch, beliefs: &mut [f64]) -> f64 {
        // u = B / (Z m), where B = m = 1 for the first state.
        let (out, back) = self.slots.of_edge[edge];
        let (i, j) = self.network.edges()[edge];
        let cavity = |u: &mut Vec<f64>, variable: u32, into: u32| {
            u.clear();
            u.extend_from_slice(&nodes[self.network.node(variable as usize)]);
            let incoming = &messages[self.slots.entries(into as usize..into as usize + 1)];
            u[1..].iter_mut().zip(incoming).for_each(|(u, message)| *u /= message);
        };
        let Scratch { beliefs: of_i, cavity: of_j, .. } = buffers;
        cavity(of_i, i, back);
        cavity(of_j, j, out);
        let table = &self.tables[self.table_at[out as usize]..self.table_at[out as usize + 1]];
        let mut z = 0.0;
        for (x, row) in beliefs.chunks_exact_mut(of_j.len()).enumerate() {
            for (y, belief) in row.iter_mut().enumerate() {
                let e = if x == 0 || y == 0 { 1.0 } else { table[(x - 1) * (of_j.len() - 1) + y - 1] };
                *belief = e * of_i[x] * of_j[y];
                z += *belief;
            }
        }
        beliefs.iter_mut().for_each(|belief| *belief /= z);
        z
    }

    /// Writes the beliefs of a variable; returns log Z_i.
    fn node(&self, variable: usize, messages: &[f64], buffers: &mut Scratch, beliefs: &mut [f64]) -> f64 {
        self.gather(variable, messages, buffers);
        let z = 1.0 + buffers.beliefs.iter().sum::<f64>();
        beliefs[0] = 1.0 / z;
        beliefs[1..].iter_mut().zip(&buffers.beliefs).for_each(|(belief, product)| *belief = product / z);
        z.ln()
    }

    /// Calls `work` with each entry of a message and the log of the factor that has been moved out of its table,
    /// (T(0, y) - T(0, 0)) / rho. A log message of the network is the log of the entry plus this number.
    fn for_each_moved(&self, mut work: impl FnMut(usize, f64)) {
        for variable in 0..self.network.n_variables() {
            let slots = self.slots.out_of(variable..variable + 1);
            for (slot, neighbour) in slots.zip(self.network.neighbours(variable)) {
                let table = self.network.table_from(self.edge_scores, neighbour);
                let entries = self.slots.entries(slot..slot + 1);
                let power = self.power(slot);
                entries.zip(1..).for_each(|(entry, y)| work(entry, (table.at(0, y) - table.at(0, 0)) / power));
            }
        }
    }
}

impl MessageRule for Ratios<'_> {
    type Scratch = Scratch;

    fn slots(&self) -> &MessageSlots {
        self.slots
    }

    fn update(&self, variables: Range<usize>, messages: &[f64], out: &mut [f64], buffers: &mut Scratch) -> f64 {
        let begin = self.slots.entries(self.slots.out_of(variables.clone())).start;
        let mut change = 0.0;
        for variable in variables {
            self.gather(variable, messages, buffers);
            let Scratch { beliefs, incoming, cavity, .. } = &mut *buffers;
            cavity.resize(beliefs.len(), 0.0);
            let slots = self.slots.out_of(variable..variable + 1);
            for (slot, incoming) in slots.zip(incoming.chunks_exact(beliefs.len())) {
                let entries = self.slots.entries(slot..slot + 1);
                let message = &mut out[entries.start - begin..entries.end - begin];
                self.message(slot, beliefs, incoming, cavity, message);
                change = self.change(&messages[entries], message).max(change);
            }
        }
        change
    }

    fn stepped(&self, entries: Range<usize>, old: &[f64], steps: &mut [f64], out: &mut [f64]) {
        stepped(self, self.bounds[entries].iter().copied(), old, steps, out);
    }

    fn entries_of_logs(&self, messages: &mut [f64]) {
        self.for_each_moved(|entry, moved| messages[entry] -= moved);
        messages.iter_mut().for_each(|message| *message = message.clamp(-COUPLING_LIMIT, COUPLING_LIMIT));
        dispatched(
            #[inline(always)]
            || numeric::exp_in_place(Scalar::new(), messages),
        );
        messages.iter_mut().zip(&self.bounds).for_each(|(message, &[low, high])| *message = message.clamp(low, high));
    }

    fn logs_of_entries(&self, messages: &mut [f64]) {
        dispatched(
            #[inline(always)]
            || numeric::ln_in_place(Scalar::new(), messages),
        );
        self.for_each_moved(|entry, moved| messages[entry] += moved);
    }

    /// log Z = constant + sum of log Z_i + sum of rho log (Z_ij / (Z_i Z_j)).
    fn beliefs(&self, messages: &[f64], pool: Pool) -> Marginals {
        let (network, mut nodes) = (self.network, vec![0.0; self.ratios.len()]);
        let size = |variable| network.node(variable).len();
        let of_nodes = in_chunks(pool, network.n_variables(), &mut nodes, size, |variable, buffers, beliefs| {
            self.node(variable, messages, buffers, beliefs)
        });
        let (size, mut edges) = (|edge| network.table(edge).len(), vec![0.0; self.edge_scores.len()]);
        let of_edges = in_chunks(pool, network.edges().len(), &mut edges, size, |edge, buffers, beliefs| {
            self.edge(edge, messages, &nodes, buffers, beliefs).ln()
        });
        let log_z = self.constant + total(&of_nodes, None) + total(&of_edges, self.appearances);
        Marginals { log_z, nodes, edges }
    }
}
