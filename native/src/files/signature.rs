//! What a file is, by its first bytes: readers of text and of models refuse files of other programs by name.

use crate::error::{Error, Result};
use crate::files::compression;
use flate2::read::ZlibDecoder;
use std::io::Read;

/// Bytes at the beginning of a file that are looked at.
pub const LOOKED_AT: usize = 4096;

/// First bytes of files -> what the file is, and what to do.
const SIGNATURES: &[(&[u8], &str, &str)] = &[
    (b"\x04\x22\x4d\x18", "lz4-compressed", "decompress it first: unlz4 FILE"),
    (b"\x5d\0\0", "lzma-compressed", "decompress it first: unlzma FILE"),
    (b"PK\x05\x06", "an empty ZIP archive", "unpack the right one: unzip FILE"),
    (b"PK\x07\x08", "a part of a ZIP archive", "unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"),
    (b"Rar!\x1a\x07", "a RAR archive", "unpack it first"),
    (
        b"PAR1",
        "a Parquet file",
        "save it as text, for example with pandas: read_parquet('FILE').to_csv('NEW', sep='\\t', index=False), and \
         header=False for sentences or texts",
    ),
    (
        b"ARROW1\0",
        "an Arrow file",
        "save it as text, for example with pandas: read_feather('FILE').to_csv('NEW', sep='\\t', index=False), and \
         header=False for sentences or texts",
    ),
    (b"\x93NUMPY", "a NumPy array", "save it as text with numpy.savetxt, or load it in Python"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook or another Office file", "save it as CSV or text"),
    (b"%PDF-", "a PDF file", "save its text"),
    (b"\x7fELF", "a program", "give a data file"),
    (b"\x89PNG\r\n", "a PNG picture", "give a data file"),
    (b"\xff\xd8\xff", "a JPEG picture", "give a data file"),
    (b"\x89HDF\r\n", "an HDF5 file", "save its data as text"),
    (b"SQLite format 3\0", "a SQLite database", "export a table as CSV"),
    (b"$FL2@(#)", "an SPSS file", "save it as CSV"),
    (b"$FL3@(#)", "an SPSS file", "save it as CSV"),
    (b"<stata_dta>", "a Stata file", "save it as CSV"),
    (b"RDX3\n", "an R data file", "save it as CSV, for example with write.csv in R"),
    (b"{\\rtf", "an RTF document", "save it as plain text"),
    (b"<!DOCTYPE html", "a web page", "download the data themselves, not the page that shows them"),
    (b"<!doctype html", "a web page", "download the data themselves, not the page that shows them"),
    (b"<html", "a web page", "download the data themselves, not the page that shows them"),
];

/// What is said of a file: what it is, and what to do.
pub type Signature = (&'static str, &'static str);

/// What a file with these first bytes is; none if it may be text or a model.
pub fn signature(start: &[u8]) -> Option<Signature> {
    if start.starts_with(b"PK\x03\x04") {
        return Some(archive(start));
    }
    if start.get(257..262) == Some(b"ustar") {
        return Some(("a tar archive", "unpack it first"));
    }
    let entry = SIGNATURES.iter().find(|(magic, ..)| start.starts_with(magic));
    // Words may begin like this one.
    let entry = entry.filter(|(magic, ..)| {
        *magic != b"PAR1" || start.get(4).is_some_and(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
    });
    entry
        .map(|&(_, what, remedy)| (what, remedy))
        .or_else(|| compression::of_start(start).map(|kind| (kind.name, kind.undo)))
        .or_else(|| zlib(start))
        .or_else(|| pickle(start))
        .or_else(|| unicode(start))
        .or_else(|| old(start))
}

/// A ZIP archive, which may be a file of another program: the names of its first members tell.
fn archive(start: &[u8]) -> Signature {
    let holds = |name: &[u8]| start.windows(name.len()).any(|window| window == name);
    if holds(b"xl/") {
        ("an Excel workbook", "save it as CSV or text")
    } else if holds(b"[Content_Types].xml") || holds(b"docProps/") || holds(b"mimetypeapplication/") {
        ("an Office document", "save it as CSV or text")
    } else if holds(b".npy") {
        ("a NumPy archive", "save its arrays as text with numpy.savetxt, or load it in Python")
    } else {
        ("a ZIP archive", "unpack it first: unzip FILE")
    }
}

/// A file compressed by zlib, which the beginning of its content tells: docs of spaCy are a map of MessagePack with the key "attrs".
fn zlib(start: &[u8]) -> Option<Signature> {
    // Text may begin with these bytes, but compressed bytes are not text.
    if !matches!(start, [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..]) || is_utf8(start) {
        return None;
    }
    let (mut content, mut read) = ([0; 256], 0);
    let mut decoder = ZlibDecoder::new(start);
    while let Ok(more @ 1..) = decoder.read(&mut content[read..]) {
        read += more;
    }
    let content = &content[..read];
    let is_map = matches!(content, [0x80..=0x8f | 0xde, ..]);
    if is_map && content.windows(6).any(|window| window == b"\xa5attrs") {
        let remedy = "`loglinear train` and `loglinear evaluate` read it with --format spacy, spacy:tags, spacy:pos or spacy:cats; to \
                      label docs, use a pipeline with a component such as loglinear_ner and config={'model_path': MODEL}";
        return Some(("a DocBin with docs of spaCy", remedy));
    }
    if let Some((_, remedy)) = pickle(content) {
        return Some(("a compressed Python pickle, as joblib writes", remedy));
    }
    let undo = "decompress it first: python -c 'import sys, zlib; sys.stdout.buffer.write(zlib.decompress(sys.stdin.buffer.read()))' \
                < FILE > NEW";
    (read > 0).then_some(("zlib-compressed", undo))
}

/// A pickle, which begins with the number of its protocol from 2 on, and before that with a container or a class to call.
fn pickle(start: &[u8]) -> Option<Signature> {
    let memo = |rest: &[u8]| rest.starts_with(b"q\0") || rest.starts_with(b"p0\n");
    let is_pickle = match start {
        [0x80, 2..=5, ..] => true,
        [b'}' | b']', rest @ ..] => rest.starts_with(b"q\0"),
        [b'(', b'd' | b'l', rest @ ..] => memo(rest),
        [b'c', ..] => start.splitn(3, |&byte| byte == b'\n').nth(2).is_some_and(memo),
        _ => false,
    };
    is_pickle.then_some(("a Python pickle", "pickles are never loaded: load it in Python and save the data as text"))
}

/// Text in UTF-16 or UTF-32, with a byte order mark or without one, or bytes of which many are zero.
fn unicode(start: &[u8]) -> Option<Signature> {
    match start {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            return Some(("text in UTF-32", "convert it: iconv -f utf-32 -t utf-8 FILE > NEW"));
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            return Some(("text in UTF-16", "convert it: iconv -f utf-16 -t utf-8 FILE > NEW"));
        }
        _ => {}
    }
    if let Some((_, remedy)) = UNMARKED.iter().find(|(is_text, _)| is_text(start)) {
        let what = if remedy.contains("utf-32") { "text in UTF-32" } else { "text in UTF-16" };
        return Some((what, remedy));
    }
    let zeros = start.iter().filter(|&&byte| byte == 0).count();
    let is_binary = zeros >= 8 && 5 * zeros >= start.len();
    is_binary.then_some(("a binary file, or text in UTF-16", "save it as text in UTF-8"))
}

/// Tests for text in an encoding without a byte order mark, and what to do.
type Unmarked = (fn(&[u8]) -> bool, &'static str);
const UNMARKED: [Unmarked; 4] = [
    (|start| wide(start, |[a, b]| u16::from_le_bytes([a, b])), "convert it: iconv -f utf-16le -t utf-8 FILE > NEW"),
    (|start| wide(start, |[a, b]| u16::from_be_bytes([a, b])), "convert it: iconv -f utf-16be -t utf-8 FILE > NEW"),
    (|start| wider(start, u32::from_le_bytes), "convert it: iconv -f utf-32le -t utf-8 FILE > NEW"),
    (|start| wider(start, u32::from_be_bytes), "convert it: iconv -f utf-32be -t utf-8 FILE > NEW"),
];

/// Whether bytes are text in UTF-16.
fn wide(start: &[u8], unit: fn([u8; 2]) -> u16) -> bool {
    let units = start.as_chunks::<2>().0.iter().map(|&bytes| unit(bytes));
    let mut letters: Vec<_> = char::decode_utf16(units).collect();
    // The last one may have been cut.
    if start.len() >= LOOKED_AT && matches!(letters.last(), Some(Err(_))) {
        letters.pop();
    }
    is_wide_text(letters.into_iter().map(std::result::Result::ok), start)
}

/// Whether bytes are text in UTF-32.
fn wider(start: &[u8], unit: fn([u8; 4]) -> u32) -> bool {
    is_wide_text(start.as_chunks::<4>().0.iter().map(|&bytes| char::from_u32(unit(bytes))), start)
}

/// Whether what was decoded is plausible: letters, and blanks or ends of lines, in bytes that are not text in UTF-8. None is a code that
/// is no letter.
fn is_wide_text(letters: impl Iterator<Item = Option<char>>, start: &[u8]) -> bool {
    let (mut count, mut blanks) = (0, 0);
    for letter in letters {
        let is_unlikely = |letter: char| (letter.is_control() && !"\t\r\n".contains(letter)) || is_private(letter);
        match letter {
            Some(letter) if !is_unlikely(letter) => blanks += usize::from(" \t\n".contains(letter)),
            _ => return false,
        }
        count += 1;
    }
    // Text in UTF-8 may hold a zero byte.
    let zeros = start.iter().filter(|&&byte| byte == 0).count();
    count > blanks && blanks > 0 && (4 * zeros >= start.len() || !is_utf8(start))
}

/// Whether the first bytes of a file are UTF-8; the last letter may be cut.
fn is_utf8(start: &[u8]) -> bool {
    std::str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// Whether Unicode has no meaning for a letter: private use, noncharacters.
fn is_private(letter: char) -> bool {
    matches!(u32::from(letter), 0xe000..=0xf8ff | 0xfdd0..=0xfdef | 0xf0000..) || u32::from(letter) & 0xfffe == 0xfffe
}

/// Text that begins with several lines, all of which end with CR alone.
fn old(start: &[u8]) -> Option<Signature> {
    let returns = start.iter().filter(|&&byte| byte == b'\r').count();
    let is_old = returns > 1 && !start.contains(&b'\n');
    is_old.then_some(("text whose lines end with CR alone, as on old Macs", "convert it: tr '\\r' '\\n' < FILE > NEW"))
}

/// Fails if the first bytes of a file, or of what has been decompressed, are those of a file that holds no text.
pub fn check_text(name: &str, start: &[u8], decompressed: bool) -> Result<()> {
    match signature(start) {
        Some((what, remedy)) => Err(Error::Data(message(name, what, remedy, decompressed))),
        None => Ok(()),
    }
}

/// What a file is that is not, as expected, a `wanted` such as "loglinear model", and what to do, as a message; none if the first bytes do
/// not tell. `remedy` is what to do with files that cannot be unpacked.
pub fn not_a(wanted: &str, name: &str, start: &[u8], remedy: &str) -> Option<String> {
    let (what, own) = signature(&start[..start.len().min(LOOKED_AT)])?;
    // Files of ours have zero bytes, too: lengths come first.
    if what.starts_with("a binary") {
        return None;
    }
    let remedy = match own {
        _ if what.ends_with("compressed") || what.ends_with("archive") => own.to_owned(),
        _ if what.contains("Python pickle") => format!("pickles are never loaded: {remedy}"),
        _ => remedy.to_owned(),
    };
    Some(message(name, &format!("{what}, not a {wanted}"), &remedy, false))
}

/// The error for a file that is no model, by its first bytes; none if they do not tell.
pub fn not_a_model(name: &str, start: &[u8]) -> Option<Error> {
    let remedy = "give a model file that `loglinear train` or `save` has written";
    not_a("loglinear model", name, start, remedy).map(Error::ModelFile)
}

fn message(name: &str, what: &str, remedy: &str, decompressed: bool) -> String {
    let remedy = if name.starts_with('<') {
        remedy.replace("< FILE", "FILE").replace("FILE", "< FILE").replace("'< FILE'", "'FILE'")
    } else {
        remedy.replace("'FILE'", &quoted(name)).replace("FILE", &shell(name))
    };
    let decompressed = if decompressed { ", decompressed," } else { "" };
    format!("{name}: the file{decompressed} is {what}; {remedy}")
}

/// A name as a command has it: in quotes if it needs them.
fn shell(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "/._-+,:@%=".contains(c));
    if is_plain { name.to_owned() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

/// A name as a string of Python.
fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zlib(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn files_of_other_programs_are_named() {
        for (start, expected) in [
            (
                &b"PK\x03\x04..........................docProps/app.xml....xl/workbook.xml"[..],
                "an Excel workbook; save",
            ),
            (b"PK\x03\x04..........................a.txt", "a ZIP archive; unpack it first: unzip f"),
            (b"PK\x03\x04..........................a.npy", "a NumPy archive"),
            (b"BZh91AY&SY", "bzip2-compressed; decompress it first: bunzip2 f"),
            (b"PAR1\x15\x04", "a Parquet file; save it as text, for example with pandas: read_parquet('f')."),
            (b"a b\rc d\r", "text whose lines end with CR alone, as on old Macs; convert it: tr '\\r' '\\n' < f > NEW"),
            (b"\x80\x04\x95", "a Python pickle"),
            (b"\xff\xfea\0", "text in UTF-16; convert it: iconv -f utf-16 -t utf-8 f > NEW"),
            (b"\xff\xfe\0\0a\0\0\0", "text in UTF-32"),
            (b"a\0 \0b\0\n\0", "text in UTF-16; convert it: iconv -f utf-16le"),
            (b"\0a\0 \0b\0\n", "text in UTF-16; convert it: iconv -f utf-16be"),
            (b"\x2d\x4e\x87\x65 \0A\0\n\0", "text in UTF-16; convert it: iconv -f utf-16le"),
            (b"a\0\0\0 \0\0\0b\0\0\0", "text in UTF-32; convert it: iconv -f utf-32le"),
            (b"\0\0\0a\0\0\0 \0\0\0b", "text in UTF-32; convert it: iconv -f utf-32be"),
            (b"a\0b\0c\0d\0e\0f\0g\0h\0", "a binary file, or text in UTF-16"),
            (b"(dp0\nVa\np1\n", "a Python pickle; pickles are never loaded"),
            (b"}q\0X\x01\0\0\0aq\x01", "a Python pickle"),
            (b"ccopy_reg\n_reconstructor\np0\n(c", "a Python pickle"),
            (b"PK\x05\x06\0\0\0\0", "an empty ZIP archive"),
            (b"\x5d\0\0\x80\0\xff", "lzma-compressed; decompress it first: unlzma f"),
            (&zlib(b"\x83\xa7version\xa30.1\xa5attrs"), "a DocBin with docs of spaCy; `loglinear train`"),
            (&zlib(b"\x80\x04\x95"), "a compressed Python pickle, as joblib writes; pickles are never loaded"),
            (&zlib(b"a O\n"), "zlib-compressed; decompress it first: python -c"),
        ] {
            let message = check_text("f", start, false).unwrap_err().to_string();
            assert!(message.starts_with("f: the file is ") && message.contains(expected), "{message}");
        }
    }

    #[test]
    fn names_are_quoted_where_a_command_or_python_needs_it() {
        let message = |name: &str, start: &[u8]| check_text(name, start, false).unwrap_err().to_string();
        assert!(message("my file's.zip", b"PK\x03\x04").contains(": unzip 'my file'\\''s.zip'"));
        assert!(message("it's.parquet", b"PAR1\x15\x04").contains("read_parquet('it\\'s.parquet')."));
        assert!(message("<stdin>", b"PAR1\x15\x04").contains("read_parquet('FILE')."));
        assert!(message("<stdin>", b"a b\rc d\r").contains(": tr '\\r' '\\n' < FILE > NEW"));
        assert!(message("<stdin>", b"BZh91AY&SY").contains(": bunzip2 < FILE"));
    }

    #[test]
    fn text_is_text() {
        for text in [
            "",
            "cat\ndog\np0 O\n",
            "(dp O\n",
            "x^2 O\n",
            "x\u{1} O\n",
            "中文 A\n字符 B\n",
            "é è\n",
            "a b\n",
            "PK O\n",
            "BZh9 O\n",
            "PAR1\tO\n",
            "B",
            "\u{feff}a",
            "PARIS O\n",
            "a\0b O\n",
            "a b\r\n",
            "a\r",
            "a\rb\rc\n",
        ] {
            assert!(check_text("f", text.as_bytes(), false).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_file_that_is_no_model_says_what_it_is() {
        let message = |start: &[u8]| not_a_model("f", start).map(|error| error.to_string());
        assert!(
            message(b"\x1f\x8b\x08").unwrap().contains("gzip-compressed, not a loglinear model; decompress it first")
        );
        assert!(
            message(b"\x80\x04\x95")
                .unwrap()
                .contains("a Python pickle, not a loglinear model; pickles are never loaded: give a model file")
        );
        assert!(message(b"\x10\0\0\0\0\0\0\0\0\0\0\0").is_none());
    }
}
