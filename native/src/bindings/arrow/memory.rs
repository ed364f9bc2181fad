//! The memory of arrays in Arrow's C data interface, as slices.

use crate::bindings::errors::DataError;
use crate::bindings::interrupt::detached;
use bytemuck::Pod;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;

/// `struct ArrowSchema`.
#[repr(C)]
pub struct Schema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut Schema,
    pub dictionary: *mut Schema,
    pub release: Option<unsafe extern "C" fn(*mut Schema)>,
    pub private_data: *mut c_void,
}

/// `struct ArrowArray`.
#[repr(C)]
pub struct Array {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut Array,
    pub dictionary: *mut Array,
    pub release: Option<unsafe extern "C" fn(*mut Array)>,
    pub private_data: *mut c_void,
}

/// `struct ArrowArrayStream`.
#[repr(C)]
struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

/// The flag of a schema whose dictionary has an order.
const ORDERED: i64 = 1;

// SAFETY: the interface lets any thread read and release a structure, one at a time.
unsafe impl Send for Schema {}
// SAFETY: as above.
unsafe impl Send for Array {}

impl Schema {
    /// A structure to be filled.
    const fn empty() -> Self {
        Schema {
            format: std::ptr::null(),
            name: std::ptr::null(),
            metadata: std::ptr::null(),
            flags: 0,
            n_children: 0,
            children: std::ptr::null_mut(),
            dictionary: std::ptr::null_mut(),
            release: None,
            private_data: std::ptr::null_mut(),
        }
    }
}

impl Array {
    /// A structure to be filled.
    const fn empty() -> Self {
        Array {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: std::ptr::null_mut(),
            children: std::ptr::null_mut(),
            dictionary: std::ptr::null_mut(),
            release: None,
            private_data: std::ptr::null_mut(),
        }
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: a structure that was not released is released by its owner, once: the callback clears `release`.
            unsafe { release(self) }
        }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: as above.
            unsafe { release(self) }
        }
    }
}

/// Arrays of one type, one after the other, which belong to this process until they are dropped.
pub struct ArrowData {
    schema: Schema,
    arrays: Vec<Array>,
}

impl ArrowData {
    /// The data of an object that has `__arrow_c_array__` or `__arrow_c_stream__`.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if object.hasattr("__arrow_c_array__")? { Self::of_array(object) } else { Self::of_stream(object) }
    }

    fn of_array(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let pair = object.call_method0("__arrow_c_array__")?;
        let (schema, array) = pair.cast::<PyTuple>()?.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>()?;
        let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<Schema>();
        let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<Array>();
        // SAFETY: capsules of these names point to these structures. They are moved out: cleared, so that the destructors of the
        // capsules do not release them again.
        let (schema, array) = unsafe {
            (std::ptr::replace(schema.as_ptr(), Schema::empty()), std::ptr::replace(array.as_ptr(), Array::empty()))
        };
        if schema.release.is_none() || array.release.is_none() {
            return Err(PyTypeError::new_err("the array was released already"));
        }
        Ok(ArrowData { schema, arrays: vec![array] })
    }

    fn of_stream(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let capsule = object.call_method0("__arrow_c_stream__")?;
        let capsule = capsule.cast::<PyCapsule>()?;
        let stream = Source(capsule.pointer_checked(Some(c"arrow_array_stream"))?.as_ptr().cast::<Stream>());
        // Without the interpreter: the threads of a query may need it to go on.
        detached(object.py(), move || stream.read())
    }

    /// All arrays.
    pub fn chunks(&self) -> impl Iterator<Item = Node<'_>> {
        self.arrays.iter().map(|array| Node::new(array, &self.schema))
    }

    /// The type of all arrays, and an array of none.
    pub fn kind(&self) -> Kind<'_> {
        Kind(&self.schema)
    }
}

/// A stream that its capsule owns.
#[derive(Clone, Copy)]
struct Source(*mut Stream);

// SAFETY: one thread at a time reads a stream.
unsafe impl Send for Source {}

impl Source {
    /// All arrays of the stream.
    fn read(self) -> PyResult<ArrowData> {
        // SAFETY: a capsule of this name points to this structure, and lives while it is read.
        let (get_schema, get_next) = unsafe { ((*self.0).get_schema, (*self.0).get_next) };
        let (Some(get_schema), Some(get_next)) = (get_schema, get_next) else {
            return Err(PyTypeError::new_err("the stream of Arrow's data was read already"));
        };
        let mut data = ArrowData { schema: Schema::empty(), arrays: Vec::new() };
        // SAFETY: the interface: the callback fills the structure, which is ours to release, or returns an error.
        self.check(unsafe { get_schema(self.0, &mut data.schema) })?;
        loop {
            let mut array = Array::empty();
            // SAFETY: as above; a structure without `release` is the end.
            self.check(unsafe { get_next(self.0, &mut array) })?;
            if array.release.is_none() {
                return Ok(data);
            }
            data.arrays.push(array);
        }
    }

