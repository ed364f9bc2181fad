//! Encoded data: sentences of tokens, and tokens of attribute ids, in compressed sparse rows.

pub mod alphabet;
pub mod array;
pub mod assembly;
mod check;
pub mod counting;
pub mod folder;
pub mod hash;
pub mod labels;
pub mod notes;
mod relabelled;
pub mod sink;

use crate::corpus::alphabet::Alphabet;
use crate::corpus::array::Array;
use crate::corpus::notes::Notes;
use crate::error::{Error, Result};
use crate::numeric::store::{Soon, Store};
use crate::threads::Interrupt;
use rayon::prelude::*;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Entries of `Corpus::gold` from this number on are not labels: `FIRST_SET + k` means one of the labels `label_sets[k]`.
pub const FIRST_SET: u32 = 1 << 24;
/// The entry of `Corpus::gold` for a token whose label is unknown.
pub const UNKNOWN: u32 = u32::MAX;

/// The entry of `Corpus::costs` for a token of a sentence without costs.
pub const NO_COST: f64 = f64::NAN;
/// The largest cost of a wrong label, in nats, which no margin comes near; the objective then is exact enough.
pub const MOST_COST: f64 = 1e6;

/// Number of sentences after which a sweep releases their memory.
const SWEPT: usize = 1 << 14;

/// Rows of ids of any lengths, one after the other.
#[derive(Clone, Default)]
pub struct Rows {
    /// Row -> its end in `ids`.
    pub ends: Store<usize>,
    pub ids: Store<u32>,
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
        let end = self.ids.len();
        self.ends.to_mut().push(end);
    }

    /// Appends the rows of another collection, whose ids `map` translates.
    fn append(&mut self, other: Rows, map: &[u32]) {
        let base = self.ids.len();
        self.ends.to_mut().extend(other.ends.iter().map(|end| base + end));
        self.ids.to_mut().par_extend(other.ids.par_iter().map(|&id| map[id as usize]));
    }
}

