//! The formats of data files. Every property of a format is a `match` in this file over all formats, so that the compiler lists
//! what a new format must define. Each format is read by a module of this folder.

#![deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)]

use crate::corpus::sink::Sink;
use crate::error::{Error, Located, Result};
use crate::text::columns::{self, Shape};
use crate::text::labels::Labels;
use crate::text::layout::{Layout, Separator};
use crate::text::template::Template;
use crate::text::writable::Place;
use crate::text::{conllu, crfsuite, jsonl, sentence, svmlight};
use std::ops::Range;
use std::str::FromStr;

/// A format of data files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Columns,
    Conllu(conllu::Label),
    Crfsuite,
    Jsonl,
    Svmlight,
}

/// The names of all formats.
pub const NAMES: [(&str, Format); 9] = [
    ("columns", Format::Columns),
    ("conllu", Format::Conllu(conllu::Label::Upos)),
    ("conllu:upos", Format::Conllu(conllu::Label::Upos)),
    ("conllu:xpos", Format::Conllu(conllu::Label::Xpos)),
    ("conllu:feats", Format::Conllu(conllu::Label::Feats)),
    ("conllu:deprel", Format::Conllu(conllu::Label::Deprel)),
    ("crfsuite", Format::Crfsuite),
    ("jsonl", Format::Jsonl),
    ("svmlight", Format::Svmlight),
];

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Format> {
        let format = NAMES.iter().find(|(candidate, _)| *candidate == name).map(|&(_, format)| format);
        format.ok_or_else(|| {
            let [names @ .., last] = NAMES.map(|(name, _)| name);
            Error::Option(format!("format '{name}' is unknown; choose {} or {last}", names.join(", ")))
        })
    }
}

/// How labels are written for a text, and which positions in the text `Sink::locate` reports for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writing {
    /// The line of each token, at its place, and the label after it.
    Lines,
    /// The text as it is, with the label of each token at its place.
    Cells,
    /// The JSON object of each sentence, at its place, with more fields.
    Fields,
    /// The label of each token on a separate line, without places; with a blank line after each sentence if there are several tokens
    /// in one.
    Labels { blank_lines: bool },
}

impl Format {
    /// Whether a text of this format can be cut after a line without cutting a sentence.
    pub fn ends(self, line: &[u8]) -> bool {
        match self {
            Format::Columns | Format::Conllu(_) => sentence::is_blank(line),
            Format::Crfsuite => line.is_empty(),
            Format::Jsonl | Format::Svmlight => true,
        }
    }

    /// How labels are written for a text of this format.
    pub fn writing(self) -> Writing {
        match self {
            Format::Columns => Writing::Lines,
            Format::Conllu(_) => Writing::Cells,
            Format::Crfsuite => Writing::Labels { blank_lines: true },
            Format::Jsonl => Writing::Fields,
            Format::Svmlight => Writing::Labels { blank_lines: false },
        }
    }

    /// Fails if the format needs a template and there is none, or if there is one that the format does not support.
    fn check_template(self, template: Option<&Template>) -> Result<()> {
        let message = match (self, template.is_some()) {
            (Format::Columns | Format::Conllu(_), false) => {
                "columns need a template or a preset to form attributes (see `loglinear presets`)"
            }
            (Format::Crfsuite | Format::Svmlight, true) => {
                "attribute files already contain attributes; leave out the template, or choose the format columns"
            }
            (Format::Conllu(label), true) => return template.map_or(Ok(()), |template| label.check_template(template)),
            (Format::Columns, true) | (Format::Crfsuite | Format::Svmlight, false) | (Format::Jsonl, _) => {
                return Ok(());
            }
        };
        Err(Error::Option(message.into()))
    }
}

/// How a text is read.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    pub format: Format,
    template: Option<&'a Template>,
    labels: Labels,
    layout: Layout,
    /// The shape of the lines, if the first line determines it.
    shape: Option<Shape>,
}

impl<'a> Reading<'a> {
    /// Fails if the format does not support the template.
    pub fn new(format: Format, template: Option<&'a Template>, labels: Labels) -> Result<Self> {
        format.check_template(template)?;
        Ok(Reading { format, template, labels, layout: Layout::default(), shape: None })
    }

    /// The same for lines of this layout, if they have columns.
    pub fn with(self, layout: Layout) -> Self {
        Reading { layout, ..self }
    }

    /// What separates the cells of a line: of columns, what `begin` has seen.
    pub fn separator(&self) -> Separator {
        match self.format {
            Format::Columns => self.shape.map_or(Separator::Blank, |shape| shape.separator),
            Format::Conllu(_) | Format::Crfsuite | Format::Jsonl | Format::Svmlight => Separator::Tab,
        }
    }

    /// Where labels are written for the text; None if it can hold any label.
    pub fn place(&self) -> Option<Place> {
        match (self.format, self.separator()) {
            (Format::Columns, Separator::Blank) => Some(Place::Blanks),
            (Format::Conllu(label), _) if label.has_mark() => Some(Place::Marked),
            (Format::Columns | Format::Conllu(_) | Format::Crfsuite | Format::Svmlight, _) => Some(Place::Line),
            (Format::Jsonl, _) => None,
        }
    }

    /// Whether label bigrams are features, whether label triples are, and whether there are labels, as `Corpus` has it.
    pub fn flags(self) -> [bool; 3] {
        let transitions = self.template.is_none_or(|template| template.transitions);
        [transitions, self.template.is_some_and(|template| template.triples), self.labels.given()]
    }

    /// Inspects the beginning of a text before reading. Returns false if the text has only blank lines so far, which do not
    /// show its shape.
    pub fn begin(&mut self, name: &str, text: &[u8]) -> Result<bool> {
        match (self.format, self.shape, self.template) {
            (Format::Columns, None, Some(template)) => {
                self.shape = columns::shape(name, text, template, self.labels, self.layout)?;
                Ok(self.shape.is_some())
            }
            (Format::Columns | Format::Conllu(_) | Format::Crfsuite | Format::Jsonl | Format::Svmlight, ..) => Ok(true),
        }
    }

    /// Reads the sentences of `text[range]` into a sink. Offsets in errors count from the beginning of `text`.
    pub fn read<S: Sink>(&self, text: &[u8], range: Range<usize>, sink: &mut S) -> std::result::Result<(), Located> {
        let Reading { format, template, labels, shape, layout } = *self;
        match format {
            Format::Columns => {
                let shape = shape.expect("`begin` has seen a line");
                sentence::read(text, range, template, sink, |start, line, sentence| shape.token(start, line, sentence))
            }
            Format::Conllu(label) => sentence::read(text, range, template, sink, |start, line, sentence| {
                label.word(labels, start, line, sentence)
            }),
            Format::Crfsuite => crfsuite::read(text, range, labels, sink),
            Format::Jsonl => jsonl::read(text, range, labels, template, layout.trained, sink),
            Format::Svmlight => svmlight::read(text, range, labels, sink),
        }
    }
}
