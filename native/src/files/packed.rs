//! Numbers, texts and lists as bytes that travel between processes: a magic word, a version, the content, a checksum.
//!
//! Little-endian. A list is its length, then its entries. Nothing of the bytes is believed: a length beyond their end, text that
//! is not UTF-8 and a checksum that does not fit are errors.

use crate::error::{Error, Result};
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use xxhash_rust::xxh3::xxh3_64;

/// The first bytes of a package, before the name of its kind.
const MAGIC: &[u8; 8] = b"loglin\0\x01";

/// Makes a package.
pub struct Packer {
    bytes: Vec<u8>,
}

impl Packer {
    /// An empty package of a kind, which both sides name.
    pub fn new(kind: &str) -> Packer {
        let mut packer = Packer { bytes: MAGIC.to_vec() };
        packer.text(kind);
        packer
    }

    /// Appends a number.
    pub fn number(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// Appends a list of numbers.
    pub fn list<T: Pod>(&mut self, list: &[T]) {
        self.number(list.len() as u64);
        self.bytes.extend_from_slice(cast_slice(list));
    }

    /// Appends a text.
    pub fn text(&mut self, text: &str) {
        self.list(text.as_bytes());
    }

    /// Appends texts.
    pub fn texts(&mut self, texts: &[String]) {
        self.number(texts.len() as u64);
        texts.iter().for_each(|text| self.text(text));
    }

    /// The bytes of the package.
    pub fn finish(mut self) -> Vec<u8> {
        let checksum = xxh3_64(&self.bytes);
        self.number(checksum);
        self.bytes
    }
}

/// Takes a package apart, in the sequence in which it was made.
pub struct Unpacker<'b> {
    rest: &'b [u8],
}

/// The error of a package that is damaged.
pub fn damaged() -> Error {
    let message = "data from another process are damaged, or come from another version of loglinear";
    Error::Data(message.into())
}

impl<'b> Unpacker<'b> {
    /// Begins with the bytes of a package. Error: they are not a valid package of this kind.
    pub fn new(kind: &str, bytes: &'b [u8]) -> Result<Unpacker<'b>> {
        let (content, checksum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
        if xxh3_64(content) != u64::from_le_bytes(*checksum) {
            return Err(damaged());
        }
        let mut unpacker = Unpacker { rest: content.strip_prefix(MAGIC).ok_or_else(damaged)? };
        if unpacker.text()? == kind { Ok(unpacker) } else { Err(damaged()) }
    }

    /// The next number.
    pub fn number(&mut self) -> Result<u64> {
        let (number, rest) = self.rest.split_first_chunk::<8>().ok_or_else(damaged)?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*number))
    }

    /// The next number, as a length or a place in memory.
    pub fn size(&mut self) -> Result<usize> {
        usize::try_from(self.number()?).map_err(|_| damaged())
    }

    /// The bytes of the next list of numbers, each of which has `size` bytes.
    pub fn bytes_of_list(&mut self, size: usize) -> Result<&'b [u8]> {
        let n_bytes = self.size()?.checked_mul(size).filter(|&n| n <= self.rest.len()).ok_or_else(damaged)?;
        let (list, rest) = self.rest.split_at(n_bytes);
        self.rest = rest;
        Ok(list)
    }

    /// The next list of numbers.
    pub fn list<T: Pod>(&mut self) -> Result<Vec<T>> {
        let list = self.bytes_of_list(size_of::<T>())?;
        let mut entries = vec![T::zeroed(); list.len() / size_of::<T>()];
        cast_slice_mut(&mut entries).copy_from_slice(list);
        Ok(entries)
    }

    /// The next text.
    pub fn text(&mut self) -> Result<String> {
        String::from_utf8(self.list()?).map_err(|_| damaged())
    }

    /// The next texts.
    pub fn texts(&mut self) -> Result<Vec<String>> {
        let count = self.size()?;
        (0..count).map(|_| self.text()).collect()
    }

    /// Ends the package. Error: its content is not `sound`, or bytes are left.
    pub fn finish(self, sound: bool) -> Result<()> {
        if sound && self.rest.is_empty() { Ok(()) } else { Err(damaged()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package() -> Vec<u8> {
        let mut packer = Packer::new("test");
        packer.number(7);
        packer.list(&[[1u16, 2], [3, 4]]);
        packer.texts(&["a".into(), "ü".into()]);
        packer.finish()
    }

    fn unpacked(bytes: &[u8]) -> Result<(u64, Vec<[u16; 2]>, Vec<String>)> {
        let mut unpacker = Unpacker::new("test", bytes)?;
        let all = (unpacker.number()?, unpacker.list()?, unpacker.texts()?);
        unpacker.finish(true)?;
        Ok(all)
    }

    #[test]
    fn what_was_packed_is_unpacked() {
        let all = (7, vec![[1, 2], [3, 4]], vec!["a".to_owned(), "ü".to_owned()]);
        assert_eq!(unpacked(&package()).unwrap(), all);
    }

    #[test]
    fn damage_of_any_byte_and_any_cut_is_an_error() {
        let bytes = package();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x20;
            assert!(unpacked(&damaged).is_err(), "byte {at}");
            assert!(unpacked(&bytes[..at]).is_err(), "cut at {at}");
        }
        assert!(Unpacker::new("other", &bytes).is_err());
    }

    #[test]
    fn lengths_are_not_believed() {
        let mut packer = Packer::new("test");
        packer.number(u64::MAX);
        let bytes = packer.finish();
        assert!(Unpacker::new("test", &bytes).unwrap().list::<u64>().is_err());
        assert!(Unpacker::new("test", &bytes).unwrap().texts().is_err());
    }
}
