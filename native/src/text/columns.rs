//! Column files: a token a line, cells between runs of spaces or tabs, the label last, a blank line between sentences.

use crate::corpus::sink::Gold;
use crate::error::Located;
use crate::text::cells::Cells;
use crate::text::input::{check_utf8, lines};
use crate::text::labels::Labels;
use std::ops::Range;

/// The columns of every line of a column file.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Cells in a line, the label included if there is one.
    pub columns: usize,
    /// Cells that the template may look at, the first ones of a line.
    pub inputs: usize,
    /// How to take the last cell, the label; `Ignored` if it is none.
    pub labels: Labels,
}

/// A sentence of a column file.
#[derive(Default)]
pub struct ColumnSentence<'t> {
    pub cells: Cells<'t>,
    /// Token -> label; empty in unlabelled files.
    pub labels: Vec<Gold<'t>>,
    /// Token -> the bytes of its line in the text.
    pub lines: Vec<Range<usize>>,
}

/// Whether a line holds spaces and tabs alone.
pub fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|&byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// The cells of a line.
pub fn split(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| matches!(byte, b' ' | b'\t' | b'\r')).filter(|cell| !cell.is_empty())
}

/// The number of cells in the first line that is not blank; none if all lines are blank.
pub fn count_columns(text: &[u8]) -> Option<usize> {
    lines(text).find(|(_, line)| !is_blank(line)).map(|(_, line)| split(line).count())
}

/// Calls `each` for every sentence of `text[range]`. Offsets in errors count from the beginning of `text`.
pub fn read<'t>(
    text: &'t [u8],
    range: Range<usize>,
    shape: Shape,
    mut each: impl FnMut(&ColumnSentence<'t>),
) -> Result<(), Located> {
    let piece = &text[range.clone()];
    check_utf8(piece, range.start)?;
    let mut sentence = ColumnSentence::default();
    sentence.cells.columns = shape.inputs;
    for (start, line) in lines(piece) {
        let start = range.start + start;
        if is_blank(line) {
            end(&mut sentence, &mut each);
            continue;
        }
        let mut found = 0;
        for cell in split(line) {
            found += 1;
            if found <= shape.inputs {
                sentence.cells.cells.push(cell);
            }
            if found == shape.columns {
                let label = shape.labels.parse(cell).map_err(|message| Located::new(start, message))?;
                sentence.labels.extend(label);
            }
        }
        if found != shape.columns {
            return Err(Located::new(start, wrong_count(found, shape)));
        }
        sentence.lines.push(start..start + line.len());
    }
    end(&mut sentence, &mut each);
    Ok(())
}

/// Hands a sentence that has tokens to `each`, and empties it.
fn end<'t>(sentence: &mut ColumnSentence<'t>, each: &mut impl FnMut(&ColumnSentence<'t>)) {
    if !sentence.lines.is_empty() {
        each(sentence);
        sentence.cells.clear();
        sentence.labels.clear();
        sentence.lines.clear();
    }
}

/// The message for a line with a wrong number of cells.
fn wrong_count(found: usize, shape: Shape) -> String {
    let plural = if found == 1 { "" } else { "s" };
    let expected = shape.columns;
    let label = if shape.labels.given() { ", the last of them the label" } else { "" };
    format!(
        "{found} column{plural} where the first line of the data has {expected}{label}; every line needs the same number"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { columns: 3, inputs: 2, labels: Labels::Whole };

    fn sentences(text: &str) -> Result<Vec<Vec<String>>, Located> {
        let mut got = Vec::new();
        read(text.as_bytes(), 0..text.len(), SHAPE, |sentence| {
            let token = |i: usize| {
                let Gold::Label(label) = sentence.labels[i] else { panic!("a label that is not whole") };
                let cells = [sentence.cells.cell(i, 0), sentence.cells.cell(i, 1), label];
                cells.map(|cell| String::from_utf8_lossy(cell).into_owned()).join("|")
            };
            got.push((0..sentence.cells.tokens()).map(token).collect());
        })?;
        Ok(got)
    }

    #[test]
    fn any_run_of_blanks_separates_and_blank_lines_end_sentences() {
        let got = sentences("a \t b  c\r\nd e\tf\n \t\n\n\ng h i").unwrap();
        assert_eq!(got, [vec!["a|b|c", "d|e|f"], vec!["g|h|i"]]);
        assert_eq!(count_columns(b"\n \na b c\n"), Some(3));
        assert_eq!(count_columns(b"\n \n"), None);
    }

    #[test]
    fn a_wrong_number_of_columns_is_located() {
        let error = sentences("a b c\nd e\n").unwrap_err();
        assert_eq!(error.offset, 6);
        assert!(error.message.contains("2 columns where the first line of the data has 3"), "{}", error.message);
        assert!(sentences("a b c d\n").is_err());
    }

    #[test]
    fn invalid_utf8_is_located() {
        let text = b"a b c\n\xff b c\n";
        let error = read(text, 0..text.len(), SHAPE, |_| {}).unwrap_err();
        assert_eq!(error.offset, 6);
    }
}
