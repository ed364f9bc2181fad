//! The making of a corpus: threads encode pieces of a text, which are then joined.

use crate::corpus::alphabet::Alphabet;
use crate::corpus::sink::Sink;
use crate::corpus::{Corpus, Rows};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

impl Corpus {
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
