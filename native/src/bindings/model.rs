//! `ChainModel`: a trained model that predicts, tags files, saves and opens.

use crate::bindings::data::{self, Columns, Corpus, label_lists};
use crate::bindings::errors::OptionError;
use crate::bindings::interrupt::interruptible;
use crate::bindings::single::Singles;
use crate::bindings::stream::to_stdout;
use crate::chain::features::source::Source as Trained;
use crate::chain::inference::{Allowed, ChunkRule, Labelling, Pair, Span, constraints};
use crate::chain::model::Model;
use crate::chain::tagging::answer::{Least, Request, Wanted};
use crate::chain::tagging::confidence::{Decode, Probabilities};
use crate::chain::tagging::scorer::Tally;
use crate::chain::tagging::stream::tag_stream;
use crate::chain::tagging::tagger;
use crate::corpus::hash::key_of;
use crate::files::atomic::write_atomically;
use crate::files::compression;
use crate::files::signature;
use crate::files::text_file;
use crate::foreign;
use crate::text::arriving::{Input, source};
use crate::text::format::Format;
use crate::text::template::Template;
use crate::text::writable::Place;
use crate::threads::{self, locked};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyList, PyString};
use serde_json::Value;
use std::borrow::Cow;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A chunk rule: the type of each label, and whether a label begins a chunk: a row for the start of the sentence, then a row
/// for each previous label.
pub type Rule = (Vec<Option<String>>, PyBackedBytes);

/// The labels allowed by constraints that Python passes as JSON. Error: they do not fit the labels.
pub fn allowed(stated: &str, labels: &[String]) -> PyResult<Option<Arc<Allowed>>> {
    Ok(constraints::allowed(&parsed(stated)?, labels)?)
}

fn parsed(stated: &str) -> PyResult<Value> {
    serde_json::from_str(stated).map_err(|error| OptionError::new_err(format!("constraints: {error}")))
}

/// A list of labels and its log-probability.
type Scored<'py> = (Bound<'py, PyAny>, f64);

/// A trained chain model.
#[pyclass(frozen, module = "loglinear._core")]
pub struct ChainModel {
    pub inner: Model,
    /// Buffers reused when labelling one sentence at a time.
    pub singles: Singles,
    /// The last model that `constrained` made. Locked only by holders of the interpreter's lock, and never while Python code
    /// runs.
    derived: Mutex<Option<Py<ChainModel>>>,
}

impl From<Model> for ChainModel {
    fn from(inner: Model) -> Self {
        ChainModel { inner, singles: Singles::default(), derived: Mutex::default() }
    }
}

impl ChainModel {
    /// The model of some features at weights w.
    pub fn trained(source: Trained<'_>, w: &[f64]) -> PyResult<Self> {
        Ok(Model::new(source, w)?.into())
    }
}

#[pymethods]
impl ChainModel {
    #[staticmethod]
    fn open(path: PathBuf) -> PyResult<Self> {
        Ok(foreign::open(&path)?.into())
    }

    #[staticmethod]
    #[pyo3(signature = (bytes, constraints="null"))]
    fn from_bytes(bytes: &[u8], constraints: &str) -> PyResult<Self> {
        let model = foreign::of_bytes(bytes)?;
        let allowed = allowed(constraints, &model.labels)?;
        Ok(model.under(allowed).into())
    }

