//! `ChoiceObjective`: the negative log-likelihood of choices among alternatives, for the optimisers.

use crate::bindings::arrays::{ascending, copied, numbers, read, same_length, sizes, weights, written};
use crate::bindings::classifier::{ClassifierObjective, FactorsAndSigns, NewtonStep, varied_of};
use crate::bindings::errors::OptionError;
use crate::bindings::interrupt::{interruptible, interruptible_unless};
use crate::bindings::objective::{Objective, subclass};
use crate::classifier::choices::newton::{self, Point};
use crate::classifier::choices::{Choices, Groups};
use crate::classifier::gram;
use crate::classifier::newton::NewtonSettings;
use crate::error::Result;
use crate::threads::Interrupt;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::Arc;

/// `classifier::choices::Choices` for Python.
#[pyclass(frozen, extends = Objective, module = "loglinear._core")]
pub struct ChoiceObjective {
    inner: Arc<Choices>,
}

subclass!(ChoiceObjective, |inner| inner.n_features(), inner.groups.count(), inner.n_threads(), inner.is_quick());

impl ChoiceObjective {
    fn of(inner: Choices) -> Self {
        ChoiceObjective { inner: Arc::new(inner) }
    }

    /// Calls `work` with the scores of the rows at weights, and returns the numbers that it makes.
    fn at<'py>(
        &self,
        py: Python<'py>,
        w: PyReadonlyArray1<'_, f64>,
        work: impl FnOnce(&Choices, Vec<f64>, &Interrupt) -> Result<Vec<f64>> + Send,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let w = weights(&w, self.inner.n_features())?;
        let inner = &*self.inner;
        let quick = inner.is_quick();
        let values = interruptible_unless(quick, py, |interrupt| work(inner, inner.scores(w), interrupt))?;
        Ok(PyArray1::from_vec(py, values))
    }
}

#[pymethods]
impl ChoiceObjective {
    /// The objective on the matrix of a classifier with two classes and no intercept, whose classes and weights are not used. Row
    /// `rows[i]` is an alternative of the group that ends before place `ends[g]`; the first `n_chosen[g]` of a group were chosen.
    #[new]
    #[pyo3(signature = (matrix, rows, ends, n_chosen, weights=None))]
    fn new(
        py: Python<'_>,
        matrix: PyRef<'_, ClassifierObjective>,
        rows: PyReadonlyArray1<'_, u32>,
        ends: PyReadonlyArray1<'_, u64>,
        n_chosen: PyReadonlyArray1<'_, u32>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (rows, ends) = (read(&rows)?.to_vec(), sizes(&ends)?);
        let groups = Groups { rows, ends, n_chosen: read(&n_chosen)?.to_vec(), weights: copied(weights.as_ref())? };
        let linear = matrix.shared();
        let inner = interruptible(py, |_| Choices::new(linear, groups))?;
        Ok(ChoiceObjective::of(inner).into())
    }

    /// -log p of the choice in each group, not times its weight.
    fn group_nlls<'py>(&self, py: Python<'py>, w: PyReadonlyArray1<'_, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.at(py, w, |choices, scores, interrupt| choices.group_nlls(&scores, interrupt))
    }

    /// The sum over groups of weight * (p(row is chosen) - [row was chosen]), for each row.
    fn residuals<'py>(&self, py: Python<'py>, w: PyReadonlyArray1<'_, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.at(py, w, |choices, scores, interrupt| Ok(choices.residuals(&scores, interrupt)?.of_rows))
    }

    /// The Hessian, row after row.
    fn hessian<'py>(&self, py: Python<'py>, w: PyReadonlyArray1<'_, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.at(py, w, |choices, scores, interrupt| {
            let columns: Vec<usize> = (0..choices.n_features()).collect();
            choices.hessian(&scores, &columns, 1, interrupt)
        })
    }

    /// The diagonal of the Hessian.
    fn hessian_diagonal<'py>(
        &self,
        py: Python<'py>,
        w: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.at(py, w, |choices, scores, interrupt| choices.hessian_diagonal(&scores, interrupt))
    }

    /// The negative log-likelihood at `w`, x . w of every row, and the gradient.
    #[allow(clippy::type_complexity)]
    fn start<'py>(
        &self,
        py: Python<'py>,
        w: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let (inner, w) = (&*self.inner, weights(&w, self.inner.n_features())?);
        let (nll, scores, gradient) = interruptible_unless(inner.is_quick(), py, |interrupt| {
            let (scores, mut gradient) = (inner.scores(w), vec![0.0; w.len()]);
            let residuals = inner.residuals(&scores, interrupt)?;
            inner.gradient(&residuals, &mut gradient, interrupt)?;
            Ok((residuals.nll, scores, gradient))
        })?;
        Ok((nll, PyArray1::from_vec(py, scores), PyArray1::from_vec(py, gradient)))
    }

    /// Whether a proximal Newton step writes the whole Hessian out.
    fn has_small_gram(&self) -> bool {
        gram::is_small(self.inner.n_features())
    }

    /// A proximal Newton step; see `ClassifierObjective::newton_step`. `scores` has x . w of each row.
    #[pyo3(signature = (w, scores, gradient, *, l1, l2, precision, sweeps, least, stride=1, varied=None))]
    #[allow(clippy::too_many_arguments)]
    fn newton_step(
        &self,
        py: Python<'_>,
        w: &Bound<'_, PyArray1<f64>>,
        scores: &Bound<'_, PyArray1<f64>>,
        gradient: &Bound<'_, PyArray1<f64>>,
        l1: f64,
        l2: f64,
        precision: f64,
        sweeps: usize,
        least: usize,
        stride: usize,
        varied: Option<FactorsAndSigns<'_>>,
    ) -> PyResult<NewtonStep> {
        written!(w, scores, gradient);
        same_length(w, self.inner.n_features())?;
        if (scores.len(), gradient.len()) != (self.inner.n_rows(), w.len()) || stride == 0 {
            return Err(OptionError::new_err("scores needs one entry per row, gradient one per weight"));
        }
        let varied = varied_of(varied, w.len())?;
        let settings = NewtonSettings { l1, l2, precision, sweeps, least, excluded: 0..0, stride, enough: 0.0, varied };
        let inner = &*self.inner;
        let mut point = Point { w: w.to_vec(), scores: scores.to_vec(), gradient: gradient.to_vec() };
        let (done, point) = interruptible_unless(inner.is_quick(), py, |interrupt| {
            let done = newton::step(inner, &mut point, &settings, interrupt)?;
            Ok((done, point))
        })?;
        w.copy_from_slice(&point.w);
        scores.copy_from_slice(&point.scores);
        gradient.copy_from_slice(&point.gradient);
        Ok(done.into())
    }

    /// The objective on some groups, whose weights are multiplied by `factor`.
    fn batch(&self, py: Python<'_>, groups: PyReadonlyArray1<'_, i64>, factor: f64) -> PyResult<Self> {
        let groups = numbers("groups", &groups, self.inner.groups.count())?;
        Ok(ChoiceObjective::of(interruptible(py, |_| Ok(self.inner.batch(&groups, factor)))?))
    }

    /// The objective over some of the columns, given by ascending numbers.
    fn restrict(&self, py: Python<'_>, columns: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        let columns = ascending(&columns, self.inner.n_features())?;
        Ok(ChoiceObjective::of(interruptible(py, |_| Ok(self.inner.restrict(&columns)))?))
    }
}
