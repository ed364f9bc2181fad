//! Passes in single precision, several sentences an update: every sentence of a batch takes its step from the weights before the
//! batch.
//!
//! A weight is kept as p, the sum of its steps (see `penalty`), and the L1 penalty is applied whenever a weight is read: w = p -
//! clamp(p, -u, u). So each weight has received all of u before each batch. With batches of one sentence this is the cumulative
//! penalty, applied to all weights after each update.
//!
//! An L2 penalty is applied lazily, as in `update`: w = scale * (p - clamp(p, -u, u)), with p and u in units of w / scale.
//!
//! `sums` lays out the numbers p, `chain` infers the steps of a sentence.

mod chain;
mod sums;

use crate::chain::objective::ChainObjective;
use crate::chain::objective::masks::Known;
use crate::error::Result;
use crate::numeric::arch::arch;
use crate::stochastic::samples::{Sample, SamplePasses};
use crate::stochastic::sgd_l1::Outcome;
use crate::stochastic::sgd_l1::batches::chain::Chain;
use crate::stochastic::sgd_l1::batches::sums::Sums;
use crate::stochastic::weights::pair_places;
use crate::threads::Interrupt;
use pulp::{Simd, WithSimd};

/// Options of a pass; rates and visits as in `sgd_l1::Settings`.
pub struct Settings<'a> {
    /// The L1 and the L2 penalty over the number of samples.
    pub l1: f64,
    pub l2: f64,
    pub rates: &'a [f64],
    pub visits: &'a [usize],
    pub batch_size: usize,
}

/// The least scale of weights, a number that is far from the end of single precision.
const SMALLEST_SCALE: f64 = 1e-6;

/// Whether passes over the objective can go by batches: sequences without bigram features and an intercept, whose labels are all
/// known, or none of a sentence, and allowed.
pub fn suits(objective: &ChainObjective) -> bool {
    let masks = &objective.masks;
    let is_plain = masks.allowed.is_none() && !masks.is_partial();
    objective.features.n_bigrams() == 0 && objective.n_unpenalised == 0 && is_plain
}

/// Makes one pass: updates w and q in place. u is the penalty that any weight could have received before the pass.
pub fn pass(
    view: &SamplePasses,
    w: &mut [f64],
    q: &mut [f64],
    u: f64,
    settings: &Settings<'_>,
    interrupt: &Interrupt,
) -> Result<Outcome> {
    let features = &*view.objective.features;
    let sums = Sums::new(features, w, q);
    let chain = Chain::new(features.n_labels, sums.width, pair_places(features));
    let mut pass = Pass { settings, sums, chain, scale: 1.0, u, evaluations: 0 };
    arch().dispatch(Batches { pass: &mut pass, view, interrupt });
    interrupt.check()?;
    let Pass { sums, scale, u, evaluations, .. } = pass;
    sums.store(features, w, q, u, scale);
    Ok(Outcome { u: scale * u, evaluations })
}

/// The state of a pass between two batches.
struct Pass<'a> {
    settings: &'a Settings<'a>,
    sums: Sums,
    chain: Chain,
    scale: f64,
    u: f64,
    evaluations: usize,
}

/// All batches of a pass, to be dispatched to an instruction set.
struct Batches<'a, 'b> {
    pass: &'a mut Pass<'b>,
    view: &'a SamplePasses,
    interrupt: &'a Interrupt,
}

impl WithSimd for Batches<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Batches { pass, view, interrupt } = self;
        let Settings { visits, rates, batch_size, .. } = *pass.settings;
        let all = view.samples();
        let samples: Vec<Sample<'_>> = visits.iter().map(|&sample| all[sample]).collect();
        let following = samples.chunks(batch_size).skip(1).chain([&[][..]]);
        for ((batch, rates), following) in samples.chunks(batch_size).zip(rates.chunks(batch_size)).zip(following) {
            if interrupt.is_set() {
                return;
            }
            following.iter().for_each(Sample::fetch);
            pass.update(simd, batch, rates);
        }
    }
}

impl Pass<'_> {
    /// Moves the weights by the steps of all samples of a batch.
    #[inline(always)]
    fn update<S: Simd>(&mut self, simd: S, batch: &[Sample<'_>], rates: &[f64]) {
        let Pass { settings, sums, chain, .. } = self;
        let has_pairs = batch.iter().any(|sample| sample.tokens().len() > 1);
        if has_pairs {
            chain.set_transitions(simd, &sums.pairs, self.u as f32, self.scale as f32);
        }
        // What the batch adds to the penalty is not in the weights that its samples see.
        let u = self.u as f32;
        let seen = self.scale as f32;
        for &rate in rates {
            self.scale /= 1.0 + rate * settings.l2;
            self.u += rate * settings.l1 / self.scale;
        }
        chain.begin_batch(has_pairs);
        for (&sample, &rate) in batch.iter().zip(rates) {
            let is_empty = sample.tokens().is_empty() || sample.knowledge != Known::All;
            self.evaluations += usize::from(!is_empty);
            let step = (rate * sample.weight / self.scale) as f32;
            chain.infer(simd, sums, sample, (u, seen), if is_empty { 0.0 } else { step });
        }
        for (number, sample) in batch.iter().enumerate() {
            let steps = chain.steps(number);
            if !steps.is_empty() {
                sums.add(simd, sample, steps);
            }
        }
        if has_pairs {
            chain.step_pairs(&mut sums.pairs, batch);
        }
        if self.scale < SMALLEST_SCALE {
            sums.multiply(self.scale as f32);
            self.u *= self.scale;
            self.scale = 1.0;
        }
    }
}
