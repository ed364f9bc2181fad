//! The vector operations of `loglinear.vectors`. The last argument is a number of threads; 0 stands for all cores.

use crate::bindings::arrays::{read, written};
use crate::bindings::errors::OptionError;
use crate::classifier::centring;
use crate::numeric::arch;
use crate::numeric::moments::moments as of_columns;
use crate::numeric::ragged;
use crate::numeric::strengths::{Each, Penalty};
use crate::numeric::vectors;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// A vector that is read.
type In<'py> = PyReadonlyArray1<'py, f64>;
/// A vector that is written.
type Out<'a, 'py> = &'a Bound<'py, PyArray1<f64>>;
/// Two new vectors.
type Pair<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);
/// A matrix of bfloat16 numbers, kept as their bits.
type HalfMatrix<'py> = PyReadonlyArray2<'py, u16>;

/// A penalty as `loglinear.vectors.Strengths` states it: l1, l2, and the number of weights at the end without penalty; for weights
/// with a penalty of their own also their factors and signs.
#[derive(FromPyObject)]
enum Stated<'py> {
    Same(f64, f64, usize),
    Each(f64, f64, usize, In<'py>, PyReadonlyArray1<'py, i8>),
}

impl Stated<'_> {
    /// The penalty of n weights.
    fn of(&self, n: usize) -> PyResult<Penalty<'_>> {
        match self {
            &Stated::Same(l1, l2, unpenalised) => Ok(Penalty { l1, l2, unpenalised, varied: None }),
            Stated::Each(l1, l2, unpenalised, factors, signs) => {
                let varied = Each { factors: read(factors)?, signs: read(signs)? };
                same(&[varied.factors.len(), varied.signs.len(), n.saturating_sub(*unpenalised)])?;
                Ok(Penalty { l1: *l1, l2: *l2, unpenalised: *unpenalised, varied: Some(varied) })
            }
        }
    }
}

/// An error unless all lengths are equal.
fn same(lengths: &[usize]) -> PyResult<()> {
    if lengths.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(());
    }
    Err(OptionError::new_err(format!("arrays have different lengths: {lengths:?}")))
}

/// |x|_1 and |x|_2 squared.
#[pyfunction]
fn norms(py: Python<'_>, x: In<'_>, threads: usize) -> PyResult<(f64, f64)> {
    let x = read(&x)?;
    Ok(py.detach(|| vectors::norms(x, threads)).into())
}

/// The rows with numbers `live` of a matrix with `columns` columns.
fn chosen<'a>(matrix: &'a [u16], columns: usize, live: &[usize]) -> PyResult<Vec<&'a [u16]>> {
    let row = |&i: &usize| matrix.get(i.saturating_mul(columns)..)?.get(..columns);
    let rows: Option<Vec<_>> = live.iter().map(row).collect();
    rows.ok_or_else(|| OptionError::new_err(format!("rows {live:?} of {columns} columns exceed the matrix")))
}

/// Row `spare` of a matrix with `columns` columns, writable, and the rows `live`, readable.
fn spared<'a>(
    matrix: &'a mut [u16],
    columns: usize,
    live: &[usize],
    spare: usize,
) -> PyResult<(&'a mut [u16], Vec<&'a [u16]>)> {
    let mut rows: Vec<Option<&mut [u16]>> = matrix.chunks_exact_mut(columns.max(1)).map(Some).collect();
    let written = rows.get_mut(spare).and_then(Option::take);
    let rows: Vec<Option<&[u16]>> = rows.into_iter().map(|row| row.map(|row| &*row)).collect();
    let read: Option<Vec<_>> = live.iter().map(|&i| *rows.get(i)?).collect();
    written.zip(read).ok_or_else(|| OptionError::new_err(format!("rows {live:?} and the spare {spare} do not fit")))
}

/// The units of n weights.
fn scale_of<'a>(scale: Option<&'a In<'_>>, n: usize) -> PyResult<vectors::Scale<'a>> {
    let Some(scale) = scale else { return Ok(vectors::Scale(&[])) };
    let scale = read(scale)?;
    same(&[scale.len(), n])?;
    Ok(vectors::Scale(scale))
}

/// `numeric::vectors::secant_pair`; returns the max-norm, the squared norm and the slope of the pseudo-gradient.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn secant_pair(
    py: Python<'_>,
    w_new: In<'_>,
    g_new: In<'_>,
    w: In<'_>,
    g: In<'_>,
    scale: Option<In<'_>>,
    penalty: Stated<'_>,
    s_rows: &Bound<'_, PyArray2<u16>>,
    y_rows: &Bound<'_, PyArray2<u16>>,
    live: Vec<usize>,
    spare: usize,
    products: &Bound<'_, PyArray2<f64>>,
    threads: usize,
) -> PyResult<(f64, f64, f64)> {
    written!(s_rows, y_rows, products);
    let (w_new, g_new, w, g) = (read(&w_new)?, read(&g_new)?, read(&w)?, read(&g)?);
    same(&[w_new.len(), g_new.len(), w.len(), g.len()])?;
    let (s, mut rows) = spared(s_rows, w.len(), &live, spare)?;
    let (y, more) = spared(y_rows, w.len(), &live, spare)?;
    rows.extend(more);
    same(&[2 * (rows.len() + 2), products.len()])?;
    let (new, old) = (vectors::Point { w: w_new, g: g_new }, vectors::Point { w, g });
    let scale = scale_of(scale.as_ref(), w.len())?;
    let penalty = penalty.of(w.len())?;
    let size = py.detach(|| vectors::secant_pair(new, old, scale, penalty, &rows, s, y, products, threads));
    Ok((size.most, size.squared, size.slope))
}

