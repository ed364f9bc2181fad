//! Writing a corpus to disk: piece after piece, in bounded memory.

use crate::corpus::alphabet::Alphabet;
use crate::corpus::array::{ARRAYS, Array};
use crate::corpus::assembly::{Assembly, Builder, Names, ranked};
use crate::corpus::folder::growing::{COPIED, Growing};
use crate::corpus::folder::layout::SUMMARY;
use crate::corpus::folder::open::{alphabet, is_folder};
use crate::corpus::folder::summary::{Stored, Summary, damaged};
use crate::corpus::{Corpus, FIRST_SET, NO_COST};
use crate::error::{Error, Result};
use crate::files::atomic::{made_beside, replace_folder};
use crate::files::opening::{open_in_place, open_regular, refuse_link};
use bytemuck::{NoUninit, cast_slice_mut};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The name of the file that is locked while sentences are appended.
const LOCK: &str = "lock";

/// Where a corpus is written.
enum Place {
    /// A new folder, which gets its name at the end.
    New { temporary: TempDir, path: PathBuf, _lock: Option<File> },
    /// An existing folder.
    Old(Continued),
}

/// A corpus to which sentences are appended; it is restored unless all of them reach the disk.
struct Continued {
    path: PathBuf,
    before: Summary,
    completed: bool,
    /// Locked as long as this value lives.
    _lock: File,
}

impl Drop for Continued {
    fn drop(&mut self) {
        if self.completed {
            return;
        }
        for (array, name, _) in ARRAYS {
            // Bytes that cannot be cut off are ignored: the summary has the number of valid bytes.
            let _ = match self.before.arrays.get(&array) {
                Some(Stored { file, bytes, .. }) => {
                    let opened = open_in_place(&self.path.join(file), File::options().write(true));
                    opened.map(|file| file.set_len(*bytes as u64).is_ok()).is_ok()
                }
                None => fs::remove_file(self.path.join(name)).is_ok(),
            };
        }
        if let Some(gold) = self.before.arrays.get(&Array::Gold) {
            let _ = fs::remove_file(self.path.join(renumbered_name(gold)));
        }
    }
}

/// A corpus that is being written. Memory holds only the names and the latest sentences.
pub struct Writer {
    place: Place,
    arrays: BTreeMap<Array, Growing>,
    assembly: Assembly,
    /// Sentences, tokens, state attributes and bigram attributes so far.
    sentences: usize,
    tokens: usize,
    states: usize,
    bigrams: usize,
}

impl Writer {
    /// A new corpus at `path`, which replaces an existing corpus. Error: something else exists there.
    pub fn create(path: &Path) -> Result<Writer> {
        if path.exists() && !is_folder(path) {
            let message =
                format!("{}: already exists and is not an encoded corpus; choose another name", path.display());
            return Err(Error::Data(message));
        }
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        if !parent.is_dir() {
            return Err(Error::Data(format!("{}: its folder does not exist; create it first", path.display())));
        }
        let (temporary, lock) = made_beside(path, |builder, folder| builder.tempdir_in(folder))?;
        let place = Place::New { temporary, path: path.to_owned(), _lock: lock };
        let (arrays, assembly) = (BTreeMap::new(), Assembly::default());
        Ok(Writer { place, arrays, assembly, sentences: 0, tokens: 0, states: 0, bigrams: 0 })
    }

    /// The continuation of a corpus. Errors: it is damaged, or another program is appending to it.
    pub fn append(path: &Path) -> Result<Writer> {
        refuse_link(&path.join(SUMMARY))?;
        let before = Summary::read(path)?;
        let lock = open_in_place(&path.join(LOCK), File::options().write(true).create(true).truncate(false))?;
        if lock.try_lock().is_err() {
            let message = format!("{}: another program is appending to the corpus; wait until it ends", path.display());
            return Err(Error::Data(message));
        }
        let continued = Continued { path: path.to_owned(), before, completed: false, _lock: lock };
        let before = &continued.before;
        let assembly =
            Assembly::continued(alphabet(path, before)?, &before.labels, (&before.label_sets, &before.label_shares));
        let mut arrays = BTreeMap::new();
        for (&array, stored) in &before.arrays {
            arrays.insert(array, Growing::open(path, stored.clone())?);
        }
        Ok(Writer {
            sentences: before.count(Array::SentenceEnds),
            tokens: before.count(Array::StateEnds),
            states: before.count(Array::StateIds),
            bigrams: before.count(Array::BigramIds),
            place: Place::Old(continued),
            arrays,
            assembly,
        })
    }

