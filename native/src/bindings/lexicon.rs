//! Lexicons of templates: what a template needs, and the lines that carry them.

use crate::bindings::interrupt::detached;
use crate::text::lexicon::{self, Source};
use crate::text::template::Template;
use pyo3::prelude::*;

/// The lexicons that a template names and does not carry: the name, whether entries are to be lower-cased, the line.
#[pyfunction]
pub fn needed_lexicons(template: &str) -> PyResult<Vec<(String, bool, usize)>> {
    Ok(Template::missing_lexicons(template)?)
}

/// The line of a template that carries a lexicon under this name, and the lexicon's number of entries. `text` has an entry in each
/// line; errors call it `path`.
#[pyfunction]
pub fn lexicon_line(
    py: Python<'_>,
    name: &str,
    path: &str,
    text: &[u8],
    folded: bool,
    comments: bool,
) -> PyResult<(String, usize)> {
    let source = Source { name: path, text, comments };
    detached(py, || Ok(lexicon::line_of(name, &source, folded)?))
}

/// The lexicons that a template carries: the name, whether entries are lower-cased, the numbers of entries and of bytes.
#[pyfunction]
pub fn lexicons_of(template: &str) -> PyResult<Vec<(String, bool, usize, usize)>> {
    let of = |attached: &lexicon::Attached| {
        let lexicon = &attached.lexicon;
        (attached.name.clone(), lexicon.folded, lexicon.entries, lexicon.bytes().len())
    };
    Ok(Template::parse(template)?.lexicons().iter().map(of).collect())
}
