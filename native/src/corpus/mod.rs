//! Encoded data: sentences of tokens, and tokens of attribute ids, in compressed sparse rows.

pub mod alphabet;
pub mod hash;
pub mod sink;

use crate::corpus::alphabet::Alphabet;
use crate::corpus::sink::Sink;
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Rows of ids of any lengths, one after the other.
#[derive(Clone, Default)]
pub struct Rows {
    /// Row -> its end in `ids`.
    pub ends: Vec<usize>,
    pub ids: Vec<u32>,
}

impl Rows {
    /// The range of a row in `ids`.
    pub fn range(&self, row: usize) -> Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        start..self.ends[row]
    }

    /// The ids of a row.
    pub fn row(&self, row: usize) -> &[u32] {
        &self.ids[self.range(row)]
    }

    /// Ends the current row after the last id.
    pub fn end_row(&mut self) {
        self.ends.push(self.ids.len());
    }

    /// Appends the rows of another collection, whose ids `map` translates.
    fn append(&mut self, other: Rows, map: &[u32]) {
        let base = self.ids.len();
        self.ends.extend(other.ends.iter().map(|end| base + end));
        self.ids.par_extend(other.ids.into_par_iter().map(|id| map[id as usize]));
    }
}

/// Encoded sentences. A subset shares the names, which sit behind `Arc`, and copies its ids alone.
#[derive(Clone)]
pub struct Corpus {
    pub attributes: Arc<Alphabet>,
    /// Names of the labels, the most frequent first, ties in byte order; empty if the data has no labels.
    pub labels: Arc<Vec<String>>,
    /// Sentence -> its last token plus one.
    pub sentence_ends: Vec<usize>,
    /// Token -> state attributes.
    pub states: Rows,
    /// Entry of `states` -> value; empty if all are 1.
    pub values: Vec<f64>,
    /// Token -> bigram attributes; empty if there are none.
    pub bigrams: Rows,
    /// Token -> label; empty if the data has no labels.
    pub gold: Vec<u32>,
    /// Sentence -> weight; empty if all are 1.
    pub weights: Vec<f64>,
    /// Whether label bigrams are features: always, except with a template that has no `B` line.
    pub transitions: bool,
    /// Whether the template asks for triples of labels.
    pub triples: bool,
    /// Whether the data has labels, also if there is no token.
    pub labelled: bool,
}

impl Corpus {
    /// Number of sentences.
    pub fn n_sentences(&self) -> usize {
        self.sentence_ends.len()
    }

    /// Number of tokens.
    pub fn n_tokens(&self) -> usize {
        self.states.ends.len()
    }

    /// The tokens of a sentence.
    pub fn tokens(&self, sentence: usize) -> Range<usize> {
        let start = if sentence == 0 { 0 } else { self.sentence_ends[sentence - 1] };
        start..self.sentence_ends[sentence]
    }

    /// The weight of a sentence.
    pub fn weight(&self, sentence: usize) -> f64 {
        self.weights.get(sentence).copied().unwrap_or(1.0)
    }

    /// Bytes of memory taken by the encoded data.
    pub fn n_bytes(&self) -> usize {
        let rows = |rows: &Rows| size_of_val(rows.ids.as_slice()) + size_of_val(rows.ends.as_slice());
        self.attributes.n_bytes()
            + rows(&self.states)
            + rows(&self.bigrams)
            + size_of_val(self.values.as_slice())
            + size_of_val(self.gold.as_slice())
            + size_of_val(self.sentence_ends.as_slice())
    }

    /// The bigram attributes of a token.
    pub fn bigrams_of(&self, token: usize) -> &[u32] {
        if self.bigrams.ids.is_empty() { &[] } else { self.bigrams.row(token) }
    }

    /// The value of entry `at` of `states`.
    #[inline(always)]
    pub fn value(&self, at: usize) -> f64 {
        if self.values.is_empty() { 1.0 } else { self.values[at] }
    }

