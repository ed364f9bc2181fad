//! Passes sentences of Python objects to a sink token by token, with an error for every mistake.

use crate::bindings::errors::DataError;
use crate::corpus::notes::Tokens;
use crate::corpus::sink::{Gold, Sink};
use crate::text::cells::{Cells, Texts, Width};
use crate::text::expand::Expander;
use crate::text::items::Items;
use crate::text::layout::Layout;
use crate::text::template::Template;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyUnicodeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyFrozenSet, PyIterator, PyList, PySet, PyString};

/// How Python writes the attributes of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemDialect {
    /// A str is one attribute; texts are str; the value of a key is a number, a bool, a str, a dict or any collection of str.
    Strict,
    /// What python-crfsuite accepts: a str is a collection of characters; texts are str or bytes in UTF-8; the value of a key
    /// is a text, a dict, a list, a set, or anything that Python's float() accepts; anything else is a TypeError. Departure: a
    /// value must be finite.
    Crfsuite,
}

/// Maximum depth of nested collections in a token; stops at dicts that contain themselves.
const DEEPEST: usize = 64;

/// A mistake in a sentence whose number is not yet known.
pub enum Problem {
    /// Becomes a DataError.
    Message(String),
    /// Becomes a TypeError.
    Type(String),
    Python(PyErr),
}

impl Problem {
    /// The exception for a mistake in a sentence of this number, or in the only sentence.
    pub fn located(self, py: Python<'_>, sentence: Option<usize>) -> PyErr {
        self.at(py, &sentence.map_or(String::new(), |sentence| format!("sentence {sentence}: ")))
    }

    /// The exception, whose message begins with a place.
    pub fn at(self, py: Python<'_>, place: &str) -> PyErr {
        match self {
            Problem::Message(message) => DataError::new_err(format!("{place}{message}")),
            Problem::Type(message) => PyTypeError::new_err(format!("{place}{message}")),
            Problem::Python(error) if error.is_instance_of::<PyUnicodeError>(py) => {
                DataError::new_err(format!("{place}text is not valid Unicode: it has half of a character; repair it"))
            }
            Problem::Python(error) => error,
        }
    }
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Problem::Message(message)
    }
}

impl From<PyErr> for Problem {
    fn from(error: PyErr) -> Self {
        Problem::Python(error)
    }
}

/// Reads sentences whose tokens hold attributes in the strict dialect, or the columns of a template.
pub enum Reader<'t> {
    Attributes(AttributeReader),
    Columns {
        expander: Box<Expander<'t>>,
        columns: usize,
        width: Width,
        /// The cells of the sentence.
        texts: Texts,
    },
}

impl<'t> Reader<'t> {
    /// A reader for tokens of a template's columns, or without a template for tokens of attributes; the layout is that of the
    /// training data, if there is a model.
    pub fn new(template: Option<&'t Template>, trained: Layout) -> Self {
        match template {
            Some(template) => Reader::Columns {
                expander: Box::new(Expander::new(template)),
                columns: template.columns,
                width: Width::of_training(trained.trained),
                texts: Texts::default(),
            },
            None => Reader::Attributes(AttributeReader::new(ItemDialect::Strict, trained.tokens)),
        }
    }

    /// Number of columns of the tokens read; 0 without columns.
    pub fn n_columns(&self) -> usize {
        match self {
            Reader::Attributes(_) => 0,
            Reader::Columns { width, .. } => width.seen.unwrap_or(0),
        }
    }

    /// What the tokens were, if they hold attributes.
    pub fn tokens(&self) -> Tokens {
        match self {
            Reader::Attributes(reader) => reader.seen,
            Reader::Columns { .. } => Tokens::default(),
        }
    }

