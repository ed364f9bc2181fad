//! Methods of `ChainObjective`: the negative log-likelihood of a chain CRF.

use crate::bindings::arrays::{ascending, numbers, read, value_and_gradient, weights};
use crate::bindings::classes::{
    ChainObjective, LikelyLabels, PrunedObjective, SamplePasses, Samples, class_weights_of,
};
use crate::bindings::data::Corpus;
use crate::bindings::errors::OptionError;
use crate::bindings::interrupt::interruptible;
use crate::bindings::model::{self, ChainModel};
use crate::chain::features::Selection;
use crate::chain::features::feature_names::{Name, feature_names};
use crate::chain::features::source::Source;
use crate::chain::model::counts::counts_of;
use crate::chain::model::start::start_weights;
use crate::chain::objective::united::United;
use crate::chain::objective::{self as chain, pruned};
use crate::stochastic::samples;
use crate::threads;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::Arc;

impl ChainObjective {
    /// The numbers of samples that an array holds, checked.
    fn numbers(&self, samples: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
        numbers("samples", samples, self.inner.corpus.n_sentences())
    }
}

#[pymethods]
impl ChainObjective {
    #[new]
    /// `features` is any object with the attributes that `Selection` names.
    /// The features of `older`, a model, are features as well.
    #[pyo3(signature = (corpus, features, *, constraints="null", class_weights=None, threads=0, older=None))]
    fn new(
        py: Python<'_>,
        corpus: &Corpus,
        features: Selection,
        constraints: &str,
        class_weights: Option<Vec<f64>>,
        threads: usize,
        older: Option<&ChainModel>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let corpus = Arc::clone(&corpus.inner);
        if !(1..=2).contains(&features.order) {
            return Err(OptionError::new_err(format!("order={}; it must be 1 or 2", features.order)));
        }
        let (inner, class_weights) = match older {
            None => {
                let allowed = model::allowed(constraints, &corpus.labels)?;
                let class_weights = class_weights_of(class_weights, &corpus.labels)?;
                let inner = interruptible(py, |_| chain::ChainObjective::new(corpus, features, allowed, threads))?;
                (inner, class_weights)
            }
            Some(older) => {
                let united = interruptible(py, |_| {
                    let pool = threads::pool(threads)?;
                    pool.install(|| United::new(corpus, &counts_of(&older.inner), features))
                })?;
                let allowed = model::allowed(constraints, &united.corpus.labels)?;
                let class_weights = class_weights_of(class_weights, &united.corpus.labels)?;
                (interruptible(py, |_| united.objective(allowed, threads))?, class_weights)
            }
        };
        Ok(ChainObjective::of(inner.with_class_weights(class_weights)).into())
    }

