//! A classifier's objective from a corpus: its tokens never leave native memory.

use crate::bindings::arrays::{copied, integers, read};
use crate::bindings::classifier::ClassifierObjective;
use crate::bindings::data::Corpus;
use crate::bindings::interrupt::interruptible;
use crate::classifier::matrix::Design;
use crate::classifier::objective::Classifier;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::Arc;

/// The objective of a classifier whose samples are the tokens of a corpus, and the numbers of the attributes that are its
/// columns: those on `min_count` tokens or more. The other arguments are as for `ClassifierObjective`.
#[pyfunction]
#[pyo3(signature = (corpus, min_count, targets, weights=None, *, n_classes, intercept=None, scaled=false, threads=0))]
#[allow(clippy::too_many_arguments)]
pub fn classifier_of_corpus<'py>(
    py: Python<'py>,
    corpus: &Corpus,
    min_count: u32,
    targets: PyReadonlyArray1<'py, u32>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    n_classes: usize,
    intercept: Option<f64>,
    scaled: bool,
    threads: usize,
) -> PyResult<(ClassifierObjective, Bound<'py, PyArray1<i64>>)> {
    let targets = read(&targets)?.to_vec();
    let weights = copied(weights.as_ref())?;
    let (inner, columns) = interruptible(py, |_| {
        let (design, columns) = Design::of_corpus(&corpus.inner, min_count)?;
        let classifier = Classifier::new(Arc::new(design), targets, weights, n_classes, (intercept, scaled), threads)?;
        Ok((classifier, columns))
    })?;
    let columns = integers(py, columns.into_iter().map(|column| column as usize));
    Ok((ClassifierObjective::of(inner), columns))
}
