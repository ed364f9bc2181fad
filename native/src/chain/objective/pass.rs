//! One block's share of an objective over chains.
//!
//! One sweep does all steps of the gradient (Sutton & McCallum 2012, section 5.1) for a sentence, or for eight abreast, before
//! it continues with the next: scores of its states, forward recursion and log Z, backward recursion and marginals, marginals
//! added to the gradient. The scores then never leave the caches.
//!
//! A sentence with partial labels goes through the sweep twice: with weight 1 over all allowed labellings, and with weight -1
//! over the allowed labellings that agree with the known labels. The difference of the two log Z is -log p(known labels), and
//! the difference of the marginals its gradient (Tsuboi et al. 2008, "Training conditional random fields using incomplete
//! annotations", Eqs. 3 to 5).

use crate::chain::features::Features;
use crate::chain::inference::{Abreast, Edge, Lattice, Links, Transitions};
use crate::chain::objective::costs::lower_right;
use crate::chain::objective::layout::Block;
use crate::chain::objective::masks::{Known, Masked, Masks};
use crate::chain::objective::pruned::BlockLabels;
use crate::chain::objective::states::{Plain, Stored, fill_scores, spread_entries, spread_rows};
use crate::chain::objective::sums::Sums;
use crate::chain::objective::weighted::Weighted;
use crate::numeric::LANES;
use pulp::{Simd, WithSimd};
use std::sync::OnceLock;

/// The weights of an evaluation: all weights, and the layouts that its loops read.
#[derive(Clone, Copy)]
pub(super) struct Scores<'a> {
    pub w: &'a [f64],
    pub rows: &'a [f64],
    pub transitions: &'a Transitions,
    pub links: &'a Links,
    /// The links with centred scores, made when sentences need them.
    pub centred: &'a OnceLock<Links>,
}

impl<'a> Scores<'a> {
    fn centred(&self, features: &Features) -> &'a Links {
        self.centred.get_or_init(|| Links::centred(self.transitions, &features.transitions, &features.triples))
    }
}

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Workspace {
    pub lattice: Lattice,
    abreast: Abreast,
}

/// What an evaluation adds up for each feature.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Summed {
    /// Expected values.
    Means,
    /// Variances of single occurrences: value^2 p (1 - p), p the marginal of the label.
    Variances,
}

/// Where a block writes its gradient: sums that are added up over blocks, the gradient of features that occur in this block
/// only, and the gradient of the bigram features that it meets.
pub(super) struct Targets<'a> {
    pub sums: &'a mut Sums,
    pub own_gradient: &'a mut [f64],
    pub met: &'a mut Vec<f64>,
    /// -log p of each of the block's sentences.
    pub nlls: &'a mut Vec<f64>,
    pub summed: Summed,
    pub likely: Option<Likely<'a>>,
}

/// The likely labels of a block's tokens, to be written.
pub(super) struct Likely<'a> {
    pub labels: &'a mut BlockLabels,
    /// The bound on their marginals.
    pub least: f64,
}

/// The sweep over one block, to be dispatched to the machine's instruction set.
pub(super) struct BlockPass<'a> {
    pub sentences: Weighted<'a>,
    pub features: &'a Features,
    pub masks: &'a Masks,
    pub block: &'a Block,
    pub scores: Scores<'a>,
    pub workspace: &'a mut Workspace,
    pub targets: Targets<'a>,
}

/// A sentence with tokens and a weight that is not 0, over some of its labellings.
#[derive(Clone, Copy)]
struct Counting<'a> {
    /// Number among the block's sentences.
    at: usize,
    first_token: usize,
    tokens: usize,
    /// The labels, if all are known and no label of the corpus is soft; else empty.
    gold: &'a [u32],
    /// The labellings that take part.
    mask: &'a Masked,
    weight: f64,
}

