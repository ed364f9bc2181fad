//! Initial weights for training (warm start): the weights of another model for all features of the data that it has.

use crate::chain::features::Features;
use crate::chain::model::{Model, ModelWeights};
use crate::corpus::Corpus;
use std::collections::HashMap;
use std::ops::Range;

/// The weights that `model` has for the features of the corpus, 0 for features that it does not have, and the number of features
/// that it has.
pub fn start_weights(model: &Model, corpus: &Corpus, features: &Features) -> (Vec<f64>, usize) {
    let mut w = vec![0.0; features.len()];
    let start = Start { weights: model.weights(), label_of: labels_in(corpus, &model.labels) };
    let (pairs, states) = w.split_at_mut(features.first_state());
    let (pairs, bigrams) = pairs.split_at_mut(features.first_bigram());
    let (transitions, triples) = pairs.split_at_mut(features.transitions.len());
    let shared = start.of_transitions(features, transitions)
        + start.of_triples(features, triples)
        + start.of_bigrams(corpus, features, bigrams)
        + start.of_states(corpus, features, states);
    (w, shared)
}

/// Label of the model -> label of the corpus.
fn labels_in(corpus: &Corpus, labels: &[String]) -> Vec<Option<u16>> {
    let numbers: HashMap<&str, u16> = corpus.labels.iter().zip(0..).map(|(label, id)| (label.as_str(), id)).collect();
    labels.iter().map(|label| numbers.get(label.as_str()).copied()).collect()
}

/// A model, and its labels as labels of the data.
struct Start<'m> {
    weights: ModelWeights<'m>,
    label_of: Vec<Option<u16>>,
}

impl Start<'_> {
    fn label(&self, label: u16) -> Option<u16> {
        self.label_of[usize::from(label)]
    }

    fn pair(&self, [from, to]: [u16; 2]) -> Option<[u16; 2]> {
        Some([self.label(from)?, self.label(to)?])
    }

    fn of_transitions(&self, features: &Features, w: &mut [f64]) -> usize {
        let pairs = self.weights.transition_pairs.iter().map(|&pair| self.pair(pair));
        fill(&features.transitions, pairs.zip(self.weights.transition_weights), w)
    }

    fn of_triples(&self, features: &Features, w: &mut [f64]) -> usize {
        let labels = |&[a, b, c]: &[u16; 3]| Some([self.label(a)?, self.label(b)?, self.label(c)?]);
        fill(&features.triples, self.weights.triples.iter().map(labels).zip(self.weights.triple_weights), w)
    }

    fn of_bigrams(&self, corpus: &Corpus, features: &Features, w: &mut [f64]) -> usize {
        let of_attribute = |(attribute, range): (usize, &Range<u32>)| {
            let of_model = self.weights.bigrams.find(corpus.attributes.key(attribute as u32));
            let pairs = self.weights.bigram_pairs[of_model.clone()].iter().map(|&pair| self.pair(pair));
            let range = range.start as usize..range.end as usize;
            fill(
                &features.bigram_pairs[range.clone()],
                pairs.zip(&self.weights.bigram_weights[of_model]),
                &mut w[range],
            )
        };
        features.bigram_ranges.iter().enumerate().map(of_attribute).sum()
    }

    fn of_states(&self, corpus: &Corpus, features: &Features, w: &mut [f64]) -> usize {
        let of_attribute = |(index, &(attribute, _)): (usize, &(u32, u32))| {
            let of_model = self.weights.states.find(corpus.attributes.key(attribute));
            let labels = self.weights.state_labels[of_model.clone()].iter().map(|&label| self.label(label));
            let range = features.state_range(index..index + 1);
            fill(
                &features.state_labels[range.clone()],
                labels.zip(&self.weights.state_weights[of_model]),
                &mut w[range],
            )
        };
        features.state_attributes.iter().enumerate().map(of_attribute).sum()
    }
}

/// Writes each weight to the place of its labels in `features`, which ascend; skips labels that are missing there. Returns the
/// number of weights written.
fn fill<'w, T: Ord>(features: &[T], of_model: impl Iterator<Item = (Option<T>, &'w f64)>, w: &mut [f64]) -> usize {
    let mut count = 0;
    for (labels, &weight) in of_model {
        if let Some(place) = labels.and_then(|labels| features.binary_search(&labels).ok()) {
            w[place] = weight;
            count += 1;
        }
    }
    count
}
