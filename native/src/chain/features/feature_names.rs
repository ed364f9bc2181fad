//! Names of a chain's features by their numbers.

use crate::chain::features::Features;
use crate::corpus::alphabet::Alphabet;

/// The name of a weight: an attribute and labels.
#[derive(Debug, PartialEq)]
pub struct FeatureName<'a> {
    /// The attribute that has to be on the token; None for features of labels alone.
    pub attribute: Option<&'a [u8]>,
    /// Numbers of one, two or three labels in a row; the last is the token's own.
    pub labels: Vec<u16>,
}

/// Names of the features with these numbers, which are below the number of features.
pub fn feature_names<'a>(features: &Features, attributes: &'a Alphabet, numbers: &[usize]) -> Vec<FeatureName<'a>> {
    numbers.iter().map(|&number| feature_name(features, attributes, number)).collect()
}

fn feature_name<'a>(features: &Features, attributes: &'a Alphabet, number: usize) -> FeatureName<'a> {
    if let Some(&pair) = features.transitions.get(number) {
        return FeatureName { attribute: None, labels: pair.to_vec() };
    }
    if number < features.first_bigram() {
        let labels = features.triples[number - features.transitions.len()];
        return FeatureName { attribute: None, labels: labels.to_vec() };
    }
    if number < features.first_state() {
        let bigram = number - features.first_bigram();
        let attribute = features.bigram_ranges.partition_point(|range| range.end as usize <= bigram);
        return FeatureName {
            attribute: Some(attributes.text(attribute as u32)),
            labels: features.bigram_pairs[bigram].to_vec(),
        };
    }
    let state = number - features.first_state();
    let place = features.state_attributes.partition_point(|&(_, end)| end as usize <= state);
    let attribute = features.state_attributes[place].0;
    FeatureName { attribute: Some(attributes.text(attribute)), labels: vec![features.state_labels[state]] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::hash::key_of;

    #[test]
    fn every_kind_of_feature_has_the_name_of_its_place() {
        let mut attributes = Alphabet::default();
        for name in ["a", "b", "c"] {
            attributes.intern(key_of(name.as_bytes()), |out| out.extend_from_slice(name.as_bytes()));
        }
        // a has no bigram features; the state features begin with c, and b has none.
        let features = Features {
            n_labels: 2,
            transitions: vec![[0, 1]],
            triples: vec![[1, 0, 1]],
            bigram_ranges: vec![0..0, 0..2, 2..3],
            bigram_pairs: vec![[0, 0], [1, 0], [1, 1]],
            state_attributes: vec![(2, 2), (0, 3)],
            state_labels: vec![0, 1, 1],
            n_dense: 0,
            n_shared: 2,
            blocks: Vec::new(),
        };
        let numbers: Vec<usize> = (0..features.len()).rev().collect();
        let name = |attribute: Option<&'static str>, labels: &[u16]| FeatureName {
            attribute: attribute.map(str::as_bytes),
            labels: labels.to_vec(),
        };
        let mut expected = vec![
            name(None, &[0, 1]),
            name(None, &[1, 0, 1]),
            name(Some("b"), &[0, 0]),
            name(Some("b"), &[1, 0]),
            name(Some("c"), &[1, 1]),
            name(Some("c"), &[0]),
            name(Some("c"), &[1]),
            name(Some("a"), &[1]),
        ];
        expected.reverse();
        assert_eq!(feature_names(&features, &attributes, &numbers), expected);
    }
}