    /// Passes a sentence's tokens to a sink, each with the label `label_of(token)`. Does not end the sentence. Returns the number
    /// of tokens.
    pub fn sentence<'l, S: Sink>(
        &mut self,
        sentence: &Bound<'_, PyAny>,
        sink: &mut S,
        label_of: impl Fn(usize) -> Option<Gold<'l>>,
    ) -> Result<usize, Problem> {
        match self {
            Reader::Attributes(reader) => reader.sentence(sentence, sink, label_of),
            Reader::Columns { expander, columns, width, texts } => {
                texts.clear();
                let tokens = read_cells(sentence, *columns, width, texts)?;
                let cells = (0..texts.count()).map(|cell| texts.get(cell)).collect();
                expander.expand(&Cells { columns: *columns, cells }, sink, label_of)?;
                Ok(tokens)
            }
        }
    }
}

/// The tokens of a sentence, which must not be a str in the strict dialect.
fn tokens_of<'py>(
    sentence: &Bound<'py, PyAny>,
    dialect: ItemDialect,
) -> Result<impl Iterator<Item = PyResult<Bound<'py, PyAny>>>, Problem> {
    if dialect == ItemDialect::Crfsuite {
        return Ok(sentence.try_iter()?);
    }
    if sentence.is_instance_of::<PyString>() {
        return Err("a sentence must be a sequence of tokens, not a str".to_owned().into());
    }
    Ok(sentence.try_iter().map_err(|_| "a sentence must be a sequence of tokens".to_owned())?)
}

/// Appends the first `columns` cells of every token of a sentence to `texts`; returns the number of tokens.
pub fn read_cells(
    sentence: &Bound<'_, PyAny>,
    columns: usize,
    width: &mut Width,
    texts: &mut Texts,
) -> Result<usize, Problem> {
    let mut tokens = 0;
    for token in tokens_of(sentence, ItemDialect::Strict)? {
        let (token, before, mut more) = (token?, texts.count(), 0);
        let wrong =
            || format!("token {tokens}: with a template, a token must be a str or a sequence of str (its columns)");
        if let Ok(text) = token.cast::<PyString>() {
            texts.push(text.to_str()?);
        } else if token.is_instance_of::<PyDict>() || is_set(&token) {
            return Err(wrong().into());
        } else {
            let mut cells = token.try_iter().map_err(|_| wrong())?;
            for cell in cells.by_ref().take(columns) {
                texts.push(cell?.cast::<PyString>().map_err(|_| wrong())?.to_str()?);
            }
            more = cells.try_fold(0, |count, cell| cell.map(|_| count + 1))?;
        }
        let n_cells = texts.count() - before;
        if n_cells < columns {
            return Err(
                format!("token {tokens} has {n_cells} of the {columns} columns that the template looks at").into()
            );
        }
        width.check(tokens, n_cells + more)?;
        tokens += 1;
    }
    Ok(tokens)
}

/// Reads sentences whose tokens hold attributes; keeps its buffer from one sentence to the next.
pub struct AttributeReader {
    items: Items,
    pub dialect: ItemDialect,
    /// What the tokens of the training data were, if it is known.
    pub trained: Tokens,
    seen: Tokens,
}

impl AttributeReader {
    /// A reader without a buffer.
    pub fn new(dialect: ItemDialect, trained: Tokens) -> Self {
        AttributeReader { items: Items::default(), dialect, trained, seen: Tokens::default() }
    }