    fn folder(&self) -> &Path {
        match &self.place {
            Place::New { temporary, .. } => temporary.path(),
            Place::Old(Continued { path, .. }) => path,
        }
    }

    /// The folder that is written to, and its final name.
    fn names(&self) -> (PathBuf, PathBuf) {
        let (Place::New { path, .. } | Place::Old(Continued { path, .. })) = &self.place;
        (self.folder().to_owned(), path.clone())
    }

    /// The settings of the corpus that is continued; null for a new corpus.
    pub fn settings(&self) -> &Value {
        match &self.place {
            Place::New { .. } => &Value::Null,
            Place::Old(Continued { before, .. }) => &before.settings,
        }
    }

    /// `Corpus::transitions`, `triples` and `labelled` of the corpus that is continued; None for a new corpus.
    pub fn flags(&self) -> Option<[bool; 3]> {
        match &self.place {
            Place::New { .. } => None,
            Place::Old(Continued { before, .. }) => Some([before.transitions, before.triples, before.labelled]),
        }
    }

    /// Appends a piece. Errors: too many labels; the disk is full.
    pub fn push(&mut self, piece: Builder) -> Result<()> {
        self.assembly.push(piece)?;
        let names = self.names();
        self.write().map_err(|error| named(names, error))
    }

    /// Appends the sentences of a corpus.
    pub fn push_corpus(&mut self, corpus: &Corpus) -> Result<()> {
        self.assembly.push_corpus(corpus)?;
        let names = self.names();
        self.write().map_err(|error| named(names, error))
    }

    fn array(&mut self, array: Array) -> Result<&mut Growing> {
        if !self.arrays.contains_key(&array) {
            let growing = Growing::new(self.folder(), array.row().0.to_owned())?;
            self.arrays.insert(array, growing);
        }
        Ok(self.arrays.get_mut(&array).expect("it has been inserted"))
    }

    /// Appends numbers to an array that has no file while all its numbers are the same: `usual`.
    fn extend_sparse<T: NoUninit + PartialEq>(
        &mut self,
        array: Array,
        usual: T,
        some: &[T],
        before: usize,
        count: usize,
    ) -> Result<()> {
        if some.iter().all(|&one| one == usual) && !self.arrays.contains_key(&array) {
            return Ok(());
        }
        let growing = self.array(array)?;
        let missing = before - growing.count(array);
        growing.repeat(usual, missing)?;
        growing.extend(some)?;
        growing.repeat(usual, count - some.len())
    }

    /// Writes sizes as numbers of 64 bits.
    fn write_numbers(&mut self, sizes: &[usize], array: Array) -> Result<()> {
        let growing = self.array(array)?;
        for some in sizes.chunks(COPIED / 8) {
            growing.extend(&some.iter().map(|&size| size as u64).collect::<Vec<u64>>())?;
        }
        Ok(())
    }

