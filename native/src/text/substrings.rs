//! The distinct substrings of cells with their hashes, remembered for cells that occur again: texts repeat words, and sorting takes time.

use crate::corpus::hash::Piece;
use std::ops::Range;

/// Number of cells after which substrings are remembered: shorter texts are not worth the memory.
const FIRST: usize = 256;
/// Number of cells that are remembered, each at the place given by its hash.
const PLACES: usize = 1 << 12;
/// The most substrings of a cell that is remembered.
const MOST: usize = 256;

/// A substring of a cell.
pub(super) struct Substring {
    /// Its first byte, and one past its last byte.
    pub(super) bytes: Range<usize>,
    pub(super) piece: Piece,
}

/// A cell, the most characters of a substring, and the substrings.
type Remembered = (Box<str>, usize, Box<[Substring]>);

/// Forms the substrings of cells.
#[derive(Default)]
pub(super) struct Substrings {
    cells: usize,
    /// Place -> cell that is remembered there.
    remembered: Vec<Option<Remembered>>,
    /// The substrings of a cell that is not.
    formed: Vec<Substring>,
}

impl Substrings {
    /// The distinct substrings of 1 to `most` characters, in the order of their bytes.
    pub(super) fn of(&mut self, text: &str, most: usize) -> &[Substring] {
        self.cells += 1;
        if self.cells <= FIRST {
            self.formed = form(text, most);
            return &self.formed;
        }
        if self.remembered.is_empty() {
            self.remembered.resize_with(PLACES, || None);
        }
        let place = &mut self.remembered[Piece::of(text.as_bytes()).key() as usize % PLACES];
        let is_remembered = place.as_ref().is_some_and(|(cell, longest, _)| **cell == *text && *longest == most);
        if !is_remembered {
            self.formed = form(text, most);
            if self.formed.len() > MOST {
                return &self.formed;
            }
            *place = Some((text.into(), most, std::mem::take(&mut self.formed).into()));
        }
        place.as_ref().map_or(&[], |(.., substrings)| substrings)
    }
}

fn form(text: &str, most: usize) -> Vec<Substring> {
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for start in 0..ends.len() - 1 {
        ranges.extend(ends[start + 1..].iter().take(most).map(|&end| ends[start]..end));
    }
    ranges.sort_unstable_by_key(|bytes| &text[bytes.clone()]);
    ranges.dedup_by_key(|bytes| &text[bytes.clone()]);
    let with_hash = |bytes: Range<usize>| Substring { piece: Piece::of(text[bytes.clone()].as_bytes()), bytes };
    ranges.into_iter().map(with_hash).collect()
}