    /// A corpus whose sentence i is sentence `sentences[i]` of this one.
    pub fn select(&self, sentences: &[usize]) -> Result<Corpus> {
        let mut chosen = Corpus {
            attributes: Arc::clone(&self.attributes),
            labels: Arc::clone(&self.labels),
            transitions: self.transitions,
            triples: self.triples,
            labelled: self.labelled,
            ..Corpus::empty()
        };
        for &sentence in sentences {
            if sentence >= self.n_sentences() {
                let n = self.n_sentences();
                return Err(Error::Data(format!("sentence {sentence} of a corpus of {n}")));
            }
            for token in self.tokens(sentence) {
                let range = self.states.range(token);
                chosen.states.ids.extend_from_slice(&self.states.ids[range.clone()]);
                chosen.states.end_row();
                if !self.values.is_empty() {
                    chosen.values.extend_from_slice(&self.values[range]);
                }
                if !self.bigrams.ids.is_empty() {
                    chosen.bigrams.ids.extend_from_slice(self.bigrams.row(token));
                    chosen.bigrams.end_row();
                }
                chosen.gold.extend(self.gold.get(token));
            }
            chosen.sentence_ends.push(chosen.states.ends.len());
            chosen.weights.extend(self.weights.get(sentence));
        }
        Ok(chosen)
    }

    /// Sentences of one token each, without attributes.
    pub fn of_samples(labels: Vec<String>, gold: Vec<u32>, weights: Vec<f64>) -> Corpus {
        let n = gold.len();
        Corpus {
            labels: Arc::new(labels),
            sentence_ends: (1..=n).collect(),
            states: Rows { ends: vec![0; n], ids: Vec::new() },
            gold,
            weights,
            transitions: false,
            labelled: true,
            ..Corpus::empty()
        }
    }

    /// Sentences whose tokens are the rows of a matrix: attributes are its columns, `states` and `values` its entries. `labels`
    /// are the names of the labels, and the label of each row.
    pub fn of_matrix(
        attributes: Alphabet,
        labels: Option<(Vec<String>, Vec<u32>)>,
        sentence_ends: Vec<usize>,
        states: Rows,
        values: Vec<f64>,
    ) -> Result<Corpus> {
        let n = states.ends.len();
        let ordered = |ends: &[usize], last: usize| {
            ends.windows(2).all(|pair| pair[0] <= pair[1]) && ends.last().copied().unwrap_or(0) == last
        };
        if !ordered(&states.ends, states.ids.len()) || states.ids.len() != values.len() {
            return Err(Error::Data("the sparse matrix is damaged: its row ends and entries do not fit".into()));
        }
        if let Some(id) = states.ids.iter().find(|&&id| id as usize >= attributes.len()) {
            return Err(Error::Data(format!("the sparse matrix is damaged: column {id} of {}", attributes.len())));
        }
        if !ordered(&sentence_ends, n) {
            return Err(Error::Data(format!("the lengths of the sentences do not add up to the {n} rows of X")));
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let (row, column) = (states.ends.partition_point(|&end| end <= at), states.ids[at]);
            return Err(Error::Data(format!("row {row}, column {column}: {} is not a finite value", values[at])));
        }
        let labelled = labels.is_some();
        let (labels, gold) = labels.unwrap_or_default();
        if labelled && (gold.len() != n || gold.iter().any(|&label| label as usize >= labels.len())) {
            return Err(Error::Data(format!("{} labels for {n} rows", gold.len())));
        }
        let values = if values.iter().all(|&value| value == 1.0) { Vec::new() } else { values };
        let (attributes, labels) = (Arc::new(attributes), Arc::new(labels));
        Ok(Corpus { attributes, labels, sentence_ends, states, values, gold, labelled, ..Corpus::empty() })
    }

    /// No sentences.
    fn empty() -> Corpus {
        Corpus {
            attributes: Arc::default(),
            labels: Arc::default(),
            sentence_ends: Vec::new(),
            states: Rows::default(),
            values: Vec::new(),
            bigrams: Rows::default(),
            gold: Vec::new(),
            weights: Vec::new(),
            transitions: true,
            triples: false,
            labelled: false,
        }
    }

