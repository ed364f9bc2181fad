//! Parts of a data set: their counts, the features of the whole data set, the objective of a part; ranges of files.

use crate::bindings::arrays::{ascending, numbers, read, weights, written};
use crate::bindings::classes::{ChainObjective, class_weights_of};
use crate::bindings::data::{Corpus, names_of};
use crate::bindings::errors::OptionError;
use crate::bindings::interrupt::interruptible;
use crate::bindings::model::{self, ChainModel};
use crate::bindings::objective::{Objective, subclass};
use crate::chain::features::Selection;
use crate::chain::features::counting;
use crate::chain::features::feature_names::{Name, feature_names};
use crate::chain::features::table;
use crate::chain::model::counts::counts_of;
use crate::chain::model::start::start_weights;
use crate::chain::objective::part;
use crate::text::ranges;
use crate::threads;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;

/// Ranges of bytes of a file, each with whole sentences; None for a compressed file.
#[pyfunction]
pub fn cut_file(py: Python<'_>, path: PathBuf, format: &str, size: u64) -> PyResult<Option<Vec<(u64, u64)>>> {
    let format = format.parse()?;
    let cut = interruptible(py, |_| ranges::cut(&path, format, size))?;
    Ok(cut.map(|ranges| ranges.into_iter().map(|range| (range.start, range.end)).collect()))
}

/// What is seen in a part of a data set.
#[pyclass(frozen, module = "loglinear._core")]
pub struct PartCounts {
    inner: counting::Counts,
}

#[pymethods]
impl PartCounts {
    #[new]
    fn new(py: Python<'_>, corpus: &Corpus, order: u8) -> PyResult<Self> {
        let inner = interruptible(py, |interrupt| {
            threads::pool(1)?.install(|| corpus.inner.check(interrupt))?;
            counting::Counts::new(&corpus.inner, order)
        })?;
        Ok(PartCounts { inner })
    }

    /// The features of a model, as the counts of a part without sentences.
    #[staticmethod]
    fn of_model(py: Python<'_>, model: &ChainModel) -> Self {
        PartCounts { inner: py.detach(|| counts_of(&model.inner)) }
    }

    /// The counts of this part and of the part that follows.
    fn joined(&self, py: Python<'_>, next: &PartCounts) -> PyResult<Self> {
        let inner = interruptible(py, |_| {
            let mut joined = self.inner.clone();
            joined.join(&next.inner)?;
            Ok(joined)
        })?;
        Ok(PartCounts { inner })
    }

    /// The features of what was counted.
    fn table(&self, py: Python<'_>, features: Selection) -> PyResult<FeatureTable> {
        let inner = interruptible(py, |_| table::FeatureTable::new(&self.inner, features))?;
        Ok(FeatureTable { inner: Arc::new(inner) })
    }

    /// Sentences, tokens, attributes of all tokens together.
    #[getter]
    fn sizes(&self) -> (u64, u64, u64) {
        self.inner.sizes.into()
    }

    #[getter]
    fn n_attributes(&self) -> usize {
        self.inner.attributes.len()
    }

    #[getter]
    fn labels(&self) -> Vec<String> {
        self.inner.labels.clone()
    }

    fn pack<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| self.inner.pack());
        PyBytes::new(py, &bytes)
    }

    #[staticmethod]
    fn unpack(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let inner = py.detach(|| counting::Counts::unpack(bytes))?;
        Ok(PartCounts { inner })
    }
}

/// The features of a whole data set.
#[pyclass(frozen, module = "loglinear._core")]
pub struct FeatureTable {
    pub inner: Arc<table::FeatureTable>,
}

#[pymethods]
impl FeatureTable {
    #[getter]
    fn n_features(&self) -> usize {
        self.inner.features.len()
    }

    /// The number of transitions, triples, bigram features and state features, in the order of the weights.
    #[getter]
    fn feature_counts(&self) -> (usize, usize, usize, usize) {
        self.inner.features.counts()
    }

    /// Sentences, tokens, attributes of all tokens together.
    #[getter]
    fn sizes(&self) -> (u64, u64, u64) {
        self.inner.sizes.into()
    }

    #[getter]
    fn order(&self) -> u8 {
        self.inner.order
    }

    #[getter]
    fn is_binary(&self) -> bool {
        self.inner.is_binary
    }

    #[getter]
    fn is_partial(&self) -> bool {
        self.inner.is_partial
    }

    /// Whether there are bigram attributes.
    #[getter]
    fn has_bigrams(&self) -> bool {
        self.inner.features.n_bigrams() > 0
    }

    #[getter]
    fn labels(&self) -> Vec<String> {
        self.inner.labels.to_vec()
    }