    /// The model with these weights: attributes, each with the numbers of labels and their weights, and pairs of labels.
    #[staticmethod]
    fn of_weights(
        labels: Vec<String>,
        states: Vec<(String, Vec<(u16, f64)>)>,
        transitions: Vec<([u16; 2], f64)>,
        settings: String,
        template: Option<String>,
    ) -> PyResult<Self> {
        Ok(foreign::of_weights(labels, states, transitions, settings, template)?.into())
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.bytes())
    }

    /// Pickles as the bytes of its file and its constraints.
    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>, String))> {
        let model = slf.get();
        Ok((slf.get_type().getattr("from_bytes")?, (model.to_bytes(slf.py()), model.stated().to_string())))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(py.detach(|| self.inner.save(&path))?)
    }

    #[getter]
    fn labels(&self) -> Vec<String> {
        self.inner.labels.clone()
    }

    /// The text of the template, with its lexicons; `has_template` costs less.
    #[getter]
    fn template(&self) -> Option<Cow<'_, str>> {
        self.inner.template.as_deref().map(Template::source)
    }

    #[getter]
    fn has_template(&self) -> bool {
        self.inner.template.is_some()
    }

    /// The model with its settings replaced by these (JSON) and its weights multiplied by a factor, under the same constraints.
    #[pyo3(signature = (settings, *, factor=1.0))]
    fn rewritten(&self, py: Python<'_>, settings: &str, factor: f64) -> PyResult<Self> {
        Ok(py.detach(|| self.inner.rewritten(factor, settings))?.into())
    }

    /// The model with its constraints replaced by these (JSON). Returns itself, or the model of the last call, if the
    /// constraints are the same.
    fn constrained<'py>(slf: &Bound<'py, Self>, constraints: &str) -> PyResult<Bound<'py, Self>> {
        let (py, model, stated) = (slf.py(), slf.get(), parsed(constraints)?);
        let last = locked(&model.derived).as_ref().map(|last| last.bind(py).clone());
        if let Some(same) =
            [Some(slf.clone()), last].into_iter().flatten().find(|model| *model.get().stated() == stated)
        {
            return Ok(same);
        }
        let allowed = constraints::allowed(&stated, &model.inner.labels)?;
        let derived = Bound::new(py, ChainModel::from(model.inner.constrained(allowed)))?;
        let last = locked(&model.derived).replace(derived.clone().unbind());
        drop(last); // after the lock
        Ok(derived)
    }

    /// The pairs of labels that the constraints forbid, by number, None for the edge of the sentence.
    #[getter]
    fn forbidden(&self) -> Vec<Pair> {
        self.inner.allowed().map_or_else(Vec::new, |allowed| allowed.forbidden.clone())
    }

    /// Whether some labellings are forbidden.
    #[getter]
    fn is_constrained(&self) -> bool {
        self.inner.allowed().is_some()
    }

    /// The attribute whose features score every token.
    #[getter]
    fn intercept(&self) -> Option<&str> {
        self.inner.intercept_name()
    }

    #[getter]
    fn settings(&self) -> &str {
        self.inner.settings()
    }

    #[getter]
    fn n_attributes(&self) -> usize {
        let weights = self.inner.weights();
        weights.states.len() + weights.bigrams.len()
    }

    #[getter]
    fn n_features(&self) -> usize {
        let weights = self.inner.weights();
        let of_states = weights.state_weights.len() + weights.bigram_weights.len();
        of_states + weights.transition_weights.len() + weights.triple_weights.len()
    }

    /// The bytes of a file of another program, with the labels in the order of `labels`.
    #[pyo3(signature = (format, labels=None))]
    fn export<'py>(&self, py: Python<'py>, format: &str, labels: Option<Vec<String>>) -> PyResult<Bound<'py, PyBytes>> {
        let format: foreign::Format = format.parse()?;
        let bytes = py.detach(|| foreign::write(&self.inner, format, labels.as_deref()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Whether each attribute has a feature.
    fn knows(&self, names: Vec<PyBackedStr>) -> Vec<bool> {
        let weights = self.inner.weights();
        let has = |key: u64| !weights.states.find(key).is_empty() || !weights.bigrams.find(key).is_empty();
        names.iter().map(|name| has(key_of(name.as_bytes()))).collect()
    }

    /// (attribute, label, weight)
    fn state_features(&self) -> Vec<(Cow<'_, str>, &str, f64)> {
        let weights = self.inner.weights();
        let mut all = Vec::with_capacity(weights.state_weights.len());
        for (name, range) in weights.states.iter() {
            for at in range {
                let name = String::from_utf8_lossy(name);
                all.push((name, self.label(weights.state_labels[at]), weights.state_weights[at]));
            }
        }
        all
    }

    /// (label from, label to, weight)
    fn transition_features(&self) -> Vec<(&str, &str, f64)> {
        let weights = self.inner.weights();
        let pairs = weights.transition_pairs.iter().zip(weights.transition_weights);
        pairs.map(|(&[from, to], &weight)| (self.label(from), self.label(to), weight)).collect()
    }

    /// (first label, middle label, last label, weight): transitions of second order
    fn triple_features(&self) -> Vec<(&str, &str, &str, f64)> {
        let weights = self.inner.weights();
        let triples = weights.triples.iter().zip(weights.triple_weights);
        let named = |(&[a, b, c], &weight): (&[u16; 3], &f64)| (self.label(a), self.label(b), self.label(c), weight);
        triples.map(named).collect()
    }

    /// (attribute, label from, label to, weight)
    fn bigram_features(&self) -> Vec<(Cow<'_, str>, &str, &str, f64)> {
        let weights = self.inner.weights();
        let mut all = Vec::with_capacity(weights.bigram_weights.len());
        for (name, range) in weights.bigrams.iter() {
            for at in range {
                let [from, to] = weights.bigram_pairs[at];
                let name = String::from_utf8_lossy(name);
                all.push((name, self.label(from), self.label(to), weights.bigram_weights[at]));
            }
        }
        all
    }

    #[pyo3(signature = (corpus, *, decode="viterbi", threads=0))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        corpus: &Corpus,
        decode: &str,
        threads: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let decode: Decode = decode.parse()?;
        let paths = self.run(py, threads, |interrupt| match decode {
            Decode::Viterbi => self.inner.predict(&corpus.inner, interrupt),
            Decode::Marginal => self.inner.predict_tokens(&corpus.inner, interrupt),
        })?;
        label_lists(py, &self.inner.labels, (&[], &[]), paths.iter().map(Vec::as_slice))
    }

    /// The labels of one sentence of Python objects, read and labelled on this thread.
    fn predict_single<'py>(&self, sentence: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.singles.labels_of(&self.inner, sentence).map_err(|problem| problem.located(sentence.py(), None))
    }

    /// For each token of one sentence of Python objects the probability of each label.
    fn marginals_single(&self, sentence: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<f64>>> {
        self.singles.marginals_of(&self.inner, sentence).map_err(|problem| problem.located(sentence.py(), None))
    }

    /// For every sentence its labels, the probability of each, the spans as (type, start, end, probability), and the
    /// log-probability of the labelling. A rule defines the spans: the types of the labels, and the bytes of `begins`.
    #[pyo3(signature = (corpus, *, decode="viterbi", rule=None, threads=0))]
    fn tag<'py>(
        &self,
        py: Python<'py>,
        corpus: &Corpus,
        decode: &str,
        rule: Option<Rule>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let (decode, rule) = (decode.parse()?, rule.map(|rule| self.rule(rule)).transpose()?);
        let tagged =
            self.run(py, threads, |interrupt| self.inner.tag(&corpus.inner, decode, rule.as_ref(), interrupt))?;
        let labels =
            label_lists(py, &self.inner.labels, (&[], &[]), tagged.iter().map(|sentence| sentence.labels.as_slice()))?;
        let types: Vec<Bound<'py, PyString>> =
            rule.iter().flat_map(|rule| &rule.types).map(|name| PyString::intern(py, name)).collect();
        let rows = tagged.into_iter().zip(labels).map(|(sentence, labels)| {
            let named = |&(span, p): &(Span, f64)| (&types[span.kind as usize], span.start, span.end, p);
            let spans: Vec<_> = sentence.spans.iter().map(named).collect();
            (labels, sentence.probabilities, spans, sentence.log_probability).into_pyobject(py)
        });
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    /// For every sentence at most n labellings with their log-probabilities, best first.
    #[pyo3(signature = (corpus, n, *, threads=0))]
    fn n_best<'py>(
        &self,
        py: Python<'py>,
        corpus: &Corpus,
        n: NonZeroUsize,
        threads: usize,
    ) -> PyResult<Vec<Vec<Scored<'py>>>> {
        let labellings = self.run(py, threads, |interrupt| self.inner.n_best(&corpus.inner, n, interrupt))?;
        let sequences = labellings.iter().flatten().map(|labelling| labelling.labels.as_slice());
        let lists = label_lists(py, &self.inner.labels, (&[], &[]), sequences)?;
        let mut lists = lists.iter();
        // The lists come second, because `zip` takes one item too many from its first iterator.
        let of_sentence = |of_one: &Vec<Labelling>| {
            let probabilities = of_one.iter().map(|labelling| labelling.log_probability);
            probabilities.zip(&mut lists).map(|(probability, labels)| (labels, probability)).collect()
        };
        Ok(labellings.iter().map(of_sentence).collect())
    }

    /// For every sentence tokens x labels probabilities, row by row.
    #[pyo3(signature = (corpus, *, threads=0))]
    fn marginals(&self, py: Python<'_>, corpus: &Corpus, threads: usize) -> PyResult<Vec<Vec<f64>>> {
        self.run(py, threads, |interrupt| self.inner.marginals(&corpus.inner, interrupt))
    }

    /// For every sentence (tokens - 1) x labels x labels probabilities, row by row.
    #[pyo3(signature = (corpus, *, threads=0))]
    fn transition_marginals(&self, py: Python<'_>, corpus: &Corpus, threads: usize) -> PyResult<Vec<Vec<f64>>> {
        self.run(py, threads, |interrupt| self.inner.transition_marginals(&corpus.inner, interrupt))
    }

    /// For every sentence log Z and log p of its labels (-inf where a label is unknown).
    #[pyo3(signature = (corpus, *, threads=0))]
    fn log_partition(&self, py: Python<'_>, corpus: &Corpus, threads: usize) -> PyResult<Vec<(f64, f64)>> {
        self.run(py, threads, |interrupt| self.inner.log_partition(&corpus.inner, interrupt))
    }

    /// Labels a file (`-` is stdin) and writes the result to a file, or to stdout for `-`.
    /// `least` has a probability, of what it is, and the label written in place of one that is less probable; with `rest`,
    /// sentences with such a label go to that file as they are. Returns the numbers of sentences and tokens, in each case all and
    /// those with such a label.
    /// With `stream`, answers go to stdout as soon as sentences arrive, and `stream` is called with the beginning of the text.
    #[pyo3(signature = (path, output=PathBuf::from("-"), *, format="columns", marginals=false, n_best=None, probabilities=None,
        rule=None, layout=None, detail=None, columns=None, stream=None, least=None, rest=None, threads=0))]
    #[allow(clippy::too_many_arguments)]
    fn tag_file(
        &self,
        py: Python<'_>,
        path: PathBuf,
        output: PathBuf,
        format: &str,
        marginals: bool,
        n_best: Option<NonZeroUsize>,
        probabilities: Option<&str>,
        rule: Option<Rule>,
        layout: Option<&str>,
        detail: Option<u8>,
        columns: Option<Columns>,
        stream: Option<Py<PyAny>>,
        least: Option<(f64, String, Option<String>)>,
        rest: Option<PathBuf>,
        threads: usize,
    ) -> PyResult<(usize, usize, usize, usize)> {
        let format: Format = format.parse()?;
        let rule = rule.map(|rule| self.rule(rule)).transpose()?;
        let probabilities = probabilities.map(|name| Probabilities::new(name, rule.as_ref())).transpose()?;
        let answer = Wanted { marginals, n_best, probabilities, layout, detail }.answer()?;
        let least = least.as_ref().map(|(probability, of, below)| -> PyResult<Least<'_>> {
            let of = Probabilities::new(of, rule.as_ref())?;
            Ok(Least { probability: *probability, of, below: below.as_deref(), apart: rest.is_some() })
        });
        let request = Request { answer, least: least.transpose()? };
        let numbers = |tally: Tally| (tally.sentences, tally.sentences_below, tally.tokens, tally.tokens_below);
        let own = self.inner.layout;
        let lines = if columns.is_some() { data::layout(columns)? } else { own };
        if let Some(look) = stream {
            let (name, input) = Input::open(&path)?;
            let pool = threads::pool(threads)?;
            return to_stdout(py, look, |output, interrupt| {
                tag_stream(&self.inner, &name, input, format, lines, request, pool, output, interrupt)
            })
            .map(numbers);
        }
        let tagged = self.run(py, threads, |interrupt| {
            let text = source(&path, interrupt)?.text(|line| format.ends(line))?;
            tagger::tag(&self.inner, &text, format, lines, request, interrupt)
        })?;
        if let Some(rest) = rest {
            write_text(py, rest, &tagged.rest)?;
        }
        write_text(py, output, &tagged.answers)?;
        Ok(numbers(tagged.tally))
    }
}

