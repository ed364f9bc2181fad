//! `Instances`: sentences appended one by one, as by CRFsuite's trainer.

use crate::bindings::data::Corpus;
use crate::bindings::item_sequence::read_attributes;
use crate::bindings::items::{AttributeReader, ItemDialect};
use crate::corpus;
use crate::corpus::assembly::Builder;
use crate::corpus::notes::Tokens;
use crate::corpus::sink::{Gold, Sink};
use crate::threads;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::sync::Arc;

/// Labelled sentences, each with a group number, encoded when they are appended.
#[pyclass(module = "loglinear._core")]
pub struct Instances {
    reader: AttributeReader,
    builder: Builder,
    groups: Vec<i64>,
    /// The corpus of all sentences before the ones in `builder`, and its labels as they first appeared.
    assembled: Option<(Arc<corpus::Corpus>, Vec<String>)>,
}

#[pymethods]
impl Instances {
    #[new]
    fn new() -> Self {
        let reader = AttributeReader::new(ItemDialect::Crfsuite, Tokens::default());
        Instances { reader, builder: Builder::default(), groups: Vec::new(), assembled: None }
    }

    /// Appends a sentence of items, or an `ItemSequence`, and its labels, str or bytes. After an error nothing is appended.
    fn append(&mut self, items: &Bound<'_, PyAny>, labels: &Bound<'_, PyAny>, group: i64) -> PyResult<()> {
        let labels: Vec<Bound<'_, PyAny>> = labels.try_iter()?.collect::<PyResult<_>>()?;
        let names: Vec<&str> = labels.iter().map(name).collect::<PyResult<_>>()?;
        let mark = self.builder.mark();
        let gold = |token: usize| Some(names.get(token).map_or(Gold::Unknown, |name| Gold::Label(name.as_bytes())));
        let read = read_attributes(&mut self.reader, items, &mut self.builder, gold);
        let n_items = read.map_err(|problem| problem.located(items.py(), None)).inspect_err(|_| {
            self.builder.go_back(&mark);
        })?;
        if n_items != names.len() {
            self.builder.go_back(&mark);
            let message = format!("the numbers of items and labels differ: {n_items} items, {} labels", names.len());
            return Err(PyValueError::new_err(message));
        }
        self.builder.end_sentence(1.0);
        self.groups.push(group);
        Ok(())
    }

    fn __len__(&self) -> usize {
        self.groups.len()
    }

    /// The corpus of all sentences so far, and its labels as they first appeared.
    fn corpus(&mut self) -> PyResult<(Corpus, Vec<String>)> {
        if self.builder.n_sentences() > 0 || self.assembled.is_none() {
            let before =
                self.assembled.take().map(|(corpus, labels)| Builder::of(Arc::unwrap_or_clone(corpus), &labels));
            let mut order = before.as_ref().map_or_else(Vec::new, Builder::labels);
            let new = std::mem::take(&mut self.builder);
            order.extend(new.labels().into_iter().filter(|label| !order.contains(label)).collect::<Vec<_>>());
            let pieces = before.into_iter().chain([new]).collect();
            let mut corpus = threads::pool(1)?.install(|| corpus::Corpus::assemble(pieces))?;
            corpus.labelled = true;
            self.assembled = Some((Arc::new(corpus), order));
        }
        let (corpus, labels) = self.assembled.as_ref().expect("the corpus has just been made");
        Ok((Corpus { inner: Arc::clone(corpus) }, labels.clone()))
    }

    /// The number of each sentence's group.
    #[getter]
    fn groups(&self) -> Vec<i64> {
        self.groups.clone()
    }
}

/// The name of a label.
fn name<'a>(label: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    if let Ok(text) = label.cast::<PyString>() {
        return text.to_str();
    }
    let Ok(bytes) = label.cast::<PyBytes>() else {
        return Err(PyTypeError::new_err(format!("a label must be a str or bytes, not {}", label.get_type().name()?)));
    };
    std::str::from_utf8(bytes.as_bytes())
        .map_err(|error| PyValueError::new_err(format!("a label is not valid UTF-8: {error}")))
}
