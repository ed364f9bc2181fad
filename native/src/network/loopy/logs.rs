//! Messages between variables of any numbers of states, as logs of ratios to the first state.
//!
//! Let T be the table of the edge divided by rho, S_i the sum of the scores of variable i and of all log messages into it, each
//! times its rho, and h = S_i - log m_{j->i}. Then
//!
//! ```text
//! log m_{i->j}(y) = log sum over x of exp(h(x) + T(x, y)) - log sum over x of exp(h(x) + T(x, 0)).
//! ```
//!
//! A table whose scores differ by at most `TAME` is tame: exp(T - max T) is kept, a message takes one exponential a state, and
//! no sum can vanish. Messages over other tables take an exponential for each entry of the table.

use crate::network::loopy::rule::{MessageRule, Propagation, in_chunks, total};
use crate::network::loopy::slots::MessageSlots;
use crate::network::{Marginals, Neighbour, Network};
use crate::numeric::log_sum_exp;
use crate::threads::Pool;
use std::borrow::Cow;
use std::ops::Range;

/// Largest difference of two scores of a tame table. The largest term of a sum is at least exp(-300), and a term that underflows
/// is below exp(-708).
const TAME: f64 = 300.0;

/// The rule whose entries are log messages.
pub struct Logs<'a> {
    network: &'a Network,
    slots: &'a MessageSlots,
    node_scores: &'a [f64],
    /// T
    tables: Cow<'a, [f64]>,
    /// Edge -> rho.
    appearances: Option<&'a [f64]>,
    /// exp(T - max T) of the tame tables, laid out as the edge scores; 0 for other tables.
    exponentials: Vec<f64>,
    /// Edge -> max T - min T.
    ranges: Vec<f64>,
}

/// Buffers for one variable i and one of its neighbours.
#[derive(Default)]
pub struct Scratch {
    /// S_i
    sums: Vec<f64>,
    /// h
    cavity: Vec<f64>,
    /// exp(h - max h)
    weights: Vec<f64>,
}

impl<'a> Logs<'a> {
    /// The rule for a network and its scores.
    pub fn new(task: &Propagation<'a>) -> Self {
        let (network, tables) = (task.scores.network, task.tables());
        let mut exponentials = vec![0.0; tables.len()];
        let ranges = (0..network.edges().len()).map(|edge| {
            let table = &tables[network.table(edge)];
            let most = table.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let range = most - table.iter().copied().fold(f64::INFINITY, f64::min);
            if range <= TAME {
                exponentials[network.table(edge)]
                    .iter_mut()
                    .zip(table)
                    .for_each(|(e, score)| *e = (score - most).exp());
            }
            range
        });
        let ranges = ranges.collect();
        let (slots, node_scores, appearances) = (task.slots, task.scores.node, task.appearances);
        Logs { network, slots, node_scores, tables, appearances, exponentials, ranges }
    }

    /// Computes S_i.
    fn sums(&self, variable: usize, messages: &[f64], sums: &mut Vec<f64>) {
        sums.clear();
        sums.extend_from_slice(&self.node_scores[self.network.node(variable)]);
        for (slot, neighbour) in self.slots.out_of(variable..variable + 1).zip(self.network.neighbours(variable)) {
            let incoming = &messages[self.slots.entries_into(slot)];
            let power = self.appearances.map_or(1.0, |rho| rho[neighbour.edge as usize]);
            sums[1..].iter_mut().zip(incoming).for_each(|(sum, message)| *sum += power * message);
        }
    }

    /// Computes h for the message of `slot`, which goes out of the variable with the given S_i.
    fn cavity(&self, slot: usize, sums: &[f64], messages: &[f64], cavity: &mut Vec<f64>) {
        cavity.clear();
        cavity.extend_from_slice(sums);
        let incoming = &messages[self.slots.entries_into(slot)];
        cavity[1..].iter_mut().zip(incoming).for_each(|(h, message)| *h -= message);
    }

    /// Computes the message to a neighbour from h.
    fn message(&self, neighbour: &Neighbour, cavity: &[f64], weights: &mut Vec<f64>, out: &mut [f64]) {
        if self.ranges[neighbour.edge as usize] > TAME {
            let table = self.network.table_from(&self.tables, neighbour);
            let log = |y: usize| log_sum_exp(cavity.iter().enumerate().map(|(x, h)| h + table.at(x, y)));
            let first = log(0);
            out.iter_mut().enumerate().for_each(|(y, out)| *out = log(y + 1) - first);
            return;
        }
        let table = self.network.table_from(&self.exponentials, neighbour);
        let most = cavity.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        weights.clear();
        weights.extend(cavity.iter().map(|h| (h - most).exp()));
        let sum = |y: usize| weights.iter().enumerate().map(|(x, weight)| weight * table.at(x, y)).sum::<f64>();
        let first = sum(0);
        out.iter_mut().enumerate().for_each(|(y, out)| *out = (sum(y + 1) / first).ln());
    }

    /// Writes the beliefs of a variable; returns log Z_i, the log of the sum of exp(S_i).
    fn node(&self, variable: usize, messages: &[f64], buffers: &mut Scratch, beliefs: &mut [f64]) -> f64 {
        self.sums(variable, messages, &mut buffers.sums);
        let log_z = log_sum_exp(buffers.sums.iter().copied());
        beliefs.iter_mut().zip(&buffers.sums).for_each(|(belief, sum)| *belief = (sum - log_z).exp());
        log_z
    }

