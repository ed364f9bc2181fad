//! Arrow arrays of sentences, read without a copy: lists of strings, and lists of lists or structures of strings, where the
//! strings are the columns of a token.
//!
//! Source: the Arrow C data interface and its PyCapsule interface, arrow.apache.org/docs/format/CDataInterface.html.

use crate::bindings::errors::DataError;
use crate::chain::tagging::batch::Sentences;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;
use std::ops::Range;

/// `struct ArrowSchema`.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *const *const Schema,
    dictionary: *const Schema,
    release: *const c_void,
    private_data: *const c_void,
}

/// `struct ArrowArray`.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *const *const Array,
    dictionary: *const Array,
    release: *const c_void,
    private_data: *const c_void,
}

/// An array and its type, whose memory outlives 'a.
#[derive(Clone, Copy)]
struct Node<'a> {
    array: *const Array,
    schema: *const Schema,
    memory: PhantomData<&'a [u8]>,
}

/// The start of each item, and the end of the last.
#[derive(Clone, Copy)]
enum Offsets<'a> {
    Small(&'a [i32]),
    Large(&'a [i64]),
}

impl Offsets<'_> {
    fn at(&self, index: usize) -> usize {
        match self {
            Offsets::Small(offsets) => offsets[index] as usize,
            Offsets::Large(offsets) => offsets[index] as usize,
        }
    }

    fn range(&self, index: usize) -> Range<usize> {
        self.at(index)..self.at(index + 1)
    }
}

/// A column of strings.
struct Strings<'a> {
    offsets: Offsets<'a>,
    bytes: &'a [u8],
}

impl<'a> Strings<'a> {
    fn get(&self, index: usize) -> &'a [u8] {
        &self.bytes[self.offsets.range(index)]
    }
}

/// The cells of all tokens.
enum TokenCells<'a> {
    /// A column for each cell.
    Columns(Vec<Strings<'a>>),
    /// The cells of a token one after the other.
    Lists(Offsets<'a>, Strings<'a>),
}

/// An array of sentences.
pub struct ArrowSentences<'a> {
    count: usize,
    sentences: Offsets<'a>,
    tokens: TokenCells<'a>,
    /// Whether the offsets of the sentences have 64 bits.
    pub large: bool,
}

impl Sentences for ArrowSentences<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn tokens(&self, sentence: usize) -> usize {
        self.sentences.range(sentence).len()
    }

    fn read<'a>(&'a self, sentence: usize, columns: usize, cells: &mut Vec<&'a [u8]>) {
        for token in self.sentences.range(sentence) {
            match &self.tokens {
                TokenCells::Columns(strings) => cells.extend(strings[..columns].iter().map(|column| column.get(token))),
                TokenCells::Lists(offsets, strings) => {
                    cells.extend(offsets.range(token).take(columns).map(|cell| strings.get(cell)));
                }
            }
        }
    }
}

/// Both capsules of an array that has the method `__arrow_c_array__`; the memory lives as long as they do.
pub struct Capsules<'py>(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

impl<'py> Capsules<'py> {
    /// The capsules of an array.
    pub fn of(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        let pair = array.call_method0("__arrow_c_array__")?;
        let (schema, array) = pair.cast::<PyTuple>()?.extract::<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)>()?;
        Ok(Capsules(schema, array))
    }

    /// The sentences of the array, for a model whose template looks at `columns` columns.
    pub fn sentences(&self, columns: usize) -> PyResult<ArrowSentences<'_>> {
        let schema = self.0.pointer_checked(Some(c"arrow_schema"))?.as_ptr() as *const Schema;
        let array = self.1.pointer_checked(Some(c"arrow_array"))?.as_ptr() as *const Array;
        sentences(Node { array, schema, memory: PhantomData }, columns)
    }
}

impl<'a> Node<'a> {
    fn array(self) -> &'a Array {
        // Safety: the capsules point to structures that live as long as they, and children live as long as their parents.
        unsafe { &*self.array }
    }

    /// The code of the type.
    fn format(self) -> &'a str {
        // Safety: as above; the format is a string that ends with NUL.
        let format = unsafe { CStr::from_ptr((*self.schema).format) };
        format.to_str().unwrap_or_default()
    }

    fn children(self) -> impl Iterator<Item = Node<'a>> {
        let count = self.array().n_children as usize;
        (0..count).map(move |at| {
            // Safety: both have this many children.
            let (array, schema) = unsafe { (*self.array().children.add(at), *(*self.schema).children.add(at)) };
            Node { array, schema, memory: PhantomData }
        })
    }

    /// A buffer of `count` values.
    fn buffer<T>(self, at: usize, count: usize) -> &'a [T] {
        if count == 0 {
            return &[];
        }
        // Safety: an array of this type has the buffer, with at least this many values, aligned for them.
        unsafe { std::slice::from_raw_parts((*self.array().buffers.add(at)).cast::<T>(), count) }
    }

    /// The offsets of a list or string array.
    fn offsets(self) -> Offsets<'a> {
        let (start, length) = (self.array().offset as usize, self.array().length as usize);
        let large = matches!(self.format(), "U" | "+L");
        if length == 0 {
            return if large { Offsets::Large(&[0]) } else { Offsets::Small(&[0]) };
        }
        if large {
            Offsets::Large(&self.buffer(1, start + length + 1)[start..])
        } else {
            Offsets::Small(&self.buffer(1, start + length + 1)[start..])
        }
    }

    /// The strings of a string array. Error: the array has another type.
    fn strings(self, place: &str) -> PyResult<Strings<'a>> {
        if !matches!(self.format(), "u" | "U") || self.is_dictionary() {
            return Err(unfit(&format!("{place} of {}", self.described())));
        }
        let offsets = self.offsets();
        let bytes = self.buffer(2, offsets.at(self.array().length as usize));
        Ok(Strings { offsets, bytes })
    }

    fn is_dictionary(self) -> bool {
        // Safety: as above.
        unsafe { !(*self.schema).dictionary.is_null() }
    }

    /// The first missing value in a range.
    fn first_null(self, mut range: Range<usize>) -> Option<usize> {
        let array = self.array();
        // Safety: every array with a type of ours has a first buffer, of validity, which may be NULL.
        if array.null_count == 0 || range.is_empty() || unsafe { (*array.buffers).is_null() } {
            return None;
        }
        let bits: &[u8] = self.buffer(0, (array.offset as usize + range.end).div_ceil(8));
        range.find(|index| {
            let bit = array.offset as usize + index;
            bits[bit / 8] >> (bit % 8) & 1 == 0
        })
    }

    /// The type in words.
    fn described(self) -> String {
        match self.format() {
            _ if self.is_dictionary() => "dictionary-encoded values".into(),
            "u" | "U" => "strings".into(),
            "+l" | "+L" => "lists".into(),
            "+s" => "structs".into(),
            "n" => "nulls".into(),
            other => format!("Arrow's type '{other}'"),
        }
    }
}

