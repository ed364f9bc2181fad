//! CoNLL-U files: a word a line, ten cells between TABs, a blank line between sentences. Comments, ranges of multiword tokens
//! (`1-2`) and empty nodes (`1.1`) stand between the words and are passed over.
//!
//! A template's column 0 is FORM, column 1 LEMMA, and so on to column 8, MISC: presets find the word where they look for it.

use crate::corpus::sink::Gold;
use crate::error::{Error, Result};
use crate::text::labels::Labels;
use crate::text::sentence::Sentence;
use crate::text::template::Template;

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

    /// Whether `_` is an unknown label. Words without features have `_` in FEATS, which is a label.
    pub fn has_mark(self) -> bool {
        self != Label::Feats
    }

    /// Whether a cell says that the label is not known.
    fn is_unknown(self, cell: &[u8]) -> bool {
        cell.is_empty() || (cell == b"_" && self.has_mark())
    }

    /// The message for a word whose label is missing.
    fn missing(self) -> String {
        let other = if self == Label::Upos { "xpos" } else { "upos" };
        let partial = "--partial takes `_` for an unknown label";
        format!("the label, {}, is missing; --format conllu:{other} uses another column, {partial}", self.name())
    }

    /// Adds the word of a line, which begins `start` bytes into the text, to a sentence, with the first cells from FORM on. A word must
    /// have a label, or the mark of an unknown one if labels may be marked, unless labels are ignored.
    pub fn word<'t>(
        self,
        labels: Labels,
        start: usize,
        line: &'t [u8],
        sentence: &mut Sentence<'t>,
    ) -> std::result::Result<(), String> {
        if line.starts_with(b"#") {
            return Ok(());
        }
        let count = line.iter().filter(|&&byte| byte == b'\t').count() + 1;
        if count != NAMES.len() {
            let expected = NAMES.len();
            return Err(format!(
                "expected {expected} tab-separated columns, found {count}; use --format columns for other layouts"
            ));
        }
        let mut at = start;
        let inputs = 1..=sentence.cells.columns;
        for (index, cell) in line.split(|&byte| byte == b'\t').enumerate() {
            if index == 0 && !is_word(cell)? {
                return Ok(());
            }
            if inputs.contains(&index) {
                sentence.cells.cells.push(cell);
            }
            if index == self as usize {
                sentence.places.push(at..at + cell.len());
                if self.is_unknown(cell) && labels.given() {
                    if cell.is_empty() || !labels.marks() {
                        return Err(self.missing());
                    }
                    sentence.labels.push(Gold::Unknown);
                } else {
                    sentence.labels.extend(labels.parse(cell)?);
                }
            }
            at += cell.len() + 1;
        }
        Ok(())
    }
}

/// Whether the line with this ID is a word: it is none if the ID is the range of a multiword token, or of an empty node.
fn is_word(id: &[u8]) -> std::result::Result<bool, String> {
    let mut parts = id.splitn(2, |&byte| matches!(byte, b'-' | b'.'));
    if parts.all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit)) {
        return Ok(id.iter().all(u8::is_ascii_digit));
    }
    let id = String::from_utf8_lossy(id);
    Err(format!("the ID '{id}' is not a number, a range such as 1-2 or an empty node such as 1.1"))
}

/// Valid texts to start fuzzing with.
#[cfg(any(test, feature = "fuzzing"))]
pub const SEEDS: &[&str] = &[
    "# text = The dog\n1\tThe\tthe\tDET\tDT\tDefinite=Def\t2\tdet\t_\t_\n2-3\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n2\tde\tde\tADP\t_\t_\t0\troot\t_\t_\n2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n3\tle\tle\tDET\t_\t_\t0\troot\t_\t_\n\n",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::sink::Recorded;
    use crate::text::format::Reading;

    const TEXT: &str = "# text = vámonos\n1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\r\n\
        1\tvamos\tir\tVERB\t_\tMood=Imp|Person=1\t0\troot\t_\t_\n1.1\tya\t_\tADV\t_\t_\t_\t_\t_\t_\n\
        2\tnos otros\tnosotros\tPRON\t_\t_\t1\tobj\t_\tA=b\n\n\n# end\n\n";

    fn words(text: &str, format: &str) -> std::result::Result<Vec<String>, (usize, String)> {
        labelled(text, format, Labels::Whole)
    }

    fn labelled(text: &str, format: &str, labels: Labels) -> std::result::Result<Vec<String>, (usize, String)> {
        let template = Template::parse("U%x[0,0]|%x[0,1]").unwrap();
        let reading = Reading::new(format.parse().unwrap(), Some(&template), labels).unwrap();
        Recorded::of(text.as_bytes(), |sink| reading.read(text.as_bytes(), 0..text.len(), sink))
    }

    #[test]
    fn words_are_read_and_what_stands_between_is_not() {
        for (format, first, second) in
            [("conllu", "VERB", "PRON"), ("conllu:feats", "Mood=Imp|Person=1", "_"), ("conllu:deprel", "root", "obj")]
        {
            let expected = [format!("Uvamos|ir {first}"), format!("Unos otros|nosotros {second}")];
            assert_eq!(
                words(TEXT, format).unwrap(),
                [&expected[..], &[format!("end 1 at [{first}] [{second}]")]].concat()
            );
        }
    }

    #[test]
    fn mistakes_are_located() {
        let word = "1\ta\ta\tX\tY\t_\t0\troot\t_\t_\n";
        for (line, expected) in [
            ("2 b b X Y _ 0 root _ _", "expected 10 tab-separated columns, found 1;"),
            ("2\tb\tb\tX\tY\t_\t0\troot\t_\t_\t_", "expected 10 tab-separated columns, found 11;"),
            ("x\tb\tb\tX\tY\t_\t0\troot\t_\t_", "the ID 'x'"),
            ("1-\tb\tb\tX\tY\t_\t0\troot\t_\t_", "the ID '1-'"),
            ("2\tb\tb\t_\tY\t_\t0\troot\t_\t_", "the label, UPOS, is missing"),
            ("2\tb\tb\t\tY\t_\t0\troot\t_\t_", "the label, UPOS, is missing"),
        ] {
            let (offset, message) = words(&format!("{word}{line}\n"), "conllu").unwrap_err();
            assert_eq!(offset, word.len(), "{line}");
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn an_unspecified_label_is_unknown_where_labels_may_be_marked() {
        let text = "1\ta\tb\t_\tX|Y\t_\t0\troot\t_\t_\n";
        for labels in [Labels::Marked, Labels::Partial] {
            assert_eq!(labelled(text, "conllu", labels).unwrap()[0], "Ua|b Unknown");
            assert_eq!(labelled(text, "conllu:feats", labels).unwrap()[0], "Ua|b _");
        }
        assert_eq!(labelled(text, "conllu:xpos", Labels::Marked).unwrap()[0], "Ua|b X|Y");
        let (_, message) = words(text, "conllu").unwrap_err();
        assert!(message.contains("--partial takes `_` for an unknown label"), "{message}");
        assert!(labelled(&text.replace("\t_\tX", "\t\tX"), "conllu", Labels::Partial).is_err());
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
