//! Sentences in Arrow's arrays, read where they lie: lists of strings, and lists of lists or of structs of strings, whose strings are
//! the columns of a token.

use super::memory::{ArrowData, Kind, Node, Nulls, Offsets};
use super::strings::{MissingStrings, Strings};
use crate::bindings::errors::DataError;
use crate::chain::tagging::batch::Sentences;
use crate::text::cells::Width;
use pyo3::prelude::*;
use std::ops::Range;

/// The cells of all tokens.
enum TokenCells<'a> {
    /// A column for each cell.
    Columns(Vec<Strings<'a>>),
    /// The cells of a token one after the other.
    Lists(Offsets<'a>, Strings<'a>),
}

/// The sentences of one array; a sentence that is null has no tokens.
struct Chunk<'a> {
    places: Places<'a>,
    tokens: TokenCells<'a>,
}

/// Sentences in arrays one after the other.
pub struct ArrowSentences<'a> {
    chunks: Vec<Chunk<'a>>,
    /// Chunk -> the number of its first sentence; and the number of sentences.
    starts: Vec<usize>,
    /// Whether the offsets of the sentences have 64 bits.
    pub large: bool,
}

impl<'a> ArrowSentences<'a> {
    /// The sentences of a column, or of a table of one column, for a model whose template looks at `columns` columns of the `trained`
    /// ones of its training data, if these are known.
    pub fn of(data: &'a ArrowData, columns: usize, trained: Option<usize>) -> PyResult<Self> {
        let kind = data.kind();
        let only = if kind.is_struct() && kind.children().count() == 1 { kind.children().next() } else { None };
        let list = only.filter(|kind| kind.is_list()).unwrap_or(kind);
        if !list.is_list() {
            return Err(unfit(&format!("an array of {}", kind.described())));
        }
        let mut sentences = ArrowSentences { chunks: Vec::new(), starts: vec![0], large: list.format() == "+L" };
        for node in data.chunks() {
            let start = *sentences.starts.last().expect("the first start");
            let node = if kind.is_struct() { node.fields().next().expect("one column") } else { node };
            sentences.chunks.push(Chunk::of(node, columns, trained, start)?);
            sentences.starts.push(start + node.len());
        }
        if sentences.chunks.is_empty() {
            check_kind(list, columns)?;
        }
        Ok(sentences)
    }

    fn place(&self, sentence: usize) -> (&Chunk<'a>, usize) {
        let chunk =
            if self.chunks.len() == 1 { 0 } else { self.starts.partition_point(|&start| start <= sentence) - 1 };
        (&self.chunks[chunk], sentence - self.starts[chunk])
    }

    /// Whether a sentence is null.
    pub fn is_null(&self, sentence: usize) -> bool {
        let (chunk, sentence) = self.place(sentence);
        chunk.places.nulls.contains(sentence)
    }
}

impl Sentences for ArrowSentences<'_> {
    fn count(&self) -> usize {
        *self.starts.last().expect("the number of sentences")
    }

    fn tokens(&self, sentence: usize) -> usize {
        let (chunk, sentence) = self.place(sentence);
        chunk.places.range(sentence).len()
    }

    fn read<'a>(&'a self, sentence: usize, columns: usize, cells: &mut Vec<&'a [u8]>) {
        let (chunk, sentence) = self.place(sentence);
        for token in chunk.places.range(sentence) {
            match &chunk.tokens {
                TokenCells::Columns(strings) => {
                    cells.extend(strings[..columns].iter().map(|column| column.get(token)));
                }
                TokenCells::Lists(offsets, strings) => {
                    cells.extend(offsets.range(token).take(columns).map(|cell| strings.get(cell)));
                }
            }
        }
    }
}

/// The places of the tokens of `count` sentences.
struct Places<'a> {
    offsets: Offsets<'a>,
    count: usize,
    nulls: Nulls<'a>,
    /// The number of the first sentence.
    start: usize,
}

impl Places<'_> {
    /// The tokens of a sentence.
    fn range(&self, sentence: usize) -> Range<usize> {
        if self.nulls.contains(sentence) { 0..0 } else { self.offsets.range(sentence) }
    }

    /// The tokens of all sentences, with their sentences.
    fn tokens(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.count).flat_map(move |sentence| self.range(sentence).map(move |token| (self.start + sentence, token)))
    }

    /// The first sentence with a token that has a missing value, given the first such value of a range of tokens.
    fn first_null(&self, first: impl Fn(Range<usize>) -> Option<usize>) -> Option<usize> {
        let sentence = if matches!(self.nulls, Nulls::None) {
            let token = first(self.offsets.at(0)..self.offsets.at(self.count))?;
            (0..self.count).find(|&sentence| self.range(sentence).contains(&token))
        } else {
            (0..self.count).find(|&sentence| first(self.range(sentence)).is_some())
        };
        sentence.map(|sentence| self.start + sentence)
    }
}