impl ChainModel {
    /// The source of the model's constraints: a scheme or pairs of labels.
    fn stated(&self) -> &Value {
        self.inner.allowed().map_or(&Value::Null, |allowed| &allowed.stated)
    }

    fn label(&self, id: u16) -> &str {
        &self.inner.labels[usize::from(id)]
    }

    pub fn rule(&self, (types, begins): Rule) -> PyResult<ChunkRule> {
        let rule = ChunkRule::new(&types, begins.iter().map(|&byte| byte != 0).collect());
        rule.filter(|rule| rule.labels() == self.inner.labels.len())
            .ok_or_else(|| OptionError::new_err("the chunk rule does not match the labels of this model"))
    }

    fn run<T: Send>(
        &self,
        py: Python<'_>,
        threads: usize,
        work: impl FnOnce(&threads::Interrupt) -> crate::error::Result<T> + Send,
    ) -> PyResult<T> {
        interruptible(py, |interrupt| threads::pool(threads)?.install(|| work(interrupt)))
    }
}

/// Writes to a file, which is replaced atomically, or to stdout for `-`.
#[pyfunction]
pub fn write_output(py: Python<'_>, output: PathBuf, text: &[u8]) -> PyResult<()> {
    py.detach(|| {
        if output.as_os_str() == "-" { print(text) } else { write_atomically(&output, |out| out.write_all(text)) }
    })?;
    Ok(())
}

