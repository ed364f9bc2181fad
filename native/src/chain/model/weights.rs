//! The tensors of a model: their names, ready to index, and checked.

use crate::chain::features::{MOST_LABELS, MOST_LABELS_OF_TRIPLES};
use crate::chain::inference::{Edge, Lattice};
use crate::files::model_file::{Contents, Expected, Storage};
use crate::numeric::prefetch;
use safetensors::tensor::Dtype;
use std::ops::Range;

/// Name, type and number of dimensions of the tensors that every model has.
pub(super) const TENSORS: [Expected; 14] = [
    ("states.slots", Dtype::U64, 2),
    ("states.ends", Dtype::U64, 1),
    ("states.name_ends", Dtype::U64, 1),
    ("states.names", Dtype::U8, 1),
    ("states.labels", Dtype::U16, 1),
    ("states.weights", Dtype::F64, 1),
    ("bigrams.slots", Dtype::U64, 2),
    ("bigrams.ends", Dtype::U64, 1),
    ("bigrams.name_ends", Dtype::U64, 1),
    ("bigrams.names", Dtype::U8, 1),
    ("bigrams.pairs", Dtype::U16, 2),
    ("bigrams.weights", Dtype::F64, 1),
    ("transitions.pairs", Dtype::U16, 2),
    ("transitions.weights", Dtype::F64, 1),
];
/// Additional tensors of chains of second order.
pub(super) const TRIPLES: [Expected; 2] = [("triples.labels", Dtype::U16, 3), ("triples.weights", Dtype::F64, 1)];
/// Additional tensor of chains whose template has lexicons.
pub(super) const LEXICONS: Expected = ("lexicons", Dtype::U8, 1);
/// The tensors that a model may lack.
pub(super) const OPTIONAL: [Expected; 3] = [TRIPLES[0], TRIPLES[1], LEXICONS];

/// The tensors of a model, ready to index.
pub struct ModelWeights<'m> {
    pub states: Attributes<'m>,
    pub state_labels: &'m [u16],
    pub state_weights: &'m [f64],
    pub bigrams: Attributes<'m>,
    pub bigram_pairs: &'m [[u16; 2]],
    pub bigram_weights: &'m [f64],
    pub transition_pairs: &'m [[u16; 2]],
    pub transition_weights: &'m [f64],
    pub triples: &'m [[u16; 3]],
    pub triple_weights: &'m [f64],
}

/// The attributes that have features of one kind, and the ranges of these features.
pub struct Attributes<'m> {
    slots: &'m [[u64; 2]],
    ends: &'m [u64],
    name_ends: &'m [u64],
    names: &'m [u8],
}

