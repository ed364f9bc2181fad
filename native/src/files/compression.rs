//! The kinds of compression of texts: how each is recognised, read and written.

use liblzma::stream::{CONCATENATED, Error as XzError, Stream};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write, copy, sink};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most MiB of text that a compressed file may refer back to, which are kept in memory.
pub const MAX_WINDOW: u64 = 128;

/// Bytes that xz needs besides the text that it refers back to, at most.
const XZ_OVERHEAD: u64 = 1 << 20;

/// How often the bytes of a compressed text may be in the text, before it is refused as made to fill memory. Usual text shrinks to
/// a thirtieth at best.
const MOST_EXPANSION: u64 = 200;

/// Level of compression of xz, its own default.
const XZ_LEVEL: u32 = 6;

/// A kind of compression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compression {
    Gzip,
    Xz,
    Bzip2,
    Zstd,
}

/// What a kind of compression is called, the end of its files' names, the command that undoes it, and the first bytes of its files, in
/// which `?` is any byte. Words may begin with the first bytes of bzip2, so those of its first block follow, or of the end.
pub struct Kind {
    pub compression: Compression,
    pub name: &'static str,
    pub suffix: &'static str,
    pub undo: &'static str,
    begins: &'static [&'static [u8]],
}

pub const KINDS: [Kind; 4] = [
    Kind {
        compression: Compression::Gzip,
        name: "gzip-compressed",
        suffix: "gz",
        undo: "decompress it first: gunzip FILE",
        begins: &[b"\x1f\x8b"],
    },
    Kind {
        compression: Compression::Xz,
        name: "xz-compressed",
        suffix: "xz",
        undo: "decompress it first: unxz FILE",
        begins: &[b"\xfd7zXZ\0"],
    },
    Kind {
        compression: Compression::Bzip2,
        name: "bzip2-compressed",
        suffix: "bz2",
        undo: "decompress it first: bunzip2 FILE",
        begins: &[b"BZh?1AY&SY", b"BZh?\x17rE8P\x90"],
    },
    Kind {
        compression: Compression::Zstd,
        name: "zstd-compressed",
        suffix: "zst",
        undo: "decompress it first: unzstd FILE",
        // A frame, or one of other programs, which is skipped.
        begins: &[b"\x28\xb5\x2f\xfd", b"?\x2a\x4d\x18"],
    },
];

/// How a text is compressed, by its first bytes.
pub fn of_start(start: &[u8]) -> Option<&'static Kind> {
    let begins = |pattern: &&[u8]| start.len() >= pattern.len() && agree(start, pattern);
    KINDS.iter().find(|kind| kind.begins.iter().any(begins))
}

/// Whether a text is compressed, by its first bytes; None if there are too few of them.
pub fn is_compressed(start: &[u8]) -> Option<bool> {
    if of_start(start).is_some() {
        return Some(true);
    }
    let may_be = KINDS.iter().flat_map(|kind| kind.begins).any(|pattern| agree(start, pattern));
    if may_be { None } else { Some(false) }
}

/// Whether bytes and pattern are equal as far as both go.
fn agree(start: &[u8], pattern: &[u8]) -> bool {
    start.iter().zip(pattern).all(|(byte, sign)| byte == sign || *sign == b'?')
}

/// How a text is to be compressed, by the extension of its file.
pub fn of_extension(extension: Option<&OsStr>) -> Option<Compression> {
    let kind = KINDS.iter().find(|kind| extension.is_some_and(|extension| extension == kind.suffix))?;
    Some(kind.compression)
}

impl Compression {
    /// Reads the text. Members or frames that follow one another are one text. Error: it is over `free` bytes, and over 200 times as
    /// long as what it was read from.
    pub fn reader(self, raw: impl Read + Send + 'static, free: u64) -> Result<Box<dyn Read + Send>> {
        let packed = Arc::new(AtomicU64::new(0));
        let raw = Counted { raw, bytes: Arc::clone(&packed) };
        Ok(Box::new(Expanding { text: self.decoder(raw)?, packed, free, bytes: 0 }))
    }

