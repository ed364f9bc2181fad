//! The layout of column files: what separates the cells of a line, which cell is the label, which lines are comments.

use crate::corpus::notes::Tokens;
use crate::error::{Error, Result};
use crate::text::bytes::{Marks, equal};
use crate::text::input::lines;
use crate::text::sentence::is_blank;

/// What a line at the beginning of a sentence starts with in a file with several documents, as in the data of CoNLL-2003.
pub const DOCUMENT: &[u8] = b"-DOCSTART-";

/// What separates the cells of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Separator {
    /// Any run of spaces and tabs.
    Blank,
    /// One tab: cells may contain spaces, or be empty.
    Tab,
}

impl Separator {
    /// The separator of this name. Error: there is none.
    pub fn named(name: &str) -> Result<Separator> {
        match name {
            "blank" => Ok(Separator::Blank),
            "tab" => Ok(Separator::Tab),
            _ => Err(Error::Option(format!("separator '{name}' is unknown; choose tab or blank"))),
        }
    }

    /// Number of cells of a line.
    pub fn count(self, line: &[u8]) -> usize {
        match self {
            Separator::Blank => split(line).count(),
            Separator::Tab => tabbed(line).count(),
        }
    }

    /// Calls `take` with every cell of a line.
    #[inline(always)]
    pub fn each<'t>(self, line: &'t [u8], take: impl FnMut(&'t [u8])) {
        match self {
            Separator::Blank => split(line).for_each(take),
            Separator::Tab => tabbed(line).for_each(take),
        }
    }
}

/// How the lines of a column file are laid out, as options or a model say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// None: the beginning of the text shows it.
    pub separator: Option<Separator>,
    /// The column of the label, from 0, or from -1 for the last.
    pub label: isize,
    /// The column of the costs of wrong labels in training data, counted likewise; none without one. Other data, which have the
    /// number of columns of the training data, may have such a column too, or lack it: see `Roles`.
    pub weight: Option<isize>,
    /// Whether lines with `#` or `-DOCSTART-` at the beginning of a sentence are no tokens.
    pub skips_comments: bool,
    /// Columns of the training data besides label and weight; none if they are not known, or these are the training data.
    pub trained: Option<usize>,
    /// What Python's tokens of the training data are, if they hold attributes.
    pub tokens: Tokens,
}

impl Default for Layout {
    fn default() -> Self {
        Layout {
            separator: None,
            label: -1,
            weight: None,
            skips_comments: false,
            trained: None,
            tokens: Tokens::default(),
        }
    }
}

impl Layout {
    /// The layout in the settings of a model, JSON, as `loglinear.data.column_layout` writes it.
    pub fn of_settings(settings: &str) -> Layout {
        let settings: serde_json::Value = serde_json::from_str(settings).unwrap_or_default();
        let columns = &settings["columns"];
        Layout {
            separator: columns["separator"].as_str().and_then(|name| Separator::named(name).ok()),
            label: columns["label"].as_i64().map_or(-1, |label| label as isize),
            weight: columns["weight"].as_i64().map(|weight| weight as isize),
            skips_comments: columns["skip_comments"].as_bool().unwrap_or(false),
            trained: columns["n"].as_u64().map(|n| n as usize).filter(|&n| n > 0),
            tokens: Tokens::all_texts(columns["texts"].as_bool()),
        }
    }

    /// Whether a line, the first of a sentence, is passed over.
    pub fn passes(self, line: &[u8]) -> bool {
        self.skips_comments && is_odd(line)
    }

    /// What separates the cells of a text: tabs if every line has the same number of cells between tabs, two at least, and not
    /// the same number between runs of blanks; else runs of blanks.
    fn chosen(self, text: &[u8]) -> Separator {
        let mut first: Option<(usize, usize)> = None;
        let mut differs = false;
        for (_, line) in self.tokens(text) {
            let counts = (tabbed(line).count(), split(line).count());
            let &mut (tabs, blanks) = first.get_or_insert(counts);
            if counts.0 < 2 || counts.0 != tabs {
                return Separator::Blank;
            }
            differs |= counts.1 != blanks;
        }
        if differs { Separator::Tab } else { Separator::Blank }
    }

    /// What separates the cells of a text: what the layout says, else what its lines show.
    pub fn separator_of(self, text: &[u8]) -> Separator {
        self.separator.unwrap_or_else(|| self.chosen(text))
    }

