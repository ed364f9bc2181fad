//! Negative log-likelihood of a linear-chain CRF, of first or second order, and its gradient (Lafferty et al. 2001; Sutton &
//! McCallum 2012, section 4).
//!
//! `value(w)` = sum over sentences of weight * (log Z(x) - w . f(x, y))
//! `gradient` = sum over sentences of weight * (E[f(x, Y)] - f(x, y))
//!
//! Where transitions are forbidden, Y is one of the labellings without them. Where labels are partial, log Z over the allowed
//! labellings that agree with it stands for w . f(x, y), and the expectation over them for f(x, y) (Tsuboi et al. 2008). The
//! value is then not convex.
//!
//! Blocks of sentences go to threads. The sums of blocks are added up in the order of the blocks, so that the result is bitwise
//! the same on any number of threads.
//!
//! Wrong labels may have costs, see `costs`, and labels may be distributions, see `soft`: then w . E[f] over all sentences without
//! partial labels is subtracted at once.
//!
//! The other files hold the data that it evaluates (`layout`, `masks`, `weighted`), the steps of an evaluation (`pass`, `states`,
//! `sums`), and objectives made of one: over fewer features (`restrict`, `aggregate`), fewer labels (`pruned`), a part of the data. `united`
//! makes one over the features of a model as well.

mod aggregate;
pub(crate) mod costs;
mod counts;
mod largest;
pub(crate) mod layout;
pub mod masks;
pub mod part;
pub(crate) mod pass;
pub mod pruned;
pub mod restrict;
mod sample_nlls;
mod scratch;
mod soft;
pub(crate) mod states;
mod sums;
pub mod united;
mod weighted;

use crate::chain::features::{Features, NO_FEATURES, Selection};
use crate::chain::inference::{Allowed, Links, PairCounts, Transitions, Triples};
use crate::chain::objective::costs::Costs;
use crate::chain::objective::counts::empirical_counts;
use crate::chain::objective::layout::Block;
use crate::chain::objective::masks::{Known, Masks};
use crate::chain::objective::pass::{BlockPass, Likely, Scores, Summed, Targets, Workspace};
use crate::chain::objective::pruned::{BlockLabels, LikelyLabels};
use crate::chain::objective::scratch::settled;
use crate::chain::objective::sums::{Reduction, Sums};
use crate::chain::objective::weighted::Weighted;
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::numeric::aligned::Aligned;
use crate::numeric::arch::arch;
use crate::numeric::store::Soon;
use crate::threads::{self, Interrupt, Pool, locked};
use bytemuck::cast_slice;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use xxhash_rust::xxh3::xxh3_64;

/// The objective over some sentences and some features.
pub struct ChainObjective {
    pub corpus: Arc<Corpus>,
    pub features: Arc<Features>,
    selection: Selection,
    pub(crate) blocks: Arc<Vec<Block>>,
    pub masks: Arc<Masks>,
    pub(crate) costs: Costs,
    /// Sentence -> weight, if weights differ from the weights of the corpus.
    weights: Option<Vec<f64>>,
    /// The number of features, at the end, without a penalty: the intercept's, an attribute on every token. 0 without an intercept.
    pub n_unpenalised: usize,
    /// Counts of the features in the data: sum of weight * f(x, y).
    pub(crate) empirical: Vec<f64>,
    pool: Pool,
    scratch: Mutex<Scratch>,
}

/// Buffers kept from one evaluation to the next.
#[derive(Default)]
struct Scratch {
    /// Weights of the dense rows, n_dense x width.
    rows: Aligned,
    sums: Vec<Sums>,
    /// Block -> the gradient of the bigram features that the block meets.
    bigrams: Vec<Vec<f64>>,
    workspaces: Vec<Workspace>,
    log_space: usize,
    /// Block -> -log p of each of its sentences in the last evaluation.
    nlls: Vec<Vec<f64>>,
    /// The hash of the weights of the last evaluation, if it was not interrupted.
    evaluated: Option<u64>,
}

