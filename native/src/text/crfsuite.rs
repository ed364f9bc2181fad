//! CRFsuite's attribute files: label TAB attribute TAB attribute ..., a blank line between sequences.
//!
//! An attribute is `name` or `name:value`; `\:` and `\\` stand for a colon and a backslash. `@weight:2.5`, on a separate line
//! or before the label, is the weight of the sequence. `a:1:2` gives `a` with value 1 and an attribute without name with value
//! 2, as in CRFsuite.
//!
//! Departures from CRFsuite:
//! - a value that is not a finite number is an error; CRFsuite reads it as 0;
//! - line ends may be CRLF.

use crate::corpus::hash::key_of;
use crate::corpus::sink::Sink;
use crate::error::Located;
use crate::text::input::for_each_line;
use crate::text::labels::Labels;
use std::ops::Range;

/// Reads `text[range]` into a sink. The first field of a line is its label.
pub fn read<S: Sink>(text: &[u8], range: Range<usize>, labels: Labels, sink: &mut S) -> Result<(), Located> {
    let (mut tokens, mut weight) = (0, 1.0);
    let mut name = Vec::new();
    for_each_line(text, range, |_, line| {
        if line.is_empty() {
            end(&mut tokens, &mut weight, sink);
            return Ok(());
        }
        let mut fields = line.split(|&byte| byte == b'\t').filter(|field| !field.is_empty()).peekable();
        while let Some(declaration) = fields.next_if(|field| field.starts_with(b"@") && labels.given()) {
            weight = parse_weight(declaration)?;
        }
        let Some(label) = fields.next() else { return Ok(()) };
        for field in fields {
            each_attribute(field, &mut name, |name, value| {
                sink.state(key_of(name), value, |out| out.extend_from_slice(name));
            })?;
        }
        sink.end_token(labels.parse(label)?);
        tokens += 1;
        Ok(())
    })?;
    end(&mut tokens, &mut weight, sink);
    Ok(())
}

/// Ends the sequence if it has tokens.
fn end<S: Sink>(tokens: &mut usize, weight: &mut f64, sink: &mut S) {
    if *tokens > 0 {
        sink.end_sentence(*weight);
        sink.locate(&[]);
        (*tokens, *weight) = (0, 1.0);
    }
}

/// The weight that a first field `@weight:NUMBER` declares.
fn parse_weight(declaration: &[u8]) -> Result<f64, String> {
    let text = String::from_utf8_lossy(declaration);
    let Some(weight) = text.strip_prefix("@weight:") else {
        return Err(format!(
            "'{text}': a first field that starts with @ must be @weight:NUMBER; labels cannot start with @"
        ));
    };
    let number = weight.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("weight '{weight}' must be finite and at least 0"))
}

/// Calls `emit` with each name and value of a field, which is split at unescaped colons.
fn each_attribute(field: &[u8], name: &mut Vec<u8>, mut emit: impl FnMut(&[u8], f64)) -> Result<(), String> {
    if !field.iter().any(|&byte| matches!(byte, b':' | b'\\')) {
        emit(field, 1.0);
        return Ok(());
    }
    name.clear();
    let mut at = 0;
    let mut first = true;
    while first || at < field.len() {
        while at < field.len() && field[at] != b':' {
            if field[at] == b'\\' && matches!(field.get(at + 1), Some(b':' | b'\\')) {
                at += 1;
            }
            name.push(field[at]);
            at += 1;
        }
        let end = field[(at + 1).min(field.len())..]
            .iter()
            .position(|&byte| byte == b':')
            .map_or(field.len(), |n| at + 1 + n);
        let value = &field[(at + 1).min(field.len())..end];
        emit(name, parse_value(value, field)?);
        name.clear();
        at = end;
        first = false;
    }
    Ok(())
}

/// The value of an attribute; 1 if it is empty.
fn parse_value(value: &[u8], field: &[u8]) -> Result<f64, String> {
    if value.is_empty() {
        return Ok(1.0);
    }
    let value = String::from_utf8_lossy(value);
    match value.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!(
            "attribute '{}': value '{value}' is not a finite number; write \\: for a colon in the name",
            String::from_utf8_lossy(field)
        )),
    }
}

/// Valid texts to start fuzzing with.
#[cfg(any(test, feature = "fuzzing"))]
pub const SEEDS: &[&str] =
    &["B\tw=the\tlen:3\tc\\:d:-2.5e-1\nI\tw=dog\n@weight:2.5\n\nO\n\n", "B|I\tx\n_\ty:1\n\n@weight:0\nO\tz:.5\n"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::sink::Recorded;

    fn attributes(field: &str) -> Result<Vec<(String, f64)>, String> {
        let mut got = Vec::new();
        each_attribute(field.as_bytes(), &mut Vec::new(), |name, value| {
            got.push((String::from_utf8_lossy(name).into_owned(), value));
        })?;
        Ok(got)
    }

    #[test]
    fn every_escape_of_the_format() {
        let one = |name: &str, value: f64| Ok(vec![(name.to_owned(), value)]);
        assert_eq!(attributes("w=a"), one("w=a", 1.0));
        assert_eq!(attributes("w:2.5"), one("w", 2.5));
        assert_eq!(attributes("w:-1e-3"), one("w", -1e-3));
        assert_eq!(attributes("w:"), one("w", 1.0));
        assert_eq!(attributes(r"a\:b"), one("a:b", 1.0));
        assert_eq!(attributes(r"a\\:3"), one(r"a\", 3.0));
        assert_eq!(attributes(r"a\b"), one(r"a\b", 1.0));
        assert_eq!(attributes(r"a\"), one(r"a\", 1.0));
        assert_eq!(attributes("a:1:2"), Ok(vec![("a".into(), 1.0), (String::new(), 2.0)]));
        for bad in ["a:b", "a:nan", "a:inf", "a:1e999"] {
            assert!(attributes(bad).unwrap_err().contains("finite"), "{bad}");
        }
    }

    fn read_all(text: &str, labels: Labels) -> Result<Vec<String>, (usize, String)> {
        Recorded::of(text.as_bytes(), |sink| read(text.as_bytes(), 0..text.len(), labels, sink))
    }

    #[test]
    fn sequences_weights_and_stray_tabs() {
        let text = "@weight:2\nA\tx\ty\n\t\nB\n\n\n@weight:0.5\tC\t\tz";
        let expected = ["x y A", " B", "end 2 at", "z C", "end 0.5 at"];
        assert_eq!(read_all(text, Labels::Whole).unwrap(), expected);
        assert_eq!(read_all("@x\ta\n", Labels::Ignored).unwrap(), ["a -", "end 1 at"]);
        assert_eq!(read_all("A\tx\n@home\tx\n", Labels::Whole).unwrap_err().0, 4);
        assert!(read_all("@weight:-1\nA\tx\n", Labels::Whole).is_err());
    }
}
