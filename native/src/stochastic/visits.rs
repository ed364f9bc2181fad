//! A pass over samples: visits in a given sequence, each sample fetched ahead of its visit.

use crate::error::Result;
use crate::numeric::arch::arch;
use crate::stochastic::view::{Evaluator, Layout, SampleOf, View, Visited};
use crate::threads::Interrupt;
use pulp::{Simd, WithSimd};

/// A method's work on each sample, one after the other.
pub trait Visitor {
    type Evaluator: Evaluator;

    fn weights(&self) -> &<Self::Evaluator as Evaluator>::Weights;

    /// Makes the k-th visit of the pass.
    fn visit<S: Simd>(&mut self, simd: S, k: usize, sample: <Self::Evaluator as Evaluator>::Sample);
}

/// Takes a visitor through the samples with the numbers in `sequence`. Error: it was interrupted.
pub fn visit<'a, V: View>(
    visitor: &mut impl Visitor<Evaluator = V::Evaluator<'a>>,
    view: &'a V,
    sequence: &[usize],
    interrupt: &Interrupt,
) -> Result<()> {
    let all = view.samples();
    let samples: Vec<SampleOf<'a, V>> = sequence.iter().map(|&sample| all[sample]).collect();
    arch().dispatch(Visits { visitor, samples: &samples, period: V::PERIOD, interrupt });
    interrupt.check()
}

/// The visits of a pass; prefetches the entries and weights of the next ones.
struct Visits<'a, T: Visitor> {
    visitor: &'a mut T,
    samples: &'a [<T::Evaluator as Evaluator>::Sample],
    period: usize,
    interrupt: &'a Interrupt,
}

impl<T: Visitor> WithSimd for Visits<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Visits { visitor, samples, period, interrupt } = self;
        for (k, &sample) in samples.iter().enumerate() {
            if k % period == 0 && interrupt.is_set() {
                return;
            }
            if let Some(later) = samples.get(k + 2) {
                later.fetch();
            }
            if let Some(next) = samples.get(k + 1) {
                visitor.weights().fetch(next);
            }
            visitor.visit(simd, k, sample);
        }
    }
}
