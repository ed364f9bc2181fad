//! The transitions that a chain allows, and the labels that its sentences may begin and end with.

use crate::chain::inference::label_sets::LabelSets;
use crate::chain::inference::schemes::Pair;
use serde_json::Value;

/// Which labels may follow which, begin a sentence and end it.
#[derive(Clone, Debug)]
pub struct Allowed {
    /// The source of these rules: a scheme's name or pairs of labels, as in a model's settings.
    pub stated: Value,
    labels: usize,
    /// The pairs that are forbidden.
    pub forbidden: Vec<Pair>,
    /// For each label the labels that may follow it; then the labels that a sentence may begin with.
    after: LabelSets,
    /// For each label the labels that it may follow; then the labels that a sentence may end with.
    before: LabelSets,
}

impl Allowed {
    /// What is allowed where these pairs are forbidden, as `stated`.
    pub fn new(labels: usize, forbidden: Vec<Pair>, stated: Value) -> Allowed {
        let (mut after, mut before) = (LabelSets::full(labels + 1, labels), LabelSets::full(labels + 1, labels));
        let row = |label: Option<u32>| label.map_or(labels, |label| label as usize);
        for &(from, to) in &forbidden {
            to.iter().for_each(|&to| after.remove(row(from), to as usize));
            from.iter().for_each(|&from| before.remove(row(to), from as usize));
        }
        Allowed { stated, labels, forbidden, after, before }
    }

    /// Whether a label may follow another.
    pub fn allows(&self, from: usize, to: usize) -> bool {
        self.after.contains(from, to)
    }

    /// The forbidden transitions from label to label.
    pub fn forbidden_transitions(&self) -> impl Iterator<Item = (usize, usize)> {
        self.forbidden.iter().filter_map(|&(from, to)| Some((from? as usize, to? as usize)))
    }

    /// Removes each token's labels that are not on any allowed labelling of the sentence. Returns whether there is an
    /// allowed labelling.
    pub fn prune(&self, tokens: &mut LabelSets) -> bool {
        let n = tokens.rows();
        if n == 0 {
            return true;
        }
        tokens.intersect(0, &self.after, self.labels);
        for token in 1..n {
            tokens.keep_reached(token, token - 1, &self.after);
        }
        tokens.intersect(n - 1, &self.before, self.labels);
        for token in (0..n - 1).rev() {
            tokens.keep_reached(token, token + 1, &self.before);
        }
        (0..n).all(|token| !tokens.is_empty(token))
    }

    /// The place of the first mistake in a labelling: the number of the token whose label may not follow the label before it, or
    /// may not begin the sentence; the number of tokens if the last label may not end it.
    pub fn first_mistake(&self, labels: &[u32]) -> Option<usize> {
        let mut before = self.labels;
        for (token, &label) in labels.iter().enumerate() {
            if !self.after.contains(before, label as usize) {
                return Some(token);
            }
            before = label as usize;
        }
        (!labels.is_empty() && !self.before.contains(self.labels, before)).then_some(labels.len())
    }
}
