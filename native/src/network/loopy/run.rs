//! Runs belief propagation: chooses the rule and the schedule.

use crate::error::{Error, Result};
use crate::network::loopy::logs::Logs;
use crate::network::loopy::mixing::Mixing;
use crate::network::loopy::odds::Odds;
use crate::network::loopy::ratios::Ratios;
use crate::network::loopy::rule::{LoopySettings, MessageRule, Propagation, Report, Schedule};
use crate::network::loopy::schedules;
use crate::network::{Marginals, NetworkScores};

/// Score, in nats, that pulls messages towards labels, and the run with this score.
const CERTAIN: f64 = 20.0;
const PULL: LoopySettings =
    LoopySettings { damping: 0.0, tolerance: 1e-6, max_iterations: 50, schedule: Schedule::Flooding };

/// The result of belief propagation.
pub struct Propagated {
    pub beliefs: Marginals,
    /// The log messages, laid out as `MessageSlots` says: log ratios to the first state.
    pub messages: Vec<f64>,
    pub report: Report,
}

impl Propagation<'_> {
    /// Computes messages, from the log messages `start` or from uniform ones, until they settle or iterations run out.
    pub fn run(&self, start: Option<&[f64]>, settings: &LoopySettings) -> Result<Propagated> {
        self.check(start, settings)?;
        if let Some(rule) = Odds::new(self) {
            self.pass(&rule, start, settings)
        } else if let Some(rule) = Ratios::new(self) {
            self.pass(&rule, start, settings)
        } else {
            self.pass(&Logs::new(self), start, settings)
        }
    }

    /// `run` from uniform messages, and from messages near labels, which are 1 for the known state of a variable, else 0, laid out
    /// as the node scores; returns the result with the larger log Z. With strong edges there are several fixed points, and the log Z
    /// of some misses the labels.
    pub fn run_near(&self, labels: &[f64], settings: &LoopySettings) -> Result<Propagated> {
        let free = self.run(None, settings)?;
        if labels.len() != self.scores.node.len() {
            let (n_entries, expected) = (labels.len(), self.scores.node.len());
            return Err(Error::Option(format!("labels: expected {expected} entries, found {n_entries}")));
        }
        let node: Vec<f64> =
            self.scores.node.iter().zip(labels).map(|(score, label)| score + CERTAIN * label).collect();
        let pulled = Propagation { scores: NetworkScores { node: &node, ..self.scores }, ..*self };
        let start = pulled.run(None, &PULL)?.messages;
        let near = self.run(Some(&start), settings)?;
        Ok(if near.beliefs.log_z > free.beliefs.log_z { near } else { free })
    }

    /// Fails if an option or a number is out of range, or a vector has a wrong length.
    fn check(&self, start: Option<&[f64]>, settings: &LoopySettings) -> Result<()> {
        settings.check()?;
        self.check_appearances()?;
        let Some(start) = start else { return Ok(()) };
        if start.len() != self.slots.n_entries() {
            let (n_entries, expected) = (start.len(), self.slots.n_entries());
            return Err(Error::Option(format!("messages: expected {expected} entries, found {n_entries}")));
        }
        match start.iter().position(|entry| !entry.is_finite()) {
            Some(at) => Err(Error::Option(format!("messages[{at}] is {}; messages must be finite", start[at]))),
            None => Ok(()),
        }
    }

    fn check_appearances(&self) -> Result<()> {
        let Some(appearances) = self.appearances else { return Ok(()) };
        let (n_appearances, n_edges) = (appearances.len(), self.scores.network.edges().len());
        if n_appearances != n_edges {
            return Err(Error::Option(format!("{n_appearances} appearances for {n_edges} edges")));
        }
        match appearances.iter().position(|&rho| !(rho > 0.0 && rho <= 1.0)) {
            Some(at) => {
                let rho = appearances[at];
                Err(Error::Option(format!("appearances[{at}] is {rho}; it must be above 0 and at most 1")))
            }
            None => Ok(()),
        }
    }

    /// `run` with a given rule.
    pub(super) fn pass<R: MessageRule>(
        &self,
        rule: &R,
        start: Option<&[f64]>,
        settings: &LoopySettings,
    ) -> Result<Propagated> {
        let mut messages = start.map_or_else(|| vec![0.0; self.slots.n_entries()], <[f64]>::to_vec);
        rule.entries_of_logs(&mut messages);
        let report = match settings.schedule {
            Schedule::Flooding => {
                // Reweighted messages have one fixed point, so leaps are safe; loopy messages may have several, or none.
                let mixing = Mixing::new(settings.damping, self.appearances.is_some());
                schedules::flooding(rule, &mut messages, mixing, settings, self.pool, self.interrupt)?
            }
            Schedule::Residual => {
                let network = self.scores.network;
                let targets = (0..network.n_variables()).flat_map(|i| network.neighbours(i));
                let targets = targets.map(|neighbour| neighbour.variable);
                schedules::residual(rule, &mut messages, settings, &targets.collect::<Vec<_>>(), self.interrupt)?
            }
        };
        let beliefs = rule.beliefs(&messages, self.pool);
        if !beliefs.log_z.is_finite() {
            let message = format!("log Z is {}: the scores are too large; scale them down", beliefs.log_z);
            return Err(Error::Option(message));
        }
        rule.logs_of_entries(&mut messages);
        Ok(Propagated { beliefs, messages, report })
    }
}
