//! `Corpus`: reading files, encoding Python sequences.

use crate::bindings::arrays::{integers, read, sizes};
use crate::bindings::errors::DataError;
use crate::bindings::interrupt::{detached, interruptible};
use crate::bindings::items::{Problem, Reader};
use crate::corpus;
use crate::corpus::alphabet::Alphabet;
use crate::corpus::assembly::Builder;
use crate::corpus::folder;
use crate::corpus::hash::key_of;
use crate::corpus::notes::Notes;
use crate::corpus::sink::{Gold, Sink};
use crate::error::{self, check_weights};
use crate::text::arriving::source;
use crate::text::encode::encode;
use crate::text::format::{Format, Reading};
use crate::text::input;
use crate::text::labels::{Labels, check_costs, checked_shares, unequal};
use crate::text::layout::{Layout, Separator};
use crate::text::look::look;
use crate::text::ranges::encode_range;
use crate::text::template::Template;
use crate::threads::{self, Interrupt};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyUnicodeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PyString, PyTuple};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sentences of attribute ids; shared with objectives, never copied.
#[pyclass(frozen, module = "loglinear._core")]
pub struct Corpus {
    pub inner: Arc<corpus::Corpus>,
}

/// Sets the most MiB of text of a sentence that this process reads from a file.
#[pyfunction]
pub fn set_max_sentence(mib: usize) {
    input::set_max_sentence(mib);
}

/// The most MiB of text of a sentence.
#[pyfunction]
pub fn max_sentence() -> usize {
    input::max_sentence()
}

/// JSON settings from the caller.
pub fn parsed(settings: &str) -> PyResult<serde_json::Value> {
    serde_json::from_str(settings).map_err(|error| DataError::new_err(format!("settings are not valid JSON: {error}")))
}

/// Names of the attributes, by id.
pub fn names_of(attributes: &Alphabet) -> Vec<String> {
    (0..attributes.len() as u32).map(|id| String::from_utf8_lossy(attributes.text(id)).into_owned()).collect()
}

/// The attributes with these names, in this order.
pub fn alphabet(names: &[String]) -> PyResult<Alphabet> {
    let mut attributes = Alphabet::default();
    for (at, name) in names.iter().enumerate() {
        if attributes.intern(key_of(name.as_bytes()), |out| out.extend_from_slice(name.as_bytes())) as usize != at {
            let message = format!("two attributes are named '{name}'; names must be unique");
            return Err(DataError::new_err(message));
        }
    }
    Ok(attributes)
}

/// A text to be read, as Python names it.
pub struct Text<'a> {
    pub path: PathBuf,
    pub format: &'a str,
    pub template: Option<&'a str>,
    pub labels: Labels,
    pub layout: Layout,
    pub threads: usize,
}

/// How the lines of column files are laid out: the name of the separator, the column of the label, whether comments are skipped, the
/// number of columns of the training data, or 0, the column of the costs of wrong labels, if there is one.
pub type Columns = (Option<String>, isize, bool, usize, Option<isize>);

/// The layout that Python names. Error: there is no such separator.
pub fn layout(columns: Option<Columns>) -> PyResult<Layout> {
    let Some((separator, label, skips_comments, n, weight)) = columns else { return Ok(Layout::default()) };
    let separator = separator.as_deref().map(Separator::named).transpose()?;
    Ok(Layout { separator, label, weight, skips_comments, trained: Some(n).filter(|&n| n > 0), ..Layout::default() })
}

/// What was noticed of a text: columns besides the label, whether tabs separate them, sentences that begin with a comment, sentences
/// that begin a document, lines passed over, carriage returns within lines; and the beginning of the text: the character that
/// separates cells, whether the first column counts, whether it is constant, whether the lines are CoNLL-U, cells that spaces separate.
pub type Noticed = (usize, bool, usize, usize, usize, usize, String, bool, bool, bool, usize);

/// Notes for Python.
pub fn noticed(notes: &Notes) -> Noticed {
    let Notes { columns, tabs, comments, documents, skipped, returns, look, .. } = *notes;
    let mark = look.mark.map(String::from).unwrap_or_default();
    (columns, tabs, comments, documents, skipped, returns, mark, look.counts, look.constant, look.conllu, look.unsplit)
}

/// The columns of label and weight in lines of some columns, from 0, if the lines have them: all lines of training data do. Without
/// the columns that the layout names, there are none.
#[pyfunction]
pub fn column_roles(columns: Columns, n_cells: usize) -> PyResult<(Option<usize>, Option<usize>)> {
    let layout = layout(Some(columns))?;
    let roles = layout.roles("", n_cells, layout.trained.is_none()).unwrap_or_default();
    Ok((roles.label, roles.weight))
}

