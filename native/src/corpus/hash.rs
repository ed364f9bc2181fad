//! A hash of byte strings that can be composed: the hash of `ab` follows from the hashes of `a` and of `b`.
//!
//! Strings are hashed as polynomials modulo the Mersenne prime 2^61 - 1. A template such as `U01:%x[-1,0]/%x[0,0]` costs one
//! multiplication per part, independently of the lengths of the words, and no string is built.
//!
//! The hash alone identifies an attribute: the chance that any two of n distinct attributes collide is about n^2 / 2^62 (2e-7 for
//! a million). `Alphabet` keeps the strings for inspection.

/// The modulus.
const P: u64 = (1 << 61) - 1;
/// The point at which polynomials are evaluated.
const BASE: u64 = 0x0e4c_91b3_58d7_62a9 % P;

/// The hash of a string, and the power by which a join shifts the hash of the string before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Below 2^62; below P except after `before`.
    hash: u64,
    /// 8 BASE^length, where BASE^length is below P.
    power: u64,
}

/// x modulo P.
#[inline(always)]
fn reduce(x: u128) -> u64 {
    let folded = (x as u64 & P) + (x >> 61) as u64;
    if folded >= P { folded - P } else { folded }
}

/// x modulo P, for sums that are larger than a product and a byte.
#[inline(always)]
fn reduce_sum(x: u128) -> u64 {
    reduce(u128::from((x as u64 & P) + (x >> 61) as u64))
}

/// x modulo P, or P more: at most P + 7.
#[inline(always)]
fn folded(x: u64) -> u64 {
    (x & P) + (x >> 61)
}

/// a b + c modulo P, or P more, where `b8` is 8 b, and a, b and c are below 2^62, P and P.
///
/// The upper half of the product 8 a b is a b / 2^61, rounded down, the lower half 8 (a b modulo 2^61): no shift has to join two words.
#[inline(always)]
fn multiply_add(a: u64, b8: u64, c: u64) -> u64 {
    let product = u128::from(a) * u128::from(b8);
    folded((product >> 64) as u64 + (product as u64 >> 3) + c)
}

/// x modulo P, for x below 2 P.
#[inline(always)]
fn least(x: u64) -> u64 {
    if x >= P { x - P } else { x }
}

/// a b modulo P.
#[inline(always)]
fn multiply(a: u64, b: u64) -> u64 {
    least(multiply_add(a, b << 3, 0))
}

impl Piece {
    /// The empty string.
    pub const EMPTY: Piece = Piece { hash: 0, power: 1 << 3 };

    /// The hash of a string.
    #[inline]
    pub fn of(bytes: &[u8]) -> Piece {
        Piece { hash: hash_of(0, bytes), power: power_of(bytes.len()) << 3 }
    }

    /// The hash of this string with another one after it.
    #[inline(always)]
    pub fn then(self, next: Piece) -> Piece {
        let hash = least(multiply_add(self.hash, next.power, next.hash));
        Piece { hash, power: least(multiply_add(self.power >> 3, next.power, 0)) << 3 }
    }

    /// The hash of this string with another one after it, of which only the key is wanted.
    #[inline(always)]
    pub fn before(self, next: Piece) -> Piece {
        Piece { hash: multiply_add(self.hash, next.power, next.hash), power: 0 }
    }

    /// The 64-bit key under which an attribute is stored: the hash with its bits mixed. It is never 0, which marks an empty slot.
    #[inline(always)]
    pub fn key(self) -> u64 {
        let mut x = least(self.hash);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        x.max(1)
    }
}

/// The key of a string.
#[inline]
pub fn key_of(bytes: &[u8]) -> u64 {
    Piece { hash: hash_of(0, bytes), power: 0 }.key()
}

/// Bytes that are hashed together: eight products do not wait for one another, and their sum has fewer than 128 bits.
const TOGETHER: usize = 8;
/// Length -> BASE^length.
const POWERS: [u64; 64] = powers();

const fn powers() -> [u64; 64] {
    let mut powers = [1; 64];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = (powers[at - 1] as u128 * BASE as u128 % P as u128) as u64;
        at += 1;
    }
    powers
}

/// BASE^length
#[inline]
fn power_of(length: usize) -> u64 {
    let whole = (0..length / 63).fold(1, |power, _| multiply(power, POWERS[63]));
    if whole == 1 { POWERS[length % 63] } else { multiply(whole, POWERS[length % 63]) }
}

/// The hash of a string whose beginning has the hash `hash`, and whose rest is `bytes`.
#[inline]
fn hash_of(mut hash: u64, bytes: &[u8]) -> u64 {
    let digits = |bytes: &[u8]| {
        let powers = POWERS[..bytes.len()].iter().rev();
        bytes
            .iter()
            .zip(powers)
            .map(|(&byte, &power)| u128::from(u64::from(byte) + 1) * u128::from(power))
            .sum::<u128>()
    };
    let (groups, rest) = bytes.as_chunks::<TOGETHER>();
    for group in groups {
        hash = reduce_sum(u128::from(hash) * u128::from(POWERS[TOGETHER]) + digits(group));
    }
    if rest.is_empty() { hash } else { reduce_sum(u128::from(hash) * u128::from(POWERS[rest.len()]) + digits(rest)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn joining_pieces_is_hashing_the_joined_string(a: Vec<u8>, b: Vec<u8>, c: Vec<u8>) {
            let joined: Vec<u8> = a.iter().chain(&b).chain(&c).copied().collect();
            let [a, b, c] = [&a, &b, &c].map(|part| Piece::of(part));
            prop_assert_eq!(a.before(b).before(c).key(), Piece::of(&joined).key());
            prop_assert_eq!(a.then(b).then(c), Piece::of(&joined));
        }
    }

    proptest! {
        #[test]
        fn a_string_is_hashed_as_a_polynomial(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let step = |(hash, power): (u128, u128), &byte: &u8| {
                ((hash * u128::from(BASE) + u128::from(byte) + 1) % u128::from(P), power * u128::from(BASE) % u128::from(P))
            };
            let (hash, power) = bytes.iter().fold((0, 1), step);
            prop_assert_eq!(Piece::of(&bytes), Piece { hash: hash as u64, power: 8 * power as u64 });
        }
    }

    #[test]
    fn the_largest_products_are_reduced() {
        let large = [0, 1, P - 1, P, P + 7, (1 << 62) - 1];
        for a in large {
            for (b, c) in [0, 1, 1 << 60, P - 1].into_iter().zip([P - 1, 1, 0, P - 1]) {
                let expected = (u128::from(a) * u128::from(b) + u128::from(c)) % u128::from(P);
                assert_eq!(u128::from(least(multiply_add(a, b << 3, c))), expected, "{a} * {b} + {c}");
            }
        }
    }

    #[test]
    fn the_largest_sums_are_reduced() {
        for x in [0, 1, u128::from(P), u128::from(P) * 2 - 1, u128::from(P) * u128::from(P), (1 << 122) + (1 << 72)] {
            assert_eq!(u128::from(reduce_sum(x)), x % u128::from(P), "{x}");
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
