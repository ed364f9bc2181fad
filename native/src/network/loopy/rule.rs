//! The vocabulary of belief propagation: options, inputs, results, and the trait of a rule that computes messages.

use crate::error::{Error, Result};
use crate::network::loopy::slots::MessageSlots;
use crate::network::{Marginals, NetworkScores};
use crate::numeric::chunks::dispatched;
use crate::numeric::powers::logs_of_ratios;
use crate::threads::{Interrupt, Pool, parts, share};
use std::borrow::Cow;
use std::ops::Range;

/// The sequence in which messages are computed (`schedules`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    Flooding,
    Residual,
}

/// The options of belief propagation.
#[derive(Clone, Copy, Debug)]
pub struct LoopySettings {
    /// Share of the old log message in the new one; of reweighted messages, before acceleration.
    pub damping: f64,
    /// Largest change of a log message, before damping, at which propagation ends.
    pub tolerance: f64,
    /// Most iterations, >= 1.
    pub max_iterations: usize,
    pub schedule: Schedule,
}

impl LoopySettings {
    /// Fails if an option is outside its range.
    pub fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::Option(message));
        if !(0.0..1.0).contains(&self.damping) {
            return refuse(format!("damping is {}; it must be in [0, 1)", self.damping));
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return refuse(format!("tolerance is {}; it must be finite and at least 0", self.tolerance));
        }
        if self.max_iterations == 0 {
            return refuse("max_iterations is 0; at least one iteration is needed".into());
        }
        Ok(())
    }
}

/// How propagation went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    pub iterations: usize,
    /// Largest change of a log message at the end; above the tolerance if iterations ran out.
    pub residual: f64,
    /// Number of messages computed.
    pub n_messages: usize,
}

/// A rule that computes messages from messages. It keeps messages in its own form (logs, odds, ratios), whose numbers are
/// called entries.
pub trait MessageRule: Sync {
    /// Buffers that `update` keeps from one call to the next.
    type Scratch: Default + Send;

    /// The places of the messages in memory.
    fn slots(&self) -> &MessageSlots;

    /// Writes the messages out of the given variables; returns the largest change, on the rule's own scale.
    fn update(&self, variables: Range<usize>, messages: &[f64], out: &mut [f64], buffers: &mut Self::Scratch) -> f64;

    /// The largest change between entries, on the rule's own scale: the relative one where entries are positive numbers.
    fn change(&self, old: &[f64], new: &[f64]) -> f64 {
        old.iter().zip(new).fold(0.0, |most, (&old, &new)| relative(old, new).max(most))
    }

    /// The change of log messages that corresponds to a change on the rule's own scale.
    fn log_change(&self, change: f64) -> f64 {
        change.ln_1p()
    }

    /// Writes the logs of new entries less the logs of old ones.
    fn log_steps(&self, old: &[f64], new: &[f64], out: &mut [f64]) {
        dispatched(
            #[inline(always)]
            || logs_of_ratios(new, old, out),
        );
    }

    /// Writes the entries whose logs are the logs of the old ones plus `steps`, cut off at the ends of the range that messages of
    /// this network can have. The steps become the ones that were made.
    fn stepped(&self, entries: Range<usize>, old: &[f64], steps: &mut [f64], out: &mut [f64]);

    /// Turns log messages into entries, clamped to the range that messages of this network can have.
    fn entries_of_logs(&self, messages: &mut [f64]);

    /// Turns entries into log messages.
    fn logs_of_entries(&self, messages: &mut [f64]);

    /// The beliefs that the messages give, and Bethe's approximation of log Z.
    fn beliefs(&self, messages: &[f64], pool: Pool) -> Marginals;
}

/// The inputs of belief propagation.
#[derive(Clone, Copy)]
pub struct Propagation<'a> {
    pub scores: NetworkScores<'a>,
    /// The places of the network's messages in memory.
    pub slots: &'a MessageSlots,
    /// Edge -> rho, from (0, 1]; without them all are 1.
    pub appearances: Option<&'a [f64]>,
    pub pool: Pool,
    pub interrupt: &'a Interrupt,
}

impl<'a> Propagation<'a> {
    /// The tables T / rho.
    pub fn tables(&self) -> Cow<'a, [f64]> {
        let Some(appearances) = self.appearances else { return Cow::Borrowed(self.scores.edge) };
        let mut tables = self.scores.edge.to_vec();
        for (edge, appearance) in appearances.iter().enumerate() {
            tables[self.scores.network.table(edge)].iter_mut().for_each(|score| *score /= appearance);
        }
        Cow::Owned(tables)
    }

    /// Slot -> rho of its edge; nothing if all are 1.
    pub fn powers(&self) -> Vec<f64> {
        let Some(appearances) = self.appearances else { return Vec::new() };
        let network = self.scores.network;
        let edges = (0..network.n_variables()).flat_map(|i| network.neighbours(i));
        edges.map(|neighbour| appearances[neighbour.edge as usize]).collect()
    }
}

/// The relative change |new - old| / min(new, old) = exp(|log new - log old|) - 1.
#[inline(always)]
pub fn relative(old: f64, new: f64) -> f64 {
    let smaller = if new < old { new } else { old };
    (new - old).abs() / smaller
}

/// Calls `one` for n variables or edges, chunk by chunk, with buffers and the part of the beliefs that belongs to it, whose size
/// is `size`. Returns the logs that it returns, a list for each chunk.
pub fn in_chunks<B: Default>(
    pool: Pool,
    n: usize,
    beliefs: &mut [f64],
    size: impl Fn(usize) -> usize + Sync,
    one: impl Fn(usize, &mut B, &mut [f64]) -> f64 + Sync,
) -> Vec<Vec<f64>> {
    let work = chunks(n).zip(parts(beliefs, chunks(n).map(|chunk| chunk.map(&size).sum())));
    share(pool, work.collect(), |(chunk, mut beliefs)| {
        let mut buffers = B::default();
        chunk.map(|k| one(k, &mut buffers, take(&mut beliefs, size(k)))).collect()
    })
}

/// The sum over chunks of the sums of logs, each times its weight.
pub fn total(logs: &[Vec<f64>], weights: Option<&[f64]>) -> f64 {
    let chunks = logs.iter().zip((0..).step_by(CHUNK));
    chunks.map(|(logs, start)| weighted(logs, weights.map(|weights| &weights[start..]))).sum()
}

/// The sum of numbers, each times its weight; without weights, their sum.
pub fn weighted(values: &[f64], weights: Option<&[f64]>) -> f64 {
    match weights {
        Some(weights) => values.iter().zip(weights).map(|(value, weight)| value * weight).sum(),
        None => values.iter().sum(),
    }
}

/// Edges, or variables, whose beliefs a thread computes at a time.
const CHUNK: usize = 4096;

/// 0..n cut into ranges of `CHUNK` elements; the last may be shorter.
pub fn chunks(n: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n).step_by(CHUNK).map(move |start| start..n.min(start + CHUNK))
}

/// Cuts the first n elements off a slice.
fn take<'a>(slice: &mut &'a mut [f64], n: usize) -> &'a mut [f64] {
    let (first, rest) = std::mem::take(slice).split_at_mut(n);
    *slice = rest;
    first
}
