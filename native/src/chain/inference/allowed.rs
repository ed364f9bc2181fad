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

    /// The places of the mistakes in a labelling: the number of a token whose label may not follow the label before it, or may not
    /// begin the sentence; the number of tokens if the last label may not end it. Numbers that stand for no label are unknown
    /// labels.
    pub fn mistakes<'a>(&'a self, gold: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
        let number_of = |label: &u32| Some(*label as usize).filter(|&label| label < self.labels);
        let follows = move |token: usize| match token.checked_sub(1) {
            Some(before) => number_of(&gold[before]),
            None => Some(self.labels),
        };
        let at_token = move |&token: &usize| {
            follows(token)
                .zip(number_of(&gold[token]))
                .is_some_and(|(before, label)| !self.after.contains(before, label))
        };
        let at_end = gold.last().and_then(number_of).is_some_and(|last| !self.before.contains(self.labels, last));
        (0..gold.len()).filter(at_token).chain(at_end.then_some(gold.len()))
    }

    /// The place of the first mistake in a labelling; see `mistakes`.
    pub fn first_mistake(&self, gold: &[u32]) -> Option<usize> {
        self.mistakes(gold).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_forbidden_pairs_of_known_labels_and_forbidden_ends() {
        let forbidden = vec![(None, Some(1)), (Some(0), Some(0)), (Some(1), None)];
        let allowed = Allowed::new(2, forbidden, Value::Null);
        let mistakes = |gold: &[u32]| allowed.mistakes(gold).collect::<Vec<_>>();
        assert_eq!(mistakes(&[1, 0, 0, 0, 1]), [0, 2, 3, 5]);
        assert!(mistakes(&[0, u32::MAX, 0]).is_empty());
        assert!(mistakes(&[]).is_empty());
        assert_eq!(allowed.first_mistake(&[0, 1, 0, 0]), Some(3));
    }
}