    fn check(self, code: c_int) -> PyResult<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the interface: after an error the callback returns NULL or a text that lives until the next call.
        let text = unsafe { (*self.0).get_last_error.map_or(std::ptr::null(), |last| last(self.0)) };
        // SAFETY: as above.
        let reason = if text.is_null() { "".into() } else { unsafe { CStr::from_ptr(text) }.to_string_lossy() };
        Err(DataError::new_err(format!("the table cannot be read ({})", reason.trim())))
    }
}

/// A type.
#[derive(Clone, Copy)]
pub struct Kind<'a>(&'a Schema);

impl<'a> Kind<'a> {
    /// The code of the type; of a dictionary, the type of its codes.
    pub fn format(self) -> &'a str {
        // SAFETY: the format is a string that ends with NUL and lives as long as the schema.
        let format = unsafe { CStr::from_ptr(self.0.format) };
        format.to_str().unwrap_or_default()
    }

    /// The name of the field; empty if it has none.
    pub fn name(self) -> String {
        if self.0.name.is_null() {
            return String::new();
        }
        // SAFETY: as above.
        unsafe { CStr::from_ptr(self.0.name) }.to_string_lossy().into_owned()
    }

    pub fn is_dictionary(self) -> bool {
        !self.0.dictionary.is_null()
    }

    /// Whether the order of the dictionary is the order of its values.
    pub fn is_ordered(self) -> bool {
        self.is_dictionary() && self.0.flags & ORDERED != 0
    }

    /// Whether the type is a table.
    pub fn is_struct(self) -> bool {
        self.format() == "+s"
    }

    pub fn is_list(self) -> bool {
        matches!(self.format(), "+l" | "+L") && !self.is_dictionary()
    }

    /// Whether the values are strings, in a dictionary or not.
    pub fn holds_strings(self) -> bool {
        match self.dictionary() {
            Some(values) => values.holds_strings(),
            None => matches!(self.format(), "u" | "U" | "vu"),
        }
    }

    /// The type of the values of a dictionary.
    fn dictionary(self) -> Option<Self> {
        // SAFETY: it is NULL, or lives as long as the schema.
        unsafe { self.0.dictionary.as_ref() }.map(Kind)
    }

    /// The types of children.
    pub fn children(self) -> impl Iterator<Item = Kind<'a>> {
        let count = self.0.n_children as usize;
        // SAFETY: a schema has this many children, which live as long as it does.
        (0..count).map(move |at| Kind(unsafe { &**self.0.children.add(at) }))
    }

    /// The type in words.
    pub fn described(self) -> String {
        if let Some(values) = self.dictionary() {
            return format!("dictionary-encoded {}", values.described());
        }
        let format = self.format();
        match format {
            "u" | "U" | "vu" => "strings".into(),
            "+l" | "+L" => "lists".into(),
            "+s" => "structs".into(),
            "n" => "nulls".into(),
            "b" => "truth values".into(),
            "c" | "C" | "s" | "S" | "i" | "I" | "l" | "L" => "whole numbers".into(),
            "e" | "f" | "g" => "floating-point numbers".into(),
            "z" | "Z" | "vz" => "bytes".into(),
            _ if format.starts_with("t") => "times".into(),
            _ if format.starts_with("d:") => "decimals".into(),
            _ if format.starts_with("+vl") || format.starts_with("+vL") => "list views".into(),
            _ if format.starts_with("+w:") => "lists of a fixed size".into(),
            _ => format!("Arrow's type '{format}'"),
        }
    }
}

/// An array, or a part of it, and its type.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    array: &'a Array,
    schema: &'a Schema,
    /// The number of the first value in the buffers, and the number of values.
    offset: usize,
    length: usize,
}

impl<'a> Node<'a> {
    fn new(array: &'a Array, schema: &'a Schema) -> Self {
        Node { array, schema, offset: array.offset as usize, length: array.length as usize }
    }

