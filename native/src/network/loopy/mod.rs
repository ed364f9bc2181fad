//! Loopy belief propagation: sum-product in a pairwise network (Pearl 1988; Yedidia, Freeman & Weiss 2005).
//!
//! ```text
//! m_{i->j}(x_j) = sum over x_i of psi_i(x_i) psi_ij(x_i, x_j) product over k != j of m_{k->i}(x_i)
//! ```
//!
//! Fixed points are stationary points of the Bethe free energy: at one of them the derivative of log Z by a score is
//! the belief of its state or pair of states. On trees they are exact.
//!
//! Three rules compute the same: `odds` for binary variables and `ratios` for any, if no product of messages can leave
//! the range of a double, and `logs` for all else.

mod logs;
mod odds;
mod ratios;
mod schedules;
mod slots;
#[cfg(test)]
mod tests;

pub use slots::Slots;

use crate::error::{Error, Result};
use crate::network::Network;
use crate::threads::Interrupt;
use rayon::ThreadPool;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    Flooding,
    Residual,
}

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Share of the old log message in the new one.
    pub damping: f64,
    /// Largest change of a log message, before damping, at which messages count as settled.
    pub tolerance: f64,
    pub max_iterations: usize,
    pub schedule: Schedule,
}

impl Settings {
    fn check(&self) -> Result<()> {
        let refuse = |message: String| Err(Error::Option(message));
        if !(0.0..1.0).contains(&self.damping) {
            return refuse(format!("damping is {}; it has to be in [0, 1)", self.damping));
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return refuse(format!("tolerance is {}; it has to be a finite number of at least 0", self.tolerance));
        }
        if self.max_iterations == 0 {
            return refuse("max_iterations is 0; at least one iteration is needed".into());
        }
        Ok(())
    }
}

/// How it went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    pub iterations: usize,
    /// Largest change of a log message when it ended; above the tolerance if iterations ran out.
    pub residual: f64,
    /// Number of messages computed.
    pub n_messages: usize,
}

/// What messages say about the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Beliefs {
    /// Bethe's approximation.
    pub log_z: f64,
    /// As the scores of nodes.
    pub nodes: Vec<f64>,
    /// As the scores of edges; each table sums to 1.
    pub edges: Vec<f64>,
}

pub struct Outcome {
    pub beliefs: Beliefs,
    /// Of every message the logs of its ratios to the first state.
    pub messages: Vec<f64>,
    pub report: Report,
}

/// How messages follow from messages; entries of a message are what the rule takes them for.
trait Rule: Sync {
    type Buffers: Default + Send;

    fn slots(&self) -> &Slots;

    /// Writes the messages out of variables; returns the largest change.
    fn update(&self, variables: Range<usize>, messages: &[f64], out: &mut [f64], buffers: &mut Self::Buffers) -> f64;

    /// The largest change between entries, on a scale of the rule's own.
    fn change(&self, old: &[f64], new: &[f64]) -> f64;

    /// A change, as one of logs.
    fn log_change(&self, change: f64) -> f64;

    /// Moves new entries towards the old ones: log new becomes (1 - damping) log new + damping log old.
    fn damp(&self, damping: f64, old: &[f64], new: &mut [f64]);

    /// Turns logs of messages into entries, within what messages of this network can be.
    fn entries_of_logs(&self, messages: &mut [f64]);

    fn logs_of_entries(&self, messages: &mut [f64]);

    fn beliefs(&self, messages: &[f64], pool: &ThreadPool) -> Beliefs;
}

/// A network, its scores, and who works on it.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub network: &'a Network,
    /// Those of the network.
    pub slots: &'a Slots,
    pub node_scores: &'a [f64],
    pub edge_scores: &'a [f64],
    pub pool: &'a ThreadPool,
    pub interrupt: &'a Interrupt,
}

impl Task<'_> {
    /// Passes messages from those given, or from uniform ones, until they settle or iterations run out.
    pub fn run(&self, start: Option<&[f64]>, settings: &Settings) -> Result<Outcome> {
        self.check(start, settings)?;
        if let Some(rule) = odds::Odds::new(self) {
            self.pass(&rule, start, settings)
        } else if let Some(rule) = ratios::Ratios::new(self) {
            self.pass(&rule, start, settings)
        } else {
            self.pass(&logs::Logs::new(self), start, settings)
        }
    }

    fn check(&self, start: Option<&[f64]>, settings: &Settings) -> Result<()> {
        settings.check()?;
        self.network.check_scores(self.node_scores, self.edge_scores)?;
        let Some(start) = start else { return Ok(()) };
        if start.len() != self.slots.n_entries() {
            let (given, wanted) = (start.len(), self.slots.n_entries());
            return Err(Error::Option(format!("messages have {given} entries; {wanted} are needed")));
        }
        match start.iter().position(|entry| !entry.is_finite()) {
            Some(at) => Err(Error::Option(format!("messages[{at}] is {}; they have to be finite", start[at]))),
            None => Ok(()),
        }
    }

    fn pass<R: Rule>(&self, rule: &R, start: Option<&[f64]>, settings: &Settings) -> Result<Outcome> {
        let mut messages = start.map_or_else(|| vec![0.0; self.slots.n_entries()], <[f64]>::to_vec);
        rule.entries_of_logs(&mut messages);
        let report = match settings.schedule {
            Schedule::Flooding => schedules::flooding(rule, &mut messages, settings, self.pool, self.interrupt)?,
            Schedule::Residual => {
                let n = self.network.n_variables();
                let targets = (0..n).flat_map(|i| self.network.neighbours(i)).map(|neighbour| neighbour.variable);
                schedules::residual(rule, &mut messages, settings, &targets.collect::<Vec<_>>(), self.interrupt)?
            }
        };
        let beliefs = rule.beliefs(&messages, self.pool);
        if !beliefs.log_z.is_finite() {
            let message =
                format!("log Z is {}: the scores are too large to be added up; scale them down", beliefs.log_z);
            return Err(Error::Option(message));
        }
        rule.logs_of_entries(&mut messages);
        Ok(Outcome { beliefs, messages, report })
    }
}

/// Edges, or variables, whose beliefs a thread computes at a time.
const CHUNK: usize = 4096;

/// 0..n in ranges of a fixed length.
fn chunks(n: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n).step_by(CHUNK).map(move |start| start..n.min(start + CHUNK))
}

/// The first elements of a slice, which keeps the rest.
fn take<'a>(slice: &mut &'a mut [f64], n: usize) -> &'a mut [f64] {
    let (first, rest) = std::mem::take(slice).split_at_mut(n);
    *slice = rest;
    first
}
