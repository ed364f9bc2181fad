//! Random numbers: xoshiro256++ (Blackman & Vigna 2021, "Scrambled linear pseudorandom number generators"), seeded
//! through SplitMix64 as its authors advise.

/// A generator of random numbers. Each pair of seed and stream gives it a different initial state.
pub struct Random([u64; 4]);

/// The odd number nearest to 2^64 divided by the golden ratio, SplitMix64's increment.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64.
fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Random {
    /// The generator of stream number `stream` of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        let key = mixed(mixed(seed.wrapping_add(GOLDEN)) ^ stream.wrapping_add(1).wrapping_mul(GOLDEN));
        Random([1, 2, 3, 4].map(|k: u64| mixed(key.wrapping_add(k.wrapping_mul(GOLDEN)))))
    }

    /// The next 64 random bits.
    #[inline(always)]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let bits = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        bits
    }

    /// A number from [0, 1), uniform over the multiples of 2^-53.
    #[inline(always)]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_reference_implementation() {
        // The first value computed by hand: rotl(1 + 4, 23) + 1.
        let mut random = Random([1, 2, 3, 4]);
        assert_eq!([random.bits(), random.bits()], [41_943_041, 58_720_359]);
    }

    #[test]
    fn streams_are_uniform_and_unlike_one_another() {
        let n = 100_000;
        let draw = |seed, stream| -> Vec<f64> {
            let mut random = Random::new(seed, stream);
            (0..n).map(|_| random.uniform()).collect()
        };
        let streams = [draw(0, 0), draw(0, 1), draw(1, 0)];
        for x in &streams {
            let mean = x.iter().sum::<f64>() / n as f64;
            assert!((mean - 0.5).abs() < 5.0 / (12.0 * n as f64).sqrt(), "{mean}");
            assert!(x.iter().all(|x| (0.0..1.0).contains(x)));
        }
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let product = |(x, y): (&f64, &f64)| (x - 0.5) * (y - 0.5);
            let covariance = streams[a].iter().zip(&streams[b]).map(product).sum::<f64>() / n as f64;
            assert!(covariance.abs() < 5.0 / (144.0 * n as f64).sqrt(), "{covariance}");
        }
    }
}
