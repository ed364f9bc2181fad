//! The negative log pseudo-likelihood over some of the weights. All other weights are 0 and cost nothing.

use crate::error::Result;
use crate::network::pseudolikelihood::interactions::{Derivatives, InteractionScores, Interactions};
use crate::network::pseudolikelihood::residuals::Residuals;
use crate::network::pseudolikelihood::samples::{CHUNK, Samples};
use crate::numeric;
use crate::numeric::aligned::Aligned;
use crate::numeric::arch::arch;
use crate::threads::{self, Interrupt, Pool, locked};
use pulp::{Simd, WithSimd};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Most parts into which the samples are divided. Each part has its own sums; parts depend only on the number of samples, so
/// that results are bitwise the same on any number of threads.
const PARTS: usize = 32;

/// The objective over some of the weights: first the weights of pairs of columns, then the weights of single columns.
pub struct Restricted {
    pub samples: Arc<Samples>,
    /// The threads that evaluate the objective.
    pub pool: Pool,
    /// Weight of this objective -> its number among all weights; ascending.
    features: Vec<usize>,
    /// The pairs of columns whose weights belong to this objective.
    edges: Interactions,
    /// The columns whose own weights belong to this objective.
    singles: Vec<usize>,
    /// The variables whose terms are summed.
    pub(super) variables: Range<usize>,
    /// Buffers that no thread uses at the moment.
    spare: Mutex<Vec<Scratch>>,
}

/// Buffers that a thread keeps from one chunk to the next, n_columns x `CHUNK` each.
#[derive(Default)]
struct Scratch {
    /// The values of the columns.
    values: Aligned,
    /// Scores, then residuals.
    scores: Aligned,
}

impl Restricted {
    /// The objective over the weights with the numbers `features`, which ascend.
    pub fn new(samples: Arc<Samples>, pool: Pool, features: Vec<usize>) -> Restricted {
        let n = samples.n_interactions();
        let (interactions, singles) = features.split_at(features.partition_point(|&feature| feature < n));
        let edges = Interactions::new(&samples, interactions.iter().enumerate().map(|(at, &feature)| (feature, at)));
        let singles = singles.iter().map(|feature| feature - n).collect();
        let variables = 0..samples.states.len();
        Restricted { samples, pool, features, edges, singles, variables, spare: Mutex::default() }
    }

    /// The objective over some of its weights, given by ascending positions among them.
    pub fn restrict(&self, positions: &[usize]) -> Restricted {
        let features = positions.iter().map(|&at| self.features[at]).collect();
        let restricted = Restricted::new(Arc::clone(&self.samples), self.pool, features);
        Restricted { variables: self.variables.clone(), ..restricted }
    }

    /// Number of weights.
    pub fn n_features(&self) -> usize {
        self.features.len()
    }

    /// Weight of this objective -> its number among all weights.
    pub fn features(&self) -> &[usize] {
        &self.features
    }

    /// Whether an evaluation takes a few milliseconds at most.
    pub fn is_quick(&self) -> bool {
        self.samples.n_samples * (16 * self.samples.n_columns() + self.edges.all.len()) < 20_000_000
    }

    /// Writes the gradient at `w` and returns the value, which is infinite if a weight is not finite.
    pub fn value_and_gradient(&self, w: &[f64], gradient: &mut [f64], interrupt: &Interrupt) -> Result<f64> {
        gradient.fill(0.0);
        if !w.iter().map(|w| w.abs()).sum::<f64>().is_finite() {
            return Ok(f64::INFINITY);
        }
        let mut singles = vec![0.0; self.samples.n_columns()];
        let first = self.edges.all.len();
        self.singles.iter().zip(&w[first..]).for_each(|(&column, &w)| singles[column] = w);
        let n_chunks = self.samples.n_chunks();
        let of_part = n_chunks.div_ceil(PARTS);
        let parts = (0..n_chunks).step_by(of_part).map(|start| start..(start + of_part).min(n_chunks)).collect();
        let sums = threads::share(self.pool, parts, |chunks| self.part(chunks, w, &singles, interrupt));
        interrupt.check()?;
        let mut value = 0.0;
        for (of_part, sums) in sums {
            value += of_part;
            gradient.iter_mut().zip(sums).for_each(|(gradient, sum)| *gradient += sum);
        }
        Ok(value)
    }

    /// Value and gradient on consecutive chunks of samples.
    fn part(&self, chunks: Range<usize>, w: &[f64], singles: &[f64], interrupt: &Interrupt) -> (f64, Vec<f64>) {
        let (mut value, mut gradient) = (0.0, vec![0.0; w.len()]);
        let mut buffers = locked(&self.spare).pop().unwrap_or_default();
        for chunk in chunks {
            if interrupt.is_set() {
                break;
            }
            value += arch().dispatch(OfChunk {
                objective: self,
                chunk,
                w,
                singles,
                buffers: &mut buffers,
                gradient: &mut gradient,
            });
        }
        locked(&self.spare).push(buffers);
        (value, gradient)
    }
}

/// Adds the gradient on the samples of one chunk to `gradient`; returns the value.
struct OfChunk<'a> {
    objective: &'a Restricted,
    chunk: usize,
    w: &'a [f64],
    singles: &'a [f64],
    buffers: &'a mut Scratch,
    gradient: &'a mut [f64],
}

impl WithSimd for OfChunk<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let OfChunk { objective, chunk, w, singles, buffers: Scratch { values, scores }, gradient } = self;
        let (samples, edges) = (&*objective.samples, &objective.edges);
        scores.resize(samples.n_columns() * CHUNK, 0.0);
        InteractionScores { samples, chunk, edges, w, singles, values, out: scores }.with_simd(simd);
        let variables = objective.variables.clone();
        let range = samples.first[variables.start] * CHUNK..samples.first[variables.end] * CHUNK;
        let value = Residuals { samples, chunk, variables, scores }.with_simd(simd);
        scores[..range.start].fill(0.0);
        scores[range.end..].fill(0.0);
        Derivatives { edges: &edges.all, values, residuals: scores, gradient }.with_simd(simd);
        for (&column, gradient) in objective.singles.iter().zip(&mut gradient[edges.all.len()..]) {
            *gradient += numeric::sum(simd, &scores[column * CHUNK..][..CHUNK]);
        }
        value
    }
}