    fn decoder(self, raw: impl Read + Send + 'static) -> Result<Box<dyn Read + Send>> {
        Ok(match self {
            Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(raw)),
            Compression::Xz => {
                let stream = Stream::new_stream_decoder((MAX_WINDOW << 20) + XZ_OVERHEAD, CONCATENATED)?;
                Box::new(liblzma::read::XzDecoder::new_stream(raw, stream))
            }
            Compression::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(raw)),
            Compression::Zstd => {
                let mut decoder = FrameDecoder::new();
                decoder.set_max_window_size(MAX_WINDOW << 20);
                Box::new(Frames { raw: BufReader::new(raw), decoder })
            }
        })
    }

    /// Writes a text, compressed. Equal texts give equal bytes.
    pub fn write(self, out: &mut dyn Write, text: &[u8]) -> Result<()> {
        match self {
            Compression::Gzip => {
                let mut packed = flate2::write::GzEncoder::new(out, flate2::Compression::default());
                packed.write_all(text)?;
                packed.finish().map(drop)
            }
            Compression::Xz => {
                let mut packed = liblzma::write::XzEncoder::new(out, XZ_LEVEL);
                packed.write_all(text)?;
                packed.finish().map(drop)
            }
            Compression::Bzip2 => {
                let mut packed = bzip2::write::BzEncoder::new(out, bzip2::Compression::best());
                packed.write_all(text)?;
                packed.finish().map(drop)
            }
            // The encoder panics where a writer fails, so it writes to memory.
            Compression::Zstd => {
                let level = ruzstd::encoding::CompressionLevel::Fastest;
                out.write_all(&ruzstd::encoding::compress_to_vec(text, level))
            }
        }
    }
}

/// What is wrong with compressed data that could not be read, and what to do.
pub fn problem(error: &Error) -> String {
    let source = error.get_ref();
    let xz = source.and_then(|source| source.downcast_ref()).is_some_and(|error| matches!(error, XzError::MemLimit));
    if let Some(expanded) = source.and_then(|source| source.downcast_ref::<Expanded>()) {
        return expanded.to_string();
    }
    let zstd = source.and_then(|source| source.downcast_ref());
    if xz || zstd.is_some_and(|error| matches!(error, FrameDecoderError::WindowSizeTooBig { .. })) {
        return format!(
            "decompressing needs more than {MAX_WINDOW} MiB of memory; compress the text again with the usual options, \
             such as xz -9 or zstd -19, or give it uncompressed"
        );
    }
    // What the reader of zstd says is of use to its authors only.
    let why = if zstd.is_some() { String::new() } else { format!(" ({error})") };
    format!(
        "the compressed data is damaged or cut short, or other bytes follow it{why}; copy or download the file again"
    )
}

/// Counts the bytes that are read.
struct Counted<R> {
    raw: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let count = self.raw.read(into)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// A text that may not be much longer than its compressed bytes.
struct Expanding {
    text: Box<dyn Read + Send>,
    /// Compressed bytes read so far.
    packed: Arc<AtomicU64>,
    /// Bytes of text that any file may have.
    free: u64,
    /// Bytes of text so far.
    bytes: u64,
}

/// The text is too much longer than its compressed bytes.
#[derive(Debug, thiserror::Error)]
#[error(
    "the text is more than {MOST_EXPANSION} times as long as the compressed file, which may be made to fill memory; if it is not, \
     decompress it first"
)]
struct Expanded;

impl Read for Expanding {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let count = self.text.read(into)?;
        self.bytes += count as u64;
        let most = self.packed.load(Ordering::Relaxed).saturating_mul(MOST_EXPANSION).max(self.free);
        if self.bytes > most { Err(Error::other(Expanded)) } else { Ok(count) }
    }
}

/// Zstandard frames that follow one another; skippable frames are passed over.
struct Frames<R: Read> {
    raw: BufReader<R>,
    decoder: FrameDecoder,
}

