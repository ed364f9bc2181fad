//! Bytes of a text, found eight at a time.

/// The lowest seven bits of each byte of a word.
const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
/// Bytes of a word, and of a window of marks.
const WORD: usize = 8;
const WINDOW: usize = 64;

/// The highest bit of every byte of a word that equals `byte`.
#[inline(always)]
pub(super) fn equal(word: u64, byte: u8) -> u64 {
    let differs = word ^ (u64::from(byte) * 0x0101_0101_0101_0101);
    !(((differs & LOW) + LOW) | differs | LOW)
}

/// The place of the first byte that equals `byte`.
#[inline]
pub(super) fn position(text: &[u8], byte: u8) -> Option<usize> {
    let (words, rest) = text.as_chunks::<WORD>();
    for (at, &word) in words.iter().enumerate() {
        let marks = equal(u64::from_le_bytes(word), byte);
        if marks != 0 {
            return Some(at * WORD + marks.trailing_zeros() as usize / WORD);
        }
    }
    rest.iter().position(|&other| other == byte).map(|at| words.len() * WORD + at)
}

/// A walk along a text whose bytes are marked or not.
pub(super) struct Marks<'t, F> {
    text: &'t [u8],
    /// The highest bit of every byte of a word that is marked.
    marked: F,
    /// A bit for each byte from `window` on.
    bits: u64,
    window: usize,
    at: usize,
}

impl<'t, F: Fn(u64) -> u64> Marks<'t, F> {
    /// Starts at the beginning of the text.
    #[inline(always)]
    pub(super) fn new(text: &'t [u8], marked: F) -> Self {
        let mut marks = Marks { text, marked, bits: 0, window: 0, at: 0 };
        marks.look();
        marks
    }

    /// Goes to the next byte, this one included, that is marked or not, as wanted; returns its place, or the end of the text.
    #[inline(always)]
    pub(super) fn advance(&mut self, marked: bool) -> usize {
        while self.at < self.text.len() {
            if self.at - self.window == WINDOW {
                self.window = self.at;
                self.look();
            }
            let seen = self.at - self.window;
            let bits = (if marked { self.bits } else { !self.bits }) >> seen;
            let most = (self.text.len() - self.window).min(WINDOW) - seen;
            let ahead = bits.trailing_zeros() as usize;
            self.at += ahead.min(most);
            if ahead < most {
                break;
            }
        }
        self.at
    }

    /// Marks the bytes of the window.
    #[inline(always)]
    fn look(&mut self) {
        let text = &self.text[self.window..];
        let text = &text[..text.len().min(WINDOW)];
        let marks = |word: &[u8; WORD]| {
            // Puts the highest bits of all bytes side by side.
            ((self.marked)(u64::from_le_bytes(*word)) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
        };
        self.bits = 0;
        for (at, word) in text.as_chunks::<WORD>().0.iter().enumerate() {
            self.bits |= marks(word) << (at * WORD);
        }
        if let Some(last) = text.last_chunk::<WORD>() {
            self.bits |= marks(last) << (text.len() - WORD);
        } else {
            let mut word = [0; WORD];
            word.iter_mut().zip(text).for_each(|(byte, &other)| *byte = other);
            self.bits = marks(&word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_are_found_where_a_search_byte_by_byte_finds_them(text in "[a \t\u{80}\u{a0}\n]{0,150}", byte: u8) {
            let text = text.as_bytes();
            for byte in [byte, b'\n', b' ', 0x80, 0, 255] {
                prop_assert_eq!(position(text, byte), text.iter().position(|&other| other == byte));
            }
            let is_marked = |byte: u8| matches!(byte, b' ' | b'\n');
            for first in [false, true] {
                let mut marks = Marks::new(text, |word| equal(word, b' ') | equal(word, b'\n'));
                let (mut at, mut wanted) = (0, first);
                while at < text.len() {
                    let next = text[at..].iter().position(|&byte| is_marked(byte) == wanted);
                    at = next.map_or(text.len(), |ahead| at + ahead);
                    prop_assert_eq!(marks.advance(wanted), at);
                    wanted = !wanted;
                }
                prop_assert_eq!(marks.advance(wanted), text.len());
            }
        }
    }

    #[test]
    fn every_byte_equals_itself_alone() {
        for byte in 0..=255u8 {
            let equals =
                |other: u8| equal(u64::from_le_bytes([other, byte, 0, 127, 128, 255, 1, other]), byte) & 0x80 != 0;
            assert!((0..=255u8).all(|other| equals(other) == (other == byte)), "{byte}");
        }
    }
}
