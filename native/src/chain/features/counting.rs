//! What parts of a data set have in common is found in two steps: each part counts what is seen in it, and the counts of two parts
//! are joined, until there is one count of everything (`table` makes features of it).
//!
//! Attributes and labels are ordered by their first appearance, part after part. So joined counts equal the counts of the
//! joined data, however the data were divided.

use crate::chain::features::seen::{LabelLists, Occurrences, Seen};
use crate::chain::features::too_many_labels;
use crate::corpus::alphabet::Alphabet;
use crate::corpus::hash::key_of;
use crate::corpus::labels::by_frequency;
use crate::corpus::{Corpus, FIRST_SET};
use crate::error::Result;
use crate::files::packed::{Packer, Unpacker};
use bytemuck::Pod;
use std::collections::HashMap;

/// What is seen in a part of a data set, or in several.
#[derive(Clone, Default)]
pub struct Counts {
    /// Names of the labels.
    pub labels: Vec<String>,
    /// Label -> the number of tokens that have exactly this label.
    pub label_tokens: Vec<u64>,
    pub attributes: Alphabet,
    /// What is seen, with the numbers of these labels and attributes, in no blocks.
    pub seen: Seen,
    /// Sentences, tokens, attributes of all tokens together.
    pub sizes: [u64; 3],
    /// Whether every attribute has the value 1.
    pub is_binary: bool,
    /// Whether some labels are partial.
    pub is_partial: bool,
}

impl Counts {
    /// The counts of a part. `order` is 1, or 2 to look at triples of labels. Error: too many labels.
    pub fn new(corpus: &Corpus, order: u8) -> Result<Counts> {
        let n_labels = corpus.labels.len();
        too_many_labels(n_labels, order)?;
        let mut label_tokens = vec![0; n_labels];
        corpus.gold.iter().filter(|&&label| label < FIRST_SET).for_each(|&label| label_tokens[label as usize] += 1);
        // Tokens are counted for any `min_count`.
        let mut seen = Seen::of(corpus, order, u32::MAX);
        seen.states = Occurrences::without_sentences(seen.states.counts, seen.states.tokens);
        Ok(Counts {
            labels: corpus.labels.to_vec(),
            label_tokens,
            attributes: (*corpus.attributes).clone(),
            seen,
            sizes: [corpus.n_sentences(), corpus.n_tokens(), corpus.states.ids.len()].map(|size| size as u64),
            is_binary: corpus.values.is_empty(),
            is_partial: corpus.is_partial(),
        })
    }

    /// Adds the counts of the part that follows. Error: too many labels.
    pub fn join(&mut self, next: &Counts) -> Result<()> {
        let label_map = self.join_labels(next);
        let map = self.attributes.absorb(&next.attributes);
        let n = self.attributes.len();
        let mut of_next = vec![None; n];
        map.iter().enumerate().for_each(|(theirs, &ours)| of_next[ours as usize] = Some(theirs));
        let label = |label: u16| label_map[usize::from(label)];
        let (seen, next_seen) = (&mut self.seen, &next.seen);
        let has_triples = !seen.triples.is_empty() || !next_seen.triples.is_empty();
        too_many_labels(self.labels.len(), if has_triples { 2 } else { 1 })?;
        add(&mut seen.states.counts, &next_seen.states.counts, &map, n);
        add(&mut seen.states.tokens, &next_seen.states.tokens, &map, n);
        seen.labels = union(&seen.labels, &next_seen.labels, &of_next, label);
        if !seen.bigram_tokens.is_empty() || !next_seen.bigram_tokens.is_empty() {
            add(&mut seen.bigram_tokens, &next_seen.bigram_tokens, &map, n);
            seen.bigrams = union(&seen.bigrams, &next_seen.bigrams, &of_next, |pair: [u16; 2]| pair.map(label));
        }
        seen.transitions.extend(next_seen.transitions.iter().map(|pair| pair.map(label)));
        seen.triples.extend(next_seen.triples.iter().map(|labels| labels.map(label)));
        sort(&mut seen.transitions);
        sort(&mut seen.triples);
        seen.has_transitions |= next_seen.has_transitions;
        seen.has_triples |= next_seen.has_triples;
        self.sizes.iter_mut().zip(next.sizes).for_each(|(size, more)| *size += more);
        self.is_binary &= next.is_binary;
        self.is_partial |= next.is_partial;
        Ok(())
    }

