//! A hash of byte strings that can be composed: `of(ab) == of(a).then(of(b))`.
//!
//! Polynomial hashing modulo the Mersenne prime 2^61 - 1. A template such as `U01:%x[-1,0]/%x[0,0]`
//! costs one multiplication per part, whatever the length of the words, and no string is built.
//! Attributes are identified by this hash alone: among n distinct attributes the chance that any two
//! collide is about n^2 / 2^62 (2e-7 for a million). `Alphabet` keeps the strings for inspection.

const P: u64 = (1 << 61) - 1;
const BASE: u64 = 0x0e4c_91b3_58d7_62a9 % P;

/// Hash of a string together with BASE^length, so that strings can be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    hash: u64,
    power: u64,
}

#[inline(always)]
fn reduce(x: u128) -> u64 {
    let folded = (x as u64 & P) + (x >> 61) as u64;
    if folded >= P { folded - P } else { folded }
}

#[inline(always)]
fn multiply(a: u64, b: u64) -> u64 {
    reduce(u128::from(a) * u128::from(b))
}

impl Piece {
    pub const EMPTY: Piece = Piece { hash: 0, power: 1 };

    #[inline]
    pub fn of(bytes: &[u8]) -> Piece {
        let mut hash = 0u64;
        let mut power = 1u64;
        for &byte in bytes {
            hash = reduce(u128::from(hash) * u128::from(BASE) + u128::from(byte) + 1);
            power = multiply(power, BASE);
        }
        Piece { hash, power }
    }

    /// The hash of this string followed by another.
    #[inline(always)]
    pub fn then(self, next: Piece) -> Piece {
        let shifted = u128::from(self.hash) * u128::from(next.power) + u128::from(next.hash);
        Piece { hash: reduce(shifted), power: multiply(self.power, next.power) }
    }

    /// The key of the concatenation of some pieces: as `then`, without the powers that only further pieces would need.
    #[inline(always)]
    pub fn joined_key(pieces: impl Iterator<Item = Piece>) -> u64 {
        let join = |hash, next: Piece| reduce(u128::from(hash) * u128::from(next.power) + u128::from(next.hash));
        Piece { hash: pieces.fold(0, join), power: 0 }.key()
    }

    /// The 64-bit key under which an attribute is stored: mixed, and never 0, which marks an empty slot.
    #[inline(always)]
    pub fn key(self) -> u64 {
        let mut x = self.hash;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        x.max(1)
    }
}

/// The key of a whole string.
#[inline]
pub fn key_of(bytes: &[u8]) -> u64 {
    Piece::of(bytes).key()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn joining_pieces_is_hashing_the_joined_string(a: Vec<u8>, b: Vec<u8>, c: Vec<u8>) {
            let joined: Vec<u8> = a.iter().chain(&b).chain(&c).copied().collect();
            let pieces = Piece::of(&a).then(Piece::of(&b)).then(Piece::of(&c));
            prop_assert_eq!(pieces, Piece::of(&joined));
            prop_assert_eq!(Piece::joined_key([&a, &b, &c].into_iter().map(|x| Piece::of(x))), pieces.key());
            prop_assert_eq!(Piece::EMPTY.then(Piece::of(&a)), Piece::of(&a));
        }
    }

    #[test]
    fn short_strings_do_not_collide() {
        let mut seen = std::collections::HashSet::new();
        for a in 0..=255u8 {
            assert!(seen.insert(key_of(&[a])));
            for b in 0..=255u8 {
                assert!(seen.insert(key_of(&[a, b])));
            }
        }
        assert!(seen.insert(key_of(b"")));
    }
}
