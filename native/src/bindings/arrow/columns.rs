//! Columns of Arrow's tables as NumPy's arrays.

use super::decimals::{decimal_type, decimals};
use super::memory::{ArrowData, Bits, Kind, Node};
use super::objects::{Objects, text};
use super::strings::Strings;
use bytemuck::Pod;
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::HashMap;

/// A column of a table.
#[pyclass(frozen, get_all, module = "loglinear._core")]
pub struct ArrowColumn {
    /// The name; empty for a column that is no part of a table.
    name: String,
    /// NumPy's type of the values: "datetime64[us]" and the like for times, which `values` has as whole numbers; "" for the type of
    /// `values`.
    dtype: String,
    /// The values, or the codes of the dictionary, shape (n_rows,).
    values: Py<PyAny>,
    /// Whether each value is missing, shape (n_rows,); None if none is.
    missing: Option<Py<PyAny>>,
    /// The different values; None for a column of numbers, which has no codes.
    dictionary: Option<Py<PyList>>,
    /// Whether the order of the dictionary was declared.
    is_ordered: bool,
    /// The type in words, if values of this type cannot be read, and `values` is empty.
    unread: Option<String>,
}

/// The columns of a table, or a column that is no part of a table; and whether it is a table.
#[pyfunction]
pub fn arrow_columns(table: &Bound<'_, PyAny>) -> PyResult<(bool, Vec<ArrowColumn>)> {
    let data = ArrowData::of(table)?;
    let (py, kind) = (table.py(), data.kind());
    if !kind.is_struct() || kind.is_dictionary() {
        let chunks: Vec<_> = data.chunks().collect();
        return Ok((false, vec![column(py, kind, &chunks)?]));
    }
    let columns = kind.children().enumerate().map(|(at, kind)| {
        let chunks: Vec<_> = data.chunks().filter_map(|node| node.fields().nth(at)).collect();
        column(py, kind, &chunks)
    });
    Ok((true, columns.collect::<PyResult<_>>()?))
}

fn column(py: Python<'_>, kind: Kind<'_>, chunks: &[Node<'_>]) -> PyResult<ArrowColumn> {
    let format = kind.format();
    let mut dtype = String::new();
    let mut dictionary = None;
    let values = match format {
        _ if kind.is_dictionary() => of_dictionary(py, chunks)?.map(|(codes, values)| {
            dictionary = Some(values);
            codes
        }),
        "u" | "U" | "vu" => {
            let (codes, values) = of_strings(py, chunks)?;
            dictionary = Some(values);
            Some(codes)
        }
        "n" => {
            dictionary = Some(PyList::empty(py).unbind());
            Some(of_numbers(py, chunks, |_| Ok(vec![]), 0_i64)?)
        }
        "b" => {
            let read = |node: Node<'_>| {
                let bits = Bits::of(node, 1)?;
                Ok((0..node.len()).map(|index| bits.get(index)).collect())
            };
            Some(of_numbers(py, chunks, read, false)?)
        }
        "c" => Some(plain::<i8>(py, chunks)?),
        "C" => Some(plain::<u8>(py, chunks)?),
        "s" => Some(plain::<i16>(py, chunks)?),
        "S" => Some(plain::<u16>(py, chunks)?),
        "i" => Some(plain::<i32>(py, chunks)?),
        "I" => Some(plain::<u32>(py, chunks)?),
        "l" => Some(plain::<i64>(py, chunks)?),
        "L" => Some(plain::<u64>(py, chunks)?),
        "e" => Some(of_numbers(py, chunks, |node| node.mapped(half), 0.0)?),
        "f" => Some(plain::<f32>(py, chunks)?),
        "g" => Some(plain::<f64>(py, chunks)?),
        _ => match (time_unit(format), decimal_type(format)) {
            (Some((unit, days)), _) => {
                dtype = unit;
                let read = |node: Node<'_>| {
                    if days { node.mapped(|day: i32| i64::from(day)) } else { node.mapped(|at: i64| at) }
                };
                Some(of_numbers(py, chunks, read, 0)?)
            }
            (None, Some(_)) => {
                let read = |node: Node<'_>| Ok(decimals(node)?.unwrap_or_default());
                Some(of_numbers(py, chunks, read, 0.0)?)
            }
            (None, None) => None,
        },
    };
    let unread = values.is_none().then(|| kind.described());
    let values = values.unwrap_or_else(|| PyArray1::from_vec(py, Vec::<i64>::new()).into_any().unbind());
    let missing = if unread.is_some() { None } else { missing(py, chunks)? };
    Ok(ArrowColumn { name: kind.name(), dtype, values, missing, dictionary, is_ordered: kind.is_ordered(), unread })
}

