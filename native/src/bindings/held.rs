//! The memory of a NumPy array that native code reads for longer than a call.

use crate::bindings::errors::OptionError;
use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// The elements of a contiguous array, which lives as long as this does.
pub struct Held<T> {
    /// Keeps the memory.
    _array: Py<PyAny>,
    first: *const T,
    len: usize,
}

// SAFETY: the elements are plain numbers that are only read.
unsafe impl<T: Sync> Send for Held<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Held<T> {}

impl<T: Element> Held<T> {
    /// Holds an array. Whoever changes its elements meanwhile gets results of old and new numbers, as with NumPy itself.
    pub fn of(array: &Bound<'_, PyArray1<T>>) -> PyResult<Held<T>> {
        if !array.is_contiguous() || !array.data().is_aligned() {
            return Err(OptionError::new_err("arrays must be contiguous and aligned"));
        }
        Ok(Held { _array: array.clone().into_any().unbind(), first: array.data(), len: array.len() })
    }
}

impl<T> AsRef<[T]> for Held<T> {
    fn as_ref(&self) -> &[T] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the array is contiguous and aligned (`of`), and the reference to it keeps its memory. Test: `tests/objectives/test_dense.py`.
        unsafe { std::slice::from_raw_parts(self.first, self.len) }
    }
}