/// What the beginning of a column file to label shows.
#[pyfunction]
#[pyo3(signature = (text, columns))]
pub fn look_at(text: &[u8], columns: Option<Columns>) -> PyResult<Noticed> {
    let layout = layout(columns)?;
    let separator = layout.separator_of(text);
    let n = layout.tokens(text).next().map_or(0, |(_, line)| separator.count(line));
    let roles = layout.roles("", n, false).unwrap_or_default();
    let look = look(text, layout, separator, roles);
    Ok(noticed(&Notes { columns: n - roles.count(), look, ..Notes::default() }))
}

impl Text<'_> {
    /// Calls `work` with the path and the reading options, on the threads and without the GIL.
    pub fn read<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Path, Reading<'_>, &Interrupt) -> error::Result<T> + Send,
    ) -> PyResult<T> {
        let format: Format = self.format.parse()?;
        interruptible(py, |interrupt| {
            let template = self.template.map(Template::parse).transpose()?;
            let reading = Reading::new(format, template.as_ref(), self.labels)?.with(self.layout);
            threads::pool(self.threads)?.install(|| work(&self.path, reading, interrupt))
        })
    }
}

impl Corpus {
    /// The corpus, after a check of its numbers if they are on disk.
    fn sound(&self, py: Python<'_>) -> PyResult<&corpus::Corpus> {
        if self.inner.is_mapped() {
            self.check(py)?;
        }
        Ok(&self.inner)
    }
}

#[pymethods]
impl Corpus {
    /// Tokens as compressed sparse rows (row i ends at `ends[i]`), names of the columns, and for each sentence the row after
    /// its last one. Labelled data also have the names of the labels, in byte order, and a label number for each row.
    #[staticmethod]
    #[pyo3(signature = (ends, ids, values, names, sentence_ends, labels=None))]
    fn of_matrix(
        py: Python<'_>,
        ends: PyReadonlyArray1<'_, u64>,
        ids: PyReadonlyArray1<'_, u32>,
        values: PyReadonlyArray1<'_, f64>,
        names: Vec<String>,
        sentence_ends: PyReadonlyArray1<'_, u64>,
        labels: Option<(Vec<String>, PyReadonlyArray1<'_, u32>)>,
    ) -> PyResult<Self> {
        let rows = corpus::Rows { ends: sizes(&ends)?.into(), ids: read(&ids)?.to_vec().into() };
        let labels = match labels {
            Some((names, gold)) => Some((names, read(&gold)?.to_vec())),
            None => None,
        };
        let (sentence_ends, values, attributes) = (sizes(&sentence_ends)?, read(&values)?.to_vec(), alphabet(&names)?);
        let corpus = py.detach(|| corpus::Corpus::of_matrix(attributes, labels, sentence_ends, rows, values))?;
        Ok(Corpus { inner: Arc::new(corpus) })
    }

    /// The sentences of a file, `-` for standard input, or of a range of its bytes from `cut_file`.
    #[staticmethod]
    #[pyo3(signature = (path, format="columns", template=None, *, labels="whole", columns=None, range=None, threads=0))]
    #[expect(clippy::too_many_arguments)]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        format: &str,
        template: Option<&str>,
        labels: &str,
        columns: Option<Columns>,
        range: Option<(u64, u64)>,
        threads: usize,
    ) -> PyResult<Self> {
        let text = Text { path, format, template, labels: Labels::named(labels)?, layout: layout(columns)?, threads };
        let inner = text.read(py, |path, reading, interrupt| match range {
            Some((start, end)) => encode_range(path, start..end, reading, interrupt),
            None => encode(source(path, interrupt)?, reading, interrupt),
        })?;
        Ok(Corpus { inner: Arc::new(inner) })
    }