/// Whether each value is missing; None if none is.
fn missing(py: Python<'_>, chunks: &[Node<'_>]) -> PyResult<Option<Py<PyAny>>> {
    let mut missing = Vec::new();
    for &node in chunks {
        let nulls = node.nulls()?;
        missing.extend((0..node.len()).map(|index| nulls.contains(index)));
    }
    Ok(missing.contains(&true).then(|| PyArray1::from_vec(py, missing).into_any().unbind()))
}

/// The numbers that a function reads from each array; it may return none, for values that are missing.
fn of_numbers<'a, T: Element + Clone>(
    py: Python<'_>,
    chunks: &[Node<'a>],
    read: impl Fn(Node<'a>) -> PyResult<Vec<T>>,
    filler: T,
) -> PyResult<Py<PyAny>> {
    let mut values = Vec::new();
    for &node in chunks {
        let end = values.len() + node.len();
        values.extend(read(node)?);
        values.resize(end, filler.clone());
    }
    Ok(PyArray1::from_vec(py, values).into_any().unbind())
}

/// Numbers as they are.
fn plain<T: Pod + Element + Default>(py: Python<'_>, chunks: &[Node<'_>]) -> PyResult<Py<PyAny>> {
    of_numbers(py, chunks, |node| node.mapped(|value: T| value), T::default())
}

/// Codes and what they stand for.
type Coded = (Py<PyAny>, Py<PyList>);

/// The number of each string among the different ones, in the order of their first appearance.
fn of_strings(py: Python<'_>, chunks: &[Node<'_>]) -> PyResult<Coded> {
    let (mut codes, mut numbers) = (Vec::new(), HashMap::<&[u8], i64>::new());
    let list = PyList::empty(py);
    for &node in chunks {
        let (nulls, strings) = (node.nulls()?, Strings::of(node)?.expect("strings"));
        for index in 0..node.len() {
            if nulls.contains(index) {
                codes.push(0);
                continue;
            }
            let (string, next) = (strings.get(index), numbers.len() as i64);
            let number = *numbers.entry(string).or_insert(next);
            if number == next {
                list.append(text(py, string)?)?;
            }
            codes.push(number);
        }
    }
    Ok((PyArray1::from_vec(py, codes).into_any().unbind(), list.unbind()))
}

/// The codes of dictionaries, which become one dictionary; None for values that are no Python objects.
fn of_dictionary(py: Python<'_>, chunks: &[Node<'_>]) -> PyResult<Option<Coded>> {
    let (mut codes, numbers, list) = (Vec::new(), PyDict::new(py), PyList::empty(py));
    for &node in chunks {
        let values = node.dictionary().expect("a dictionary");
        let Some(objects) = Objects::of(values, true)? else { return Ok(None) };
        let mut number_of = Vec::with_capacity(values.len());
        for index in 0..values.len() {
            let value = objects.get(py, index)?;
            let number = match numbers.get_item(&value)? {
                Some(number) => number.extract()?,
                None => {
                    let number = list.len() as i64;
                    numbers.set_item(&value, number)?;
                    list.append(value)?;
                    number
                }
            };
            number_of.push(number);
        }
        let old = super::strings::codes(node, values.len())?;
        codes.extend(old.iter().map(|&code| number_of.get(code as usize).copied().unwrap_or(0)));
    }
    Ok(Some((PyArray1::from_vec(py, codes).into_any().unbind(), list.unbind())))
}

/// A number of 16 bits, as IEEE 754 writes it.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// NumPy's type of a type of times, and whether it counts days in 32 bits; None for another type.
fn time_unit(format: &str) -> Option<(String, bool)> {
    let (kind, unit) = match format.as_bytes() {
        b"tdD" => return Some(("datetime64[D]".into(), true)),
        b"tdm" => ("datetime64", b'm'),
        [b't', b's', unit, b':', ..] => ("datetime64", *unit),
        [b't', b'D', unit] => ("timedelta64", *unit),
        _ => return None,
    };
    let unit = match unit {
        b's' => "s",
        b'm' => "ms",
        b'u' => "us",
        _ => "ns",
    };
    Some((format!("{kind}[{unit}]"), false))
}
