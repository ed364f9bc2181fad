//! Names of a chain's features by their numbers.

use crate::chain::features::Features;
use crate::corpus::alphabet::Alphabet;

/// The name of a weight: the attribute that must be on the token, None for features of labels only; and one, two or three labels
/// in a row, the last of which is the token's.
pub type Name<'a> = (Option<String>, Vec<&'a str>);

/// Names of the features with these numbers, which are below the number of features.
pub fn feature_names<'a>(
    features: &Features,
    attributes: &Alphabet,
    labels: &'a [String],
    numbers: &[usize],
) -> Vec<Name<'a>> {
    let named =
        |labels_in_a_row: &[u16]| labels_in_a_row.iter().map(|&label| labels[usize::from(label)].as_str()).collect();
    let attribute = |id: u32| Some(String::from_utf8_lossy(attributes.text(id)).into_owned());
    let name = |&number: &usize| {
        if let Some(pair) = features.transitions.get(number) {
            return (None, named(pair));
        }
        if number < features.first_bigram() {
            return (None, named(&features.triples[number - features.transitions.len()]));
        }
        if number < features.first_state() {
            let bigram = number - features.first_bigram();
            let id = features.bigram_ranges.partition_point(|range| range.end as usize <= bigram);
            return (attribute(id as u32), named(&features.bigram_pairs[bigram]));
        }
        let state = number - features.first_state();
        let place = features.state_attributes.partition_point(|&(_, end)| end as usize <= state);
        (attribute(features.state_attributes[place].0), named(&features.state_labels[state..=state]))
    };
    numbers.iter().map(name).collect()
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
        let labels = ["0".to_owned(), "1".to_owned()];
        let name = |attribute: Option<&str>, of: &[usize]| {
            (attribute.map(str::to_owned), of.iter().map(|&label| labels[label].as_str()).collect::<Vec<_>>())
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
        assert_eq!(feature_names(&features, &attributes, &labels, &numbers), expected);
    }
}
