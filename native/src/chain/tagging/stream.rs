//! Text that is labelled while it arrives: every sentence is answered as soon as it is complete.

use crate::chain::model::Model;
use crate::chain::tagging::answer::Request;
use crate::chain::tagging::scorer::{Tally, Written};
use crate::chain::tagging::tagger::{PIECE, Piece, TextTagger};
use crate::error::{Error, Result};
use crate::files::compression::is_compressed;
use crate::files::signature;
use crate::text::arriving::{Arriving, Input};
use crate::text::format::Format;
use crate::text::input::{Source, last_end, too_large, too_large_at, without_mark};
use crate::text::layout::Layout;
use crate::threads::{Interrupt, Pool};

/// Bytes of the beginning of the text that are kept, to be looked at.
const LOOKED_AT: usize = 64 << 10;

/// Where answers go.
pub trait Output {
    /// Writes answers, so that they can be read at once.
    fn write(&mut self, answers: &[u8]) -> Result<()>;

    /// Looks at the beginning of the text, once 64 KiB of it are there or it has ended.
    fn look(&mut self, beginning: &[u8]) -> Result<()>;
}

/// Labels a text as `tagger::tag` does, but whatever is complete at once. All sentences that are there are labelled in parallel
/// while more are read. A mistake ends the work, after the answers to the sentences before it. A compressed text is read to its end
/// first. Returns how much was labelled.
#[allow(clippy::too_many_arguments)]
pub fn tag_stream<O: Output>(
    model: &Model,
    name: &str,
    input: Input,
    format: Format,
    layout: Layout,
    request: Request<'_>,
    pool: Pool,
    output: O,
    interrupt: &Interrupt,
) -> Result<Tally> {
    let tagger = TextTagger::new(model, format, layout, request)?;
    let mut stream = Stream {
        tagger,
        name,
        output,
        interrupt,
        lines: 0,
        tally: Tally::default(),
        beginning: Vec::new(),
        looked: false,
    };
    let arriving = Arriving::new(input)?;
    let mut pending = Vec::new();
    // Offset of the first line that may belong to an unfinished sentence.
    let mut from = 0;
    let (mut compressed, mut begun) = (None, false);
    loop {
        let read = arriving.take(&mut pending, interrupt)?;
        let ended = read.map_err(|source| Error::io(name, source))?;
        compressed = compressed.or_else(|| is_compressed(&pending));
        if compressed != Some(false) && !ended {
            continue;
        }
        if !begun && compressed == Some(false) {
            signature::check_text(name, &pending[..pending.len().min(signature::LOOKED_AT)], false)?;
        }
        if compressed == Some(true) {
            pending = Source::of_bytes(name, pending)?.text(|line| format.ends(line))?.into_bytes();
        }
        let large = too_large_at(&pending, &|line| format.ends(line));
        let whole = || if ended { pending.len() } else { last_line(&pending, from, format) };
        let complete = large.unwrap_or_else(whole);
        let behind = pending.split_off(complete);
        let batch = std::mem::replace(&mut pending, behind);
        from = pending.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        if !batch.is_empty() {
            let content = if begun { &batch } else { without_mark(&batch) };
            begun = true;
            stream.batch(content, pool)?;
        }
        if large.is_some() {
            return Err(too_large(name, stream.lines));
        }
        if ended {
            stream.look(true)?;
            return Ok(stream.tally);
        }
    }
}

/// The end of the last complete sentence, whose last line begins at `from` or later; 0 if there is none.
fn last_line(text: &[u8], from: usize, format: Format) -> usize {
    match last_end(&text[from..], &|line| format.ends(line)) {
        0 => 0,
        end => from + end,
    }
}

/// The work on a text that arrives.
struct Stream<'a, O> {
    tagger: TextTagger<'a>,
    name: &'a str,
    output: O,
    interrupt: &'a Interrupt,
    /// Lines labelled.
    lines: usize,
    /// How much was labelled.
    tally: Tally,
    /// The beginning of the text, until it has been looked at.
    beginning: Vec<u8>,
    looked: bool,
}

impl<O: Output> Stream<'_, O> {
    /// Labels complete sentences and writes the answers.
    fn batch(&mut self, content: &[u8], pool: Pool) -> Result<()> {
        if !self.looked {
            let room = LOOKED_AT - self.beginning.len();
            self.beginning.extend_from_slice(&content[..room.min(content.len())]);
        }
        let mut written = Written::default();
        let mut wrong = None;
        for (range, tagged) in self.pieces(content, pool)? {
            match tagged {
                Ok(answers) => written.append(answers),
                Err(mistake) => {
                    let before = range.start..mistake.offset.clamp(range.start, range.end);
                    let complete = last_line(&content[before.clone()], 0, self.tagger.reading.format);
                    let sound = self.tagger.piece(content, range.start..range.start + complete, self.interrupt);
                    self.interrupt.check()?;
                    written.append(sound.unwrap_or_default());
                    wrong = Some(mistake);
                    break;
                }
            }
        }
        self.output.write(&written.answers)?;
        self.tally.add(written.tally);
        if let Some(mistake) = wrong {
            return Err(mistake.into_error(self.name, content, self.lines));
        }
        self.lines += content.iter().filter(|&&byte| byte == b'\n').count();
        self.look(false)
    }

    /// What is written for complete sentences, piece by piece. A single piece needs no other thread.
    fn pieces(&mut self, content: &[u8], pool: Pool) -> Result<Vec<Piece>> {
        let (tagger, name, interrupt) = (&mut self.tagger, self.name, self.interrupt);
        let mut tag = || tagger.pieces(name, content, interrupt);
        if content.len() <= PIECE { tag() } else { pool.install(tag) }
    }

    /// Has the beginning of the text looked at, once, when it is long enough or the text has ended.
    fn look(&mut self, ended: bool) -> Result<()> {
        if self.looked || !(ended || self.beginning.len() >= LOOKED_AT) {
            return Ok(());
        }
        self.looked = true;
        self.output.look(&std::mem::take(&mut self.beginning))
    }
}
