//! The corrected objective over working sets of labels.

use crate::chain::features::Features;
use crate::chain::inference::{LinkCounts, LinkFactors, PrunedLattice};
use crate::chain::objective::ChainObjective;
use crate::chain::objective::pruned::by_attribute::FeaturesByAttribute;
use crate::chain::objective::pruned::layout::PrunedBlock;
use crate::chain::objective::pruned::likely::LikelyLabels;
use crate::chain::objective::pruned::pieces::Bounds;
use crate::error::Result;
use crate::numeric::arch::arch;
use crate::threads::{self, Interrupt, Pool, locked};
use pulp::{Simd, WithSimd};
use rayon::prelude::*;
use std::sync::{Arc, Mutex};

/// The largest |score| of a transition or a triple whose factor is used as it is.
const MOST_OF_LINKS: f64 = 300.0;

/// How fast the guard grows: about the number of features of a cell that move together.
const STEEPNESS: f64 = 4.0;

/// S(w), see `chain::objective::pruned`.
pub struct PrunedObjective {
    /// The whole objective, or the objective over the kept features without pruning, for its masks and threads.
    whole: Arc<ChainObjective>,
    features: Features,
    blocks: Vec<PrunedBlock>,
    /// The linear part.
    slope: Vec<f64>,
    constant: f64,
    /// Approximate expected counts of the pruned labels.
    removed: Vec<f64>,
    /// Where the objective agrees with the whole one.
    w: Vec<f64>,
    pool: Pool,
    scratch: Mutex<Vec<Scratch>>,
}

/// A block's sums and the buffers of its work.
struct Scratch {
    value: f64,
    shared: Vec<f64>,
    counts: LinkCounts,
    lattice: PrunedLattice,
}

impl PrunedObjective {
    /// The objective over the features with these numbers, which ascend, and the labels that `likely` holds with a marginal
    /// above the bounds. `w`, `value` and `gradient` belong to the whole objective at which the labels were found; the weights of
    /// features that are not kept are 0.
    pub fn new(
        whole: &Arc<ChainObjective>,
        numbers: Option<&[usize]>,
        likely: &LikelyLabels,
        bounds: Bounds,
        (w, value, gradient): (&[f64], f64, &[f64]),
    ) -> Result<Self> {
        let features = match numbers {
            Some(numbers) => whole.features.restrict(numbers, |_| 0..0),
            None => Features::clone(&whole.features),
        };
        let n_attributes = whole.corpus.attributes.len();
        let by_attribute = FeaturesByAttribute::new(&features, n_attributes);
        let order = usize::from(whole.order());
        let pairs = whole.blocks.par_iter().zip(&features.blocks).zip(&likely.blocks);
        let blocks: Vec<PrunedBlock> = whole.install(|| {
            pairs
                .map(|((block, (_, own_range)), likely)| {
                    let how = (bounds, order);
                    PrunedBlock::new(whole.weighted(), block, own_range.clone(), likely, how, &by_attribute)
                })
                .collect()
        });
        let (slope, scratch) = (vec![0.0; features.len()], Mutex::default());
        let pool = threads::pool(whole.n_threads())?;
        let mut objective = PrunedObjective {
            whole: Arc::clone(whole),
            features,
            blocks,
            slope,
            constant: 0.0,
            removed: Vec::new(),
            w: Vec::new(),
            pool,
            scratch,
        };
        objective.agree_at(w, value, gradient)?;
        Ok(objective)
    }

    /// Multiplies the guard by a factor, in [0, 1].
    pub fn weaken_guard(&mut self, factor: f64) {
        self.removed.iter_mut().for_each(|removed| *removed *= factor);
    }

    /// Makes the objective agree with the whole objective at `w`, where that has this value and gradient. Sets the guard.
    fn agree_at(&mut self, w: &[f64], value: f64, gradient: &[f64]) -> Result<()> {
        // Until `begin_at`, the blocks hold the marginals at w.
        let (errors, pool, first_state) = (self.errors(), self.pool, self.features.first_state());
        let blocks = &mut self.blocks;
        pool.install(|| blocks.par_iter_mut().for_each(|block| block.begin_at(&w[first_state..])));
        // Neither slope nor guard yet.
        let mut own_gradient = vec![0.0; w.len()];
        let own_value = self.value_and_gradient(w, &mut own_gradient, &Interrupt::default())?;
        self.slope = gradient.iter().zip(&own_gradient).map(|(whole, own)| whole - own).collect();
        self.constant = value - own_value - self.slope.iter().zip(w).map(|(slope, w)| slope * w).sum::<f64>();
        let links = own_gradient[..first_state].iter().chain(std::iter::repeat(&0.0));
        let removed = errors.iter().zip(links).zip(gradient);
        self.removed = removed.map(|((error, links), gradient)| (error - links + gradient).abs()).collect();
        self.w = w.to_vec();
        Ok(())
    }

    /// The counts of the gold labels of the pieces, less the expected ones of states.
    fn errors(&self) -> Vec<f64> {
        let first_state = self.features.first_state();
        let shared = self.features.state_range(0..self.features.n_dense + self.features.n_shared).end;
        let mut counts = vec![0.0; self.features.len()];
        let (links, states) = counts.split_at_mut(first_state);
        let (shared, mut own_counts) = states.split_at_mut(shared);
        for block in &self.blocks {
            let (mine, following) = own_counts.split_at_mut(block.own_range.len());
            block.spread_errors(shared, mine);
            links.iter_mut().zip(&block.gold_links).for_each(|(count, links)| *count += links);
            own_counts = following;
        }
        counts
    }

    pub fn n_features(&self) -> usize {
        self.features.len()
    }

