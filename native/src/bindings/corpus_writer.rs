//! `CorpusWriter`: encodes texts into a corpus on disk, in bounded memory.

use crate::bindings::data::{Columns, Corpus, Noticed, Text, layout, noticed, parsed};
use crate::bindings::interrupt::interruptible;
use crate::corpus::counting::{Counter, Kept};
use crate::corpus::folder::Writer;
use crate::corpus::notes::Notes;
use crate::error::{Error, Result};
use crate::text::arriving::source;
use crate::text::encode::for_each_piece;
use crate::text::labels::Labels;
use crate::threads::{self, locked};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A corpus that is being written. Other threads may read its properties meanwhile.
#[pyclass(frozen, module = "loglinear._core")]
pub struct CorpusWriter {
    state: Mutex<State>,
    n_sentences: AtomicUsize,
    n_tokens: AtomicUsize,
}

struct State {
    /// None once the corpus is finished.
    writer: Option<Writer>,
    counter: Counter,
    /// The attributes that occur often enough; None, for all, if they have not been counted.
    frequent: Option<Kept>,
    /// `Corpus::transitions`, `triples` and `labelled` of the first sentences.
    flags: Option<[bool; 3]>,
}

impl CorpusWriter {
    fn of(writer: Writer) -> CorpusWriter {
        let state = State { writer: Some(writer), counter: Counter::default(), frequent: None, flags: None };
        CorpusWriter { state: Mutex::new(state), n_sentences: AtomicUsize::new(0), n_tokens: AtomicUsize::new(0) }
    }
}

impl State {
    fn writer(&mut self) -> Result<&mut Writer> {
        self.writer.as_mut().ok_or_else(|| Error::Option("the corpus is already finished".into()))
    }

    /// Records the flags of more sentences. Error: some sentences have labels and others do not.
    fn take(&mut self, flags: [bool; 3]) -> Result<()> {
        let [transitions, triples, labelled] = *self.flags.get_or_insert(flags);
        if labelled != flags[2] {
            return Err(Error::Data("some sentences have labels and others do not; label all of them or none".into()));
        }
        if [transitions, triples] != flags[..2] {
            return Err(Error::Data("the sentences were encoded with different templates".into()));
        }
        Ok(())
    }
}

#[pymethods]
impl CorpusWriter {
    /// A new corpus, which replaces an existing one.
    #[staticmethod]
    fn create(path: PathBuf) -> PyResult<Self> {
        Ok(CorpusWriter::of(Writer::create(&path)?))
    }

    /// The continuation of a corpus.
    #[staticmethod]
    fn append(path: PathBuf) -> PyResult<Self> {
        let writer = Writer::append(&path)?;
        let flags = writer.flags();
        let writer = CorpusWriter::of(writer);
        locked(&writer.state).flags = flags;
        Ok(writer)
    }

    /// The settings (JSON) of the corpus that is continued; `null` for a new corpus.
    #[getter]
    fn settings(&self) -> PyResult<String> {
        Ok(locked(&self.state).writer()?.settings().to_string())
    }

    /// Sentences that were read so far.
    #[getter]
    fn n_sentences(&self) -> usize {
        self.n_sentences.load(Ordering::Relaxed)
    }

    /// Tokens that were read so far.
    #[getter]
    fn n_tokens(&self) -> usize {
        self.n_tokens.load(Ordering::Relaxed)
    }

    /// Counts the attributes of a text; `read` reads its sentences again.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (path, format="columns", template=None, *, labels="none", columns=None, threads=0))]
    fn count(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: &str,
        template: Option<&str>,
        labels: &str,
        columns: Option<Columns>,
        threads: usize,
    ) -> PyResult<()> {
        let text = Text { path, format, template, labels: Labels::named(labels)?, layout: layout(columns)?, threads };
        text.read(py, |path, reading, interrupt| {
            let counter = &mut locked(&self.state).counter;
            for_each_piece(source(path, interrupt)?, reading, interrupt, |piece| {
                self.n_tokens.fetch_add(piece.n_tokens(), Ordering::Relaxed);
                counter.push(piece.token_counts())
            })
        })
    }

    /// Leaves out attributes that occur on fewer than `least` of the counted tokens; returns the number of attributes that
    /// remain.
    fn keep(&self, py: Python<'_>, least: u64) -> PyResult<usize> {
        self.n_tokens.store(0, Ordering::Relaxed);
        interruptible(py, |_| {
            let mut state = locked(&self.state);
            let frequent = std::mem::take(&mut state.counter).finish(least)?;
            let count = frequent.len();
            state.frequent = Some(frequent);
            Ok(count)
        })
    }

    /// Encodes a text; `-` is standard input. Returns what was noticed of it.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (path, format="columns", template=None, *, labels="whole", columns=None, threads=0))]
    fn read(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: &str,
        template: Option<&str>,
        labels: &str,
        columns: Option<Columns>,
        threads: usize,
    ) -> PyResult<Noticed> {
        let text = Text { path, format, template, labels: Labels::named(labels)?, layout: layout(columns)?, threads };
        text.read(py, |path, reading, interrupt| {
            let mut state = locked(&self.state);
            let (state, flags, mut notes) = (&mut *state, reading.flags(), Notes::default());
            for_each_piece(source(path, interrupt)?, reading, interrupt, |piece| {
                state.take(flags)?;
                notes.join(&piece.notes);
                self.n_sentences.fetch_add(piece.n_sentences(), Ordering::Relaxed);
                self.n_tokens.fetch_add(piece.n_tokens(), Ordering::Relaxed);
                let piece = match &state.frequent {
                    Some(frequent) => piece.keep(frequent),
                    None => piece,
                };
                state.writer()?.push(piece)
            })?;
            Ok(noticed(&notes))
        })
    }

    /// Appends the sentences of a corpus.
    fn push(&self, py: Python<'_>, corpus: &Corpus) -> PyResult<()> {
        let corpus = &corpus.inner;
        interruptible(py, |interrupt| {
            threads::pool(0)?.install(|| {
                corpus.check(interrupt)?;
                let mut state = locked(&self.state);
                state.take([corpus.transitions, corpus.triples, corpus.labelled])?;
                self.n_sentences.fetch_add(corpus.n_sentences(), Ordering::Relaxed);
                self.n_tokens.fetch_add(corpus.n_tokens(), Ordering::Relaxed);
                state.writer()?.push_corpus(corpus)
            })
        })
    }

    /// Completes the corpus and moves it to its place; `settings` is JSON.
    fn finish(&self, py: Python<'_>, settings: &str) -> PyResult<()> {
        let settings = parsed(settings)?;
        interruptible(py, |_| {
            let mut state = locked(&self.state);
            let flags = state.flags.unwrap_or([true, false, true]);
            let writer = state.writer.take().ok_or_else(|| Error::Option("the corpus is already finished".into()))?;
            writer.finish(flags, settings)
        })
    }

    /// Cancels: removes a new corpus, restores a continued one.
    fn abandon(&self) {
        drop(locked(&self.state).writer.take());
    }
}
