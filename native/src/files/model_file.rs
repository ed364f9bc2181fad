//! The model file: safetensors with a checksum, laid out so that opening it copies nothing.
//!
//! | tensor | type, shape | content |
//! | --- | --- | --- |
//! | `states.slots`, `bigrams.slots` | u64 (capacity, 2) | open-addressing tables: key, first feature << 16 + number of features |
//! | `states.weights`, `bigrams.weights` | f64 (n,) | weights, none of them 0, attribute by attribute |
//! | `states.labels` | u16 (n,) | feature -> label |
//! | `bigrams.pairs`, `transitions.pairs` | u16 (n, 2) | feature -> first and second label |
//! | `transitions.weights` | f64 (n,) | weights of label bigrams |
//! | `triples.labels`, `triples.weights` | u16 (n, 3), f64 (n,) | labels and weights of label triples; absent in chains of first order |
//! | `states.ends`, `bigrams.ends` | u64 (attributes,) | attribute -> end of its features |
//! | `states.name_ends`, `bigrams.name_ends` | u64 (attributes,) | attribute -> end of its name |
//! | `states.names`, `bigrams.names` | u8 (bytes,) | names in UTF-8, one after the other |
//! | `lexicons` | u8 (bytes,) | packed lexicons, at places that the template names; absent without lexicons |
//! | `xxh3` | u8 (8,) | XXH3 of all bytes before it: it is the last tensor of the file |
//!
//! The metadata hold `format` ("loglinear"), `version`, `labels` (JSON), `settings` (JSON), and `template` if there is one.

use crate::error::{Error, Result};
use crate::files::atomic::write_atomically;
use crate::files::opening::open_at_once;
use crate::files::signature;
use memmap2::Mmap;
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::{Deref, Range};
use std::path::Path;

/// The tensor that holds the checksum.
const CHECKSUM: &str = "xxh3";
/// The version that this program reads and writes.
const VERSION: &str = "1";

/// Minimum size, in bytes, of a file that is mapped instead of read: opening it does not wait for the disk, and processes share
/// its memory. A mapped file must not be truncated while it is used; a file that was read may be.
const MAPPED_FROM: u64 = 64 << 20;

/// The bytes of a model file, aligned to 8 bytes.
pub enum Storage {
    Owned { words: Vec<u64>, length: usize },
    Mapped(Mmap),
}

impl Deref for Storage {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Storage::Owned { words, length } => &bytemuck::cast_slice(words)[..*length],
            Storage::Mapped(map) => map,
        }
    }
}

impl Storage {
    /// A copy of the bytes, in memory.
    pub fn owned(bytes: &[u8]) -> Storage {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Storage::Owned { words, length: bytes.len() }
    }

    /// A file, read into memory if it is small, else mapped.
    pub fn open(path: &Path) -> Result<Storage> {
        Storage::open_or_map(path, MAPPED_FROM)
    }

    fn open_or_map(path: &Path, mapped_from: u64) -> Result<Storage> {
        let name = path.display();
        let fail = |source| Error::io(path, source);
        let file = open_at_once(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        if metadata.is_dir() {
            return Err(Error::ModelFile(format!("{name}: is a directory, not a model file")));
        }
        if !metadata.is_file() {
            return Err(Error::ModelFile(format!("{name}: not a regular file; copy the model to a file first")));
        }
        if metadata.len() == 0 {
            return Err(Error::ModelFile(format!("{name}: the file is empty, not a loglinear model")));
        }
        if metadata.len() < mapped_from {
            return Storage::read(&file, metadata.len() as usize).map_err(fail);
        }
        // SAFETY: the map is read-only and private to this value. A model file is never changed in place: saving writes a new
        // file and renames it. If another program truncates the file nevertheless, reading it ends the process (docs/reliability.md).
        // Test: `tests::a_saved_model_can_be_replaced_while_it_is_mapped`.
        let map = unsafe { Mmap::map(&file) }.map_err(fail)?;
        Ok(Storage::Mapped(map))
    }

    /// The bytes of a file of this length, or as many as are left of it.
    fn read(mut file: &File, length: usize) -> std::io::Result<Storage> {
        let mut words = vec![0u64; length.div_ceil(8)];
        let bytes: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut words)[..length];
        let mut filled = 0;
        while filled < length {
            match file.read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Storage::Owned { words, length: filled })
    }
}

