//! Reading of text: files, compressed ones among them, which are recognised by their first bytes; windows and pieces of a text, and lines.

use crate::error::{Error, Located, Result};
use crate::files::compression;
use crate::files::opening::open_at_once;
use crate::files::signature::{self, LOOKED_AT};
use crate::text::bytes::position;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most MiB of a sentence's text, unless `set_max_sentence` says otherwise: over ten million tokens of usual text.
pub const MAX_SENTENCE: usize = 128;
static MOST_OF_SENTENCE: AtomicUsize = AtomicUsize::new(MAX_SENTENCE << 20);

/// Sets the most MiB of a sentence's text, for this process. A small file that is compressed can hold a sentence that fills any memory.
pub fn set_max_sentence(mib: usize) {
    MOST_OF_SENTENCE.store(mib.saturating_mul(1 << 20).min(usize::MAX >> 2), Ordering::Relaxed);
}

/// The most MiB of a sentence's text.
pub fn max_sentence() -> usize {
    most_of_sentence() >> 20
}

/// The most bytes of a sentence's text.
pub fn most_of_sentence() -> usize {
    MOST_OF_SENTENCE.load(Ordering::Relaxed)
}

/// The offset of the first sentence of a text that is too large, if there is one.
pub fn too_large_at(text: &[u8], ends: &dyn Fn(&[u8]) -> bool) -> Option<usize> {
    let (most, mut start) = (most_of_sentence(), 0);
    while text.len() - start > most {
        match last_end(&text[start..start + most + 1], ends) {
            0 => return Some(start),
            end => start += end,
        }
    }
    None
}

/// The error for a sentence that is too large, after some lines of a file.
pub fn too_large(name: &str, lines_before: usize) -> Error {
    Error::Data(format!(
        "{name}, line {}: the sentence that begins here has more than {} MiB of text; check where sentences end (in \
         svmlight and JSON lines each line is one), or raise --max-sentence (set_max_sentence in Python)",
        lines_before + 1,
        max_sentence()
    ))
}

/// A text to read from, decompressed if need be.
pub struct Source {
    /// The name for messages.
    pub name: String,
    reader: Box<dyn Read + Send>,
    /// Whether the file is compressed.
    compressed: bool,
    /// Lines of the file before the text, for messages; 0 except for a range of a file.
    pub lines_before: usize,
}

impl Source {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Source> {
        Source::new(&path.display().to_string(), Box::new(open_file(path)?))
    }

    /// A text in memory, with its name for messages.
    pub fn of_bytes(name: &str, text: Vec<u8>) -> Result<Source> {
        Source::new(name, Box::new(std::io::Cursor::new(text)))
    }

    /// The text from `raw`, decompressed if its first bytes say so; with its name for messages. Error: it is no text.
    pub fn new(name: &str, raw: Box<dyn Read + Send>) -> Result<Source> {
        let mut source = Source { name: name.to_owned(), reader: raw, compressed: false, lines_before: 0 };
        let mut start = source.look()?;
        if let Some(kind) = compression::of_start(&start) {
            source.compressed = true;
            let free = 2 * most_of_sentence().max(MAX_SENTENCE << 20) as u64;
            source.reader = kind.compression.reader(source.reader, free).map_err(|error| Error::io(name, error))?;
            start = source.look()?;
        }
        signature::check_text(name, &start, source.compressed)?;
        Ok(source)
    }

    /// The first bytes of the text, which stay to be read.
    fn look(&mut self) -> Result<Vec<u8>> {
        let mut start = Vec::with_capacity(LOOKED_AT);
        self.read(LOOKED_AT, &mut start)?;
        let rest = std::mem::replace(&mut self.reader, Box::new(std::io::empty()));
        self.reader = Box::new(std::io::Cursor::new(start.clone()).chain(rest));
        Ok(start)
    }

    /// The whole text, in which sentences may end after lines that `ends` accepts. Error: a sentence is too large.
    pub fn text(mut self, ends: impl Fn(&[u8]) -> bool) -> Result<Text> {
        let (mut bytes, mut start, most) = (Vec::new(), 0, most_of_sentence());
        loop {
            let wanted = most + 1 - (bytes.len() - start);
            if self.read(wanted, &mut bytes)? < wanted {
                return Ok(Text { name: self.name, bytes });
            }
            match last_end(&bytes[start..], &ends) {
                0 => return Err(too_large(&self.name, self.lines_before + newlines(&bytes[..start]))),
                end => start += end,
            }
        }
    }

    /// Some of the text as soon as it is there, at most so many bytes; empty at its end.
    pub fn part(&mut self, most: usize) -> Result<Vec<u8>> {
        let mut part = vec![0; most];
        let count = loop {
            match self.reader.read(&mut part) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => break read.map_err(|source| self.failure(source))?,
            }
        };
        part.truncate(count);
        Ok(part)
    }

    /// Appends up to `limit` bytes to `into`; returns their number, which is smaller at the end of the text only.
    fn read(&mut self, limit: usize, into: &mut Vec<u8>) -> Result<usize> {
        let read = self.reader.by_ref().take(limit as u64).read_to_end(into);
        read.map_err(|source| self.failure(source))
    }

    fn failure(&self, source: std::io::Error) -> Error {
        if self.compressed {
            Error::Data(format!("{}: {}", self.name, compression::problem(&source)))
        } else {
            Error::io(&self.name, source)
        }
    }
}

