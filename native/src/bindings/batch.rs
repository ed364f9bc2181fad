//! Batches of sentences, from Python's lists and from Arrow arrays, labelled without a corpus.

use crate::bindings::arrow::export::{ArrowLabels, Column};
use crate::bindings::arrow::memory::ArrowData;
use crate::bindings::arrow::sentences::ArrowSentences;
use crate::bindings::collection::Paused;
use crate::bindings::errors::OptionError;
use crate::bindings::interrupt::interruptible_unless;
use crate::bindings::items::{ItemDialect, read_cells};
use crate::bindings::keyed::label_attributes;
use crate::bindings::model::{ChainModel, Rule};
use crate::chain::tagging::batch::{Labelled, Sentences, tag_batch};
use crate::corpus::UNKNOWN;
use crate::text::cells::{Texts, Width};
use crate::text::template::Template;
use crate::threads;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use std::ops::Range;

/// The most tokens of a batch that is labelled on the calling thread: waking another takes longer.
const FEW: usize = 500;

/// Sentences of Python's objects, copied.
#[derive(Default)]
struct Listed {
    texts: Texts,
    /// Cells of a token in `texts`.
    columns: usize,
    /// Sentence -> tokens of all sentences up to it.
    ends: Vec<usize>,
}

impl Listed {
    fn start(&self, sentence: usize) -> usize {
        if sentence == 0 { 0 } else { self.ends[sentence - 1] }
    }
}

impl Sentences for Listed {
    fn count(&self) -> usize {
        self.ends.len()
    }

    fn tokens(&self, sentence: usize) -> usize {
        self.ends[sentence] - self.start(sentence)
    }

    fn read<'a>(&'a self, sentence: usize, columns: usize, cells: &mut Vec<&'a [u8]>) {
        let tokens = self.start(sentence) * columns..self.ends[sentence] * columns;
        debug_assert_eq!(columns, self.columns);
        cells.extend(tokens.map(|cell| self.texts.get(cell)));
    }
}

/// Labels and probabilities of a list of sentences: a list of labels for each, and with `probabilities` the probability of each label
/// and the log-probability of all.
type OfLists<'py> = (Bound<'py, PyList>, Option<(Vec<Vec<f64>>, Vec<f64>)>);

/// Labels lists of sentences: of raw tokens if the model has a template, else of attributes. The interpreter is free meanwhile.
#[pyfunction]
#[pyo3(signature = (model, sentences, *, probabilities=false, threads=0))]
pub fn tag_lists<'py>(
    model: &Bound<'py, ChainModel>,
    sentences: &Bound<'py, PyAny>,
    probabilities: bool,
    threads: usize,
) -> PyResult<OfLists<'py>> {
    let (py, model) = (model.py(), model.get());
    let (labelled, ends) = labelled_lists(py, model, sentences, probabilities, threads)?;
    let of_tokens = || parts(&ends).map(|part| labelled.probabilities[part].to_vec()).collect();
    let sure = probabilities.then(|| (of_tokens(), labelled.log_probabilities.clone()));
    Ok((lists_of(py, model, &labelled.labels, &ends)?, sure))
}

/// A chunk of a list of sentences: the number of its sentence, its type, its first token, one past its last token.
type OfSentence<'py> = (usize, Bound<'py, PyString>, usize, usize);

/// The chunks in the best labels of lists of sentences, as `tag_lists` reads them, sentence by sentence and from left to right. Objects of
/// Python are made of the chunks alone.
#[pyfunction]
#[pyo3(signature = (model, sentences, rule, *, threads=0))]
pub fn chunk_lists<'py>(
    model: &Bound<'py, ChainModel>,
    sentences: &Bound<'py, PyAny>,
    rule: Rule,
    threads: usize,
) -> PyResult<Vec<OfSentence<'py>>> {
    let (py, model) = (model.py(), model.get());
    let rule = model.rule(rule)?;
    let (labelled, ends) = labelled_lists(py, model, sentences, false, threads)?;
    let types: Vec<Bound<'py, PyString>> = rule.types.iter().map(|name| PyString::intern(py, name)).collect();
    let mut chunks = Vec::new();
    for (sentence, part) in parts(&ends).enumerate() {
        let labels = &labelled.labels[part];
        // Where every labelling is forbidden, no label is known.
        if labels.first().is_none_or(|&label| label == UNKNOWN) {
            continue;
        }
        let of_sentence = rule.spans(labels).into_iter();
        chunks.extend(of_sentence.map(|span| (sentence, types[span.kind as usize].clone(), span.start, span.end)));
    }
    Ok(chunks)
}

