//! The constants of the layout of a corpus on disk.

/// The name of the file that describes the others.
pub(super) const SUMMARY: &str = "corpus.json";
/// The version that this program reads and writes.
pub(super) const VERSION: u64 = 1;
/// Bytes of an array per checksum.
pub(super) const BLOCK: usize = 16 << 20;
