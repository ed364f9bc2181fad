//! Counts of a chain's features in its data: sum of weight * f(x, y).

use crate::chain::features::Features;
use crate::chain::inference::Allowed;
use crate::chain::objective::layout::Block;
use crate::chain::objective::soft::Soft;
use crate::chain::objective::weighted::Weighted;
use crate::corpus::{Corpus, FIRST_SET};
use crate::numeric;
use crate::numeric::store::Soon;
use std::ops::Range;

/// The count of each feature, in the order of the weights; of soft labels, the expected count. A sentence with a partial label adds
/// nothing.
pub(super) fn empirical_counts(
    sentences: Weighted<'_>,
    features: &Features,
    blocks: &[Block],
    allowed: Option<&Allowed>,
) -> Vec<f64> {
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
            } else if weight != 0.0 && gold.iter().all(|&label| label < FIRST_SET || corpus.is_soft(label)) {
                let first = features.first_state();
                count_soft((corpus, allowed), features, (block, at), tokens, |feature, count| match feature < first {
                    true => pairs[feature] += weight * count,
                    false => states[feature - first] += weight * count,
                });
            }
        }
        block.advise(Soon::Unwanted);
        corpus.advise(sentences_of.clone(), Soon::Unwanted);
    }
    counts
}

/// Calls `add` with features of a sentence of a block whose labels are known or soft, and with their expected counts; a feature may
/// come several times.
pub(super) fn count_soft(
    (corpus, allowed): (&Corpus, Option<&Allowed>),
    features: &Features,
    (block, sentence): (&Block, usize),
    tokens: Range<usize>,
    mut add: impl FnMut(usize, f64),
) {
    let (n, n_labels, width) = (tokens.len(), features.n_labels, numeric::padded(features.n_labels));
    let soft = Soft::new(corpus, tokens.clone(), allowed);
    let (first, q) = (features.first_state(), |place: usize| soft.marginals[place / width * n_labels + place % width]);
    for entries in &block.rows {
        for at in entries.range(sentence) {
            let (row, place) = (entries.ids[at] as usize, entries.places[at] as usize);
            let start = first + features.state_range(row..row + 1).start;
            for (index, &label) in features.labels(row).iter().enumerate() {
                add(start + index, entries.value(at) * q(place + usize::from(label)));
            }
        }
    }
    for (entries, base) in [(&block.shared, 0), (&block.own, block.own_range.start)] {
        for at in entries.range(sentence) {
            add(first + base + entries.ids[at] as usize, entries.value(at) * q(entries.places[at] as usize));
        }
    }
    for token in 0..n.saturating_sub(1) {
        soft.pairs(token, |from, to, p| {
            let pair = [from as u16, to as u16];
            if let Ok(index) = features.transitions.binary_search(&pair) {
                add(index, p);
            }
            for &attribute in corpus.bigrams_of(tokens.start + token + 1) {
                let range = features.bigram_ranges[attribute as usize].clone();
                let range = range.start as usize..range.end as usize;
                if let Ok(index) = features.bigram_pairs[range.clone()].binary_search(&pair) {
                    add(features.first_bigram() + range.start + index, p);
                }
            }
        });
        if !features.triples.is_empty() && token + 2 < n {
            soft.triples(token, |labels, p| {
                if let Ok(index) = features.triples.binary_search(&labels.map(|label| label as u16)) {
                    add(features.transitions.len() + index, p);
                }
            });
        }
    }
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