    #[staticmethod]
    #[pyo3(signature = (sentences, labels=None, weights=None, costs=None, *, template=None))]
    fn encode(
        sentences: &Bound<'_, PyAny>,
        labels: Option<&Bound<'_, PyAny>>,
        weights: Option<Vec<f64>>,
        costs: Option<Vec<Option<Vec<f64>>>>,
        template: Option<&str>,
    ) -> PyResult<Self> {
        let template = template.map(Template::parse).transpose()?;
        check_weights(weights.as_deref().unwrap_or_default(), "sentence")?;
        let mut reader = Reader::new(template.as_ref(), Layout::default());
        let mut builder = Builder::default();
        let labelled = labels.is_some();
        let mut labels = labels.map(|labels| labels.try_iter()).transpose()?;
        let mut count = 0;
        for (index, sentence) in sentences.try_iter()?.enumerate() {
            let sequence = match &mut labels {
                Some(labels) => match labels.next() {
                    Some(sequence) => Some(label_names(&sequence?, index)?),
                    None => return Err(DataError::new_err(format!("more sentences than label sequences ({index})"))),
                },
                None => None,
            };
            let weight = weights.as_ref().and_then(|weights| weights.get(index)).map_or(1.0, |&weight| weight);
            let costs = costs.as_ref().and_then(|costs| costs.get(index)).and_then(Option::as_deref);
            add_sentence(&mut reader, &mut builder, &sentence?, (sequence.as_deref(), costs), weight)
                .map_err(|problem| problem.located(sentences.py(), Some(index)))?;
            count = index + 1;
        }
        if labels.is_some_and(|mut labels| labels.next().is_some()) {
            return Err(DataError::new_err(format!("more label sequences than sentences ({count})")));
        }
        if let Some(weights) = weights
            && weights.len() != count
        {
            return Err(DataError::new_err(format!("{} weights for {count} sentences", weights.len())));
        }
        if let Some(costs) = costs
            && costs.len() != count
        {
            return Err(DataError::new_err(format!("token_weight of {} sentences for {count} sentences", costs.len())));
        }
        let mut inner = threads::pool(1)?.install(|| corpus::Corpus::assemble(vec![builder]))?;
        inner.labelled = labelled;
        (inner.notes.columns, inner.notes.tokens) = (reader.n_columns(), reader.tokens());
        inner.transitions = template.as_ref().is_none_or(|template| template.transitions);
        inner.triples = template.as_ref().is_some_and(|template| template.triples);
        Ok(Corpus { inner: Arc::new(inner) })
    }

    /// The corpus in a folder, mapped into memory, and the settings (JSON) with which it was written.
    #[staticmethod]
    fn open(path: PathBuf) -> PyResult<(Self, String)> {
        let (inner, settings) = folder::open(&path)?;
        Ok((Corpus { inner: Arc::new(inner) }, settings.to_string()))
    }

    /// Writes the corpus into a folder; `settings` is JSON.
    fn save(&self, py: Python<'_>, path: PathBuf, settings: &str) -> PyResult<()> {
        let settings = parsed(settings)?;
        interruptible(py, |_| folder::save(&self.inner, &path, settings))
    }

    /// The sentences of several corpora, in this order, in memory.
    #[staticmethod]
    fn concat(py: Python<'_>, corpora: Vec<PyRef<'_, Corpus>>) -> PyResult<Self> {
        let all: Vec<Arc<corpus::Corpus>> = corpora.iter().map(|corpus| Arc::clone(&corpus.inner)).collect();
        drop(corpora);
        let inner = interruptible(py, |interrupt| {
            all.iter().try_for_each(|corpus| corpus.check(interrupt))?;
            threads::pool(0)?.install(|| corpus::Corpus::concat(&all))
        })?;
        Ok(Corpus { inner: Arc::new(inner) })
    }

