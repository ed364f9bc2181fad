//! Messages between variables of any numbers of states, as logs of ratios to the first state.
//!
//! With S_i, the sum of a variable's scores and of all log messages into it, and h = S_i - log m_{j->i}
//!
//! ```text
//! log m_{i->j}(y) = log sum over x of exp(h(x) + T(x, y)), less the same for y = 0.
//! ```
//!
//! Of tables whose scores are no more than `TAME` apart exp(T - max T) is kept: a message then takes one exponential a
//! state, and no sum can vanish. For all others every term is formed as a logarithm.

use crate::network::loopy::{Beliefs, Rule, Slots, Task, chunks, take};
use crate::network::{Neighbour, Network};
use crate::numeric::log_sum_exp;
use crate::threads::{parts, share};
use rayon::ThreadPool;
use std::ops::Range;

/// The largest term of a sum is then at least exp(-TAME); those that underflow are below exp(-708).
const TAME: f64 = 300.0;

pub struct Logs<'a> {
    network: &'a Network,
    slots: &'a Slots,
    node_scores: &'a [f64],
    edge_scores: &'a [f64],
    /// exp(T - max T) of every tame table.
    exponentials: Vec<f64>,
    /// max T - min T of every table.
    ranges: Vec<f64>,
}

#[derive(Default)]
pub struct Buffers {
    /// S_i.
    sums: Vec<f64>,
    /// h, and exp(h - max h).
    cavity: Vec<f64>,
    weights: Vec<f64>,
}

impl<'a> Logs<'a> {
    pub fn new(task: &Task<'a>) -> Self {
        let (network, edge_scores) = (task.network, task.edge_scores);
        let mut exponentials = vec![0.0; edge_scores.len()];
        let ranges = (0..network.edges().len()).map(|edge| {
            let table = &edge_scores[network.table(edge)];
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
        Logs { network, slots: task.slots, node_scores: task.node_scores, edge_scores, exponentials, ranges }
    }

    /// S_i.
    fn sums(&self, variable: usize, messages: &[f64], sums: &mut Vec<f64>) {
        sums.clear();
        sums.extend_from_slice(&self.node_scores[self.network.node(variable)]);
        for slot in self.slots.out_of(variable..variable + 1) {
            let incoming = &messages[self.slots.entries_into(slot)];
            sums[1..].iter_mut().zip(incoming).for_each(|(sum, message)| *sum += message);
        }
    }

    /// h, of the message in a slot out of the variable of these sums.
    fn cavity(&self, slot: usize, sums: &[f64], messages: &[f64], cavity: &mut Vec<f64>) {
        cavity.clear();
        cavity.extend_from_slice(sums);
        let incoming = &messages[self.slots.entries_into(slot)];
        cavity[1..].iter_mut().zip(incoming).for_each(|(h, message)| *h -= message);
    }

    fn message(&self, neighbour: &Neighbour, cavity: &[f64], weights: &mut Vec<f64>, out: &mut [f64]) {
        if self.ranges[neighbour.edge as usize] > TAME {
            let table = self.network.table_from(self.edge_scores, neighbour);
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

    /// Writes the beliefs of a variable; returns log Z_i.
    fn node(&self, variable: usize, messages: &[f64], buffers: &mut Buffers, beliefs: &mut [f64]) -> f64 {
        self.sums(variable, messages, &mut buffers.sums);
        let log_z = log_sum_exp(buffers.sums.iter().copied());
        beliefs.iter_mut().zip(&buffers.sums).for_each(|(belief, sum)| *belief = (sum - log_z).exp());
        log_z
    }

    /// Writes the table of beliefs of an edge; returns log Z_ij.
    fn edge(&self, edge: usize, messages: &[f64], [a, b]: &mut [Buffers; 2], beliefs: &mut [f64]) -> f64 {
        let (i, j) = self.network.edges()[edge];
        let (out, back) = self.slots.of_edge[edge];
        for (buffers, variable, slot) in [(&mut *a, i, out), (&mut *b, j, back)] {
            self.sums(variable as usize, messages, &mut buffers.sums);
            self.cavity(slot as usize, &buffers.sums, messages, &mut buffers.cavity);
        }
        let scores = self.edge_scores[self.network.table(edge)].chunks_exact(b.cavity.len());
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

impl Rule for Logs<'_> {
    type Buffers = Buffers;

    fn slots(&self) -> &Slots {
        self.slots
    }

    fn update(&self, variables: Range<usize>, messages: &[f64], out: &mut [f64], buffers: &mut Buffers) -> f64 {
        let Buffers { sums, cavity, weights } = buffers;
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

    fn damp(&self, damping: f64, old: &[f64], new: &mut [f64]) {
        new.iter_mut().zip(old).for_each(|(new, old)| *new += damping * (old - *new));
    }

    /// log m(y) lies between the least and the largest T(x, y) - T(x, 0).
    fn entries_of_logs(&self, messages: &mut [f64]) {
        for variable in 0..self.network.n_variables() {
            let own = self.network.states()[variable] as usize;
            let slots = self.slots.out_of(variable..variable + 1);
            for (slot, neighbour) in slots.zip(self.network.neighbours(variable)) {
                let table = self.network.table_from(self.edge_scores, neighbour);
                let entries = &mut messages[self.slots.entries(slot..slot + 1)];
                for (y, entry) in entries.iter_mut().enumerate() {
                    let ratios = (0..own).map(|x| table.at(x, y + 1) - table.at(x, 0));
                    let (least, most) =
                        (ratios.clone().fold(f64::INFINITY, f64::min), ratios.fold(f64::NEG_INFINITY, f64::max));
                    *entry = entry.clamp(least, most);
                }
            }
        }
    }

    fn logs_of_entries(&self, _messages: &mut [f64]) {}

    /// log Z = sum of log Z_i + sum of (log Z_ij - log Z_i - log Z_j).
    fn beliefs(&self, messages: &[f64], pool: &ThreadPool) -> Beliefs {
        let (n, ends) = (self.network.n_variables(), self.network.edges());
        let sizes = |chunk: Range<usize>| chunk.map(|variable| self.network.node(variable).len()).sum();
        let mut nodes = vec![0.0; self.node_scores.len()];
        let work = chunks(n).zip(parts(&mut nodes, chunks(n).map(sizes)));
        let of_nodes = share(pool, work.collect(), |(chunk, mut beliefs)| {
            let mut buffers = Buffers::default();
            let log_z = |variable| {
                let own = take(&mut beliefs, self.network.node(variable).len());
                self.node(variable, messages, &mut buffers, own)
            };
            chunk.map(log_z).collect::<Vec<f64>>()
        });
        let of_nodes = of_nodes.concat();
        let sizes = |chunk: Range<usize>| chunk.map(|edge| self.network.table(edge).len()).sum();
        let mut edges = vec![0.0; self.edge_scores.len()];
        let work = chunks(ends.len()).zip(parts(&mut edges, chunks(ends.len()).map(sizes)));
        let of_edges = share(pool, work.collect(), |(chunk, mut beliefs)| {
            let mut buffers = <[Buffers; 2]>::default();
            let mut sum = 0.0;
            for edge in chunk {
                let table = take(&mut beliefs, self.network.table(edge).len());
                let (i, j) = ends[edge];
                sum += self.edge(edge, messages, &mut buffers, table) - of_nodes[i as usize] - of_nodes[j as usize];
            }
            sum
        });
        Beliefs { log_z: of_nodes.iter().sum::<f64>() + of_edges.iter().sum::<f64>(), nodes, edges }
    }
}
