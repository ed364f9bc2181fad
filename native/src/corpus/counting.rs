//! Finds the attributes that occur on enough tokens, in bounded memory: sorted runs of keys with their counts go to temporary
//! files and are merged at the end.

use crate::error::{Error, Result};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{BufReader, BufWriter, Read, Seek, Write};

/// Number of keys counted in memory; about 300 MiB.
const IN_MEMORY: usize = 8 << 20;

/// The keys are hashes already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("keys are numbers");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// On how many tokens each attribute is.
pub struct Counter {
    counts: HashMap<u64, u64, BuildHasherDefault<AsIs>>,
    /// Files of keys in ascending order, each with its count.
    runs: Vec<File>,
    in_memory: usize,
}

impl Default for Counter {
    fn default() -> Self {
        Counter::with_memory(IN_MEMORY)
    }
}

impl Counter {
    /// A counter that holds this many keys in memory, plus the keys of a piece.
    fn with_memory(in_memory: usize) -> Counter {
        Counter { counts: HashMap::default(), runs: Vec::new(), in_memory }
    }

    /// Adds the keys of a piece's attributes, each with the number of its tokens (`Builder::token_counts`).
    pub fn push(&mut self, counts: impl Iterator<Item = (u64, u64)>) -> Result<()> {
        for (key, count) in counts {
            *self.counts.entry(key).or_insert(0) += count;
        }
        if self.counts.len() > self.in_memory { self.spill() } else { Ok(()) }
    }

    fn sorted(&mut self) -> Vec<(u64, u64)> {
        let mut sorted: Vec<(u64, u64)> = self.counts.drain().collect();
        sorted.sort_unstable();
        sorted
    }

    /// Writes the keys in memory to a file.
    fn spill(&mut self) -> Result<()> {
        let fail = |source| Error::io("a temporary file", source);
        let mut file = tempfile::tempfile().map_err(fail)?;
        let mut out = BufWriter::with_capacity(1 << 20, &mut file);
        for (key, count) in self.sorted() {
            out.write_all(&key.to_le_bytes()).and_then(|()| out.write_all(&count.to_le_bytes())).map_err(fail)?;
        }
        out.flush().map_err(fail)?;
        drop(out);
        file.rewind().map_err(fail)?;
        self.runs.push(file);
        Ok(())
    }

    /// The keys of the attributes on `least` tokens or more, ascending.
    pub fn finish(mut self, least: u64) -> Result<Kept> {
        let last = self.sorted();
        let mut runs: Vec<Run> =
            self.runs.drain(..).map(|file| Run::OnDisk(BufReader::with_capacity(1 << 18, file))).collect();
        runs.push(Run::InMemory(last.into_iter()));
        let mut heap = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            heap.extend(run.next()?.map(|(key, count)| Reverse((key, count, number))));
        }
        let (mut keys, mut current, mut total) = (Vec::new(), 0, 0);
        while let Some(Reverse((key, count, number))) = heap.pop() {
            if key != current {
                if total >= least && total > 0 {
                    keys.push(current);
                }
                (current, total) = (key, 0);
            }
            total += count;
            heap.extend(runs[number].next()?.map(|(key, count)| Reverse((key, count, number))));
        }
        if total >= least && total > 0 {
            keys.push(current);
        }
        Ok(Kept(keys))
    }
}

/// Keys in ascending order, each with its count.
enum Run {
    InMemory(std::vec::IntoIter<(u64, u64)>),
    OnDisk(BufReader<File>),
}

impl Run {
    fn next(&mut self) -> Result<Option<(u64, u64)>> {
        match self {
            Run::InMemory(pairs) => Ok(pairs.next()),
            Run::OnDisk(file) => {
                let mut pair = [0; 16];
                match file.read_exact(&mut pair) {
                    Ok(()) => {
                        let number = |at: usize| u64::from_le_bytes(pair[at..at + 8].try_into().expect("8 bytes"));
                        Ok(Some((number(0), number(8))))
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
                    Err(source) => Err(Error::io("a temporary file", source)),
                }
            }
        }
    }
}

/// The keys of the attributes that occur on enough tokens, ascending.
pub struct Kept(Vec<u64>);

impl Kept {
    /// Whether an attribute is kept.
    pub fn holds(&self, key: u64) -> bool {
        self.0.binary_search(&key).is_ok()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Corpus;
    use crate::corpus::assembly::Builder;
    use crate::corpus::hash::key_of;
    use crate::corpus::sink::{Gold, Sink};

    fn piece(tokens: &[&[u8]]) -> Builder {
        let mut builder = Builder::default();
        for token in tokens {
            for name in token.chunks(1) {
                // Each name has a different value.
                builder.state(key_of(name), f64::from(name[0]), |out| out.extend_from_slice(name));
            }
            builder.bigram(key_of(b"B"), |out| out.push(b'B'));
            builder.end_token(Some(Gold::Label(b"L")));
        }
        builder.end_sentence(1.0);
        builder
    }

    #[test]
    fn tokens_are_counted_over_runs_and_others_left_out() {
        let pieces: [&[&[u8]]; 3] = [&[b"aab", b"bc"], &[b"ad", b"d", b"c"], &[b"e", b"da"]];
        for in_memory in [0, 2, 100] {
            let mut counter = Counter::with_memory(in_memory);
            pieces.iter().for_each(|tokens| counter.push(piece(tokens).token_counts()).unwrap());
            // a is on three tokens, b on two, c on two, d on three, e on one, B on all seven.
            let frequent = counter.finish(3).unwrap();
            let held = |name: &[u8]| frequent.holds(key_of(name));
            assert_eq!(
                [b"a", b"b", b"c", b"d", b"e", b"B"].map(|name| held(name)),
                [true, false, false, true, false, true]
            );
            assert_eq!(frequent.len(), 3);
            let corpus = Corpus::assemble(pieces.iter().map(|tokens| piece(tokens).keep(&frequent)).collect()).unwrap();
            let names: Vec<&[u8]> = (0..3).map(|id| corpus.attributes.text(id)).collect();
            assert_eq!(names, [b"a", b"B", b"d"]);
            assert_eq!(*corpus.states.ids, [0, 0, 0, 2, 2, 2, 0]);
            assert_eq!(*corpus.states.ends, [2, 2, 4, 5, 5, 5, 7]);
            assert_eq!(*corpus.bigrams.ids, [1; 7]);
            assert_eq!(*corpus.values, [97.0, 97.0, 97.0, 100.0, 100.0, 100.0, 97.0]);
        }
    }
}