    /// Reads a corpus on disk from end to end, and fails if it is damaged.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        interruptible(py, |interrupt| threads::pool(0)?.install(|| self.inner.check(interrupt)))
    }

    /// A checksum of all numbers and names, if they are on disk.
    #[getter]
    fn checksum(&self) -> Option<String> {
        self.inner.folder.as_ref().map(|folder| folder.checksum.clone())
    }

    /// Whether the numbers are on disk.
    #[getter]
    fn is_mapped(&self) -> bool {
        self.inner.is_mapped()
    }

    fn __len__(&self) -> usize {
        self.inner.n_sentences()
    }

    #[getter]
    fn n_tokens(&self) -> usize {
        self.inner.n_tokens()
    }

    #[getter]
    fn n_attributes(&self) -> usize {
        self.inner.attributes.len()
    }

    /// Attributes of all tokens together.
    #[getter]
    fn n_entries(&self) -> usize {
        self.inner.states.ids.len()
    }

    /// Bytes of the encoded data: ids, values, names.
    #[getter]
    fn n_bytes(&self) -> usize {
        self.inner.n_bytes()
    }

    /// What was noticed of the text that the corpus was read from.
    #[getter]
    fn notes(&self) -> Noticed {
        noticed(&self.inner.notes)
    }

    /// Whether all of Python's tokens with attributes are texts, or none is; None if there are both, or none of these tokens.
    #[getter]
    fn has_texts(&self) -> Option<bool> {
        self.inner.notes.tokens.are_texts()
    }

    #[getter]
    fn labels(&self) -> Vec<String> {
        self.inner.labels.to_vec()
    }

    /// Names of the attributes, by id.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(names_of(&self.sound(py)?.attributes))
    }

    /// The tokens' state attributes, or bigram attributes, as compressed sparse rows: ends, ids, values.
    #[pyo3(signature = (*, bigrams=false))]
    #[allow(clippy::type_complexity)]
    fn rows<'py>(
        &self,
        py: Python<'py>,
        bigrams: bool,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>)> {
        let corpus = self.sound(py)?;
        let rows = if bigrams { &corpus.bigrams } else { &corpus.states };
        let ids = integers(py, rows.ids.iter().map(|&id| id as usize));
        let values = (0..rows.ids.len()).map(|at| if bigrams { 1.0 } else { self.inner.value(at) }).collect();
        Ok((integers(py, rows.ends.iter().copied()), ids, PyArray1::from_vec(py, values)))
    }

    /// The sentence and the place in it of the first token with a partial label.
    fn first_partial(&self, py: Python<'_>) -> PyResult<Option<(usize, usize)>> {
        Ok(self.sound(py)?.first_partial())
    }

    /// On how many tokens each of `labels` is the only one.
    fn label_counts(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        Ok(self.sound(py)?.label_counts())
    }

    /// Whether all sentences have the same attributes.
    #[getter]
    fn is_repetitive(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.sound(py)?.is_repetitive())
    }

    /// The label of each token, as its number among `labels`; empty for unlabelled data.
    fn targets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(PyArray1::from_slice(py, &self.sound(py)?.gold))
    }

    /// Weight of each token: its sentence's.
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let corpus = self.sound(py)?;
        let of = |sentence| std::iter::repeat_n(corpus.weight(sentence), corpus.tokens(sentence).len());
        Ok(PyArray1::from_vec(py, (0..corpus.n_sentences()).flat_map(of).collect()))
    }

    /// The cost of a wrong label of each token, NaN where a sentence has none; empty if no token has one.
    fn costs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_slice(py, &self.sound(py)?.costs))
    }

    /// Whether there are bigram attributes.
    #[getter]
    fn has_bigrams(&self) -> bool {
        !self.inner.bigrams.ids.is_empty()
    }

    /// Whether every attribute has the value 1.
    #[getter]
    fn is_binary(&self) -> bool {
        self.inner.values.is_empty()
    }

    /// Tokens of each sentence.
    fn lengths(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        let corpus = self.sound(py)?;
        Ok((0..corpus.n_sentences()).map(|sentence| corpus.tokens(sentence).len()).collect())
    }

    /// The corpus with other labels: their names, which begin with the labels of this corpus, and what `targets` is to return,
    /// in numbers of these names. Labels that no token has are left out.
    fn relabelled(&self, py: Python<'_>, names: Vec<String>, targets: PyReadonlyArray1<'_, u32>) -> PyResult<Self> {
        let gold = read(&targets)?.to_vec();
        let changed = detached(py, || Ok(threads::pool(0)?.install(|| self.inner.relabelled(&names, gold))?))?;
        Ok(Corpus { inner: Arc::new(changed) })
    }

    fn select(&self, py: Python<'_>, sentences: Vec<usize>) -> PyResult<Self> {
        let chosen = detached(py, || Ok(threads::pool(0)?.install(|| self.inner.select(&sentences))?))?;
        Ok(Corpus { inner: Arc::new(chosen) })
    }

    /// The labels of every sentence, or None for unlabelled data. A label is a str, a frozenset of possible labels, or None if
    /// unknown.
    fn gold<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let corpus = self.sound(py)?;
        if !corpus.labelled {
            return Ok(None);
        }
        let sequences = (0..corpus.n_sentences()).map(|sentence| &corpus.gold[corpus.tokens(sentence)]);
        label_lists(py, &corpus.labels, (&corpus.label_sets, &corpus.label_shares), sequences).map(Some)
    }
}