impl<'m> Attributes<'m> {
    /// The features of the attribute with this key.
    #[inline(always)]
    pub fn find(&self, key: u64) -> Range<usize> {
        let mask = self.slots.len() - 1;
        let mut slot = key as usize & mask;
        loop {
            let [stored_key, place] = self.slots[slot];
            if stored_key == key {
                return range_of(place);
            }
            if stored_key == 0 {
                return 0..0;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Asks for the memory where a look-up of this key begins.
    #[inline(always)]
    pub(super) fn prefetch(&self, key: u64) {
        prefetch(self.slots, key as usize & (self.slots.len() - 1));
    }

    /// Keys of the attributes with the ranges of their features.
    pub(super) fn filled(&self) -> impl Iterator<Item = (u64, Range<usize>)> {
        self.slots.iter().filter(|[key, _]| *key != 0).map(|&[key, place]| (key, range_of(place)))
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Names of the attributes with the ranges of their features, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (&'m [u8], Range<usize>)> {
        let (names, name_ends, ends) = (self.names, self.name_ends, self.ends);
        let start_of = |ends: &[u64], at: usize| if at == 0 { 0 } else { ends[at - 1] as usize };
        (0..ends.len()).map(move |at| {
            let name = &names[start_of(name_ends, at)..name_ends[at] as usize];
            (name, start_of(ends, at)..ends[at] as usize)
        })
    }
}

/// The features at a place as slots have it.
#[inline(always)]
fn range_of(place: u64) -> Range<usize> {
    let start = (place >> 16) as usize;
    start..start + (place & 0xffff) as usize
}

/// The ranges of the tensors in the bytes of a model file, in the order of `TENSORS` and `TRIPLES`.
pub(super) type Places = [Range<usize>; TENSORS.len() + TRIPLES.len()];

/// Finds the tensors of a model file by their names.
pub(super) fn places(contents: &Contents) -> Places {
    let names: [_; TENSORS.len() + TRIPLES.len()] =
        std::array::from_fn(|at| if at < TENSORS.len() { TENSORS[at].0 } else { TRIPLES[at - TENSORS.len()].0 });
    names.map(|name| contents.range(name))
}

impl<'m> ModelWeights<'m> {
    /// The tensors at their places in the bytes of a model file.
    #[inline]
    pub(super) fn new(storage: &'m Storage, places: &Places) -> ModelWeights<'m> {
        let bytes: &'m [u8] = storage;
        let attributes = |first: usize| Attributes {
            slots: tensor(bytes, &places[first]),
            ends: tensor(bytes, &places[first + 1]),
            name_ends: tensor(bytes, &places[first + 2]),
            names: tensor(bytes, &places[first + 3]),
        };
        ModelWeights {
            states: attributes(0),
            state_labels: tensor(bytes, &places[4]),
            state_weights: tensor(bytes, &places[5]),
            bigrams: attributes(6),
            bigram_pairs: tensor(bytes, &places[10]),
            bigram_weights: tensor(bytes, &places[11]),
            transition_pairs: tensor(bytes, &places[12]),
            transition_weights: tensor(bytes, &places[13]),
            triples: tensor(bytes, &places[14]),
            triple_weights: tensor(bytes, &places[15]),
        }
    }

    /// Adds the features of a token's attributes to its scores. All attributes are looked up first: each look-up waits for memory,
    /// and they wait at once.
    #[inline(always)]
    pub(super) fn add_token(&self, attributes: &[(u64, f64)], features: &mut Vec<Range<usize>>, scores: &mut [f64]) {
        features.clear();
        features.extend(attributes.iter().map(|&(key, _)| self.states.find(key)));
        for (features, &(_, value)) in features.drain(..).zip(attributes) {
            self.add_states(features, value, scores);
        }
    }

    /// Adds value * weight of some state features to a token's scores.
    #[inline(always)]
    pub fn add_states(&self, features: Range<usize>, value: f64, scores: &mut [f64]) {
        for (&label, &weight) in self.state_labels[features.clone()].iter().zip(&self.state_weights[features]) {
            scores[usize::from(label)] += value * weight;
        }
    }

    /// Adds an edge for each of some bigram features to the lattice.
    pub fn add_edges(&self, features: Range<usize>, lattice: &mut Lattice) {
        for feature in features {
            let [from, to] = self.bigram_pairs[feature];
            let score = self.bigram_weights[feature];
            let edge =
                Edge { from: from.into(), to: to.into(), score, feature: feature as u32, place: 0, marginal: 0.0 };
            lattice.edges.push(edge);
        }
    }
}

/// The numbers of a tensor; empty if the tensor does not exist.
#[inline]
fn tensor<'m, T: bytemuck::AnyBitPattern>(bytes: &'m [u8], place: &Range<usize>) -> &'m [T] {
    // The header is padded so that data start at a multiple of 8, and tensors with larger alignment come first.
    bytemuck::try_cast_slice(&bytes[place.clone()]).unwrap_or(&[])
}

/// Checks that all indices are in range, so that a file with a valid checksum but wrong content cannot mislead look-ups.
pub(super) fn check(weights: &ModelWeights<'_>, n_labels: usize) -> std::result::Result<(), &'static str> {
    if n_labels > MOST_LABELS {
        return Err("it has more than 4096 labels");
    }
    let below = |label: &u16| usize::from(*label) < n_labels;
    if !weights.state_labels.iter().all(below) {
        return Err("a state feature's label is out of range");
    }
    if !weights.bigram_pairs.iter().chain(weights.transition_pairs).all(|pair| pair.iter().all(below)) {
        return Err("a transition's label is out of range");
    }
    if !weights.triples.iter().flatten().all(below) {
        return Err("the label of a triple is out of range");
    }
    if !weights.triples.is_empty() && n_labels > MOST_LABELS_OF_TRIPLES {
        return Err("too many labels for triples");
    }
    let same = [
        (weights.state_labels.len(), weights.state_weights.len()),
        (weights.bigram_pairs.len(), weights.bigram_weights.len()),
        (weights.transition_pairs.len(), weights.transition_weights.len()),
        (weights.triples.len(), weights.triple_weights.len()),
    ];
    if same.iter().any(|(a, b)| a != b) {
        return Err("the numbers of weights and features differ");
    }
    let weights_of_all =
        [weights.state_weights, weights.bigram_weights, weights.transition_weights, weights.triple_weights];
    if weights_of_all.iter().any(|weights| !weights.iter().all(|weight| weight.is_finite())) {
        return Err("a weight is not finite");
    }
    for (attributes, n) in
        [(&weights.states, weights.state_weights.len()), (&weights.bigrams, weights.bigram_weights.len())]
    {
        let ascending =
            |ends: &[u64], most: usize| ends.is_sorted() && ends.last().is_none_or(|&end| end as usize <= most);
        let (mut filled, mut in_range) = (0, true);
        for &[key, place] in attributes.slots {
            filled += usize::from(key != 0);
            in_range &= range_of(place).end <= n;
        }
        let sound = attributes.slots.len().is_power_of_two()
            && filled == attributes.len()
            && filled < attributes.slots.len()
            && in_range
            && attributes.name_ends.len() == attributes.len()
            && ascending(attributes.ends, n)
            && ascending(attributes.name_ends, attributes.names.len());
        if !sound {
            return Err("an attribute table is inconsistent");
        }
    }
    Ok(())
}