    /// The names of the labels in the sequence of a corpus, and what is seen with the labels' numbers in that sequence.
    pub fn with_sorted_labels(&self) -> (Vec<String>, Seen) {
        let (sorted, rank) = by_frequency(&self.labels, &self.label_tokens);
        let mut seen = self.seen.clone();
        let renamed = |label: u16| rank[usize::from(label)] as u16;
        rename(&mut seen.labels, renamed);
        rename(&mut seen.bigrams, |pair: [u16; 2]| pair.map(renamed));
        seen.transitions.iter_mut().flatten().for_each(|label| *label = renamed(*label));
        seen.triples.iter_mut().flatten().for_each(|label| *label = renamed(*label));
        sort(&mut seen.transitions);
        sort(&mut seen.triples);
        (sorted.iter().map(|&label| self.labels[label].clone()).collect(), seen)
    }

    /// Adds the labels of the part that follows; returns the map from its labels to the labels here.
    fn join_labels(&mut self, next: &Counts) -> Vec<u16> {
        let mut numbers: HashMap<String, usize> = self.labels.iter().cloned().zip(0..).collect();
        let mut map = Vec::with_capacity(next.labels.len());
        for (name, &tokens) in next.labels.iter().zip(&next.label_tokens) {
            let label = *numbers.entry(name.clone()).or_insert_with(|| {
                self.labels.push(name.clone());
                self.label_tokens.push(0);
                self.labels.len() - 1
            });
            self.label_tokens[label] += tokens;
            map.push(label as u16);
        }
        map
    }

    /// The counts as bytes.
    pub fn pack(&self) -> Vec<u8> {
        let (mut packer, seen) = (Packer::new("counts"), &self.seen);
        packer.texts(&self.labels);
        packer.list(&self.label_tokens);
        pack_names(&self.attributes, &mut packer);
        packer.list(&seen.states.counts);
        packer.list(&seen.states.tokens);
        pack_lists(&seen.labels, &mut packer);
        packer.list(&seen.bigram_tokens);
        pack_lists(&seen.bigrams, &mut packer);
        packer.list(&seen.transitions);
        packer.list(&seen.triples);
        packer.list(&self.sizes);
        packer.list(&[seen.has_transitions, seen.has_triples, self.is_binary, self.is_partial].map(u8::from));
        packer.finish()
    }

    /// The counts that were packed. Error: the bytes are damaged.
    pub fn unpack(bytes: &[u8]) -> Result<Counts> {
        let mut unpacker = Unpacker::new("counts", bytes)?;
        let mut counts = Counts {
            labels: unpacker.texts()?,
            label_tokens: unpacker.list()?,
            attributes: unpack_names(&mut unpacker)?,
            seen: Seen {
                states: Occurrences::without_sentences(unpacker.list()?, unpacker.list()?),
                labels: unpack_lists(&mut unpacker)?,
                bigram_tokens: unpacker.list()?,
                bigrams: unpack_lists(&mut unpacker)?,
                transitions: unpacker.list()?,
                triples: unpacker.list()?,
                ..Seen::default()
            },
            ..Counts::default()
        };
        let (sizes, flags): (Vec<u64>, Vec<u8>) = (unpacker.list()?, unpacker.list()?);
        let is_sound = counts.is_sound() && sizes.len() == 3 && flags.len() == 4;
        unpacker.finish(is_sound)?;
        counts.sizes.copy_from_slice(&sizes);
        let flags = [flags[0] != 0, flags[1] != 0, flags[2] != 0, flags[3] != 0];
        [counts.seen.has_transitions, counts.seen.has_triples, counts.is_binary, counts.is_partial] = flags;
        Ok(counts)
    }