impl ChainObjective {
    /// Finds the features of a corpus and lays its sentences out in blocks. Error: a sentence's labels are not allowed.
    pub fn new(
        corpus: Arc<Corpus>,
        mut selection: Selection,
        allowed: Option<Arc<Allowed>>,
        n_threads: usize,
    ) -> Result<Self> {
        if corpus.triples {
            selection.order = 2;
        }
        let pool = threads::pool(n_threads)?;
        let (features, blocks, masks) = pool.install(|| -> Result<_> {
            corpus.check(&Interrupt::default())?;
            let features = Features::new(&corpus, selection)?;
            let masks = Masks::new(&corpus, allowed)?;
            let blocks = layout::blocks(&corpus, &features, |block| settled(&corpus, block))?;
            Ok((features, blocks, masks))
        })?;
        // CRFsuite trains without features, too.
        if features.is_empty() && selection.min_sum.is_none() {
            return Err(Error::Data(NO_FEATURES.into()));
        }
        Ok(ChainObjective::of_parts(corpus, features, blocks, masks, selection, 0, pool))
    }

    /// The objective on the same samples with other features.
    pub(crate) fn with_features(
        &self,
        features: Features,
        blocks: Vec<Block>,
        selection: Selection,
        n_unpenalised: usize,
        empirical: Vec<f64>,
    ) -> Self {
        ChainObjective {
            corpus: Arc::clone(&self.corpus),
            features: Arc::new(features),
            selection,
            blocks: Arc::new(blocks),
            masks: Arc::clone(&self.masks),
            costs: self.costs.clone(),
            weights: self.weights.clone(),
            n_unpenalised,
            empirical,
            pool: self.pool,
            scratch: Mutex::default(),
        }
    }

    /// The objective with a factor of the costs of each label's tokens; see `Costs::new`.
    pub fn with_class_weights(mut self, class_weights: Option<Arc<Vec<f64>>>) -> Self {
        self.costs = Costs::new(&self.corpus, class_weights);
        self
    }

    /// What large costs add to the value at all weights that give small scores; see `Costs::constant`.
    pub fn cost_constant(&self) -> f64 {
        self.costs.constant(&self.corpus, |sentence| self.weighted().weight(sentence))
    }

    /// The objective over blocks that are already laid out; all sentences have their weights of the corpus, and all tokens their
    /// costs.
    pub(crate) fn of_parts(
        corpus: Arc<Corpus>,
        features: Features,
        blocks: Vec<Block>,
        masks: Masks,
        selection: Selection,
        n_unpenalised: usize,
        pool: Pool,
    ) -> Self {
        let (features, blocks, masks) = (Arc::new(features), Arc::new(blocks), Arc::new(masks));
        let (costs, weights, empirical, scratch) = (Costs::new(&corpus, None), None, Vec::new(), Mutex::default());
        let mut objective = ChainObjective {
            corpus,
            features,
            selection,
            blocks,
            masks,
            costs,
            weights,
            n_unpenalised,
            empirical,
            pool,
            scratch,
        };
        objective.empirical = objective.counts();
        objective
    }

    /// The objective on some of the sentences with all features; the weight of each sentence is multiplied by `factor`, and
    /// by how often it is named. Shares all data with this objective.
    pub fn batch(&self, sentences: &[usize], factor: f64) -> Self {
        let mut weights = vec![0.0; self.corpus.n_sentences()];
        sentences.iter().for_each(|&sentence| weights[sentence] += factor * self.weight(sentence));
        let mut batch = ChainObjective {
            corpus: Arc::clone(&self.corpus),
            features: Arc::clone(&self.features),
            selection: self.selection,
            blocks: Arc::clone(&self.blocks),
            masks: Arc::clone(&self.masks),
            costs: self.costs.clone(),
            weights: Some(weights),
            n_unpenalised: self.n_unpenalised,
            empirical: Vec::new(),
            pool: self.pool,
            scratch: Mutex::default(),
        };
        batch.empirical = batch.counts();
        batch
    }

