//! Assembles a corpus: threads encode pieces of a text, which are then joined.

use crate::corpus::alphabet::Alphabet;
use crate::corpus::counting::Kept;
use crate::corpus::labels::{LabelSets, Labels, by_frequency, renumbered};
use crate::corpus::notes::Notes;
use crate::corpus::sink::{Gold, Sink};
use crate::corpus::{Corpus, FIRST_SET, NO_COST, Rows, UNKNOWN};
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::sync::Arc;

impl Corpus {
    /// The sentences of several corpora, in this order. Errors: too many labels; only some have labels.
    pub fn concat(corpora: &[Arc<Corpus>]) -> Result<Corpus> {
        let mut assembly = Assembly::default();
        for corpus in corpora {
            if corpus.labelled != corpora[0].labelled {
                return Err(Error::Data(
                    "some corpora have labels and others do not; label all of them or none".into(),
                ));
            }
            assembly.push_corpus(corpus)?;
        }
        let mut joined = assembly.finish();
        if let Some(first) = corpora.first() {
            [joined.transitions, joined.triples, joined.labelled] = [first.transitions, first.triples, first.labelled];
        }
        Ok(joined)
    }

    /// The corpus of consecutive pieces. Errors: too many labels.
    pub fn assemble(pieces: Vec<Builder>) -> Result<Corpus> {
        let mut assembly = Assembly::default();
        pieces.into_iter().try_for_each(|piece| assembly.push(piece))?;
        Ok(assembly.finish())
    }
}

/// Joins pieces that were encoded separately, first piece first. Ids are the same as if all had been one piece.
#[derive(Default)]
pub struct Assembly {
    attributes: Alphabet,
    labels: Labels,
    sets: LabelSets,
    /// The sentences of all pieces so far, with the ids of this assembly.
    joined: Builder,
}

impl Assembly {
    /// Appends a piece. Errors: too many labels.
    pub fn push(&mut self, mut piece: Builder) -> Result<()> {
        let attributes = std::mem::take(&mut piece.attributes);
        let map: Vec<u32> = if self.attributes.is_empty() {
            // The ids of the first piece are the ids of the assembly.
            self.attributes = attributes;
            (0..self.attributes.len() as u32).collect()
        } else {
            self.attributes.absorb(&attributes)
        };
        let label_map: Vec<u32> = piece.labels.names.iter().map(|name| self.labels.intern(name)).collect();
        if self.labels.names.len() > FIRST_SET as usize {
            let message = format!("more than {FIRST_SET} labels; check which column holds the labels");
            return Err(Error::Data(message));
        }
        let sets = LabelSets::of(&piece.sets.sets, &piece.sets.shares);
        let set_map: Vec<u32> =
            sets.iter().map(|set| self.sets.adopt(set, |label| label_map[label as usize])).collect();
        let joined = &mut self.joined;
        joined.notes.join(&piece.notes);
        let (states, sentences) = (joined.states.ids.len(), joined.sentence_ends.len());
        join_sparse(&mut joined.values, 1.0, states, piece.values, piece.states.ids.len());
        join_sparse(&mut joined.weights, 1.0, sentences, piece.weights, piece.sentence_ends.len());
        join_sparse(&mut joined.costs, NO_COST, joined.states.ends.len(), piece.costs, piece.states.ends.len());
        let tokens = joined.states.ends.len();
        joined.sentence_ends.extend(piece.sentence_ends.iter().map(|end| tokens + end));
        joined.states.append(piece.states, &map);
        joined.bigrams.append(piece.bigrams, &map);
        let counts = &mut self.labels.counts;
        joined.gold.extend(piece.gold.iter().map(|&label| match label {
            UNKNOWN => UNKNOWN,
            FIRST_SET.. => set_map[(label - FIRST_SET) as usize],
            _ => {
                let label = label_map[label as usize];
                counts[label as usize] += 1;
                label
            }
        }));
        Ok(())
    }

    /// An assembly that continues a corpus with these names; its sentences are elsewhere.
    pub fn continued(
        attributes: Alphabet,
        labels: &[(String, u64)],
        (sets, shares): (&[Vec<u32>], &[Vec<f64>]),
    ) -> Assembly {
        let mut assembly = Assembly { attributes, ..Assembly::default() };
        for (name, count) in labels {
            let id = assembly.labels.intern(name.as_bytes());
            assembly.labels.counts[id as usize] = *count;
        }
        for set in LabelSets::of(sets, shares) {
            assembly.sets.adopt(&set, |label| label);
        }
        assembly
    }

    /// Appends the sentences of a corpus. Errors: too many labels.
    pub fn push_corpus(&mut self, corpus: &Corpus) -> Result<()> {
        self.push(Builder::of(corpus.clone(), &[]))
    }

    /// The sentences appended since the last call, with the ids of the assembly; their ends count from the first of them.
    pub fn take(&mut self) -> Builder {
        std::mem::take(&mut self.joined)
    }

