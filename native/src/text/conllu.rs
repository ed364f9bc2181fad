//! CoNLL-U files: a word a line, ten cells between TABs, a blank line between sentences. Comments, ranges of multiword tokens
//! (`1-2`) and empty nodes (`1.1`) stand between the words and are passed over.
//!
//! A template's column 0 is FORM, column 1 LEMMA, and so on to column 8, MISC: presets find the word where they look for it.

use crate::corpus::sink::Gold;
use crate::error::{Error, Located, Result};
use crate::text::cells::Cells;
use crate::text::columns::is_blank;
use crate::text::input::{check_utf8, lines};
use crate::text::labels::Labels;
use crate::text::template::Template;
use std::ops::Range;

/// The names of a line's cells.
const NAMES: [&str; 10] = ["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"];

/// The cell of a line that holds the label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    Upos = 3,
    Xpos = 4,
    Feats = 5,
    Deprel = 7,
}

impl Label {
    /// The cell with this name, in small letters.
    pub fn named(name: &str) -> Option<Label> {
        let all = [Label::Upos, Label::Xpos, Label::Feats, Label::Deprel];
        all.into_iter().find(|label| label.name().to_lowercase() == name)
    }

    /// The name of the cell.
    fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// Fails if a template looks at the label itself, or beyond the last column.
    pub fn check_template(self, template: &Template) -> Result<()> {
        let last = NAMES.len() - 2;
        let message = if template.columns > last + 1 {
            format!("{}, but CoNLL-U has columns 0 (FORM) to {last} (MISC)", template.columns - 1)
        } else if template.looks_at(self as usize - 1) {
            format!("{}, {}, which is the label", self as usize - 1, self.name())
        } else {
            return Ok(());
        };
        Err(Error::Template(format!("the template looks at column {message}")))
    }
}

/// A sentence of a CoNLL-U file.
#[derive(Default)]
pub struct Sentence<'t> {
    pub cells: Cells<'t>,
    /// Word -> the bytes of its label in the text.
    pub labels: Vec<Range<usize>>,
    /// Word -> what its label says; empty if labels are passed over.
    pub gold: Vec<Gold<'t>>,
}

/// What a line with cells stands for.
enum Kind {
    Word,
    /// The range of a multiword token, or an empty node.
    Between,
}

/// Calls `each` for every sentence of `text[range]`, with the first `inputs` cells of each word from FORM on. Every word has to
/// have a label unless labels are passed over. Offsets in errors count from the beginning of `text`.
pub fn read<'t>(
    text: &'t [u8],
    range: Range<usize>,
    inputs: usize,
    label: Label,
    labels: Labels,
    mut each: impl FnMut(&Sentence<'t>),
) -> std::result::Result<(), Located> {
    let piece = &text[range.clone()];
    check_utf8(piece, range.start)?;
    let mut sentence = Sentence::default();
    sentence.cells.columns = inputs;
    for (start, line) in lines(piece) {
        let start = range.start + start;
        if is_blank(line) {
            end(&mut sentence, &mut each);
        } else if !line.starts_with(b"#") {
            word(line, start, label, labels, &mut sentence).map_err(|message| Located::new(start, message))?;
        }
    }
    end(&mut sentence, &mut each);
    Ok(())
}

/// Adds the word of a line, which begins `start` bytes into the text, to the sentence.
fn word<'t>(
    line: &'t [u8],
    start: usize,
    label: Label,
    labels: Labels,
    sentence: &mut Sentence<'t>,
) -> std::result::Result<(), String> {
    let found = line.iter().filter(|&&byte| byte == b'\t').count() + 1;
    if found != NAMES.len() {
        let plural = if found == 1 { "" } else { "s" };
        let expected = NAMES.len();
        return Err(format!(
            "{found} column{plural} where CoNLL-U has {expected}, between TABs; --format columns reads lines of other shapes"
        ));
    }
    let mut at = start;
    let inputs = 1..=sentence.cells.columns;
    for (index, cell) in line.split(|&byte| byte == b'\t').enumerate() {
        if index == 0 && matches!(kind(cell)?, Kind::Between) {
            return Ok(());
        }
        if inputs.contains(&index) {
            sentence.cells.cells.push(cell);
        }
        if index == label as usize {
            if labels.given() && (cell.is_empty() || (cell == b"_" && label != Label::Feats)) {
                let other = if label == Label::Upos { "xpos" } else { "upos" };
                let name = label.name();
                let unknown = if labels == Labels::Partial { "; an unknown label is written ?" } else { "" };
                return Err(format!(
                    "no {name}, the label; --format conllu:{other} takes labels from another column{unknown}"
                ));
            }
            sentence.labels.push(at..at + cell.len());
            sentence.gold.extend(labels.parse(cell)?);
        }
        at += cell.len() + 1;
    }
    Ok(())
}

