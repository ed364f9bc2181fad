//! The features of a model as the counts of a part without sentences: joined with the counts of data, they give the features of
//! both.

use crate::chain::features::counting::Counts;
use crate::chain::features::seen::{LabelLists, Occurrences, Seen};
use crate::chain::model::Model;
use crate::chain::model::weights::Attributes;
use crate::corpus::alphabet::Alphabet;
use crate::corpus::hash::key_of;

/// The counts of a model. Its attributes are on so many tokens that none is too rare.
pub fn counts_of(model: &Model) -> Counts {
    let (weights, mut attributes) = (model.weights(), Alphabet::default());
    for (name, _) in weights.states.iter().chain(weights.bigrams.iter()) {
        attributes.intern(key_of(name), |out| out.extend_from_slice(name));
    }
    let n = attributes.len();
    let has_bigrams = !weights.bigrams.is_empty();
    Counts {
        labels: model.labels.clone(),
        label_tokens: vec![0; model.labels.len()],
        seen: Seen {
            has_transitions: !weights.transition_pairs.is_empty(),
            transitions: sorted(weights.transition_pairs),
            triples: sorted(weights.triples),
            states: Occurrences::without_sentences(vec![0; n], vec![u32::MAX; n]),
            labels: lists(&attributes, &weights.states, weights.state_labels),
            bigram_tokens: if has_bigrams { vec![u32::MAX; n] } else { Vec::new() },
            bigrams: if has_bigrams {
                lists(&attributes, &weights.bigrams, weights.bigram_pairs)
            } else {
                LabelLists::default()
            },
            ..Seen::default()
        },
        attributes,
        is_binary: true,
        ..Counts::default()
    }
}

/// Attribute -> the labels of its features, ascending.
fn lists<T: Copy + Ord>(attributes: &Alphabet, of_model: &Attributes<'_>, labels: &[T]) -> LabelLists<T> {
    let mut lists = LabelLists { ends: Vec::new(), entries: Vec::new() };
    (0..attributes.len() as u32).for_each(|id| lists.push(sorted(&labels[of_model.find(attributes.key(id))])));
    lists
}

fn sorted<T: Copy + Ord>(labels: &[T]) -> Vec<T> {
    let mut labels = labels.to_vec();
    labels.sort_unstable();
    labels.dedup();
    labels
}
