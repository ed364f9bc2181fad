//! `ChainObjective`: the negative log-likelihood for the optimisers.

use crate::bindings::arrays::{ascending, numbers, read, value_and_gradient, writable, write};
use crate::bindings::data::Corpus;
use crate::bindings::errors::OptionError;
use crate::bindings::interrupt::interruptible;
use crate::bindings::model::ChainModel;
use crate::chain::feature_names::feature_names;
use crate::chain::features::Selection;
use crate::chain::model::Source;
use crate::chain::objective as chain;
use crate::stochastic::sag::{self, Gradients, Memory, Sampling, Settings as SagSettings, Sizes};
use crate::stochastic::sgd_l1::{self, LineSearch, Penalty, Settings};
use crate::stochastic::{adagrad, sg};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::sync::Arc;

#[pyclass(frozen, module = "loglinear._core")]
pub struct ChainObjective {
    pub inner: chain::ChainObjective,
}

impl ChainObjective {
    /// The samples that an array names.
    fn samples(&self, order: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
        numbers("order names samples", order, self.inner.corpus.n_sentences())
    }

    /// Refuses what goes sample by sample to second-order chains.
    fn check_first_order(&self) -> PyResult<()> {
        if self.inner.order() == 1 {
            return Ok(());
        }
        let message =
            "solvers that go sample by sample are for chains of order 1; use lbfgs, owlqn or another batch solver";
        Err(OptionError::new_err(message))
    }

    fn check_lengths(&self, w: &[f64], kept: &[f64]) -> PyResult<()> {
        let n = self.inner.features.len();
        if (w.len(), kept.len()) == (n, n) {
            return Ok(());
        }
        let message =
            format!("{n} weights are needed, and as many numbers to keep; there are {} and {}", w.len(), kept.len());
        Err(OptionError::new_err(message))
    }
}

#[pymethods]
impl ChainObjective {
    #[new]
    #[pyo3(signature = (corpus, *, all_states=false, all_transitions=false, min_count=1, order=1, threads=0))]
    fn new(
        py: Python<'_>,
        corpus: &Corpus,
        all_states: bool,
        all_transitions: bool,
        min_count: u32,
        order: u8,
        threads: usize,
    ) -> PyResult<Self> {
        let corpus = Arc::clone(&corpus.inner);
        if !(1..=2).contains(&order) {
            return Err(OptionError::new_err(format!("order={order} is neither 1 nor 2")));
        }
        let selection = Selection { all_states, all_transitions, min_count, order };
        let inner = interruptible(py, |_| chain::ChainObjective::new(corpus, selection, threads))?;
        Ok(ChainObjective { inner })
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.inner.features.len()
    }

    #[getter]
    fn n_samples(&self) -> usize {
        self.inner.corpus.n_sentences()
    }

    #[getter]
    fn n_threads(&self) -> usize {
        self.inner.n_threads()
    }

    /// How many of the last features bear no penalty in stochastic methods: an intercept's.
    #[getter]
    fn n_unpenalised(&self) -> usize {
        self.inner.n_unpenalised
    }

    /// 1 or 2: how many labels before a token's its score depends on.
    #[getter]
    fn order(&self) -> u8 {
        self.inner.order()
    }

    /// Range of the features that may be clustered: those of states.
    #[getter]
    fn clusterable(&self) -> (usize, usize) {
        (self.inner.features.first_state(), self.inner.features.len())
    }

    /// (transitions, triples, bigram features, state features), in the order of the weights
    #[getter]
    fn feature_counts(&self) -> (usize, usize, usize, usize) {
        let features = &self.inner.features;
        (features.transitions.len(), features.triples.len(), features.n_bigrams(), features.state_labels.len())
    }