    pub fn kind(self) -> Kind<'a> {
        Kind(self.schema)
    }

    pub fn len(self) -> usize {
        self.length
    }

    /// The number of the first value in the buffers.
    pub fn offset(self) -> usize {
        self.offset
    }

    fn children(self) -> impl Iterator<Item = Node<'a>> {
        let count = self.array.n_children as usize;
        (0..count).map(move |at| {
            // SAFETY: both have this many children, which live as long as they do.
            let (array, schema) = unsafe { (&**self.array.children.add(at), &**self.schema.children.add(at)) };
            Node::new(array, schema)
        })
    }

    /// The fields of a struct, which have a value for each of its values.
    pub fn fields(self) -> impl Iterator<Item = Node<'a>> {
        self.children().map(move |field| Node { offset: field.offset + self.offset, length: self.length, ..field })
    }

    /// The only child of a list.
    pub fn items(self) -> Node<'a> {
        self.children().next().expect("a list has a child")
    }

    /// The values of a dictionary; None for another type.
    pub fn dictionary(self) -> Option<Node<'a>> {
        // SAFETY: both are NULL, or live as long as their parents.
        unsafe { Some(Node::new(self.array.dictionary.as_ref()?, self.schema.dictionary.as_ref()?)) }
    }

    pub fn n_buffers(self) -> usize {
        self.array.n_buffers as usize
    }

    /// `count` values of a buffer, from its first. Error: the buffer is missing, or not aligned for its values.
    pub fn buffer<T: Pod>(self, at: usize, count: usize) -> PyResult<&'a [T]> {
        if count == 0 {
            return Ok(&[]);
        }
        // SAFETY: the array has this many buffers.
        let start = if at < self.n_buffers() { unsafe { *self.array.buffers.add(at) } } else { std::ptr::null() };
        if start.is_null() || !start.cast::<T>().is_aligned() {
            return Err(DataError::new_err("a buffer of Arrow's data is missing or not aligned; copy the data"));
        }
        // SAFETY: a buffer of an array of this type has at least this many values, and lives as long as the array.
        Ok(unsafe { std::slice::from_raw_parts(start.cast::<T>(), count) })
    }

    /// Values of a buffer that has one for each item, without those before the array's first.
    pub fn values<T: Pod>(self, at: usize) -> PyResult<&'a [T]> {
        if self.len() == 0 {
            return Ok(&[]);
        }
        Ok(&self.buffer(at, self.offset() + self.len())?[self.offset()..])
    }

    /// The results of a function of the values of a buffer that has one for each item.
    pub fn mapped<T: Pod, U>(self, function: impl Fn(T) -> U) -> PyResult<Vec<U>> {
        Ok(self.values::<T>(1)?.iter().map(|&value| function(value)).collect())
    }

    /// Which values are missing.
    pub fn nulls(self) -> PyResult<Nulls<'a>> {
        if self.kind().format() == "n" {
            return Ok(Nulls::All);
        }
        // SAFETY: an array of any other type that is read has a first buffer, of validity, which may be NULL.
        let without = self.n_buffers() == 0 || unsafe { (*self.array.buffers).is_null() };
        if self.array.null_count == 0 || without || self.len() == 0 {
            return Ok(Nulls::None);
        }
        Ok(Nulls::Bits(Bits::of(self, 0)?))
    }

    /// The start of each list or string, and the end of the last.
    pub fn offsets(self) -> PyResult<Offsets<'a>> {
        let large = matches!(self.kind().format(), "U" | "+L");
        let (start, count) = (self.offset(), self.offset() + self.len() + 1);
        Ok(match (large, self.len()) {
            (true, 0) => Offsets::Large(&[0]),
            (false, 0) => Offsets::Small(&[0]),
            (true, _) => Offsets::Large(&self.buffer(1, count)?[start..]),
            (false, _) => Offsets::Small(&self.buffer(1, count)?[start..]),
        })
    }
}

/// Bits of a buffer.
#[derive(Clone, Copy)]
pub struct Bits<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Bits<'a> {
    /// The bits of a buffer, from the array's first.
    pub fn of(node: Node<'a>, buffer: usize) -> PyResult<Self> {
        let bytes = node.buffer(buffer, (node.offset() + node.len()).div_ceil(8))?;
        Ok(Bits { bytes, offset: node.offset() })
    }

    pub fn get(&self, index: usize) -> bool {
        let bit = self.offset + index;
        self.bytes[bit / 8] >> (bit % 8) & 1 == 1
    }
}

/// Which values of an array are missing.
#[derive(Clone, Copy)]
pub enum Nulls<'a> {
    None,
    All,
    /// A bit for each value that is there.
    Bits(Bits<'a>),
}

impl Nulls<'_> {
    pub fn contains(&self, index: usize) -> bool {
        match self {
            Nulls::None => false,
            Nulls::All => true,
            Nulls::Bits(bits) => !bits.get(index),
        }
    }

    /// The first missing value of a range.
    pub fn first(&self, mut range: Range<usize>) -> Option<usize> {
        if matches!(self, Nulls::None) { None } else { range.find(|&index| self.contains(index)) }
    }
}

/// The start of each item, and the end of the last.
#[derive(Clone, Copy)]
pub enum Offsets<'a> {
    Small(&'a [i32]),
    Large(&'a [i64]),
}

impl Offsets<'_> {
    pub fn at(&self, index: usize) -> usize {
        match self {
            Offsets::Small(offsets) => offsets[index] as usize,
            Offsets::Large(offsets) => offsets[index] as usize,
        }
    }

    pub fn range(&self, index: usize) -> Range<usize> {
        self.at(index)..self.at(index + 1)
    }
}
