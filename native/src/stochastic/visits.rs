//! A pass over samples: visits in a given sequence, each sample fetched ahead of its visit.

use crate::error::Result;
use crate::numeric::arch::arch;
use crate::stochastic::samples::{Sample, SamplePasses};
use crate::stochastic::weights::Weights;
use crate::threads::Interrupt;
use pulp::{Simd, WithSimd};

/// The number of samples between two looks at the interrupt flag.
pub const PERIOD: usize = 64;

/// A method's work on each sample, one after the other.
pub trait Visitor {
    fn weights(&self) -> &Weights<'_>;

    /// Makes the k-th visit of the pass.
    fn visit<S: Simd>(&mut self, simd: S, k: usize, sample: Sample<'_>);
}

/// Takes a visitor through the samples with the numbers in `sequence`. Error: it was interrupted.
pub fn visit(visitor: &mut impl Visitor, view: &SamplePasses, sequence: &[usize], interrupt: &Interrupt) -> Result<()> {
    arch().dispatch(Visits { visitor, view, sequence, interrupt });
    interrupt.check()
}

/// The visits of a pass; prefetches the entries and weights of the next ones.
struct Visits<'a, V> {
    visitor: &'a mut V,
    view: &'a SamplePasses,
    sequence: &'a [usize],
    interrupt: &'a Interrupt,
}

impl<V: Visitor> WithSimd for Visits<'_, V> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Visits { visitor, view, sequence, interrupt } = self;
        let all = view.samples();
        let samples: Vec<Sample<'_>> = sequence.iter().map(|&sample| all[sample]).collect();
        for (k, &sample) in samples.iter().enumerate() {
            if k % PERIOD == 0 && interrupt.is_set() {
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
