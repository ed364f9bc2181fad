//! Numbers in a row that are in memory, or in a file that is mapped into memory.

use bytemuck::Pod;
use memmap2::Mmap;
#[cfg(unix)]
use memmap2::{Advice, UncheckedAdvice};
use std::fs::File;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A sequence of numbers. It is read like a slice; only one in memory can grow.
#[derive(Clone)]
pub enum Store<T> {
    Owned(Vec<T>),
    Mapped(Mapped<T>),
}

/// A sequence of numbers in a mapped file, little-endian, as the machine must be.
#[derive(Clone)]
pub struct Mapped<T> {
    map: Arc<Mmap>,
    /// The bytes of the sequence in the file.
    bytes: Range<usize>,
    kind: PhantomData<T>,
}

/// What is soon to happen to numbers in a mapped file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Soon {
    /// They will be read: the system may fetch them.
    Wanted,
    /// They will not be read for a while: their pages need not be in this process' memory.
    Unwanted,
}

impl<T: Pod> Store<T> {
    /// The numbers in these bytes of a mapped file; None if they do not fit or are not aligned to their size.
    pub fn mapped(map: &Arc<Mmap>, bytes: Range<usize>) -> Option<Store<T>> {
        bytemuck::try_cast_slice::<u8, T>(map.get(bytes.clone())?).ok()?;
        Some(Store::Mapped(Mapped { map: Arc::clone(map), bytes, kind: PhantomData }))
    }

    /// The numbers as a vector that can grow; numbers of a file are copied to memory.
    #[inline(always)]
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Store::Mapped(mapped) = self {
            *self = Store::Owned(mapped.to_vec());
        }
        match self {
            Store::Owned(numbers) => numbers,
            Store::Mapped(_) => unreachable!("it has been copied"),
        }
    }

    /// Whether the numbers are in a file.
    pub fn is_mapped(&self) -> bool {
        matches!(self, Store::Mapped(_))
    }

    /// Bytes of memory that the numbers take; 0 if they are in a file.
    pub fn n_bytes(&self) -> usize {
        if self.is_mapped() { 0 } else { size_of_val(&**self) }
    }

    /// Advises the system on the use of some of the numbers. Has no effect on numbers in memory.
    #[cfg(unix)]
    pub fn advise(&self, numbers: Range<usize>, soon: Soon) {
        let Store::Mapped(mapped) = self else { return };
        let (start, length) = (mapped.bytes.start + numbers.start * size_of::<T>(), numbers.len() * size_of::<T>());
        if length == 0 {
            return;
        }
        // Advice that the system does not take is not an error: it concerns only speed and memory.
        let _ = match soon {
            Soon::Wanted => mapped.map.advise_range(Advice::WillNeed, start, length),
            // SAFETY: the map is a read-only one of a file: its pages are read from the file again when they are looked at.
            // Test: `tests::numbers_of_a_file_outlive_advice`.
            Soon::Unwanted => unsafe { mapped.map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, length) },
        };
    }
}

#[cfg(not(unix))]
impl<T: Pod> Store<T> {
    /// Does nothing: the system takes no advice.
    pub fn advise(&self, _numbers: Range<usize>, _soon: Soon) {}
}

/// A file, mapped into memory. It must not be changed while it is mapped.
pub fn map(file: &File) -> std::io::Result<Arc<Mmap>> {
    // SAFETY: the map is read-only. The files that are mapped here are encoded corpora, which are replaced and never changed in
    // place, and temporary files without a name. Should another program cut a corpus short, reading it would end the process.
    // Test: `tests::numbers_of_a_file_outlive_advice`.
    unsafe { Mmap::map(file) }.map(Arc::new)
}

impl<T: Pod> Deref for Mapped<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.map[self.bytes.clone()])
    }
}

impl<T: Pod> Deref for Store<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match self {
            Store::Owned(numbers) => numbers,
            Store::Mapped(mapped) => mapped,
        }
    }
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Store::Owned(Vec::new())
    }
}

impl<T> From<Vec<T>> for Store<T> {
    fn from(numbers: Vec<T>) -> Self {
        Store::Owned(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn numbers_of_a_file_outlive_advice() {
        let numbers: Vec<u32> = (0..100_000).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 8]).unwrap();
        file.write_all(bytemuck::cast_slice(&numbers)).unwrap();
        let map = map(&file).unwrap();
        let mut store = Store::<u32>::mapped(&map, 8..8 + 400_000).unwrap();
        assert!(store.is_mapped());
        for soon in [Soon::Wanted, Soon::Unwanted, Soon::Wanted] {
            store.advise(1000..90_000, soon);
            assert_eq!(*store, numbers);
        }
        store.to_mut().push(7);
        assert_eq!((store.len(), store[100_000], store[5]), (100_001, 7, 5));
        assert!(!store.is_mapped());
    }

    #[test]
    fn bytes_that_do_not_fit_are_refused() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0; 64]).unwrap();
        let map = map(&file).unwrap();
        assert!(Store::<u64>::mapped(&map, 0..64).is_some());
        assert!(Store::<u64>::mapped(&map, 4..12).is_none());
        assert!(Store::<u64>::mapped(&map, 0..63).is_none());
        assert!(Store::<u64>::mapped(&map, 8..72).is_none());
    }
}