impl WithSimd for BlockPass<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Targets { own_gradient, met, nlls, likely, .. } = &mut self.targets;
        if let Some(likely) = likely {
            likely.labels.begin(self.block.sentences.len());
        }
        own_gradient.fill(0.0);
        met.clear();
        met.resize(self.block.bigrams.n_met(), 0.0);
        nlls.clear();
        nlls.resize(self.block.sentences.len(), 0.0);
        for sentences in self.countings().chunks(LANES) {
            // With bigram features the transitions differ from token to token, and from sentence to sentence.
            let together = self.block.bigrams.n_met() == 0 && self.scores.links.are_few;
            let done = if together { simd.vectorize(Together(&mut self, sentences)) } else { [false; LANES] };
            for (sentence, _) in sentences.iter().zip(done).filter(|(_, done)| !done) {
                simd.vectorize(Alone(&mut self, sentence));
            }
        }
        let Workspace { abreast, .. } = self.workspace;
        abreast.take_counts(self.scores.links, self.scores.centred.get(), &mut self.targets.sums.pairs);
    }
}

impl<'a> BlockPass<'a> {
    /// The sentences of the block that have tokens and a weight. A sentence with partial labels comes twice, a sentence without
    /// known labels is left out.
    fn countings(&self) -> Vec<Counting<'a>> {
        let (Weighted { corpus, .. }, masks) = (self.sentences, self.masks);
        let mut all = Vec::with_capacity(self.block.sentences.len());
        for (at, sentence) in self.block.sentences.iter().enumerate() {
            let (number, gold) = (sentence.number, &corpus.gold[corpus.tokens(sentence.number)]);
            let (first_token, weight) = (sentence.tokens.start, self.sentences.weight(number));
            if gold.is_empty() || weight == 0.0 {
                continue;
            }
            let (tokens, gold) = (gold.len(), if corpus.has_soft() { &[] } else { gold });
            let free = Counting { at, first_token, tokens, gold, mask: masks.free(number), weight };
            match masks.known(number) {
                Known::All => all.push(free),
                Known::Some => {
                    let clamped = Counting { mask: masks.clamped(number), weight: -weight, ..free };
                    all.extend([free, clamped].map(|counting| Counting { gold: &[], ..counting }));
                }
                Known::Nothing => (),
            }
        }
        all
    }

    /// Adds -log p of a sentence, log Z less the score of its labels, to the value; or the part of it over some labellings.
    #[inline(always)]
    fn count(&mut self, sentence: &Counting<'_>, nll: f64) {
        self.targets.sums.value += sentence.weight * nll;
        self.targets.nlls[sentence.at] += sentence.weight.signum() * nll;
    }

    /// The index, among the state features, of the first feature that is not in a dense row.
    fn first_cell(&self) -> usize {
        self.features.state_range(0..self.features.n_dense).end
    }

    #[inline(always)]
    fn fill_scores<S: Simd>(&self, simd: S, sentence: &Counting<'_>, scores: &mut [f64]) {
        let features = self.features;
        let Scores { w, rows, transitions, .. } = self.scores;
        let first_cell = self.first_cell();
        let cells = &w[features.first_state() + first_cell..];
        let stored = Stored { read: Plain, rows, stride: transitions.width, cells, first_cell };
        fill_scores(simd, &stored, self.block, sentence.at, scores, transitions.width);
        let Weighted { corpus, costs, .. } = self.sentences;
        let tokens = corpus.tokens(self.block.sentences[sentence.at].number);
        let of_tokens = costs.of(tokens.clone());
        if !of_tokens.is_empty() {
            lower_right(corpus, &corpus.gold[tokens], of_tokens, costs.class_weights(), scores, transitions.width);
        }
    }

    /// Adds the marginals of a sentence, tokens x width, to the gradient of its features; they are used up.
    #[inline(always)]
    fn spread<S: Simd>(&mut self, simd: S, sentence: &Counting<'_>, marginals: &mut [f64]) {
        let (block, at, width, first_cell) =
            (self.block, sentence.at, self.scores.transitions.width, self.first_cell());
        let Targets { sums, own_gradient, likely, summed, .. } = &mut self.targets;
        let squared = *summed == Summed::Variances;
        if squared {
            for marginal in marginals.iter_mut() {
                *marginal *= 1.0 - *marginal / sentence.weight;
                sums.variance += *marginal;
            }
        }
        if let Some(Likely { labels, least }) = likely {
            labels.add(at, marginals, width, sentence.weight, *least);
        }
        let all = (&*marginals, squared);
        spread_rows(simd, block, at, all, width, &mut sums.rows);
        spread_entries(&block.shared, at, all, first_cell, &mut sums.shared);
        if !block.own.is_empty() {
            spread_entries(&block.own, at, all, 0, own_gradient);
        }
    }
}