/// The error for an array of another type.
fn unfit(type_name: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "sentences must be an array of list<string>, list<list<string>> or list<struct> of strings, not {type_name}; cast it"
    ))
}

/// The sentences of an array.
fn sentences(node: Node<'_>, columns: usize) -> PyResult<ArrowSentences<'_>> {
    if !matches!(node.format(), "+l" | "+L") {
        return Err(unfit(&format!("an array of {}", node.described())));
    }
    let (count, offsets) = (node.array().length as usize, node.offsets());
    if let Some(sentence) = node.first_null(0..count) {
        return Err(missing("it", sentence));
    }
    let sentences = Places { offsets, count };
    let tokens = node.children().next().expect("a list has a child");
    if let Some(token) = tokens.first_null(sentences.used()) {
        return Err(missing("a token", sentences.holder(token)));
    }
    let tokens = match tokens.format() {
        "+l" | "+L" => cells_of_lists(tokens, &sentences, columns)?,
        "+s" => cells_of_structures(tokens, &sentences, columns)?,
        _ => {
            let strings = tokens.strings("lists")?;
            if columns > 1 && !sentences.used().is_empty() {
                return Err(few(1, columns, sentences.holder(sentences.used().start)));
            }
            TokenCells::Columns(vec![strings])
        }
    };
    Ok(ArrowSentences { count, sentences: offsets, tokens, large: node.format() == "+L" })
}

/// The places of the items of `count` lists.
struct Places<'a> {
    offsets: Offsets<'a>,
    count: usize,
}

impl Places<'_> {
    /// The items of all lists.
    fn used(&self) -> Range<usize> {
        self.offsets.at(0)..self.offsets.at(self.count)
    }

    /// The list that holds an item.
    fn holder(&self, item: usize) -> usize {
        (0..self.count).find(|&list| self.offsets.range(list).contains(&item)).unwrap_or(0)
    }
}

/// The cells of tokens that are lists of strings.
fn cells_of_lists<'a>(tokens: Node<'a>, sentences: &Places<'_>, columns: usize) -> PyResult<TokenCells<'a>> {
    let (lists, cells) = (tokens.offsets(), tokens.children().next().expect("a list has a child"));
    let used = sentences.used();
    if let Some(token) = used.clone().find(|&token| lists.range(token).len() < columns) {
        return Err(few(lists.range(token).len(), columns, sentences.holder(token)));
    }
    let used_cells = if used.is_empty() { 0..0 } else { lists.at(used.start)..lists.at(used.end) };
    if let Some(cell) = cells.first_null(used_cells) {
        let token = used.clone().find(|&token| lists.range(token).contains(&cell)).unwrap_or(used.start);
        return Err(missing("a column of a token", sentences.holder(token)));
    }
    Ok(TokenCells::Lists(lists, cells.strings("lists of lists")?))
}

/// The cells of tokens that are structs, whose first fields are the columns.
fn cells_of_structures<'a>(tokens: Node<'a>, sentences: &Places<'_>, columns: usize) -> PyResult<TokenCells<'a>> {
    let start = tokens.array().offset as usize;
    let used = sentences.used();
    let fields: Vec<Node<'_>> = tokens.children().take(columns).collect();
    if fields.len() < columns {
        return Err(few(fields.len(), columns, 0));
    }
    let mut strings = Vec::with_capacity(columns);
    for field in fields {
        if let Some(at) = field.first_null(used.start + start..used.end + start) {
            return Err(missing("a column of a token", sentences.holder(at - start)));
        }
        let Strings { offsets, bytes } = field.strings("lists of structs")?;
        let offsets = match offsets {
            // An empty column has nothing to leave out.
            Offsets::Small(offsets) => Offsets::Small(offsets.get(start..).unwrap_or(&[0])),
            Offsets::Large(offsets) => Offsets::Large(offsets.get(start..).unwrap_or(&[0])),
        };
        strings.push(Strings { offsets, bytes });
    }
    Ok(TokenCells::Columns(strings))
}

/// The error for a missing value.
fn missing(what: &str, sentence: usize) -> PyErr {
    DataError::new_err(format!("sentence {sentence}: {what} is null; fill nulls or drop such sentences"))
}

/// The error for a token with too few columns.
fn few(n_cells: usize, columns: usize, sentence: usize) -> PyErr {
    let looks = format!("the {columns} columns that the template looks at");
    DataError::new_err(format!("sentence {sentence}: a token has {n_cells} of {looks}"))
}