/// Writes a text to a file, compressed if its name ends in .gz, .xz, .bz2 or .zst, or to stdout for `-`.
#[pyfunction]
pub fn write_text(py: Python<'_>, output: PathBuf, text: &[u8]) -> PyResult<()> {
    py.detach(|| if output.as_os_str() == "-" { print(text) } else { text_file::write_text(&output, text) })?;
    Ok(())
}

/// Writes to stdout.
fn print(text: &[u8]) -> crate::error::Result<()> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text).and_then(|()| stdout.flush());
    written.map_err(|source| crate::error::Error::io("<stdout>", source))
}

/// Fails if one of the labels, of which `what` says whose they are, cannot be written in this place.
#[pyfunction]
pub fn check_labels(labels: Vec<String>, place: &str, what: &str, remedy: &str) -> PyResult<()> {
    Ok(Place::named(place)?.check(what, &labels, remedy)?)
}

/// Fails if the first bytes of a file are those of another program's files.
#[pyfunction]
pub fn check_text(name: &str, start: &[u8]) -> PyResult<()> {
    Ok(signature::check_text(name, &start[..start.len().min(signature::LOOKED_AT)], false)?)
}

/// Whether a text is compressed, by its first bytes; None if there are too few of them.
#[pyfunction]
pub fn is_compressed(start: &[u8]) -> Option<bool> {
    compression::is_compressed(start)
}