/// What the line with this ID stands for.
fn kind(id: &[u8]) -> std::result::Result<Kind, String> {
    let mut parts = id.splitn(2, |&byte| matches!(byte, b'-' | b'.'));
    if parts.all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit)) {
        return Ok(if id.iter().all(u8::is_ascii_digit) { Kind::Word } else { Kind::Between });
    }
    let id = String::from_utf8_lossy(id);
    Err(format!("the ID '{id}' is neither a number, nor a range such as 1-2, nor that of an empty node such as 1.1"))
}

/// Hands a sentence that has words to `each`, and empties it.
fn end<'t>(sentence: &mut Sentence<'t>, each: &mut impl FnMut(&Sentence<'t>)) {
    if !sentence.labels.is_empty() {
        each(sentence);
        sentence.cells.clear();
        sentence.labels.clear();
        sentence.gold.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# text = vámonos\n1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\r\n\
        1\tvamos\tir\tVERB\t_\tMood=Imp|Person=1\t0\troot\t_\t_\n1.1\tya\t_\tADV\t_\t_\t_\t_\t_\t_\n\
        2\tnos otros\tnosotros\tPRON\t_\t_\t1\tobj\t_\tA=b\n\n\n# end\n\n";

    fn words(text: &str, label: &str) -> std::result::Result<Vec<String>, Located> {
        let mut got = Vec::new();
        let label = Label::named(label).unwrap();
        read(text.as_bytes(), 0..text.len(), 2, label, Labels::Whole, |sentence| {
            let word = |i: usize| {
                let cells = [sentence.cells.cell(i, 0), sentence.cells.cell(i, 1)];
                let cells = cells.map(|cell| String::from_utf8_lossy(cell).into_owned()).join("|");
                format!("{cells}/{}", &text[sentence.labels[i].clone()])
            };
            got.push((0..sentence.cells.tokens()).map(word).collect::<Vec<_>>().join(" "));
        })?;
        Ok(got)
    }

    #[test]
    fn words_are_read_and_what_stands_between_is_not() {
        assert_eq!(words(TEXT, "upos").unwrap(), ["vamos|ir/VERB nos otros|nosotros/PRON"]);
        assert_eq!(words(TEXT, "feats").unwrap(), ["vamos|ir/Mood=Imp|Person=1 nos otros|nosotros/_"]);
        assert_eq!(words(TEXT, "deprel").unwrap(), ["vamos|ir/root nos otros|nosotros/obj"]);
    }

    #[test]
    fn mistakes_are_located() {
        let word = "1\ta\ta\tX\tY\t_\t0\troot\t_\t_\n";
        for (line, message) in [
            ("2 b b X Y _ 0 root _ _", "1 column where CoNLL-U has 10"),
            ("2\tb\tb\tX\tY\t_\t0\troot\t_\t_\t_", "11 columns where"),
            ("x\tb\tb\tX\tY\t_\t0\troot\t_\t_", "the ID 'x'"),
            ("1-\tb\tb\tX\tY\t_\t0\troot\t_\t_", "the ID '1-'"),
            ("2\tb\tb\t_\tY\t_\t0\troot\t_\t_", "no UPOS"),
            ("2\tb\tb\t\tY\t_\t0\troot\t_\t_", "no UPOS"),
        ] {
            let error = words(&format!("{word}{line}\n"), "upos").unwrap_err();
            assert_eq!(error.offset, word.len(), "{line}");
            assert!(error.message.contains(message), "{}", error.message);
        }
    }

    #[test]
    fn a_template_may_not_look_at_the_label() {
        let template = Template::parse("U:%x[0,0]/%x[-1,2]").unwrap();
        let message = Label::Upos.check_template(&template).unwrap_err().to_string();
        assert_eq!(message, "the template looks at column 2, UPOS, which is the label");
        assert!(Label::Xpos.check_template(&template).is_ok());
        assert!(Label::Xpos.check_template(&Template::parse("U:%x[0,8]").unwrap()).is_ok());
        let message = Label::Xpos.check_template(&Template::parse("U:%x[0,9]").unwrap()).unwrap_err().to_string();
        assert_eq!(message, "the template looks at column 9, but CoNLL-U has columns 0 (FORM) to 8 (MISC)");
    }
}
