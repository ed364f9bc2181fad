//! Methods of `SamplePasses`: the view of an objective for solvers that visit single samples.

use crate::bindings::arrays::{integers, numbers, read, written};
use crate::bindings::classes::{SamplePasses, Samples};
use crate::bindings::errors::OptionError;
use crate::bindings::interrupt::interruptible;
use crate::error::Result;
use crate::stochastic::online::{self, Arow, AveragedPerceptron, Learner, PassiveAggressive, Slack};
use crate::stochastic::sag::averaging::{AveragedView, Sizes};
use crate::stochastic::sag::{self, Change, Memory, Sampling, Settings as SagSettings};
use crate::stochastic::sgd_l1::{self, LineSearch, Penalty, Settings, batches};
use crate::stochastic::view::View;
use crate::stochastic::{adagrad, samples, sg};
use crate::threads::Interrupt;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// Evaluates an expression that is generic over the kind of samples.
macro_rules! on_samples {
    ($passes:expr, $view:ident => $work:expr) => {
        match &$passes.inner {
            Samples::Chains { view: $view, .. } => $work,
            Samples::Graphs($view) => $work,
        }
    };
}

impl SamplePasses {
    /// The samples, which have to be chains.
    fn chains(&self) -> PyResult<&samples::SamplePasses> {
        match &self.inner {
            Samples::Chains { view, .. } => Ok(view),
            Samples::Graphs(_) => Err(OptionError::new_err("these passes need chains, not graphs")),
        }
    }

    /// The numbers of samples that an array holds, checked.
    fn numbers(&self, visits: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
        numbers("sample numbers", visits, self.n_samples())
    }

