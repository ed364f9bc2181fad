//! Mutants of sound inputs.

use crate::numeric::random::Random;

/// Numbers at the edges of their types.
const EDGES: [u64; 10] =
    [0, 1, 0x7f, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 53, 0x7ff0_0000_0000_0000, u64::MAX];
/// Texts that readers have a rule for.
const WORDS: [&str; 14] = [
    "\n\n",
    "\t",
    ":",
    "\\",
    "\"",
    "[",
    "{",
    "%x[-1,0]",
    "1e999",
    "-0.0",
    "NaN",
    "99999999999999999999",
    "\u{85}",
    "\u{feff}",
];

/// Makes mutants, one after the other.
pub struct Mutator {
    seeds: Vec<Vec<u8>>,
    random: Random,
    mutant: Vec<u8>,
}

impl Mutator {
    /// Mutants of these seeds, which are not empty; the same number gives the same mutants.
    pub fn new(seeds: Vec<Vec<u8>>, number: u64) -> Mutator {
        Mutator { seeds, random: Random::new(number, 0), mutant: Vec::new() }
    }

    /// The next mutant: a seed with up to five changes.
    #[allow(clippy::should_implement_trait)] // it lends
    pub fn next(&mut self) -> &[u8] {
        let seed = self.below(self.seeds.len());
        self.mutant.clone_from(&self.seeds[seed]);
        for _ in 0..=self.below(5) {
            self.change();
        }
        &self.mutant
    }

    fn below(&mut self, count: usize) -> usize {
        (self.random.bits() % count.max(1) as u64) as usize
    }

    fn change(&mut self) {
        let at = self.below(self.mutant.len());
        if self.mutant.is_empty() {
            self.mutant.push(b'\n');
        }
        match self.below(9) {
            0 => self.mutant[at] = self.random.bits() as u8,
            1 => self.mutant[at] ^= 1 << self.below(8),
            2 => self.mutant.insert(at, self.random.bits() as u8),
            3 => drop(self.mutant.remove(at)),
            4 => {
                let (edge, width) = (EDGES[self.below(EDGES.len())], [1, 2, 4, 8][self.below(4)]);
                let at = at / width * width;
                let end = (at + width).min(self.mutant.len());
                self.mutant[at..end].copy_from_slice(&edge.to_le_bytes()[..end - at]);
            }
            5 => {
                let end = (at + 1 + self.below(40)).min(self.mutant.len());
                let piece = self.mutant[at..end].to_vec();
                let to = self.below(self.mutant.len());
                self.mutant.splice(to..to, piece);
            }
            6 => {
                let word = WORDS[self.below(WORDS.len())];
                self.mutant.splice(at..at, word.bytes());
            }
            7 => {
                let other = self.below(self.seeds.len());
                let from = self.below(self.seeds[other].len());
                self.mutant.truncate(at);
                self.mutant.extend_from_slice(&self.seeds[other][from..]);
            }
            _ => self.mutant.truncate(at.max(self.mutant.len() / 2)),
        }
    }
}