    /// As `Reader::sentence`.
    pub fn sentence<'l, S: Sink>(
        &mut self,
        sentence: &Bound<'_, PyAny>,
        sink: &mut S,
        label_of: impl Fn(usize) -> Option<Gold<'l>>,
    ) -> Result<usize, Problem> {
        let mut count = 0;
        for token in tokens_of(sentence, self.dialect)? {
            self.token(&token?, sink).map_err(|problem| match problem {
                Problem::Message(message) => Problem::Message(format!("token {count}: {message}")),
                Problem::Type(message) => Problem::Type(format!("token {count}: {message}")),
                other => other,
            })?;
            sink.end_token(label_of(count));
            count += 1;
        }
        Ok(count)
    }

    /// Passes the attributes of a token to a sink.
    fn token<S: Sink>(&mut self, token: &Bound<'_, PyAny>, sink: &mut S) -> Result<(), Problem> {
        // A mistake in an earlier token may have left a prefix behind.
        self.items.leave(0);
        if let Ok(map) = token.cast::<PyDict>() {
            self.note(Tokens::COLLECTIONS)?;
            return self.map(map, 1, sink);
        }
        if let Ok(text) = token.cast::<PyString>() {
            self.note(Tokens::TEXTS)?;
            let text = text.to_str()?;
            match self.dialect {
                ItemDialect::Strict => self.items.name(text, sink),
                ItemDialect::Crfsuite => {
                    let mut buffer = [0; 4];
                    text.chars().for_each(|character| self.items.name(character.encode_utf8(&mut buffer), sink));
                }
            }
            return Ok(());
        }
        let names = token.try_iter().map_err(|error| match self.dialect {
            ItemDialect::Strict => {
                Problem::Message("a token must be a str, a sequence of str or a dict of attributes".to_owned())
            }
            ItemDialect::Crfsuite => Problem::Type(error.value(token.py()).to_string()),
        })?;
        self.note(Tokens::COLLECTIONS)?;
        self.names(token, names, || "an attribute is not a str".to_owned(), sink)
    }

    /// Notes what a token is. Error: no token of the training data was that.
    #[inline(always)]
    fn note(&mut self, token: Tokens) -> Result<(), Problem> {
        self.seen.add(token);
        if self.dialect == ItemDialect::Strict { Ok(self.trained.check(token)?) } else { Ok(()) }
    }

    /// Passes on the attributes of a dict.
    fn map<S: Sink>(&mut self, map: &Bound<'_, PyDict>, depth: usize, sink: &mut S) -> Result<(), Problem> {
        let size = map.len();
        // Code of a number or a collection may change the dict. The iterator panics if the size changes, or after as many items
        // as there were at the start.
        for (key, value) in map.iter().take(size) {
            let Some(key) = text(&key, self.dialect)? else {
                return Err(self.mistyped(&key, || "an attribute's key is not a str".to_owned()));
            };
            if self.plain(key, &value, sink)? {
                continue;
            }
            self.value(key, &value, depth, sink)?;
            if map.len() != size {
                return Err(PyRuntimeError::new_err("dictionary changed size during iteration").into());
            }
        }
        Ok(())
    }

    /// Passes on the attribute of a key and its value if the value is plain, so that reading it runs no Python code; returns
    /// whether it is.
    #[inline(always)]
    fn plain<S: Sink>(&mut self, key: &str, value: &Bound<'_, PyAny>, sink: &mut S) -> Result<bool, Problem> {
        if let Ok(text) = value.cast_exact::<PyString>() {
            self.items.text(key, text.to_str()?, sink);
        } else if let Ok(number) = value.cast_exact::<PyFloat>() {
            self.items.number(key, number.value(), sink)?;
        } else if let Ok(flag) = value.cast_exact::<PyBool>() {
            self.items.number(key, f64::from(u8::from(flag.is_true())), sink)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Passes on the attributes of a key and a value that is not plain.
    fn value<S: Sink>(
        &mut self,
        key: &str,
        value: &Bound<'_, PyAny>,
        depth: usize,
        sink: &mut S,
    ) -> Result<(), Problem> {
        if let Some(text) = text(value, self.dialect)? {
            self.items.text(key, text, sink);
        } else if let Ok(map) = value.cast::<PyDict>() {
            if depth == DEEPEST {
                return Err(format!("attribute '{key}': dicts are nested more than {DEEPEST} levels deep").into());
            }
            let outer = self.items.enter(key);
            self.map(map, depth + 1, sink)?;
            self.items.leave(outer);
        } else if self.dialect == ItemDialect::Crfsuite {
            if value.is_instance_of::<PyList>() || value.is_instance_of::<PySet>() {
                return self.names_of_key(key, value, sink);
            }
            let number =
                value.extract::<f64>().map_err(|error| match error.is_instance_of::<PyTypeError>(value.py()) {
                    true => Problem::Type(format!("attribute '{key}': {}", error.value(value.py()))),
                    false => Problem::Python(error),
                });
            self.items.number(key, number?, sink)?;
        } else if let Ok(number) = value.extract::<f64>() {
            self.items.number(key, number, sink)?;
        } else {
            self.names_of_key(key, value, sink)?;
        }
        Ok(())
    }

    /// Passes on the names in a collection, after their key.
    fn names_of_key<S: Sink>(&mut self, key: &str, value: &Bound<'_, PyAny>, sink: &mut S) -> Result<(), Problem> {
        let names = value.try_iter().map_err(|_| {
            format!("attribute '{key}': a value must be a number, a bool, a str, a dict or a collection of str")
        })?;
        let outer = self.items.enter(key);
        self.names(value, names, || format!("attribute '{key}': a collection must contain only str"), sink)?;
        self.items.leave(outer);
        Ok(())
    }

    /// Passes on the names in a collection: those of a set sorted, since their order depends on the hashes of this process.
    /// `strictly` is the strict dialect's message for an object that is not a name.
    fn names<S: Sink>(
        &mut self,
        collection: &Bound<'_, PyAny>,
        names: Bound<'_, PyIterator>,
        strictly: impl Fn() -> String,
        sink: &mut S,
    ) -> Result<(), Problem> {
        if !is_set(collection) {
            for name in names {
                let name = name?;
                self.items.name(self.name(&name, &strictly)?, sink);
            }
            return Ok(());
        }
        let names = names.collect::<PyResult<Vec<_>>>()?;
        let mut texts = names.iter().map(|name| self.name(name, &strictly)).collect::<Result<Vec<_>, _>>()?;
        texts.sort_unstable();
        texts.iter().for_each(|name| self.items.name(name, sink));
        Ok(())
    }

    /// The text of a name; `strictly` as in `names`.
    #[inline(always)]
    fn name<'a>(&self, name: &'a Bound<'_, PyAny>, strictly: impl FnOnce() -> String) -> Result<&'a str, Problem> {
        text(name, self.dialect)?.ok_or_else(|| self.mistyped(name, strictly))
    }

    /// The error for an object that is not text: a TypeError in python-crfsuite's dialect.
    fn mistyped(&self, object: &Bound<'_, PyAny>, strictly: impl FnOnce() -> String) -> Problem {
        if self.dialect == ItemDialect::Strict {
            return Problem::Message(strictly());
        }
        let kind = object.get_type().name().map_or_else(|_| "another type".to_owned(), |name| name.to_string());
        Problem::Type(format!("an attribute name must be a str or bytes, not {kind}"))
    }
}

/// Whether an object is a set, whose items have no order of their own.
fn is_set(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PySet>() || object.is_instance_of::<PyFrozenSet>()
}

/// The text of an object, if the object is a text in a dialect.
#[inline(always)]
fn text<'a>(object: &'a Bound<'_, PyAny>, dialect: ItemDialect) -> Result<Option<&'a str>, Problem> {
    match object.cast_exact::<PyString>() {
        Ok(text) => Ok(Some(text.to_str()?)),
        Err(_) => unusual_text(object, dialect),
    }
}

/// `text` of an object that is not exactly a str.
fn unusual_text<'a>(object: &'a Bound<'_, PyAny>, dialect: ItemDialect) -> Result<Option<&'a str>, Problem> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Some(text.to_str()?));
    }
    match object.cast::<PyBytes>() {
        Ok(bytes) if dialect == ItemDialect::Crfsuite => {
            let text = std::str::from_utf8(bytes.as_bytes());
            let wrong = |error| format!("{:?} is not valid UTF-8: {error}", String::from_utf8_lossy(bytes.as_bytes()));
            Ok(Some(text.map_err(wrong)?))
        }
        _ => Ok(None),
    }
}