/// The labels of lists of sentences, and the number of tokens of all sentences up to each.
fn labelled_lists(
    py: Python<'_>,
    model: &ChainModel,
    sentences: &Bound<'_, PyAny>,
    probabilities: bool,
    threads: usize,
) -> PyResult<(Labelled, Vec<usize>)> {
    let Some(template) = model.inner.template.as_deref() else {
        return label_attributes(model, sentences, ItemDialect::Strict, probabilities, threads);
    };
    let mut listed = Listed { columns: template.columns, ..Listed::default() };
    let (mut tokens, mut width) = (0, Width::of_training(model.inner.layout.trained));
    for (index, sentence) in sentences.try_iter()?.enumerate() {
        let read = read_cells(&sentence?, template.columns, &mut width, &mut listed.texts);
        tokens += read.map_err(|problem| problem.located(py, Some(index)))?;
        listed.ends.push(tokens);
    }
    Ok((tag(py, model, template, &listed, probabilities, threads)?, listed.ends))
}

/// Sentence -> its tokens, given the number of tokens of all sentences up to it.
fn parts(ends: &[usize]) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends).map(|(start, &end)| start..end)
}

/// A list of labels for each sentence.
pub fn lists_of<'py>(
    py: Python<'py>,
    model: &ChainModel,
    labels: &[u32],
    ends: &[usize],
) -> PyResult<Bound<'py, PyList>> {
    let _paused = Paused::new(py);
    let names = model.singles.names(py, &model.inner);
    let lists = parts(ends).map(|part| names.list(py, &labels[part])).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, lists)
}

/// Labels sentences of Arrow's data, which are read in place; the labels are a column of lists, or with `probabilities` a table with
/// the columns labels, probabilities and log_probability. A sentence that is null has no labels. The interpreter is free meanwhile.
#[pyfunction]
#[pyo3(signature = (model, column, label_type, *, probabilities=false, threads=0))]
pub fn tag_arrow(
    model: &Bound<'_, ChainModel>,
    column: &Bound<'_, PyAny>,
    label_type: &str,
    probabilities: bool,
    threads: usize,
) -> PyResult<ArrowLabels> {
    let (py, model) = (model.py(), model.get());
    let template = template_of(model)?;
    let data = ArrowData::of(column)?;
    let sentences = ArrowSentences::of(&data, template.columns, model.inner.layout.trained)?;
    let labelled = tag(py, model, template, &sentences, probabilities, threads)?;
    let missing: Vec<bool> = (0..sentences.count()).map(|sentence| sentences.is_null(sentence)).collect();
    let mut ends = vec![0];
    ends.extend((0..sentences.count()).scan(0, |end, sentence| {
        *end += sentences.tokens(sentence) as i64;
        Some(*end)
    }));
    let large = sentences.large || labelled.labels.len() > i32::MAX as usize;
    let list = |name: &str, items: Column| Column::lists(name, &ends, &missing, items, large);
    let labels = list("labels", Column::labels(&labelled.labels, &model.inner.labels, label_type));
    if !probabilities {
        return Ok(ArrowLabels::new(labels));
    }
    let all = vec![false; labelled.probabilities.len()];
    let columns = vec![
        labels,
        list("probabilities", Column::reals("item", &labelled.probabilities, &all)),
        Column::reals("log_probability", &labelled.log_probabilities, &missing),
    ];
    Ok(ArrowLabels::new(Column::table(columns, missing.len())))
}

fn template_of(model: &ChainModel) -> PyResult<&Template> {
    model.inner.template.as_deref().ok_or_else(|| {
        OptionError::new_err("the model has no template to form attributes from raw tokens; pass attributes instead")
    })
}

fn tag<S: Sentences>(
    py: Python<'_>,
    model: &ChainModel,
    template: &Template,
    sentences: &S,
    probabilities: bool,
    threads: usize,
) -> PyResult<Labelled> {
    let tokens: usize = (0..sentences.count()).map(|sentence| sentences.tokens(sentence)).sum();
    let quick = tokens < FEW;
    interruptible_unless(quick, py, |interrupt| {
        let work = || tag_batch(&model.inner, template, sentences, probabilities, interrupt);
        if quick { work() } else { threads::pool(threads)?.install(work) }
    })
}
