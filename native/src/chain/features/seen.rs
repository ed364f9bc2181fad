//! What is seen in a corpus: the labels that the data name for tokens in a row, and the attributes with their labels. A token with a
//! single label names it, a token whose label is one of several names each, and an unknown label names none.

use crate::corpus::Corpus;
use rayon::prelude::*;
use std::ops::Range;

/// Occurrences of bigram attributes that are collected before repetitions are left out.
const FEW_PAIRS: usize = 4_000_000;

/// The number of sentences that 32 bits do not count; attributes that occur there are taken to occur in several blocks.
const BEYOND: u32 = u32::MAX;

/// What is seen in labelled data: all that decides which features they have.
#[derive(Clone, Default)]
pub struct Seen {
    /// Whether transitions are features, as `Corpus::transitions`.
    pub has_transitions: bool,
    /// Whether the template requests triples, as `Corpus::triples`.
    pub has_triples: bool,
    /// Transitions that are seen, ascending.
    pub transitions: Vec<[u16; 2]>,
    /// Triples that are seen, ascending; none if only transitions are collected.
    pub triples: Vec<[u16; 3]>,
    pub states: Occurrences,
    /// State attribute -> the labels that the data have with it, ascending.
    pub labels: LabelLists<u16>,
    /// Attribute -> the number of tokens it is on as a bigram attribute; empty without bigram attributes.
    pub bigram_tokens: Vec<u32>,
    /// Bigram attribute -> the pairs of labels that the data have with it, ascending; empty without bigram attributes.
    pub bigrams: LabelLists<[u16; 2]>,
}

impl Seen {
    /// What is seen in a corpus; with order 1 triples are collected only if the template requests them. Tokens are counted apart
    /// from occurrences if there is a bound on their number.
    pub fn of(corpus: &Corpus, order: u8, min_count: u32) -> Seen {
        let states = Occurrences::new(corpus, min_count);
        let labels = observed_labels(corpus, &states.counts);
        let has_bigrams = !corpus.bigrams.ids.is_empty();
        let of_bigrams = |token| corpus.bigrams_of(token);
        Seen {
            has_transitions: corpus.transitions,
            has_triples: corpus.triples,
            transitions: transitions(corpus, false, None),
            triples: if order == 2 || corpus.triples { triples(corpus) } else { Vec::new() },
            states,
            labels,
            bigram_tokens: if has_bigrams { token_counts(corpus, of_bigrams) } else { Vec::new() },
            bigrams: if has_bigrams { bigrams(corpus) } else { LabelLists::default() },
        }
    }

    /// The number of labels, or pairs of labels, and of links between them that inference goes through for a token.
    pub fn n_steps(&self, n_labels: usize) -> usize {
        match self.triples.len() {
            0 => n_labels + self.transitions.len(),
            n_triples => n_labels * n_labels + n_triples,
        }
    }

    /// Leaves out the transitions, and the labels of attributes, whose occurrences and values, times the weights of the sentences,
    /// add up to less than `least`. Those that are not seen add up to 0, and count only where all states or pairs are wanted.
    pub fn bound(&mut self, corpus: &Corpus, least: f64, all_states: bool, all_pairs: bool) {
        self.transitions = transitions(corpus, all_pairs, Some(least));
        self.labels = labels_by_sum(corpus, std::mem::take(&mut self.labels), least, all_states);
    }
}

/// Lists of labels or of pairs of labels, of any lengths, one after the other.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct LabelLists<T> {
    pub ends: Vec<u64>,
    pub entries: Vec<T>,
}

impl<T: Copy> LabelLists<T> {
    /// The range of a list in `entries`.
    pub fn range(&self, at: usize) -> Range<usize> {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        start..self.ends[at] as usize
    }

    /// The list with this number.
    pub fn get(&self, at: usize) -> &[T] {
        &self.entries[self.range(at)]
    }

    /// Ends a list with the last of the entries.
    pub fn end(&mut self) {
        self.ends.push(self.entries.len() as u64);
    }

    /// Appends a list.
    pub fn push(&mut self, list: impl IntoIterator<Item = T>) {
        self.entries.extend(list);
        self.end();
    }
}

/// All pairs of labels (from, to), ascending.
pub fn pairs_of(n_labels: usize) -> impl Iterator<Item = [u16; 2]> {
    let n = n_labels as u16;
    (0..n).flat_map(move |from| (0..n).map(move |to| [from, to]))
}

/// Calls `on_row` with every row of labels that the data allow for consecutive tokens: one row if each token has a single label.
#[inline(always)]
fn for_each_row<const N: usize>(corpus: &Corpus, tokens: [usize; N], mut on_row: impl FnMut([usize; N])) {
    let named = tokens.map(|token| corpus.named_labels(token));
    let count: usize = named.iter().map(|labels| labels.len()).product();
    for number in 0..count {
        let mut quotient = number;
        on_row(named.map(|labels| {
            let label = labels[quotient % labels.len()];
            quotient /= labels.len();
            label as usize
        }));
    }
}