    #[pyo3(signature = (w, out=None))]
    fn value_and_gradient<'py>(
        &self,
        py: Python<'py>,
        w: PyReadonlyArray1<'py, f64>,
        out: Option<Bound<'py, PyArray1<f64>>>,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
        value_and_gradient(py, (self.inner.features.len(), false), &w, out, |w, gradient, interrupt| {
            self.inner.value_and_gradient(w, gradient, interrupt)
        })
    }

    /// A pass of stochastic gradient descent with L1 (see `loglinear.solvers.sgd_l1`); updates w and q in place.
    ///
    /// l1 and l2 are what a sample bears of the penalty. Returns u and the number of
    /// evaluations of a sample.
    #[pyo3(signature = (w, q, u, *, order, rates, l1, l2, penalty, line_search=None))]
    #[allow(clippy::too_many_arguments)]
    fn sgd_l1_pass(
        &self,
        py: Python<'_>,
        w: &Bound<'_, PyArray1<f64>>,
        q: &Bound<'_, PyArray1<f64>>,
        u: f64,
        order: PyReadonlyArray1<'_, i64>,
        rates: PyReadonlyArray1<'_, f64>,
        l1: f64,
        l2: f64,
        penalty: &str,
        line_search: Option<(usize, f64)>,
    ) -> PyResult<(f64, usize)> {
        self.check_first_order()?;
        let penalty = match penalty {
            "naive" => Penalty::Naive,
            "clipping" => Penalty::Clipping,
            "clipping_lazy" => Penalty::ClippingLazy,
            "cumulative" => Penalty::Cumulative,
            other => return Err(OptionError::new_err(format!("there is no penalty {other:?}"))),
        };
        let line_search = line_search.map(|(trials, decay)| LineSearch { trials, decay });
        if line_search.is_some() && !matches!(penalty, Penalty::Cumulative | Penalty::ClippingLazy) {
            return Err(OptionError::new_err("the line search needs a penalty that touches a sample's weights alone"));
        }
        let (mut w, mut q) = (writable(w)?, writable(q)?);
        let (w, q, rates) = (write(&mut w)?, write(&mut q)?, read(&rates)?);
        let order = self.samples(&order)?;
        self.check_lengths(w, q)?;
        if rates.len() != order.len() {
            return Err(OptionError::new_err(format!("{} rates for {} samples", rates.len(), order.len())));
        }
        let settings = Settings { penalty, l1, l2, rates, order: &order, line_search };
        let outcome = interruptible(py, |interrupt| sgd_l1::pass(&self.inner, w, q, u, &settings, interrupt))?;
        Ok((outcome.u, outcome.evaluations))
    }

    /// A pass of stochastic gradient descent with L2 (see `loglinear.solvers.sg`); updates w in place and adds all iterates to sum.
    ///
    /// l2 is what a sample bears of the penalty.
    #[pyo3(signature = (w, sum, *, order, rates, l2))]
    fn sg_pass(
        &self,
        py: Python<'_>,
        w: &Bound<'_, PyArray1<f64>>,
        sum: &Bound<'_, PyArray1<f64>>,
        order: PyReadonlyArray1<'_, i64>,
        rates: PyReadonlyArray1<'_, f64>,
        l2: f64,
    ) -> PyResult<()> {
        self.check_first_order()?;
        let (mut w, mut sum) = (writable(w)?, writable(sum)?);
        let (w, sum, rates, order) = (write(&mut w)?, write(&mut sum)?, read(&rates)?, self.samples(&order)?);
        self.check_lengths(w, sum)?;
        if rates.len() != order.len() {
            return Err(OptionError::new_err(format!("{} rates for {} samples", rates.len(), order.len())));
        }
        let settings = sg::Settings { l2, rates, order: &order };
        interruptible(py, |interrupt| sg::pass(&self.inner, w, sum, &settings, interrupt))
    }

    /// A pass of AdaGrad with L2 (see `loglinear.solvers.adagrad`); updates w and the sums of squares in place.
    ///
    /// l2 is what a sample bears of the penalty.
    #[pyo3(signature = (w, squares, *, order, rate, delta, l2))]
    #[allow(clippy::too_many_arguments)]
    fn adagrad_pass(
        &self,
        py: Python<'_>,
        w: &Bound<'_, PyArray1<f64>>,
        squares: &Bound<'_, PyArray1<f64>>,
        order: PyReadonlyArray1<'_, i64>,
        rate: f64,
        delta: f64,
        l2: f64,
    ) -> PyResult<()> {
        self.check_first_order()?;
        let (mut w, mut squares) = (writable(w)?, writable(squares)?);
        let (w, squares, order) = (write(&mut w)?, write(&mut squares)?, self.samples(&order)?);
        self.check_lengths(w, squares)?;
        let settings = adagrad::Settings { l2, rate, delta, order: &order };
        interruptible(py, |interrupt| adagrad::pass(&self.inner, w, squares, &settings, interrupt))
    }

    /// How many numbers SAG stores of the gradients of all samples: of states, of transitions, of edges.
    #[getter]
    fn sag_sizes(&self) -> PyResult<(usize, usize, usize)> {
        self.check_first_order()?;
        let Sizes { states, transitions, edges } = Sizes::new(&self.inner);
        Ok((states, transitions, edges))
    }

    /// Steps of SAG (see `loglinear.solvers.sag`), one for each row of `draws`; updates w, d and all that is stored in place,
    /// also when interrupted.
    ///
    /// l1 and l2 are what a sample bears of the penalty. Returns the number of evaluations of a sample.
    #[pyo3(signature = (w, d, gradients, lipschitz, seen, pauses, *, draws, sampling, saga, l1, l2))]
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
    ) -> PyResult<usize> {
        self.check_first_order()?;
        let (sampling, constants) = match sampling {
            "uniform" => (Sampling::Uniform, 1),
            "nus" => (Sampling::Nus, self.n_samples()),
            "nus_star" => (Sampling::NusStar, self.n_samples()),
            other => return Err(OptionError::new_err(format!("there is no sampling {other:?}"))),
        };
        let [states, transitions, edges] = &gradients;
        let (mut states, mut transitions, mut edges) = (writable(states)?, writable(transitions)?, writable(edges)?);
        let (states, transitions, edges) = (write(&mut states)?, write(&mut transitions)?, write(&mut edges)?);
        let (mut w, mut d, mut lipschitz, mut seen) =
            (writable(w)?, writable(d)?, writable(lipschitz)?, writable(seen)?);
        let mut pauses = writable(pauses)?;
        let pauses: &mut [[u8; 2]] = write(&mut pauses)?.as_chunks_mut().0;
        let (w, d, lipschitz, seen) = (write(&mut w)?, write(&mut d)?, write(&mut lipschitz)?, write(&mut seen)?);
        let (n, sizes) = (self.inner.features.len(), Sizes::new(&self.inner));
        let lengths = [w.len(), d.len(), states.len(), transitions.len(), edges.len(), lipschitz.len(), seen.len()];
        let wanted = [n, n, sizes.states, sizes.transitions, sizes.edges, constants, self.n_samples()];
        if lengths != wanted || draws.shape()[1] != 2 || ![0, self.n_samples()].contains(&pauses.len()) {
            let message = format!("the arrays have lengths {lengths:?}; they need {wanted:?}, and two draws a step");
            return Err(OptionError::new_err(message));
        }
        let draws: &[[f64; 2]] = read(&draws)?.as_chunks().0;
        let settings = SagSettings { sampling, saga, l1, l2, draws };
        interruptible(py, |interrupt| {
            let gradients = Gradients::new(&self.inner, states, transitions, edges);
            sag::pass(&self.inner, w, Memory { d, gradients, lipschitz, seen, pauses }, &settings, interrupt)
        })
    }

    /// The objective on some of the samples, with the features that occur there.
    fn sample(&self, py: Python<'_>, order: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        let sentences = self.samples(&order)?;
        let inner = interruptible(py, |_| self.inner.sample(&sentences))?;
        Ok(ChainObjective { inner })
    }

    /// The objective on some of the samples, each of which weighs `factor` times what it does here, with all features.
    fn batch(&self, py: Python<'_>, order: PyReadonlyArray1<'_, i64>, factor: f64) -> PyResult<Self> {
        let sentences = self.samples(&order)?;
        let inner = interruptible(py, |_| Ok(self.inner.batch(&sentences, factor)))?;
        Ok(ChainObjective { inner })
    }

    /// The objective over clusters of state features; feature j goes to map[j]. None if others are clustered.
    fn aggregate(&self, py: Python<'_>, map: PyReadonlyArray1<'_, i64>, n_clusters: usize) -> PyResult<Option<Self>> {
        let (map, n) = (numbers("map names clusters", &map, n_clusters)?, self.inner.features.len());
        if map.len() != n {
            return Err(OptionError::new_err(format!("map needs {n} entries; it has {}", map.len())));
        }
        let inner = interruptible(py, |_| Ok(self.inner.aggregate(&map, n_clusters)))?;
        Ok(inner.map(|inner| ChainObjective { inner }))
    }

    /// The objective over some of the features, whose numbers ascend; the others' weights are 0.
    fn restrict(&self, py: Python<'_>, features: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        let kept = ascending(&features, self.inner.features.len())?;
        Ok(ChainObjective { inner: interruptible(py, |_| Ok(self.inner.restrict(&kept)))? })
    }

    /// Names of features by their numbers: the attribute, if there is one, and the labels in a row.
    fn feature_names(&self, features: PyReadonlyArray1<'_, i64>) -> PyResult<Vec<(Option<String>, Vec<&str>)>> {
        let numbers = numbers("numbers name features", &features, self.inner.features.len())?;
        let corpus = &self.inner.corpus;
        let label = |&label: &u16| corpus.labels[usize::from(label)].as_str();
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let names = feature_names(&self.inner.features, &corpus.attributes, &numbers);
        Ok(names.iter().map(|name| (name.attribute.map(text), name.labels.iter().map(label).collect())).collect())
    }

    /// A model of the features whose weights are not 0, with its settings (JSON) and the template it reads text with.
    #[pyo3(signature = (w, settings, template=None))]
    fn model(&self, w: PyReadonlyArray1<'_, f64>, settings: String, template: Option<&str>) -> PyResult<ChainModel> {
        let w = w.as_slice().map_err(|_| OptionError::new_err("w has to be contiguous"))?;
        let n = self.inner.features.len();
        if w.len() != n {
            return Err(OptionError::new_err(format!("w needs {n} entries; it has {}", w.len())));
        }
        let corpus = &self.inner.corpus;
        let (attributes, labels) = (&*corpus.attributes, &corpus.labels[..]);
        let features = &*self.inner.features;
        ChainModel::trained(Source { features, attributes, labels, settings, template, intercept: None }, w)
    }
}
