//! Writes texts, compressed if the names of their files say so.

use crate::error::Result;
use crate::files::atomic::write_atomically;
use crate::files::compression;
use std::path::Path;

/// Writes a text to a file, which is replaced atomically; a name that ends in .gz, .xz, .bz2 or .zst asks for compression, which the
/// reader of texts undoes. Equal texts give equal bytes.
pub fn write_text(path: &Path, text: &[u8]) -> Result<()> {
    write_atomically(path, |out| match compression::of_extension(path.extension()) {
        Some(compression) => compression.write(out, text),
        None => out.write_all(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::input::Source;

    #[test]
    fn a_text_is_packed_as_its_name_says_and_equal_texts_give_equal_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let text = "the dog barks\n".repeat(1000);
        let kinds =
            compression::KINDS.iter().flat_map(|kind| [format!("a.{}", kind.suffix), format!("a.txt.{}", kind.suffix)]);
        for (name, is_packed) in
            kinds.map(|name| (name, true)).chain(["a", ".gz", "a.GZ"].map(|name| (name.into(), false)))
        {
            let path = folder.path().join(&name);
            let bytes = || {
                write_text(&path, text.as_bytes()).unwrap();
                std::fs::read(&path).unwrap()
            };
            let first = bytes();
            assert_eq!(first, bytes(), "{name}");
            let read = Source::open(&path).unwrap().text(|_| true).unwrap();
            assert!(read.content() == text.as_bytes() && (first.len() < 1000) == is_packed, "{name}");
        }
    }
}
