//! Vector operations for `loglinear.vectors`. The last argument is a number of threads; 0 stands for all cores.

use super::errors::OptionError;
use crate::vectors;
use numpy::ndarray::Dimension;
use numpy::{
    Element, PyArray, PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2,
    PyReadwriteArray,
};
use pyo3::prelude::*;

type In<'py> = PyReadonlyArray1<'py, f64>;
type Rows<'py> = PyReadonlyArray2<'py, f32>;
type Out<'a, 'py> = &'a Bound<'py, PyArray1<f64>>;

fn read<'a, T: Element, D: Dimension>(array: &'a PyReadonlyArray<'_, T, D>) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| OptionError::new_err("arrays have to be contiguous"))
}

fn writable<'py, T: Element, D: Dimension>(array: &Bound<'py, PyArray<T, D>>) -> PyResult<PyReadwriteArray<'py, T, D>> {
    array.try_readwrite().map_err(|error| OptionError::new_err(format!("an output cannot be written to: {error}")))
}

fn write<'a, T: Element, D: Dimension>(array: &'a mut PyReadwriteArray<'_, T, D>) -> PyResult<&'a mut [T]> {
    array.as_slice_mut().map_err(|_| OptionError::new_err("arrays have to be contiguous"))
}

fn same(lengths: &[usize]) -> PyResult<()> {
    if lengths.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(());
    }
    Err(OptionError::new_err(format!("arrays of different lengths: {lengths:?}")))
}

#[pyfunction]
fn dot(py: Python<'_>, x: In<'_>, y: In<'_>, threads: usize) -> PyResult<f64> {
    let (x, y) = (read(&x)?, read(&y)?);
    same(&[x.len(), y.len()])?;
    Ok(py.detach(|| vectors::dot(x, y, threads)))
}

#[pyfunction]
fn norms(py: Python<'_>, x: In<'_>, threads: usize) -> PyResult<(f64, f64)> {
    let x = read(&x)?;
    Ok(py.detach(|| vectors::norms(x, threads)).into())
}