    /// The names of all pieces, with the labels renumbered: the most frequent first, regardless of weights, and without tokens
    /// whose label is partial. The labels that occur with an attribute then mostly have low numbers.
    pub fn names(self) -> Names {
        let Assembly { mut attributes, labels, sets, .. } = self;
        attributes.shrink();
        let (sorted, rank) = by_frequency(&labels.names, &labels.counts);
        let (label_sets, label_shares) = renumbered(sets.sets, sets.shares, &rank);
        let row = |&label: &usize| (String::from_utf8_lossy(&labels.names[label]).into_owned(), labels.counts[label]);
        Names { attributes, labels: sorted.iter().map(row).collect(), rank, label_sets, label_shares }
    }

    /// The corpus of all pieces.
    pub fn finish(mut self) -> Corpus {
        let mut joined = self.take();
        let Names { attributes, labels, rank, label_sets, label_shares } = self.names();
        joined.states.ids.to_mut().shrink_to_fit();
        joined.values.shrink_to_fit();
        joined.gold.par_iter_mut().for_each(|label| *label = ranked(*label, &rank));
        Corpus {
            attributes: Arc::new(attributes),
            labels: Arc::new(labels.into_iter().map(|(name, _)| name).collect()),
            sentence_ends: joined.sentence_ends.into(),
            states: joined.states,
            values: joined.values.into(),
            bigrams: if joined.bigrams.ids.is_empty() { Rows::default() } else { joined.bigrams },
            labelled: !joined.gold.is_empty(),
            gold: joined.gold.into(),
            label_sets: Arc::new(label_sets),
            label_shares: Arc::new(label_shares),
            weights: joined.weights.into(),
            costs: joined.costs.into(),
            notes: joined.notes,
            ..Corpus::empty()
        }
    }
}

/// The names of an assembly.
pub struct Names {
    pub attributes: Alphabet,
    /// Each label's name, and on how many tokens it is the only one.
    pub labels: Vec<(String, u64)>,
    /// Number of a label in the assembly -> its number in `labels`.
    pub rank: Vec<u32>,
    /// Sets of labels by their numbers in `labels`.
    pub label_sets: Vec<Vec<u32>>,
    /// See `Corpus::label_shares`.
    pub label_shares: Vec<Vec<f64>>,
}

/// An entry of `Corpus::gold`, with the label renumbered.
pub fn ranked(label: u32, rank: &[u32]) -> u32 {
    if label < FIRST_SET { rank[label as usize] } else { label }
}

/// Appends `more`, with `more_count` numbers, to `all`, with `count` numbers. A vector is empty while all its numbers are `usual`.
fn join_sparse(all: &mut Vec<f64>, usual: f64, count: usize, mut more: Vec<f64>, more_count: usize) {
    if !all.is_empty() || !more.is_empty() {
        all.resize(count, usual);
        more.resize(more_count, usual);
        all.append(&mut more);
    }
}

/// A piece of a corpus, such as the sentences of a piece of a text. Every piece numbers its attributes and labels separately, until `Assembly` joins the pieces.
#[derive(Default)]
pub struct Builder {
    attributes: Alphabet,
    labels: Labels,
    sets: LabelSets,
    pub(super) sentence_ends: Vec<usize>,
    pub(super) states: Rows,
    pub(super) values: Vec<f64>,
    pub(super) bigrams: Rows,
    pub(super) gold: Vec<u32>,
    pub(super) weights: Vec<f64>,
    /// Token -> cost, or `NO_COST`; shorter than the tokens if the last ones have none.
    pub(super) costs: Vec<f64>,
    pub notes: Notes,
}

/// How far a piece has come, to go back to.
pub struct Mark {
    sentences: usize,
    tokens: usize,
    states: usize,
    bigrams: usize,
}

impl Builder {
    /// A piece with the sentences of a corpus, and with the labels numbered in this order, others after them.
    pub fn of(mut corpus: Corpus, labels: &[String]) -> Builder {
        let mut builder = Builder {
            attributes: Arc::unwrap_or_clone(corpus.attributes),
            sentence_ends: std::mem::take(corpus.sentence_ends.to_mut()),
            states: corpus.states,
            values: std::mem::take(corpus.values.to_mut()),
            bigrams: corpus.bigrams,
            gold: std::mem::take(corpus.gold.to_mut()),
            weights: std::mem::take(corpus.weights.to_mut()),
            costs: std::mem::take(corpus.costs.to_mut()),
            notes: corpus.notes,
            ..Builder::default()
        };
        labels.iter().for_each(|label| _ = builder.labels.intern(label.as_bytes()));
        let number: Vec<u32> = corpus.labels.iter().map(|label| builder.labels.intern(label.as_bytes())).collect();
        builder.gold.iter_mut().for_each(|label| *label = ranked(*label, &number));
        for set in LabelSets::of(&corpus.label_sets, &corpus.label_shares) {
            builder.sets.adopt(&set, |label| number[label as usize]);
        }
        let n_bigrams = builder.bigrams.ids.len();
        builder.bigrams.ends.to_mut().resize(builder.states.ends.len(), n_bigrams);
        builder
    }

