//! Online learners: a sample whose best labelling is wrong changes the weights, a sample that is labelled rightly does not.
//!
//! Symbols: y the true labelling of a sample, y' the best one at the weights w, Delta = f(x, y) - f(x, y') the difference of
//! their features, Sigma a variance for each weight. Every update is w <- w + alpha Sigma Delta. A file for each learner says
//! what alpha and the loss are, and whether the variances shrink; the perceptron and passive-aggressive learners have variances
//! of 1.
//!
//! The average of all iterates is kept lazily: it is w - a / tau, tau being the number of iterates so far, and a the sum of all
//! changes, each times the number of iterates before it.

mod arow;
mod averaged_perceptron;
mod learner;
mod passive_aggressive;

pub use arow::Arow;
pub use averaged_perceptron::AveragedPerceptron;
pub use learner::Learner;
pub use passive_aggressive::{PassiveAggressive, Slack};

use crate::chain::objective::states::First;
use crate::error::{Error, Result};
use crate::stochastic::inference::Inference;
use crate::stochastic::online::learner::{Answer, Mistake};
use crate::stochastic::samples::{Sample, SamplePasses};
use crate::stochastic::visits::{Visitor, visit};
use crate::stochastic::weights::{Cell, Sparse, Weights};
use crate::threads::Interrupt;
use pulp::Simd;

/// What a learner keeps between two passes, each array by feature.
pub struct State<'a> {
    pub w: &'a mut [f64],
    /// a.
    pub sum: &'a mut [f64],
    /// Sigma.
    pub variances: &'a mut [f64],
    /// tau: 1 before the first sample, whose iterate is w = 0.
    pub iterates: u64,
}

/// Makes one pass, updates the state in place, and returns the sum of the losses, NaN if scores leave the range of numbers. Error:
/// labels are partial.
pub fn pass(
    view: &SamplePasses,
    learner: &dyn Learner,
    state: State<'_>,
    visits: &[usize],
    interrupt: &Interrupt,
) -> Result<f64> {
    let objective = &*view.objective;
    if objective.masks.is_partial() {
        let message = "partial labels: online learners need every label of a sentence, or none";
        return Err(Error::Option(message.into()));
    }
    let mut zeros = vec![0.0; objective.features.len()];
    let mut pass = Pass {
        learner,
        inference: Inference::new(objective, interrupt),
        weights: Weights::new(objective, state.w, state.sum, 0.0, |w, a| (w, a)),
        difference: Weights::new(objective, &mut zeros, state.variances, 0.0, |delta, variance| (delta, variance)),
        iterates: state.iterates as f64,
        has_changed: true,
        loss: 0.0,
        best: Vec::new(),
        signs: Vec::new(),
        active: Vec::new(),
        entries: Vec::new(),
    };
    visit(&mut pass, view, visits, interrupt)?;
    let Pass { weights, difference, loss, .. } = pass;
    weights.store(|w, a| (w, a));
    difference.store(|delta, variance| (delta, variance));
    Ok(loss)
}

struct Pass<'a> {
    learner: &'a dyn Learner,
    inference: Inference<'a>,
    /// w and a.
    weights: Weights<'a>,
    /// Delta, which is 0 between two updates, and Sigma, 0 where there is no feature.
    difference: Weights<'a>,
    /// tau.
    iterates: f64,
    /// Whether the transitions of `inference` are older than the weights.
    has_changed: bool,
    loss: f64,
    /// y'.
    best: Vec<u32>,
    /// Tokens x width: 1 for the labels of y and -1 for the labels of y' where the two differ, 0 otherwise.
    signs: Vec<f64>,
    /// The entries of Delta that may differ from 0; some are listed twice.
    active: Vec<Cell>,
    /// The entries of Delta that do, each once.
    entries: Vec<(Cell, f64)>,
}

impl<'a> Visitor for Pass<'a> {
    type Evaluator = Inference<'a>;

    #[inline(always)]
    fn weights(&self) -> &Weights<'a> {
        &self.weights
    }

    #[inline(always)]
    fn visit<S: Simd>(&mut self, simd: S, _: usize, sample: Sample<'a>) {
        if !sample.is_empty() {
            let margin = self.label(simd, sample);
            if !margin.is_finite() {
                // There is then no best labelling; the loss, which is NaN, shows it.
                self.loss = f64::NAN;
                return;
            }
            let errors = self.best.iter().zip(sample.gold).filter(|(best, gold)| best != gold).count();
            if errors > 0 {
                self.compare(sample);
                self.learn(sample, errors, margin);
            }
        }
        self.iterates += 1.0;
    }
}

