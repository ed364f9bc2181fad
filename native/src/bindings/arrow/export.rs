//! Labels of sentences as an Arrow array, which every library of data frames can import without copying.

use super::memory::{Array, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CString, c_void};
use std::sync::Arc;

/// The flag of a schema whose values may be missing.
const NULLABLE: i64 = 2;

/// An array of any type.
pub struct Column {
    name: CString,
    format: &'static str,
    length: usize,
    n_missing: usize,
    /// Bits of the values that are there, empty if all are; and what else the type has.
    buffers: Vec<Vec<u8>>,
    children: Vec<Arc<Column>>,
}

/// Bits, eight in a byte.
fn packed(bits: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let mut bytes = vec![0; bits.len().div_ceil(8)];
    bits.enumerate().filter(|&(_, bit)| bit).for_each(|(at, _)| bytes[at / 8] |= 1 << (at % 8));
    bytes
}

/// Bytes of numbers.
fn bytes_of<T: bytemuck::NoUninit>(numbers: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(numbers).to_vec()
}

impl Column {
    fn new(name: &str, format: &'static str, missing: &[bool]) -> Self {
        let n_missing = missing.iter().filter(|&&is_missing| is_missing).count();
        let there = if n_missing == 0 { Vec::new() } else { packed(missing.iter().map(|is_missing| !is_missing)) };
        let name = CString::new(name).expect("a name without NUL");
        Column { name, format, length: missing.len(), n_missing, buffers: vec![there], children: Vec::new() }
    }

    /// Numbers, of which some are missing.
    pub fn reals(name: &str, values: &[f64], missing: &[bool]) -> Self {
        let mut column = Column::new(name, "g", missing);
        column.buffers.push(bytes_of(values));
        column
    }

    /// Labels of a type, by number; the number of labels stands for a missing one.
    pub fn labels(numbers: &[u32], names: &[String], label_type: &str) -> Self {
        let missing: Vec<bool> = numbers.iter().map(|&number| number as usize >= names.len()).collect();
        let texts = || numbers.iter().map(|&number| names.get(number as usize).map_or("", String::as_str));
        let size = || texts().map(str::len).sum::<usize>();
        let format = match label_type {
            "int" => "l",
            "bool" => "b",
            _ if size() > i32::MAX as usize => "U",
            _ => "u",
        };
        let mut column = Column::new("item", format, &missing);
        match format {
            "l" => column.buffers.push(bytes_of(&texts().map(|name| name.parse().unwrap_or(0)).collect::<Vec<i64>>())),
            "b" => column.buffers.push(packed(texts().map(|name| name == "True").collect::<Vec<_>>().into_iter())),
            _ => {
                let lengths = texts().map(|name| name.len() as i64);
                let ends: Vec<i64> = std::iter::once(0).chain(lengths.scan(0, sum)).collect();
                column.buffers.push(offsets(&ends, format == "U"));
                column.buffers.push(texts().flat_map(str::bytes).collect());
            }
        }
        column
    }

    /// Lists that end at these numbers of items, of which some lists are missing; `large` for offsets of 64 bits.
    pub fn lists(name: &str, ends: &[i64], missing: &[bool], items: Column, large: bool) -> Self {
        let mut column = Column::new(name, if large { "+L" } else { "+l" }, missing);
        column.buffers.push(offsets(ends, large));
        column.children.push(Arc::new(items));
        column
    }

    /// A table.
    pub fn table(columns: Vec<Column>, length: usize) -> Self {
        let mut column = Column::new("", "+s", &vec![false; length]);
        column.children = columns.into_iter().map(Arc::new).collect();
        column
    }

    /// The type, with what it points to.
    fn schema(&self) -> Schema {
        let children = self.children.iter().map(|child| Box::into_raw(Box::new(child.schema()))).collect();
        let format = CString::new(self.format).expect("a format without NUL");
        let mut held = Box::new(HeldSchema { format, name: self.name.clone(), children });
        Schema {
            format: held.format.as_ptr(),
            name: held.name.as_ptr(),
            metadata: std::ptr::null(),
            flags: NULLABLE,
            n_children: held.children.len() as i64,
            children: held.children.as_mut_ptr(),
            dictionary: std::ptr::null_mut(),
            release: Some(release_schema),
            private_data: Box::into_raw(held).cast(),
        }
    }

    /// The values, which the structure keeps alive.
    fn array(self: &Arc<Self>) -> Array {
        let children = self.children.iter().map(|child| Box::into_raw(Box::new(child.array()))).collect();
        let start = |(at, buffer): (usize, &Vec<u8>)| match buffer.is_empty() && at == 0 {
            true => std::ptr::null(),
            false => buffer.as_ptr().cast::<c_void>(),
        };
        let buffers = self.buffers.iter().enumerate().map(start).collect();
        let mut held = Box::new(HeldArray { buffers, children, _column: Arc::clone(self) });
        Array {
            length: self.length as i64,
            null_count: self.n_missing as i64,
            offset: 0,
            n_buffers: held.buffers.len() as i64,
            n_children: held.children.len() as i64,
            buffers: held.buffers.as_mut_ptr(),
            children: held.children.as_mut_ptr(),
            dictionary: std::ptr::null_mut(),
            release: Some(release_array),
            private_data: Box::into_raw(held).cast(),
        }
    }
}

fn sum(end: &mut i64, length: i64) -> Option<i64> {
    *end += length;
    Some(*end)
}

/// Offsets of 32 or 64 bits.
fn offsets(ends: &[i64], large: bool) -> Vec<u8> {
    if large { bytes_of(ends) } else { bytes_of(&ends.iter().map(|&end| end as i32).collect::<Vec<_>>()) }
}

/// What a schema points to.
struct HeldSchema {
    format: CString,
    name: CString,
    children: Vec<*mut Schema>,
}

/// What an array points to.
struct HeldArray {
    buffers: Vec<*const c_void>,
    children: Vec<*mut Array>,
    _column: Arc<Column>,
}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: the interface: called once, with a structure that `Column::schema` filled. A child that was moved has no `release`,
    // and dropping the others releases them.
    unsafe {
        let held = Box::from_raw((*schema).private_data.cast::<HeldSchema>());
        held.children.iter().for_each(|&child| drop(Box::from_raw(child)));
        (*schema).release = None;
    }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: as above, of `Column::array`.
    unsafe {
        let held = Box::from_raw((*array).private_data.cast::<HeldArray>());
        held.children.iter().for_each(|&child| drop(Box::from_raw(child)));
        (*array).release = None;
    }
}

/// Labels of sentences, which libraries of data frames import.
#[pyclass(frozen, module = "loglinear._core")]
pub struct ArrowLabels {
    column: Arc<Column>,
}

impl ArrowLabels {
    pub fn new(column: Column) -> Self {
        ArrowLabels { column: Arc::new(column) }
    }
}

#[pymethods]
impl ArrowLabels {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface lets an exporter ignore what it cannot do.
        drop(requested_schema);
        let schema = PyCapsule::new_with_value(py, self.column.schema(), c"arrow_schema")?;
        let array = PyCapsule::new_with_value(py, self.column.array(), c"arrow_array")?;
        Ok((schema, array))
    }
}
