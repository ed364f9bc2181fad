//! Raw texts: cut into tokens, and labelled.

use crate::bindings::collection::Paused;
use crate::bindings::errors::{DataError, OptionError};
use crate::bindings::interrupt::interruptible_unless;
use crate::bindings::items::Problem;
use crate::bindings::model::{ChainModel, Rule};
use crate::chain::tagging::texts::{self, BYTES_PER_TOKEN};
use crate::text::tokenizer::{self, Characters, PRESETS};
use crate::threads;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

/// The most bytes of texts that are labelled on the calling thread: waking another takes longer.
const FEW: usize = 500 * BYTES_PER_TOKEN;

/// Cuts texts into tokens.
#[pyclass(frozen, module = "loglinear._core")]
pub struct Tokenizer {
    inner: tokenizer::Tokenizer,
}

#[pymethods]
impl Tokenizer {
    #[new]
    fn new(spec: &str) -> PyResult<Self> {
        Ok(Tokenizer { inner: tokenizer::Tokenizer::new(spec)? })
    }

    /// Names of the presets.
    #[staticmethod]
    fn presets() -> Vec<&'static str> {
        PRESETS.iter().map(|(name, _)| *name).collect()
    }

    /// The expression whose matches are the tokens.
    #[getter]
    fn expression(&self) -> &str {
        self.inner.expression()
    }

    /// Start and end of each token of a text, in characters.
    fn offsets(&self, text: &Bound<'_, PyAny>) -> PyResult<Vec<(usize, usize)>> {
        let text = read(text, None)?;
        let mut characters = Characters::of(text);
        let place = |token: std::ops::Range<usize>| (characters.before(token.start), characters.before(token.end));
        Ok(self.inner.tokens(text).map(place).collect())
    }

    /// The tokens of a text.
    fn tokens<'py>(&self, text: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyString>>> {
        let (py, text) = (text.py(), read(text, None)?);
        Ok(self.inner.tokens(text).map(|token| PyString::new(py, &text[token])).collect())
    }
}

/// A text of Python; an error begins with its number, if it has one.
fn read<'a>(text: &'a Bound<'_, PyAny>, number: Option<usize>) -> PyResult<&'a str> {
    let place = || number.map_or(String::new(), |number| format!("text {number}: "));
    let Ok(string) = text.cast::<PyString>() else {
        let kind = text.get_type().name()?;
        return Err(DataError::new_err(format!("{}a text must be a str, not {kind}", place())));
    };
    string.to_str().map_err(|error| Problem::Python(error).at(text.py(), &place()))
}

/// For every text its spans, made by `make` of (start, end, label, text, probability): the chunks in its labels, or without a rule its
/// tokens; and log p(labels | text) of every text. Offsets are in characters; probabilities are None if they are not wanted. The
/// interpreter is free while texts are labelled.
#[pyfunction]
#[pyo3(signature = (model, texts, tokenizer, make, *, rule=None, probabilities=true, threads=0))]
pub fn tag_texts<'py>(
    model: &Bound<'py, ChainModel>,
    texts: &Bound<'py, PyAny>,
    tokenizer: &Tokenizer,
    make: &Bound<'py, PyAny>,
    rule: Option<Rule>,
    probabilities: bool,
    threads: usize,
) -> PyResult<(Bound<'py, PyList>, Option<Vec<f64>>)> {
    let (py, model) = (model.py(), model.get());
    let Some(template) = model.inner.template.as_deref() else {
        return Err(OptionError::new_err(
            "the model has no template, so it cannot label text; train it with a template (--preset or --template), or pass \
             attributes to tag",
        ));
    };
    let rule = rule.map(|rule| model.rule(rule)).transpose()?;
    let texts: Vec<Bound<'py, PyAny>> = texts.try_iter()?.collect::<PyResult<_>>()?;
    let contents: Vec<&str> =
        texts.iter().enumerate().map(|(number, text)| read(text, Some(number))).collect::<PyResult<_>>()?;
    let quick = contents.iter().map(|text| text.len()).sum::<usize>() < FEW;
    let tagged = interruptible_unless(quick, py, |interrupt| {
        let (model, tokenizer) = (&model.inner, &tokenizer.inner);
        let work = || texts::tag_texts(model, template, &contents, tokenizer, rule.as_ref(), probabilities, interrupt);
        if quick { work() } else { threads::pool(threads)?.install(work) }
    })?;
    let _paused = Paused::new(py);
    let log_probabilities = tagged.iter().map(|(_, log_probability)| *log_probability).collect();
    let labels = model.singles.names(py, &model.inner);
    let types: Vec<Bound<'py, PyString>> =
        rule.iter().flat_map(|rule| &rule.types).map(|name| PyString::intern(py, name)).collect();
    let lists = tagged.into_iter().zip(contents).map(|((spans, _), text)| {
        let labelled = spans.into_iter().map(|span| {
            let (characters, part) = (span.characters, PyString::new(py, &text[span.bytes]));
            let name = if rule.is_some() { types.get(span.kind as usize) } else { labels.name(py, span.kind) };
            make.call1(((characters.start, characters.end, name, part, span.probability),))
        });
        PyList::new(py, labelled.collect::<PyResult<Vec<_>>>()?)
    });
    Ok((PyList::new(py, lists.collect::<PyResult<Vec<_>>>()?)?, log_probabilities))
}