    /// Whether all lists have the lengths they should, and name existing labels.
    fn is_sound(&self) -> bool {
        let (seen, n, n_labels) = (&self.seen, self.attributes.len(), self.labels.len());
        let is_label = |label: &u16| usize::from(*label) < n_labels;
        self.label_tokens.len() == n_labels
            && [seen.states.counts.len(), seen.states.tokens.len(), seen.labels.ends.len()] == [n; 3]
            && [0, n].contains(&seen.bigram_tokens.len())
            && seen.bigrams.ends.len() == seen.bigram_tokens.len()
            && seen.labels.entries.iter().all(is_label)
            && seen.bigrams.entries.iter().flatten().all(is_label)
            && seen.transitions.iter().flatten().all(is_label)
            && seen.triples.iter().flatten().all(is_label)
    }
}

/// Sorts a list and keeps each entry once.
fn sort<T: Ord>(list: &mut Vec<T>) {
    list.sort_unstable();
    list.dedup();
}

/// Adds the numbers of the part that follows, by its attributes.
fn add(ours: &mut Vec<u32>, theirs: &[u32], map: &[u32], n: usize) {
    ours.resize(n, 0);
    for (number, &attribute) in theirs.iter().zip(map) {
        ours[attribute as usize] = ours[attribute as usize].saturating_add(*number);
    }
}

/// Gives the labels in lists new numbers.
fn rename<T: Copy + Ord>(lists: &mut LabelLists<T>, name: impl Fn(T) -> T) {
    lists.entries.iter_mut().for_each(|entry| *entry = name(*entry));
    for list in 0..lists.ends.len() {
        let range = lists.range(list);
        lists.entries[range].sort_unstable();
    }
}

/// The lists of two parts, joined attribute by attribute. `of_next` has the attributes' numbers in the part that follows, and
/// `label` gives its labels the numbers here. Lists that a part does not have are empty.
fn union<T: Copy + Ord>(
    ours: &LabelLists<T>,
    next: &LabelLists<T>,
    of_next: &[Option<usize>],
    label: impl Fn(T) -> T,
) -> LabelLists<T> {
    let mut joined =
        LabelLists { ends: Vec::with_capacity(of_next.len()), entries: Vec::with_capacity(ours.entries.len()) };
    let mut both = Vec::new();
    for (attribute, theirs) in of_next.iter().enumerate() {
        both.clear();
        if attribute < ours.ends.len() {
            both.extend_from_slice(ours.get(attribute));
        }
        if let Some(theirs) = theirs.filter(|&theirs| theirs < next.ends.len()) {
            both.extend(next.get(theirs).iter().map(|&entry| label(entry)));
            sort(&mut both);
        }
        joined.push(both.iter().copied());
    }
    joined
}

/// Appends the names of an alphabet to a package.
pub(super) fn pack_names(attributes: &Alphabet, packer: &mut Packer) {
    let names = (0..attributes.len() as u32).map(|attribute| attributes.text(attribute));
    packer.list(&names.clone().map(|name| name.len() as u32).collect::<Vec<_>>());
    packer.list(&names.collect::<Vec<_>>().concat());
}

/// The alphabet of the names that come next in a package.
pub(super) fn unpack_names(unpacker: &mut Unpacker<'_>) -> Result<Alphabet> {
    let (lengths, text): (Vec<u32>, Vec<u8>) = (unpacker.list()?, unpacker.list()?);
    let mut attributes = Alphabet::default();
    let (mut rest, mut is_sound) = (text.as_slice(), true);
    for (number, &length) in lengths.iter().enumerate() {
        let Some((name, after)) = rest.split_at_checked(length as usize) else {
            is_sound = false;
            break;
        };
        rest = after;
        // Each name is there once.
        is_sound &= attributes.intern(key_of(name), |out| out.extend_from_slice(name)) as usize == number;
    }
    if is_sound && rest.is_empty() { Ok(attributes) } else { Err(crate::files::packed::damaged()) }
}

fn pack_lists<T: Pod>(lists: &LabelLists<T>, packer: &mut Packer) {
    packer.list(&lists.ends);
    packer.list(&lists.entries);
}

fn unpack_lists<T: Pod>(unpacker: &mut Unpacker<'_>) -> Result<LabelLists<T>> {
    let lists = LabelLists { ends: unpacker.list()?, entries: unpacker.list()? };
    let is_sound = lists.ends.windows(2).all(|pair| pair[0] <= pair[1])
        && lists.ends.last().copied().unwrap_or(0) == lists.entries.len() as u64;
    if is_sound { Ok(lists) } else { Err(crate::files::packed::damaged()) }
}