    /// The lines of a text that hold tokens, and whether each is the first of a sentence.
    pub fn tokens(self, text: &[u8]) -> impl Iterator<Item = (bool, &[u8])> {
        let mut starts = true;
        lines(text).filter_map(move |(_, line)| {
            let first = starts;
            starts = is_blank(line) || (starts && self.passes(line));
            (!starts).then_some((first, line))
        })
    }

    /// What the columns of lines are. Error: there is no such column for the label or the weight, or both have the same one.
    ///
    /// Training data have the label, and the weight if the layout has one. In other data the number of columns decides: as many
    /// as in training are all of them, and of any other number they lack the weight; without it, one less than in training is the
    /// label, which `labelled` data have anyway.
    pub fn roles(self, name: &str, columns: usize, labelled: bool) -> Result<Roles> {
        let Some(trained) = self.trained else {
            let label = if labelled { Some(self.label_column(name, columns)?) } else { None };
            let weight = if labelled { self.weight_column(name, columns)? } else { None };
            return Ok(Roles { label, weight });
        };
        if self.weight.is_some() && columns == trained + 2 {
            let weight = self.weight_column(name, columns)?;
            return Ok(Roles { label: Some(self.label_column(name, columns)?), weight });
        }
        let label = self.unweighted_label(name, columns);
        Ok(Roles {
            label: if labelled { Some(label?) } else { label.ok().filter(|_| columns == trained + 1) },
            weight: None,
        })
    }

    /// The column of the label in lines of some columns that lack the weight. Error: there is no such column.
    fn unweighted_label(self, name: &str, columns: usize) -> Result<usize> {
        if self.weight.is_none() {
            return self.label_column(name, columns);
        }
        let (label, weight) = (self.label_column(name, columns + 1)?, self.weight_column(name, columns + 1)?);
        Ok(label - usize::from(weight.is_some_and(|weight| weight < label)))
    }

    /// The column of the label in lines of some columns. Error: there is no such column.
    fn label_column(self, name: &str, columns: usize) -> Result<usize> {
        place(self.label, columns, name, "the label (--label-column)")
    }

    /// The column of the costs in labelled lines of some columns, if there is one. Error: there is no such column, or it is that of
    /// the label.
    fn weight_column(self, name: &str, columns: usize) -> Result<Option<usize>> {
        let Some(weight) = self.weight else { return Ok(None) };
        let column = place(weight, columns, name, "the weights (--weight-column)")?;
        if column == self.label_column(name, columns)? {
            return Err(Error::Data(format!(
                "{name}: column {column} is both the label and the weight: set --label-column and --weight-column to \
                 different columns"
            )));
        }
        Ok(Some(column))
    }
}

/// The columns of a line, from 0, that are no inputs of a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Roles {
    /// That of the label, which may be there though labels are ignored.
    pub label: Option<usize>,
    /// That of the cost of a wrong label.
    pub weight: Option<usize>,
}

impl Roles {
    /// Whether a column is an input.
    pub fn leave(self, column: usize) -> bool {
        Some(column) != self.label && Some(column) != self.weight
    }

    /// How many columns are no inputs.
    pub fn count(self) -> usize {
        usize::from(self.label.is_some()) + usize::from(self.weight.is_some())
    }
}

/// The column with a number, from -1 for the last, in lines of some columns. Error: there is no such column for `what`.
fn place(number: isize, columns: usize, name: &str, what: &str) -> Result<usize> {
    let column = if number < 0 { columns as isize + number } else { number };
    if (0..columns as isize).contains(&column) {
        return Ok(column as usize);
    }
    let last = columns - 1;
    Err(Error::Data(format!(
        "{name}: no column {number} for {what}: the first line has {columns} columns, 0 to {last}"
    )))
}

/// The cells of a line between runs of spaces and tabs.
#[inline(always)]
pub fn split(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut blanks = Marks::new(line, |word| equal(word, b' ') | equal(word, b'\t') | equal(word, b'\r'));
    std::iter::from_fn(move || {
        let start = blanks.advance(false);
        (start < line.len()).then(|| &line[start..blanks.advance(true)])
    })
}

/// The cells of a line between single tabs, without the blanks around them.
pub fn tabbed(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b'\t').map(<[u8]>::trim_ascii)
}

/// Whether a line may be a comment or the start of a document.
pub fn is_odd(line: &[u8]) -> bool {
    line.starts_with(b"#") || line.starts_with(DOCUMENT)
}

/// Whether a line seems to be a tag of XML.
pub fn is_markup(line: &[u8]) -> bool {
    match line.trim_ascii() {
        [b'<', first, .., b'>'] => first.is_ascii_alphabetic() || b"/!?".contains(first),
        _ => false,
    }
}
