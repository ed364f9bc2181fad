//! A packed lexicon, and the longest entries in a sentence.
//!
//! A lexicon is a trie over words. A node is the sequence of words that leads to it, and is found by the key of this sequence
//! alone: keys are sorted, and an index of their first bits leads to the few that share them. A node takes 10 bytes, and the index
//! less than 2. The packed lexicon is used as it is, whether it is in memory or in a mapped model file.
//!
//! | part of the package | content |
//! | --- | --- |
//! | number | whether entries are lower-cased, 0 or 1 |
//! | number | number of entries |
//! | texts | sets of types, distinct; the empty text stands for no type |
//! | list of u64 | keys of the nodes, ascending |
//! | list of u16 | node -> twice the number of its set of types, from 1, or 0 if no entry ends here; plus 1 if entries continue |

use crate::corpus::hash::Piece;
use crate::error::Result;
use crate::files::model_file::Storage;
use crate::files::packed::{Unpacker, damaged};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// The most words of an entry: a look-up at a token goes no further, whatever the lexicon has.
pub const MOST_WORDS: usize = 64;
/// The kind of the package.
pub(super) const KIND: &str = "lexicon";
/// What a token outside all entries has.
const OUTSIDE: &[u8] = b"O";
/// Nodes that share a place of the index, on average.
const TOGETHER: usize = 4;

/// The bytes of a packed lexicon: its own, or a range of a model file.
enum Bytes {
    Owned(Vec<u8>),
    Shared(Arc<Storage>, Range<usize>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Shared(storage, range) => &storage[range.clone()],
        }
    }
}

/// A lexicon, ready to look up.
pub struct Lexicon {
    bytes: Bytes,
    /// Whether its entries are lower-cased.
    pub folded: bool,
    /// Number of its entries.
    pub entries: usize,
    /// Set of types -> what the first token of an entry has, and what its other tokens have.
    values: Vec<[Vec<u8>; 2]>,
    /// Where the keys and the nodes are among the bytes.
    keys: Range<usize>,
    nodes: Range<usize>,
    /// First bits of a key -> the first node with them; and the number of nodes.
    index: Vec<u32>,
    /// Bits of a key after the first ones.
    shift: u32,
}

/// What a sequence of words is in a lexicon.
#[derive(Clone, Copy)]
struct Node {
    /// The set of types of the entry that ends here, if one does.
    types: Option<usize>,
    /// Whether longer entries begin so.
    continues: bool,
}

/// The end of a word, in the keys of sequences: a byte that does not occur in UTF-8.
pub(super) fn end_of_word() -> Piece {
    Piece::of(&[0xff])
}

/// The sequence of words `before` and one more, whose hash is `word`.
#[inline]
pub(super) fn extended(before: Piece, word: Piece, end: Piece) -> Piece {
    before.before(word).before(end)
}

impl Lexicon {
    /// A lexicon of the bytes of its package. Error: they are damaged.
    pub fn of_bytes(bytes: Vec<u8>) -> Result<Lexicon> {
        Lexicon::new(Bytes::Owned(bytes))
    }

    /// A lexicon that is packed in a range of a model file, which is not copied. Error: it is damaged.
    pub fn in_storage(storage: &Arc<Storage>, range: Range<usize>) -> Result<Lexicon> {
        Lexicon::new(Bytes::Shared(Arc::clone(storage), range))
    }

    fn new(bytes: Bytes) -> Result<Lexicon> {
        let mut unpacker = Unpacker::new(KIND, &bytes)?;
        let (folded, entries, types) = (unpacker.number()?, unpacker.size()?, unpacker.texts()?);
        let keys = unpacker.bytes_of_list(size_of::<u64>())?;
        let nodes = unpacker.bytes_of_list(size_of::<u16>())?;
        let n = keys.len() / size_of::<u64>();
        let sound = folded <= 1
            && entries <= n
            && n < u32::MAX as usize
            && nodes.len() == n * size_of::<u16>()
            && nodes
                .chunks_exact(2)
                .all(|node| usize::from(u16::from_le_bytes([node[0], node[1]]) >> 1) <= types.len());
        unpacker.finish(sound)?;
        let bits = (n / TOGETHER).max(1).ilog2();
        let shift = u64::BITS - bits;
        let mut index = Vec::with_capacity((1 << bits) + 1);
        let (mut previous, mut ascending) = (None, true);
        for (at, key) in keys.chunks_exact(8).map(key_in).enumerate() {
            ascending &= previous.is_none_or(|previous| previous < key);
            previous = Some(key);
            let place = place_of(key, shift);
            while ascending && index.len() <= place {
                index.push(at as u32);
            }
        }
        if !ascending {
            return Err(damaged());
        }
        index.resize((1 << bits) + 1, n as u32);
        let range_of = |part: &[u8]| {
            let start = part.as_ptr() as usize - bytes.as_ptr() as usize;
            start..start + part.len()
        };
        let (keys, nodes) = (range_of(keys), range_of(nodes));
        let value = |letter: &str, types: &str| match types {
            "" => letter.as_bytes().to_vec(),
            _ => format!("{letter}-{types}").into_bytes(),
        };
        let values = types.iter().map(|types| ["B", "I"].map(|letter| value(letter, types))).collect();
        Ok(Lexicon { folded: folded == 1, entries, values, keys, nodes, index, shift, bytes })
    }

    /// The bytes of its package.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Length of the longest value in bytes.
    pub fn longest_value(&self) -> usize {
        self.values.iter().map(|[first, _]| first.len()).max().unwrap_or(OUTSIDE.len())
    }

