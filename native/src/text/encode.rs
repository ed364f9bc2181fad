//! From a text to a corpus: threads encode pieces of the text, which are then joined, first piece first.

use crate::corpus::Corpus;
use crate::corpus::assembly::{Assembly, Builder};
use crate::corpus::sink::Sink;
use crate::error::{Error, Located, Result};
use crate::text::expand::Expander;
use crate::text::input::{self, PIECE, Source, Windows};
use crate::text::labels::Labels;
use crate::text::template::Template;
use crate::text::{columns, conllu, crfsuite, jsonl, svmlight};
use crate::threads::Interrupt;
use rayon::prelude::*;
use std::ops::Range;
use std::str::FromStr;

/// A format of data files; a module of this folder reads each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Columns,
    Conllu(conllu::Label),
    Crfsuite,
    Jsonl,
    Svmlight,
}

/// The names of all formats, for messages.
const KNOWN: &str =
    "columns, conllu (labels: UPOS), conllu:xpos, conllu:feats, conllu:deprel, crfsuite, jsonl or svmlight";

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Format> {
        match name {
            "columns" => Ok(Format::Columns),
            "conllu" => Ok(Format::Conllu(conllu::Label::Upos)),
            "crfsuite" => Ok(Format::Crfsuite),
            "jsonl" => Ok(Format::Jsonl),
            "svmlight" => Ok(Format::Svmlight),
            _ => name
                .strip_prefix("conllu:")
                .and_then(conllu::Label::named)
                .map(Format::Conllu)
                .ok_or_else(|| Error::Option(format!("format '{name}' is unknown; choose {KNOWN}"))),
        }
    }
}

impl Format {
    /// Whether a text of this format can be cut after a line without cutting a sentence.
    pub fn ends(self, line: &[u8]) -> bool {
        match self {
            Format::Columns | Format::Conllu(_) => columns::is_blank(line),
            Format::Crfsuite => line.is_empty(),
            Format::Jsonl | Format::Svmlight => true,
        }
    }

    /// The given template. Fails if this format needs a template and there is none, or takes none and there is one.
    pub fn check_template(self, template: Option<&Template>) -> Result<Option<&Template>> {
        match (self, template) {
            (Format::Columns | Format::Conllu(_), None) => Err(Error::Option(
                "columns need a template or a preset that says which attributes to form (see `loglinear presets`)"
                    .into(),
            )),
            (Format::Crfsuite | Format::Svmlight, Some(_)) => Err(Error::Option(
                "attribute files hold their attributes already; leave out the template, or choose the format columns"
                    .into(),
            )),
            (Format::Conllu(label), Some(asked)) => label.check_template(asked).map(|()| template),
            _ => Ok(template),
        }
    }
}

/// Bytes of text in memory at a time.
const WINDOW: usize = 16 << 20;

/// How a text is read.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    pub format: Format,
    pub template: Option<&'a Template>,
    pub labels: Labels,
    pub interrupt: &'a Interrupt,
}

/// Encodes a text. Ids depend on the text alone, not on the number of threads.
pub fn encode(source: Source, reading: Reading<'_>) -> Result<Corpus> {
    let mut assembly = Assembly::default();
    for_each_piece(source, reading, |piece| assembly.push(piece))?;
    let mut corpus = assembly.finish();
    let flags = reading.flags();
    [corpus.transitions, corpus.triples, corpus.labelled] = flags;
    Ok(corpus)
}

impl Reading<'_> {
    /// Whether label bigrams are features, whether label triples are, and whether there are labels, as `Corpus` has it.
    pub fn flags(self) -> [bool; 3] {
        let transitions = self.template.is_none_or(|template| template.transitions);
        [transitions, self.template.is_some_and(|template| template.triples), self.labels.given()]
    }
}

/// Encodes a text piece by piece, and hands the pieces over, first piece first. A window of the text is in memory at a time.
///
/// Errors: bad content, by file and line; no sentences; and whatever `push` returns.
pub fn for_each_piece(
    source: Source,
    Reading { format, template, labels, interrupt }: Reading<'_>,
    mut push: impl FnMut(Builder) -> Result<()>,
) -> Result<()> {
    let template = format.check_template(template)?;
    let ends = |line: &[u8]| format.ends(line);
    let mut windows = Windows::new(source, WINDOW, &ends);
    let (mut shape, mut n_sentences) = (None, 0);
    while let Some(window) = windows.advance()? {
        let (name, content) = (&windows.source.name, window.bytes.as_slice());
        if let (None, Format::Columns, Some(template)) = (shape, format, template) {
            shape = column_shape(name, content, template, labels)?;
            if shape.is_none() {
                continue;
            }
        }
        let pieces = input::pieces(content, PIECE, ends);
        let builders: Vec<Result<Builder>> = pieces
            .into_par_iter()
            .map(|range| {
                interrupt.check()?;
                encode_piece(content, range, format, template, shape, labels)
                    .map_err(|mistake| mistake.into_error(name, content, window.lines_before))
            })
            .collect();
        for builder in builders {
            let piece = builder?;
            n_sentences += piece.n_sentences();
            push(piece)?;
        }
    }
    if n_sentences == 0 {
        let name = &windows.source.name;
        return Err(Error::Data(format!("{name}: no sentences; the file is empty or holds only blank lines")));
    }
    Ok(())
}

/// Encodes the piece `content[range]`.
fn encode_piece(
    content: &[u8],
    range: Range<usize>,
    format: Format,
    template: Option<&Template>,
    shape: Option<columns::Shape>,
    labels: Labels,
) -> std::result::Result<Builder, Located> {
    let mut builder = Builder::default();
    let mut expander = template.map(Expander::new);
    match (format, &mut expander, shape) {
        (Format::Columns, Some(expander), Some(shape)) => columns::read(content, range, shape, |sentence| {
            expander.expand(&sentence.cells, &mut builder, |token| sentence.labels.get(token).cloned());
            builder.end_sentence(1.0);
        })?,
        (Format::Conllu(label), Some(expander), _) => {
            let inputs = template.map_or(0, |template| template.columns);
            conllu::read(content, range, inputs, label, labels, |sentence| {
                expander.expand(&sentence.cells, &mut builder, |token| sentence.gold.get(token).cloned());
                builder.end_sentence(1.0);
            })?;
        }
        (Format::Jsonl, expander, _) => {
            let inputs = template.map_or(0, |template| template.columns);
            jsonl::read(content, range, labels, expander.as_mut(), inputs, &mut builder)?;
        }
        (Format::Svmlight, ..) => svmlight::read(content, range, labels, &mut builder)?,
        _ => crfsuite::read(content, range, labels, &mut builder)?,
    }
    Ok(builder)
}

/// The shape of a column file, read off its first line; none if all lines are blank. Fails if the template needs more columns.
pub fn column_shape(name: &str, content: &[u8], template: &Template, labels: Labels) -> Result<Option<columns::Shape>> {
    let Some(found) = columns::count_columns(content) else { return Ok(None) };
    let inputs = found - usize::from(labels.given());
    if labels.given() && inputs == 0 {
        let message = format!("{name}: one column; labelled data needs at least two, the label last");
        return Err(Error::Data(message));
    }
    if inputs < template.columns {
        let beside = if labels.given() { " beside the label" } else { "" };
        return Err(Error::Template(format!(
            "the template looks at column {} (counted from 0), but {name} has {inputs} column{}{beside}",
            template.columns - 1,
            if inputs == 1 { "" } else { "s" },
        )));
    }
    Ok(Some(columns::Shape { columns: found, inputs: template.columns, labels }))
}
