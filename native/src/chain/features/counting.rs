//! What parts of a data set have in common is found in two steps: each part counts what is seen in it, and the counts of two parts
//! are joined, until there is one count of everything (`table` makes features of it).
//!
//! Attributes and labels have the sequence of their first appearance, part after part: joined counts are those of the joined
//! data, however these were cut.

use crate::chain::features::seen::{for_each_row, observed_labels, token_counts, transitions, triples};
use crate::chain::features::too_many_labels;
use crate::corpus::alphabet::Alphabet;
use crate::corpus::hash::key_of;
use crate::corpus::{Corpus, FIRST_SET};
use crate::error::Result;
use crate::files::packed::{Packer, Unpacker};
use bytemuck::Pod;
use std::collections::HashMap;

/// Lists of labels or of pairs of labels, of any lengths, one after the other.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct LabelLists<T> {
    ends: Vec<u64>,
    entries: Vec<T>,
}

impl<T: Copy> LabelLists<T> {
    /// The list with this number; an empty one behind the last.
    pub fn get(&self, at: usize) -> &[T] {
        let end = |at: usize| self.ends[at] as usize;
        if at >= self.ends.len() { &[] } else { &self.entries[if at == 0 { 0 } else { end(at - 1) }..end(at)] }
    }

    /// Appends a list.
    pub fn push(&mut self, list: &[T]) {
        self.entries.extend_from_slice(list);
        self.ends.push(self.entries.len() as u64);
    }
}

/// What is seen in a part of a data set, or in several.
#[derive(Clone, Default)]
pub struct Counts {
    /// Names of the labels.
    pub labels: Vec<String>,
    /// Label -> the number of tokens that have this label alone.
    pub label_tokens: Vec<u64>,
    pub attributes: Alphabet,
    /// Attribute -> how often it occurs as an attribute of states.
    pub occurrences: Vec<u64>,
    /// Attribute -> the number of tokens it is on as an attribute of states.
    pub tokens: Vec<u64>,
    /// Attribute -> the labels that the data name with it, ascending.
    pub states: LabelLists<u16>,
    /// Attribute -> the number of tokens it is on as an attribute of bigrams; empty where there is none.
    pub bigram_tokens: Vec<u64>,
    /// Attribute -> the pairs of labels that the data name with it, ascending.
    pub bigrams: LabelLists<[u16; 2]>,
    /// Transitions that are seen, ascending.
    pub transitions: Vec<[u16; 2]>,
    /// Triples that are seen, ascending.
    pub triples: Vec<[u16; 3]>,
    /// Sentences, tokens, attributes of all tokens together.
    pub sizes: [u64; 3],
    /// Whether transitions are features, as `Corpus::transitions`.
    pub has_transitions: bool,
    /// Whether triples are features, as `Corpus::triples`.
    pub has_triples: bool,
    /// Whether every attribute has the value 1.
    pub is_binary: bool,
    /// Whether some tokens have not a single label.
    pub is_partial: bool,
}

impl Counts {
    /// The counts of a part. `order` is 1, or 2 to look at triples of labels. Error: too many labels.
    pub fn new(corpus: &Corpus, order: u8) -> Result<Counts> {
        let n_labels = corpus.labels.len();
        too_many_labels(n_labels, order)?;
        let mut label_tokens = vec![0; n_labels];
        corpus.gold.iter().filter(|&&label| label < FIRST_SET).for_each(|&label| label_tokens[label as usize] += 1);
        let wide = |counts: Vec<u32>| -> Vec<u64> { counts.into_iter().map(u64::from).collect() };
        let mut occurrences = vec![0u32; corpus.attributes.len()];
        corpus.states.ids.iter().for_each(|&attribute| occurrences[attribute as usize] += 1);
        let labels_of = observed_labels(corpus, &occurrences);
        let mut states = LabelLists::default();
        (0..corpus.attributes.len()).for_each(|attribute| states.push(labels_of.of(attribute)));
        let has_bigrams = !corpus.bigrams.ids.is_empty();
        Ok(Counts {
            labels: corpus.labels.to_vec(),
            label_tokens,
            attributes: (*corpus.attributes).clone(),
            tokens: wide(token_counts(corpus, |token| corpus.states.row(token))),
            occurrences: wide(occurrences),
            states,
            bigram_tokens: if has_bigrams {
                wide(token_counts(corpus, |token| corpus.bigrams_of(token)))
            } else {
                vec![]
            },
            bigrams: if has_bigrams { bigram_lists(corpus) } else { LabelLists::default() },
            transitions: transitions(corpus, false, None).into_iter().map(|(from, to)| [from, to]).collect(),
            triples: if order == 2 || corpus.triples { triples(corpus, false) } else { Vec::new() },
            sizes: [corpus.n_sentences(), corpus.n_tokens(), corpus.states.ids.len()].map(|size| size as u64),
            has_transitions: corpus.transitions,
            has_triples: corpus.triples,
            is_binary: corpus.values.is_empty(),
            is_partial: corpus.is_partial(),
        })
    }