    /// Appends what each token has: `B` for the first token of an entry, `I` for its others, `O` for tokens outside. The longest of
    /// the entries that begin at a token is taken, from the left, and the search goes on after it. `words` has the hashes of words.
    pub fn tag<'l>(&'l self, words: &[Piece], values: &mut Vec<&'l [u8]>) {
        let mut rest = words;
        while !rest.is_empty() {
            let n = match self.longest(rest) {
                Some((n, types)) => {
                    let [first, other] = &self.values[types];
                    values.push(first);
                    values.extend(std::iter::repeat_n(&other[..], n - 1));
                    n
                }
                None => {
                    values.push(OUTSIDE);
                    1
                }
            };
            rest = &rest[n..];
        }
    }

    /// The longest entry that some words begin with: its number of words, and its set of types.
    fn longest(&self, words: &[Piece]) -> Option<(usize, usize)> {
        let (mut sequence, mut longest, end) = (Piece::EMPTY, None, end_of_word());
        // A damaged lexicon may be deeper than those that are built.
        for (at, &word) in words.iter().take(MOST_WORDS).enumerate() {
            sequence = extended(sequence, word, end);
            let Some(node) = self.node(sequence.key()) else { break };
            if let Some(types) = node.types {
                longest = Some((at + 1, types));
            }
            if !node.continues {
                break;
            }
        }
        longest
    }

    /// The node with this key.
    #[inline]
    fn node(&self, key: u64) -> Option<Node> {
        let place = place_of(key, self.shift);
        let (mut first, mut last) = (self.index[place] as usize, self.index[place + 1] as usize);
        let keys = &self.bytes[self.keys.clone()];
        while first < last {
            let middle = (first + last) / 2;
            let key_there = key_in(&keys[middle * 8..][..8]);
            if key_there == key {
                let node = &self.bytes[self.nodes.clone()][middle * 2..][..2];
                let node = u16::from_le_bytes([node[0], node[1]]);
                return Some(Node { types: usize::from(node >> 1).checked_sub(1), continues: node & 1 == 1 });
            }
            if key_there < key { first = middle + 1 } else { last = middle }
        }
        None
    }
}

/// The key in eight bytes.
#[inline]
fn key_in(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// The place of a key in an index.
#[inline]
fn place_of(key: u64, shift: u32) -> usize {
    key.checked_shr(shift).unwrap_or(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::lexicon::Source;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn lexicon(text: &str, folded: bool) -> Lexicon {
        Lexicon::of_bytes(Source { name: "towns.txt", text: text.as_bytes(), comments: true }.packed(folded).unwrap())
            .unwrap()
    }

    fn tagged(lexicon: &Lexicon, sentence: &str) -> String {
        let words: Vec<Piece> = sentence.split(' ').map(|word| Piece::of(word.as_bytes())).collect();
        let mut values = Vec::new();
        lexicon.tag(&words, &mut values);
        values.iter().map(|value| std::str::from_utf8(value).unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_longest_entry_from_the_left_wins() {
        let towns = lexicon("# towns\nNew York\nNew York City\nYork\n\nCity Hall Park\nBath\r\n", false);
        assert_eq!(towns.entries, 5);
        for (sentence, values) in [
            ("in New York City Hall Park", "O B I I O O"),
            ("in New York , York", "O B I O B"),
            ("New New York", "O B I"),
            ("new york Bath Bath", "O O B B"),
            ("City Hall", "O O"),
        ] {
            assert_eq!(tagged(&towns, sentence), values, "{sentence}");
        }
    }

    #[test]
    fn types_of_an_entry_are_joined_in_byte_order() {
        let text = "Paris\tTOWN\nParis\tPERSON\nParis\nYork\nYork\nNew York\tTOWN\n";
        assert_eq!(tagged(&lexicon(text, false), "Paris New York York"), "B-PERSON|TOWN B-TOWN I-TOWN B");
    }

    #[test]
    fn an_empty_lexicon_has_no_entries() {
        assert_eq!(tagged(&lexicon("# none\n\n", false), "a b"), "O O");
    }

    #[test]
    fn damage_is_found() {
        let bytes = lexicon("a b\nc\tX\n", false).bytes().to_vec();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(Lexicon::of_bytes(changed).is_err(), "byte {at}");
        }
    }

    /// What a lexicon does, in the words of its description.
    fn described(entries: &HashMap<Vec<String>, String>, sentence: &[String]) -> Vec<String> {
        let (mut values, mut at) = (Vec::new(), 0);
        while at < sentence.len() {
            let longest = (at + 1..=sentence.len()).rev().find(|&end| entries.contains_key(&sentence[at..end]));
            let Some(end) = longest else {
                values.push("O".to_owned());
                at += 1;
                continue;
            };
            let types = &entries[&sentence[at..end]];
            let dash = if types.is_empty() { "" } else { "-" };
            values.extend((at..end).map(|token| format!("{}{dash}{types}", if token == at { "B" } else { "I" })));
            at = end;
        }
        values
    }

    proptest! {
        #[test]
        fn tokens_have_what_the_description_says(
            entries in proptest::collection::hash_map(proptest::collection::vec("[ab]{1,2}", 1..5), "[XY]?", 0..12),
            sentence in proptest::collection::vec("[ab]{1,2}", 1..20),
        ) {
            let line = |(words, kind): (&Vec<String>, &String)| match &kind[..] {
                "" => format!("{}\n", words.join(" ")),
                kind => format!("{}\t{kind}\n", words.join(" ")),
            };
            let lexicon = lexicon(&entries.iter().map(line).collect::<String>(), false);
            prop_assert_eq!(lexicon.entries, entries.len());
            prop_assert_eq!(tagged(&lexicon, &sentence.join(" ")), described(&entries, &sentence).join(" "));
        }
    }
}
