//! A classifier's objective from a corpus: its tokens never leave native memory.

use crate::bindings::arrays::{copied, integers, numbers, read};
use crate::bindings::classifier::ClassifierObjective;
use crate::bindings::data::Corpus;
use crate::bindings::errors::DataError;
use crate::bindings::interrupt::interruptible;
use crate::classifier::matrix::Design;
use crate::classifier::objective::Classifier;
use crate::corpus::sink::Gold;
use crate::text::labels::{Labels, checked_shares};
use crate::threads;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyString};
use std::sync::Arc;

/// The probabilities of labels divided by their sum, which is 1 but for rounding. Error: they are not a distribution.
#[pyfunction]
pub fn checked_probabilities(probabilities: Vec<f64>) -> PyResult<Vec<f64>> {
    let shares = checked_shares(probabilities.into_iter().enumerate().collect()).map_err(DataError::new_err)?;
    Ok(shares.into_iter().map(|(_, share)| share).collect())
}

/// What a cell says of a label: a str, or for partial labels a frozenset of possible labels, a dict of probabilities, or None if it
/// is unknown. Error: the cell is neither.
#[pyfunction]
pub fn label_of_cell<'py>(py: Python<'py>, cell: &str, partial: bool) -> PyResult<Bound<'py, PyAny>> {
    let text = |name: &[u8]| PyString::new(py, &String::from_utf8_lossy(name));
    let labels = if partial { Labels::Partial } else { Labels::Whole };
    Ok(match labels.parse(cell.as_bytes()).map_err(DataError::new_err)? {
        Some(Gold::Label(name)) => text(name).into_any(),
        Some(Gold::OneOf(names)) => PyFrozenSet::new(py, names.into_iter().map(text))?.into_any(),
        Some(Gold::Soft(shares)) => {
            let dict = PyDict::new(py);
            shares.into_iter().try_for_each(|(name, share)| dict.set_item(text(name), share))?;
            dict.into_any()
        }
        Some(Gold::Unknown) | None => py.None().into_bound(py),
    })
}

/// The objective of a classifier whose samples are the tokens of a corpus, and the numbers of the attributes that are its
/// columns: those on `min_count` tokens or more. With `tokens`, sample i is token `tokens[i]`. The other arguments are as for
/// `ClassifierObjective`.
#[pyfunction]
#[pyo3(signature = (corpus, min_count, targets, weights=None, tokens=None, *, n_classes, intercept=None, scaled=false, threads=0))]
#[allow(clippy::too_many_arguments)]
pub fn classifier_of_corpus<'py>(
    py: Python<'py>,
    corpus: &Corpus,
    min_count: u32,
    targets: PyReadonlyArray1<'py, u32>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    tokens: Option<PyReadonlyArray1<'py, i64>>,
    n_classes: usize,
    intercept: Option<f64>,
    scaled: bool,
    threads: usize,
) -> PyResult<(ClassifierObjective, Bound<'py, PyArray1<i64>>)> {
    let targets = read(&targets)?.to_vec();
    let weights = copied(weights.as_ref())?;
    let tokens = tokens.as_ref().map(|tokens| numbers("tokens", tokens, corpus.inner.n_tokens())).transpose()?;
    let (inner, columns) = interruptible(py, |interrupt| {
        threads::pool(threads)?.install(|| corpus.inner.check(interrupt))?;
        let (design, columns) = Design::of_corpus(&corpus.inner, min_count)?;
        let design = if let Some(tokens) = tokens { design.select(&tokens) } else { design };
        let classifier = Classifier::new(Arc::new(design), targets, weights, n_classes, (intercept, scaled), threads)?;
        Ok((classifier, columns))
    })?;
    let columns = integers(py, columns.into_iter().map(|column| column as usize));
    Ok((ClassifierObjective::of(inner), columns))
}