    /// Names of the labels, the most frequent first.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.inner.corpus.labels.to_vec()
    }

    /// The number of different attributes.
    #[getter]
    fn n_attributes(&self) -> usize {
        self.inner.corpus.attributes.len()
    }

    /// The number of weights, at the end, without a penalty: the intercept's.
    #[getter]
    fn n_unpenalised(&self) -> usize {
        self.inner.n_unpenalised
    }

    /// Whether labels are partial: the objective is then not convex.
    #[getter]
    fn is_partial(&self) -> bool {
        self.inner.masks.is_partial()
    }

    /// Whether some labels are distributions.
    #[getter]
    fn is_soft(&self) -> bool {
        self.inner.corpus.has_soft()
    }

    /// The number of sentences without any known label.
    #[getter]
    fn n_unknown(&self) -> usize {
        self.inner.masks.n_unknown()
    }

    /// What large costs add to the value at all weights that give small scores, in nats.
    #[getter]
    fn cost_constant(&self) -> f64 {
        self.inner.cost_constant()
    }

    /// The number of sentences whose recursions ran in log space in the last evaluation.
    #[getter]
    fn n_in_log_space(&self) -> usize {
        self.inner.n_in_log_space()
    }

    /// Order of the chain, 1 or 2: the number of previous labels that a token's score depends on.
    #[getter]
    fn order(&self) -> u8 {
        self.inner.order()
    }

    /// Range of the features that may be clustered: the state features.
    #[getter]
    fn clusterable(&self) -> (usize, usize) {
        (self.inner.features.first_state(), self.inner.features.len())
    }

    /// The number of transitions, triples, bigram features and state features, in the order of the weights.
    #[getter]
    fn feature_counts(&self) -> (usize, usize, usize, usize) {
        self.inner.features.counts()
    }

    /// Whether the labels of tokens can be pruned: not with bigram attributes or partial labels.
    #[getter]
    fn is_prunable(&self) -> bool {
        self.inner.features.n_bigrams() == 0 && !self.inner.masks.is_partial() && !self.is_soft()
    }

    /// About the diagonal of the Hessian at w.
    fn hessian_diagonal<'py>(
        &self,
        py: Python<'py>,
        w: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        if self.is_partial() {
            return Err(OptionError::new_err("the diagonal of the Hessian is not available for partial labels"));
        }
        let how = (self.inner.features.len(), false);
        let (_, diagonal) = value_and_gradient(py, how, &w, None, |w, diagonal, interrupt| {
            self.inner.hessian_diagonal(w, diagonal, interrupt).map(|()| 0.0)
        })?;
        Ok(diagonal)
    }

    /// The largest absolute value of each feature in the data; None if all are 1.
    fn largest_values<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        py.detach(|| self.inner.largest_values()).map(|largest| PyArray1::from_vec(py, largest))
    }

    /// `value_and_gradient`, with the labels of each token whose marginals are above `least`.
    #[pyo3(signature = (w, least, out=None))]
    fn likely_labels<'py>(
        &self,
        py: Python<'py>,
        w: PyReadonlyArray1<'py, f64>,
        least: f64,
        out: Option<Bound<'py, PyArray1<f64>>>,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f64>>, LikelyLabels)> {
        if !self.is_prunable() {
            let message = "pruning does not support bigram attributes, partial labels or distributions over labels";
            return Err(OptionError::new_err(message));
        }
        let mut likely_labels = None;
        let (value, gradient) =
            value_and_gradient(py, (self.inner.features.len(), false), &w, out, |w, gradient, interrupt| {
                let (value, likely) = self.inner.likely_labels(w, gradient, least, interrupt)?;
                likely_labels = Some(likely);
                Ok(value)
            })?;
        let inner = likely_labels.expect("an evaluation finds the likely labels");
        Ok((value, gradient, LikelyLabels { inner }))
    }

    /// The objective over the labels with marginals above `bound` whose links have counts above `links`, and over some of the
    /// features, in ascending order; over all features if `features` is None. It agrees with the given value and gradient at w,
    /// both over these features. `guard`, at least 0, multiplies the guard against errors of pruning. None where an evaluation would
    /// cost more than `cost` times an evaluation of this objective.
    #[pyo3(signature = (likely, bound, links, guard, w, value, gradient, features=None, cost=f64::INFINITY))]
    #[expect(clippy::too_many_arguments)]
    fn pruned(
        &self,
        py: Python<'_>,
        likely: &LikelyLabels,
        bound: f64,
        links: f64,
        guard: f64,
        w: PyReadonlyArray1<'_, f64>,
        value: f64,
        gradient: PyReadonlyArray1<'_, f64>,
        features: Option<PyReadonlyArray1<'_, i64>>,
        cost: f64,
    ) -> PyResult<Option<PrunedObjective>> {
        let n = self.inner.features.len();
        let features = features.map(|features| ascending(&features, n)).transpose()?;
        let (w, gradient) = (read(&w)?, read(&gradient)?);
        let n_weights = features.as_ref().map_or(n, Vec::len);
        if w.len() != n_weights || gradient.len() != n_weights || likely.inner.blocks.len() != self.inner.blocks.len() {
            return Err(OptionError::new_err(format!(
                "w and gradient must have {n_weights} entries, and the labels must come from this objective"
            )));
        }
        let pruned_objective = interruptible(py, |interrupt| {
            let bounds = pruned::Bounds { labels: bound, links, cost };
            let at = (w, value, gradient);
            let (whole, features) = (&self.inner, features.as_deref());
            pruned::PrunedObjective::new(whole, features, &likely.inner, bounds, at, guard, interrupt)
        })?;
        Ok(pruned_objective.map(|inner| PrunedObjective { inner: Arc::new(inner) }))
    }

    /// The weights of the samples.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let n = self.inner.corpus.n_sentences();
        PyArray1::from_iter(py, (0..n).map(|sentence| self.inner.weight(sentence)))
    }

    /// -log p(y | x; w) of every sample, without its weight; 0 for samples whose weight is 0.
    fn sample_nlls<'py>(&self, py: Python<'py>, w: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let w = weights(&w, self.inner.features.len())?;
        let nlls = interruptible(py, |interrupt| self.inner.sample_nlls(w, interrupt))?;
        Ok(PyArray1::from_vec(py, nlls))
    }

    /// The view of the objective for stochastic solvers, made at the first call. By run, passes visit samples that are contiguous on
    /// disk together.
    ///
    /// Raises OptionError for chains of order 2.
    #[pyo3(signature = (*, by_run=false))]
    pub fn per_sample(&self, py: Python<'_>, by_run: bool) -> PyResult<Py<SamplePasses>> {
        if self.inner.order() != 1 {
            let message = "stochastic solvers support only chains of order 1; use lbfgs, owlqn or another batch solver";
            return Err(OptionError::new_err(message));
        }
        if self.is_soft() {
            let message =
                "stochastic solvers do not support distributions over labels; use lbfgs, owlqn or another batch solver";
            return Err(OptionError::new_err(message));
        }
        let passes = self.passes.get_or_try_init(py, || {
            let view = interruptible(py, |_| Ok(samples::SamplePasses::new(Arc::clone(&self.inner))))?;
            Py::new(py, SamplePasses { inner: Samples::Chains { view, by_run } })
        })?;
        Ok(passes.clone_ref(py))
    }

    /// The objective on some of the samples, with the features that occur there.
    fn sample(&self, py: Python<'_>, samples: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        let sentences = self.numbers(&samples)?;
        let inner = interruptible(py, |_| self.inner.sample(&sentences))?;
        Ok(ChainObjective::of(inner))
    }

    /// The objective on some of the samples with all features; the weight of each sample is multiplied by `factor`.
    fn batch(&self, py: Python<'_>, samples: PyReadonlyArray1<'_, i64>, factor: f64) -> PyResult<Self> {
        let sentences = self.numbers(&samples)?;
        let inner = interruptible(py, |_| Ok(self.inner.batch(&sentences, factor)))?;
        Ok(ChainObjective::of(inner))
    }

    /// The objective over clusters of state features; feature j goes to map[j]. None if other features are clustered.
    fn aggregate(&self, py: Python<'_>, map: PyReadonlyArray1<'_, i64>, n_clusters: usize) -> PyResult<Option<Self>> {
        let (map, n) = (numbers("cluster numbers", &map, n_clusters)?, self.inner.features.len());
        if map.len() != n {
            return Err(OptionError::new_err(format!("map: expected {n} entries, found {}", map.len())));
        }
        let inner = interruptible(py, |_| self.inner.aggregate(&map, n_clusters))?;
        Ok(inner.map(ChainObjective::of))
    }

    /// The objective over some of the features, whose numbers ascend; all other weights are 0.
    fn restrict(&self, py: Python<'_>, features: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        let features = ascending(&features, self.inner.features.len())?;
        Ok(ChainObjective::of(interruptible(py, |_| self.inner.restrict(&features))?))
    }

    /// Names of features by their numbers: the attribute, if there is one, and the labels in a row.
    fn feature_names(&self, features: PyReadonlyArray1<'_, i64>) -> PyResult<Vec<Name<'_>>> {
        let (corpus, all_features) = (&self.inner.corpus, &self.inner.features);
        let numbers = numbers("feature numbers", &features, all_features.len())?;
        Ok(feature_names(all_features, &corpus.attributes, &corpus.labels, &numbers))
    }

    /// The model's weights of the features, 0 for features that the model does not have, and the number of features that it
    /// has.
    fn start_weights<'py>(&self, py: Python<'py>, model: &ChainModel) -> (Bound<'py, PyArray1<f64>>, usize) {
        let (w, shared) = py.detach(|| start_weights(&model.inner, &self.inner.corpus, &self.inner.features));
        (PyArray1::from_vec(py, w), shared)
    }

    /// The model of the features whose weights are not 0, with its settings (JSON) and the template for reading text.
    #[pyo3(signature = (w, settings, template=None))]
    fn model(&self, w: PyReadonlyArray1<'_, f64>, settings: String, template: Option<&str>) -> PyResult<ChainModel> {
        let w = weights(&w, self.inner.features.len())?;
        let corpus = &self.inner.corpus;
        let (attributes, labels) = (&*corpus.attributes, &corpus.labels[..]);
        let features = &*self.inner.features;
        let source = Source { features, attributes, labels, settings, template, intercept: None };
        ChainModel::trained(source, w)
    }
}
