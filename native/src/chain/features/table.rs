//! The features of a whole data set by name, which parts of it look up: its labels, and which attributes go with which of them.
//!
//! The features are those that the joined data have in memory, under the same selection. Their sequence is the same too, but for
//! attributes of states that are not dense: they stand by the sequence of their first appearance alone, for blocks of the joined
//! data are not known here.

use crate::chain::features::counting::{Counts, pack_names, unpack_names};
use crate::chain::features::seen::pairs_of;
use crate::chain::features::source::Source;
use crate::chain::features::{Features, Place, Selection, is_dense, too_many_labels};
use crate::corpus::alphabet::Alphabet;
use crate::corpus::{Corpus, Rows};
use crate::error::{Error, Result};
use crate::files::packed::{Packer, Unpacker};
use crate::numeric::padded;
use std::cmp::Reverse;
use std::sync::Arc;

/// The features of a data set by name, and its sizes.
pub struct FeatureTable {
    /// Names of the labels, the most frequent first, ties in byte order.
    pub labels: Arc<Vec<String>>,
    /// The attributes that have features.
    pub attributes: Alphabet,
    /// The features, in no blocks.
    pub features: Features,
    /// Attribute -> where its state features stand.
    pub places: Vec<Place>,
    /// 1 or 2.
    pub order: u8,
    /// Sentences, tokens, attributes of all tokens together.
    pub sizes: [u64; 3],
    /// Whether every attribute has the value 1.
    pub is_binary: bool,
    /// Whether some tokens have not a single label.
    pub is_partial: bool,
}

impl FeatureTable {
    /// The features of the data that were counted. Errors: no labels, too many labels or features, no features.
    pub fn new(counts: &Counts, mut selection: Selection) -> Result<FeatureTable> {
        if counts.has_triples {
            selection.order = 2;
        }
        let n_labels = counts.labels.len();
        if n_labels == 0 {
            return Err(Error::Data("no token whose label is known: there is nothing to train on".into()));
        }
        too_many_labels(n_labels, selection.order)?;
        let (labels, rank) = sorted_labels(counts);
        let renamed = |label: &u16| rank[usize::from(*label)];
        let mut table = FeatureTable {
            labels: Arc::new(labels),
            attributes: Alphabet::default(),
            features: links(counts, selection, renamed),
            places: Vec::new(),
            order: selection.order,
            sizes: counts.sizes,
            is_binary: counts.is_binary,
            is_partial: counts.is_partial,
        };
        table.add_attributes(counts, selection, renamed)?;
        if table.features.is_empty() {
            let message = "no features: every attribute was left out, and there are no transitions; lower min_count";
            return Err(Error::Data(message.into()));
        }
        table.places = table.features.places(table.attributes.len());
        Ok(table)
    }

    /// Adds the attributes that have features, first the dense ones.
    fn add_attributes(&mut self, counts: &Counts, selection: Selection, renamed: impl Fn(&u16) -> u16) -> Result<()> {
        let FeatureTable { features, attributes, .. } = self;
        let (n_labels, width) = (features.n_labels, padded(features.n_labels));
        let least = u64::from(selection.min_count.max(1));
        let mut classes: [Vec<(u32, Vec<u16>)>; 2] = Default::default();
        for number in 0..counts.attributes.len() {
            let mut labels: Vec<u16> = counts.states.get(number).iter().map(&renamed).collect();
            labels.sort_unstable();
            let (occurrences, is_on) = (counts.occurrences[number], counts.tokens[number]);
            // As in memory: tokens are counted apart from occurrences only where a bound on their number has an effect.
            let has_states = occurrences > 0 && (if least > 1 { is_on >= least } else { true });
            if has_states && selection.all_states {
                labels = (0..n_labels as u16).collect();
            }
            let has_states = has_states && !labels.is_empty();
            let pairs = bigram_pairs(counts, number, selection, n_labels, &renamed);
            if !has_states && pairs.is_none() {
                continue;
            }
            let name = counts.attributes.text(number as u32);
            let id = attributes.intern(counts.attributes.key(number as u32), |out| out.extend_from_slice(name));
            if !counts.bigram_tokens.is_empty() {
                let start = features.bigram_pairs.len() as u32;
                features.bigram_pairs.extend(pairs.unwrap_or_default());
                features.bigram_ranges.push(start..features.bigram_pairs.len() as u32);
            }
            if has_states {
                let occurrences = u32::try_from(occurrences).unwrap_or(u32::MAX);
                classes[usize::from(!is_dense(labels.len(), occurrences, width))].push((id, labels));
            }
        }
        (features.n_dense, features.n_shared) = (classes[0].len(), classes[1].len());
        for (id, labels) in classes.into_iter().flatten() {
            features.state_labels.extend(labels);
            let end = u32::try_from(features.first_state() + features.state_labels.len())
                .map_err(|_| Error::Data("more than 2^32 features; raise min_count or leave out all_states".into()))?;
            features.state_attributes.push((id, end - features.first_state() as u32));
        }
        Ok(())
    }

