//! Column files: a token a line, cells between runs of spaces and tabs, or between single tabs, a blank line between sentences. The
//! label is the last cell of a line, or the one that the layout names.

use crate::corpus::MOST_COST;
use crate::corpus::notes::{Look, Notes};
use crate::error::{Error, Result};
use crate::text::input::lines;
use crate::text::labels::{Labels, no_cost};
use crate::text::layout::{DOCUMENT, Layout, Roles, Separator, is_markup, is_odd, split, tabbed};
use crate::text::look::{advice, delimiter, look};
use crate::text::sentence::Sentence;
use crate::text::template::Template;

/// Bytes at the beginning of a text that show what separates its cells.
pub const LOOKED_AT: usize = 1 << 20;

/// The columns of every line of a column file.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    layout: Layout,
    pub separator: Separator,
    /// Cells in a line, the label included if there is one.
    columns: usize,
    /// Cells between single tabs in the first line.
    tabs: usize,
    /// The columns of the label and of the weight.
    roles: Roles,
    /// Number of cells, the label not counted, that the template may look at.
    inputs: usize,
    /// How to take the label; `Ignored` if it is none.
    labels: Labels,
    /// What to do if the first line is no token, as it seems.
    odd: Option<&'static str>,
    /// What the beginning of the text shows.
    look: Look,
    /// The comma or semicolon in every line, if there is one.
    delimiter: Option<char>,
}

/// The shape of a column file, from its first lines; none if all of them are blank. Fails if the template needs more columns.
pub fn shape(name: &str, text: &[u8], template: &Template, labels: Labels, layout: Layout) -> Result<Option<Shape>> {
    let start = &text[..text.len().min(LOOKED_AT)];
    // Whole lines: those that end within it, or the first one.
    let within = start.iter().rposition(|&byte| byte == b'\n').filter(|_| start.len() < text.len());
    let end = within.or_else(|| text[start.len()..].iter().position(|&byte| byte == b'\n').map(|at| start.len() + at));
    let start = end.map_or(text, |at| &text[..=at]);
    let separator = layout.separator_of(start);
    let Some((_, line)) = layout.tokens(start).next() else { return Ok(None) };
    let columns = separator.count(line);
    if labels.given() && columns == 1 {
        let message = "expected at least 2 columns in labelled data, one of them the label, found 1";
        let number = 1 + lines(start).position(|(_, other)| std::ptr::eq(other, line)).unwrap_or(0);
        let remedy = separator.remedy(line, look(start, layout, separator, Roles::default()));
        return Err(Error::Data(format!("{name}, line {number}: {message}{remedy}")));
    }
    let roles = layout.roles(name, columns, labels.given())?;
    let look = look(start, layout, separator, roles);
    let inputs = columns - usize::from(labels.given()) - usize::from(roles.weight.is_some());
    if inputs < template.columns {
        let beside = match (labels.given(), roles.weight) {
            (false, _) => "",
            (true, None) => " besides the label",
            (true, Some(_)) => " besides the label and the weight",
        };
        return Err(Error::Template(format!(
            "line {} of the template looks at column {} (counted from 0), but {name} has {inputs} column{}{beside}{}",
            template.widest_line,
            template.columns - 1,
            if inputs == 1 { "" } else { "s" },
            separator.remedy(line, look),
        )));
    }
    let (tabs, odd, delimiter) = (tabbed(line).count(), odd_first(line), delimiter(start, layout));
    Ok(Some(Shape { layout, separator, columns, tabs, roles, inputs: template.columns, labels, odd, look, delimiter }))
}

impl Separator {
    /// What to do about a first line with too few columns, if it looks like a comment or another separator gives more of them.
    fn remedy(self, line: &[u8], look: Look) -> String {
        match self {
            _ if look.conllu => "; the lines are CoNLL-U: add --format conllu".into(),
            _ if odd_first(line).is_some() => odd_first(line).map(|remedy| format!("; {remedy}")).unwrap_or_default(),
            _ if look.mark.is_some() => look.mark.map(advice).unwrap_or_default(),
            Separator::Tab if split(line).count() > tabbed(line).count() => {
                "; spaces do not separate columns here: leave out --separator tab, or write --separator blank".into()
            }
            Separator::Tab | Separator::Blank => String::new(),
        }
    }
}