/// The rows of so many columns with these numbers.
fn chosen<'a>(matrix: &'a [f32], columns: usize, live: &[usize]) -> PyResult<Vec<&'a [f32]>> {
    let row = |&i: &usize| matrix.get(i.saturating_mul(columns)..)?.get(..columns);
    let rows: Option<Vec<_>> = live.iter().map(row).collect();
    rows.ok_or_else(|| OptionError::new_err(format!("rows {live:?} of {columns} columns exceed the matrix")))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn dots(
    py: Python<'_>,
    s_rows: Rows<'_>,
    y_rows: Rows<'_>,
    live: Vec<usize>,
    v: In<'_>,
    y: Option<PyReadonlyArray1<'_, f32>>,
    out: &Bound<'_, PyArray3<f64>>,
    threads: usize,
) -> PyResult<()> {
    let mut out = writable(out)?;
    let (v, out) = (read(&v)?, write(&mut out)?);
    let y = y.as_ref().map(read).transpose()?;
    let mut rows = chosen(read(&s_rows)?, v.len(), &live)?;
    rows.extend(chosen(read(&y_rows)?, v.len(), &live)?);
    same(&[v.len(), y.map_or(v.len(), <[f32]>::len)])?;
    same(&[rows.len() * if y.is_some() { 2 } else { 1 }, out.len()])?;
    if !out.is_empty() {
        py.detach(|| vectors::dots(&rows, v, y, out, threads));
    }
    Ok(())
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn combine(
    py: Python<'_>,
    s_rows: Rows<'_>,
    s_coefficients: In<'_>,
    y_rows: Rows<'_>,
    y_coefficients: In<'_>,
    live: Vec<usize>,
    v: In<'_>,
    factor: f64,
    aligned: bool,
    out: Out<'_, '_>,
    threads: usize,
) -> PyResult<f64> {
    let mut out = writable(out)?;
    let (v, out) = (read(&v)?, write(&mut out)?);
    same(&[v.len(), out.len()])?;
    let mut rows = Vec::new();
    for (matrix, coefficients) in [(&s_rows, &s_coefficients), (&y_rows, &y_coefficients)] {
        let (matrix, coefficients) = (chosen(read(matrix)?, v.len(), &live)?, read(coefficients)?);
        same(&[matrix.len(), coefficients.len()])?;
        rows.extend(matrix.into_iter().zip(coefficients.iter().copied()));
    }
    Ok(py.detach(|| vectors::combine(&rows, v, factor, aligned, out, threads)))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn pseudo_gradient(
    py: Python<'_>,
    w: In<'_>,
    g: In<'_>,
    l1: f64,
    l2: f64,
    direction: In<'_>,
    out: Out<'_, '_>,
    threads: usize,
) -> PyResult<(f64, f64, f64)> {
    let mut out = writable(out)?;
    let (w, g, direction, out) = (read(&w)?, read(&g)?, read(&direction)?, write(&mut out)?);
    same(&[w.len(), g.len(), direction.len(), out.len()])?;
    Ok(py.detach(|| vectors::pseudo_gradient(w, g, l1, l2, direction, out, threads)).into())
}

#[pyfunction]
fn step_along(
    py: Python<'_>,
    w: In<'_>,
    alpha: f64,
    direction: In<'_>,
    out: Out<'_, '_>,
    threads: usize,
) -> PyResult<f64> {
    let mut out = writable(out)?;
    let (w, direction, out) = (read(&w)?, read(&direction)?, write(&mut out)?);
    same(&[w.len(), direction.len(), out.len()])?;
    Ok(py.detach(|| vectors::step_along(w, alpha, direction, out, threads)))
}

#[pyfunction]
fn orthant_step(
    py: Python<'_>,
    w: In<'_>,
    alpha: f64,
    direction: In<'_>,
    v: In<'_>,
    out: Out<'_, '_>,
    threads: usize,
) -> PyResult<(f64, f64, f64)> {
    let mut out = writable(out)?;
    let (w, direction, v, out) = (read(&w)?, read(&direction)?, read(&v)?, write(&mut out)?);
    same(&[w.len(), direction.len(), v.len(), out.len()])?;
    Ok(py.detach(|| vectors::orthant_step(w, alpha, direction, v, out, threads)).into())
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn difference_pair(
    py: Python<'_>,
    w_new: In<'_>,
    w: In<'_>,
    g_new: In<'_>,
    g: In<'_>,
    l2: f64,
    s: &Bound<'_, PyArray1<f32>>,
    y: &Bound<'_, PyArray1<f32>>,
    threads: usize,
) -> PyResult<(f64, f64)> {
    let (mut s, mut y) = (writable(s)?, writable(y)?);
    let (w_new, w, g_new, g) = (read(&w_new)?, read(&w)?, read(&g_new)?, read(&g)?);
    let (s, y) = (write(&mut s)?, write(&mut y)?);
    same(&[w_new.len(), w.len(), g_new.len(), g.len(), s.len(), y.len()])?;
    Ok(py.detach(|| vectors::difference_pair(w_new, w, g_new, g, l2, s, y, threads)).into())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let vectors = PyModule::new(module.py(), "vectors")?;
    vectors.add_function(wrap_pyfunction!(dot, &vectors)?)?;
    vectors.add_function(wrap_pyfunction!(norms, &vectors)?)?;
    vectors.add_function(wrap_pyfunction!(dots, &vectors)?)?;
    vectors.add_function(wrap_pyfunction!(combine, &vectors)?)?;
    vectors.add_function(wrap_pyfunction!(pseudo_gradient, &vectors)?)?;
    vectors.add_function(wrap_pyfunction!(step_along, &vectors)?)?;
    vectors.add_function(wrap_pyfunction!(orthant_step, &vectors)?)?;
    vectors.add_function(wrap_pyfunction!(difference_pair, &vectors)?)?;
    module.add_submodule(&vectors)
}
