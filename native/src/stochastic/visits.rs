//! A pass over samples: visits in a given sequence, each sample fetched ahead of its visit.

use crate::stochastic::samples::{Sample, SamplePasses};
use crate::stochastic::weights::Weights;
use crate::threads::Interrupt;
use pulp::{Simd, WithSimd};

/// Samples between two looks at the interrupt flag.
pub const PERIOD: usize = 64;

/// What a method does with one sample after the other.
pub trait Visitor {
    fn weights(&self) -> &Weights<'_>;

    /// Makes the k-th visit of the pass.
    fn visit<S: Simd>(&mut self, simd: S, k: usize, sample: Sample<'_>);
}

/// Takes a visitor through the samples in a sequence known beforehand, and prefetches what the next visits read. Stops early
/// when interrupted.
pub struct Visits<'a, V> {
    pub visitor: V,
    pub view: &'a SamplePasses,
    /// Number of the sample of each visit.
    pub sequence: &'a [usize],
    pub interrupt: &'a Interrupt,
}

impl<V: Visitor> WithSimd for Visits<'_, V> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Visits { mut visitor, view, sequence, interrupt } = self;
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