impl<R: Read> Frames<R> {
    /// Begins the next frame with content; returns whether there is one.
    fn advance(&mut self) -> Result<bool> {
        let sums = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        if matches!(sums, (Some(written), Some(computed)) if written != computed) {
            return Err(Error::other("its checksum is wrong"));
        }
        while !self.raw.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.raw) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    if copy(&mut self.raw.by_ref().take(length.into()), &mut sink())? < length.into() {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        loop {
            if self.decoder.can_collect() > 0 || into.is_empty() {
                return self.decoder.read(into);
            }
            if !self.decoder.is_finished() {
                let block = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.raw, block).map_err(Error::other)?;
            } else if !self.advance()? {
                return Ok(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Compression; 4] = [Compression::Gzip, Compression::Xz, Compression::Bzip2, Compression::Zstd];

    fn packed(compression: Compression, text: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        compression.write(&mut bytes, text).unwrap();
        bytes
    }

    fn unpacked(compression: Compression, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        compression.reader(std::io::Cursor::new(bytes), 1 << 20)?.read_to_end(&mut text).map(|_| text)
    }

    #[test]
    fn a_text_of_many_times_its_bytes_is_refused() {
        for compression in ALL {
            let bytes = packed(compression, &b"\n".repeat(1 << 20));
            assert!(unpacked(compression, bytes.clone()).is_ok());
            // The texts of all members count together.
            let message = refusal(compression, bytes.repeat(3));
            assert!(message.starts_with("the text is more than 200 times"), "{compression:?}: {message}");
        }
    }

    #[test]
    fn every_kind_recognises_and_reads_what_it_writes_member_after_member() {
        let text = b"the dog barks\n".repeat(30_000);
        for kind in &KINDS {
            for text in [&text[..], b"a", b""] {
                let bytes = packed(kind.compression, text);
                assert_eq!(of_start(&bytes).unwrap().name, kind.name);
                assert_eq!(unpacked(kind.compression, bytes.clone()).unwrap(), text, "{}", kind.name);
                let twice = unpacked(kind.compression, [&bytes[..], &bytes].concat()).unwrap();
                assert_eq!(twice, [text, text].concat(), "{}", kind.name);
            }
        }
    }

    #[test]
    fn a_cut_or_a_changed_byte_is_an_error_or_changes_no_text() {
        let text = b"the dog barks at the cat and the cat runs\n".repeat(3);
        for compression in ALL {
            let bytes = match compression {
                // With a checksum, as the program zstd writes it.
                Compression::Zstd => ZSTD.to_vec(),
                other => packed(other, &text),
            };
            let text = unpacked(compression, bytes.clone()).unwrap();
            for at in 1..bytes.len() {
                assert!(unpacked(compression, bytes[..at].to_vec()).is_err(), "{compression:?} cut at {at}");
                let mut changed = bytes.clone();
                changed[at] ^= 0x04;
                if let Ok(read) = unpacked(compression, changed) {
                    assert!(read == text, "{compression:?}, byte {at}");
                }
            }
        }
    }

    /// The message for bytes that are read.
    fn refusal(compression: Compression, bytes: Vec<u8>) -> String {
        unpacked(compression, bytes).err().map_or_else(String::new, |error| problem(&error))
    }

    /// What xz writes, but with a dictionary whose size has this code: 2^(12 + code / 2) bytes if it is even.
    fn with_dictionary(code: u8) -> Vec<u8> {
        let mut bytes = packed(Compression::Xz, b"the dog barks\n");
        // The header of the first block: size, flags, filter, size of its properties, the dictionary, padding, checksum.
        let end = 12 + 4 * usize::from(bytes[12]);
        assert_eq!(bytes[13..16], [0, 0x21, 1]);
        bytes[16] = code;
        let mut sum = flate2::Crc::new();
        sum.update(&bytes[12..end]);
        bytes[end..end + 4].copy_from_slice(&sum.sum().to_le_bytes());
        bytes
    }

    #[test]
    fn headers_that_ask_for_more_memory_than_the_limit_are_refused() {
        for code in 0..=41u8 {
            let message = refusal(Compression::Xz, with_dictionary(code));
            let expected = match code {
                0..=30 => "",
                31..=40 => "decompressing needs more than 128 MiB of memory; compress the text again",
                _ => "the compressed data is damaged",
            };
            assert!(message.starts_with(expected) && message.is_empty() == expected.is_empty(), "{code}: {message}");
        }
        for exponent in 0..32u8 {
            // No checksum, no size; a window of 2^(10 + exponent); one raw block of a byte, the last one.
            let frame = [b"\x28\xb5\x2f\xfd\x00".as_slice(), &[exponent << 3], b"\x09\x00\x00a"].concat();
            let message = refusal(Compression::Zstd, frame);
            assert_eq!(
                message.starts_with("decompressing needs more than 128 MiB"),
                exponent > 17,
                "{exponent}: {message}"
            );
            assert!(exponent > 17 || message.is_empty(), "{message}");
        }
    }

    /// `printf 'the dog barks\n' | zstd`
    const ZSTD: &[u8] = b"(\xb5/\xfd\x04Xq\x00\x00the dog barks\x0a;\x9d\xe2~";

    #[test]
    fn skippable_frames_of_zstd_are_passed_over_and_words_are_no_magic() {
        let frame = packed(Compression::Zstd, b"a\n");
        let skipped = [&b"\x5a\x2a\x4d\x18\x03\0\0\0abc"[..], &frame, b"\x50\x2a\x4d\x18\0\0\0\0", &frame].concat();
        assert_eq!(is_compressed(&skipped), Some(true));
        assert_eq!(unpacked(Compression::Zstd, skipped).unwrap(), b"a\na\n");
        assert!(unpacked(Compression::Zstd, b"\x5a\x2a\x4d\x18\x03\0\0\0ab".to_vec()).is_err());
        for (start, expected) in [
            (&b"BZh9 O\n"[..], Some(false)),
            (b"BZh91AY", None),
            (b"B\n", Some(false)),
            (b"", None),
            (b"P*M ", Some(false)),
        ] {
            assert_eq!(is_compressed(start), expected, "{start:?}");
        }
    }
}
