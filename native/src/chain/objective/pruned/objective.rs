//! The corrected objective over working sets of labels.

use crate::chain::features::Features;
use crate::chain::inference::{LinkCounts, LinkFactors, Links, PrunedLattice};
use crate::chain::objective::ChainObjective;
use crate::chain::objective::layout::Block;
use crate::chain::objective::pruned::by_attribute::FeaturesByAttribute;
use crate::chain::objective::pruned::correction::Correction;
use crate::chain::objective::pruned::cost;
use crate::chain::objective::pruned::layout::PrunedBlock;
use crate::chain::objective::pruned::likely::{BlockLabels, LikelyLabels};
use crate::chain::objective::pruned::pieces::{Bounds, Cutter};
use crate::error::Result;
use crate::numeric::arch::arch;
use crate::threads::{self, Interrupt, Pool, locked};
use pulp::{Simd, WithSimd};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The largest |score| of a transition or a triple whose factor is used as it is.
const MOST_OF_LINKS: f64 = 300.0;

/// The share of the expected count of a link that counts as the curvature along its weight.
const CURVATURE_OF_LINKS: f64 = 0.1;

/// S(w), see `chain::objective::pruned`.
pub struct PrunedObjective {
    restricted: Arc<Restricted>,
    /// Approximate expected counts of the pruned labels.
    removed: Arc<Vec<f64>>,
    correction: Correction,
    /// The curvature along each weight where the objective was made, approximately.
    pub curvatures: Arc<Vec<f64>>,
}

/// R(w): the sum of weight * log Z over the pieces.
struct Restricted {
    /// The whole objective, or the objective over the kept features without pruning, for its masks and threads.
    whole: Arc<ChainObjective>,
    features: Features,
    blocks: Vec<PrunedBlock>,
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
    /// features that are not kept are 0. `guard`, at least 0, multiplies the guard. None where an evaluation would cost more than
    /// the bound of costs times an evaluation of the whole objective.
    pub fn new(
        whole: &Arc<ChainObjective>,
        numbers: Option<&[usize]>,
        likely: &LikelyLabels,
        bounds: Bounds,
        (w, value, gradient): (&[f64], f64, &[f64]),
        guard: f64,
        interrupt: &Interrupt,
    ) -> Result<Option<Self>> {
        let features = match numbers {
            Some(numbers) => whole.features.restrict(numbers, |_| 0..0),
            None => Features::clone(&whole.features),
        };
        let pool = threads::pool(whole.n_threads())?;
        let Some(cutters) = cut(whole, &features, likely, bounds, w, interrupt)? else { return Ok(None) };
        let by_attribute = FeaturesByAttribute::new(&features, whole.corpus.attributes.len());
        let lay = |(cutter, (_, own_range)): (Cutter, &(Range<usize>, Range<usize>))| {
            PrunedBlock::new(whole.weighted(), own_range.clone(), &cutter, &by_attribute)
        };
        let pairs = cutters.into_par_iter().zip(&features.blocks);
        let blocks: Vec<PrunedBlock> = pool.install(|| pairs.filter(|_| !interrupt.is_set()).map(lay).collect());
        interrupt.check()?;
        let mut restricted = Restricted { whole: Arc::clone(whole), features, blocks, pool, scratch: Mutex::default() };
        // Until `begin_at`, the blocks hold the marginals at w.
        let (errors, first_state) = (restricted.errors(), restricted.features.first_state());
        let mut curvatures = restricted.swept(PrunedBlock::spread_curvatures);
        let blocks = &mut restricted.blocks;
        pool.install(|| blocks.par_iter_mut().for_each(|block| block.begin_at(&w[first_state..])));
        let (own_value, own_gradient) = restricted.at(w, interrupt)?;
        let links = own_gradient[..first_state].iter().chain(std::iter::repeat(&0.0));
        let removed = errors.iter().zip(links).zip(gradient);
        let removed: Vec<f64> = removed.map(|((error, links), gradient)| (error - links + gradient).abs()).collect();
        let of_links = curvatures.iter_mut().zip(&own_gradient[..first_state]);
        of_links.for_each(|(curvature, count)| *curvature = CURVATURE_OF_LINKS * count);
        let correction = Correction::new((w, value, gradient), (own_value, &own_gradient), &removed, guard);
        let (restricted, removed, curvatures) = (Arc::new(restricted), Arc::new(removed), Arc::new(curvatures));
        Ok(Some(PrunedObjective { restricted, removed, correction, curvatures }))
    }

    /// The objective over the same labels and features that agrees with the whole objective at other weights. Takes one evaluation.
    pub fn agreeing(
        &self,
        (w, value, gradient): (&[f64], f64, &[f64]),
        guard: f64,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let (restricted, removed) = (Arc::clone(&self.restricted), Arc::clone(&self.removed));
        let (own_value, own_gradient) = restricted.at(w, interrupt)?;
        let correction = Correction::new((w, value, gradient), (own_value, &own_gradient), &removed, guard);
        Ok(PrunedObjective { restricted, removed, correction, curvatures: Arc::clone(&self.curvatures) })
    }