impl<'a> Chunk<'a> {
    /// The sentences of an array of lists, whose first has this number.
    fn of(node: Node<'a>, columns: usize, trained: Option<usize>, start: usize) -> PyResult<Self> {
        let width = Width::of_training(trained);
        let places = Places { offsets: node.offsets()?, count: node.len(), nulls: node.nulls()?, start };
        let tokens = node.items();
        check_kind(node.kind(), columns)?;
        let nulls = tokens.nulls()?;
        if let Some(sentence) = places.first_null(|tokens| nulls.first(tokens)) {
            return Err(missing("a token", sentence));
        }
        let tokens = match tokens.kind().format() {
            _ if tokens.kind().is_dictionary() => cells_of_strings(tokens, &places, columns)?,
            "+l" | "+L" => cells_of_lists(tokens, &places, columns, width)?,
            "+s" => cells_of_structs(tokens, &places, columns)?,
            _ => cells_of_strings(tokens, &places, columns)?,
        };
        Ok(Chunk { places, tokens })
    }
}

/// The error for an array of another type.
fn unfit(kind: &str) -> PyErr {
    DataError::new_err(format!(
        "sentences must be an array of list<string>, list<list<string>> or list<struct> of strings, not {kind}; cast it"
    ))
}

/// Raises the error for a type of lists that are no sentences.
fn check_kind(list: Kind<'_>, columns: usize) -> PyResult<()> {
    let token = list.children().next().expect("a list has a child");
    let (cells, place): (Vec<Kind<'_>>, _) = match () {
        () if token.is_list() => (token.children().collect(), "lists of lists"),
        () if token.is_struct() => (token.children().take(columns).collect(), "lists of structs"),
        () => (vec![token], "lists"),
    };
    // A list of nothing but empty sentences may have no type of tokens.
    match cells.iter().find(|cell| !cell.holds_strings() && cell.format() != "n") {
        Some(cell) => Err(unfit(&format!("{place} of {}", cell.described()))),
        None => Ok(()),
    }
}

/// The strings of an array whose type was checked.
fn strings(node: Node<'_>) -> PyResult<Strings<'_>> {
    // An array of nulls: none of its values is read.
    Ok(Strings::of(node)?.unwrap_or(Strings::Packed(Offsets::Small(&[0]), &[])))
}

/// The cells of tokens that are strings.
fn cells_of_strings<'a>(tokens: Node<'a>, places: &Places<'_>, columns: usize) -> PyResult<TokenCells<'a>> {
    if columns > 1
        && let Some((sentence, _)) = places.tokens().next()
    {
        return Err(few(1, columns, sentence));
    }
    let nulls = MissingStrings::of(tokens)?;
    if let Some(sentence) = places.first_null(|tokens| nulls.first(tokens)) {
        return Err(missing("a token", sentence));
    }
    Ok(TokenCells::Columns(vec![strings(tokens)?]))
}

/// The cells of tokens that are lists of strings.
fn cells_of_lists<'a>(tokens: Node<'a>, places: &Places<'_>, columns: usize, width: Width) -> PyResult<TokenCells<'a>> {
    let (lists, cells) = (tokens.offsets()?, tokens.items());
    let most = width.trained.unwrap_or(usize::MAX);
    if let Some((sentence, token)) = places.tokens().find(|&(_, token)| lists.range(token).len() > most) {
        let first = places.range(sentence - places.start).start;
        return Err(many(width, token - first, lists.range(token).len(), sentence));
    }
    if let Some((sentence, token)) = places.tokens().find(|&(_, token)| lists.range(token).len() < columns) {
        return Err(few(lists.range(token).len(), columns, sentence));
    }
    let nulls = MissingStrings::of(cells)?;
    let first = |tokens: Range<usize>| {
        let cell = if tokens.is_empty() { None } else { nulls.first(lists.at(tokens.start)..lists.at(tokens.end)) };
        cell.and_then(|cell| tokens.clone().find(|&token| lists.range(token).contains(&cell)))
    };
    if let Some(sentence) = places.first_null(first) {
        return Err(missing("a column of a token", sentence));
    }
    Ok(TokenCells::Lists(lists, strings(cells)?))
}

/// The cells of tokens that are structs, whose first fields are the columns.
fn cells_of_structs<'a>(tokens: Node<'a>, places: &Places<'_>, columns: usize) -> PyResult<TokenCells<'a>> {
    let fields: Vec<Node<'_>> = tokens.fields().take(columns).collect();
    if fields.len() < columns {
        return Err(few(fields.len(), columns, places.start));
    }
    for &field in &fields {
        let nulls = MissingStrings::of(field)?;
        if let Some(sentence) = places.first_null(|tokens| nulls.first(tokens)) {
            return Err(missing("a column of a token", sentence));
        }
    }
    Ok(TokenCells::Columns(fields.into_iter().map(strings).collect::<PyResult<_>>()?))
}

/// The error for a missing value.
fn missing(what: &str, sentence: usize) -> PyErr {
    DataError::new_err(format!("sentence {sentence}: {what} is null; fill nulls or drop such sentences"))
}

/// The error for a token with more columns than in the training data.
fn many(mut width: Width, token: usize, cells: usize, sentence: usize) -> PyErr {
    let wrong = width.allow(token, cells).err().unwrap_or_default();
    DataError::new_err(format!("sentence {sentence}: {wrong}"))
}

/// The error for a token with too few columns.
fn few(n_cells: usize, columns: usize, sentence: usize) -> PyErr {
    let looks = format!("the {columns} columns that the template looks at");
    DataError::new_err(format!("sentence {sentence}: a token has {n_cells} of {looks}"))
}