    /// Writes the sentences that the assembly has joined.
    fn write(&mut self) -> Result<()> {
        let piece = self.assembly.take();
        let (sentences, tokens) = (piece.sentence_ends.len(), piece.states.ends.len());
        let (states, bigrams) = (piece.states.ids.len(), piece.bigrams.ids.len());
        let behind = |ends: &[usize], base: usize| ends.iter().map(|&end| (base + end) as u64).collect::<Vec<u64>>();
        let (token, state, bigram) = (self.tokens, self.states, self.bigrams);
        self.array(Array::SentenceEnds)?.extend(&behind(&piece.sentence_ends, token))?;
        self.array(Array::StateEnds)?.extend(&behind(&piece.states.ends, state))?;
        self.array(Array::StateIds)?.extend(&piece.states.ids)?;
        self.extend_sparse(Array::Values, 1.0, &piece.values, state, states)?;
        self.extend_sparse(Array::Weights, 1.0, &piece.weights, self.sentences, sentences)?;
        self.extend_sparse(Array::Costs, NO_COST, &piece.costs, token, tokens)?;
        if bigrams > 0 || self.arrays.contains_key(&Array::BigramIds) {
            let ends = self.array(Array::BigramEnds)?;
            let missing = token - ends.count(Array::BigramEnds);
            ends.repeat(0u64, missing)?;
            ends.extend(&behind(&piece.bigrams.ends, bigram))?;
            self.array(Array::BigramIds)?.extend(&piece.bigrams.ids)?;
        }
        if !piece.gold.is_empty() {
            self.array(Array::Gold)?.extend(&piece.gold)?;
        }
        self.sentences += sentences;
        self.tokens += tokens;
        self.states += states;
        self.bigrams += bigrams;
        Ok(())
    }

    /// Completes the corpus: writes its names and moves it to its place. `flags` are `Corpus::transitions`, `triples` and
    /// `labelled`. Error: a corpus with labels is continued with sentences without labels, or the reverse.
    pub fn finish(self, flags: [bool; 3], settings: Value) -> Result<()> {
        let names = self.names();
        self.complete(flags, settings).map_err(|error| named(names, error))
    }

    fn complete(mut self, [transitions, triples, labelled]: [bool; 3], settings: Value) -> Result<()> {
        let assembly = std::mem::take(&mut self.assembly);
        let Names { attributes, labels, rank, label_sets, label_shares } = assembly.names();
        let (keys, text, ends) = attributes.parts();
        let ends: Vec<u64> = ends.iter().map(|&end| end as u64).collect();
        let n_keys = self.array(Array::AttributeKeys)?.count(Array::AttributeKeys);
        let n_names = self.array(Array::AttributeNames)?.count(Array::AttributeNames);
        self.array(Array::AttributeKeys)?.extend(&keys[n_keys..])?;
        self.array(Array::AttributeEnds)?.extend(&ends[n_keys..])?;
        self.array(Array::AttributeNames)?.extend(&text[n_names..])?;
        let gold = self.arrays.get(&Array::Gold).map_or(0, |gold| gold.count(Array::Gold));
        if gold != if labelled { self.tokens } else { 0 } {
            return Err(Error::Data("some sentences have labels and others do not; label all of them or none".into()));
        }
        let mut arrays = BTreeMap::new();
        for (array, growing) in std::mem::take(&mut self.arrays) {
            arrays.insert(array, growing.finish()?);
        }
        let mut numbered_before = None;
        if let Some(gold) = arrays.get_mut(&Array::Gold) {
            let new = renumbered(self.folder(), gold, &rank)?;
            numbered_before = Some(std::mem::replace(gold, new).file).filter(|file| *file != gold.file);
        }
        let summary = Summary { labels, label_sets, label_shares, transitions, triples, labelled, settings, arrays };
        self.settle(&summary, numbered_before)
    }

    /// Writes the summary, removes the file of the labels before they were renumbered, and gives a new folder its name.
    fn settle(self, summary: &Summary, numbered_before: Option<String>) -> Result<()> {
        summary.write(self.folder())?;
        if let Some(file) = numbered_before {
            // The corpus does not need this file: it is harmless if it cannot be removed.
            let _ = fs::remove_file(self.folder().join(file));
        }
        match self.place {
            Place::Old(mut continued) => {
                continued.completed = true;
                Ok(())
            }
            Place::New { temporary, path, _lock } => {
                let fail = |source| Error::io(&path, source);
                open_to_others(temporary.path()).map_err(fail)?;
                replace_folder(temporary.path(), &path).map_err(fail)?;
                // Nothing has its name any more.
                let _ = temporary.keep();
                Ok(())
            }
        }
    }
}

