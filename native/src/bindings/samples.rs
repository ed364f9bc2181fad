//! A classifier's objective from a corpus: its tokens never leave native memory.

use crate::bindings::arrays::{copied, integers, read};
use crate::bindings::classifier::ClassifierObjective;
use crate::bindings::data::Corpus;
use crate::bindings::errors::DataError;
use crate::bindings::interrupt::interruptible;
use crate::classifier::matrix::Design;
use crate::classifier::objective::Classifier;
use crate::text::labels::checked_shares;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::Arc;

/// The probabilities of labels divided by their sum, which is 1 but for rounding. Error: they are not a distribution.
#[pyfunction]
pub fn checked_probabilities(probabilities: Vec<f64>) -> PyResult<Vec<f64>> {
    let shares = checked_shares(probabilities.into_iter().enumerate().collect()).map_err(DataError::new_err)?;
    Ok(shares.into_iter().map(|(_, share)| share).collect())
}

/// The objective of a classifier whose samples are the tokens of a corpus, and the numbers of the attributes that are its
/// columns: those on `min_count` tokens or more, of the tokens that are `counted`. The other arguments are as for `ClassifierObjective`.
#[pyfunction]
#[pyo3(signature = (corpus, min_count, targets, weights=None, counted=None, *, n_classes, intercept=None, scaled=false, threads=0))]
#[allow(clippy::too_many_arguments)]
pub fn classifier_of_corpus<'py>(
    py: Python<'py>,
    corpus: &Corpus,
    min_count: u32,
    targets: PyReadonlyArray1<'py, u32>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    counted: Option<PyReadonlyArray1<'py, bool>>,
    n_classes: usize,
    intercept: Option<f64>,
    scaled: bool,
    threads: usize,
) -> PyResult<(ClassifierObjective, Bound<'py, PyArray1<i64>>)> {
    let targets = read(&targets)?.to_vec();
    let (weights, counted) = (copied(weights.as_ref())?, counted.as_ref().map(read).transpose()?.map(<[_]>::to_vec));
    let (inner, columns) = interruptible(py, |_| {
        let (design, columns) = Design::of_corpus(&corpus.inner, min_count, counted.as_deref())?;
        let classifier = Classifier::new(Arc::new(design), targets, weights, n_classes, (intercept, scaled), threads)?;
        Ok((classifier, columns))
    })?;
    let columns = integers(py, columns.into_iter().map(|column| column as usize));
    Ok((ClassifierObjective::of(inner), columns))
}
