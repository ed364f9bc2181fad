//! Arrow's decimals as floating-point numbers.

use super::memory::Node;
use pyo3::prelude::*;

/// The decimals of an array as numbers; None for an array of another type.
pub fn decimals(node: Node<'_>) -> PyResult<Option<Vec<f64>>> {
    let Some((scale, bits)) = decimal_type(node.kind().format()) else { return Ok(None) };
    let real = |digits: i128| format!("{digits}e-{scale}").parse().unwrap_or(f64::NAN);
    let numbers = match bits {
        32 => node.mapped(|value: i32| real(value.into())),
        64 => node.mapped(|value: i64| real(value.into())),
        _ => node.mapped(|value: [u8; 16]| real(i128::from_le_bytes(value))),
    };
    numbers.map(Some)
}

/// The number of digits after the point in a type of decimals, and its number of bits, up to 128; None for another type.
pub fn decimal_type(format: &str) -> Option<(i32, u32)> {
    let mut numbers = format.strip_prefix("d:")?.split(',').skip(1).map(str::parse::<i32>);
    let (scale, bits) = (numbers.next()?.ok()?, numbers.next().unwrap_or(Ok(128)).ok()?);
    matches!(bits, 32 | 64 | 128).then_some((scale, bits as u32))
}