    /// The corpus of consecutive pieces.
    pub fn assemble(pieces: Vec<Builder>) -> Corpus {
        let mut assembly = Assembly::default();
        pieces.into_iter().for_each(|piece| assembly.push(piece));
        assembly.finish()
    }

    /// Renumbers the labels: the most frequent first, weights not counted. The labels that occur with an attribute then mostly
    /// have low numbers.
    fn sort_labels(&mut self, labels: Labels) {
        let mut counts = vec![0usize; labels.names.len()];
        self.gold.iter().for_each(|&label| counts[label as usize] += 1);
        let mut sorted: Vec<u32> = (0..labels.names.len() as u32).collect();
        sorted.sort_by_key(|&label| (Reverse(counts[label as usize]), &labels.names[label as usize]));
        let mut rank = vec![0; sorted.len()];
        for (new, &old) in sorted.iter().enumerate() {
            rank[old as usize] = new as u32;
        }
        self.gold.par_iter_mut().for_each(|label| *label = rank[*label as usize]);
        let name = |&old: &u32| String::from_utf8_lossy(&labels.names[old as usize]).into_owned();
        self.labels = Arc::new(sorted.iter().map(name).collect());
    }
}

/// Labels, numbered as they first appear.
#[derive(Default)]
struct Labels {
    /// Id -> name.
    names: Vec<Vec<u8>>,
    /// Name -> id.
    ids: HashMap<Vec<u8>, u32>,
    /// The id asked for last, which is often the next one, too.
    last: u32,
}

impl Labels {
    /// The id of a name, which is inserted if it is new.
    fn intern(&mut self, name: &[u8]) -> u32 {
        if self.names.get(self.last as usize).is_some_and(|last| last == name) {
            return self.last;
        }
        self.last = match self.ids.get(name) {
            Some(&id) => id,
            None => {
                let id = self.names.len() as u32;
                self.names.push(name.to_vec());
                self.ids.insert(name.to_vec(), id);
                id
            }
        };
        self.last
    }
}

/// Joins pieces that were encoded separately, first piece first. Ids are the same as if all had been one piece.
#[derive(Default)]
pub struct Assembly {
    attributes: Alphabet,
    labels: Labels,
    /// The sentences of all pieces so far, with the ids of this assembly.
    joined: Builder,
}

impl Assembly {
    /// Appends a piece.
    pub fn push(&mut self, mut piece: Builder) {
        let attributes = std::mem::take(&mut piece.attributes);
        let map: Vec<u32> = if self.attributes.is_empty() {
            // The ids of the first piece are the ids of the assembly.
            self.attributes = attributes;
            (0..self.attributes.len() as u32).collect()
        } else {
            self.attributes.absorb(&attributes)
        };
        let label_map: Vec<u32> = piece.labels.names.iter().map(|name| self.labels.intern(name)).collect();
        let joined = &mut self.joined;
        join_sparse(&mut joined.values, joined.states.ids.len(), piece.values, piece.states.ids.len());
        join_sparse(&mut joined.weights, joined.sentence_ends.len(), piece.weights, piece.sentence_ends.len());
        let tokens = joined.states.ends.len();
        joined.sentence_ends.extend(piece.sentence_ends.iter().map(|end| tokens + end));
        joined.states.append(piece.states, &map);
        joined.bigrams.append(piece.bigrams, &map);
        joined.gold.extend(piece.gold.iter().map(|&label| label_map[label as usize]));
    }

    /// The corpus of all pieces.
    pub fn finish(self) -> Corpus {
        let Assembly { mut attributes, labels, mut joined } = self;
        attributes.shrink();
        joined.states.ids.shrink_to_fit();
        joined.values.shrink_to_fit();
        let mut corpus = Corpus {
            attributes: Arc::new(attributes),
            sentence_ends: joined.sentence_ends,
            states: joined.states,
            values: joined.values,
            bigrams: if joined.bigrams.ids.is_empty() { Rows::default() } else { joined.bigrams },
            gold: joined.gold,
            weights: joined.weights,
            labelled: !labels.names.is_empty(),
            ..Corpus::empty()
        };
        corpus.sort_labels(labels);
        corpus
    }
}