/// The transitions that are seen, or all, whose occurrences, times the weights of their sentences, add up to `least` or more.
fn transitions(corpus: &Corpus, all: bool, least: Option<f64>) -> Vec<[u16; 2]> {
    if !corpus.transitions {
        return Vec::new();
    }
    let n_labels = corpus.labels.len();
    // None for what is not seen.
    let mut sums = vec![all.then_some(0.0); n_labels * n_labels];
    for sentence in corpus.sweep() {
        let weight = corpus.weight(sentence);
        for token in corpus.tokens(sentence).skip(1) {
            for_each_row(corpus, [token - 1, token], |[from, to]| {
                *sums[from * n_labels + to].get_or_insert(0.0) += weight;
            });
        }
    }
    let is_frequent = |sum: f64| least.is_none_or(|least| sum >= least);
    pairs_of(n_labels).zip(sums).filter_map(|(pair, sum)| sum.is_some_and(is_frequent).then_some(pair)).collect()
}

/// The triples that are seen. A corpus without transitions has triples only if its template requests them.
fn triples(corpus: &Corpus) -> Vec<[u16; 3]> {
    if !corpus.transitions && !corpus.triples {
        return Vec::new();
    }
    let n = corpus.labels.len();
    let mut seen = vec![false; n * n * n];
    for sentence in corpus.sweep() {
        for token in corpus.tokens(sentence).skip(2) {
            for_each_row(corpus, [token - 2, token - 1, token], |[a, b, c]| seen[(a * n + b) * n + c] = true);
        }
    }
    let labels = |at: usize| [at / (n * n), at / n % n, at % n].map(|label| label as u16);
    (0..seen.len()).filter(|&at| seen[at]).map(labels).collect()
}

/// Attribute -> the number of tokens it is on.
fn token_counts<'c>(corpus: &'c Corpus, attributes_of: impl Fn(usize) -> &'c [u32]) -> Vec<u32> {
    let mut counts = vec![0u32; corpus.attributes.len()];
    let mut last = vec![usize::MAX; corpus.attributes.len()];
    for token in corpus.sweep().flat_map(|sentence| corpus.tokens(sentence)) {
        for &attribute in attributes_of(token) {
            let attribute = attribute as usize;
            counts[attribute] = counts[attribute].saturating_add(u32::from(last[attribute] != token));
            last[attribute] = token;
        }
    }
    counts
}

/// Bigram attribute -> the pairs of labels that the data have with it, ascending.
fn bigrams(corpus: &Corpus) -> LabelLists<[u16; 2]> {
    let (mut seen, mut most) = (Vec::new(), FEW_PAIRS);
    for sentence in corpus.sweep() {
        for token in corpus.tokens(sentence).skip(1) {
            for_each_row(corpus, [token - 1, token], |[from, to]| {
                let pair = [from as u16, to as u16];
                seen.extend(corpus.bigrams_of(token).iter().map(|&attribute| (attribute, pair)));
            });
        }
        // Repetitions are removed now and then, so that memory stays proportional to the features.
        if seen.len() > most {
            seen.par_sort_unstable();
            seen.dedup();
            most = FEW_PAIRS.max(2 * seen.len());
        }
    }
    seen.par_sort_unstable();
    seen.dedup();
    let mut lists = LabelLists { ends: Vec::with_capacity(corpus.attributes.len()), entries: Vec::new() };
    let mut pairs = seen.into_iter().peekable();
    for attribute in 0..corpus.attributes.len() as u32 {
        lists.push(std::iter::from_fn(|| pairs.next_if(|pair| pair.0 == attribute)).map(|(_, pair)| pair));
    }
    lists
}

/// For each state attribute: its occurrences, its tokens, its first and its last sentence.
#[derive(Clone, Default)]
pub struct Occurrences {
    /// Attribute -> how often it occurs.
    pub counts: Vec<u32>,
    /// Attribute -> the number of tokens it is on.
    pub tokens: Vec<u32>,
    /// Attribute -> the first sentence that it occurs in; empty where blocks do not matter.
    first: Vec<u32>,
    last: Vec<u32>,
}

impl Occurrences {
    /// The numbers of attributes without sentences.
    pub fn without_sentences(counts: Vec<u32>, tokens: Vec<u32>) -> Occurrences {
        Occurrences { counts, tokens, ..Occurrences::default() }
    }

    /// The same occurrences, on other numbers of tokens.
    pub fn on_tokens(self, tokens: Vec<u32>) -> Occurrences {
        Occurrences { tokens, ..self }
    }