/// Opens a file of data. A named pipe or a device is for `Arriving`, which waits for its bytes.
pub fn open_file(path: &Path) -> Result<File> {
    let file = open_at_once(path).map_err(|source| Error::io(path, source))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Error::Data(format!("{}: a folder, not a file; give the name of a file", path.display())));
    }
    Ok(file)
}

/// A whole text in memory.
pub struct Text {
    pub name: String,
    bytes: Vec<u8>,
}

impl Text {
    /// The text without a byte order mark.
    pub fn content(&self) -> &[u8] {
        without_mark(&self.bytes)
    }

    /// The bytes of the text.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// The bytes without a byte order mark.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Reads a text window by window, so that the whole text need not fit in memory.
pub struct Windows<'e> {
    pub source: Source,
    /// Whether a window may end after a line.
    ends: &'e dyn Fn(&[u8]) -> bool,
    /// Bytes of a window, about.
    size: usize,
    /// Bytes that were read beyond the end of the last window.
    leftover: Vec<u8>,
    /// Lines of the file before the next window.
    lines: usize,
    /// Whether the byte order mark has been looked for.
    started: bool,
}

/// Consecutive lines of a text.
pub struct Window {
    pub bytes: Vec<u8>,
    /// Lines of the text before the window.
    pub lines_before: usize,
}

impl<'e> Windows<'e> {
    /// Windows of about `size` bytes that end after lines which `ends` accepts.
    pub fn new(source: Source, size: usize, ends: &'e dyn Fn(&[u8]) -> bool) -> Self {
        // At least 16 bytes: a byte order mark must fit into the first window.
        Windows { lines: source.lines_before, source, ends, size: size.max(16), leftover: Vec::new(), started: false }
    }

    /// The next window; none at the end of the text. Error: a sentence is too large.
    pub fn advance(&mut self) -> Result<Option<Window>> {
        let (mut bytes, most) = (std::mem::take(&mut self.leftover), most_of_sentence());
        loop {
            // A window without the end of a sentence belongs to one sentence.
            if bytes.len() > most {
                return Err(too_large(&self.source.name, self.lines));
            }
            let wanted = self.size.max(bytes.len()).min(most + 1 - bytes.len());
            let at_end = self.source.read(wanted, &mut bytes)? < wanted;
            if !self.started {
                self.started = true;
                bytes.drain(..bytes.len() - without_mark(&bytes).len());
            }
            let end = if at_end { bytes.len() } else { last_end(&bytes, self.ends) };
            if at_end && bytes.is_empty() {
                return Ok(None);
            }
            if end > 0 {
                self.leftover = bytes.split_off(end);
                let lines_before = self.lines;
                self.lines += newlines(&bytes);
                return Ok(Some(Window { bytes, lines_before }));
            }
        }
    }
}

/// The end of the last whole line that `ends` accepts; 0 if there is none.
pub fn last_end(text: &[u8], ends: &dyn Fn(&[u8]) -> bool) -> usize {
    let mut end = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    while end > 0 {
        let start = text[..end - 1].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        if ends(trim_newline(&text[start..end])) {
            return end;
        }
        end = start;
    }
    0
}

/// Cuts a text into pieces of about `size` bytes, each ending after a line that `ends` accepts.
/// The cut depends only on the text, so that ids do not depend on the number of threads.
pub fn pieces(text: &[u8], size: usize, ends: impl Fn(&[u8]) -> bool) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let mut end = next_line(text, (start + size.max(1)).min(text.len()) - 1);
        while end < text.len() {
            let line_end = next_line(text, end);
            let accepted = ends(trim_newline(&text[end..line_end]));
            end = line_end;
            if accepted {
                break;
            }
        }
        pieces.push(start..end);
        start = end;
    }
    pieces
}

/// Size of a piece in bytes: small enough for many threads, large enough that joining the corpora takes little time.
pub const PIECE: usize = 768 << 10;

/// The beginning of the line after the one that contains byte `from`.
fn next_line(text: &[u8], from: usize) -> usize {
    from + position(&text[from..], b'\n').map_or(text.len() - from, |at| at + 1)
}

/// Number of lines that end in a text.
fn newlines(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'\n').count()
}

