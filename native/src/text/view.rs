//! Views: the functions of a cell that a template's macros compute.

use crate::text::lexicon::Lexicon;
use regex::bytes::Regex;
use std::borrow::Cow;
use std::sync::Arc;

/// A column of cells that macros look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Of the data, from 0.
    Data(usize),
    /// That a `C` line defines, by the number of the line among them.
    Made(usize),
    /// What the tokens are in a lexicon, by the number of the look-up.
    Tagged(usize),
}

/// A look-up of the cells of a column in a lexicon.
pub(super) struct LookUp {
    pub(super) lexicon: Arc<Lexicon>,
    pub(super) column: Column,
}

/// Which letters a macro puts into lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lower {
    No,
    Ascii,
    All,
}

impl Lower {
    pub(super) fn of<'c>(self, text: &'c [u8]) -> Cow<'c, [u8]> {
        match self {
            Lower::No => Cow::Borrowed(text),
            Lower::Ascii => Cow::Owned(text.to_ascii_lowercase()),
            Lower::All => lowered(text),
        }
    }
}

/// What a macro makes of a cell.
pub enum View {
    /// The cell itself, or its lower case.
    Cell { column: Column, lower: Lower },
    /// Whether the expression matches.
    Test { column: Column, regex: Regex },
    /// The first match of the expression, or its lower case.
    Match { column: Column, regex: Regex, lower: Lower },
    /// The cell without the matches of the expression, or its lower case.
    Drop { column: Column, regex: Regex, lower: Lower },
    /// The number of characters.
    Length { column: Column },
    /// Letters to A or a, digits to #.
    Shape { column: Column },
    /// Lower case, with every digit #.
    Normal { column: Column },
}

impl View {
    /// The column of the cell.
    pub fn column(&self) -> Column {
        match *self {
            View::Cell { column, .. }
            | View::Test { column, .. }
            | View::Match { column, .. }
            | View::Drop { column, .. }
            | View::Length { column }
            | View::Shape { column }
            | View::Normal { column } => column,
        }
    }

    /// The string that the macro produces at a cell.
    pub fn of<'c>(&self, cell: &'c [u8]) -> Cow<'c, [u8]> {
        match self {
            View::Cell { lower, .. } => lower.of(cell),
            View::Test { regex, .. } => Cow::Borrowed(if regex.is_match(cell) { b"true" } else { b"false" }),
            View::Match { regex, lower, .. } => match regex.find(cell) {
                Some(matched) => lower.of(&cell[matched.range()]),
                None => Cow::Borrowed(b""),
            },
            View::Drop { regex, lower, .. } => match regex.replace_all(cell, &b""[..]) {
                Cow::Borrowed(cell) => lower.of(cell),
                Cow::Owned(remaining) if *lower == Lower::No => Cow::Owned(remaining),
                Cow::Owned(remaining) => Cow::Owned(lower.of(&remaining).into_owned()),
            },
            View::Length { .. } => Cow::Owned(text_of(cell).chars().count().to_string().into_bytes()),
            View::Shape { .. } => map_characters(cell, |c| match c {
                _ if c.is_numeric() => '#',
                _ if c.is_uppercase() => 'A',
                _ if c.is_lowercase() => 'a',
                _ => c,
            }),
            View::Normal { .. } => {
                map_characters(&lowered(cell), |c| if c.is_numeric() { '#' } else { c }).into_owned().into()
            }
        }
    }

    /// Whether two macros produce the same string at every cell.
    pub fn same_as(&self, other: &View) -> bool {
        match (self, other) {
            (View::Cell { column: a, lower: l }, View::Cell { column: b, lower: m }) => a == b && l == m,
            (View::Test { column: a, regex: r }, View::Test { column: b, regex: s }) => {
                a == b && r.as_str() == s.as_str()
            }
            (View::Match { column: a, regex: r, lower: l }, View::Match { column: b, regex: s, lower: m })
            | (View::Drop { column: a, regex: r, lower: l }, View::Drop { column: b, regex: s, lower: m }) => {
                a == b && l == m && r.as_str() == s.as_str()
            }
            (View::Length { column: a }, View::Length { column: b })
            | (View::Shape { column: a }, View::Shape { column: b })
            | (View::Normal { column: a }, View::Normal { column: b }) => a == b,
            _ => false,
        }
    }
}

/// The cell as text; invalid UTF-8 is replaced.
pub fn text_of(cell: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(cell)
}

/// The cell in lower case.
fn lowered(cell: &[u8]) -> Cow<'_, [u8]> {
    Cow::Owned(text_of(cell).to_lowercase().into_bytes())
}

/// The cell with every character mapped.
fn map_characters(cell: &[u8], map: impl Fn(char) -> char) -> Cow<'_, [u8]> {
    Cow::Owned(text_of(cell).chars().map(map).collect::<String>().into_bytes())
}