    /// A pass over the corpus, and a second one to count tokens where a bound on their number has an effect; without it, they
    /// are as many as the occurrences.
    pub fn new(corpus: &Corpus, min_count: u32) -> Occurrences {
        let n = corpus.attributes.len();
        let (mut counts, mut first, mut last) = (vec![0u32; n], vec![0; n], vec![0; n]);
        for sentence in corpus.sweep() {
            let number = u32::try_from(sentence).unwrap_or(BEYOND);
            for token in corpus.tokens(sentence) {
                for &attribute in corpus.states.row(token) {
                    let attribute = attribute as usize;
                    if counts[attribute] == 0 {
                        first[attribute] = number;
                    }
                    last[attribute] = number;
                    counts[attribute] = counts[attribute].saturating_add(1);
                }
            }
        }
        let tokens =
            if min_count > 1 { token_counts(corpus, |token| corpus.states.row(token)) } else { counts.clone() };
        Occurrences { counts, tokens, first, last }
    }

    /// The only block of these that an attribute occurs in, if there is one.
    pub fn block(&self, attribute: usize, blocks: &[Range<usize>]) -> Option<usize> {
        let (&first, &last) = (self.first.get(attribute)?, self.last.get(attribute)?);
        let block = blocks.partition_point(|sentences| sentences.end <= first as usize);
        let is_within = last != BEYOND && blocks.get(block)?.contains(&(last as usize));
        (is_within || blocks.len() == 1).then_some(block)
    }
}

/// The labels named with every attribute, which occurs `occurrences` times.
///
/// Memory: the labels found, and meanwhile for each attribute a list of its occurrences' labels or a set with a bit for
/// each label, whichever is smaller.
fn observed_labels(corpus: &Corpus, occurrences: &[u32]) -> LabelLists<u16> {
    const BITS: usize = 16;
    let set = corpus.labels.len().div_ceil(BITS);
    let is_partial = corpus.first_partial().is_some();
    // An occurrence on a token with a single label names one; on other tokens it may name several.
    let is_list = |count: u32| !is_partial && (count as usize) < set;
    let room = |count: u32| {
        if count == 0 {
            0
        } else if is_list(count) {
            count as usize
        } else {
            set
        }
    };
    let ends: Vec<usize> = occurrences
        .iter()
        .scan(0, |end, &count| {
            *end += room(count);
            Some(*end)
        })
        .collect();
    let mut lists = vec![0u16; ends.last().copied().unwrap_or(0)];
    // Of each list, how many labels it has.
    let mut filled = vec![0u16; occurrences.len()];
    for token in corpus.sweep().flat_map(|sentence| corpus.tokens(sentence)) {
        let named = corpus.named_labels(token);
        for &attribute in corpus.states.row(token) {
            let (attribute, count) = (attribute as usize, occurrences[attribute as usize]);
            let start = ends[attribute] - room(count);
            for &label in named {
                if is_list(count) {
                    lists[start + usize::from(filled[attribute])] = label as u16;
                    filled[attribute] += 1;
                } else {
                    lists[start + label as usize / BITS] |= 1 << (label as usize % BITS);
                }
            }
        }
    }
    let mut observed = LabelLists { ends: Vec::with_capacity(occurrences.len()), entries: Vec::new() };
    for (attribute, &count) in occurrences.iter().enumerate() {
        let some = &mut lists[ends[attribute] - room(count)..ends[attribute]];
        if is_list(count) {
            some.sort_unstable();
            observed.push(some.chunk_by(|a, b| a == b).map(|same| same[0]));
        } else {
            let labels = (0..some.len() * BITS).filter(|&label| some[label / BITS] >> (label % BITS) & 1 > 0);
            observed.push(labels.map(|label| label as u16));
        }
    }
    observed
}

/// The labels of every attribute with which its values, times the weights of their sentences, add up to `least` or more: among
/// the labels seen with it, or among all labels, for all labels of attributes that occur. Each token has a single label.
fn labels_by_sum(corpus: &Corpus, seen: LabelLists<u16>, least: f64, all: bool) -> LabelLists<u16> {
    let is_plain = corpus.values.iter().all(|&value| value >= 0.0);
    if least <= 0.0 && is_plain && !all {
        return seen;
    }
    let mut sums = vec![0.0; seen.entries.len()];
    for sentence in corpus.sweep() {
        for token in corpus.tokens(sentence) {
            let label = corpus.gold[token] as u16;
            for at in corpus.states.range(token) {
                let attribute = corpus.states.ids[at] as usize;
                let place =
                    seen.get(attribute).binary_search(&label).expect("the label has been seen with the attribute");
                sums[seen.range(attribute).start + place] += corpus.value(at) * corpus.weight(sentence);
            }
        }
    }
    let mut frequent = LabelLists::default();
    for attribute in 0..seen.ends.len() {
        let (labels, sums) = (seen.get(attribute), &sums[seen.range(attribute)]);
        let is_frequent = |label: &u16| labels.binary_search(label).map_or(0.0, |place| sums[place]) >= least;
        if all && !labels.is_empty() {
            frequent.push((0..corpus.labels.len() as u16).filter(is_frequent));
        } else {
            frequent.push(labels.iter().copied().filter(is_frequent));
        }
    }
    frequent
}