    /// The numbers of samples that an array holds, and the learning rate for each.
    fn rated<'a>(
        &self,
        visits: &PyReadonlyArray1<'_, i64>,
        rates: &'a PyReadonlyArray1<'_, f64>,
    ) -> PyResult<(Vec<usize>, &'a [f64])> {
        let (visits, rates) = (self.numbers(visits)?, read(rates)?);
        if rates.len() == visits.len() {
            return Ok((visits, rates));
        }
        Err(OptionError::new_err(format!("{} rates for {} samples", rates.len(), visits.len())))
    }

    /// Calls a pass without the GIL, with the weights and the solver's state of each weight, both writable.
    fn update<T: Send>(
        &self,
        py: Python<'_>,
        [w, state]: [&Bound<'_, PyArray1<f64>>; 2],
        pass: impl FnOnce(&mut [f64], &mut [f64], &Interrupt) -> Result<T> + Send,
    ) -> PyResult<T> {
        written!(w, state);
        let n = self.n_features();
        let lengths = [w.len(), state.len()];
        if lengths == [n; 2] {
            return interruptible(py, |interrupt| pass(w, state, interrupt));
        }
        Err(OptionError::new_err(format!(
            "the arrays have lengths {lengths:?}; each needs one entry for each of {n} weights"
        )))
    }

    /// A pass of an online learner whose variances are 1.
    fn averaged_pass(
        &self,
        py: Python<'_>,
        learner: &dyn Learner,
        updated: [&Bound<'_, PyArray1<f64>>; 2],
        iterates: u64,
        visits: &PyReadonlyArray1<'_, i64>,
    ) -> PyResult<f64> {
        let (chains, visits) = (self.chains()?, self.numbers(visits)?);
        self.update(py, updated, |w, sum, interrupt| {
            let state = online::State { variances: &mut vec![1.0; w.len()], w, sum, iterates };
            online::pass(chains, learner, state, &visits, interrupt)
        })
    }
}

#[pymethods]
impl SamplePasses {
    #[getter]
    fn n_features(&self) -> usize {
        on_samples!(self, view => view.n_features())
    }

    #[getter]
    fn n_samples(&self) -> usize {
        on_samples!(self, view => view.n_samples())
    }

    #[getter]
    fn n_threads(&self) -> usize {
        match &self.inner {
            Samples::Chains { view, .. } => view.objective.n_threads(),
            Samples::Graphs(_) => 1,
        }
    }

    /// The number of weights, at the end, without a penalty: the intercept's.
    #[getter]
    fn n_unpenalised(&self) -> usize {
        match &self.inner {
            Samples::Chains { view, .. } => view.objective.n_unpenalised,
            Samples::Graphs(_) => 0,
        }
    }

    /// The ends of the runs of samples that are contiguous on disk, if passes visit them together; else None.
    #[getter]
    fn run_ends<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        let Samples::Chains { view, by_run } = &self.inner else { return None };
        let (corpus, features) = (&view.objective.corpus, &view.objective.features);
        let ends = features.blocks.iter().filter(|(run, _)| !run.is_empty()).map(|(run, _)| run.end);
        (*by_run && corpus.is_mapped()).then(|| integers(py, ends))
    }

    /// A pass of stochastic gradient descent with L1 (see `loglinear.solvers.sgd_l1`); updates w and q in place.
    ///
    /// l1 and l2 are the penalties over the number of samples. Returns u and the number of evaluations of a sample.
    #[pyo3(signature = (w, q, u, *, visits, rates, l1, l2, penalty, line_search=None))]
    #[allow(clippy::too_many_arguments)]
    fn sgd_l1_pass(
        &self,
        py: Python<'_>,
        w: &Bound<'_, PyArray1<f64>>,
        q: &Bound<'_, PyArray1<f64>>,
        u: f64,
        visits: PyReadonlyArray1<'_, i64>,
        rates: PyReadonlyArray1<'_, f64>,
        l1: f64,
        l2: f64,
        penalty: &str,
        line_search: Option<(usize, f64)>,
    ) -> PyResult<(f64, usize)> {
        let penalty = match penalty {
            "naive" => Penalty::Naive,
            "clipping" => Penalty::Clipping,
            "clipping_lazy" => Penalty::ClippingLazy,
            "cumulative" => Penalty::Cumulative,
            other => return Err(OptionError::new_err(format!("unknown penalty {other:?}"))),
        };
        let line_search = line_search.map(|(trials, decay)| LineSearch { trials, decay });
        if line_search.is_some() && !matches!(penalty, Penalty::Cumulative | Penalty::ClippingLazy) {
            return Err(OptionError::new_err("the line search needs the penalty \"cumulative\" or \"clipping_lazy\""));
        }
        let (visits, rates) = self.rated(&visits, &rates)?;
        let settings = Settings { penalty, l1, l2, rates, visits: &visits, line_search };
        let outcome = on_samples!(self, view => {
            self.update(py, [w, q], |w, q, interrupt| sgd_l1::pass(view, w, q, u, &settings, interrupt))
        })?;
        Ok((outcome.u, outcome.evaluations))
    }

    /// Whether passes can go by batches: see `sgd_l1_batches`.
    #[getter]
    fn has_batches(&self) -> bool {
        self.chains().is_ok_and(|view| batches::suits(&view.objective))
    }

    /// A pass like `sgd_l1_pass` with the cumulative penalty, in single precision and with several samples an update.
    #[pyo3(signature = (w, q, u, *, visits, rates, l1, l2, batch_size))]
    #[allow(clippy::too_many_arguments)]
    fn sgd_l1_batches(
        &self,
        py: Python<'_>,
        w: &Bound<'_, PyArray1<f64>>,
        q: &Bound<'_, PyArray1<f64>>,
        u: f64,
        visits: PyReadonlyArray1<'_, i64>,
        rates: PyReadonlyArray1<'_, f64>,
        l1: f64,
        l2: f64,
        batch_size: usize,
    ) -> PyResult<(f64, usize)> {
        if !self.has_batches() || batch_size == 0 {
            let message =
                "passes by batches need batches of 1 sample or more, and labels that are all known and allowed";
            return Err(OptionError::new_err(message));
        }
        let (chains, (visits, rates)) = (self.chains()?, self.rated(&visits, &rates)?);
        let settings = batches::Settings { l1, l2, rates, visits: &visits, batch_size };
        let pass = |w: &mut _, q: &mut _, interrupt: &_| batches::pass(chains, w, q, u, &settings, interrupt);
        let outcome = self.update(py, [w, q], pass)?;
        Ok((outcome.u, outcome.evaluations))
    }

    /// A pass of stochastic gradient descent with L2 (see `loglinear.solvers.sg`); updates w in place and adds all iterates to sum.
    ///
    /// l2 is the penalty over the number of samples.
    #[pyo3(signature = (w, sum, *, visits, rates, l2))]
    fn sg_pass(
        &self,
        py: Python<'_>,
        w: &Bound<'_, PyArray1<f64>>,
        sum: &Bound<'_, PyArray1<f64>>,
        visits: PyReadonlyArray1<'_, i64>,
        rates: PyReadonlyArray1<'_, f64>,
        l2: f64,
    ) -> PyResult<()> {
        let (visits, rates) = self.rated(&visits, &rates)?;
        let settings = sg::Settings { l2, rates, visits: &visits };
        on_samples!(self, view => {
            self.update(py, [w, sum], |w, sum, interrupt| sg::pass(view, w, sum, &settings, interrupt))
        })
    }

    /// A pass of AdaGrad with L2 (see `loglinear.solvers.adagrad`); updates w and the sums of squares in place.
    ///
    /// l2 is the penalty over the number of samples.
    #[pyo3(signature = (w, squares, *, visits, rate, delta, l2))]
    #[allow(clippy::too_many_arguments)]
    fn adagrad_pass(
        &self,
        py: Python<'_>,
        w: &Bound<'_, PyArray1<f64>>,
        squares: &Bound<'_, PyArray1<f64>>,
        visits: PyReadonlyArray1<'_, i64>,
        rate: f64,
        delta: f64,
        l2: f64,
    ) -> PyResult<()> {
        let visits = self.numbers(&visits)?;
        let settings = adagrad::Settings { l2, rate, delta, visits: &visits };
        on_samples!(self, view => {
            self.update(py, [w, squares], |w, squares, interrupt| adagrad::pass(view, w, squares, &settings, interrupt))
        })
    }

    /// A pass of the averaged perceptron (see `loglinear.compat.pycrfsuite._online`); updates w and the weighted sum of its changes in place.
    ///
    /// Returns the sum of the losses, as the other online learners' passes do.
    #[pyo3(signature = (w, sum, iterates, *, visits))]
    fn perceptron_pass(
        &self,
        py: Python<'_>,
        w: &Bound<'_, PyArray1<f64>>,
        sum: &Bound<'_, PyArray1<f64>>,
        iterates: u64,
        visits: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<f64> {
        self.averaged_pass(py, &AveragedPerceptron, [w, sum], iterates, &visits)
    }

    /// A passive-aggressive pass (see `loglinear.compat.pycrfsuite._online`); updates w and the weighted sum of its changes in place.
    ///
    /// `slack` is 0, 1 or 2: none, a linear penalty, a squared one.
    #[pyo3(signature = (w, sum, iterates, *, visits, slack, c, error_sensitive))]
    #[allow(clippy::too_many_arguments)]
    fn passive_aggressive_pass(
        &self,
        py: Python<'_>,
        w: &Bound<'_, PyArray1<f64>>,
        sum: &Bound<'_, PyArray1<f64>>,
        iterates: u64,
        visits: PyReadonlyArray1<'_, i64>,
        slack: u8,
        c: f64,
        error_sensitive: bool,
    ) -> PyResult<f64> {
        let slack = match slack {
            0 => Slack::None,
            1 => Slack::Linear,
            2 => Slack::Squared,
            other => return Err(OptionError::new_err(format!("slack={other}; it must be 0, 1 or 2"))),
        };
        self.averaged_pass(py, &PassiveAggressive { slack, c, error_sensitive }, [w, sum], iterates, &visits)
    }

    /// A pass of AROW (see `loglinear.compat.pycrfsuite._online`); updates w and its variances in place.
    #[pyo3(signature = (w, variances, *, visits, gamma))]
    fn arow_pass(
        &self,
        py: Python<'_>,
        w: &Bound<'_, PyArray1<f64>>,
        variances: &Bound<'_, PyArray1<f64>>,
        visits: PyReadonlyArray1<'_, i64>,
        gamma: f64,
    ) -> PyResult<f64> {
        let (chains, visits) = (self.chains()?, self.numbers(&visits)?);
        self.update(py, [w, variances], |w, variances, interrupt| {
            let state = online::State { sum: &mut vec![0.0; w.len()], w, variances, iterates: 1 };
            online::pass(chains, &Arow { gamma }, state, &visits, interrupt)
        })
    }

    /// Numbers that SAG stores for the gradients of all samples: counts for states, transitions and edges.
    #[getter]
    fn sag_sizes(&self) -> (usize, usize, usize) {
        let Sizes { states, transitions, edges } = on_samples!(self, view => view.sizes());
        (states, transitions, edges)
    }

    /// Steps of SAG (see `loglinear.solvers.sag`), one for each row of `draws`; updates w, d and all stored arrays in place,
    /// also when interrupted.
    ///
    /// l1 and l2 are the penalties over the number of samples. Returns the number of evaluations of a sample.
    #[pyo3(signature = (
        w, d, gradients, lipschitz, seen, pauses, *, draws, sampling, saga, l1, l2, snapshot=None, batch_size=1
    ))]
    #[allow(clippy::too_many_arguments)]
    fn sag_pass(
        &self,
        py: Python<'_>,
        w: &Bound<'_, PyArray1<f64>>,
        d: &Bound<'_, PyArray1<f64>>,
        gradients: [Bound<'_, PyArray1<f32>>; 3],
        lipschitz: &Bound<'_, PyArray1<f64>>,
        seen: &Bound<'_, PyArray1<bool>>,
        pauses: &Bound<'_, PyArray2<u8>>,
        draws: PyReadonlyArray2<'_, f64>,
        sampling: &str,
        saga: bool,
        l1: f64,
        l2: f64,
        snapshot: Option<PyReadonlyArray1<'_, f64>>,
        batch_size: usize,
    ) -> PyResult<usize> {
        let batches = self.n_samples().div_ceil(batch_size.max(1));
        let (sampling, constants) = match sampling {
            "uniform" => (Sampling::Uniform, 1),
            "nus" => (Sampling::Nus, batches),
            "nus_star" => (Sampling::NusStar, batches),
            other => return Err(OptionError::new_err(format!("unknown sampling {other:?}"))),
        };
        let [states, transitions, edges] = &gradients;
        written!(states, transitions, edges, w, d, lipschitz, seen, pauses);
        let pauses: &mut [[u8; 2]] = pauses.as_chunks_mut().0;
        let n = self.n_features();
        let sizes = if snapshot.is_some() { Sizes::default() } else { on_samples!(self, view => view.sizes()) };
        let lengths = [w.len(), d.len(), states.len(), transitions.len(), edges.len(), lipschitz.len(), seen.len()];
        let wanted = [n, n, sizes.states, sizes.transitions, sizes.edges, constants, batches];
        if lengths != wanted || draws.shape()[1] != 2 || ![0, batches].contains(&pauses.len()) {
            let message = format!("the arrays have lengths {lengths:?}; expected {wanted:?} and two draws per step");
            return Err(OptionError::new_err(message));
        }
        let draws: &[[f64; 2]] = read(&draws)?.as_chunks().0;
        let change = match &snapshot {
            Some(w) if w.len() == n => Change::FromSnapshot(read(w)?),
            Some(_) => return Err(OptionError::new_err(format!("the snapshot must have {n} weights"))),
            None if saga => Change::Added,
            None => Change::Averaged,
        };
        if batch_size != 1 && (batch_size == 0 || !matches!(change, Change::Averaged)) {
            return Err(OptionError::new_err("batches are SAG's, and not empty"));
        }
        let settings = SagSettings { sampling, change, batch_size, l1, l2, draws };
        let memory = Memory { d, gradients: [states, transitions, edges], lipschitz, seen, pauses };
        on_samples!(self, view => interruptible(py, |interrupt| sag::pass(view, w, memory, &settings, interrupt)))
    }
}