    /// A corpus without sentences that has these labels and attributes.
    pub fn names(&self) -> Result<Corpus> {
        let labels = Some((self.labels.to_vec(), Vec::new()));
        Corpus::of_matrix(self.attributes.clone(), labels, Vec::new(), Rows::default(), Vec::new())
    }

    /// What a model of these features is made of, except its weights.
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
        packer.list(&features.transitions.iter().map(|&(from, to)| [from, to]).collect::<Vec<_>>());
        packer.list(&features.triples);
        packer.list(&features.bigram_ranges.iter().map(|range| range.end).collect::<Vec<_>>());
        packer.list(&features.bigram_pairs.iter().map(|&(from, to)| [from, to]).collect::<Vec<_>>());
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
        let pairs = |pairs: Vec<[u16; 2]>| pairs.into_iter().map(|[from, to]| (from, to)).collect::<Vec<_>>();
        let transitions = pairs(unpacker.list()?);
        let triples = unpacker.list()?;
        let bigram_ends: Vec<u32> = unpacker.list()?;
        let bigram_starts = std::iter::once(0).chain(bigram_ends.iter().copied());
        let bigram_pairs = pairs(unpacker.list()?);
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

/// The labels in the sequence of a corpus, and old number -> new number.
fn sorted_labels(counts: &Counts) -> (Vec<String>, Vec<u16>) {
    let mut sorted: Vec<usize> = (0..counts.labels.len()).collect();
    sorted.sort_by_key(|&label| (Reverse(counts.label_tokens[label]), counts.labels[label].as_bytes()));
    let mut rank = vec![0; sorted.len()];
    sorted.iter().zip(0..).for_each(|(&old, new)| rank[old] = new);
    (sorted.iter().map(|&label| counts.labels[label].clone()).collect(), rank)
}

/// The features of labels alone, without attributes.
fn links(counts: &Counts, selection: Selection, renamed: impl Fn(&u16) -> u16) -> Features {
    let n_labels = counts.labels.len();
    let mut transitions: Vec<(u16, u16)> =
        counts.transitions.iter().map(|[from, to]| (renamed(from), renamed(to))).collect();
    let mut triples: Vec<[u16; 3]> = counts.triples.iter().map(|labels| labels.each_ref().map(&renamed)).collect();
    if selection.all_transitions {
        if counts.has_transitions {
            transitions = pairs_of(n_labels).collect();
        }
        if counts.has_transitions || counts.has_triples {
            let n = n_labels as u16;
            triples = pairs_of(n_labels).flat_map(|(a, b)| (0..n).map(move |c| [a, b, c])).collect();
        }
    }
    if selection.order != 2 {
        triples.clear();
    }
    transitions.sort_unstable();
    triples.sort_unstable();
    Features::of_labels(n_labels, transitions, triples)
}

/// The pairs of labels with which an attribute has features, ascending; None if it has none.
fn bigram_pairs(
    counts: &Counts,
    attribute: usize,
    selection: Selection,
    n_labels: usize,
    renamed: impl Fn(&u16) -> u16,
) -> Option<Vec<(u16, u16)>> {
    let tokens = *counts.bigram_tokens.get(attribute)?;
    if tokens < u64::from(selection.min_count.max(1)) {
        return None;
    }
    if selection.all_transitions {
        return Some(pairs_of(n_labels).collect());
    }
    let mut pairs: Vec<(u16, u16)> =
        counts.bigrams.get(attribute).iter().map(|[from, to]| (renamed(from), renamed(to))).collect();
    pairs.sort_unstable();
    Some(pairs).filter(|pairs| !pairs.is_empty())
}

/// Whether all places and labels are within their bounds.
fn is_sound(features: &Features, n_attributes: usize) -> bool {
    let Features { bigram_ranges, bigram_pairs, state_attributes, state_labels, .. } = features;
    let known = |label: &u16| usize::from(*label) < features.n_labels;
    let is_pair = |(from, to): &(u16, u16)| known(from) && known(to);
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
        && features.transitions.iter().chain(bigram_pairs).all(is_pair)
        && features.triples.iter().flatten().chain(state_labels).all(known)
}