    pub fn n_features(&self) -> usize {
        self.restricted.features.len()
    }

    /// The number of threads that an evaluation runs on.
    pub fn n_threads(&self) -> usize {
        self.restricted.pool.n_threads()
    }

    /// The number of samples of the whole objective.
    pub fn n_samples(&self) -> usize {
        self.restricted.whole.corpus.n_sentences()
    }

    /// The number of entries of features.
    pub fn n_entries(&self) -> usize {
        self.restricted.blocks.iter().map(PrunedBlock::n_entries).sum()
    }

    /// Writes the gradient at `w` and returns the value; it is infinite, and the gradient 0, where a number leaves the range of a
    /// double.
    pub fn value_and_gradient(&self, w: &[f64], gradient: &mut [f64], interrupt: &Interrupt) -> Result<f64> {
        let mut value = self.restricted.value_and_gradient(w, gradient, interrupt)?;
        if value.is_finite() {
            value += self.correction.add(w, gradient);
        }
        if value.is_finite() {
            return Ok(value);
        }
        gradient.fill(0.0);
        Ok(f64::INFINITY)
    }
}

/// The pieces of each block; None where an evaluation over them would cost too much. `w` are the weights of `features`.
fn cut(
    whole: &ChainObjective,
    features: &Features,
    likely: &LikelyLabels,
    bounds: Bounds,
    w: &[f64],
    interrupt: &Interrupt,
) -> Result<Option<Vec<Cutter>>> {
    let order = usize::from(whole.order());
    let of_block = |(block, likely): (&Block, &BlockLabels)| {
        Cutter::new(features.n_labels as u16, order, bounds).of_block(whole.weighted(), block, likely)
    };
    let pairs = whole.blocks.par_iter().zip(&likely.blocks);
    let cutters: Vec<Cutter> = whole.install(|| pairs.filter(|_| !interrupt.is_set()).map(of_block).collect());
    interrupt.check()?;
    if bounds.cost < f64::INFINITY {
        let transitions = whole.transitions_of(features, w);
        let links = Links::new(&transitions, &whole.features.transitions, &whole.features.triples);
        let of_pieces: f64 = cutters.iter().map(|cutter| cost::of_pieces(cutter, order)).sum();
        let of_whole: f64 = whole.blocks.iter().map(|block| cost::of_block(block, &links)).sum();
        if of_pieces > bounds.cost * of_whole {
            return Ok(None);
        }
    }
    Ok(Some(cutters))
}

impl Restricted {
    /// Value and gradient at `w`.
    fn at(&self, w: &[f64], interrupt: &Interrupt) -> Result<(f64, Vec<f64>)> {
        let mut gradient = vec![0.0; w.len()];
        let value = self.value_and_gradient(w, &mut gradient, interrupt)?;
        Ok((value, gradient))
    }

    /// The counts of the gold labels of the pieces, less the expected ones of states.
    fn errors(&self) -> Vec<f64> {
        let mut counts = self.swept(PrunedBlock::spread_errors);
        for block in &self.blocks {
            counts.iter_mut().zip(&block.gold_links).for_each(|(count, links)| *count += links);
        }
        counts
    }

    /// The sums over blocks of what `spread` adds for the features that several blocks meet and for the block's own features; 0 for
    /// transitions and triples.
    fn swept(&self, spread: impl Fn(&PrunedBlock, &mut [f64], &mut [f64]) + Sync) -> Vec<f64> {
        let first_state = self.features.first_state();
        let n_shared = self.features.state_range(0..self.features.n_dense + self.features.n_shared).end;
        let mut sums = vec![0.0; self.features.len()];
        let (shared_sums, own_sums) = sums[first_state..].split_at_mut(n_shared);
        let owns = threads::parts(own_sums, self.blocks.iter().map(|block| block.own_range.len()));
        let of_block = |(block, own_sums): (&PrunedBlock, &mut [f64])| {
            let mut sums = vec![0.0; n_shared];
            spread(block, &mut sums, own_sums);
            sums
        };
        let by_block: Vec<Vec<f64>> = self.pool.install(|| self.blocks.par_iter().zip(owns).map(of_block).collect());
        for of_block in by_block {
            shared_sums.iter_mut().zip(of_block).for_each(|(sum, of_block)| *sum += of_block);
        }
        sums
    }

    /// Writes the gradient at `w` and returns the value, which is infinite where the scores of links are too large.
    fn value_and_gradient(&self, w: &[f64], gradient: &mut [f64], interrupt: &Interrupt) -> Result<f64> {
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
        }
        Ok(value)
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
