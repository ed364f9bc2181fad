//! svmlight and libsvm files: a sample a line, the label first, then pairs `index:value` between spaces or tabs; `#` begins a
//! comment.
//!
//! Indices become names of attributes, without leading zeros. `qid:` is skipped, a plus sign before a label is dropped, and values
//! of 0 are left out.

use crate::corpus::hash::key_of;
use crate::corpus::sink::Sink;
use crate::error::Located;
use crate::text::input::{check_utf8, lines};
use crate::text::labels::Labels;
use std::ops::Range;

/// Reads `text[range]` into a sink; each sample is a sentence of one token. The first field of a line is its label.
pub fn read<S: Sink>(text: &[u8], range: Range<usize>, labels: Labels, sink: &mut S) -> Result<(), Located> {
    let piece = &text[range.clone()];
    check_utf8(piece, range.start)?;
    for (start, line) in lines(piece) {
        let end = line.iter().position(|&byte| byte == b'#').unwrap_or(line.len());
        let mut fields = line[..end].split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
        let Some(label) = fields.next() else { continue };
        let failed = |message: String| Located::new(range.start + start, message);
        if label.contains(&b':') {
            return Err(failed(format!("'{}' stands where the label should be", String::from_utf8_lossy(label))));
        }
        for field in fields.filter(|field| !field.starts_with(b"qid:")) {
            let (index, value) = pair(field).map_err(failed)?;
            if value != 0.0 {
                sink.state(key_of(index), value, |out| out.extend_from_slice(index));
            }
        }
        let label = label.strip_prefix(b"+").filter(|rest| !rest.is_empty()).unwrap_or(label);
        sink.end_token(labels.parse(label).map_err(failed)?);
        sink.end_sentence(1.0);
    }
    Ok(())
}

/// Index and value of a field.
fn pair(field: &[u8]) -> Result<(&[u8], f64), String> {
    let text = String::from_utf8_lossy(field);
    let colon = field.iter().position(|&byte| byte == b':').filter(|&at| at > 0);
    let Some(colon) = colon.filter(|&at| field[..at].iter().all(u8::is_ascii_digit)) else {
        return Err(format!("'{text}' is no index:value pair, such as 12:0.5"));
    };
    let zeros = field[..colon - 1].iter().take_while(|&&byte| byte == b'0').count();
    let value = std::str::from_utf8(&field[colon + 1..]).ok().and_then(|value| value.parse::<f64>().ok());
    match value.filter(|value| value.is_finite()) {
        Some(value) => Ok((&field[zeros..colon], value)),
        None => Err(format!("'{text}': its value is not a finite number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::sink::Gold;

    /// Attributes with their values, and labels.
    #[derive(Default)]
    struct Names(Vec<String>);

    impl Sink for Names {
        fn state(&mut self, _key: u64, value: f64, write: impl FnOnce(&mut Vec<u8>)) {
            let mut name = Vec::new();
            write(&mut name);
            self.0.push(format!("{}={value}", String::from_utf8_lossy(&name)));
        }
        fn bigram(&mut self, _key: u64, _write: impl FnOnce(&mut Vec<u8>)) {}
        fn end_token(&mut self, label: Option<Gold<'_>>) {
            self.0.push(match label {
                Some(Gold::Label(label)) => String::from_utf8_lossy(label).into_owned(),
                _ => "-".into(),
            });
        }
        fn end_sentence(&mut self, _weight: f64) {}
    }

    fn read_all(text: &str, labels: Labels) -> Result<Vec<String>, Located> {
        let mut sink = Names::default();
        read(text.as_bytes(), 0..text.len(), labels, &mut sink)?;
        Ok(sink.0)
    }

    #[test]
    fn samples_comments_and_odd_spaces() {
        let text = "# head\n+1 1:0.5\t07:2 # tail\n\n-1 qid:3 0:1 2:0 00:3\r\n2\n";
        assert_eq!(read_all(text, Labels::Whole).unwrap(), ["1=0.5", "7=2", "1", "0=1", "0=3", "-1", "2"]);
        assert_eq!(read_all("0 3:1\n", Labels::Ignored).unwrap(), ["3=1", "-"]);
    }

    #[test]
    fn mistakes_have_a_place() {
        for bad in ["1 a:1", "1 :1", "1 1", "1 1:x", "1 1:nan", "1:2 3:4", "1 -3:1"] {
            let error = read_all(&format!("1 1:1\n{bad}\n"), Labels::Whole).unwrap_err();
            assert_eq!(error.offset, 6, "{bad}");
        }
    }
}
