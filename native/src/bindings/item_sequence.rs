//! `ItemSequence`: a sentence that is read once and passed to any number of taggers and trainers.

use crate::bindings::items::{AttributeReader, ItemDialect, Problem};
use crate::corpus::notes::Tokens;
use crate::corpus::sink::{Gold, Sink};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// An attribute of a token, as a sink gets it.
struct Attribute {
    /// Where its name ends in `Recording::names`.
    name_end: usize,
    key: u64,
    value: f64,
}

/// A sink that keeps the state attributes of one sentence.
#[derive(Default)]
struct Recording {
    names: Vec<u8>,
    attributes: Vec<Attribute>,
    /// The end of each token's attributes.
    ends: Vec<usize>,
}

impl Sink for Recording {
    fn state(&mut self, key: u64, value: f64, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.names);
        self.attributes.push(Attribute { name_end: self.names.len(), key, value });
    }

    /// Attributes without a template have no bigrams.
    fn bigram(&mut self, _key: u64, _write: impl FnOnce(&mut Vec<u8>)) {}

    fn end_token(&mut self, _label: Option<Gold<'_>>) {
        self.ends.push(self.attributes.len());
    }

    fn end_sentence(&mut self, _weight: f64) {}
}

impl Recording {
    /// The names and attributes of each token.
    fn tokens(&self) -> impl Iterator<Item = impl Iterator<Item = (&[u8], &Attribute)>> {
        let start_of = |at: usize| if at == 0 { 0 } else { self.attributes[at - 1].name_end };
        let named = move |at: usize| (&self.names[start_of(at)..self.attributes[at].name_end], &self.attributes[at]);
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(move |(start, &end)| (start..end).map(named))
    }
}

/// The attributes of a sentence's tokens, in python-crfsuite's dialect.
#[pyclass(frozen, subclass, module = "loglinear._core")]
pub struct ItemSequence {
    recording: Recording,
}

#[pymethods]
impl ItemSequence {
    #[new]
    fn new(pyseq: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut recording = Recording::default();
        let mut reader = AttributeReader::new(ItemDialect::Crfsuite, Tokens::default());
        read_attributes(&mut reader, pyseq, &mut recording, |_| None)
            .map_err(|problem| problem.located(pyseq.py(), None))?;
        Ok(ItemSequence { recording })
    }

    /// A dict of attributes and values for each token; of equal attributes the last one's value.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for token in self.recording.tokens() {
            let item = PyDict::new(py);
            for (name, attribute) in token {
                item.set_item(String::from_utf8_lossy(name), attribute.value)?;
            }
            list.append(item)?;
        }
        Ok(list)
    }

    fn __len__(&self) -> usize {
        self.recording.ends.len()
    }
}

/// `AttributeReader::sentence` of a sequence of tokens, or of an `ItemSequence` in python-crfsuite's dialect.
pub fn read_attributes<'l, S: Sink>(
    reader: &mut AttributeReader,
    sentence: &Bound<'_, PyAny>,
    sink: &mut S,
    label_of: impl Fn(usize) -> Option<Gold<'l>>,
) -> Result<usize, Problem> {
    match sentence.cast::<ItemSequence>() {
        Ok(recorded) if reader.dialect == ItemDialect::Crfsuite => {
            let recording = &recorded.get().recording;
            for (token, attributes) in recording.tokens().enumerate() {
                for (name, attribute) in attributes {
                    sink.state(attribute.key, attribute.value, |out| out.extend_from_slice(name));
                }
                sink.end_token(label_of(token));
            }
            Ok(recording.ends.len())
        }
        _ => reader.sentence(sentence, sink, label_of),
    }
}