    /// The attributes that have features.
    fn names(&self) -> Vec<String> {
        names_of(&self.inner.attributes)
    }

    /// Names of features by their numbers: the attribute, if there is one, and the labels in a row.
    fn feature_names(&self, features: PyReadonlyArray1<'_, i64>) -> PyResult<Vec<Name<'_>>> {
        let table = &self.inner;
        let numbers = numbers("feature numbers", &features, table.features.len())?;
        Ok(feature_names(&table.features, &table.attributes, &table.labels, &numbers))
    }

    /// The model's weights of the features, 0 for features that the model does not have, and the number of features that it
    /// has.
    fn start_weights<'py>(&self, py: Python<'py>, model: &ChainModel) -> PyResult<(Bound<'py, PyArray1<f64>>, usize)> {
        let names = self.inner.names()?;
        let (w, shared) = py.detach(|| start_weights(&model.inner, &names, &self.inner.features));
        Ok((PyArray1::from_vec(py, w), shared))
    }

    /// The model of the features whose weights are not 0, with its settings (JSON) and the template for reading text.
    #[pyo3(signature = (w, settings, template=None))]
    fn model(&self, w: PyReadonlyArray1<'_, f64>, settings: String, template: Option<&str>) -> PyResult<ChainModel> {
        ChainModel::trained(self.inner.source(settings, template), weights(&w, self.inner.features.len())?)
    }

    fn pack<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| self.inner.pack());
        PyBytes::new(py, &bytes)
    }

    #[staticmethod]
    fn unpack(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let inner = py.detach(|| table::FeatureTable::unpack(bytes))?;
        Ok(FeatureTable { inner: Arc::new(inner) })
    }
}

/// A part of a data set as an objective over the features of the whole.
#[pyclass(frozen, extends = Objective, module = "loglinear._core")]
pub struct ChainPart {
    inner: Arc<part::ChainPart>,
}

subclass!(
    ChainPart,
    |inner| inner.n_features,
    inner.objective.corpus.n_sentences(),
    inner.objective.n_threads(),
    false
);

#[pymethods]
impl ChainPart {
    #[new]
    #[pyo3(signature = (corpus, table, *, constraints="null", class_weights=None, threads=1))]
    fn new(
        py: Python<'_>,
        corpus: &Corpus,
        table: &FeatureTable,
        constraints: &str,
        class_weights: Option<Vec<f64>>,
        threads: usize,
    ) -> PyResult<PyClassInitializer<Self>> {
        let class_weights = class_weights_of(class_weights, &table.inner.labels)?;
        let (corpus, table) = (Arc::clone(&corpus.inner), Arc::clone(&table.inner));
        let allowed = model::allowed(constraints, &table.labels)?;
        let inner = interruptible(py, |_| part::ChainPart::new(corpus, &table, (allowed, class_weights), threads))?;
        Ok(ChainPart { inner: Arc::new(inner) }.into())
    }

    /// The objective over the features that can occur in the part.
    #[getter]
    fn own(&self) -> ChainObjective {
        ChainObjective { inner: Arc::clone(&self.inner.objective), passes: PyOnceLock::new() }
    }

    /// Bytes of the encoded sentences.
    #[getter]
    fn n_bytes(&self) -> usize {
        self.inner.objective.corpus.n_bytes()
    }

    /// The part's entries of a vector over all features.
    fn gather<'py>(&self, py: Python<'py>, all: PyReadonlyArray1<'_, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let all = read(&all)?;
        self.check(all.len(), self.inner.n_features)?;
        let mut gathered = vec![0.0; self.inner.objective.features.len()];
        self.inner.gather(all, &mut gathered);
        Ok(PyArray1::from_vec(py, gathered))
    }

    /// Writes a vector over the part's features to its places in a vector over all features.
    fn scatter(&self, own: PyReadonlyArray1<'_, f64>, all: &Bound<'_, PyArray1<f64>>) -> PyResult<()> {
        written!(all);
        let own = read(&own)?;
        self.check(own.len(), self.inner.objective.features.len())?;
        self.check(all.len(), self.inner.n_features)?;
        self.inner.scatter(own, all);
        Ok(())
    }

    /// The part over some of the features, whose numbers ascend; all other weights are 0.
    fn restrict(&self, py: Python<'_>, features: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        let features = ascending(&features, self.inner.n_features)?;
        Ok(ChainPart { inner: Arc::new(interruptible(py, |_| self.inner.restrict(&features))?) })
    }
}

impl ChainPart {
    fn check(&self, length: usize, wanted: usize) -> PyResult<()> {
        if length == wanted {
            return Ok(());
        }
        Err(OptionError::new_err(format!("vector: expected {wanted} entries, found {length}")))
    }
}
