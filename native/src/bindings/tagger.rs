//! `SequenceTagger`: a model and the last sentence, like python-crfsuite's Tagger.

use crate::bindings::batch::lists_of;
use crate::bindings::item_sequence::read_attributes;
use crate::bindings::items::ItemDialect;
use crate::bindings::keyed::label_attributes;
use crate::bindings::model::ChainModel;
use crate::bindings::single::{Buffers, Shared, exclusive, inferred};
use crate::chain::tagging::sequence::{Sequence, SequenceScorer};
use crate::corpus::sink::Sink;
use crate::threads::locked;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use std::sync::Mutex;

/// A model, and the sentence that calls without a sentence refer to.
#[derive(Default)]
struct State {
    model: Option<Py<ChainModel>>,
    sentence: Option<Shared>,
}

/// Labels sentences of items in python-crfsuite's dialect, one after the other. Any number of threads may use it at once: each
/// call of `tag` labels the sentence passed to it, and the latest sentence is remembered.
#[pyclass(frozen, subclass, module = "loglinear._core")]
#[derive(Default)]
pub struct SequenceTagger {
    /// Locked for as long as it takes to read or replace a pointer; no Python code runs meanwhile.
    state: Mutex<State>,
}

#[pymethods]
impl SequenceTagger {
    /// Subclasses may take additional arguments.
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(_arguments: &Bound<'_, PyTuple>, _keywords: Option<&Bound<'_, PyDict>>) -> Self {
        SequenceTagger::default()
    }

    /// The model; None before it is opened, and once it is closed.
    #[getter]
    fn _model(&self, py: Python<'_>) -> Option<Py<ChainModel>> {
        locked(&self.state).model.as_ref().map(|model| model.clone_ref(py))
    }

    /// Replaces the model, or removes it, and forgets the sentence.
    fn _use(&self, model: Option<Py<ChainModel>>) {
        let fresh = State { model, sentence: None };
        // What was there is dropped without the lock.
        let _before = std::mem::replace(&mut *locked(&self.state), fresh);
    }

    /// The labels, in the model's order.
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let model = self.opened(py)?;
        model.get().singles.names(py, &model.get().inner).all(py)
    }

    /// Reads and remembers a sentence.
    fn set(&self, py: Python<'_>, xseq: &Bound<'_, PyAny>) -> PyResult<()> {
        self.read(py, xseq, |_, _| Ok(()))
    }

    /// The best labels of a sentence, or of the last one; a new list each time.
    #[pyo3(signature = (xseq=None))]
    fn tag<'py>(&self, py: Python<'py>, xseq: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyList>> {
        match xseq {
            Some(xseq) => self.read(py, xseq, |model, buffers| {
                let (sequence, model) = (&mut buffers.sequence, model.get());
                inferred(py, &model.inner, sequence.tokens(), |interrupt| {
                    sequence.heeding(interrupt, |sequence| _ = sequence.best_labels(&model.inner))
                })?;
                model.singles.names(py, &model.inner).list(py, sequence.best_labels(&model.inner))
            }),
            None => {
                let (model, sentence) = self.last(py)?;
                let Some(sentence) = sentence else { return Ok(PyList::empty(py)) };
                let model = model.get();
                let labels = ask(py, model, &sentence, |sequence| sequence.best_labels(&model.inner).to_vec())?;
                model.singles.names(py, &model.inner).list(py, &labels)
            }
        }
    }

    /// The best labels of each of many sentences; the last sentence is unchanged.
    fn _tag_all<'py>(&self, py: Python<'py>, xseqs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let model = self.opened(py)?;
        let (labelled, ends) = label_attributes(model.get(), xseqs, ItemDialect::Crfsuite, false, 0)?;
        lists_of(py, model.get(), &labelled.labels, &ends)
    }

    /// p(labels | last sentence); 0 for a sentence without tokens.
    fn probability(&self, py: Python<'_>, yseq: &Bound<'_, PyAny>) -> PyResult<f64> {
        let names: Vec<Bound<'_, PyAny>> = yseq.try_iter()?.collect::<PyResult<_>>()?;
        let (model, sentence) = self.last(py)?;
        let Some((sentence, tokens)) = unless_empty(sentence) else { return Ok(0.0) };
        if names.len() != tokens {
            let message = format!("the numbers of items and labels differ: {tokens} items, {} labels", names.len());
            return Err(PyValueError::new_err(message));
        }
        let labels: Vec<u32> = names.iter().map(|name| label(model.get(), name)).collect::<PyResult<_>>()?;
        let model = model.get();
        let log_p = ask(py, model, &sentence, |sequence| sequence.log_probability(&model.inner, &labels))?;
        Ok(log_p.exp())
    }

    /// p(label at a token | last sentence); 0 for a sentence without tokens.
    fn marginal(&self, py: Python<'_>, y: &Bound<'_, PyAny>, pos: isize) -> PyResult<f64> {
        let (model, sentence) = self.last(py)?;
        let Some((sentence, tokens)) = unless_empty(sentence) else { return Ok(0.0) };
        let Some(token) = usize::try_from(pos).ok().filter(|&token| token < tokens) else {
            return Err(PyValueError::new_err(format!("position {pos} is out of range for {tokens} items")));
        };
        let (label, model) = (label(model.get(), y)? as usize, model.get());
        ask(py, model, &sentence, |sequence| sequence.marginal(&model.inner, token, label))
    }
}

