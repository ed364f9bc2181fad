//! Ranges of a file that hold whole sentences, so that several processes can read a part each.

use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::files::compression::is_compressed;
use crate::files::opening::open_regular;
use crate::text::columns::LOOKED_AT;
use crate::text::encode::{encode_part, for_each_piece};
use crate::text::format::{Format, Reading};
use crate::text::input::{Source, trim_newline, without_mark};
use crate::threads::Interrupt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

/// Cuts a file into as many ranges as it has `size` bytes, of about the same length each; each ends after a sentence, and the cuts
/// depend only on file and size.
/// None if the file is compressed: it can only be read from its beginning.
pub fn cut(path: &Path, format: Format, size: u64) -> Result<Option<Vec<Range<u64>>>> {
    let file = open_regular(path)?;
    let failed = |source| Error::io(path, source);
    let length = file.metadata().map_err(failed)?.len();
    let mut reader = BufReader::new(file);
    if is_compressed(reader.fill_buf().map_err(failed)?) == Some(true) {
        return Ok(None);
    }
    // A small range at the end would leave a worker idle.
    let size = length.div_ceil(length.div_ceil(size.max(1)).max(1)).max(1);
    let (mut ranges, mut start, mut line) = (Vec::new(), 0, Vec::new());
    while start < length {
        // As `input::pieces`: to the end of the line with the last byte, and on to a line that ends a sentence.
        let mut end = (start + size).min(length) - 1;
        reader.seek(SeekFrom::Start(end)).map_err(failed)?;
        end += reader.read_until(b'\n', &mut line).map_err(failed)? as u64;
        while end < length {
            line.clear();
            end += reader.read_until(b'\n', &mut line).map_err(failed)? as u64;
            if line.is_empty() || format.ends(trim_newline(&line)) {
                break;
            }
        }
        line.clear();
        ranges.push(start..end);
        start = end;
    }
    Ok(Some(ranges))
}

/// Encodes a range of a file, whose lines must look like the first line of the file. A range may hold only comments and blank lines;
/// a file that holds nothing else is refused at its first range. Errors name the line of the file.
pub fn encode_range(path: &Path, range: Range<u64>, mut reading: Reading<'_>, interrupt: &Interrupt) -> Result<Corpus> {
    let mut file = open_regular(path)?;
    let failed = |source| Error::io(path, source);
    file.seek(SeekFrom::Start(range.start)).map_err(failed)?;
    let mut text = Vec::new();
    file.by_ref().take(range.end - range.start).read_to_end(&mut text).map_err(failed)?;
    let name = path.display().to_string();
    if text.len() as u64 != range.end - range.start {
        return Err(Error::Data(format!("{name}: the file became shorter after it was divided into parts")));
    }
    // The lines of every range look like those at the beginning of the file.
    let (mut head, mut seen) = (File::take(open_regular(path)?, LOOKED_AT as u64), Vec::new());
    head.read_to_end(&mut seen).map_err(failed)?;
    let whole = seen.iter().rposition(|&byte| byte == b'\n').filter(|_| seen.len() == LOOKED_AT);
    let mut lines = BufReader::new(open_regular(path)?);
    lines.seek(SeekFrom::Start(seen.len() as u64)).map_err(failed)?;
    if whole.is_none() {
        lines.read_until(b'\n', &mut seen).map_err(failed)?;
    }
    let mut beginning = without_mark(&seen[..whole.map_or(seen.len(), |at| at + 1)]).to_vec();
    while !reading.begin(&name, &beginning)? {
        beginning.clear();
        if lines.read_until(b'\n', &mut beginning).map_err(failed)? == 0 {
            break;
        }
    }
    match encode_part(Source::of_bytes(&name, text.clone())?, reading, interrupt) {
        // The lines before the range are counted only when a message names a line.
        Err(Error::Data(_)) if range.start > 0 => {
            let mut source = Source::of_bytes(&name, text)?;
            source.lines_before = lines_before(path, range.start)?;
            encode_part(source, reading, interrupt)
        }
        Ok(corpus) if range.start == 0 && corpus.n_sentences() == 0 => {
            for_each_piece(Source::open(path)?, reading, interrupt, |_| Ok(()))?;
            Ok(corpus)
        }
        encoded => encoded,
    }
}

/// The number of lines before a byte of a file.
fn lines_before(path: &Path, start: u64) -> Result<usize> {
    let mut reader = BufReader::new(File::take(open_regular(path)?, start));
    let mut lines = 0;
    loop {
        let buffer = reader.fill_buf().map_err(|source| Error::io(path, source))?;
        if buffer.is_empty() {
            return Ok(lines);
        }
        lines += buffer.iter().filter(|&&byte| byte == b'\n').count();
        let length = buffer.len();
        reader.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::input;
    use crate::text::labels::Labels;
    use crate::text::sentence::is_blank;
    use crate::text::template::Template;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_are_the_pieces_of_the_text(text in "[ab\n\r ]{0,80}", size in 1u64..20) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("text");
            std::fs::write(&path, &text).unwrap();
            let ranges = cut(&path, Format::Columns, size).unwrap().unwrap();
            let count = text.len().div_ceil(size as usize).max(1);
            let pieces = input::pieces(text.as_bytes(), text.len().div_ceil(count), is_blank);
            let wide: Vec<_> = pieces.into_iter().map(|piece| piece.start as u64..piece.end as u64).collect();
            prop_assert_eq!(ranges, wide);
        }
    }

    #[test]
    fn mistakes_in_a_range_name_the_line_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "a A\n\nb B\n\nc C\nd\n\n\n\n").unwrap();
        let template = Template::parse("U:%x[0,0]\n").unwrap();
        let ranges = cut(&path, Format::Columns, 5).unwrap().unwrap();
        let reading = Reading::new(Format::Columns, Some(&template), Labels::Whole).unwrap();
        let read = |range: &Range<u64>| encode_range(&path, range.clone(), reading, &Interrupt::default());
        assert_eq!(read(&ranges[0]).unwrap().n_sentences(), 2);
        let message = read(&ranges[1]).err().unwrap().to_string();
        assert!(message.contains("line 6"), "{message}");
        std::fs::write(&path, "a A\n\nb B\n\nc x C\nd y D\n\n").unwrap();
        let message = read(&(10..23)).err().unwrap().to_string();
        assert!(message.contains("line 5: expected 2 columns as in the first line"), "{message}");
    }
}
