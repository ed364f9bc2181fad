//! Stochastic gradient descent with an L1 penalty (Tsuruoka, Tsujii & Ananiadou 2009), one sentence an update, and the
//! heuristic line search for its rate (Zhou et al. 2011, Algorithm 1).
//!
//! Symbols as in the papers: eta the learning rate, u the penalty that any weight could have received so far (Eq. 3), q the
//! penalty that a weight has received (Eq. 4), z a weight before its penalty. An L2 penalty is applied lazily: w = scale * v,
//! so that shrinking every weight is one multiplication. v, q and u are then all in units of w / scale.
//!
//! `update` holds the update, `penalty` the L1 penalty on a weight, `line_search` the choice of a rate.
//!
//! An update costs what the features of the sentence cost, except with `Naive` and `Clipping`, which by definition touch all
//! weights.
//!
//! `batches` makes passes in single precision, several sentences an update.

pub mod batches;
mod line_search;
mod penalty;
mod update;

pub use penalty::Penalty;
pub use update::{LineSearch, Outcome, Settings};

use crate::error::Result;
use crate::stochastic::sgd_l1::penalty::ClippingLazy;
use crate::stochastic::sgd_l1::update::Pass;
use crate::stochastic::steps::Rule;
use crate::stochastic::view::{Evaluator, View, Visited};
use crate::stochastic::visits::{Visitor, visit};
use crate::threads::Interrupt;
use pulp::Simd;

/// Makes one pass: updates w and q in place. u is the penalty that any weight could have received before the pass.
pub fn pass<V: View>(
    view: &V,
    w: &mut [f64],
    q: &mut [f64],
    u: f64,
    settings: &Settings<'_>,
    interrupt: &Interrupt,
) -> Result<Outcome> {
    let mut pass = Pass::new(view, w, q, u, settings, interrupt);
    visit(&mut pass, view, settings.visits, interrupt)?;
    Ok(pass.finish())
}

const SMALLEST_SCALE: f64 = 1e-100;

impl<E: Evaluator> Visitor for Pass<'_, E> {
    type Evaluator = E;

    #[inline(always)]
    fn weights(&self) -> &E::Weights {
        &self.weights
    }

    #[inline(always)]
    fn visit<S: Simd>(&mut self, simd: S, k: usize, sample: E::Sample) {
        let scheduled = self.settings.rates[k];
        self.inference.begin(sample);
        if sample.is_empty() {
            self.inference.nothing(sample);
            self.update(simd, sample, scheduled);
            return;
        }
        if self.settings.penalty == Penalty::ClippingLazy {
            let u = self.u;
            self.inference.touched(&mut self.weights, sample, |v, state| {
                v.iter_mut().zip(state).for_each(|(v, state)| ClippingLazy { u }.finish(v, state));
            });
        }
        self.evaluations += 1;
        let nll = self.inference.evaluate(simd, &self.weights, self.scale, sample);
        self.inference.gradient(simd, sample);
        let eta = match self.settings.line_search {
            Some(search) => self.search(simd, sample, search, scheduled, nll),
            None => scheduled,
        };
        self.update(simd, sample, eta);
        if self.scale < SMALLEST_SCALE {
            self.rescale();
        }
    }
}