    /// The number of threads that an evaluation runs on.
    pub fn n_threads(&self) -> usize {
        self.pool.n_threads()
    }

    /// The number of samples of the whole objective.
    pub fn n_samples(&self) -> usize {
        self.whole.corpus.n_sentences()
    }

    /// The number of entries of features.
    pub fn n_entries(&self) -> usize {
        self.blocks.iter().map(PrunedBlock::n_entries).sum()
    }

    /// Writes the gradient at `w` and returns the value; it is infinite, and the gradient 0, where a number leaves the range of a
    /// double.
    pub fn value_and_gradient(&self, w: &[f64], gradient: &mut [f64], interrupt: &Interrupt) -> Result<f64> {
        let (features, first_state) = (&self.features, self.features.first_state());
        let transitions = self.whole.transitions_of(features, w);
        let mut value = f64::INFINITY;
        if transitions.max_abs_of_links() <= MOST_OF_LINKS && w.iter().all(|weight| weight.is_finite()) {
            let factors = LinkFactors::new(&transitions);
            let shared_end = features.state_range(0..features.n_dense + features.n_shared).end;
            let (leading, own_gradient) = gradient.split_at_mut(first_state + shared_end);
            let (links, shared) = leading.split_at_mut(first_state);
            let states = &w[first_state..];
            let mut scratch = locked(&self.scratch);
            let scratch = &mut *scratch;
            scratch.resize_with(self.blocks.len(), || Scratch::new(&factors, shared_end));
            let owns = threads::parts(own_gradient, self.blocks.iter().map(|block| block.own_range.len()));
            self.pool.install(|| {
                let work = self.blocks.par_iter().zip(owns).zip(scratch.par_iter_mut());
                work.filter(|_| !interrupt.is_set()).for_each(|((block, own_gradient), scratch)| {
                    arch().dispatch(Sweep { block, states, factors: &factors, own_gradient, scratch });
                });
                add_up(scratch, shared);
            });
            interrupt.check()?;
            self.count_links(&factors, scratch, links);
            value = scratch.iter().map(|scratch| scratch.value).sum();
            gradient.iter_mut().zip(&self.slope).for_each(|(gradient, slope)| *gradient += slope);
            value += self.constant + self.slope.iter().zip(w).map(|(slope, w)| slope * w).sum::<f64>();
            if !self.w.is_empty() {
                value += self.guard(w, gradient);
            }
        }
        if value.is_finite() {
            return Ok(value);
        }
        gradient.fill(0.0);
        Ok(f64::INFINITY)
    }

    /// Adds the gradient of the guard to `gradient` and returns its value: for each feature removed (cosh(STEEPNESS d) - 1) /
    /// STEEPNESS^2, d being how far its weight has moved.
    fn guard(&self, w: &[f64], gradient: &mut [f64]) -> f64 {
        let mut total = 0.0;
        for (((gradient, w), at), removed) in gradient.iter_mut().zip(w).zip(&self.w).zip(&self.removed) {
            let moved = STEEPNESS * (w - at);
            if moved != 0.0 {
                let (up, down) = (moved.exp(), (-moved).exp());
                *gradient += removed * (up - down) / (2.0 * STEEPNESS);
                total += removed * ((up + down) / 2.0 - 1.0);
            }
        }
        total / (STEEPNESS * STEEPNESS)
    }

    /// Writes the expected counts of transitions and triples.
    fn count_links(&self, factors: &LinkFactors, scratch: &[Scratch], links: &mut [f64]) {
        let (transitions, triples) = (&self.features.transitions, &self.features.triples);
        let blocks = || scratch.iter().map(|scratch| &scratch.counts);
        let (of_pairs, of_triples) = links.split_at_mut(transitions.len());
        for (link, &[from, to]) in of_pairs.iter_mut().zip(transitions) {
            *link = blocks().map(|counts| counts.transition(factors, usize::from(from), usize::from(to))).sum();
        }
        for (link, labels) in of_triples.iter_mut().zip(triples) {
            *link = blocks().map(|counts| counts.triple(factors, labels.map(usize::from))).sum();
        }
    }
}

impl Scratch {
    fn new(factors: &LinkFactors, shared: usize) -> Scratch {
        let (counts, lattice) = (LinkCounts::new(factors), PrunedLattice::default());
        Scratch { value: 0.0, shared: vec![0.0; shared], counts, lattice }
    }
}

/// Writes the sums over blocks, in the order of the blocks.
fn add_up(scratch: &[Scratch], shared: &mut [f64]) {
    const PART: usize = 1 << 14;
    shared.par_chunks_mut(PART).enumerate().for_each(|(part, target)| {
        target.fill(0.0);
        for scratch in scratch {
            let source = &scratch.shared[part * PART..][..target.len()];
            target.iter_mut().zip(source).for_each(|(target, source)| *target += source);
        }
    });
}

/// The sweep over one block, to be dispatched to the machine's instruction set.
struct Sweep<'a> {
    block: &'a PrunedBlock,
    states: &'a [f64],
    factors: &'a LinkFactors,
    own_gradient: &'a mut [f64],
    scratch: &'a mut Scratch,
}

impl WithSimd for Sweep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Sweep { block, states, factors, own_gradient, scratch } = self;
        let Scratch { value, shared, counts, lattice } = scratch;
        *value = 0.0;
        shared.fill(0.0);
        own_gradient.fill(0.0);
        counts.clear();
        let own_states = &states[block.own_range.start..];
        for group in 0..block.n_groups() {
            let pieces = block.pieces(group);
            lattice.begin(pieces);
            block.add_weights(group, states, own_states, &mut lattice.scores);
            *value += lattice.forward_backward(simd, pieces, factors, counts);
            block.spread(group, &lattice.scores, shared, own_gradient);
        }
    }
}
