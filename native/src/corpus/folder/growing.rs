//! Files of numbers that grow, with a checksum for each block.

use crate::corpus::array::Array;
use crate::corpus::folder::layout::BLOCK;
use crate::corpus::folder::summary::{Stored, damaged};
use crate::error::{Error, Result};
use crate::files::opening::open_in_place;
use bytemuck::{NoUninit, cast_slice};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes that are copied at a time.
pub(super) const COPIED: usize = 1 << 20;

/// A file of numbers that is being written.
pub(super) struct Growing {
    path: PathBuf,
    file: File,
    stored: Stored,
    /// Checksum of the block that is not full yet.
    sum: Xxh3,
    /// Bytes to be written, so that the system is not called for a few numbers.
    waiting: Vec<u8>,
}

impl Growing {
    /// A new file.
    pub fn new(folder: &Path, file: String) -> Result<Growing> {
        let path = folder.join(&file);
        let opened = open_in_place(&path, File::options().write(true).create(true).truncate(true))?;
        let stored = Stored { file, bytes: 0, sums: Vec::new() };
        Ok(Growing { path, file: opened, stored, sum: Xxh3::new(), waiting: Vec::new() })
    }

    /// The file of an array, to be continued after the bytes that count.
    pub fn open(folder: &Path, mut stored: Stored) -> Result<Growing> {
        let path = folder.join(&stored.file);
        let fail = |source| Error::io(&path, source);
        let mut file = open_in_place(&path, File::options().read(true).write(true))?;
        if file.metadata().map_err(fail)?.len() < stored.bytes as u64 {
            return Err(damaged(&path, "the file was cut short"));
        }
        let begun = stored.bytes % BLOCK;
        file.set_len(stored.bytes as u64).map_err(fail)?;
        file.seek(SeekFrom::Start((stored.bytes - begun) as u64)).map_err(fail)?;
        let mut last = vec![0; begun];
        file.read_exact(&mut last).map_err(fail)?;
        let mut sum = Xxh3::new();
        if begun > 0 {
            if stored.sums.pop() != Some(xxh3_64(&last)) {
                return Err(damaged(&path, "the file is damaged"));
            }
            sum.update(&last);
        }
        Ok(Growing { path, file, stored, sum, waiting: Vec::new() })
    }

    /// Numbers so far.
    pub fn count(&self, array: Array) -> usize {
        self.stored.bytes / array.row().1
    }

    /// Appends numbers.
    pub fn extend<T: NoUninit>(&mut self, numbers: &[T]) -> Result<()> {
        let mut bytes: &[u8] = cast_slice(numbers);
        while !bytes.is_empty() {
            let room = BLOCK - self.stored.bytes % BLOCK;
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.sum.update(now);
            self.stored.bytes += now.len();
            if now.len() == room {
                self.stored.sums.push(self.sum.digest());
                self.sum.reset();
            }
            self.waiting.extend_from_slice(now);
            if self.waiting.len() >= COPIED {
                self.flush()?;
            }
            bytes = later;
        }
        Ok(())
    }

    /// Appends the same number several times.
    pub fn repeat<T: NoUninit>(&mut self, number: T, count: usize) -> Result<()> {
        let some = vec![number; count.min(COPIED / size_of::<T>())];
        let mut left = count;
        while left > 0 {
            let now = left.min(some.len());
            self.extend(&some[..now])?;
            left -= now;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_all(&self.waiting).map_err(|source| Error::io(&self.path, source))?;
        self.waiting.clear();
        Ok(())
    }

    /// Writes all bytes to disk; returns the file's entry for the summary.
    pub fn finish(mut self) -> Result<Stored> {
        self.flush()?;
        self.file.sync_data().map_err(|source| Error::io(&self.path, source))?;
        if !self.stored.bytes.is_multiple_of(BLOCK) {
            self.stored.sums.push(self.sum.digest());
        }
        Ok(self.stored)
    }
}
