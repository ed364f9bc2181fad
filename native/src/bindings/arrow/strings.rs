//! Strings of Arrow's types: with offsets of 32 or 64 bits, views, and any of these in a dictionary.

use super::memory::{Node, Nulls, Offsets};
use crate::bindings::errors::DataError;
use pyo3::prelude::*;

/// The longest string that a view holds itself.
const INLINE: usize = 12;

/// A column of strings.
pub enum Strings<'a> {
    /// One after the other.
    Packed(Offsets<'a>, &'a [u8]),
    /// A length, and a short string, or the buffer and the place of a long one.
    Views(&'a [[u8; 16]], Vec<&'a [u8]>),
    /// Numbers of strings.
    Coded(Vec<u32>, Box<Strings<'a>>),
}

impl<'a> Strings<'a> {
    /// The strings of an array; None if it has another type.
    pub fn of(node: Node<'a>) -> PyResult<Option<Self>> {
        if let Some(values) = node.dictionary() {
            let Some(strings) = Strings::of(values)? else { return Ok(None) };
            return Ok(Some(Strings::Coded(codes(node, values.len())?, Box::new(strings))));
        }
        Ok(match node.kind().format() {
            "u" | "U" => {
                let offsets = node.offsets()?;
                Some(Strings::Packed(offsets, node.buffer(2, offsets.at(node.len()))?))
            }
            "vu" => {
                let count = node.n_buffers().saturating_sub(3);
                let sizes: &[i64] = node.buffer(node.n_buffers() - 1, count)?;
                let buffers = sizes
                    .iter()
                    .enumerate()
                    .map(|(at, &size)| node.buffer(2 + at, size as usize))
                    .collect::<PyResult<_>>()?;
                Some(Strings::Views(node.values(1)?, buffers))
            }
            _ => None,
        })
    }

    pub fn get(&self, index: usize) -> &'a [u8] {
        match self {
            Strings::Packed(offsets, bytes) => &bytes[offsets.range(index)],
            Strings::Views(views, buffers) => {
                let view = &views[index];
                let number =
                    |at: usize| i32::from_le_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]) as usize;
                let length = number(0);
                if length <= INLINE { &view[4..4 + length] } else { &buffers[number(8)][number(12)..][..length] }
            }
            Strings::Coded(codes, strings) => strings.get(codes[index] as usize),
        }
    }
}

/// Which strings of an array are missing: a code may be, and so may the string that it stands for.
pub struct MissingStrings<'a> {
    own: Nulls<'a>,
    of_codes: Option<(Vec<u32>, Nulls<'a>)>,
}

impl<'a> MissingStrings<'a> {
    pub fn of(node: Node<'a>) -> PyResult<Self> {
        let of_codes = match node.dictionary() {
            Some(values) => match values.nulls()? {
                Nulls::None => None,
                nulls => Some((codes(node, values.len())?, nulls)),
            },
            None => None,
        };
        Ok(MissingStrings { own: node.nulls()?, of_codes })
    }

    /// The first missing string of a range.
    pub fn first(&self, mut range: std::ops::Range<usize>) -> Option<usize> {
        match &self.of_codes {
            None => self.own.first(range),
            Some((codes, nulls)) => {
                range.find(|&index| self.own.contains(index) || nulls.contains(codes[index] as usize))
            }
        }
    }
}

/// The codes of a dictionary of `size` values; 0 in place of a missing one.
pub fn codes(node: Node<'_>, size: usize) -> PyResult<Vec<u32>> {
    macro_rules! read {
        ($kind:ty) => {
            node.values::<$kind>(1)?.iter().map(|&code| usize::try_from(code).ok()).collect::<Vec<_>>()
        };
    }
    let codes = match node.kind().format() {
        "c" => read!(i8),
        "C" => read!(u8),
        "s" => read!(i16),
        "S" => read!(u16),
        "i" => read!(i32),
        "I" => read!(u32),
        "l" => read!(i64),
        _ => read!(u64),
    };
    let nulls = node.nulls()?;
    let checked = codes.into_iter().enumerate().map(|(index, code)| match code {
        _ if nulls.contains(index) => Some(0),
        Some(code) if code < size => Some(code as u32),
        _ => None,
    });
    checked.collect::<Option<_>>().ok_or_else(|| DataError::new_err("a code is outside of its dictionary"))
}
