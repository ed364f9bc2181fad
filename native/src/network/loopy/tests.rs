//! Laws of belief propagation: exact on trees, the same by every rule and on any number of threads.

use crate::network::enumeration::enumerated;
use crate::network::loopy::logs::Logs;
use crate::network::loopy::mixing::Mixing;
use crate::network::loopy::odds::Odds;
use crate::network::loopy::ratios::Ratios;
use crate::network::loopy::rule::{LoopySettings, MessageRule, Propagation, Schedule};
use crate::network::loopy::run::Propagated;
use crate::network::loopy::schedules::flooding;
use crate::network::loopy::slots::MessageSlots;
use crate::network::{Network, NetworkScores};
use crate::numeric::random::Random;
use crate::threads::{self, Interrupt};

const TIGHT: LoopySettings =
    LoopySettings { damping: 0.0, tolerance: 1e-12, max_iterations: 500, schedule: Schedule::Flooding };

struct Problem {
    network: Network,
    slots: MessageSlots,
    nodes: Vec<f64>,
    tables: Vec<f64>,
    appearances: Option<Vec<f64>>,
}

impl Problem {
    /// A tree with `more` further edges, and scores from [-scale, scale).
    fn new(states: &[u32], more: usize, scale: f64, seed: u64) -> Self {
        let mut random = Random::new(seed, 0);
        let n = states.len();
        let mut below = |bound: usize| (random.uniform() * bound as f64) as u32;
        let mut edges: Vec<(u32, u32)> = (1..n).map(|j| (below(j), j as u32)).collect();
        while edges.len() < n - 1 + more {
            let (i, j) = (below(n), below(n));
            if i != j && !edges.contains(&(i, j)) && !edges.contains(&(j, i)) {
                edges.push((i, j));
            }
        }
        let network = Network::new(states.to_vec(), edges).unwrap();
        let mut scores = |n: usize| (0..n).map(|_| scale * (2.0 * random.uniform() - 1.0)).collect();
        let (nodes, tables) = (scores(network.n_node_scores()), scores(network.n_edge_scores()));
        Problem { slots: MessageSlots::new(&network), network, nodes, tables, appearances: None }
    }

    /// The same problem with shares of forests from [0.3, 1).
    fn reweighted(mut self) -> Self {
        let mut random = Random::new(9, 0);
        self.appearances = Some(self.network.edges().iter().map(|_| 0.3 + 0.7 * random.uniform()).collect());
        self
    }

    fn with<T>(&self, threads: usize, work: impl FnOnce(&Propagation<'_>) -> T) -> T {
        let (pool, interrupt) = (threads::pool(threads).unwrap(), Interrupt::default());
        let (scores, slots, appearances) = (self.scores(), &self.slots, self.appearances.as_deref());
        work(&Propagation { scores, slots, appearances, pool, interrupt: &interrupt })
    }

    fn scores(&self) -> NetworkScores<'_> {
        NetworkScores::new(&self.network, &self.nodes, &self.tables).unwrap()
    }

    /// log Z and the probabilities of states, by enumeration.
    fn exact(&self) -> (f64, Vec<f64>) {
        let (log_z, all) = enumerated(self.scores());
        let mut nodes = vec![0.0; self.nodes.len()];
        for (x, score) in all {
            x.iter()
                .enumerate()
                .for_each(|(i, &s)| nodes[self.network.node(i).start + s as usize] += (score - log_z).exp());
        }
        (log_z, nodes)
    }
}

fn assert_close(a: &[f64], b: &[f64], allowed: f64) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= allowed * y.abs().max(1.0), "{x} is not {y}");
    }
}

fn assert_same(a: &Propagated, b: &Propagated, allowed: f64) {
    assert_close(&[a.beliefs.log_z], &[b.beliefs.log_z], allowed);
    assert_close(&a.beliefs.nodes, &b.beliefs.nodes, allowed);
    assert_close(&a.beliefs.edges, &b.beliefs.edges, allowed);
    assert_close(&a.messages, &b.messages, allowed);
}

const STATES: [&[u32]; 2] = [&[2; 6], &[2, 3, 2, 4, 3, 2]];

#[test]
fn every_rule_is_exact_on_trees() {
    for (seed, states) in (0..20).flat_map(|seed| STATES.map(|states| (seed, states))) {
        let problem = Problem::new(states, 0, 3.0, seed);
        let (log_z, nodes) = problem.exact();
        problem.with(1, |task| {
            let mut outcomes = vec![task.pass(&Logs::new(task), None, &TIGHT).unwrap()];
            outcomes.push(task.pass(&Ratios::new(task).unwrap(), None, &TIGHT).unwrap());
            outcomes.extend(Odds::new(task).map(|rule| task.pass(&rule, None, &TIGHT).unwrap()));
            assert_eq!(outcomes.len(), if states[1] == 2 { 3 } else { 2 });
            for outcome in outcomes {
                assert_close(&[outcome.beliefs.log_z], &[log_z], 1e-12);
                assert_close(&outcome.beliefs.nodes, &nodes, 1e-11);
                assert!(outcome.report.residual <= 1e-12 && outcome.report.iterations <= states.len());
            }
        });
    }
}

