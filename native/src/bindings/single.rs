//! Single sentences of Python objects, labelled on the calling thread, without a corpus or a pool.

use crate::bindings::interrupt::interruptible;
use crate::bindings::items::{AttributeReader, ItemDialect, Problem, Reader};
use crate::chain::model::Model;
use crate::chain::tagging::sequence::{Sequence, SequenceScorer};
use crate::corpus::sink::Sink;
use crate::threads::{Interrupt, locked};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyString};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The work, in tokens * labels^2, from which inference lets other threads run Python. Such work takes about 0.1 ms. For less
/// it is not worth releasing the interpreter's lock, which a busy thread then holds for up to 5 ms.
const LONG: usize = 1 << 18;

/// Additions of an inference that is watched for Ctrl-C, from another thread: some tenths of a second.
const VERY_LONG: usize = 1 << 30;
/// Maximum number of spare buffers of a model: the number of threads that can label at the same time without making new
/// buffers.
const MOST_SPARE: usize = 64;

/// Buffers to read and label one sentence.
pub struct Buffers {
    pub sequence: Sequence,
    pub reader: AttributeReader,
}

/// Buffers that a tagger's threads share.
pub type Shared = Arc<Mutex<Buffers>>;

/// The names of a model's labels, as Python's strings and by name.
#[derive(Default)]
pub struct LabelNames {
    strings: Vec<Py<PyString>>,
    numbers: HashMap<String, u32>,
}

/// What a model stores for labelling single sentences: spare buffers and the names of its labels.
#[derive(Default)]
pub struct Singles {
    names: PyOnceLock<LabelNames>,
    /// Locked only by holders of the interpreter's lock, and never while Python code runs.
    spare: Mutex<Vec<Shared>>,
}

impl Singles {
    /// The names of the model's labels.
    pub fn names(&self, py: Python<'_>, model: &Model) -> &LabelNames {
        self.names.get_or_init(py, || LabelNames {
            strings: model.labels.iter().map(|label| PyString::intern(py, label).unbind()).collect(),
            numbers: model.labels.iter().cloned().zip(0..).collect(),
        })
    }

    /// Buffers that nobody else has.
    pub fn take(&self, model: &Model) -> Shared {
        let spare = locked(&self.spare).pop();
        spare.unwrap_or_else(|| {
            let (sequence, reader) =
                (Sequence::new(model), AttributeReader::new(ItemDialect::Strict, model.layout.tokens));
            Arc::new(Mutex::new(Buffers { sequence, reader }))
        })
    }

    /// Stores buffers for the next sentence, unless they are still in use elsewhere.
    pub fn give_back(&self, mut buffers: Shared) {
        let mut spare = locked(&self.spare);
        if Arc::get_mut(&mut buffers).is_some() && spare.len() < MOST_SPARE {
            spare.push(buffers);
        }
    }
}

impl LabelNames {
    /// The number of a label.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The name of a label; None where there is no label.
    pub fn name<'py>(&self, py: Python<'py>, label: u32) -> Option<&Bound<'py, PyString>> {
        self.strings.get(label as usize).map(|name| name.bind(py))
    }

    /// A list of labels; None where there is no label, as when every labelling is forbidden.
    pub fn list<'py>(&self, py: Python<'py>, labels: &[u32]) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, labels.iter().map(|&label| self.name(py, label)))
    }

    /// All labels.
    pub fn all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.strings.iter().map(|name| name.bind(py)))
    }
}

/// The buffers themselves. They must be fresh from `Singles::take`.
pub fn exclusive(shared: &mut Shared) -> &mut Buffers {
    let mutex = Arc::get_mut(shared).expect("buffers that nobody else has");
    mutex.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Runs inference over `tokens` tokens. If it is long, other threads may run Python meanwhile, and Ctrl-C ends it.
pub fn inferred<T: Send>(
    py: Python<'_>,
    model: &Model,
    tokens: usize,
    infer: impl FnOnce(&Interrupt) -> crate::error::Result<T> + Send,
) -> PyResult<T> {
    if model.operations(tokens) > VERY_LONG {
        return interruptible(py, infer);
    }
    let infer = || infer(&Interrupt::default());
    Ok(if is_long(model, tokens) { py.detach(infer) } else { infer() }?)
}

/// Whether inference over `tokens` tokens is slow.
pub fn is_long(model: &Model, tokens: usize) -> bool {
    model.operations(tokens) > LONG
}

impl Singles {
    /// Reads a sentence in the strict dialect, or tokens of the template's columns, and calls `answer` with it.
    fn with_sentence<T>(
        &self,
        model: &Model,
        sentence: &Bound<'_, PyAny>,
        answer: impl FnOnce(&mut Sequence) -> PyResult<T>,
    ) -> Result<T, Problem> {
        let mut shared = self.take(model);
        let Buffers { sequence, reader } = exclusive(&mut shared);
        let mut scorer = SequenceScorer::new(model, sequence);
        let read = match model.template.as_deref() {
            Some(template) => Reader::new(Some(template), model.layout).sentence(sentence, &mut scorer, |_| None),
            None => {
                reader.dialect = ItemDialect::Strict;
                reader.sentence(sentence, &mut scorer, |_| None)
            }
        };
        scorer.end_sentence(1.0);
        let answer = read.and_then(|_| Ok(answer(sequence)?));
        self.give_back(shared);
        answer
    }

    /// The best labels of a sentence.
    pub fn labels_of<'py>(&self, model: &Model, sentence: &Bound<'py, PyAny>) -> Result<Bound<'py, PyList>, Problem> {
        let py = sentence.py();
        self.with_sentence(model, sentence, |sequence| {
            let tokens = sequence.tokens();
            inferred(py, model, tokens, |interrupt| {
                sequence.heeding(interrupt, |sequence| _ = sequence.best_labels(model))
            })?;
            self.names(py, model).list(py, sequence.best_labels(model))
        })
    }

    /// The probabilities of the labels at each token of a sentence.
    pub fn marginals_of(&self, model: &Model, sentence: &Bound<'_, PyAny>) -> Result<Vec<Vec<f64>>, Problem> {
        let py = sentence.py();
        self.with_sentence(model, sentence, |sequence| {
            inferred(py, model, sequence.tokens(), |interrupt| {
                sequence.heeding(interrupt, |sequence| sequence.infer(model))
            })?;
            let lattice = &sequence.lattice;
            let rows = lattice.marginals.chunks_exact(lattice.width()).take(lattice.tokens);
            Ok(rows.map(|row| row[..model.labels.len()].to_vec()).collect())
        })
    }
}
