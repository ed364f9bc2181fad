//! Writes texts, compressed if the names of their files say so.

use crate::error::Result;
use crate::files::atomic::write_atomically;
use std::io::Write;
use std::path::Path;

/// Level of compression of xz, its own default.
const XZ_LEVEL: u32 = 6;

/// Writes a text to a file, which is replaced atomically; a name that ends in .gz or .xz asks for compression, which the reader
/// of texts undoes. Equal texts give equal bytes.
pub fn write_text(path: &Path, text: &[u8]) -> Result<()> {
    write_atomically(path, |out| match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => {
            let mut packed = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            packed.write_all(text)?;
            packed.finish().map(drop)
        }
        Some("xz") => {
            let mut packed = liblzma::write::XzEncoder::new(out, XZ_LEVEL);
            packed.write_all(text)?;
            packed.finish().map(drop)
        }
        _ => out.write_all(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_text_is_packed_as_its_name_says_and_equal_texts_give_equal_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let text = "the dog barks\n".repeat(1000);
        for (name, kind) in [("a", ""), ("a.gz", "gz"), ("a.xz", "xz"), ("a.txt.gz", "gz"), (".gz", ""), ("a.GZ", "")] {
            let path = folder.path().join(name);
            let bytes = || {
                write_text(&path, text.as_bytes()).unwrap();
                std::fs::read(&path).unwrap()
            };
            let (first, mut unpacked) = (bytes(), String::new());
            assert_eq!(first, bytes(), "{name}");
            let read = match kind {
                "gz" => flate2::read::GzDecoder::new(&first[..]).read_to_string(&mut unpacked),
                "xz" => liblzma::read::XzDecoder::new(&first[..]).read_to_string(&mut unpacked),
                _ => (&first[..]).read_to_string(&mut unpacked),
            };
            assert_eq!(
                (read.unwrap(), unpacked == text, first.len() < 1000),
                (text.len(), true, !kind.is_empty()),
                "{name}"
            );
        }
    }
}