impl SequenceTagger {
    fn opened<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, ChainModel>> {
        self.last(py).map(|(model, _)| model)
    }

    /// The model and the last sentence.
    fn last<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, ChainModel>, Option<Shared>)> {
        let state = locked(&self.state);
        match &state.model {
            Some(model) => Ok((model.bind(py).clone(), state.sentence.clone())),
            None => {
                Err(PyValueError::new_err("the tagger has no model; open one with Tagger.open or Tagger.open_inmemory"))
            }
        }
    }

    /// Reads a sentence, calls `answer` with the model and the sentence, and remembers the sentence.
    fn read<'py, T>(
        &self,
        py: Python<'py>,
        xseq: &Bound<'py, PyAny>,
        answer: impl FnOnce(&Bound<'py, ChainModel>, &mut Buffers) -> PyResult<T>,
    ) -> PyResult<T> {
        let model = self.opened(py)?;
        let (singles, inner) = (&model.get().singles, &model.get().inner);
        let mut shared = singles.take(inner);
        let buffers = exclusive(&mut shared);
        buffers.reader.dialect = ItemDialect::Crfsuite;
        let mut scorer = SequenceScorer::new(inner, &mut buffers.sequence);
        let read = read_attributes(&mut buffers.reader, xseq, &mut scorer, |_| None);
        scorer.end_sentence(1.0);
        if let Err(problem) = read {
            singles.give_back(shared);
            return Err(problem.located(py, None));
        }
        let answer = answer(&model, buffers);
        let before = {
            let mut state = locked(&self.state);
            match &state.model {
                Some(now) if now.is(&model) => state.sentence.replace(shared),
                // Meanwhile another thread has opened another model.
                _ => None,
            }
        };
        if let Some(before) = before {
            singles.give_back(before);
        }
        answer
    }
}

/// A sentence with its number of tokens, unless it is missing or has no tokens.
fn unless_empty(sentence: Option<Shared>) -> Option<(Shared, usize)> {
    let sentence = sentence?;
    let tokens = locked(&sentence).sequence.tokens();
    (tokens > 0).then_some((sentence, tokens))
}

/// Computes an answer about a sentence that other threads may also use. The lock on the sentence is never held while the thread
/// waits for the interpreter's lock.
fn ask<T: Send>(
    py: Python<'_>,
    model: &ChainModel,
    sentence: &Shared,
    question: impl FnOnce(&mut Sequence) -> T + Send,
) -> PyResult<T> {
    let tokens = locked(sentence).sequence.tokens();
    inferred(py, &model.inner, tokens, |interrupt| locked(sentence).sequence.heeding(interrupt, question))
}

/// The number of a label, given as str or bytes. Errors: the model has no such label; it is neither str nor bytes.
fn label(model: &ChainModel, name: &Bound<'_, PyAny>) -> PyResult<u32> {
    let names = model.singles.names(name.py(), &model.inner);
    let number = if let Ok(text) = name.cast::<PyString>() {
        names.number(text.to_str()?)
    } else if let Ok(bytes) = name.cast::<PyBytes>() {
        std::str::from_utf8(bytes.as_bytes()).ok().and_then(|name| names.number(name))
    } else {
        return Err(PyTypeError::new_err(format!("a label must be a str or bytes, not {}", name.get_type().name()?)));
    };
    number.ok_or_else(|| PyRuntimeError::new_err(format!("the model has no label {name}")))
}
