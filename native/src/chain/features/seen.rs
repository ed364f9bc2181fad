//! What is seen in a corpus: the labels that the data name for tokens in a row, and the attributes with their labels. A token with a
//! single label names it, a token whose label is one of several names each, and an unknown label names none.

use crate::corpus::Corpus;
use crate::numeric::store::Soon;
use std::ops::Range;

/// All pairs of labels (from, to), ascending.
pub fn pairs_of(n_labels: usize) -> impl Iterator<Item = (u16, u16)> {
    let n = n_labels as u16;
    (0..n).flat_map(move |from| (0..n).map(move |to| (from, to)))
}

/// Calls `each` with every row of labels that the data name for tokens in a row: one row if each token has a single label.
#[inline(always)]
pub(super) fn for_each_row<const N: usize>(corpus: &Corpus, tokens: [usize; N], mut each: impl FnMut([usize; N])) {
    let named = tokens.map(|token| corpus.named_labels(token));
    let count: usize = named.iter().map(|labels| labels.len()).product();
    for number in 0..count {
        let mut rest = number;
        each(named.map(|labels| {
            let label = labels[rest % labels.len()];
            rest /= labels.len();
            label as usize
        }));
    }
}

/// The transitions that are features: those that are seen, or all, whose occurrences, times the weights of their sentences, add up to
/// `min_sum` or more.
pub(super) fn transitions(corpus: &Corpus, all: bool, min_sum: Option<f64>) -> Vec<(u16, u16)> {
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
    let kept = |sum: f64| min_sum.is_none_or(|least| sum >= least);
    pairs_of(n_labels).zip(sums).filter_map(|(pair, sum)| sum.is_some_and(kept).then_some(pair)).collect()
}

/// The triples that are features. A corpus without transitions has triples only if its template asks for them.
pub(super) fn triples(corpus: &Corpus, all: bool) -> Vec<[u16; 3]> {
    if !corpus.transitions && !corpus.triples {
        return Vec::new();
    }
    let n = corpus.labels.len();
    let mut seen = vec![all; n * n * n];
    for sentence in corpus.sweep() {
        for token in corpus.tokens(sentence).skip(2) {
            for_each_row(corpus, [token - 2, token - 1, token], |[a, b, c]| seen[(a * n + b) * n + c] = true);
        }
    }
    let labels = |at: usize| [at / (n * n), at / n % n, at % n].map(|label| label as u16);
    (0..seen.len()).filter(|&at| seen[at]).map(labels).collect()
}

/// Attribute -> the number of tokens it is on.
pub(super) fn token_counts<'c>(corpus: &'c Corpus, attributes_of: impl Fn(usize) -> &'c [u32]) -> Vec<u32> {
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

/// A first pass over the corpus: of each attribute its occurrences, its tokens, its first and its last block.
pub struct Seen {
    pub counts: Vec<u32>,
    pub tokens: Vec<u32>,
    pub first: Vec<u16>,
    pub last: Vec<u16>,
}

impl Seen {
    pub fn new(corpus: &Corpus, blocks: &[Range<usize>], min_count: u32) -> Seen {
        let n = corpus.attributes.len();
        let mut seen = Seen { counts: vec![0; n], tokens: Vec::new(), first: vec![0; n], last: vec![0; n] };
        for (block, sentences) in blocks.iter().enumerate() {
            for sentence in sentences.clone() {
                for token in corpus.tokens(sentence) {
                    for &attribute in corpus.states.row(token) {
                        let attribute = attribute as usize;
                        if seen.counts[attribute] == 0 {
                            seen.first[attribute] = block as u16;
                        }
                        seen.last[attribute] = block as u16;
                        seen.counts[attribute] = seen.counts[attribute].saturating_add(1);
                    }
                }
            }
            corpus.advise(sentences.clone(), Soon::Unwanted);
        }
        // Tokens are counted apart from occurrences only where a bound on their number has an effect.
        seen.tokens =
            if min_count > 1 { token_counts(corpus, |token| corpus.states.row(token)) } else { seen.counts.clone() };
        seen
    }
}

/// Attribute -> the labels that the data name for its tokens, sorted.
pub struct ObservedLabels {
    starts: Vec<usize>,
    lengths: Vec<u16>,
    labels: Vec<u16>,
}

