//! A vector of numbers that starts on a cache line.
//!
//! Rows of doubles padded to `numeric::LANES` then fill whole cache lines. A plain `Vec` starts 16 bytes into a cache line, and every
//! access to eight of its doubles touches two lines.

use crate::memory::reserve;
use std::ops::{Deref, DerefMut};

/// Bytes of a cache line.
const LINE: usize = 64;

/// Numbers, the first of which starts a cache line; reads and writes as a slice. Memory that it cannot have is a panic that carries
/// `memory::OutOfMemory`.
#[derive(Default)]
pub struct Aligned<T = f64> {
    /// Padding up to the first cache line of the allocation, then the numbers.
    values: Vec<T>,
    /// Length of the padding.
    start: usize,
}

impl<T: Copy + Default> Aligned<T> {
    /// `len` numbers, all equal to `value`.
    pub fn new(len: usize, value: T) -> Self {
        let mut aligned = Aligned::with_capacity(len);
        aligned.resize(len, value);
        aligned
    }

    /// No numbers yet, and room for `capacity` of them.
    fn with_capacity(capacity: usize) -> Self {
        let mut values: Vec<T> = Vec::new();
        reserve(&mut values, capacity.saturating_add(LINE / size_of::<T>()));
        let start = values.as_ptr().align_offset(LINE);
        values.resize(start, T::default());
        Aligned { values, start }
    }

    /// Changes the length, like `Vec::resize`; new numbers are `value`.
    pub fn resize(&mut self, len: usize, value: T) {
        if self.start + len > self.values.capacity() {
            let mut larger = Aligned::with_capacity(len.max(2 * self.len()));
            larger.values.extend_from_slice(self);
            *self = larger;
        }
        self.values.resize(self.start + len, value);
    }

    /// Removes all numbers and keeps the memory.
    pub fn clear(&mut self) {
        self.values.truncate(self.start);
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.values[self.start..]
    }
}

impl<T> DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[self.start..]
    }
}

impl<T: Copy + Default> Clone for Aligned<T> {
    fn clone(&self) -> Self {
        let mut copy = Aligned::with_capacity(self.len());
        copy.values.extend_from_slice(self);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        self.resize(source.len(), T::default());
        self.copy_from_slice(source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_start_on_a_cache_line_and_survive_growth() {
        let mut vector = Aligned::<f64>::default();
        for len in [0, 1, 3, 24, 1000, 5, 100_000] {
            let before: Vec<f64> = vector.to_vec();
            vector.resize(len, 7.0);
            let common = before.len().min(len);
            assert_eq!(vector[..common], before[..common]);
            assert!(vector[common..].iter().all(|&x| x == 7.0));
            assert!(len == 0 || vector.as_ptr().align_offset(LINE) == 0, "{len}");
            let copy = vector.clone();
            assert_eq!(copy[..], vector[..]);
            assert!(len == 0 || copy.as_ptr().align_offset(LINE) == 0, "{len}");
        }
    }
}