/// Converts sequences as in `Corpus::gold` to lists of str, frozensets of str, dicts of probabilities, and None. Each name and each set is created
/// once.
pub fn label_lists<'py, 'a>(
    py: Python<'py>,
    labels: &[String],
    (sets, shares): (&[Vec<u32>], &[Vec<f64>]),
    sequences: impl Iterator<Item = &'a [u32]>,
) -> PyResult<Bound<'py, PyList>> {
    let names: Vec<Bound<'py, PyString>> = labels.iter().map(|label| PyString::intern(py, label)).collect();
    let in_set = |(number, set): (usize, &Vec<u32>)| {
        let names = set.iter().map(|&label| &names[label as usize]);
        match shares.get(number).filter(|shares| !shares.is_empty()) {
            Some(shares) => {
                let dict = PyDict::new(py);
                names.zip(shares).try_for_each(|(name, share)| dict.set_item(name, share))?;
                Ok(dict.into_any())
            }
            None => Ok(PyFrozenSet::new(py, names)?.into_any()),
        }
    };
    let sets: Vec<Bound<'py, PyAny>> = sets.iter().enumerate().map(in_set).collect::<PyResult<_>>()?;
    let none = py.None().into_bound(py);
    let object_of = |label: u32| match label {
        corpus::UNKNOWN => &none,
        corpus::FIRST_SET.. => &sets[(label - corpus::FIRST_SET) as usize],
        _ => names[label as usize].as_any(),
    };
    let list = PyList::empty(py);
    for sequence in sequences {
        list.append(PyList::new(py, sequence.iter().map(|&label| object_of(label)))?)?;
    }
    Ok(list)
}

/// A token's label in Python: a str, a tuple of str that includes it, a dict of probabilities by str, or None.
enum Label {
    Name(PyBackedStr),
    OneOf(Vec<PyBackedStr>),
    /// A dict of probabilities by label.
    Soft(Vec<(String, f64)>),
    Unknown,
}

impl Label {
    fn gold(&self) -> Gold<'_> {
        match self {
            Label::Name(name) => Gold::Label(name.as_bytes()),
            Label::OneOf(names) => Gold::OneOf(names.iter().map(|name| name.as_bytes()).collect()),
            Label::Soft(shares) => Gold::Soft(shares.iter().map(|(name, share)| (name.as_bytes(), *share)).collect()),
            Label::Unknown => Gold::Unknown,
        }
    }
}

fn label_of(label: &Bound<'_, PyAny>) -> PyResult<Label> {
    if label.is_none() {
        return Ok(Label::Unknown);
    }
    if label.is_instance_of::<PyTuple>() {
        return Ok(Label::OneOf(label.extract()?));
    }
    if let Ok(dict) = label.cast::<PyDict>() {
        let shares = dict.iter().map(|(name, share)| Ok((name.extract()?, share.extract()?)));
        return Ok(Label::Soft(shares.collect::<PyResult<_>>()?));
    }
    Ok(Label::Name(label.extract()?))
}

/// The label with its probabilities checked.
fn checked(label: Label, index: usize, token: usize) -> PyResult<Label> {
    let Label::Soft(shares) = label else { return Ok(label) };
    let shares = checked_shares(shares);
    let located = |message| DataError::new_err(format!("labels of sentence {index}, token {token}: {message}"));
    Ok(Label::Soft(shares.map_err(located)?))
}

fn label_names(sequence: &Bound<'_, PyAny>, index: usize) -> PyResult<Vec<Label>> {
    let wrong = || DataError::new_err(format!("labels of sentence {index}: expected a sequence of str"));
    if sequence.is_instance_of::<PyString>() {
        return Err(wrong());
    }
    let labels = sequence.try_iter().map_err(|_| wrong())?;
    let label = |(token, label): (usize, PyResult<Bound<'_, PyAny>>)| {
        let label = label_of(&label?).map_err(|error| match error.is_instance_of::<PyUnicodeError>(sequence.py()) {
            true => Problem::Python(error).located(sequence.py(), Some(index)),
            false => wrong(),
        });
        checked(label?, index, token)
    };
    labels.enumerate().map(label).collect()
}

/// Adds a sentence with its labels and costs to a builder. Error: the numbers of labels or costs and of tokens differ, or a cost
/// is negative or not finite.
fn add_sentence(
    reader: &mut Reader<'_>,
    builder: &mut Builder,
    sentence: &Bound<'_, PyAny>,
    (labels, costs): (Option<&[Label]>, Option<&[f64]>),
    weight: f64,
) -> Result<(), Problem> {
    let label_of = |token: usize| labels?.get(token).map(Label::gold);
    let tokens = reader.sentence(sentence, builder, label_of)?;
    if let Some(labels) = labels
        && labels.len() != tokens
    {
        return Err(unequal(tokens, labels.len()).into());
    }
    if let Some(costs) = costs {
        check_costs(costs, tokens)?;
        builder.costs(costs);
    }
    builder.end_sentence(weight);
    Ok(())
}
