//! What a file is, by its first bytes: readers of text and of models refuse files of other programs by name.

use crate::error::{Error, Result};

/// Bytes at the beginning of a file that are looked at.
pub const LOOKED_AT: usize = 4096;

/// First bytes of files -> what the file is, and what to do.
const SIGNATURES: &[(&[u8], &str, &str)] = &[
    (b"\x28\xb5\x2f\xfd", "zstd-compressed", "decompress it first: unzstd FILE"),
    (b"BZh", "bzip2-compressed", "decompress it first: bunzip2 FILE"),
    (b"\x04\x22\x4d\x18", "lz4-compressed", "decompress it first: unlz4 FILE"),
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
    // Words may begin like these two.
    let entry = entry.filter(|(magic, ..)| match *magic {
        b"BZh" => start.get(4..10) == Some(b"1AY&SY"),
        b"PAR1" => start.get(4).is_some_and(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace()),
        _ => true,
    });
    entry
        .map(|&(_, what, remedy)| (what, remedy))
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

/// A pickle of protocol 2 or later, which begins with its number.
fn pickle(start: &[u8]) -> Option<Signature> {
    let is_pickle = matches!(start, [0x80, 2..=5, ..]);
    is_pickle.then_some(("a Python pickle", "load it in Python and save the data as text"))
}

/// Text in UTF-16 or UTF-32, with a byte order mark or of many zero bytes.
fn unicode(start: &[u8]) -> Option<Signature> {
    let wide = match start {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            ("text in UTF-32", "convert it: iconv -f utf-32 -t utf-8 FILE > NEW")
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => ("text in UTF-16", "convert it: iconv -f utf-16 -t utf-8 FILE > NEW"),
        _ => {
            let zeros = start.iter().filter(|&&byte| byte == 0).count();
            let is_binary = zeros >= 8 && 5 * zeros >= start.len();
            return is_binary.then_some(("a binary file, or text in UTF-16", "save it as text in UTF-8"));
        }
    };
    Some(wide)
}

/// Text that begins with several lines, all of which end with CR alone.
fn old(start: &[u8]) -> Option<Signature> {
    let returns = start.iter().filter(|&&byte| byte == b'\r').count();
    let is_old = returns > 1 && !start.contains(&b'\n');
    is_old.then_some(("text whose lines end with CR alone, as on old Macs", "convert it: tr '\\r' '\\n' < FILE > NEW"))
}

/// Fails if the first bytes of a file are those of a file that holds no text.
pub fn check_text(name: &str, start: &[u8]) -> Result<()> {
    match signature(start) {
        Some((what, remedy)) => Err(Error::Data(message(name, what, remedy))),
        None => Ok(()),
    }
}

/// The error for a file that is no model, by its first bytes; none if they do not tell.
pub fn not_a_model(name: &str, start: &[u8]) -> Option<Error> {
    let start = &start[..start.len().min(LOOKED_AT)];
    let remedy = "give a model file that `loglinear train` or `save` has written";
    let compressed: [(&[u8], &str); 2] = [(b"\x1f\x8b", "gzip-compressed"), (b"\xfd7zXZ", "xz-compressed")];
    let what = match compressed.iter().find(|(magic, _)| start.starts_with(magic)) {
        Some((_, what)) => Some((*what, "decompress it first")),
        None => signature(start).map(|(what, own)| match what.ends_with("compressed") || what.ends_with("archive") {
            true => (what, own),
            false => (what, remedy),
        }),
    };
    // A model of ours has zero bytes, too: its length comes first.
    let what = what.filter(|(what, _)| !what.starts_with("a binary"));
    what.map(|(what, remedy)| Error::ModelFile(message(name, what, remedy).replace("; ", ", not a loglinear model; ")))
}

fn message(name: &str, what: &str, remedy: &str) -> String {
    let remedy = if name.starts_with('<') {
        remedy.replace("< FILE", "FILE").replace("FILE", "< FILE").replace("'< FILE'", "'FILE'")
    } else {
        remedy.replace("'FILE'", &quoted(name)).replace("FILE", &shell(name))
    };
    format!("{name}: the file is {what}; {remedy}")
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
            (b"a\0b\0c\0d\0e\0f\0g\0h\0", "text in UTF-16"),
        ] {
            let message = check_text("f", start).unwrap_err().to_string();
            assert!(message.starts_with("f: the file is ") && message.contains(expected), "{message}");
        }
    }

    #[test]
    fn names_are_quoted_where_a_command_or_python_needs_it() {
        let message = |name: &str, start: &[u8]| check_text(name, start).unwrap_err().to_string();
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
            assert!(check_text("f", text.as_bytes()).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_file_that_is_no_model_says_what_it_is() {
        let message = |start: &[u8]| not_a_model("f", start).map(|error| error.to_string());
        assert!(
            message(b"\x1f\x8b\x08").unwrap().contains("gzip-compressed, not a loglinear model; decompress it first")
        );
        assert!(
            message(b"\x80\x04\x95").unwrap().contains("a Python pickle, not a loglinear model; give a model file")
        );
        assert!(message(b"\x10\0\0\0\0\0\0\0\0\0\0\0").is_none());
    }
}
