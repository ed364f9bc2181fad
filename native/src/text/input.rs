//! Opening files: `-` is standard input; gzip and xz are recognised by their first bytes.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{Read, Write};
use std::ops::Range;
use std::path::Path;

/// A whole text in memory, with the name to use in messages.
pub struct Text {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Reads and, if need be, decompresses a file.
pub fn read(path: &str) -> Result<Text> {
    let name = if path == "-" { "<stdin>".to_owned() } else { path.to_owned() };
    let mut raw = Vec::new();
    if path == "-" {
        std::io::stdin().lock().read_to_end(&mut raw).map_err(|source| Error::io(&name, source))?;
    } else {
        let mut file = File::open(path).map_err(|source| Error::io(path, source))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Error::Data(format!("{name}: is a directory, not a data file")));
        }
        file.read_to_end(&mut raw).map_err(|source| Error::io(path, source))?;
    }
    let bytes = decompress(raw)
        .map_err(|source| Error::Data(format!("{name}: the compressed data is damaged or cut short ({source})")))?;
    Ok(Text { name, bytes })
}

fn decompress(raw: Vec<u8>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if raw.starts_with(&[0x1f, 0x8b]) {
        flate2::read::MultiGzDecoder::new(raw.as_slice()).read_to_end(&mut bytes)?;
    } else if raw.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
        liblzma::read::XzDecoder::new_multi_decoder(raw.as_slice()).read_to_end(&mut bytes)?;
    } else {
        bytes = raw;
    }
    Ok(bytes)
}

impl Text {
    /// The text without a byte order mark.
    pub fn content(&self) -> &[u8] {
        self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.bytes)
    }
}

/// Cuts a text into pieces of about `size` bytes, each ending after a line that `ends` accepts.
/// The cut depends on the text alone, so that ids do not depend on the number of threads.
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

/// The size of pieces for a text: enough of them to keep many threads busy, not so many that merging them shows.
pub fn piece_size(text: &[u8]) -> usize {
    (text.len() / 64).max(768 << 10)
}

fn next_line(text: &[u8], from: usize) -> usize {
    text[from..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |at| from + at + 1)
}

fn trim_newline(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Lines with the offset of their first byte, without line ends (LF or CRLF).
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

/// Writes a file through a temporary one beside it, renamed into place once it is complete and on disk.
/// What is not a regular file (a pipe, a terminal, /dev/stdout) is written to as it is.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let fail = |source| Error::io(path, source);
    if path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let mut file = File::options().write(true).open(path).map_err(fail)?;
        return write(&mut file).and_then(|()| file.flush()).map_err(fail);
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut temporary = tempfile::Builder::new()
        .prefix(".loglinear-")
        .suffix(".tmp")
        .permissions(permissions(path))
        .tempfile_in(folder)
        .map_err(fail)?;
    let file = temporary.as_file_mut();
    let mut buffered = std::io::BufWriter::with_capacity(1 << 20, &mut *file);
    write(&mut buffered).and_then(|()| buffered.flush()).map_err(fail)?;
    drop(buffered);
    file.sync_all().map_err(fail)?;
    temporary.persist(path).map_err(|error| fail(error.error))?;
    Ok(())
}

#[cfg(unix)]
fn permissions(path: &Path) -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().map_or_else(|_| std::fs::Permissions::from_mode(0o666), |metadata| metadata.permissions())
}

#[cfg(not(unix))]
fn permissions(path: &Path) -> std::fs::Permissions {
    path.metadata()
        .map(|metadata| metadata.permissions())
        .unwrap_or_else(|_| Path::new(".").metadata().expect("the current folder").permissions())
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
    fn lines_drop_their_ends() {
        let got: Vec<_> = lines(b"a\r\n\nb").collect();
        assert_eq!(got, [(0, b"a".as_slice()), (3, b""), (4, b"b")]);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        write_atomically(&path, |out| out.write_all(b"old")).unwrap();
        let failed = write_atomically(&path, |out| {
            out.write_all(b"new")?;
            Err(std::io::Error::other("disk full"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