/// Up to eight sentences without bigram features, abreast. Returns which of them are done; the scores of the others, or their
/// length, do not fit.
struct Together<'a, 'b>(&'a mut BlockPass<'b>, &'a [Counting<'b>]);

impl WithSimd for Together<'_, '_> {
    type Output = [bool; LANES];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [bool; LANES] {
        let Together(pass, sentences) = self;
        let Scores { transitions, links, .. } = pass.scores;
        let mut abreast = std::mem::take(&mut pass.workspace.abreast);
        abreast.begin(sentences.iter().map(|sentence| sentence.tokens), links);
        for (lane, sentence) in sentences.iter().enumerate() {
            pass.fill_scores(simd, sentence, abreast.rows(lane, links));
            pass.masks.rows(sentence.mask).for_each(|(token, row)| abreast.forbid(lane, token, row));
        }
        let mut fits = abreast.fits(simd, links);
        let links = if fits { links } else { pass.scores.centred(pass.features) };
        fits = fits || abreast.fits(simd, links);
        let (mut weights, mut scores) = ([0.0; LANES], [0.0; LANES]);
        for (lane, sentence) in sentences.iter().enumerate() {
            weights[lane] = sentence.weight;
            scores[lane] = transitions.score(abreast.rows(lane, links), sentence.gold.iter().copied());
        }
        let log_z = if fits { abreast.forward(simd, links) } else { None };
        let mut fit = [false; LANES];
        if let Some(log_z) = log_z {
            fit = abreast.backward(simd, links, weights);
            for (lane, sentence) in sentences.iter().enumerate().filter(|&(lane, _)| fit[lane]) {
                pass.count(sentence, log_z[lane] - scores[lane]);
                pass.spread(simd, sentence, abreast.rows(lane, links));
            }
        }
        pass.workspace.abreast = abreast;
        fit
    }
}

/// A single sentence: with bigram features, with scores too large for a group of sentences, or with many transitions.
struct Alone<'a, 'b>(&'a mut BlockPass<'b>, &'a Counting<'b>);

impl WithSimd for Alone<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Alone(pass, sentence) = self;
        let (features, transitions) = (pass.features, pass.scores.transitions);
        let mut lattice = std::mem::take(&mut pass.workspace.lattice);
        lattice.begin(sentence.tokens, transitions);
        pass.fill_scores(simd, sentence, &mut lattice.scores);
        let width = transitions.width;
        pass.masks.rows(sentence.mask).for_each(|(token, row)| lattice.mask.push(token * width, row));
        if features.n_bigrams() > 0 {
            let bigrams = &pass.scores.w[features.first_bigram()..];
            fill_edges(pass.block, features, sentence.first_token, &mut lattice, |feature| bigrams[feature]);
        }
        let score = lattice.score(transitions, sentence.gold.iter().copied());
        let log_z = lattice.forward(simd, transitions);
        pass.targets.sums.log_space += usize::from(lattice.is_in_log_space());
        pass.count(sentence, log_z - score);
        lattice.backward(simd, transitions, sentence.weight, &mut pass.targets.sums.pairs);
        pass.spread(simd, sentence, &mut lattice.marginals);
        for edge in &lattice.edges {
            pass.targets.met[edge.place as usize] += edge.marginal;
        }
        pass.workspace.lattice = lattice;
    }
}

/// Adds the edges of the sentence that starts at the block's token `first_token`; `weight` gives the weight of a bigram feature.
pub(crate) fn fill_edges(
    block: &Block,
    features: &Features,
    first_token: usize,
    lattice: &mut Lattice,
    weight: impl Fn(usize) -> f64,
) {
    for token in 0..lattice.tokens {
        let entries = block.bigrams.of(first_token + token);
        lattice.overlap = lattice.overlap.max(entries.len());
        for met in entries {
            for (feature, place) in met.features.clone().zip(met.place..) {
                let [from, to] = features.bigram_pairs[feature as usize];
                let (from, to, score) = (from.into(), to.into(), weight(feature as usize));
                lattice.edges.push(Edge { from, to, score, feature, place, marginal: 0.0 });
            }
        }
        lattice.edge_ends.push(lattice.edges.len());
    }
}
