//! `ClassifierObjective`: the negative log-likelihood of a classifier, for the optimisers.

use crate::bindings::arrays::{ascending, copied, integers, numbers, read, same_length, sizes, weights, written};
use crate::bindings::classes::{ChainObjective, SamplePasses};
use crate::bindings::data::alphabet;
use crate::bindings::errors::OptionError;
use crate::bindings::held::Held;
use crate::bindings::interrupt::{interruptible, interruptible_unless};
use crate::bindings::model::ChainModel;
use crate::bindings::objective::{Objective, subclass};
use crate::chain::features::Features;
use crate::chain::features::source::Source;
use crate::classifier::as_chain::as_chain;
use crate::classifier::descent::{Ending, Rules};
use crate::classifier::gap::{gap, with_better_intercept};
use crate::classifier::gram::KeptGram;
use crate::classifier::matrix::Design;
use crate::classifier::newton::{NewtonSettings, Varied};
use crate::classifier::objective::{Classifier, Start};
use crate::classifier::path::{Reached, Walk};
use crate::classifier::point::Point;
use crate::classifier::table::{Layout, Numbers, Table};
use crate::classifier::{dual, gram, newton};
use crate::threads::locked;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::{Arc, Mutex};

/// `classifier::objective::Classifier` for Python.
#[pyclass(frozen, extends = Objective, module = "loglinear._core")]
pub struct ClassifierObjective {
    inner: Arc<Classifier>,
    /// The same problem over chains of one token; made on first use.
    chain: PyOnceLock<Py<ChainObjective>>,
}

/// A matrix of fewer numbers is checked in a moment.
const QUICK: usize = 1 << 20;
/// A proximal Newton step takes a moment if all entries times all columns are fewer.
const FEW_PRODUCTS: usize = 1 << 22;

/// What a proximal Newton step did; fields as in `classifier::newton::NewtonStep`.
#[pyclass(frozen, get_all, module = "loglinear._core")]
pub struct NewtonStep {
    nll: f64,
    working_set: usize,
    sweeps: usize,
    trials: usize,
    moved: bool,
    promised: f64,
}

impl From<newton::NewtonStep> for NewtonStep {
    fn from(done: newton::NewtonStep) -> Self {
        let newton::NewtonStep { nll, working_set, sweeps, trials, moved, promised } = done;
        NewtonStep { nll, working_set, sweeps, trials, moved, promised }
    }
}

/// `classifier::path::Walk` for Python.
#[pyclass(frozen, module = "loglinear._core")]
pub struct ClassifierPath {
    walk: Mutex<Walk>,
    is_quick: bool,
}

/// A point of a path; fields as in `classifier::path::Reached`.
#[pyclass(frozen, get_all, module = "loglinear._core")]
pub struct ReachedPoint {
    w: Py<PyArray1<f64>>,
    nll: f64,
    objective: f64,
    violation: f64,
    gap: f64,
    steps: usize,
    evaluations: usize,
    converged: bool,
    failed: bool,
}

impl ReachedPoint {
    fn new(py: Python<'_>, reached: Reached) -> Self {
        let Reached { w, nll, gap, ending } = reached;
        let Ending { objective, violation, steps, evaluations, converged, failed } = ending;
        let w = PyArray1::from_vec(py, w).unbind();
        ReachedPoint { w, nll, objective, violation, gap, steps, evaluations, converged, failed }
    }
}

#[pymethods]
impl ClassifierPath {
    /// Minimises at a strength of the L1 penalty, from the weights of the strength before.
    #[pyo3(signature = (l1, *, tolerance, gradient_tolerance, max_steps))]
    fn minimise(
        &self,
        py: Python<'_>,
        l1: f64,
        tolerance: f64,
        gradient_tolerance: f64,
        max_steps: usize,
    ) -> PyResult<ReachedPoint> {
        let rules = Rules { tolerance, promise: tolerance, gradient_tolerance, max_steps };
        let walk = &self.walk;
        let reached =
            interruptible_unless(self.is_quick, py, |interrupt| locked(walk).minimise(l1, &rules, interrupt))?;
        Ok(ReachedPoint::new(py, reached))
    }

    /// The weights that an interruption has left.
    fn left(&self, py: Python<'_>, l1: f64) -> ReachedPoint {
        let reached = py.detach(|| locked(&self.walk).left(l1));
        ReachedPoint::new(py, reached)
    }
}

