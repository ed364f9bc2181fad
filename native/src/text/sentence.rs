//! Sentences whose tokens are lines of cells, with a blank line after each sentence: what the readers of columns and CoNLL-U share.

use crate::corpus::notes::Notes;
use crate::corpus::sink::{Gold, Sink};
use crate::error::Located;
use crate::text::cells::Cells;
use crate::text::expand::Expander;
use crate::text::input::for_each_line;
use crate::text::template::Template;
use std::ops::Range;

/// A sentence whose tokens are lines of cells.
#[derive(Default)]
pub struct Sentence<'t> {
    pub cells: Cells<'t>,
    /// Token -> what its label says; empty if labels are ignored.
    pub labels: Vec<Gold<'t>>,
    /// Token -> the cost of a wrong label; empty if lines have none.
    pub costs: Vec<f64>,
    /// Token -> the bytes of the text that represent it when its label is written.
    pub places: Vec<Range<usize>>,
    /// The bytes of the comment that was passed over last, until the sink has it.
    pub passed: Option<Range<usize>>,
    pub notes: Notes,
}

/// Whether a line contains only spaces and tabs.
pub fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|&byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// Number of carriage returns that end no line.
fn lone_returns(text: &[u8]) -> usize {
    if !text.contains(&b'\r') {
        return 0;
    }
    let next = text[1..].iter().copied().chain([b'\n']);
    text.iter().zip(next).filter(|&(&byte, next)| byte == b'\r' && next != b'\n').count()
}

/// Reads sentences between blank lines into a sink, with the attributes that a template forms. `token` adds the token of a line,
/// which begins at an offset, to the sentence.
pub fn read<'t, S: Sink>(
    text: &'t [u8],
    range: Range<usize>,
    template: Option<&Template>,
    sink: &mut S,
    mut token: impl FnMut(usize, &'t [u8], &mut Sentence<'t>) -> Result<(), String>,
) -> Result<(), Located> {
    let template = template.expect("`Format::check_template` has seen to it");
    let mut expander = Expander::new(template);
    let mut sentence = Sentence::default();
    sentence.cells.columns = template.columns;
    let mut end = |sentence: &mut Sentence<'t>, sink: &mut S| -> Result<(), String> {
        if !sentence.places.is_empty() {
            let expanded = expander.expand(&sentence.cells, sink, |token| sentence.labels.get(token).cloned());
            expanded.map_err(|message| format!("in the sentence before, {message}"))?;
            if !sentence.costs.is_empty() {
                sink.costs(&sentence.costs);
            }
            sink.end_sentence(1.0);
            sink.locate(&sentence.places);
            sentence.cells.clear();
            sentence.labels.clear();
            sentence.costs.clear();
            sentence.places.clear();
        }
        Ok(())
    };
    // Whether the last line was a comment.
    let mut passed = false;
    for_each_line(text, range.clone(), |start, line| {
        if is_blank(line) {
            if passed {
                sink.pass_over(start..start);
                passed = false;
            }
            return end(&mut sentence, sink);
        }
        token(start, line, &mut sentence)?;
        if let Some(comment) = sentence.passed.take() {
            sink.pass_over(comment);
            passed = true;
        } else {
            passed = false;
        }
        Ok(())
    })?;
    end(&mut sentence, sink).map_err(|message| Located::new(range.end, message))?;
    sentence.notes.returns = lone_returns(&text[range]);
    sink.note(&sentence.notes);
    Ok(())
}