    /// The sentences with their weights and costs.
    fn weighted(&self) -> Weighted<'_> {
        Weighted { corpus: &self.corpus, weights: self.weights.as_deref(), costs: &self.costs }
    }

    /// The tokens of a sentence, times its weight.
    fn weighted_length(&self, sentence: usize) -> f64 {
        self.weight(sentence) * self.corpus.tokens(sentence).len() as f64
    }

    /// The weight of a sentence in the sum.
    pub fn weight(&self, sentence: usize) -> f64 {
        self.weighted().weight(sentence)
    }

    /// Counts of the features in the data.
    fn counts(&self) -> Vec<f64> {
        empirical_counts(self.weighted(), &self.features, &self.blocks, self.masks.allowed.as_deref())
    }

    /// The objective on some of the sentences, with the features that occur there.
    pub fn sample(&self, sentences: &[usize]) -> Result<Self> {
        // An attribute, or a feature, that is frequent enough in all sentences may be rare in these.
        let selection = Selection { min_count: 1, min_sum: None, ..self.selection };
        let (corpus, allowed) = (Arc::new(self.corpus.select(sentences)?), self.masks.allowed.clone());
        let sample = ChainObjective::new(corpus, selection, allowed, self.n_threads())?;
        Ok(sample.with_class_weights(self.costs.class_weights.clone()))
    }

    /// Order of the chain, 1 or 2: the number of previous labels that a token's score depends on.
    pub fn order(&self) -> u8 {
        self.selection.order
    }

    /// The number of threads that an evaluation runs on.
    pub fn n_threads(&self) -> usize {
        self.pool.n_threads()
    }

    /// The number of sentences whose recursions ran in log space in the last evaluation.
    pub fn n_in_log_space(&self) -> usize {
        locked(&self.scratch).log_space
    }

    /// Runs work on the objective's threads.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }

    /// Writes the gradient at `w` and returns the value. Weights that are not finite give an infinite value.
    pub fn value_and_gradient(&self, w: &[f64], gradient: &mut [f64], interrupt: &Interrupt) -> Result<f64> {
        self.evaluate(w, gradient, (Summed::Means, None), interrupt)
    }

    /// Writes an approximation of the diagonal of the Hessian at `w`. It treats a token's label as independent of the labels of
    /// its neighbours; a transition or a bigram feature gets its expected count times the mean variance of a token's label. All
    /// labels must be known.
    pub fn hessian_diagonal(&self, w: &[f64], out: &mut [f64], interrupt: &Interrupt) -> Result<()> {
        self.evaluate(w, out, (Summed::Variances, None), interrupt).map(drop)
    }

    /// `value_and_gradient`, and the labels of each token whose marginals are above `least`.
    pub fn likely_labels(
        &self,
        w: &[f64],
        gradient: &mut [f64],
        least: f64,
        interrupt: &Interrupt,
    ) -> Result<(f64, LikelyLabels)> {
        let blocks = self.blocks.iter().map(|_| BlockLabels::default()).collect();
        let mut likely = LikelyLabels { blocks, least };
        let value = self.evaluate(w, gradient, (Summed::Means, Some(&mut likely)), interrupt)?;
        Ok((value, likely))
    }

    fn evaluate(
        &self,
        w: &[f64],
        gradient: &mut [f64],
        (summed, likely): (Summed, Option<&mut LikelyLabels>),
        interrupt: &Interrupt,
    ) -> Result<f64> {
        assert_eq!((w.len(), gradient.len()), (self.features.len(), self.features.len()));
        if !w.iter().all(|weight| weight.is_finite()) {
            gradient.fill(0.0);
            return Ok(f64::INFINITY);
        }
        let mut scratch = locked(&self.scratch);
        let scratch = &mut *scratch;
        scratch.evaluated = None;
        let (transitions, first_state) = (self.transitions_of(&self.features, w), self.features.first_state());
        self.fill_rows(&w[first_state..], &mut scratch.rows, transitions.width);
        let (leading, own_gradient) = gradient.split_at_mut(first_state + self.shared_end());
        let links = Links::new(&transitions, &self.features.transitions, &self.features.triples);
        let total = self.sum_blocks(w, &transitions, &links, (summed, own_gradient, likely), scratch, interrupt)?;
        self.finish(&transitions, &total, &scratch.bigrams, leading);
        match summed {
            Summed::Means => gradient.iter_mut().zip(&self.empirical).for_each(|(gradient, count)| *gradient -= count),
            Summed::Variances => {
                let tokens: f64 = (0..self.corpus.n_sentences()).map(|at| self.weighted_length(at)).sum();
                let links = &mut gradient[..first_state];
                links.iter_mut().for_each(|link| *link *= total.variance / tokens.max(1.0));
            }
        }
        let mut value = total.value;
        if self.corpus.has_soft() && summed == Summed::Means {
            value += self.costs_of_known() - w.iter().zip(&self.empirical).map(|(w, count)| w * count).sum::<f64>();
        }
        scratch.log_space = total.log_space;
        scratch.evaluated = Some(xxh3_64(cast_slice(w)));
        scratch.sums.push(total);
        Ok(value)
    }

    /// The costs of all tokens of sentences without partial labels, times the weights of the sentences.
    fn costs_of_known(&self) -> f64 {
        let sentences = (0..self.corpus.n_sentences()).filter(|&at| self.masks.known(at) == Known::All);
        let costs = |at: usize| self.costs.of(self.corpus.tokens(at)).iter().sum::<f64>();
        sentences.map(|at| self.weight(at) * costs(at)).sum()
    }

    /// The index, among the state features, of the first feature that belongs to a single block.
    fn shared_end(&self) -> usize {
        self.features.state_range(0..self.features.n_dense + self.features.n_shared).end
    }

    /// Transitions, some of them forbidden, whose scores are still to be set.
    pub fn unset_transitions(&self) -> Transitions {
        let mut transitions = Transitions::new(self.features.n_labels);
        transitions.constrain(self.masks.allowed.clone());
        transitions
    }

    /// The transitions of a chain with these features and weights, some of them forbidden.
    fn transitions_of(&self, features: &Features, w: &[f64]) -> Transitions {
        let mut transitions = self.unset_transitions();
        let pairs = features.transitions.iter().zip(w);
        transitions.set(pairs.map(|(&[from, to], &score)| (usize::from(from), usize::from(to), score)));
        let triples = &features.triples;
        if !triples.is_empty() {
            let scores = triples.iter().copied().zip(w[features.transitions.len()..].iter().copied());
            transitions.triples = Some(Triples::new(features.n_labels, scores));
        }
        transitions
    }

    fn fill_rows(&self, states: &[f64], rows: &mut Aligned, width: usize) {
        rows.resize(self.features.n_dense * width, 0.0);
        let mut start = 0;
        for (row, &(_, end)) in rows.chunks_exact_mut(width).zip(&self.features.state_attributes) {
            let range = start..end as usize;
            for (&label, &weight) in self.features.state_labels[range.clone()].iter().zip(&states[range]) {
                row[usize::from(label)] = weight;
            }
            start = end as usize;
        }
    }

    fn new_sums(&self, transitions: &Transitions) -> Sums {
        let n_dense = self.features.n_dense;
        Sums {
            value: 0.0,
            variance: 0.0,
            log_space: 0,
            rows: Aligned::new(n_dense * transitions.width, 0.0),
            shared: vec![0.0; self.features.state_range(n_dense..n_dense + self.features.n_shared).len()],
            pairs: PairCounts::new(transitions),
        }
    }

    fn sum_blocks(
        &self,
        w: &[f64],
        transitions: &Transitions,
        links: &Links,
        (summed, own_gradient, likely): (Summed, &mut [f64], Option<&mut LikelyLabels>),
        scratch: &mut Scratch,
        interrupt: &Interrupt,
    ) -> Result<Sums> {
        scratch.bigrams.resize_with(self.blocks.len(), Vec::new);
        scratch.nlls.resize_with(self.blocks.len(), Vec::new);
        let owns = threads::parts(own_gradient, self.blocks.iter().map(|block| block.own_range.len()));
        let least = likely.as_ref().map_or(0.0, |likely| likely.least);
        let mut labels: Vec<Option<Likely<'_>>> = match likely {
            Some(likely) => likely.blocks.iter_mut().map(|labels| Some(Likely { labels, least })).collect(),
            None => self.blocks.iter().map(|_| None).collect(),
        };
        let buffers = scratch.bigrams.iter_mut().zip(&mut scratch.nlls);
        let targets = owns.into_iter().zip(buffers).zip(labels.drain(..));
        let queue = Mutex::new(self.blocks.iter().zip(targets).enumerate());
        let spare = Mutex::new((std::mem::take(&mut scratch.sums), std::mem::take(&mut scratch.workspaces)));
        let reduction = Mutex::new(Reduction::default());
        let centred = &OnceLock::new();
        let scores = Scores { w, rows: &scratch.rows, transitions, links, centred };
        let next = || locked(&queue).next().filter(|_| !interrupt.is_set());
        let work = || {
            let mut workspace = locked(&spare).1.pop().unwrap_or_default();
            workspace.lattice.heed(interrupt);
            workspace.lattice.prepare(transitions);
            while let Some((index, (block, ((own_gradient, (met, nlls)), likely)))) = next() {
                let spare_sums = locked(&spare).0.pop();
                let mut sums = spare_sums.unwrap_or_else(|| self.new_sums(transitions));
                let targets = Targets { sums: &mut sums, own_gradient, met, nlls, summed, likely };
                // The threads take the next blocks when they are done with these.
                if let Some(next) = self.blocks.get(index + self.pool.n_threads()) {
                    next.advise(Soon::Wanted);
                }
                self.sum_block(block, scores, &mut workspace, targets);
                block.advise(Soon::Unwanted);
                self.corpus.advise(self.features.blocks[index].0.clone(), Soon::Unwanted);
                let freed = locked(&reduction).add(index, sums);
                locked(&spare).0.extend(freed);
            }
            locked(&spare).1.push(workspace);
        };
        self.pool.work_together(self.blocks.len(), &work);
        (scratch.sums, scratch.workspaces) = spare.into_inner().unwrap_or_else(PoisonError::into_inner);
        let reduction = reduction.into_inner().unwrap_or_else(PoisonError::into_inner);
        interrupt.check()?;
        Ok(reduction.total.expect("there is at least one block"))
    }

    /// Runs the sweep over one block, into sums that are cleared first.
    fn sum_block(&self, block: &Block, scores: Scores<'_>, workspace: &mut Workspace, targets: Targets<'_>) {
        targets.sums.clear();
        let (sentences, features, masks) = (self.weighted(), &*self.features, &*self.masks);
        arch().dispatch(BlockPass { sentences, features, masks, block, scores, workspace, targets });
    }

    /// Writes the sums over blocks, for the features that do not belong to single blocks.
    fn finish(&self, transitions: &Transitions, total: &Sums, bigrams: &[Vec<f64>], leading: &mut [f64]) {
        let width = transitions.width;
        let features = &self.features;
        let (transition_part, rest) = leading.split_at_mut(features.transitions.len());
        for (gradient, &[from, to]) in transition_part.iter_mut().zip(&features.transitions) {
            *gradient = total.pairs.expected(transitions, usize::from(from) * width + usize::from(to));
        }
        let (triple_part, rest) = rest.split_at_mut(features.triples.len());
        if let Some(triples) = &transitions.triples {
            for (gradient, labels) in triple_part.iter_mut().zip(&features.triples) {
                *gradient = total.pairs.triples.expected(triples, labels.map(usize::from));
            }
        }
        let (bigram_part, state_part) = rest.split_at_mut(features.n_bigrams());
        bigram_part.fill(0.0);
        for (block, sums) in self.blocks.iter().zip(bigrams) {
            for met in &block.bigrams.met {
                let target = &mut bigram_part[met.features.start as usize..met.features.end as usize];
                let source = &sums[met.place as usize..][..target.len()];
                target.iter_mut().zip(source).for_each(|(sum, part)| *sum += part);
            }
        }
        let (row_part, shared_part) = state_part.split_at_mut(features.state_range(0..features.n_dense).end);
        let mut start = 0;
        for (row, &(_, end)) in total.rows.chunks_exact(width).zip(&features.state_attributes) {
            let range = start..end as usize;
            for (&label, gradient) in features.state_labels[range.clone()].iter().zip(&mut row_part[range]) {
                *gradient = row[usize::from(label)];
            }
            start = end as usize;
        }
        shared_part.copy_from_slice(&total.shared);
    }
}