/// Appends `more`, which stands for `more_count` numbers, to `all`, which stands for `count`. A vector is empty while all its
/// numbers are 1.
fn join_sparse(all: &mut Vec<f64>, count: usize, mut more: Vec<f64>, more_count: usize) {
    if !all.is_empty() || !more.is_empty() {
        all.resize(count, 1.0);
        more.resize(more_count, 1.0);
        all.append(&mut more);
    }
}

/// Encodes a piece of a text. Every piece numbers its attributes and labels separately, until `Assembly` joins the pieces.
#[derive(Default)]
pub struct Builder {
    attributes: Alphabet,
    labels: Labels,
    sentence_ends: Vec<usize>,
    states: Rows,
    values: Vec<f64>,
    bigrams: Rows,
    gold: Vec<u32>,
    weights: Vec<f64>,
}

impl Sink for Builder {
    #[inline(always)]
    fn state(&mut self, key: u64, value: f64, write: impl FnOnce(&mut Vec<u8>)) {
        let id = self.attributes.intern(key, write);
        if value != 1.0 || !self.values.is_empty() {
            self.values.resize(self.states.ids.len(), 1.0);
            self.values.push(value);
        }
        self.states.ids.push(id);
    }

    fn bigram(&mut self, key: u64, write: impl FnOnce(&mut Vec<u8>)) {
        let id = self.attributes.intern(key, write);
        self.bigrams.ids.push(id);
    }

    fn end_token(&mut self, label: Option<&[u8]>) {
        self.states.end_row();
        self.bigrams.end_row();
        if let Some(label) = label {
            let id = self.labels.intern(label);
            self.gold.push(id);
        }
    }

    fn end_sentence(&mut self, weight: f64) {
        if weight != 1.0 || !self.weights.is_empty() {
            self.weights.resize(self.sentence_ends.len(), 1.0);
            self.weights.push(weight);
        }
        self.sentence_ends.push(self.states.ends.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::hash::key_of;

    fn build(sentences: &[&[(&str, &str, f64)]]) -> Builder {
        let mut builder = Builder::default();
        for sentence in sentences {
            for (attribute, label, value) in *sentence {
                let name = attribute.as_bytes();
                builder.state(key_of(name), *value, |out| out.extend_from_slice(name));
                builder.end_token(Some(label.as_bytes()));
            }
            builder.end_sentence(1.0);
        }
        builder
    }

    #[test]
    fn pieces_assemble_to_what_one_piece_gives() {
        let a: &[(&str, &str, f64)] = &[("x", "N", 1.0), ("y", "V", 1.0)];
        let b: &[(&str, &str, f64)] = &[("y", "A", 0.5), ("z", "N", 1.0)];
        let one = Corpus::assemble(vec![build(&[a, b])]);
        let two = Corpus::assemble(vec![build(&[a]), build(&[]), build(&[b])]);
        for corpus in [&one, &two] {
            assert_eq!(corpus.states.ids, [0, 1, 1, 2]);
            assert_eq!(corpus.values, [1.0, 1.0, 0.5, 1.0]);
            assert_eq!(*corpus.labels, ["N", "A", "V"]);
            assert_eq!(corpus.gold, [0, 2, 1, 0]);
            assert_eq!(corpus.sentence_ends, [2, 4]);
            assert_eq!(corpus.attributes.text(2), b"z");
        }
        let second = one.select(&[1]).unwrap();
        assert_eq!((second.states.ids.as_slice(), second.gold.as_slice()), ([1, 2].as_slice(), [1, 0].as_slice()));
        assert!(one.select(&[2]).is_err());
    }
}