subclass!(ClassifierObjective, |inner| inner.n_features(), inner.n_samples(), inner.n_threads(), inner.is_quick());

impl ClassifierObjective {
    /// The objective, without a chain yet.
    pub fn of(inner: Classifier) -> Self {
        ClassifierObjective { inner: Arc::new(inner), chain: PyOnceLock::new() }
    }

    /// The objective, shared.
    pub fn shared(&self) -> Arc<Classifier> {
        Arc::clone(&self.inner)
    }

    /// Whether a few proximal Newton steps take a moment.
    fn is_quick(&self) -> bool {
        let products = self.inner.design.n_entries().saturating_mul(self.inner.n_columns());
        products.saturating_mul(self.inner.n_outputs().pow(2)) < FEW_PRODUCTS
    }

    /// An error unless there are two classes and `w` has the length of the weights.
    fn check_binary(&self, w: &[f64]) -> PyResult<()> {
        if self.inner.n_outputs() != 1 {
            return Err(OptionError::new_err("this needs exactly two classes"));
        }
        same_length(w, self.inner.n_features())
    }
}

/// The trained model of a classifier. `w` has a row for each attribute of `names`: a weight for each label, or with two labels
/// the weight of the second.
#[pyfunction]
#[pyo3(signature = (names, labels, w, settings, *, template=None, intercept=None))]
pub fn classifier_model(
    names: Vec<String>,
    labels: Vec<String>,
    w: PyReadonlyArray1<'_, f64>,
    settings: String,
    template: Option<&str>,
    intercept: Option<&str>,
) -> PyResult<ChainModel> {
    let attributes = alphabet(&names)?;
    let features = Features::of_columns(names.len(), labels.len(), 0)?;
    let w = weights(&w, features.len())?;
    let (attributes, labels, features) = (&attributes, &labels[..], &features);
    ChainModel::trained(Source { features, attributes, labels, settings, template, intercept }, w)
}

