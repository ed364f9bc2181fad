//! The largest absolute value that each feature has in the data.

use crate::chain::objective::ChainObjective;

impl ChainObjective {
    /// Feature -> the largest absolute value of its attribute on a token, 1 for features of labels alone; None if all values are 1.
    pub fn largest_values(&self) -> Option<Vec<f64>> {
        let (corpus, features) = (&self.corpus, &self.features);
        if corpus.values.is_empty() {
            return None;
        }
        let mut of_attribute = vec![0.0f64; corpus.attributes.len()];
        for sentence in corpus.sweep() {
            for token in corpus.tokens(sentence) {
                let range = corpus.states.range(token);
                for (&attribute, value) in corpus.states.ids[range.clone()].iter().zip(&corpus.values[range]) {
                    let most = &mut of_attribute[attribute as usize];
                    *most = most.max(value.abs());
                }
            }
        }
        let mut largest = vec![1.0; features.first_state()];
        for &(attribute, end) in &features.state_attributes {
            largest.resize(features.first_state() + end as usize, of_attribute[attribute as usize]);
        }
        Some(largest)
    }
}