    /// Names of the labels, as they first appeared.
    pub fn labels(&self) -> Vec<String> {
        self.labels.names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    pub fn n_sentences(&self) -> usize {
        self.sentence_ends.len()
    }

    pub fn n_tokens(&self) -> usize {
        self.states.ends.len()
    }

    /// The key of each attribute, and the number of tokens that have it as an attribute of states or bigrams.
    pub fn token_counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut counts = vec![0u64; self.attributes.len()];
        let mut last = vec![usize::MAX; counts.len()];
        for token in 0..self.states.ends.len() {
            for &attribute in self.states.row(token).iter().chain(self.bigrams.row(token)) {
                counts[attribute as usize] += u64::from(last[attribute as usize] != token);
                last[attribute as usize] = token;
            }
        }
        counts.into_iter().enumerate().map(|(id, count)| (self.attributes.key(id as u32), count))
    }

    /// The piece with only some of its attributes.
    pub fn keep(mut self, frequent: &Kept) -> Builder {
        let mut attributes = Alphabet::default();
        // Id -> its new one, or `DROPPED`.
        const DROPPED: u32 = u32::MAX;
        let map: Vec<u32> = (0..self.attributes.len() as u32)
            .map(|id| match self.attributes.key(id) {
                key if frequent.holds(key) => {
                    attributes.intern(key, |out| out.extend_from_slice(self.attributes.text(id)))
                }
                _ => DROPPED,
            })
            .collect();
        if !self.values.is_empty() {
            let is_kept = self.states.ids.iter().map(|&id| map[id as usize] != DROPPED);
            let mut is_kept = is_kept.collect::<Vec<bool>>().into_iter();
            self.values.resize(self.states.ids.len(), 1.0);
            self.values.retain(|_| is_kept.next().expect("a value for each attribute"));
        }
        for rows in [&mut self.states, &mut self.bigrams] {
            let mut some = Rows::default();
            for row in 0..rows.ends.len() {
                some.ids.to_mut().extend(rows.row(row).iter().map(|&id| map[id as usize]).filter(|&id| id != DROPPED));
                some.end_row();
            }
            *rows = some;
        }
        Builder { attributes, ..self }
    }

    /// The state of the piece after whole sentences.
    pub fn mark(&self) -> Mark {
        let (states, bigrams) = (self.states.ids.len(), self.bigrams.ids.len());
        Mark { sentences: self.sentence_ends.len(), tokens: self.states.ends.len(), states, bigrams }
    }

    /// Returns to a mark: removes everything added after it, except names.
    pub fn go_back(&mut self, mark: &Mark) {
        self.sentence_ends.truncate(mark.sentences);
        self.weights.truncate(mark.sentences);
        self.states.ends.to_mut().truncate(mark.tokens);
        self.bigrams.ends.to_mut().truncate(mark.tokens);
        self.gold.truncate(mark.tokens);
        self.costs.truncate(mark.tokens);
        self.states.ids.to_mut().truncate(mark.states);
        self.values.truncate(mark.states);
        self.bigrams.ids.to_mut().truncate(mark.bigrams);
    }
}

impl Sink for Builder {
    #[inline(always)]
    fn state(&mut self, key: u64, value: f64, write: impl FnOnce(&mut Vec<u8>)) {
        let id = self.attributes.intern(key, write);
        if value != 1.0 || !self.values.is_empty() {
            self.values.resize(self.states.ids.len(), 1.0);
            self.values.push(value);
        }
        self.states.ids.to_mut().push(id);
    }

    fn bigram(&mut self, key: u64, write: impl FnOnce(&mut Vec<u8>)) {
        let id = self.attributes.intern(key, write);
        self.bigrams.ids.to_mut().push(id);
    }

    fn end_token(&mut self, label: Option<Gold<'_>>) {
        self.states.end_row();
        self.bigrams.end_row();
        self.gold.extend(label.map(|label| match label {
            Gold::Label(name) => self.labels.intern(name),
            Gold::OneOf(names) => self.sets.intern(names.iter().map(|name| self.labels.intern(name)).collect()),
            Gold::Soft(shares) => {
                let shares = shares.iter().map(|&(name, share)| (self.labels.intern(name), share)).collect();
                self.sets.intern_shares(shares)
            }
            Gold::Unknown => UNKNOWN,
        }));
    }

    fn costs(&mut self, costs: &[f64]) {
        self.costs.resize(self.states.ends.len() - costs.len(), NO_COST);
        self.costs.extend_from_slice(costs);
    }

    fn end_sentence(&mut self, weight: f64) {
        if weight != 1.0 || !self.weights.is_empty() {
            self.weights.resize(self.sentence_ends.len(), 1.0);
            self.weights.push(weight);
        }
        self.sentence_ends.push(self.states.ends.len());
    }

    fn note(&mut self, notes: &Notes) {
        self.notes.join(notes);
    }
}

#[cfg(test)]
mod tests;
