//! Column files: a token a line, cells between runs of spaces or tabs, the label last, a blank line between sentences.

use crate::error::{Error, Result};
use crate::text::input::lines;
use crate::text::labels::Labels;
use crate::text::sentence::{Sentence, is_blank};
use crate::text::template::Template;

/// The columns of every line of a column file.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Cells in a line, the label included if there is one.
    columns: usize,
    /// Number of leading cells of a line that the template may look at.
    inputs: usize,
    /// How to take the last cell, the label; `Ignored` if it is none.
    labels: Labels,
}

/// The cells of a line.
pub fn split(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| matches!(byte, b' ' | b'\t' | b'\r')).filter(|cell| !cell.is_empty())
}

/// The shape of a column file, read off its first line; none if all lines are blank. Fails if the template needs more columns.
pub fn shape(name: &str, text: &[u8], template: &Template, labels: Labels) -> Result<Option<Shape>> {
    let Some((_, line)) = lines(text).find(|(_, line)| !is_blank(line)) else { return Ok(None) };
    let columns = split(line).count();
    let inputs = columns - usize::from(labels.given());
    if labels.given() && inputs == 0 {
        let message = format!("{name}: expected at least 2 columns in labelled data (the last is the label), found 1");
        return Err(Error::Data(message));
    }
    if inputs < template.columns {
        let beside = if labels.given() { " besides the label" } else { "" };
        return Err(Error::Template(format!(
            "the template looks at column {} (counted from 0), but {name} has {inputs} column{}{beside}",
            template.columns - 1,
            if inputs == 1 { "" } else { "s" },
        )));
    }
    Ok(Some(Shape { columns, inputs: template.columns, labels }))
}

impl Shape {
    /// Adds the token of a line, which begins `start` bytes into the text, to a sentence.
    pub fn token<'t>(
        self,
        start: usize,
        line: &'t [u8],
        sentence: &mut Sentence<'t>,
    ) -> std::result::Result<(), String> {
        let mut count = 0;
        for cell in split(line) {
            count += 1;
            if count <= self.inputs {
                sentence.cells.cells.push(cell);
            }
            if count == self.columns {
                sentence.labels.extend(self.labels.parse(cell)?);
            }
        }
        if count != self.columns {
            return Err(self.wrong_count(count));
        }
        sentence.places.push(start..start + line.len());
        Ok(())
    }

    /// The message for a line with a wrong number of cells.
    fn wrong_count(self, count: usize) -> String {
        let columns = self.columns;
        let plural = if columns == 1 { "" } else { "s" };
        let label = if self.labels.given() { " (the last is the label)" } else { "" };
        format!(
            "expected {columns} column{plural} as in the first line{label}, found {count}; every line needs the same number"
        )
    }
}

/// Valid texts to start fuzzing with.
#[cfg(any(test, feature = "fuzzing"))]
pub const SEEDS: &[&str] =
    &["The\tDT\tB\ndog\tNN\tI\n\nIL-2\tCD\tO\n", "The DT B|I\n日本 NN _\r\n\r\n# NN O\n\n\nende NN B\n"];

#[cfg(test)]
mod tests {
    use crate::corpus::sink::Recorded;
    use crate::text::format::{Format, Reading};
    use crate::text::labels::Labels;
    use crate::text::template::Template;

    fn sentences(text: &[u8]) -> Result<Vec<String>, (usize, String)> {
        let template = Template::parse("U%x[0,0]|%x[0,1]").unwrap();
        let mut reading = Reading::new(Format::Columns, Some(&template), Labels::Whole).unwrap();
        assert!(!reading.begin("text", b"\n \n").unwrap());
        assert!(reading.begin("text", b"\n \na b c\n").unwrap());
        Recorded::of(text, |sink| reading.read(text, 0..text.len(), sink))
    }

    #[test]
    fn any_run_of_blanks_separates_and_blank_lines_end_sentences() {
        let got = sentences(b"a \t b  c\r\nd e\tf\n \t\n\n\ng h i").unwrap();
        assert_eq!(got, ["Ua|b c", "Ud|e f", "end 1 at [a \t b  c] [d e\tf]", "Ug|h i", "end 1 at [g h i]"]);
    }

    #[test]
    fn a_wrong_number_of_columns_is_located() {
        let (offset, message) = sentences(b"a b c\nd e\n").unwrap_err();
        assert_eq!(offset, 6);
        assert!(message.contains("expected 3 columns as in the first line"), "{message}");
        assert!(sentences(b"a b c d\n").is_err());
    }

    #[test]
    fn invalid_utf8_is_located() {
        assert_eq!(sentences(b"a b c\n\xff b c\n").unwrap_err().0, 6);
    }
}