/// Compares numbers of the arrays of a folder with the checksums of the blocks that contain them.
type Compare = Box<dyn Fn(&Interrupt, &Wanted<'_>) -> Result<()> + Send + Sync>;
/// Which numbers of an array to compare.
type Wanted<'a> = dyn Fn(Array) -> Range<usize> + Sync + 'a;

/// The folder on disk that a corpus is mapped from.
pub struct Folder {
    pub path: PathBuf,
    /// A checksum of all arrays and names.
    pub checksum: String,
    pub compare: Compare,
    /// The result of the check; unset before it.
    pub checked: OnceLock<std::result::Result<(), String>>,
    /// Whether the names have been compared.
    pub named: OnceLock<()>,
}

/// Encoded sentences. A subset shares the names through `Arc` and copies only its ids.
#[derive(Clone)]
pub struct Corpus {
    pub attributes: Arc<Alphabet>,
    /// Names of the labels, the most frequent first, ties in byte order; empty if the data has no labels.
    pub labels: Arc<Vec<String>>,
    /// Sentence -> its last token plus one.
    pub sentence_ends: Store<usize>,
    /// Token -> state attributes.
    pub states: Rows,
    /// Entry of `states` -> value; empty if all are 1.
    pub values: Store<f64>,
    /// Token -> bigram attributes; empty if there are none.
    pub bigrams: Rows,
    /// Token -> label, or `FIRST_SET + k`, or `UNKNOWN`; empty if the data has no labels.
    pub gold: Store<u32>,
    /// The sets of labels of tokens whose label is one of several, each set once: ascending labels, at least 2.
    pub label_sets: Arc<Vec<Vec<u32>>>,
    /// Set of labels -> the probabilities of its labels, or nothing for labels of which one is right; empty if no label is soft.
    pub label_shares: Arc<Vec<Vec<f64>>>,
    /// Sentence -> weight; empty if all are 1.
    pub weights: Store<f64>,
    /// Token -> cost of a wrong label in training, in nats, or `NO_COST`; empty if no token has one.
    pub costs: Store<f64>,
    /// Whether label bigrams are features: always, except with a template that has no `B` line.
    pub transitions: bool,
    /// Whether the template requests triples of labels.
    pub triples: bool,
    /// Whether the data has labels, even without tokens.
    pub labelled: bool,
    /// What the reader noticed of the text; nothing if the corpus was not read from one in this process.
    pub notes: Notes,
    /// The folder that the arrays are mapped from; None if they are in memory.
    pub folder: Option<Arc<Folder>>,
}

impl Corpus {
    /// Fails if the corpus is on disk and damaged there: its bytes have changed since it was written, or an index reaches
    /// beyond its array. Reads all arrays, once in the life of the corpus; call it before using any of their numbers.
    pub fn check(&self, interrupt: &Interrupt) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        if let Some(outcome) = folder.checked.get() {
            return outcome.clone().map_err(Error::Data);
        }
        let outcome = (folder.compare)(interrupt, &|_| 0..usize::MAX).and_then(|()| self.check_indices(&folder.path));
        match &outcome {
            Ok(()) => _ = folder.checked.set(Ok(())),
            Err(Error::Data(message)) => _ = folder.checked.set(Err(message.clone())),
            // An interruption or a system failure does not mean that the corpus is damaged.
            Err(_) => (),
        }
        outcome
    }

    /// `check` for consecutive sentences: reads the blocks that contain them, and the names once in the life of the corpus.
    fn check_sentences(&self, sentences: Range<usize>) -> Result<()> {
        let Some(folder) = self.folder.as_ref().filter(|folder| folder.checked.get().is_none()) else {
            return self.check(&Interrupt::default());
        };
        let compare = |wanted: &Wanted<'_>| (folder.compare)(&Interrupt::default(), wanted);
        let names = [Array::AttributeKeys, Array::AttributeEnds, Array::AttributeNames];
        if folder.named.get().is_none() {
            compare(&|array| if names.contains(&array) { 0..usize::MAX } else { 0..0 })?;
            _ = folder.named.set(());
        }
        // A range begins with the end of the row before.
        let rows = |range: &Range<usize>| range.start.saturating_sub(1)..range.end;
        let entries = |ends: &[usize], rows: &Range<usize>, count: usize| {
            let message = "sentences or tokens are out of order; encode the corpus again";
            check::entries(ends, rows, count)
                .ok_or_else(|| Error::Data(format!("{}: {message}", folder.path.display())))
        };
        compare(&|array| match array {
            Array::SentenceEnds => rows(&sentences),
            Array::Weights => sentences.clone(),
            _ => 0..0,
        })?;
        let tokens = entries(&self.sentence_ends, &sentences, self.n_tokens())?;
        compare(&|array| match array {
            Array::StateEnds | Array::BigramEnds => rows(&tokens),
            Array::Gold | Array::Costs => tokens.clone(),
            _ => 0..0,
        })?;
        let of = |rows: &Rows| match rows.ends.is_empty() {
            true => Ok(0..0),
            false => entries(&rows.ends, &tokens, rows.ids.len()),
        };
        let (states, bigrams) = (of(&self.states)?, of(&self.bigrams)?);
        compare(&|array| match array {
            Array::StateIds | Array::Values => states.clone(),
            Array::BigramIds => bigrams.clone(),
            _ => 0..0,
        })
    }

    /// Whether the arrays are on disk.
    pub fn is_mapped(&self) -> bool {
        self.folder.is_some()
    }

    /// Advises the system on the use of some sentences, if they are on disk.
    pub fn advise(&self, sentences: Range<usize>, soon: Soon) {
        if self.folder.is_none() || sentences.is_empty() {
            return;
        }
        let tokens = self.tokens(sentences.start).start..self.tokens(sentences.end - 1).end;
        if tokens.is_empty() {
            return;
        }
        let of = |rows: &Rows| rows.range(tokens.start).start..rows.range(tokens.end - 1).end;
        let states = of(&self.states);
        self.states.ids.advise(states.clone(), soon);
        if !self.values.is_empty() {
            self.values.advise(states, soon);
        }
        if !self.bigrams.ids.is_empty() {
            self.bigrams.ids.advise(of(&self.bigrams), soon);
            self.bigrams.ends.advise(tokens.clone(), soon);
        }
        if self.labelled {
            self.gold.advise(tokens.clone(), soon);
        }
        if !self.costs.is_empty() {
            self.costs.advise(tokens.clone(), soon);
        }
        self.states.ends.advise(tokens, soon);
        self.sentence_ends.advise(sentences, soon);
    }

    /// All sentences, first to last, for work that visits each once: sentences on disk leave the process's memory afterwards.
    pub fn sweep(&self) -> impl Iterator<Item = usize> + '_ {
        let mut behind = 0;
        (0..self.n_sentences()).inspect(move |&sentence| {
            if sentence - behind >= SWEPT {
                self.advise(behind..sentence, Soon::Unwanted);
                behind = sentence;
            }
        })
    }

    pub fn n_sentences(&self) -> usize {
        self.sentence_ends.len()
    }

    pub fn n_tokens(&self) -> usize {
        self.states.ends.len()
    }

    pub fn tokens(&self, sentence: usize) -> Range<usize> {
        let start = if sentence == 0 { 0 } else { self.sentence_ends[sentence - 1] };
        start..self.sentence_ends[sentence]
    }

    pub fn weight(&self, sentence: usize) -> f64 {
        self.weights.get(sentence).copied().unwrap_or(1.0)
    }

    /// The possible labels of a token in the data: its label, or several that include it; none if its label is unknown.
    #[inline(always)]
    pub fn named_labels(&self, token: usize) -> &[u32] {
        self.labels_of(&self.gold[token])
    }

    /// The possible labels that an entry of `gold` names; see `named_labels`.
    #[inline(always)]
    pub fn labels_of<'a>(&'a self, entry: &'a u32) -> &'a [u32] {
        match entry {
            label if *label < FIRST_SET => std::slice::from_ref(label),
            &UNKNOWN => &[],
            set => &self.label_sets[(set - FIRST_SET) as usize],
        }
    }

    /// The labels that an entry of `gold` names, with their probabilities: 1 for each label of an entry that is not soft.
    #[inline(always)]
    pub fn shares_of<'a>(&'a self, entry: &'a u32) -> impl Iterator<Item = (u32, f64)> + 'a {
        let shares = if self.is_soft(*entry) { &self.label_shares[(entry - FIRST_SET) as usize][..] } else { &[] };
        let share = |at: usize| shares.get(at).copied().unwrap_or(1.0);
        self.labels_of(entry).iter().enumerate().map(move |(at, &label)| (label, share(at)))
    }

    /// Whether an entry of `gold` is a distribution over labels.
    pub fn is_soft(&self, entry: u32) -> bool {
        entry >= FIRST_SET && self.label_shares.get((entry - FIRST_SET) as usize).is_some_and(|set| !set.is_empty())
    }

    /// Whether labels may be soft.
    pub fn has_soft(&self) -> bool {
        !self.label_shares.is_empty()
    }

    /// The sentence and the place in it of the first token with a partial or a soft label.
    pub fn first_partial(&self) -> Option<(usize, usize)> {
        let token = self.gold.iter().position(|&label| label >= FIRST_SET)?;
        let sentence = self.sentence_ends.partition_point(|&end| end <= token);
        Some((sentence, token - self.tokens(sentence).start))
    }

    /// On how many tokens each label is the only one.
    pub fn label_counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.labels.len()];
        for &label in self.gold.iter() {
            if let Some(count) = counts.get_mut(label as usize) {
                *count += 1;
            }
        }
        counts
    }

    /// Whether all sentences have the same attributes: always where there is one sentence.
    pub fn is_repetitive(&self) -> bool {
        let of = |sentence: usize| self.tokens(sentence).map(|token| self.states.row(token));
        (1..self.n_sentences()).all(|sentence| of(sentence).eq(of(0)))
    }

    /// Whether some labels are partial; soft labels are not.
    pub fn is_partial(&self) -> bool {
        self.gold.iter().any(|&label| label >= FIRST_SET && !self.is_soft(label))
    }

    /// Bytes of memory taken by the encoded data.
    pub fn n_bytes(&self) -> usize {
        let rows = |rows: &Rows| rows.ids.n_bytes() + rows.ends.n_bytes();
        self.attributes.n_bytes()
            + rows(&self.states)
            + rows(&self.bigrams)
            + self.values.n_bytes()
            + self.gold.n_bytes()
            + self.costs.n_bytes()
            + self.sentence_ends.n_bytes()
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

    /// A corpus in memory whose sentence i is sentence `sentences[i]` of this one. Of a corpus on disk that has not been checked,
    /// only consecutive sentences are checked.
    pub fn select(&self, sentences: &[usize]) -> Result<Corpus> {
        let mut in_a_row = sentences.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        in_a_row &= sentences.last().is_some_and(|&last| last < self.n_sentences());
        if in_a_row {
            self.check_sentences(sentences[0]..sentences[0] + sentences.len())?
        } else {
            self.check(&Interrupt::default())?
        }
        let mut chosen = Corpus {
            attributes: Arc::clone(&self.attributes),
            labels: Arc::clone(&self.labels),
            label_sets: Arc::clone(&self.label_sets),
            label_shares: Arc::clone(&self.label_shares),
            transitions: self.transitions,
            triples: self.triples,
            labelled: self.labelled,
            notes: self.notes,
            ..Corpus::empty()
        };
        for &sentence in sentences {
            if sentence >= self.n_sentences() {
                let n = self.n_sentences();
                return Err(Error::Data(format!("sentence {sentence} is out of range; the corpus has {n} sentences")));
            }
            for token in self.tokens(sentence) {
                let range = self.states.range(token);
                chosen.states.ids.to_mut().extend_from_slice(&self.states.ids[range.clone()]);
                chosen.states.end_row();
                if !self.values.is_empty() {
                    chosen.values.to_mut().extend_from_slice(&self.values[range]);
                }
                if !self.bigrams.ids.is_empty() {
                    chosen.bigrams.ids.to_mut().extend_from_slice(self.bigrams.row(token));
                    chosen.bigrams.end_row();
                }
                chosen.gold.to_mut().extend(self.gold.get(token));
                chosen.costs.to_mut().extend(self.costs.get(token));
            }
            let end = chosen.states.ends.len();
            chosen.sentence_ends.to_mut().push(end);
            chosen.weights.to_mut().extend(self.weights.get(sentence));
        }
        if let Some(folder) = &self.folder {
            chosen.check_indices(&folder.path)?;
        }
        Ok(chosen)
    }

    /// Sentences of one token each, without attributes.
    pub fn of_samples(labels: Vec<String>, gold: Vec<u32>, weights: Vec<f64>) -> Corpus {
        let n = gold.len();
        Corpus {
            labels: Arc::new(labels),
            sentence_ends: (1..=n).collect::<Vec<_>>().into(),
            states: Rows { ends: vec![0; n].into(), ids: Store::default() },
            gold: gold.into(),
            weights: weights.into(),
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
        let (sentence_ends, values, gold) = (sentence_ends.into(), values.into(), gold.into());
        Ok(Corpus { attributes, labels, sentence_ends, states, values, gold, labelled, ..Corpus::empty() })
    }

    /// No sentences.
    fn empty() -> Corpus {
        Corpus {
            attributes: Arc::default(),
            labels: Arc::default(),
            sentence_ends: Store::default(),
            states: Rows::default(),
            values: Store::default(),
            bigrams: Rows::default(),
            gold: Store::default(),
            label_sets: Arc::default(),
            label_shares: Arc::default(),
            weights: Store::default(),
            costs: Store::default(),
            transitions: true,
            triples: false,
            labelled: false,
            notes: Notes::default(),
            folder: None,
        }
    }
}