/// `numeric::vectors::quasi_newton_step`; returns the fields of `loglinear.vectors.Trial`, slope first.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn quasi_newton_step(
    py: Python<'_>,
    w: In<'_>,
    g: In<'_>,
    scale: Option<In<'_>>,
    penalty: Stated<'_>,
    s_rows: HalfMatrix<'_>,
    s_coefficients: In<'_>,
    y_rows: HalfMatrix<'_>,
    y_coefficients: In<'_>,
    live: Vec<usize>,
    factor: f64,
    alpha: f64,
    out: Out<'_, '_>,
    threads: usize,
) -> PyResult<[f64; 4]> {
    written!(out);
    let (w, g) = (read(&w)?, read(&g)?);
    same(&[w.len(), g.len(), out.len()])?;
    let mut rows = Vec::new();
    for (matrix, coefficients) in [(&s_rows, &s_coefficients), (&y_rows, &y_coefficients)] {
        let (matrix, coefficients) = (chosen(read(matrix)?, w.len(), &live)?, read(coefficients)?);
        same(&[matrix.len(), coefficients.len()])?;
        rows.extend(matrix.into_iter().zip(coefficients.iter().copied()));
    }
    let (at, scale) = (vectors::Point { w, g }, scale_of(scale.as_ref(), w.len())?);
    let penalty = penalty.of(w.len())?;
    let trial = py.detach(|| vectors::quasi_newton_step(at, scale, penalty, &rows, factor, alpha, out, threads));
    Ok([trial.slope, trial.change, trial.l1_norm, trial.squared])
}

/// `numeric::vectors::pseudo_gradient`; returns its max-norm and its squared norm.
#[pyfunction]
fn pseudo_gradient(
    py: Python<'_>,
    w: In<'_>,
    g: In<'_>,
    penalty: Stated<'_>,
    out: Out<'_, '_>,
    threads: usize,
) -> PyResult<(f64, f64)> {
    written!(out);
    let (w, g) = (read(&w)?, read(&g)?);
    same(&[w.len(), g.len(), out.len()])?;
    let penalty = penalty.of(w.len())?;
    let size = py.detach(|| vectors::pseudo_gradient(w, g, penalty, out, threads));
    Ok((size.most, size.squared))
}

/// The ends of the numbers that may be subtracted from the rows of a matrix with k columns, each of which makes their penalty least.
#[pyfunction]
fn best_constants<'py>(py: Python<'py>, rows: In<'py>, k: usize, l1: f64, l2: f64) -> PyResult<Pair<'py>> {
    let mut rows = read(&rows)?.to_vec();
    let ends = rows.chunks_exact_mut(k.max(1)).map(|row| centring::best_constants(row, l1, l2));
    let (least, largest): (Vec<f64>, Vec<f64>) = ends.unzip();
    Ok((PyArray1::from_vec(py, least), PyArray1::from_vec(py, largest)))
}

/// `numeric::moments::moments`.
#[pyfunction]
fn moments<'py>(py: Python<'py>, matrix: PyReadonlyArray2<'py, f64>) -> PyResult<Pair<'py>> {
    let (numbers, n_columns) = (read(&matrix)?, matrix.as_array().ncols());
    let (means, spreads) = py.detach(|| of_columns(numbers, n_columns));
    Ok((PyArray1::from_vec(py, means), PyArray1::from_vec(py, spreads)))
}

/// `numeric::ragged::distinct`.
#[pyfunction]
fn distinct<'py>(
    py: Python<'py>,
    ids: PyReadonlyArray1<'py, u32>,
    bound: usize,
    most: usize,
) -> PyResult<Option<Bound<'py, PyArray1<u32>>>> {
    let ids = read(&ids)?;
    Ok(py.detach(|| ragged::distinct(ids, bound, most)).map(|distinct| PyArray1::from_vec(py, distinct)))
}

/// The instruction set that loops over vectors were compiled for and that this processor runs.
#[pyfunction]
fn instruction_set() -> &'static str {
    arch::name()
}

/// `numeric::arch::limit`.
#[pyfunction]
fn limit_instruction_set(name: &str) -> PyResult<()> {
    if arch::limit(name) {
        return Ok(());
    }
    Err(OptionError::new_err(format!("unknown instruction set {name:?}; choose from {}", arch::NAMES.join(", "))))
}

/// Adds the submodule `vectors` to `loglinear._core`, and `instruction_set`.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let vectors = PyModule::new(module.py(), "vectors")?;
    vectors.add_function(wrap_pyfunction!(best_constants, &vectors)?)?;
    vectors.add_function(wrap_pyfunction!(distinct, &vectors)?)?;
    vectors.add_function(wrap_pyfunction!(moments, &vectors)?)?;
    vectors.add_function(wrap_pyfunction!(norms, &vectors)?)?;
    vectors.add_function(wrap_pyfunction!(quasi_newton_step, &vectors)?)?;
    vectors.add_function(wrap_pyfunction!(pseudo_gradient, &vectors)?)?;
    vectors.add_function(wrap_pyfunction!(secant_pair, &vectors)?)?;
    module.add_function(wrap_pyfunction!(instruction_set, module)?)?;
    module.add_function(wrap_pyfunction!(limit_instruction_set, module)?)?;
    module.add_submodule(&vectors)
}
