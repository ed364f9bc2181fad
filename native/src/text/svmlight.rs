//! svmlight and libsvm files: a sample a line, the label first, then pairs `index:value` between spaces or tabs; `#` begins a
//! comment.
//!
//! Indices become names of attributes, without leading zeros. `qid:` is skipped, a plus sign before a label is dropped, and values
//! of 0 are left out.

use crate::corpus::hash::key_of;
use crate::corpus::sink::Sink;
use crate::error::Located;
use crate::text::input::for_each_line;
use crate::text::labels::Labels;
use std::ops::Range;

/// Reads `text[range]` into a sink; each sample is a sentence of one token. The first field of a line is its label.
pub fn read<S: Sink>(text: &[u8], range: Range<usize>, labels: Labels, sink: &mut S) -> Result<(), Located> {
    for_each_line(text, range, |_, line| {
        let end = line.iter().position(|&byte| byte == b'#').unwrap_or(line.len());
        let mut fields = line[..end].split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let Some(label) = fields.next() else { return Ok(()) };
        // A distribution of labels has colons and bars.
        if label.contains(&b':') && !(labels == Labels::Partial && label.contains(&b'|')) {
            return Err(format!("expected a label, found '{}'", String::from_utf8_lossy(label)));
        }
        for field in fields.filter(|field| !field.starts_with(b"qid:")) {
            let (index, value) = pair(field)?;
            if value != 0.0 {
                sink.state(key_of(index), value, |out| out.extend_from_slice(index));
            }
        }
        let label = label.strip_prefix(b"+").filter(|digits| !digits.is_empty()).unwrap_or(label);
        sink.end_token(labels.parse(label)?);
        sink.end_sentence(1.0);
        sink.locate(&[]);
        Ok(())
    })
}

/// Index and value of a field.
fn pair(field: &[u8]) -> Result<(&[u8], f64), String> {
    let text = String::from_utf8_lossy(field);
    let colon = field.iter().position(|&byte| byte == b':').filter(|&at| at > 0);
    let Some(colon) = colon.filter(|&at| field[..at].iter().all(u8::is_ascii_digit)) else {
        return Err(format!("'{text}' is not an index:value pair such as 12:0.5"));
    };
    let zeros = field[..colon - 1].iter().take_while(|&&byte| byte == b'0').count();
    let value = std::str::from_utf8(&field[colon + 1..]).ok().and_then(|value| value.parse::<f64>().ok());
    match value.filter(|value| value.is_finite()) {
        Some(value) => Ok((&field[zeros..colon], value)),
        None => Err(format!("'{text}': the value is not a finite number")),
    }
}

/// Valid texts to start fuzzing with.
#[cfg(any(test, feature = "fuzzing"))]
pub const SEEDS: &[&str] = &["1 1:0.5 7:-2e3 # comment\n-1 qid:3 2:1\n", "a 1:1\nb\n"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::sink::Recorded;

    fn read_all(text: &str, labels: Labels) -> Result<Vec<String>, (usize, String)> {
        Recorded::of(text.as_bytes(), |sink| read(text.as_bytes(), 0..text.len(), labels, sink))
    }

    #[test]
    fn samples_comments_and_odd_spaces() {
        let text = "# head\n+1 1:0.5\t07:2 # tail\n\n-1 qid:3 0:1 2:0 00:3\r\n2\n";
        let expected = ["1=0.5 7=2 1", "end 1 at", "0 0=3 -1", "end 1 at", " 2", "end 1 at"];
        assert_eq!(read_all(text, Labels::Whole).unwrap(), expected);
        assert_eq!(read_all("0 3:1\n", Labels::Ignored).unwrap(), ["3 -", "end 1 at"]);
        assert_eq!(read_all("1:0.7|0:0.3 3:1\n", Labels::Partial).unwrap().len(), 2);
        assert!(read_all("1:0.7|0:0.3 3:1\n", Labels::Whole).is_err());
    }

    #[test]
    fn mistakes_have_a_place() {
        for bad in ["1 a:1", "1 :1", "1 1", "1 1:x", "1 1:nan", "1:2 3:4", "1 -3:1"] {
            assert_eq!(read_all(&format!("1 1:1\n{bad}\n"), Labels::Whole).unwrap_err().0, 6, "{bad}");
        }
    }
}