/// A tensor to write.
pub struct Tensor<'a> {
    pub name: &'static str,
    pub kind: Dtype,
    pub shape: Vec<usize>,
    pub bytes: &'a [u8],
}

/// The contents of a model file whose bytes have been checked.
pub struct Contents {
    /// Tensor -> its bytes in the file.
    ranges: HashMap<String, Range<usize>>,
    pub metadata: HashMap<String, String>,
}

impl Contents {
    /// The range of a tensor in the bytes of the file.
    pub fn range(&self, tensor: &str) -> Range<usize> {
        self.ranges[tensor].clone()
    }
}

/// The bytes of a model file with these tensors and metadata.
pub fn encode(tensors: Vec<Tensor<'_>>, mut metadata: HashMap<String, String>) -> Result<Storage> {
    metadata.insert("format".into(), "loglinear".into());
    metadata.insert("version".into(), VERSION.into());
    let fail = |error| Error::ModelFile(format!("cannot encode the model: {error}"));
    let blank = [0u8; 8];
    let checksum = Tensor { name: CHECKSUM, kind: Dtype::U8, shape: vec![8], bytes: &blank };
    let mut views = Vec::new();
    for tensor in tensors.into_iter().chain([checksum]) {
        let view = TensorView::new(tensor.kind, tensor.shape, tensor.bytes).map_err(fail)?;
        views.push((tensor.name, view));
    }
    let mut bytes = serialize(views, Some(metadata)).map_err(fail)?;
    sort_header(&mut bytes);
    seal(&mut bytes);
    Ok(Storage::owned(&bytes))
}

