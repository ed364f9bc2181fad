//! `Objective`: what the classes of objectives have in common for the optimisers.

use crate::bindings::arrays::value_and_gradient;
use crate::error::Result;
use crate::threads::Interrupt;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

/// Writes the gradient at w and returns the value.
type Evaluate = dyn Fn(&[f64], &mut [f64], &Interrupt) -> Result<f64> + Send + Sync;

/// A value and a gradient at weights; a subclass for each kind of model.
#[pyclass(frozen, subclass, module = "loglinear._core")]
pub struct Objective {
    #[pyo3(get)]
    pub n_features: usize,
    #[pyo3(get)]
    pub n_samples: usize,
    /// Number of threads that evaluate the objective.
    #[pyo3(get)]
    pub n_threads: usize,
    /// Whether an evaluation takes a few milliseconds at most.
    pub is_quick: bool,
    pub evaluate: Box<Evaluate>,
}

#[pymethods]
impl Objective {
    /// The value at `w` and the gradient, which is written to `out` if given.
    #[pyo3(signature = (w, out=None))]
    fn value_and_gradient<'py>(
        &self,
        py: Python<'py>,
        w: PyReadonlyArray1<'py, f64>,
        out: Option<Bound<'py, PyArray1<f64>>>,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
        value_and_gradient(py, (self.n_features, self.is_quick), &w, out, &self.evaluate)
    }
}

/// Makes a class whose objects hold an objective in `inner` a subclass of `Objective`.
macro_rules! subclass {
    ($class:ident, |$inner:ident| $n_features:expr, $n_samples:expr, $n_threads:expr, $is_quick:expr) => {
        impl From<$class> for PyClassInitializer<$class> {
            fn from(object: $class) -> Self {
                let $inner = Arc::clone(&object.inner);
                PyClassInitializer::from($crate::bindings::objective::Objective {
                    n_features: $n_features,
                    n_samples: $n_samples,
                    n_threads: $n_threads,
                    is_quick: $is_quick,
                    evaluate: Box::new(move |w, gradient, interrupt| $inner.value_and_gradient(w, gradient, interrupt)),
                })
                .add_subclass(object)
            }
        }

        impl<'py> IntoPyObject<'py> for $class {
            type Target = $class;
            type Output = Bound<'py, $class>;
            type Error = PyErr;

            fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, $class>> {
                Bound::new(py, self)
            }
        }
    };
}
pub(super) use subclass;