#[test]
fn rules_agree_message_by_message_before_they_settle() {
    let schedules = [Schedule::Flooding, Schedule::Residual];
    for (seed, states) in (0..10).flat_map(|seed| STATES.map(|states| (seed, states))) {
        let problem = Problem::new(states, 5, 2.0, seed);
        let problem = if seed % 2 == 0 { problem } else { problem.reweighted() };
        let settings = |k: usize, max_iterations| LoopySettings {
            schedule: schedules[k],
            damping: [0.0, 0.3][k],
            max_iterations,
            ..TIGHT
        };
        // Iterations after the eighth of reweighted messages are accelerated, which makes rounding errors larger.
        for (settings, allowed) in [(settings(0, 3), 1e-11), (settings(1, 3), 1e-11), (settings(0, 12), 1e-7)] {
            problem.with(1, |task| {
                let logs = task.pass(&Logs::new(task), None, &settings).unwrap();
                assert_same(&task.pass(&Ratios::new(task).unwrap(), None, &settings).unwrap(), &logs, allowed);
                if let Some(rule) = Odds::new(task) {
                    assert_same(&task.pass(&rule, None, &settings).unwrap(), &logs, allowed);
                }
            });
        }
    }
}

/// At a fixed point any perturbation of the messages changes log Z to second order only, and beliefs of edges agree with those
/// of their variables.
#[test]
fn a_fixed_point_with_appearances_is_stationary_and_consistent() {
    for (seed, states) in (0..10).flat_map(|seed| STATES.map(|states| (seed, states))) {
        let problem = Problem::new(states, 5, 1.0, seed).reweighted();
        problem.with(1, |task| {
            let settings = LoopySettings { damping: 0.5, max_iterations: 5000, ..TIGHT };
            let outcome = task.run(None, &settings).unwrap();
            assert!(outcome.report.residual <= 1e-12);
            for (edge, &(i, j)) in problem.network.edges().iter().enumerate() {
                let table = &outcome.beliefs.edges[problem.network.table(edge)];
                let across = states[j as usize] as usize;
                let rows: Vec<f64> = table.chunks_exact(across).map(|row| row.iter().sum()).collect();
                let columns: Vec<f64> = (0..across).map(|y| table.iter().skip(y).step_by(across).sum()).collect();
                assert_close(&rows, &outcome.beliefs.nodes[problem.network.node(i as usize)], 1e-10);
                assert_close(&columns, &outcome.beliefs.nodes[problem.network.node(j as usize)], 1e-10);
            }
            let once = LoopySettings { max_iterations: 1, ..settings };
            let near: Vec<f64> = outcome.messages.iter().map(|message| message + 1e-5).collect();
            let moved = task.run(Some(&near), &once).unwrap();
            assert!((moved.beliefs.log_z - outcome.beliefs.log_z).abs() < 1e-8);
        });
    }
}

/// Messages of a rule and the number of iterations to them.
fn flooded<R: MessageRule>(rule: &R, damping: f64, accelerated: bool) -> (Vec<f64>, usize) {
    let (pool, settings) = (threads::pool(1).unwrap(), LoopySettings { damping, max_iterations: 20_000, ..TIGHT });
    let mut messages = vec![0.0; rule.slots().n_entries()];
    rule.entries_of_logs(&mut messages);
    let mixing = Mixing::new(damping, accelerated);
    let report = flooding(rule, &mut messages, mixing, &settings, pool, &Interrupt::default()).unwrap();
    assert!(report.residual <= settings.tolerance);
    rule.logs_of_entries(&mut messages);
    (messages, report.iterations)
}

#[test]
fn acceleration_leads_to_the_same_messages_in_fewer_iterations() {
    let mut iterations = [0, 0];
    for (seed, states) in (0..10).flat_map(|seed| STATES.map(|states| (seed, states))) {
        let problem = Problem::new(states, 7, 4.0, seed).reweighted();
        problem.with(1, |task| {
            let (logs, ratios) = (Logs::new(task), Ratios::new(task).unwrap());
            let both = [false, true].map(|accelerated| {
                let mut results = vec![flooded(&logs, 0.1, accelerated), flooded(&ratios, 0.1, accelerated)];
                results.extend(Odds::new(task).map(|rule| flooded(&rule, 0.1, accelerated)));
                results
            });
            for (plain, leaps) in both[0].iter().zip(&both[1]) {
                assert_close(&leaps.0, &plain.0, 1e-9);
                iterations[0] += plain.1;
                iterations[1] += leaps.1;
            }
        });
    }
    assert!(5 * iterations[1] < 3 * iterations[0], "{iterations:?}");
}

#[test]
fn ratios_hold_up_to_their_limit_and_logs_beyond() {
    for (states, scale) in STATES.iter().flat_map(|states| [10.0, 40.0, 49.0, 300.0, 1e4].map(|scale| (states, scale)))
    {
        let problem = Problem::new(states, 0, scale, 1);
        problem.with(1, |task| {
            let rule = Ratios::new(task);
            assert_eq!(rule.is_some(), scale < 50.0, "{scale}");
            let logs = task.pass(&Logs::new(task), None, &TIGHT).unwrap();
            assert_same(&task.run(None, &TIGHT).unwrap(), &logs, 1e-9);
            rule.iter().for_each(|rule| assert_same(&task.pass(rule, None, &TIGHT).unwrap(), &logs, 1e-9));
        });
    }
}

#[test]
fn threads_make_no_difference_to_any_rule() {
    for states in [vec![2; 3000], [2, 3].repeat(1500)] {
        let problem = Problem::new(&states, 9000, 0.5, 3).reweighted();
        assert!(problem.slots.blocks.len() > 2);
        let settings = LoopySettings { max_iterations: 20, damping: 0.3, ..TIGHT };
        let run = |threads| {
            problem.with(threads, |task| {
                let logs = task.pass(&Logs::new(task), None, &settings).unwrap();
                [logs, task.run(None, &settings).unwrap()].map(|outcome| (outcome.beliefs, outcome.messages))
            })
        };
        let one = run(1);
        assert!(run(2) == one && run(3) == one);
    }
}