impl Pass<'_> {
    /// Finds the best labelling; returns its score less the true labelling's.
    #[inline(always)]
    fn label<S: Simd>(&mut self, simd: S, sample: Sample<'_>) -> f64 {
        let Pass { inference, weights, best, has_changed, .. } = self;
        if std::mem::take(has_changed) {
            inference.transitions.update_forward(simd, &weights.pairs.values, weights.pairs.stride(), 1.0);
        }
        inference.scores(simd, First, weights, 1.0, sample);
        let Inference { lattice, transitions, .. } = inference;
        let of_gold = lattice.score(transitions, sample.gold.iter().copied());
        lattice.viterbi(simd, transitions, best) - of_gold
    }

    /// Computes Delta, and the list of its entries.
    #[inline(always)]
    fn compare(&mut self, sample: Sample<'_>) {
        let Pass { inference, difference, best, signs, active, .. } = self;
        let (gold, width) = (sample.gold, inference.lattice.width());
        let mut add = |difference: &mut Weights<'_>, cell: Cell, change: f64| {
            *difference.at(cell).0 += change;
            active.push(cell);
        };
        signs.clear();
        signs.resize(gold.len() * width, 0.0);
        for (token, (&good, &bad)) in gold.iter().zip(&*best).enumerate().filter(|(_, (good, bad))| good != bad) {
            signs[token * width + good as usize] = 1.0;
            signs[token * width + bad as usize] = -1.0;
        }
        for (entries, &(first, last)) in sample.block.rows.iter().zip(&sample.parts.rows) {
            for at in first as usize..last as usize {
                let token = entries.places[at] as usize / width;
                let (good, bad, row) = (gold[token], best[token], entries.ids[at] as usize);
                if good != bad {
                    for (label, one) in [(good, 1.0), (bad, -1.0)] {
                        let place = difference.rows.place(row, label);
                        add(difference, Cell::Row(place), one * entries.value(at));
                    }
                }
            }
        }
        for Sparse { entries, part, start, base, .. } in difference.sparse(sample) {
            for at in part {
                let sign = signs[entries.places[at] as usize];
                if sign != 0.0 {
                    let index = start + entries.ids[at] as usize - base;
                    add(difference, Cell::Single(index), sign * entries.value(at));
                }
            }
        }
        for (token, (good, bad)) in gold.windows(2).zip(best.windows(2)).enumerate().filter(|(_, (a, b))| a != b) {
            for (pair, one) in [(good, 1.0), (bad, -1.0)] {
                let place = difference.pairs.place(pair[0] as usize, pair[1]);
                add(difference, Cell::Pair(place), one);
                let lattice = &inference.lattice;
                for edge in &lattice.edges[lattice.edges_into(token + 1)] {
                    if [edge.from, edge.to] == *pair {
                        add(difference, Cell::Bigram(edge.feature), one);
                    }
                }
            }
        }
    }

    /// Updates the weights and the variances of Delta's entries, and makes Delta 0.
    #[inline(always)]
    fn learn(&mut self, sample: Sample<'_>, errors: usize, margin: f64) {
        let Pass { learner, weights, difference, active, entries, .. } = self;
        let mut variance = 0.0;
        entries.clear();
        for cell in active.drain(..) {
            let (delta, sigma) = difference.at(cell);
            // A cell that is listed again has been emptied; where there is no feature, Sigma is 0.
            let delta = std::mem::take(delta);
            if delta != 0.0 && *sigma != 0.0 {
                variance += delta * delta * *sigma;
                entries.push((cell, delta));
            }
        }
        let mistake = Mistake { errors, tokens: sample.tokens().len(), margin, variance };
        let Answer { alpha, loss } = learner.answer(&mistake);
        self.loss += sample.weight * loss;
        let (alpha, tau) = (sample.weight * alpha, self.iterates);
        for &(cell, delta) in &*entries {
            let sigma = difference.at(cell).1;
            let change = alpha * *sigma * delta;
            *sigma = learner.shrunk(*sigma, delta);
            let (w, a) = weights.at(cell);
            *w += change;
            *a += tau * change;
        }
        self.has_changed = true;
    }
}
