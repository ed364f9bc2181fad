//! Methods of `LikelyLabels` and `PrunedObjective`: working sets of labels, and a chain objective over them.

use crate::bindings::arrays::value_and_gradient;
use crate::bindings::classes::{LikelyLabels, PrunedObjective};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

#[pymethods]
impl LikelyLabels {
    /// The marginal that these labels are above.
    #[getter]
    fn least(&self) -> f64 {
        self.inner.least
    }
}

#[pymethods]
impl PrunedObjective {
    #[getter]
    fn n_features(&self) -> usize {
        self.inner.n_features()
    }

    #[getter]
    fn n_samples(&self) -> usize {
        self.inner.n_samples()
    }

    #[getter]
    fn n_threads(&self) -> usize {
        self.inner.n_threads()
    }

    /// The number of entries of features that an evaluation goes through.
    #[getter]
    fn n_entries(&self) -> usize {
        self.inner.n_entries()
    }

    #[pyo3(signature = (w, out=None))]
    fn value_and_gradient<'py>(
        &self,
        py: Python<'py>,
        w: PyReadonlyArray1<'py, f64>,
        out: Option<Bound<'py, PyArray1<f64>>>,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
        value_and_gradient(py, (self.inner.n_features(), false), &w, out, |w, gradient, interrupt| {
            self.inner.value_and_gradient(w, gradient, interrupt)
        })
    }
}