#[pymethods]
impl ClassifierObjective {
    /// The objective on the rows of a matrix in compressed sparse rows, where row i ends before entry `ends[i]`. Each row has a
    /// class and, if `weights` are given, a weight. `scaled` replaces the value of the intercept by the largest norm of a column.
    #[new]
    #[pyo3(signature = (ends, ids, values, n_columns, targets, weights=None, *, n_classes, intercept=None, scaled=false, threads=0))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        ends: PyReadonlyArray1<'_, u64>,
        ids: PyReadonlyArray1<'_, u32>,
        values: PyReadonlyArray1<'_, f64>,
        n_columns: usize,
        targets: PyReadonlyArray1<'_, u32>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        n_classes: usize,
        intercept: Option<f64>,
        scaled: bool,
        threads: usize,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (ends, ids, values, targets) = (sizes(&ends)?, read(&ids)?, read(&values)?, read(&targets)?.to_vec());
        let weights = copied(weights.as_ref())?;
        let inner = interruptible_unless(values.len() < QUICK, py, |_| {
            let design = Arc::new(Design::new(ends, ids, values, n_columns)?);
            Classifier::new(design, targets, weights, n_classes, (intercept, scaled), threads)
        })?;
        Ok(ClassifierObjective::of(inner).into())
    }

    /// The objective on the rows of a dense matrix in memory that must not change. `layout`: whether the numbers of a row stand side
    /// by side, or else those of a column; the place of the first row, or column; and the distance from each to the next. `shift`
    /// is subtracted from the columns. The other arguments are those of the constructor.
    #[staticmethod]
    #[pyo3(signature = (numbers, shape, layout, shift, targets, weights=None, *, n_classes, intercept=None, scaled=false, threads=0))]
    #[allow(clippy::too_many_arguments)]
    fn of_table(
        py: Python<'_>,
        numbers: &Bound<'_, PyAny>,
        shape: (usize, usize),
        layout: (bool, usize, isize),
        shift: Option<PyReadonlyArray1<'_, f64>>,
        targets: PyReadonlyArray1<'_, u32>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        n_classes: usize,
        intercept: Option<f64>,
        scaled: bool,
        threads: usize,
    ) -> PyResult<Py<Self>> {
        let numbers = match numbers.cast::<PyArray1<f32>>() {
            Ok(array) => Numbers::Single(Arc::new(Held::of(array)?)),
            Err(_) => Numbers::Double(Arc::new(Held::of(numbers.cast::<PyArray1<f64>>()?)?)),
        };
        let (targets, weights) = (read(&targets)?.to_vec(), copied(weights.as_ref())?);
        let (by_rows, first, step) = layout;
        let (layout, shift) = (Layout { by_rows, first, step }, shift.map(|shift| read(&shift).map(<[f64]>::to_vec)));
        let shift = shift.transpose()?;
        let inner = interruptible_unless(shape.0.saturating_mul(shape.1) < QUICK, py, |_| {
            let design = Arc::new(Design::dense(Table::new(numbers, layout, shape, shift)?));
            Classifier::new(design, targets, weights, n_classes, (intercept, scaled), threads)
        })?;
        Py::new(py, ClassifierObjective::of(inner))
    }

    /// Number of weights of a column.
    #[getter]
    fn n_outputs(&self) -> usize {
        self.inner.n_outputs()
    }

    /// Whether the samples are kept as a dense matrix.
    #[getter]
    fn is_dense(&self) -> bool {
        self.inner.design.table().is_some()
    }

    /// Value of the intercept's column; None without an intercept.
    #[getter]
    fn intercept(&self) -> Option<f64> {
        self.inner.intercept
    }

    /// The largest absolute value in each column, the intercept's left out; None if all values are 1.
    fn largest_values<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.inner.largest_values().map(|largest| PyArray1::from_vec(py, largest))
    }

    /// Class of each sample.
    #[getter]
    fn targets<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, &self.inner.targets)
    }

    /// Weight of each sample.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, (0..self.inner.n_samples()).map(|sample| self.inner.weight(sample)).collect())
    }

    /// The matrix without the intercept in compressed sparse rows: ends, column ids, values.
    #[allow(clippy::type_complexity)]
    fn rows<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>) {
        let rows = self.inner.design.rows();
        let (ids, values) = rows.parts();
        let ids = (0..rows.n_entries()).map(|at| ids.get(at) as usize);
        let values = (0..rows.n_entries()).map(|at| values.get(at)).collect();
        (integers(py, rows.ends().iter().copied()), integers(py, ids), PyArray1::from_vec(py, values))
    }

    /// p(y | x) of every sample, sample by sample; with two classes, p(y = 1 | x).
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        w: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let w = weights(&w, self.inner.n_features())?;
        let probabilities =
            interruptible_unless(self.inner.is_quick(), py, |interrupt| self.inner.probabilities(w, interrupt))?;
        Ok(PyArray1::from_vec(py, probabilities))
    }

    /// The same problem over chains of one token, made at the first call.
    fn as_chain(&self, py: Python<'_>) -> PyResult<Py<ChainObjective>> {
        let chain = self.chain.get_or_try_init(py, || {
            let inner = interruptible(py, |_| as_chain(&self.inner))?;
            Py::new(py, ChainObjective::of(inner))
        })?;
        Ok(chain.clone_ref(py))
    }

    /// The view of the problem for stochastic solvers, made at the first call.
    fn per_sample(&self, py: Python<'_>) -> PyResult<Py<SamplePasses>> {
        self.as_chain(py)?.get().per_sample(py, false)
    }

    /// Two classes: the negative log-likelihood at `w`, x . w of every sample, and the gradient, computed from the rows only.
    #[allow(clippy::type_complexity)]
    fn start<'py>(
        &self,
        py: Python<'py>,
        w: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let w = read(&w)?;
        self.check_binary(w)?;
        let Start { nll, scores, gradient, .. } = py.detach(|| self.inner.start(w));
        Ok((nll, PyArray1::from_vec(py, scores), PyArray1::from_vec(py, gradient)))
    }

    /// Two classes: x . w of every sample.
    fn scores<'py>(&self, py: Python<'py>, w: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let w = read(&w)?;
        self.check_binary(w)?;
        Ok(PyArray1::from_vec(py, py.detach(|| self.inner.scores(w))))
    }

    /// A bound of the distance of the objective from its minimum at `w`, nats; see `classifier::gap`. The intercept bears no penalty.
    fn gap(&self, py: Python<'_>, w: PyReadonlyArray1<'_, f64>, l1: f64, l2: f64) -> PyResult<f64> {
        let (inner, w) = (&self.inner, weights(&w, self.inner.n_features())?);
        Ok(py.detach(|| {
            let point = Point::at(inner, w.to_vec());
            let (objective, _) = point.measure(inner, (l1, l2), &(0..0));
            let (point, largest) =
                (with_better_intercept(inner, point), inner.intercept.and_then(|_| inner.largest_values()));
            gap(inner, &point, largest.as_deref(), (l1, l2), objective)
        }))
    }

    /// Whether a proximal Newton step writes the Hessian out at once, and solves a system of equations where `l1` is 0.
    fn has_small_gram(&self, l1: f64) -> bool {
        let is_due = l1 == 0.0 || self.inner.n_outputs() > 1 || self.inner.design.table().is_some();
        is_due && gram::is_small(self.inner.n_features())
    }

    /// The weights of dual variables, w = sum of alpha_i y_i x_i, and |x_i|^2 of every sample.
    fn dual_start<'py>(
        &self,
        py: Python<'py>,
        alpha: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<[Bound<'py, PyArray1<f64>>; 2]> {
        let alpha = read(&alpha)?;
        if alpha.len() != 2 * self.inner.n_samples() || self.inner.n_outputs() != 1 {
            return Err(OptionError::new_err("alpha needs two entries per sample, and the problem two classes"));
        }
        let (w, squares) = py.detach(|| dual::start(&self.inner, alpha));
        Ok([w, squares].map(|vector| PyArray1::from_vec(py, vector)))
    }

    /// A pass of dual coordinate descent (see `loglinear.solvers.dual_cd`) over the samples `visits`, first to last. It updates
    /// `w` and `alpha`, of shape (n, 2), in place; `squares` holds |x_i|^2 of every sample. Log-odds
    /// within `near` of their optimum are left as they are. Returns the largest |y_i x_i . w + log(alpha_i / (C_i - alpha_i))| met,
    /// which is 0 at the optimum.
    #[allow(clippy::too_many_arguments)]
    fn dual_pass(
        &self,
        py: Python<'_>,
        w: &Bound<'_, PyArray1<f64>>,
        alpha: &Bound<'_, PyArray2<f64>>,
        squares: PyReadonlyArray1<'_, f64>,
        visits: PyReadonlyArray1<'_, i64>,
        l2: f64,
        near: f64,
    ) -> PyResult<f64> {
        written!(w, alpha);
        let (squares, n) = (read(&squares)?, self.inner.n_samples());
        self.check_binary(w)?;
        if (alpha.len(), squares.len()) != (2 * n, n) || self.inner.intercept.is_some() {
            return Err(OptionError::new_err(
                "each sample needs two dual variables and a square; an intercept is not supported",
            ));
        }
        let visits = numbers("sample numbers", &visits, n)?;
        let (classifier, visits) = (&*self.inner, &visits[..]);
        interruptible_unless(classifier.is_quick(), py, |interrupt| {
            dual::Pass { classifier, w, alpha, squares, visits, l2, near, interrupt }.run()
        })
    }

    /// A proximal Newton step (see `loglinear.solvers.prox_newton`). It updates all three arrays: the weights, the scores x . w
    /// of the samples, and the gradient of the negative log-likelihood. With three classes or more there are no scores.
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
        let n_scores = if self.inner.n_outputs() == 1 { self.inner.n_samples() } else { 0 };
        if (scores.len(), gradient.len()) != (n_scores, w.len()) {
            return Err(OptionError::new_err("scores needs one entry per sample, gradient one per weight"));
        }
        let varied = varied_of(varied, self.inner.n_penalised())?;
        let settings = NewtonSettings { l1, l2, precision, sweeps, least, excluded: 0..0, stride, enough: 0.0, varied };
        let quick = self.is_quick();
        let (old_w, old_scores, old_gradient) = (w.to_vec(), scores.to_vec(), gradient.to_vec());
        let (done, point) = interruptible_unless(quick, py, |interrupt| {
            let mut point = Point::of_scores(&self.inner, old_w, old_scores, old_gradient);
            let done = newton::step(&self.inner, &mut point, &mut KeptGram::default(), &settings, interrupt)?;
            Ok((done, point))
        })?;
        w.copy_from_slice(&point.w);
        scores.copy_from_slice(&point.scores[..n_scores]);
        gradient.copy_from_slice(&point.gradient);
        Ok(done.into())
    }

    /// The start of a path of minima: steps of proximal Newton begin at `w`, with these options.
    #[pyo3(signature = (w, *, l2, precision, sweeps, least))]
    fn path(
        &self,
        py: Python<'_>,
        w: PyReadonlyArray1<'_, f64>,
        l2: f64,
        precision: f64,
        sweeps: usize,
        least: usize,
    ) -> PyResult<ClassifierPath> {
        let w = weights(&w, self.inner.n_features())?;
        let settings = NewtonSettings {
            l1: 0.0,
            l2,
            precision,
            sweeps,
            least,
            excluded: 0..0,
            stride: 1,
            enough: 0.0,
            varied: None,
        };
        let walk = py.detach(|| Walk::new(Arc::clone(&self.inner), w.to_vec(), settings));
        Ok(ClassifierPath { walk: Mutex::new(walk), is_quick: self.is_quick() })
    }

    /// The sum over samples of factor * x^2 for each weight; `factors` has shape (n_samples, n_outputs).
    fn squares<'py>(
        &self,
        py: Python<'py>,
        factors: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let factors = read(&factors)?;
        same_length(factors, self.inner.n_samples() * self.inner.n_outputs())?;
        let squares = interruptible(py, |_| Ok(self.inner.squares(factors)))?;
        Ok(PyArray1::from_vec(py, squares))
    }

    /// The objective of two classes, `class` as 1 and all others as 0, on the same samples, to be evaluated on `threads` threads.
    fn one_against_rest(&self, class: u32, threads: usize) -> PyResult<Self> {
        Ok(ClassifierObjective::of(self.inner.one_against_rest(class, threads)?))
    }

    /// The objective with other weights of the samples, finite and >= 0.
    fn reweighted(&self, weights: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let (weights, n) = (read(&weights)?.to_vec(), self.inner.n_samples());
        if weights.len() != n || !weights.iter().all(|weight| (0.0..f64::INFINITY).contains(weight)) {
            return Err(OptionError::new_err(format!("expected {n} weights, finite and >= 0")));
        }
        Ok(ClassifierObjective::of(self.inner.reweighted(weights)))
    }

    /// The objective on a dense matrix less a number for each column, and nothing else.
    fn less(&self, shift: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        Ok(ClassifierObjective::of(self.inner.less(read(&shift)?.to_vec())?))
    }

    /// The objective on the given samples, whose weights are multiplied by `factor`.
    #[pyo3(signature = (samples, factor=1.0))]
    fn batch(&self, py: Python<'_>, samples: PyReadonlyArray1<'_, i64>, factor: f64) -> PyResult<Self> {
        let samples = numbers("samples", &samples, self.inner.n_samples())?;
        let inner = interruptible(py, |_| Ok(self.inner.batch(&samples, factor)))?;
        Ok(ClassifierObjective::of(inner))
    }

    /// Two classes: the objective over sums of columns, where column j is added to the new column map[j].
    fn aggregate(&self, py: Python<'_>, map: PyReadonlyArray1<'_, i64>, n_columns: usize) -> PyResult<Self> {
        let map = numbers("column numbers", &map, n_columns.min(u32::MAX as usize))?;
        if map.len() != self.inner.design.n_columns() || self.inner.n_outputs() != 1 {
            let message = "aggregate needs two classes and one map entry per column";
            return Err(OptionError::new_err(message));
        }
        let map: Vec<u32> = map.into_iter().map(|to| to as u32).collect();
        let inner = interruptible(py, |_| Ok(self.inner.aggregate(&map, n_columns)))?;
        Ok(ClassifierObjective::of(inner))
    }

    /// Two classes: the objective over some of the columns, given by ascending numbers, and over the intercept.
    fn restrict(&self, py: Python<'_>, columns: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        let columns = ascending(&columns, self.inner.design.n_columns())?;
        if self.inner.n_outputs() != 1 {
            return Err(OptionError::new_err("this needs exactly two classes"));
        }
        Ok(ClassifierObjective::of(interruptible(py, |_| Ok(self.inner.restrict(&columns)))?))
    }
}

/// Factors and signs of the weights that bear a penalty, from Python.
pub(super) type FactorsAndSigns<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, i8>);

/// Copies factors and signs of weights. Error: their number is another one.
pub(super) fn varied_of(varied: Option<FactorsAndSigns<'_>>, n_penalised: usize) -> PyResult<Option<Varied>> {
    let Some((factors, signs)) = varied else { return Ok(None) };
    let (factors, signs) = (read(&factors)?.to_vec(), read(&signs)?.to_vec());
    if [factors.len(), signs.len()] != [n_penalised; 2] {
        return Err(OptionError::new_err("factors and signs need one entry per penalised weight"));
    }
    Ok(Some(Varied { factors, signs }))
}