impl ObservedLabels {
    /// These lists of labels, attribute by attribute.
    pub fn given<'l>(lists: impl Iterator<Item = &'l [u16]>) -> ObservedLabels {
        let mut given = ObservedLabels { starts: Vec::new(), lengths: Vec::new(), labels: Vec::new() };
        for list in lists {
            given.starts.push(given.labels.len());
            given.lengths.push(list.len() as u16);
            given.labels.extend_from_slice(list);
        }
        given
    }

    pub fn of(&self, attribute: usize) -> &[u16] {
        &self.labels[self.starts[attribute]..][..usize::from(self.lengths[attribute])]
    }
}

/// The labels named with every attribute, which occurs `occurrences` times.
///
/// Memory: that of the labels found, and in between for each attribute a list of its occurrences' labels or a set with a bit for
/// each label, whichever is smaller.
pub(super) fn observed_labels(corpus: &Corpus, occurrences: &[u32]) -> ObservedLabels {
    const BITS: usize = 16;
    let set = corpus.labels.len().div_ceil(BITS);
    let is_partial = corpus.is_partial();
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
    let mut found = vec![0u16; ends.last().copied().unwrap_or(0)];
    // Of each list, how many labels it has.
    let mut filled = vec![0u16; occurrences.len()];
    for token in corpus.sweep().flat_map(|sentence| corpus.tokens(sentence)) {
        let named = corpus.named_labels(token);
        for &attribute in corpus.states.row(token) {
            let (attribute, count) = (attribute as usize, occurrences[attribute as usize]);
            let start = ends[attribute] - room(count);
            for &label in named {
                if is_list(count) {
                    found[start + usize::from(filled[attribute])] = label as u16;
                    filled[attribute] += 1;
                } else {
                    found[start + label as usize / BITS] |= 1 << (label as usize % BITS);
                }
            }
        }
    }
    let mut observed = ObservedLabels { starts: Vec::new(), lengths: Vec::new(), labels: Vec::new() };
    for (attribute, &count) in occurrences.iter().enumerate() {
        let first = observed.labels.len();
        let some = &mut found[ends[attribute] - room(count)..ends[attribute]];
        if is_list(count) {
            some.sort_unstable();
            let chunks = some.chunk_by(|a, b| a == b).map(|same| same[0]);
            observed.labels.extend(chunks);
        } else {
            let labels = (0..some.len() * BITS).filter(|&label| some[label / BITS] >> (label % BITS) & 1 > 0);
            observed.labels.extend(labels.map(|label| label as u16));
        }
        observed.starts.push(first);
        observed.lengths.push((observed.labels.len() - first) as u16);
    }
    observed
}

/// The labels of every attribute with which its values, times the weights of their sentences, add up to `least` or more: among
/// the labels seen with it, or among all labels, for all labels of attributes that occur. Each token has a single label.
pub(super) fn labels_by_sum(corpus: &Corpus, seen: ObservedLabels, least: f64, all: bool) -> ObservedLabels {
    let is_plain = corpus.values.iter().all(|&value| value >= 0.0);
    if least <= 0.0 && is_plain && !all {
        return seen;
    }
    let mut sums = vec![0.0; seen.labels.len()];
    for sentence in corpus.sweep() {
        for token in corpus.tokens(sentence) {
            let label = corpus.gold[token] as u16;
            for at in corpus.states.range(token) {
                let attribute = corpus.states.ids[at] as usize;
                let place =
                    seen.of(attribute).binary_search(&label).expect("the label has been seen with the attribute");
                sums[seen.starts[attribute] + place] += corpus.value(at) * corpus.weight(sentence);
            }
        }
    }
    let mut kept = ObservedLabels { starts: Vec::new(), lengths: Vec::new(), labels: Vec::new() };
    for (attribute, &start) in seen.starts.iter().enumerate() {
        let (labels, first) = (seen.of(attribute), kept.labels.len());
        let sum_of = |label: u16| labels.binary_search(&label).map_or(0.0, |place| sums[start + place]);
        if all && !labels.is_empty() {
            kept.labels.extend((0..corpus.labels.len() as u16).filter(|&label| sum_of(label) >= least));
        } else {
            kept.labels.extend(labels.iter().filter(|&&label| sum_of(label) >= least));
        }
        kept.starts.push(first);
        kept.lengths.push((kept.labels.len() - first) as u16);
    }
    kept
}