    /// Adds the counts of the part that follows. Error: too many labels.
    pub fn join(&mut self, next: &Counts) -> Result<()> {
        let label_map = self.join_labels(next);
        too_many_labels(self.labels.len(), if self.triples.is_empty() && next.triples.is_empty() { 1 } else { 2 })?;
        let map = self.attributes.absorb(&next.attributes);
        let n = self.attributes.len();
        add(&mut self.occurrences, &next.occurrences, &map, n);
        add(&mut self.tokens, &next.tokens, &map, n);
        if !self.bigram_tokens.is_empty() || !next.bigram_tokens.is_empty() {
            add(&mut self.bigram_tokens, &next.bigram_tokens, &map, n);
        }
        let mut of_next = vec![None; n];
        map.iter().enumerate().for_each(|(theirs, &ours)| of_next[ours as usize] = Some(theirs));
        let label = |label: u16| label_map[usize::from(label)];
        self.states = union(&self.states, &next.states, &of_next, label);
        if !self.bigram_tokens.is_empty() {
            self.bigrams = union(&self.bigrams, &next.bigrams, &of_next, |pair: [u16; 2]| pair.map(label));
        }
        self.transitions.extend(next.transitions.iter().map(|pair| pair.map(label)));
        self.triples.extend(next.triples.iter().map(|labels| labels.map(label)));
        sort(&mut self.transitions);
        sort(&mut self.triples);
        self.sizes.iter_mut().zip(next.sizes).for_each(|(size, more)| *size += more);
        self.has_transitions |= next.has_transitions;
        self.has_triples |= next.has_triples;
        self.is_binary &= next.is_binary;
        self.is_partial |= next.is_partial;
        Ok(())
    }

    /// Adds the labels of the part that follows; returns the map from its labels to the labels here.
    fn join_labels(&mut self, next: &Counts) -> Vec<u16> {
        let mut known: HashMap<String, usize> = self.labels.iter().cloned().zip(0..).collect();
        let mut map = Vec::with_capacity(next.labels.len());
        for (name, &tokens) in next.labels.iter().zip(&next.label_tokens) {
            let label = *known.entry(name.clone()).or_insert_with(|| {
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
        let mut packer = Packer::new("counts");
        packer.texts(&self.labels);
        packer.list(&self.label_tokens);
        pack_names(&self.attributes, &mut packer);
        packer.list(&self.occurrences);
        packer.list(&self.tokens);
        pack_lists(&self.states, &mut packer);
        packer.list(&self.bigram_tokens);
        pack_lists(&self.bigrams, &mut packer);
        packer.list(&self.transitions);
        packer.list(&self.triples);
        packer.list(&self.sizes);
        packer.list(&[self.has_transitions, self.has_triples, self.is_binary, self.is_partial].map(u8::from));
        packer.finish()
    }

    /// The counts that were packed. Error: the bytes are damaged.
    pub fn unpack(bytes: &[u8]) -> Result<Counts> {
        let mut unpacker = Unpacker::new("counts", bytes)?;
        let mut counts = Counts {
            labels: unpacker.texts()?,
            label_tokens: unpacker.list()?,
            attributes: unpack_names(&mut unpacker)?,
            occurrences: unpacker.list()?,
            tokens: unpacker.list()?,
            states: unpack_lists(&mut unpacker)?,
            bigram_tokens: unpacker.list()?,
            bigrams: unpack_lists(&mut unpacker)?,
            transitions: unpacker.list()?,
            triples: unpacker.list()?,
            ..Counts::default()
        };
        let (sizes, flags): (Vec<u64>, Vec<u8>) = (unpacker.list()?, unpacker.list()?);
        let is_sound = counts.is_sound() && sizes.len() == 3 && flags.len() == 4;
        unpacker.finish(is_sound)?;
        counts.sizes.copy_from_slice(&sizes);
        let flags = [flags[0] != 0, flags[1] != 0, flags[2] != 0, flags[3] != 0];
        [counts.has_transitions, counts.has_triples, counts.is_binary, counts.is_partial] = flags;
        Ok(counts)
    }

    /// Whether all lists have the lengths they should, and name labels that there are.
    fn is_sound(&self) -> bool {
        let (n, n_labels) = (self.attributes.len(), self.labels.len());
        let known = |label: &u16| usize::from(*label) < n_labels;
        let is_bigram = [0, n].contains(&self.bigram_tokens.len());
        self.label_tokens.len() == n_labels
            && self.occurrences.len() == n
            && self.tokens.len() == n
            && self.states.ends.len() == n
            && is_bigram
            && self.bigrams.ends.len() == self.bigram_tokens.len()
            && self.states.entries.iter().all(known)
            && self.bigrams.entries.iter().flatten().all(known)
            && self.transitions.iter().flatten().all(known)
            && self.triples.iter().flatten().all(known)
    }
}

/// Attribute -> the pairs of labels that the data name with it.
fn bigram_lists(corpus: &Corpus) -> LabelLists<[u16; 2]> {
    let mut seen = vec![Vec::new(); corpus.attributes.len()];
    for sentence in 0..corpus.n_sentences() {
        for token in corpus.tokens(sentence).skip(1) {
            for_each_row(corpus, [token - 1, token], |[from, to]| {
                let pair = [from as u16, to as u16];
                corpus.bigrams_of(token).iter().for_each(|&attribute| seen[attribute as usize].push(pair));
            });
        }
    }
    let mut lists = LabelLists::default();
    for mut pairs in seen {
        sort(&mut pairs);
        lists.push(&pairs);
    }
    lists
}

/// Sorts a list and keeps each entry once.
fn sort<T: Ord>(list: &mut Vec<T>) {
    list.sort_unstable();
    list.dedup();
}

/// Adds the numbers of the part that follows, by its attributes.
fn add(ours: &mut Vec<u64>, theirs: &[u64], map: &[u32], n: usize) {
    ours.resize(n, 0);
    theirs.iter().zip(map).for_each(|(number, &attribute)| ours[attribute as usize] += number);
}

/// The lists of two parts, joined attribute by attribute. `of_next` has the attributes' numbers in the part that follows, and
/// `label` gives its labels the numbers here.
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
        both.extend_from_slice(ours.get(attribute));
        if let Some(theirs) = *theirs {
            both.extend(next.get(theirs).iter().map(|&entry| label(entry)));
            sort(&mut both);
        }
        joined.push(&both);
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
