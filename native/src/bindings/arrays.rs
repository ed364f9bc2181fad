//! NumPy arrays as slices.

use crate::bindings::errors::OptionError;
use crate::bindings::interrupt::interruptible_unless;
use crate::error::Result;
use crate::threads::Interrupt;
use numpy::ndarray::Dimension;
use numpy::{Element, PyArray, PyArray1, PyArrayMethods, PyReadonlyArray, PyReadonlyArray1, PyReadwriteArray};
use pyo3::prelude::*;

/// The elements of a contiguous array.
pub fn read<'a, T: Element, D: Dimension>(array: &'a PyReadonlyArray<'_, T, D>) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| OptionError::new_err("arrays must be contiguous"))
}

/// The elements of a contiguous vector of n weights.
pub fn weights<'a>(w: &'a PyReadonlyArray1<'_, f64>, n: usize) -> PyResult<&'a [f64]> {
    let w = read(w)?;
    same_length(w, n).map(|()| w)
}

/// An error unless w has n entries.
pub fn same_length(w: &[f64], n: usize) -> PyResult<()> {
    if w.len() == n {
        return Ok(());
    }
    Err(OptionError::new_err(format!("w: expected {n} entries, found {}", w.len())))
}

/// The sizes, such as ends of rows, of an array.
pub fn sizes(array: &PyReadonlyArray1<'_, u64>) -> PyResult<Vec<usize>> {
    Ok(read(array)?.iter().map(|&size| size as usize).collect())
}

/// A copy of the elements of an array; empty without one.
pub fn copied(array: Option<&PyReadonlyArray1<'_, f64>>) -> PyResult<Vec<f64>> {
    Ok(array.map_or(Ok(&[][..]), read)?.to_vec())
}

/// Whole numbers as an array of Python's.
pub fn integers<'py>(py: Python<'py>, numbers: impl IntoIterator<Item = usize>) -> Bound<'py, PyArray1<i64>> {
    PyArray1::from_vec(py, numbers.into_iter().map(|number| number as i64).collect())
}

/// Borrows writable arrays as mutable slices.
macro_rules! written {
    ($($array:ident),*) => {
        $(
            let mut $array = $crate::bindings::arrays::writable($array)?;
            let $array = $crate::bindings::arrays::write(&mut $array)?;
        )*
    };
}
pub(super) use written;

/// The numbers of an array, all below a bound; else an error that begins with `what`.
pub fn numbers(what: &str, array: &PyReadonlyArray1<'_, i64>, bound: usize) -> PyResult<Vec<usize>> {
    let numbers: Option<Vec<usize>> =
        array.as_array().iter().map(|&i| usize::try_from(i).ok().filter(|&i| i < bound)).collect();
    numbers.ok_or_else(|| OptionError::new_err(format!("{what} must be at least 0 and less than {bound}")))
}

/// Numbers of features below a bound, in ascending order.
pub fn ascending(array: &PyReadonlyArray1<'_, i64>, bound: usize) -> PyResult<Vec<usize>> {
    let numbers = numbers("feature numbers", array, bound)?;
    if numbers.windows(2).all(|pair| pair[0] < pair[1]) {
        return Ok(numbers);
    }
    Err(OptionError::new_err("feature numbers must be unique and in ascending order"))
}

/// A writable array.
pub fn writable<'py, T: Element, D: Dimension>(
    array: &Bound<'py, PyArray<T, D>>,
) -> PyResult<PyReadwriteArray<'py, T, D>> {
    array.try_readwrite().map_err(|error| OptionError::new_err(format!("cannot write to an output array: {error}")))
}

/// The elements of a contiguous array, to be written.
pub fn write<'a, T: Element, D: Dimension>(array: &'a mut PyReadwriteArray<'_, T, D>) -> PyResult<&'a mut [T]> {
    array.as_slice_mut().map_err(|_| OptionError::new_err("arrays must be contiguous"))
}

/// Calls an objective of n weights with w and an array for its gradient: `out`, or a new one. Runs on this thread if `quick` is
/// set.
pub fn value_and_gradient<'py>(
    py: Python<'py>,
    (n, quick): (usize, bool),
    w: &PyReadonlyArray1<'py, f64>,
    out: Option<Bound<'py, PyArray1<f64>>>,
    evaluate: impl FnOnce(&[f64], &mut [f64], &Interrupt) -> Result<f64> + Send,
) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
    let out = out.unwrap_or_else(|| PyArray1::zeros(py, n, false));
    let value = {
        let (w, mut gradient) = (read(w)?, writable(&out)?);
        let gradient = write(&mut gradient)?;
        if w.len() != n || gradient.len() != n {
            let message = format!("w and out: expected {n} entries each, found {} and {}", w.len(), gradient.len());
            return Err(OptionError::new_err(message));
        }
        interruptible_unless(quick, py, |interrupt| evaluate(w, gradient, interrupt))?
    };
    Ok((value, out))
}
