//! Values of Arrow's arrays as Python objects: strings, numbers, truth values, and lists and structs of these.

use super::decimals::decimals;
use super::memory::{ArrowData, Bits, Node, Nulls, Offsets};
use super::strings::{Strings, codes};
use crate::bindings::errors::DataError;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};

/// The values of an array.
enum Values<'a> {
    Nulls,
    Truth(Bits<'a>),
    Whole(Vec<i64>),
    Large(&'a [u64]),
    Real(Vec<f64>),
    Text(Strings<'a>),
    Lists(Offsets<'a>, Box<Objects<'a>>),
    /// Fields by name.
    Structs(Vec<(String, Objects<'a>)>),
    Coded(Vec<u32>, Box<Objects<'a>>),
}

/// The values of an array as Python objects.
pub struct Objects<'a> {
    nulls: Nulls<'a>,
    values: Values<'a>,
    /// Whether structs become tuples of their fields, rather than dicts.
    tuples: bool,
}

impl<'a> Objects<'a> {
    /// The values of an array; None of a type that Python's objects do not stand for.
    pub fn of(node: Node<'a>, tuples: bool) -> PyResult<Option<Self>> {
        let nulls = node.nulls()?;
        let Some(values) = Self::values(node, tuples)? else { return Ok(None) };
        Ok(Some(Objects { nulls, values, tuples }))
    }

    fn values(node: Node<'a>, tuples: bool) -> PyResult<Option<Values<'a>>> {
        macro_rules! whole {
            ($kind:ty) => {
                Values::Whole(node.values::<$kind>(1)?.iter().map(|&value| i64::from(value)).collect())
            };
        }
        if let Some(values) = node.dictionary() {
            let Some(objects) = Objects::of(values, tuples)? else { return Ok(None) };
            return Ok(Some(Values::Coded(codes(node, values.len())?, Box::new(objects))));
        }
        Ok(Some(match node.kind().format() {
            "n" => Values::Nulls,
            "b" => Values::Truth(Bits::of(node, 1)?),
            "c" => whole!(i8),
            "C" => whole!(u8),
            "s" => whole!(i16),
            "S" => whole!(u16),
            "i" => whole!(i32),
            "I" => whole!(u32),
            "l" => whole!(i64),
            "L" => Values::Large(node.values(1)?),
            "f" => Values::Real(node.values::<f32>(1)?.iter().map(|&value| f64::from(value)).collect()),
            "g" => Values::Real(node.values::<f64>(1)?.to_vec()),
            "+l" | "+L" => match Objects::of(node.items(), tuples)? {
                Some(items) => Values::Lists(node.offsets()?, Box::new(items)),
                None => return Ok(None),
            },
            "+s" => {
                let mut fields = Vec::new();
                for field in node.fields() {
                    let Some(objects) = Objects::of(field, tuples)? else { return Ok(None) };
                    fields.push((field.kind().name(), objects));
                }
                Values::Structs(fields)
            }
            _ => match (Strings::of(node)?, decimals(node)?) {
                (Some(strings), _) => Values::Text(strings),
                (None, Some(numbers)) => Values::Real(numbers),
                (None, None) => return Ok(None),
            },
        }))
    }

    /// A value.
    pub fn get<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        if self.nulls.contains(index) {
            return Ok(py.None().into_bound(py));
        }
        match &self.values {
            Values::Nulls => Ok(py.None().into_bound(py)),
            Values::Truth(bits) => Ok(PyBool::new(py, bits.get(index)).to_owned().into_any()),
            Values::Whole(values) => values[index].into_bound_py_any(py),
            Values::Large(values) => values[index].into_bound_py_any(py),
            Values::Real(values) => values[index].into_bound_py_any(py),
            Values::Text(strings) => Ok(text(py, strings.get(index))?.into_any()),
            Values::Coded(codes, objects) => objects.get(py, codes[index] as usize),
            Values::Lists(offsets, items) => {
                let items = offsets.range(index).map(|item| items.get(py, item)).collect::<PyResult<Vec<_>>>()?;
                Ok(PyList::new(py, items)?.into_any())
            }
            Values::Structs(fields) if self.tuples => {
                let cells = fields.iter().map(|(_, field)| field.get(py, index)).collect::<PyResult<Vec<_>>>()?;
                Ok(PyTuple::new(py, cells)?.into_any())
            }
            Values::Structs(fields) => {
                let cells = PyDict::new(py);
                for (name, field) in fields {
                    let value = field.get(py, index)?;
                    // A field that is null is an attribute that the token does not have.
                    if !value.is_none() {
                        cells.set_item(name, value)?;
                    }
                }
                Ok(cells.into_any())
            }
        }
    }
}

/// A string; error: it is not UTF-8.
pub fn text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| DataError::new_err("a string of the table is not valid UTF-8"))?;
    Ok(PyString::new(py, text))
}

/// The values of a column, or of a table of one column, as a list of Python objects. Structs become tuples of their fields with
/// `tuples`, else dicts without the fields that are null.
#[pyfunction]
#[pyo3(signature = (column, called, *, tuples))]
pub fn arrow_objects<'py>(column: &Bound<'py, PyAny>, called: &str, tuples: bool) -> PyResult<Bound<'py, PyList>> {
    let data = ArrowData::of(column)?;
    let kind = data.kind();
    if kind.is_struct() && kind.children().count() != 1 {
        let n_columns = kind.children().count();
        let message = format!("{called}: expected one column, found a table of {n_columns} columns; select one");
        return Err(DataError::new_err(message));
    }
    let py = column.py();
    let list = PyList::empty(py);
    for node in data.chunks() {
        let node = if kind.is_struct() { node.fields().next().expect("one column") } else { node };
        let Some(objects) = Objects::of(node, tuples)? else {
            let message = format!("{called}: a column of {} cannot be read; cast it", node.kind().described());
            return Err(DataError::new_err(message));
        };
        for index in 0..node.len() {
            list.append(objects.get(py, index)?)?;
        }
    }
    Ok(list)
}
