//! From a text to a corpus: threads encode pieces of the text, which are then joined, first piece first.

use crate::corpus::Corpus;
use crate::corpus::assembly::{Assembly, Builder};
use crate::error::{Error, Result};
use crate::text::format::Reading;
use crate::text::input::{self, PIECE, Source, Windows};
use crate::threads::Interrupt;
use rayon::prelude::*;
use std::ops::Range;

/// Bytes of text in memory at a time.
const WINDOW: usize = 16 << 20;

/// Encodes a text. Ids depend only on the text, not on the number of threads. Errors: as `for_each_piece`.
pub fn encode(source: Source, reading: Reading<'_>, interrupt: &Interrupt) -> Result<Corpus> {
    let name = source.name.clone();
    let corpus = encode_part(source, reading, interrupt)?;
    some_sentences(&name, corpus.n_sentences()).map(|()| corpus)
}

/// Encodes a part of a text, as `encode`, but the part may hold only comments and blank lines.
pub fn encode_part(source: Source, reading: Reading<'_>, interrupt: &Interrupt) -> Result<Corpus> {
    let mut assembly = Assembly::default();
    push_pieces(source, reading, interrupt, |piece| assembly.push(piece))?;
    let mut corpus = assembly.finish();
    [corpus.transitions, corpus.triples, corpus.labelled] = reading.flags();
    Ok(corpus)
}

/// Encodes a text piece by piece, and hands the pieces over, first piece first. A window of the text is in memory at a time.
///
/// Errors: bad content, by file and line; no sentences; and whatever `push` returns.
pub fn for_each_piece(
    source: Source,
    reading: Reading<'_>,
    interrupt: &Interrupt,
    push: impl FnMut(Builder) -> Result<()>,
) -> Result<()> {
    let name = source.name.clone();
    some_sentences(&name, push_pieces(source, reading, interrupt, push)?)
}

/// Fails if a whole text has no sentences.
fn some_sentences(name: &str, n_sentences: usize) -> Result<()> {
    if n_sentences == 0 {
        return Err(Error::Data(format!("{name}: no sentences; the file is empty or contains only blank lines")));
    }
    Ok(())
}

/// As `for_each_piece`, for any part of a text; returns the number of sentences.
fn push_pieces(
    source: Source,
    mut reading: Reading<'_>,
    interrupt: &Interrupt,
    mut push: impl FnMut(Builder) -> Result<()>,
) -> Result<usize> {
    let format = reading.format;
    let ends = |line: &[u8]| format.ends(line);
    let mut windows = Windows::new(source, WINDOW, &ends);
    let mut n_sentences = 0;
    while let Some(window) = windows.advance()? {
        let (name, content) = (&windows.source.name, window.bytes.as_slice());
        if !reading.begin(name, content)? {
            continue;
        }
        let encode = |range| {
            let mut builder = Builder::default();
            reading.read(content, range, &mut builder).map(|()| builder)
        };
        for (_, builder) in map_pieces(content, PIECE, &reading, interrupt, encode)? {
            let piece = builder.map_err(|mistake| mistake.into_error(name, content, window.lines_before))?;
            n_sentences += piece.n_sentences();
            push(piece)?;
        }
    }
    Ok(n_sentences)
}

/// Calls `work` with each piece of about `size` bytes of a text, in parallel; returns the pieces with the answers, first piece first.
pub fn map_pieces<T: Send>(
    text: &[u8],
    size: usize,
    reading: &Reading<'_>,
    interrupt: &Interrupt,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Result<Vec<(Range<usize>, T)>> {
    let pieces = input::pieces(text, size, |line| reading.format.ends(line));
    let answered = |range: Range<usize>| {
        interrupt.check()?;
        let answer = work(range.clone());
        interrupt.check()?;
        Ok((range, answer))
    };
    // A single piece needs no other thread.
    if pieces.len() == 1 {
        pieces.into_iter().map(answered).collect()
    } else {
        pieces.into_par_iter().map(answered).collect()
    }
}
