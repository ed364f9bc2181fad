//! NumPy arrays as slices.

use super::errors::OptionError;
use numpy::ndarray::Dimension;
use numpy::{Element, PyArray, PyArrayMethods, PyReadonlyArray, PyReadwriteArray};
use pyo3::prelude::*;

pub fn read<'a, T: Element, D: Dimension>(array: &'a PyReadonlyArray<'_, T, D>) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| OptionError::new_err("arrays have to be contiguous"))
}

pub fn writable<'py, T: Element, D: Dimension>(
    array: &Bound<'py, PyArray<T, D>>,
) -> PyResult<PyReadwriteArray<'py, T, D>> {
    array.try_readwrite().map_err(|error| OptionError::new_err(format!("an output cannot be written to: {error}")))
}

pub fn write<'a, T: Element, D: Dimension>(array: &'a mut PyReadwriteArray<'_, T, D>) -> PyResult<&'a mut [T]> {
    array.as_slice_mut().map_err(|_| OptionError::new_err("arrays have to be contiguous"))
}