/// The line without its end, LF or CRLF.
pub fn trim_newline(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Calls `on_line` with the offset of each line of `text[range]` in the text, and with the line without its newline. Fails if
/// the text is not UTF-8, or with the message that `on_line` returns, at its line.
#[inline]
pub fn for_each_line<'t>(
    text: &'t [u8],
    range: Range<usize>,
    mut on_line: impl FnMut(usize, &'t [u8]) -> std::result::Result<(), String>,
) -> std::result::Result<(), Located> {
    let (offset, piece) = (range.start, &text[range]);
    std::str::from_utf8(piece).map_err(|error| {
        let at = offset + error.valid_up_to();
        Located::new(at, not_utf8(&text[..at], text[at]))
    })?;
    for (start, line) in lines(piece) {
        on_line(offset + start, line).map_err(|message| Located::new(offset + start, message))?;
    }
    Ok(())
}

/// The message for a byte that is not UTF-8, after the text before it.
fn not_utf8(before: &[u8], byte: u8) -> String {
    let letter = char::from(byte);
    let latin = if letter.is_alphanumeric() { format!(" ({letter} in Latin-1)") } else { String::new() };
    let remedy = if before.iter().any(|byte| !byte.is_ascii()) {
        "the text before it is UTF-8, so the file mixes encodings: correct this line"
    } else {
        "convert the file to UTF-8, for example with: iconv -f latin1 -t utf-8 FILE > NEW"
    };
    format!("invalid UTF-8, byte 0x{byte:02x}{latin}; {remedy}")
}

/// All lines of a text without their ends (LF or CRLF), each with the offset of its first byte.
pub fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut start = 0;
    std::iter::from_fn(move || {
        if start >= text.len() {
            return None;
        }
        let (begin, end) = (start, next_line(text, start));
        start = end;
        Some((begin, trim_newline(&text[begin..end])))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_cover_the_text_and_end_at_blank_lines(text in "[ab\n\r ]{0,80}", size in 1usize..20) {
            let text = text.as_bytes();
            let mut expected = 0;
            for piece in pieces(text, size, |line| line.iter().all(u8::is_ascii_whitespace)) {
                prop_assert_eq!(piece.start, expected);
                prop_assert!(piece.end > piece.start);
                expected = piece.end;
            }
            prop_assert_eq!(expected, text.len());
        }
    }

    #[test]
    fn windows_join_to_the_text_and_know_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text").display().to_string();
        let text: String = (0..200).map(|i| if i % 7 == 3 { "\n".into() } else { format!("line {i}\n") }).collect();
        std::fs::write(&path, format!("\u{feff}{text}")).unwrap();
        for size in [1, 10, 64, 100_000] {
            let mut windows = Windows::new(Source::open(Path::new(&path)).unwrap(), size, &|line| line.is_empty());
            let mut joined = Vec::new();
            while let Some(window) = windows.advance().unwrap() {
                assert_eq!(window.lines_before, joined.iter().filter(|&&byte| byte == b'\n').count());
                joined.extend_from_slice(&window.bytes);
                assert!(joined.ends_with(b"\n\n") || joined.len() == text.len());
            }
            assert!(joined == text.as_bytes());
        }
    }

    #[test]
    fn a_sentence_that_is_too_large_is_refused_before_it_is_read() {
        // Endless text after a sentence of some bytes: reading must end by itself.
        let endless = |first: &str| {
            let raw =
                std::io::Cursor::new(format!("{first}\n\n")).chain(std::io::BufReader::with_capacity(1 << 16, Ab));
            Source::new("endless", Box::new(raw)).unwrap()
        };
        let blank = |line: &[u8]| line.is_empty();
        let mut windows = Windows::new(endless("a"), 1 << 20, &blank);
        let error = loop {
            match windows.advance() {
                Ok(window) => assert!(window.unwrap().bytes.len() <= 2 << 20),
                Err(error) => break error.to_string(),
            }
        };
        let text = endless("a\nb").text(blank).err().unwrap().to_string();
        assert!(error.starts_with("endless, line 3: the sentence that begins here has more than 128 MiB"), "{error}");
        assert!(text.starts_with("endless, line 4: the sentence that begins here has more than 128 MiB"), "{text}");
    }

    /// The line "ab" without end.
    struct Ab;

    impl Read for Ab {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let lines = into.len() / 3 * 3;
            into[..lines].chunks_exact_mut(3).for_each(|line| line.copy_from_slice(b"ab\n"));
            Ok(lines)
        }
    }

    #[test]
    fn a_byte_of_another_encoding_is_named_with_the_remedy() {
        let message = |text: &[u8]| for_each_line(text, 0..text.len(), |_, _| Ok(())).unwrap_err().message;
        let latin = message(b"caf\xe9 O\n");
        assert!(latin.contains("byte 0xe9 (\u{e9} in Latin-1)") && latin.contains("iconv -f latin1"), "{latin}");
        let mixed =
            message("caf\u{e9} O\n".as_bytes().iter().chain(b"caf\xe9 O\n").copied().collect::<Vec<u8>>().as_slice());
        assert!(mixed.contains("mixes encodings: correct this line"), "{mixed}");
    }

    #[test]
    fn lines_drop_their_ends() {
        let got: Vec<_> = lines(b"a\r\n\nb").collect();
        assert_eq!(got, [(0, b"a".as_slice()), (3, b""), (4, b"b")]);
    }
}
