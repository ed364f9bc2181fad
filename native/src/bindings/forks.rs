//! Values that are computed once in a process, computed before a fork.

use super::errors::{DataError, ModelFileError, OptionError, TemplateError};
use crate::threads;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMapping, PySequence};

/// Computes what PyO3, NumPy's bindings and `threads` compute at its first use. A thread that computes such a value has a lock,
/// which the child of a fork would inherit without the thread; afterwards nothing needs these locks.
#[pyfunction]
pub fn prepare_fork(py: Python<'_>) -> PyResult<()> {
    threads::count(0);
    let list = PyList::empty(py);
    list.try_iter()?.size_hint();
    let _ = (list.cast::<PySequence>().is_ok(), list.cast::<PyMapping>().is_ok());
    let errors =
        [DataError::type_object, TemplateError::type_object, ModelFileError::type_object, OptionError::type_object];
    let _ = errors.map(|error| error(py));
    if py.import("sys")?.getattr("modules")?.contains("numpy")? {
        PyArray1::<f64>::zeros(py, 0, false).try_readwrite()?;
    }
    Ok(())
}