/// An error that names the corpus in place of its temporary folder.
fn named((temporary, path): (PathBuf, PathBuf), error: Error) -> Error {
    match error {
        Error::Io { path: file, source } if Path::new(&file).starts_with(&temporary) => Error::io(path, source),
        other => other,
    }
}

/// Gives a folder that was created for its owner only the permissions of any new folder.
#[cfg(unix)]
fn open_to_others(folder: &Path) -> std::io::Result<()> {
    let probe = folder.join("permissions");
    fs::create_dir(&probe)?;
    let permissions = fs::metadata(&probe)?.permissions();
    fs::remove_dir(&probe)?;
    fs::set_permissions(folder, permissions)
}

#[cfg(not(unix))]
fn open_to_others(_made: &Path) -> std::io::Result<()> {
    Ok(())
}

/// The name of the file of renumbered labels.
fn renumbered_name(stored: &Stored) -> String {
    let number = stored.file.strip_prefix("gold-").and_then(|name| name.strip_suffix(".u32"));
    let number = number.and_then(|number| number.parse::<u64>().ok()).unwrap_or(1);
    format!("gold-{}.u32", number.saturating_add(1))
}

/// Renumbers the labels of the tokens: they go to a new file, because other programs may be reading the old one.
fn renumbered(folder: &Path, gold: &Stored, rank: &[u32]) -> Result<Stored> {
    if rank.iter().enumerate().all(|(old, &new)| old == new as usize) {
        return Ok(gold.clone());
    }
    let path = folder.join(&gold.file);
    let fail = |source| Error::io(&path, source);
    let mut file = open_regular(&path)?;
    let mut growing = Growing::new(folder, renumbered_name(gold))?;
    let (mut numbers, mut left) = (vec![0u32; COPIED / 4], gold.bytes);
    while left > 0 {
        let now = left.min(COPIED);
        let some = &mut numbers[..now / 4];
        file.read_exact(cast_slice_mut(some)).map_err(fail)?;
        if some.iter().any(|&label| label < FIRST_SET && label as usize >= rank.len()) {
            return Err(damaged(&path, "a label has no name"));
        }
        some.iter_mut().for_each(|label| *label = ranked(*label, rank));
        growing.extend(some)?;
        left -= now;
    }
    growing.finish()
}

/// Writes a corpus to disk; replaces an existing corpus.
pub fn save(corpus: &Corpus, path: &Path, settings: Value) -> Result<()> {
    corpus.check_indices(path)?;
    let mut writer = Writer::create(path)?;
    let mut counts = vec![0u64; corpus.labels.len()];
    corpus.gold.iter().filter(|&&label| label < FIRST_SET).for_each(|&label| counts[label as usize] += 1);
    let labels: Vec<(String, u64)> = corpus.labels.iter().cloned().zip(counts).collect();
    writer.assembly =
        Assembly::continued(Alphabet::clone(&corpus.attributes), &labels, (&corpus.label_sets, &corpus.label_shares));
    writer.write_numbers(&corpus.sentence_ends, Array::SentenceEnds)?;
    writer.write_numbers(&corpus.states.ends, Array::StateEnds)?;
    writer.array(Array::StateIds)?.extend(&corpus.states.ids)?;
    let stored = [(Array::Values, &corpus.values), (Array::Weights, &corpus.weights), (Array::Costs, &corpus.costs)];
    for (array, numbers) in stored {
        if !numbers.is_empty() {
            writer.array(array)?.extend(numbers)?;
        }
    }
    if !corpus.bigrams.ids.is_empty() {
        writer.write_numbers(&corpus.bigrams.ends, Array::BigramEnds)?;
        writer.array(Array::BigramIds)?.extend(&corpus.bigrams.ids)?;
    }
    if !corpus.gold.is_empty() {
        writer.array(Array::Gold)?.extend(&corpus.gold)?;
    }
    (writer.sentences, writer.tokens) = (corpus.n_sentences(), corpus.n_tokens());
    writer.finish([corpus.transitions, corpus.triples, corpus.labelled], settings)
}