    /// Writes the beliefs of an edge; returns log Z_ij, the log of the sum of exp(T(x, y) + h_i(x) + h_j(y)).
    fn edge(&self, edge: usize, messages: &[f64], [a, b]: &mut [Scratch; 2], beliefs: &mut [f64]) -> f64 {
        let (i, j) = self.network.edges()[edge];
        let (out, back) = self.slots.of_edge[edge];
        for (buffers, variable, slot) in [(&mut *a, i, out), (&mut *b, j, back)] {
            self.sums(variable as usize, messages, &mut buffers.sums);
            self.cavity(slot as usize, &buffers.sums, messages, &mut buffers.cavity);
        }
        let scores = self.tables[self.network.table(edge)].chunks_exact(b.cavity.len());
        for ((beliefs, scores), of_i) in beliefs.chunks_exact_mut(b.cavity.len()).zip(scores).zip(&a.cavity) {
            for ((belief, score), of_j) in beliefs.iter_mut().zip(scores).zip(&b.cavity) {
                *belief = score + of_i + of_j;
            }
        }
        let log_z = log_sum_exp(beliefs.iter().copied());
        beliefs.iter_mut().for_each(|belief| *belief = (*belief - log_z).exp());
        log_z
    }
}

impl MessageRule for Logs<'_> {
    type Scratch = Scratch;

    fn slots(&self) -> &MessageSlots {
        self.slots
    }

    fn update(&self, variables: Range<usize>, messages: &[f64], out: &mut [f64], buffers: &mut Scratch) -> f64 {
        let Scratch { sums, cavity, weights } = buffers;
        let begin = self.slots.entries(self.slots.out_of(variables.clone())).start;
        let mut change = 0.0;
        for variable in variables {
            self.sums(variable, messages, sums);
            let slots = self.slots.out_of(variable..variable + 1);
            for (slot, neighbour) in slots.zip(self.network.neighbours(variable)) {
                self.cavity(slot, sums, messages, cavity);
                let entries = self.slots.entries(slot..slot + 1);
                let out = &mut out[entries.start - begin..entries.end - begin];
                self.message(neighbour, cavity, weights, out);
                change = self.change(&messages[entries], out).max(change);
            }
        }
        change
    }

    fn change(&self, old: &[f64], new: &[f64]) -> f64 {
        old.iter().zip(new).fold(0.0, |most, (old, new)| (new - old).abs().max(most))
    }

    fn log_change(&self, change: f64) -> f64 {
        change
    }

    fn log_steps(&self, old: &[f64], new: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(new.iter().zip(old)).for_each(|(out, (new, old))| *out = new - old);
    }

    /// No sum of log messages can leave the range of a double: none is cut off.
    fn stepped(&self, _entries: Range<usize>, old: &[f64], steps: &mut [f64], out: &mut [f64]) {
        out.iter_mut().zip(old.iter().zip(steps)).for_each(|(out, (old, step))| *out = old + *step);
    }

    /// Clamps log m(y) to the range from the least to the largest T(x, y) - T(x, 0), which contains every message.
    fn entries_of_logs(&self, messages: &mut [f64]) {
        for variable in 0..self.network.n_variables() {
            let n_states = self.network.states()[variable] as usize;
            let slots = self.slots.out_of(variable..variable + 1);
            for (slot, neighbour) in slots.zip(self.network.neighbours(variable)) {
                let table = self.network.table_from(&self.tables, neighbour);
                let entries = &mut messages[self.slots.entries(slot..slot + 1)];
                for (y, entry) in entries.iter_mut().enumerate() {
                    let ratios = (0..n_states).map(|x| table.at(x, y + 1) - table.at(x, 0));
                    let (least, most) =
                        (ratios.clone().fold(f64::INFINITY, f64::min), ratios.fold(f64::NEG_INFINITY, f64::max));
                    *entry = entry.clamp(least, most);
                }
            }
        }
    }

    fn logs_of_entries(&self, _messages: &mut [f64]) {}

    /// log Z = sum of log Z_i + sum of rho (log Z_ij - log Z_i - log Z_j).
    fn beliefs(&self, messages: &[f64], pool: Pool) -> Marginals {
        let (network, ends) = (self.network, self.network.edges());
        let (mut nodes, mut edges) = (vec![0.0; self.node_scores.len()], vec![0.0; self.tables.len()]);
        let size = |variable| network.node(variable).len();
        let of_nodes = in_chunks(pool, network.n_variables(), &mut nodes, size, |variable, buffers, beliefs| {
            self.node(variable, messages, buffers, beliefs)
        });
        let of_nodes = of_nodes.concat();
        let size = |edge| network.table(edge).len();
        let of_edges = in_chunks(pool, ends.len(), &mut edges, size, |edge, buffers, beliefs| {
            let (i, j) = ends[edge];
            self.edge(edge, messages, buffers, beliefs) - of_nodes[i as usize] - of_nodes[j as usize]
        });
        Marginals { log_z: of_nodes.iter().sum::<f64>() + total(&of_edges, self.appearances), nodes, edges }
    }
}