/// What a file is that is not, as expected, a `wanted`, and what to do, as a message; None if its first bytes do not tell.
#[pyfunction]
pub fn not_a(wanted: &str, name: &str, start: &[u8], remedy: &str) -> Option<String> {
    signature::not_a(wanted, name, start, remedy)
}

/// Checks a template; returns the number of columns that it uses.
#[pyfunction]
pub fn check_template(template: &str) -> PyResult<usize> {
    Ok(Template::parse(template)?.columns)
}

/// What people call attributes that a template forms; an attribute that the template gives no name is called by itself.
#[pyfunction]
pub fn attribute_names(template: &str, attributes: Vec<String>) -> PyResult<Vec<String>> {
    let template = Template::parse(template)?;
    Ok(attributes.into_iter().map(|attribute| template.name_of(&attribute).unwrap_or(attribute)).collect())
}

/// The places where the labels of a corpus break constraints (JSON): a sentence and a token of it, or its number of tokens where
/// its last label may not end it.
#[pyfunction]
pub fn violations(py: Python<'_>, corpus: &Corpus, constraints: &str) -> PyResult<Vec<(usize, usize)>> {
    let Some(allowed) = allowed(constraints, &corpus.inner.labels)? else { return Ok(Vec::new()) };
    let corpus = &corpus.inner;
    interruptible(py, |interrupt| {
        corpus.check(interrupt)?;
        let of = |sentence| allowed.mistakes(&corpus.gold[corpus.tokens(sentence)]).map(move |token| (sentence, token));
        Ok((0..corpus.n_sentences()).filter(|_| corpus.labelled).flat_map(of).collect())
    })
}
