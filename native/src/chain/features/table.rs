//! The features of a whole data set by name, which parts of it look up: its labels, and which attributes go with which of them.
//!
//! The features are those that the joined data have in memory, under the same selection. Their order is the same too, except
//! for attributes of states that are not dense: these are ordered by first appearance alone, because the blocks of the joined
//! data are unknown here.

use crate::chain::features::counting::{Counts, pack_names, unpack_names};
use crate::chain::features::source::Source;
use crate::chain::features::{Features, NO_FEATURES, NOWHERE, Place, Selection};
use crate::corpus::alphabet::Alphabet;
use crate::corpus::{Corpus, Rows};
use crate::error::{Error, Result};
use crate::files::packed::{Packer, Unpacker};
use std::sync::Arc;

/// The features of a data set by name, and its sizes.
pub struct FeatureTable {
    /// Names of the labels, the most frequent first, ties in byte order.
    pub labels: Arc<Vec<String>>,
    /// The attributes that have features.
    pub attributes: Alphabet,
    /// The features, in no blocks.
    pub features: Features,
    /// Attribute -> the places of its state features.
    pub places: Vec<Place>,
    /// 1 or 2.
    pub order: u8,
    /// Sentences, tokens, attributes of all tokens together.
    pub sizes: [u64; 3],
    /// Whether every attribute has the value 1.
    pub is_binary: bool,
    /// Whether some labels are partial.
    pub is_partial: bool,
}

impl FeatureTable {
    /// The features of the data that were counted. Errors: no labels, too many labels or features, no features.
    pub fn new(counts: &Counts, mut selection: Selection) -> Result<FeatureTable> {
        if counts.labels.is_empty() {
            return Err(Error::Data("no token has a known label: there is nothing to train on".into()));
        }
        if counts.seen.has_triples {
            selection.order = 2;
        }
        let (labels, seen) = counts.with_sorted_labels();
        let mut features = Features::of(labels.len(), &seen, selection, Vec::new())?;
        if features.is_empty() {
            return Err(Error::Data(NO_FEATURES.into()));
        }
        let attributes = features.leave_out_others(&counts.attributes);
        Ok(FeatureTable {
            labels: Arc::new(labels),
            places: features.places(attributes.len()),
            attributes,
            features,
            order: selection.order,
            sizes: counts.sizes,
            is_binary: counts.is_binary,
            is_partial: counts.is_partial,
        })
    }

    /// A corpus without sentences that has these labels and attributes.
    pub fn names(&self) -> Result<Corpus> {
        let labels = Some((self.labels.to_vec(), Vec::new()));
        Corpus::of_matrix(self.attributes.clone(), labels, Vec::new(), Rows::default(), Vec::new())
    }

    /// The parts of a model of these features, except its weights.
    pub fn source<'a>(&'a self, settings: String, template: Option<&'a str>) -> Source<'a> {
        let FeatureTable { features, attributes, labels, .. } = self;
        Source { features, attributes, labels, settings, template, intercept: None }
    }

    /// The table as bytes.
    pub fn pack(&self) -> Vec<u8> {
        let mut packer = Packer::new("table");
        let FeatureTable { features, .. } = self;
        packer.texts(&self.labels);
        pack_names(&self.attributes, &mut packer);
        packer.list(&features.transitions);
        packer.list(&features.triples);
        packer.list(&features.bigram_ranges.iter().map(|range| range.end).collect::<Vec<_>>());
        packer.list(&features.bigram_pairs);
        packer.list(&features.state_attributes.iter().map(|&(id, end)| [id, end]).collect::<Vec<_>>());
        packer.list(&features.state_labels);
        packer.number(features.n_dense as u64);
        packer.list(&[self.order, u8::from(self.is_binary), u8::from(self.is_partial)]);
        packer.list(&self.sizes);
        packer.finish()
    }

    /// The table that was packed. Error: the bytes are damaged.
    pub fn unpack(bytes: &[u8]) -> Result<FeatureTable> {
        let mut unpacker = Unpacker::new("table", bytes)?;
        let (labels, attributes) = (unpacker.texts()?, unpack_names(&mut unpacker)?);
        let transitions = unpacker.list()?;
        let triples = unpacker.list()?;
        let bigram_ends: Vec<u32> = unpacker.list()?;
        let bigram_starts = std::iter::once(0).chain(bigram_ends.iter().copied());
        let bigram_pairs = unpacker.list()?;
        let state_attributes: Vec<[u32; 2]> = unpacker.list()?;
        let state_labels = unpacker.list()?;
        let n_dense = unpacker.size()?;
        let n_shared = state_attributes.len().saturating_sub(n_dense);
        let (flags, sizes): (Vec<u8>, Vec<u64>) = (unpacker.list()?, unpacker.list()?);
        let features = Features {
            n_labels: labels.len(),
            transitions,
            triples,
            bigram_ranges: bigram_starts.zip(&bigram_ends).map(|(start, &end)| start..end).collect(),
            bigram_pairs,
            state_attributes: state_attributes.into_iter().map(|[id, end]| (id, end)).collect(),
            state_labels,
            n_dense,
            n_shared,
            blocks: Vec::new(),
        };
        let is_sound = is_sound(&features, attributes.len()) && flags.len() == 3 && sizes.len() == 3;
        unpacker.finish(is_sound)?;
        Ok(FeatureTable {
            labels: Arc::new(labels),
            places: features.places(attributes.len()),
            attributes,
            features,
            order: flags[0],
            is_binary: flags[1] != 0,
            is_partial: flags[2] != 0,
            sizes: [sizes[0], sizes[1], sizes[2]],
        })
    }
}

impl Features {
    /// Leaves out the attributes without features; returns the others, which have new numbers in the same sequence.
    fn leave_out_others(&mut self, all: &Alphabet) -> Alphabet {
        let mut numbers = vec![NOWHERE; all.len()];
        self.state_attributes.iter().for_each(|&(attribute, _)| numbers[attribute as usize] = 0);
        self.bigram_ranges.iter().zip(&mut numbers).filter(|(range, _)| !range.is_empty()).for_each(|(_, at)| *at = 0);
        let mut attributes = Alphabet::default();
        for (attribute, number) in (0..).zip(&mut numbers).filter(|(_, number)| **number != NOWHERE) {
            *number = attributes.intern(all.key(attribute), |out| out.extend_from_slice(all.text(attribute)));
        }
        self.state_attributes.iter_mut().for_each(|(attribute, _)| *attribute = numbers[*attribute as usize]);
        let mut has_features = numbers.iter().map(|&number| number != NOWHERE);
        self.bigram_ranges.retain(|_| has_features.next() == Some(true));
        attributes
    }
}

/// Whether all places and labels are within their bounds.
fn is_sound(features: &Features, n_attributes: usize) -> bool {
    let Features { bigram_ranges, bigram_pairs, state_attributes, state_labels, .. } = features;
    let is_label = |label: &u16| usize::from(*label) < features.n_labels;
    let mut before = 0;
    let ascends = state_attributes.iter().all(|&(attribute, end)| {
        let rises = end > before && (attribute as usize) < n_attributes;
        before = end;
        rises
    });
    ascends
        && before as usize == state_labels.len()
        && features.n_dense <= state_attributes.len()
        && [0, n_attributes].contains(&bigram_ranges.len())
        && bigram_ranges.iter().all(|range| range.start <= range.end)
        && bigram_ranges.last().map_or(0, |range| range.end as usize) == bigram_pairs.len()
        && features.transitions.iter().chain(bigram_pairs).flatten().all(is_label)
        && features.triples.iter().flatten().chain(state_labels).all(is_label)
}