impl Shape {
    /// Adds the token of a line, which begins `start` bytes into the text, to a sentence; or passes a comment over.
    #[inline(always)]
    pub fn token<'t>(
        self,
        start: usize,
        line: &'t [u8],
        sentence: &mut Sentence<'t>,
    ) -> std::result::Result<(), String> {
        if sentence.places.is_empty() {
            if self.layout.passes(line) {
                sentence.passed = Some(start..start + line.len());
                sentence.notes.skipped += 1;
                return Ok(());
            }
            self.note(line, &mut sentence.notes);
        }
        let (mut count, mut inputs, mut label, mut weight) = (0, 0, None, None);
        self.separator.each(line, |cell| {
            if Some(count) == self.roles.label {
                label = Some(cell);
            } else if Some(count) == self.roles.weight {
                weight = Some(cell);
            } else if inputs < self.inputs {
                sentence.cells.cells.push(cell);
                inputs += 1;
            }
            count += 1;
        });
        if count != self.columns {
            return Err(self.wrong_count(line, count, sentence.places.is_empty()));
        }
        if let Some(cell) = label {
            if cell.is_empty() && self.labels.given() {
                return Err("the label is empty; every token needs one".into());
            }
            sentence.labels.extend(self.labels.parse(cell)?);
        }
        // Only training learns from costs.
        if let Some(cell) = weight
            && self.layout.trained.is_none()
        {
            sentence.costs.push(cost(cell)?);
        }
        sentence.places.push(start..start + line.len());
        Ok(())
    }

    /// Notes what is odd about the first line of a sentence.
    #[inline(always)]
    fn note(self, line: &[u8], notes: &mut Notes) {
        notes.columns = self.columns - self.roles.count();
        notes.tabs = self.separator == Separator::Tab;
        notes.look = self.look;
        match line.first() {
            Some(b'#') if is_comment(line) => notes.comments += 1,
            Some(b'-') if line.starts_with(DOCUMENT) => notes.documents += 1,
            _ => {}
        }
    }

    /// The message for a line with a wrong number of cells, which is the first of its sentence or a later one.
    fn wrong_count(self, line: &[u8], count: usize, starts: bool) -> String {
        let columns = self.columns;
        let plural = if columns == 1 { "" } else { "s" };
        let label = match self.roles.label {
            Some(at) if self.labels.given() && at + 1 == columns => " (the last is the label)",
            _ => "",
        };
        let tabs = tabbed(line).count();
        let counts = format!("expected {columns} column{plural} as in the first line{label}, found {count}");
        let remedy = if self.look.conllu {
            "the lines are CoNLL-U: add --format conllu".to_owned()
        } else if is_odd(line) && starts {
            "if this line is a comment, add --skip-comments".to_owned()
        } else if is_odd(line) {
            "if this line is a comment, remove it: only comments before the first token of a sentence can be skipped"
                .to_owned()
        } else if is_markup(line) {
            "if this line is markup, remove it".to_owned()
        } else if let Some(remedy) = self.odd {
            remedy.to_owned()
        } else if self.separator == Separator::Blank && tabs > 1 && tabs == self.tabs {
            format!("both lines have {tabs} between tabs: add --separator tab if spaces do not separate columns")
        } else if self.separator == Separator::Tab && split(line).count() == columns {
            format!("the line has {columns} between spaces and tabs: separate columns alike in every line")
        } else if let Some(blank) = unseparated(line).filter(|_| count < columns) {
            format!("the line has the blank U+{:04X}, which separates no columns: replace it by a space", blank as u32)
        } else if let Some(mark) = "/_|".chars().find(|&mark| joined(line, mark as u8)) {
            format!("if {mark} separates words from labels, put one token per line, in the columns token and label")
        } else if let Some(mark) = self.delimiter {
            format!("every line has a '{mark}': separate the columns with tabs instead")
        } else {
            "every line needs the same number".to_owned()
        };
        format!("{counts}; {remedy}")
    }
}

/// The cost of a wrong label that a cell holds.
fn cost(cell: &[u8]) -> std::result::Result<f64, String> {
    let number = std::str::from_utf8(cell).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
    if (0.0..=MOST_COST).contains(&number) {
        return Ok(number);
    }
    let shown = String::from_utf8_lossy(cell);
    Err(format!("the weight {shown:?} {} (--weight-column)", no_cost(number)))
}

