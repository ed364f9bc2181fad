//! Many sentences of Python objects that hold attributes: the calling thread reads them while other threads label the sentences
//! read so far.

use crate::bindings::interrupt::{PERIOD, detached};
use crate::bindings::item_sequence::read_attributes;
use crate::bindings::items::{AttributeReader, ItemDialect};
use crate::bindings::model::ChainModel;
use crate::bindings::single::{exclusive, inferred, is_long};
use crate::chain::model::Model;
use crate::chain::tagging::batch::Labelled;
use crate::chain::tagging::keyed::KeyedSentences;
use crate::chain::tagging::sequence::Sequence;
use crate::corpus::sink::Sink;
use crate::error::Result;
use crate::threads::{self, Interrupt, locked};
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};

/// Number of tokens that a thread labels at a time; fewer if their inference is slow.
const PIECE: usize = 1000;
/// Maximum number of waiting pieces per thread.
const WAITING: usize = 8;

/// Sentences that are read one by one.
struct Reading {
    sentences: Py<PyIterator>,
    reader: AttributeReader,
    /// Sentence -> tokens of all sentences up to it.
    ends: Vec<usize>,
}

impl Reading {
    /// Reads the next sentences; returns whether there may be more. `piece` is empty before.
    fn piece(&mut self, py: Python<'_>, model: &Model, piece: &mut KeyedSentences) -> PyResult<bool> {
        let before = self.ends.last().copied().unwrap_or(0);
        for sentence in self.sentences.bind(py) {
            let read = read_attributes(&mut self.reader, &sentence?, piece, |_| None);
            read.map_err(|problem| problem.located(py, Some(self.ends.len())))?;
            piece.end_sentence(1.0);
            self.ends.push(before + piece.tokens());
            if piece.tokens() >= PIECE || is_long(model, piece.tokens()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Labels sentences of attributes. Returns the labels, and for each sentence the number of tokens of all sentences up to it.
/// Other threads are not used for a few short sentences.
pub fn label_attributes(
    model: &ChainModel,
    sentences: &Bound<'_, PyAny>,
    dialect: ItemDialect,
    probabilities: bool,
    threads: usize,
) -> PyResult<(Labelled, Vec<usize>)> {
    let (py, inner) = (sentences.py(), &model.inner);
    let sentences = sentences.try_iter()?.unbind();
    let mut reading =
        Reading { sentences, reader: AttributeReader::new(dialect, inner.layout.tokens), ends: Vec::new() };
    let mut piece = KeyedSentences::default();
    let mut more = reading.piece(py, inner, &mut piece)?;
    if more && threads::count(threads) > 1 {
        return label_while_reading(py, inner, piece, reading, probabilities, threads);
    }
    let mut buffers = model.singles.take(inner);
    let sequence = &mut exclusive(&mut buffers).sequence;
    let mut labelled = Labelled::default();
    loop {
        labelled.append(inferred(py, inner, piece.tokens(), |interrupt| {
            sequence.heeding(interrupt, |sequence| piece.label(inner, sequence, probabilities))
        })?);
        if !more {
            break;
        }
        py.check_signals()?;
        piece.clear();
        more = reading.piece(py, inner, &mut piece)?;
    }
    model.singles.give_back(buffers);
    Ok((labelled, reading.ends))
}

/// `label_attributes` after the first piece, on a pool of threads.
fn label_while_reading(
    py: Python<'_>,
    model: &Model,
    mut piece: KeyedSentences,
    mut reading: Reading,
    probabilities: bool,
    threads: usize,
) -> PyResult<(Labelled, Vec<usize>)> {
    let pool = threads::pool(threads)?;
    let most_waiting = WAITING * pool.n_threads();
    let waiting = AtomicUsize::new(0);
    let (pieces, sequences) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let (all, mut more) = (Mutex::new(Vec::new()), true);
    let label = |number: usize, mut piece: KeyedSentences, interrupt: &Interrupt| -> Result<()> {
        let spare = locked(&sequences).pop();
        let mut sequence = spare.unwrap_or_else(|| Sequence::new(model));
        let labelled = sequence.heeding(interrupt, |sequence| piece.label(model, sequence, probabilities))?;
        piece.clear();
        locked(&all).push((number, labelled));
        locked(&pieces).push(piece);
        locked(&sequences).push(sequence);
        Ok(())
    };
    let stop = Interrupt::default();
    let ends = detached(py, || {
        let (label, waiting, stop) = (&label, &waiting, &stop);
        pool.scope(|scope| {
            let read = |py: Python<'_>| {
                // Nothing is sent: each piece that waits or is at work holds a sender.
                let (at_work, done) = channel::<()>();
                let done = Mutex::new(done);
                for number in 0.. {
                    if waiting.load(Ordering::Relaxed) < most_waiting {
                        waiting.fetch_add(1, Ordering::Relaxed);
                        let at_work = at_work.clone();
                        scope.spawn(move |_| {
                            // The error says that it was interrupted, as `read` does.
                            _ = label(number, piece, stop);
                            waiting.fetch_sub(1, Ordering::Relaxed);
                            drop(at_work);
                        });
                    } else {
                        inferred(py, model, piece.tokens(), |interrupt| label(number, piece, interrupt))?;
                    }
                    if !more {
                        break;
                    }
                    py.check_signals()?;
                    piece = locked(&pieces).pop().unwrap_or_default();
                    more = reading.piece(py, model, &mut piece)?;
                }
                drop(at_work);
                while py.detach(|| locked(&done).recv_timeout(PERIOD)) == Err(RecvTimeoutError::Timeout) {
                    py.check_signals()?;
                }
                Ok(reading.ends)
            };
            Python::attach(read).inspect_err(|_| stop.set())
        })
    })?;
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.sort_unstable_by_key(|&(number, _)| number);
    let mut labelled = Labelled::default();
    all.into_iter().for_each(|(_, piece)| labelled.append(piece));
    Ok((labelled, ends))
}
