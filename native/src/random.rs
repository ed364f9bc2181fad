//! Random numbers: SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators", figures 14
//! to 17).

/// 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One of many streams of random numbers of a seed.
pub struct Stream(u64);

impl Stream {
    /// Streams start at unrelated places of one cycle of 2^64 numbers.
    pub fn new(seed: u64, index: u64) -> Stream {
        Stream(mix(mix(seed.wrapping_add(GAMMA)).wrapping_add(mix(index.wrapping_mul(GAMMA)))))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// From [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        // java.util.SplittableRandom(0) and Vigna's splitmix64.c begin so.
        let mut stream = Stream(0);
        assert_eq!([stream.bits(), stream.bits()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn means_over_streams_and_along_them_are_a_half() {
        let n = 100_000;
        let along: f64 = std::iter::repeat_with({
            let mut stream = Stream::new(1, 1);
            move || stream.unit()
        })
        .take(n)
        .sum();
        let across: f64 = (0..n as u64).map(|index| Stream::new(1, index).unit()).sum();
        // Standard deviation of a mean: sqrt(1 / 12 / n).
        let error = (1.0 / 12.0 / n as f64).sqrt();
        for sum in [along, across] {
            assert!((sum / n as f64 - 0.5).abs() < 5.0 * error, "{sum}");
        }
    }
}