/// The bytes of a model file with the tensors of a file that `decode` has checked, the weights (all tensors of floating-point
/// numbers) multiplied by a factor, and with other metadata.
pub fn rewritten(
    bytes: &[u8],
    contents: &Contents,
    (expected, optional): (&[Expected], &[Expected]),
    factor: f64,
    metadata: HashMap<String, String>,
) -> Result<Storage> {
    let scaled = |chunk: &[u8]| (f64::from_le_bytes(chunk.try_into().expect("eight bytes")) * factor).to_le_bytes();
    let present = optional.iter().filter(|(name, ..)| !contents.range(name).is_empty());
    let named: Vec<(&Expected, Cow<'_, [u8]>)> = expected
        .iter()
        .chain(present)
        .map(|tensor| match (tensor, &bytes[contents.range(tensor.0)]) {
            (&(_, Dtype::F64, _), bytes) if factor != 1.0 => (tensor, bytes.chunks_exact(8).flat_map(scaled).collect()),
            (_, bytes) => (tensor, Cow::Borrowed(bytes)),
        })
        .collect();
    let tensors = named.iter().map(|&(&(name, kind, columns), ref bytes)| {
        let rows = bytes.len() * 8 / kind.bitsize() / columns;
        Tensor { name, kind, shape: if columns == 1 { vec![rows] } else { vec![rows, columns] }, bytes }
    });
    encode(tensors.collect(), metadata)
}

/// Writes the checksum, the last eight bytes.
pub fn seal(bytes: &mut [u8]) {
    let (content, checksum) = bytes.split_last_chunk_mut::<8>().expect("a file ends with its checksum");
    *checksum = xxhash_rust::xxh3::xxh3_64(content).to_le_bytes();
}

/// Sorts the keys of the header, JSON whose length is in the first eight bytes. The metadata come in random order, and the same
/// model should have the same bytes.
fn sort_header(bytes: &mut [u8]) {
    let (length, rest) = bytes.split_first_chunk_mut::<8>().expect("a file begins with a length");
    let header = &mut rest[..u64::from_le_bytes(*length) as usize];
    let value: serde_json::Value = serde_json::from_slice(header).expect("the header is JSON");
    let sorted = value.to_string();
    if sorted.len() <= header.len() {
        header[..sorted.len()].copy_from_slice(sorted.as_bytes());
        header[sorted.len()..].fill(b' ');
    }
}

/// Name and type of a tensor, and its number of columns: 1 for a vector.
pub type Expected = (&'static str, Dtype, usize);

/// Checks the bytes of a model file and finds its tensors. An absent tensor of `optional` has an empty range.
pub fn decode(bytes: &[u8], name: &str, expected: &[Expected], optional: &[Expected]) -> Result<Contents> {
    let foreign = |why: &str| {
        let remedy = "give the name of a model, or train one with `loglinear train`";
        Error::ModelFile(format!("{name}: not a loglinear model ({why}); {remedy}"))
    };
    let damaged = || {
        Error::ModelFile(format!(
            "{name}: the model file is damaged or cut short (its checksum is wrong); copy or train it again"
        ))
    };
    if bytes.len() < 16 {
        let is_text = bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
        let unnamed = || if is_text { foreign("it is a short text") } else { damaged() };
        return Err(signature::not_a_model(name, bytes).unwrap_or_else(unnamed));
    }
    let end = bytes.len() - 8;
    let intact = xxhash_rust::xxh3::xxh3_64(&bytes[..end]).to_le_bytes() == bytes[end..];
    let looks_like_ours = bytes[..bytes.len().min(4096)].windows(9).any(|window| window == b"loglinear");
    if !intact {
        if looks_like_ours {
            return Err(damaged());
        }
        let named = signature::not_a_model(name, bytes);
        return Err(named.unwrap_or_else(|| foreign("it has no valid checksum")));
    }
    let (header_size, header) = SafeTensors::read_metadata(bytes).map_err(|error| foreign(&error.to_string()))?;
    let metadata = header.metadata().clone().unwrap_or_default();
    if metadata.get("format").is_none_or(|format| format != "loglinear") {
        return Err(foreign("its metadata lack the format"));
    }
    match metadata.get("version") {
        Some(version) if version == VERSION => {}
        other => {
            let version = other.map_or("?", String::as_str);
            let message =
                format!("{name}: model version {version}; this program reads version {VERSION}: train the model again");
            return Err(Error::ModelFile(message));
        }
    }
    let mut ranges = HashMap::new();
    for &(tensor, kind, columns) in expected.iter().chain(optional) {
        let Some(info) = header.info(tensor) else {
            if optional.iter().any(|(name, ..)| *name == tensor) {
                ranges.insert(tensor.to_owned(), 0..0);
                continue;
            }
            return Err(foreign(&format!("tensor {tensor} is missing")));
        };
        let fits = if columns == 1 { info.shape.len() == 1 } else { info.shape.len() == 2 && info.shape[1] == columns };
        if info.dtype != kind || !fits {
            return Err(foreign(&format!("tensor {tensor} has the wrong type or shape")));
        }
        let (start, stop) = info.data_offsets;
        ranges.insert(tensor.to_owned(), 8 + header_size + start..8 + header_size + stop);
    }
    Ok(Contents { ranges, metadata })
}

/// Writes the bytes to a file atomically.
pub fn save(bytes: &[u8], path: &Path) -> Result<()> {
    write_atomically(path, |out| out.write_all(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Storage {
        let tensors = vec![Tensor {
            name: "numbers",
            kind: Dtype::U16,
            shape: vec![3],
            bytes: bytemuck::cast_slice(&[1u16, 2, 3]),
        }];
        encode(tensors, HashMap::from([("labels".into(), "[]".into())])).unwrap()
    }

    const EXPECTED: [Expected; 1] = [("numbers", Dtype::U16, 1)];

    #[test]
    fn every_flipped_byte_and_every_truncation_is_found() {
        let bytes = sample().to_vec();
        assert!(decode(&bytes, "m", &EXPECTED, &[]).is_ok());
        for at in 0..bytes.len() {
            for flip in [1u8, 0x20, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                assert!(decode(&damaged, "m", &EXPECTED, &[]).is_err(), "byte {at} ^ {flip:#x}");
            }
            assert!(decode(&bytes[..at], "m", &EXPECTED, &[]).is_err(), "cut at {at}");
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(decode(&longer, "m", &EXPECTED, &[]).is_err());
    }

    #[test]
    fn a_saved_model_can_be_replaced_while_it_is_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let bytes = sample();
        save(&bytes, &path).unwrap();
        let mapped = Storage::open_or_map(&path, 0).unwrap();
        assert!(matches!(mapped, Storage::Mapped(_)));
        save(b"something else", &path).unwrap();
        assert_eq!(*mapped, *bytes);
    }

    #[test]
    fn a_file_that_was_read_may_be_truncated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let bytes = sample();
        save(&bytes, &path).unwrap();
        let read = Storage::open(&path).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        assert_eq!(*read, *bytes);
    }

    #[test]
    fn foreign_files_are_named_as_such() {
        let error = decode(b"lCRF and then some more bytes", "other.model", &EXPECTED, &[]).err().unwrap().to_string();
        assert!(error.contains("other.model: not a loglinear model"), "{error}");
    }
}
