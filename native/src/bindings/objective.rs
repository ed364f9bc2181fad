//! `ChainObjective`: the negative log-likelihood for the optimisers.

use super::corpus::Corpus;
use super::errors::OptionError;
use super::interrupt::interruptible;
use super::model::ChainModel;
use crate::objective::chain;
use crate::objective::features::Selection;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::Arc;

#[pyclass(frozen, module = "loglinear._core")]
pub struct ChainObjective {
    pub inner: chain::ChainObjective,
}

#[pymethods]
impl ChainObjective {
    #[new]
    #[pyo3(signature = (corpus, *, all_states=false, all_transitions=false, min_count=1, threads=0))]
    fn new(
        py: Python<'_>,
        corpus: &Corpus,
        all_states: bool,
        all_transitions: bool,
        min_count: u32,
        threads: usize,
    ) -> PyResult<Self> {
        let corpus = Arc::clone(&corpus.inner);
        let selection = Selection { all_states, all_transitions, min_count };
        let inner = interruptible(py, |_| chain::ChainObjective::new(corpus, selection, threads))?;
        Ok(ChainObjective { inner })
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.inner.features.len()
    }

    #[getter]
    fn n_samples(&self) -> usize {
        self.inner.corpus.n_sentences()
    }

    #[getter]
    fn n_threads(&self) -> usize {
        self.inner.n_threads()
    }

    /// (transitions, bigram features, state features)
    #[getter]
    fn feature_counts(&self) -> (usize, usize, usize) {
        let features = &self.inner.features;
        (features.transitions.len(), features.n_bigrams(), features.state_labels.len())
    }

    #[pyo3(signature = (w, out=None))]
    fn value_and_gradient<'py>(
        &self,
        py: Python<'py>,
        w: PyReadonlyArray1<'py, f64>,
        out: Option<Bound<'py, PyArray1<f64>>>,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
        let n = self.inner.features.len();
        let out = out.unwrap_or_else(|| PyArray1::zeros(py, n, false));
        let value = {
            let w = w.as_slice().map_err(|_| OptionError::new_err("w has to be contiguous"))?;
            let mut gradient = out
                .try_readwrite()
                .map_err(|error| OptionError::new_err(format!("out cannot be written to: {error}")))?;
            let gradient = gradient.as_slice_mut().map_err(|_| OptionError::new_err("out has to be contiguous"))?;
            if w.len() != n || gradient.len() != n {
                let message = format!("w and out need {n} entries; they have {} and {}", w.len(), gradient.len());
                return Err(OptionError::new_err(message));
            }
            interruptible(py, |interrupt| self.inner.value_and_gradient(w, gradient, interrupt))?
        };
        Ok((value, out))
    }

    /// A model of the features whose weights are not 0, with its settings (JSON) and the template it reads text with.
    #[pyo3(signature = (w, settings, template=None))]
    fn model(&self, w: PyReadonlyArray1<'_, f64>, settings: String, template: Option<&str>) -> PyResult<ChainModel> {
        let w = w.as_slice().map_err(|_| OptionError::new_err("w has to be contiguous"))?;
        let n = self.inner.features.len();
        if w.len() != n {
            return Err(OptionError::new_err(format!("w needs {n} entries; it has {}", w.len())));
        }
        ChainModel::trained(&self.inner, w, settings, template)
    }
}