/// Whether every cell of a line, two at least, is a word and a label with a mark between them.
fn joined(line: &[u8], mark: u8) -> bool {
    let is_joined = |cell: &[u8]| cell.len() > 2 && cell[1..cell.len() - 1].contains(&mark);
    split(line).count() > 1 && split(line).all(is_joined)
}

/// What to do about a first line that is probably no token; none if it may be one.
fn odd_first(line: &[u8]) -> Option<&'static str> {
    match line {
        _ if is_odd(line) => Some("if the first line is a comment, add --skip-comments"),
        _ if is_markup(line) => Some("if the first line is markup, remove it"),
        _ => None,
    }
}

/// The first blank of a line that separates no columns, such as a no-break space.
fn unseparated(line: &[u8]) -> Option<char> {
    std::str::from_utf8(line).ok()?.chars().find(|blank| blank.is_whitespace() && !blank.is_ascii())
}

/// Whether a line that begins with `#` looks like a comment, and not like a word such as #berlin, or the word # before a tab.
fn is_comment(line: &[u8]) -> bool {
    let first = split(line).next().unwrap_or_default();
    (first == b"#" || first == b"#begin" || first == b"#end") && !line.contains(&b'\t')
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
    use crate::text::layout::{Layout, Separator};
    use crate::text::template::Template;

    fn sentences(text: &[u8]) -> Result<Vec<String>, (usize, String)> {
        laid_out(text, Layout { separator: Some(Separator::Blank), ..Layout::default() })
    }

    fn laid_out(text: &[u8], layout: Layout) -> Result<Vec<String>, (usize, String)> {
        let template = Template::parse("U%x[0,0]|%x[0,1]").unwrap();
        let mut reading = Reading::new(Format::Columns, Some(&template), Labels::Whole).unwrap().with(layout);
        assert!(!reading.begin("text", b"\n \n").unwrap());
        assert!(reading.begin("text", text).map_err(|error| (0, error.to_string()))?);
        Recorded::of(text, |sink| reading.read(text, 0..text.len(), sink))
    }

    /// What is read where the text has to show its separator.
    fn chosen(text: &str) -> Result<Vec<String>, (usize, String)> {
        laid_out(text.as_bytes(), Layout::default())
    }

    #[test]
    fn tabs_separate_where_every_line_has_as_many_and_blanks_would_differ() {
        let tabs = ["UNew York|NNP LOC", "Uis| O", "end 1 at [New York\tNNP\tLOC] [is\t\tO]"];
        assert_eq!(chosen("New York\tNNP\tLOC\nis\t\tO\n").unwrap(), tabs);
        // Blanks give the same number in every line: read as before.
        assert_eq!(chosen("a b\tc\nd e\tf\n").unwrap()[..2], ["Ua|b c", "Ud|e f"]);
        // A line without a tab, or with another number of them.
        for text in ["a b\tc\td\ne f g\n", "a b\tc\td\ne\tf\n", "a\tb\tc\nd e\tf g\n"] {
            assert!(chosen(text).unwrap_err().1.contains("as in the first line"), "{text}");
        }
    }

    #[test]
    fn the_label_is_in_the_column_that_the_layout_names() {
        let at = |label| laid_out(b"a b c\nd e f\n", Layout { label, ..Layout::default() });
        assert_eq!(at(0).unwrap()[..2], ["Ub|c a", "Ue|f d"]);
        assert_eq!(at(-2).unwrap()[..2], ["Ua|c b", "Ud|f e"]);
        assert_eq!(at(2).unwrap(), at(-1).unwrap());
        let (_, message) = at(3).unwrap_err();
        assert_eq!(message, "text: no column 3 for the label (--label-column): the first line has 3 columns, 0 to 2");
    }

    #[test]
    fn the_number_of_columns_says_whether_lines_have_the_weight_and_the_label() {
        let template = Template::parse("U%x[0,0]").unwrap();
        let read = |text: &str, labels, (label, weight)| {
            let layout = Layout { label, weight: Some(weight), trained: Some(1), ..Layout::default() };
            let mut reading = Reading::new(Format::Columns, Some(&template), labels).unwrap().with(layout);
            assert!(reading.begin("text", text.as_bytes()).unwrap());
            Recorded::of(text.as_bytes(), |sink| reading.read(text.as_bytes(), 0..text.len(), sink)).unwrap()[0].clone()
        };
        let orders = [
            ("2 Rita B\n", "Rita B\n", (-1, 0)),
            ("2 Rita B\n", "Rita B\n", (2, -3)),
            ("B 2 Rita\n", "B Rita\n", (0, 1)),
            ("Rita B heavy\n", "Rita B\n", (1, -1)),
            ("Rita B 2\n", "Rita B\n", (-2, 2)),
        ];
        for (whole, unweighted, columns) in orders {
            for text in [whole, unweighted] {
                assert_eq!(read(text, Labels::Marked, columns), "URita B", "{text}");
                assert_eq!(read(text, Labels::Ignored, columns), "URita -", "{text}");
            }
            assert_eq!(read("Rita\n", Labels::Ignored, columns), "URita -");
        }
    }

    #[test]
    fn comments_at_the_beginning_of_sentences_are_passed_over_if_asked() {
        let text = b"# one\n-DOCSTART- -X- O\n\n#begin x\na b c\n# b c\n\n";
        let layout = Layout { skips_comments: true, ..Layout::default() };
        assert_eq!(laid_out(text, layout).unwrap(), ["Ua|b c", "U#|b c", "end 1 at [a b c] [# b c]"]);
        let (_, message) = sentences(b"# one\na b c\n").unwrap_err();
        assert!(message.contains("add --skip-comments"), "{message}");
        let (_, message) = sentences(b"a b c\n\n# one\n").unwrap_err();
        assert!(message.contains("if this line is a comment, add --skip-comments"), "{message}");
        let (_, message) = laid_out(b"a b c\n# one\n", layout).unwrap_err();
        assert!(message.contains("if this line is a comment, remove it: only comments before the first"), "{message}");
    }

    #[test]
    fn markup_is_noticed_in_a_line_of_another_length() {
        let message = |text: &[u8]| sentences(text).unwrap_err().1;
        assert!(message(b"Rita NNP O\n</s>\n").ends_with("; if this line is markup, remove it"));
        assert!(message(b"<doc id=1>\nRita NNP O\n").ends_with("; if the first line is markup, remove it"));
        assert!(message(b"<doc id=1 x=1 y=1>\nRita NNP O\n").ends_with("; if the first line is markup, remove it"));
        assert!(message(b"Rita NNP O\n< >\n").ends_with("; every line needs the same number"));
    }

    #[test]
    fn words_with_labels_of_their_own_are_noticed_in_a_line_of_another_length() {
        let message = |text: &[u8]| sentences(text).unwrap_err().1;
        assert!(message(b"Rita_NNP met_VBD ._.\nIda_NNP ran_VBD\n").contains("; if _ separates words from labels"));
        assert!(message(b"Rita/NNP met/VBD ./.\nIda/NNP ran/VBD\n").contains("; if / separates words from labels"));
        assert!(message(b"Rita NNP O\nNew_York NNP\n").ends_with("; every line needs the same number"));
        assert!(message(b"Rita NNP O\n_a b_\n").ends_with("; every line needs the same number"));
    }

    #[test]
    fn a_label_that_nobody_asks_for_is_no_input() {
        let template = Template::parse("U%x[0,0]").unwrap();
        let read = |text: &[u8], label| {
            let layout = Layout { label, trained: Some(1), ..Layout::default() };
            let mut reading = Reading::new(Format::Columns, Some(&template), Labels::Ignored).unwrap().with(layout);
            assert!(reading.begin("text", text).unwrap());
            Recorded::of(text, |sink| reading.read(text, 0..text.len(), sink)).unwrap()[0].clone()
        };
        assert_eq!(read(b"B-PER Rita\n", 0), "URita -");
        assert_eq!(read(b"Rita\n", 0), "URita -");
        assert_eq!(read(b"Rita B-PER\n", -1), "URita -");
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
        let (_, message) = sentences(b"a\tb\tc\nd e\tb\tc\n").unwrap_err();
        assert!(message.contains("both lines have 3 between tabs: add --separator tab"), "{message}");
        let (_, message) = sentences(b"La New York,LOC\nis,O\nbig,O\n").unwrap_err();
        assert!(message.ends_with("every line has a ',': separate the columns with tabs instead"), "{message}");
    }

    #[test]
    fn invalid_utf8_is_located() {
        assert_eq!(sentences(b"a b c\n\xff b c\n").unwrap_err().0, 6);
    }
}
