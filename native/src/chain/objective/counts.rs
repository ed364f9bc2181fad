//! Counts of a chain's features in its data: sum of weight * f(x, y).

use crate::chain::features::Features;
use crate::chain::objective::layout::Block;
use crate::chain::objective::weighted::Weighted;
use crate::corpus::{Corpus, FIRST_SET};
use crate::numeric;
use crate::numeric::store::Soon;
use std::ops::Range;

/// The count of each feature, in the order of the weights. A sentence with a partial label adds nothing.
pub(super) fn empirical_counts(sentences: Weighted<'_>, features: &Features, blocks: &[Block]) -> Vec<f64> {
    let Weighted { corpus, .. } = sentences;
    let mut counts = vec![0.0; features.len()];
    let (pairs, states) = counts.split_at_mut(features.first_state());
    for (block, (sentences_of, _)) in blocks.iter().zip(&features.blocks) {
        for (at, sentence) in block.sentences.iter().enumerate() {
            let (weight, tokens) = (sentences.weight(sentence.number), corpus.tokens(sentence.number));
            let gold = &corpus.gold[tokens.clone()];
            if weight != 0.0 && gold.iter().all(|&label| label < FIRST_SET) {
                count_states(features, block, at, gold, weight, states);
                count_pairs(corpus, features, tokens, weight, pairs);
            }
        }
        block.advise(Soon::Unwanted);
        corpus.advise(sentences_of.clone(), Soon::Unwanted);
    }
    counts
}

/// Adds weight * value for the state features of a sentence of a block with gold labels.
fn count_states(features: &Features, block: &Block, sentence: usize, gold: &[u32], weight: f64, counts: &mut [f64]) {
    let width = numeric::padded(features.n_labels);
    for entries in &block.rows {
        for at in entries.range(sentence) {
            let (row, gold) = (entries.ids[at] as usize, gold[entries.places[at] as usize / width]);
            if let Ok(index) = features.labels(row).binary_search(&(gold as u16)) {
                counts[features.state_range(row..row + 1).start + index] += weight * entries.value(at);
            }
        }
    }
    for (entries, base) in [(&block.shared, 0), (&block.own, block.own_range.start)] {
        for at in entries.range(sentence) {
            let place = entries.places[at] as usize;
            if place % width == gold[place / width] as usize {
                counts[base + entries.ids[at] as usize] += weight * entries.value(at);
            }
        }
    }
}

/// Adds the weight for the transitions, triples and bigram features of a sentence.
fn count_pairs(corpus: &Corpus, features: &Features, tokens: Range<usize>, weight: f64, counts: &mut [f64]) {
    let find = |pairs: &[[u16; 2]], from: u32, to: u32| pairs.binary_search(&[from as u16, to as u16]).ok();
    for labels in corpus.gold[tokens.clone()].windows(3) {
        let labels = [labels[0], labels[1], labels[2]].map(|label| label as u16);
        if let Ok(index) = features.triples.binary_search(&labels) {
            counts[features.transitions.len() + index] += weight;
        }
    }
    for token in tokens.skip(1) {
        let (previous, label) = (corpus.gold[token - 1], corpus.gold[token]);
        if let Some(index) = find(&features.transitions, previous, label) {
            counts[index] += weight;
        }
        for &attribute in corpus.bigrams_of(token) {
            let range = features.bigram_ranges[attribute as usize].clone();
            let range = range.start as usize..range.end as usize;
            if let Some(index) = find(&features.bigram_pairs[range.clone()], previous, label) {
                counts[features.first_bigram() + range.start + index] += weight;
            }
        }
    }
}
