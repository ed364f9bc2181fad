//! One block's share of an objective over chains: from weights to scores, marginals, and the sums that make the gradient.

use crate::chain::features::Features;
use crate::chain::inference::{Abreast, Edge, Lattice, Links, Transitions};
use crate::chain::layout::Block;
use crate::chain::states::{Plain, Stored, fill_scores, spread_entries, spread_rows};
use crate::chain::sums::Sums;
use crate::chain::weighted::Weighted;
use crate::numeric::LANES;
use pulp::{Simd, WithSimd};

/// Weights, as an evaluation wants them.
#[derive(Clone, Copy)]
pub(super) struct Scores<'a> {
    pub w: &'a [f64],
    pub rows: &'a [f64],
    pub transitions: &'a Transitions,
    pub links: &'a Links,
}

/// What a thread works in.
#[derive(Default)]
pub(super) struct Workspace {
    pub lattice: Lattice,
    abreast: Abreast,
}

/// What a block writes: sums to be added up over blocks, the gradient of its own features, that of the bigram features it meets.
pub(super) struct Targets<'a> {
    pub sums: &'a mut Sums,
    pub own: &'a mut [f64],
    pub met: &'a mut Vec<f64>,
}

pub(super) struct BlockPass<'a> {
    pub sentences: Weighted<'a>,
    pub features: &'a Features,
    pub block: &'a Block,
    pub scores: Scores<'a>,
    pub workspace: &'a mut Workspace,
    pub targets: Targets<'a>,
}

/// A sentence that counts.
struct Counting<'a> {
    /// Among those of the block.
    at: usize,
    first_token: usize,
    gold: &'a [u32],
    weight: f64,
}

impl WithSimd for BlockPass<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let Targets { own, met, .. } = &mut self.targets;
        own.fill(0.0);
        met.clear();
        met.resize(self.block.bigrams.n_met(), 0.0);
        for sentences in self.sentences().chunks(LANES) {
            // Bigram features make transitions of their own for every token.
            if self.block.bigrams.n_met() == 0
                && self.scores.links.are_few
                && simd.vectorize(Together(&mut self, sentences))
            {
                continue;
            }
            sentences.iter().for_each(|sentence| simd.vectorize(Alone(&mut self, sentence)));
        }
        let Workspace { abreast, .. } = self.workspace;
        abreast.take_counts(self.scores.links, &mut self.targets.sums.pairs);
    }
}

impl<'a> BlockPass<'a> {
    /// Those with tokens and a weight.
    fn sentences(&self) -> Vec<Counting<'a>> {
        let Weighted { corpus, .. } = self.sentences;
        let all = self.block.sentences.iter().enumerate().map(|(at, sentence)| Counting {
            at,
            first_token: sentence.tokens.start,
            gold: &corpus.gold[corpus.tokens(sentence.number)],
            weight: self.sentences.weight(sentence.number),
        });
        all.filter(|sentence| !sentence.gold.is_empty() && sentence.weight != 0.0).collect()
    }

    /// Where the features that are not of dense rows start among those of states.
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
    }

    /// Adds the marginals of a sentence, tokens x width, to the gradient of its features.
    #[inline(always)]
    fn spread<S: Simd>(&mut self, simd: S, sentence: &Counting<'_>, marginals: &[f64]) {
        let (block, at, width, first_cell) =
            (self.block, sentence.at, self.scores.transitions.width, self.first_cell());
        let Targets { sums, own, .. } = &mut self.targets;
        spread_rows(simd, block, at, marginals, width, &mut sums.rows);
        spread_entries(&block.shared, at, marginals, first_cell, &mut sums.shared);
        if !block.own.is_empty() {
            spread_entries(&block.own, at, marginals, 0, own);
        }
    }
}

/// Up to eight sentences without bigram features; whether that could be done.
struct Together<'a, 'b>(&'a mut BlockPass<'b>, &'a [Counting<'b>]);

impl WithSimd for Together<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Together(pass, sentences) = self;
        let Scores { transitions, links, .. } = pass.scores;
        let mut abreast = std::mem::take(&mut pass.workspace.abreast);
        abreast.begin(sentences.iter().map(|sentence| sentence.gold.len()), links);
        for (lane, sentence) in sentences.iter().enumerate() {
            pass.fill_scores(simd, sentence, abreast.rows(lane, links));
        }
        let fits = abreast.fits(simd, links);
        if fits {
            let (mut weights, mut scores) = ([0.0; LANES], [0.0; LANES]);
            for (lane, sentence) in sentences.iter().enumerate() {
                weights[lane] = sentence.weight;
                scores[lane] = transitions.score(abreast.rows(lane, links), sentence.gold.iter().copied());
            }
            let log_z = abreast.forward(simd, links);
            abreast.backward(simd, links, weights);
            for (lane, sentence) in sentences.iter().enumerate() {
                pass.targets.sums.value += sentence.weight * (log_z[lane] - scores[lane]);
                pass.spread(simd, sentence, abreast.rows(lane, links));
            }
        }
        pass.workspace.abreast = abreast;
        fits
    }
}

/// A sentence by itself: with bigram features, with scores too large to go with others, or with many transitions.
struct Alone<'a, 'b>(&'a mut BlockPass<'b>, &'a Counting<'b>);

impl WithSimd for Alone<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Alone(pass, sentence) = self;
        let (features, transitions) = (pass.features, pass.scores.transitions);
        let mut lattice = std::mem::take(&mut pass.workspace.lattice);
        lattice.begin(sentence.gold.len(), transitions);
        pass.fill_scores(simd, sentence, &mut lattice.scores);
        if features.n_bigrams() > 0 {
            let bigrams = &pass.scores.w[features.first_bigram()..];
            fill_edges(pass.block, features, sentence.first_token, &mut lattice, |feature| bigrams[feature]);
        }
        let score = lattice.score(transitions, sentence.gold.iter().copied());
        let log_z = lattice.forward(simd, transitions);
        pass.targets.sums.value += sentence.weight * (log_z - score);
        lattice.backward(simd, transitions, sentence.weight, &mut pass.targets.sums.pairs);
        pass.spread(simd, sentence, &lattice.marginals);
        for edge in &lattice.edges {
            pass.targets.met[edge.place as usize] += edge.marginal;
        }
        pass.workspace.lattice = lattice;
    }
}

/// Edges of the sentence that starts at a token of a block; `weight` gives those of bigram features.
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
                let (from, to) = features.bigram_pairs[feature as usize];
                let (from, to, score) = (from.into(), to.into(), weight(feature as usize));
                lattice.edges.push(Edge { from, to, score, feature, place, marginal: 0.0 });
            }
        }
        lattice.edge_ends.push(lattice.edges.len());
    }
}
