//! Reads the text of a lexicon, an entry in each line, and packs it.

use crate::corpus::hash::Piece;
use crate::error::{Error, Result, shortened};
use crate::files::packed::Packer;
use crate::text::lexicon::table::{KIND, MOST_WORDS, end_of_word, extended};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap};

/// The most words of all entries of a lexicon.
const MOST_WORDS_OF_ALL: usize = 20_000_000;
/// The most characters of a type, and the most types of an entry: together they are the value of a token.
const MOST_OF_TYPE: usize = 100;
const MOST_TYPES: usize = 16;
/// The most different sets of types, which have 15 bits.
const MOST_SETS: usize = (1 << 15) - 1;
/// Characters of an entry that messages quote.
const EXCERPT: usize = 60;

/// The text of a lexicon.
pub struct Source<'s> {
    /// What messages call it.
    pub name: &'s str,
    pub text: &'s [u8],
    /// Whether lines that begin with `#` are comments.
    pub comments: bool,
}

/// What a line says of a sequence of words: that it goes on, or that an entry of a type ends, the type from 1, or no type (0).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Says {
    Continues,
    Ends(u32),
}

impl Source<'_> {
    /// The bytes of the packed lexicon, with its entries lower-cased or not. Errors name the line.
    pub fn packed(&self, folded: bool) -> Result<Vec<u8>> {
        let text = std::str::from_utf8(self.text).map_err(|error| {
            let line = self.text[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
            self.wrong(line, "invalid UTF-8 in the lexicon; convert the file to UTF-8")
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (mut types, mut says) = (HashMap::new(), Vec::new());
        for (at, line) in text.lines().enumerate() {
            if line.trim_matches([' ', '\t']).is_empty() || (self.comments && line.starts_with('#')) {
                continue;
            }
            self.read(line, folded, &mut types, &mut says).map_err(|what| self.wrong(at + 1, &what))?;
            if says.len() > MOST_WORDS_OF_ALL {
                let what = format!("the lexicon has more than {MOST_WORDS_OF_ALL} words; use a smaller one");
                return Err(self.wrong(at + 1, &what));
            }
        }
        says.par_sort_unstable();
        self.pack(&says, &types, folded)
    }

    /// An error in a line.
    fn wrong(&self, line: usize, what: &str) -> Error {
        Error::Data(format!("{}, line {line}: {what}", self.name))
    }

    /// Reads a line with an entry: words between blanks, lower-cased or not, and after a tab its type, if it has one.
    fn read<'l>(
        &self,
        line: &'l str,
        folded: bool,
        types: &mut HashMap<&'l str, u32>,
        says: &mut Vec<(u64, Says)>,
    ) -> std::result::Result<(), String> {
        let (entry, kind) = match line.split_once('\t') {
            None => (line, None),
            Some((entry, kind)) => (entry, Some(kind.trim_matches(' '))),
        };
        let kind = match kind {
            None => 0,
            Some(kind) => {
                check_type(kind)?;
                let next = types.len() as u32 + 1;
                *types.entry(kind).or_insert(next)
            }
        };
        let words = entry.split(' ').filter(|word| !word.is_empty());
        let (mut sequence, mut n, end, first) = (Piece::EMPTY, 0, end_of_word(), says.len());
        for word in words {
            n += 1;
            if n > MOST_WORDS {
                let start = shortened(entry, EXCERPT);
                return Err(format!("an entry of more than {MOST_WORDS} words: {start}; shorten or remove it"));
            }
            let word = if folded { Piece::of(word.to_lowercase().as_bytes()) } else { Piece::of(word.as_bytes()) };
            sequence = extended(sequence, word, end);
            says.push((sequence.key(), Says::Continues));
        }
        let last = says[first..].last_mut().ok_or("no entry before the tab; a line is an entry, or entry TAB type")?;
        last.1 = Says::Ends(kind);
        Ok(())
    }

    /// Packs what the lines say, sorted by sequence.
    fn pack(&self, says: &[(u64, Says)], types: &HashMap<&str, u32>, folded: bool) -> Result<Vec<u8>> {
        let mut names = vec![""; types.len() + 1];
        types.iter().for_each(|(name, &number)| names[number as usize] = name);
        let (mut keys, mut nodes, mut entries) = (Vec::new(), Vec::new(), 0);
        let mut sets: HashMap<String, usize> = HashMap::new();
        for same in says.chunk_by(|(a, _), (b, _)| a == b) {
            let mut of_entry = BTreeSet::new();
            for &(_, says) in same {
                if let Says::Ends(kind) = says {
                    of_entry.insert(names[kind as usize]);
                }
            }
            let continues = u16::from(same[0].1 == Says::Continues);
            keys.push(same[0].0);
            if of_entry.is_empty() {
                nodes.push(continues);
                continue;
            }
            entries += 1;
            if of_entry.len() > 1 {
                of_entry.remove("");
            }
            if of_entry.len() > MOST_TYPES {
                let joined = of_entry.into_iter().collect::<Vec<_>>().join(", ");
                let (name, some) = (self.name, shortened(&joined, EXCERPT).to_string());
                let message = format!("{name}: an entry has more than {MOST_TYPES} types ({some}); give it fewer");
                return Err(Error::Data(message));
            }
            let joined = of_entry.into_iter().collect::<Vec<_>>().join("|");
            let next = sets.len() + 1;
            let set = *sets.entry(joined).or_insert(next);
            if set > MOST_SETS {
                let message = format!("{}: more than {MOST_SETS} types, or sets of types; use fewer", self.name);
                return Err(Error::Data(message));
            }
            nodes.push((set as u16) << 1 | continues);
        }
        let mut texts = vec![String::new(); sets.len()];
        sets.into_iter().for_each(|(set, number)| texts[number - 1] = set);
        let mut packer = Packer::new(KIND);
        packer.number(u64::from(folded));
        packer.number(entries);
        packer.texts(&texts);
        packer.list(&keys);
        packer.list(&nodes);
        Ok(packer.finish())
    }
}

/// Error: what follows the tab of a line is not a type.
fn check_type(kind: &str) -> std::result::Result<(), String> {
    if kind.is_empty() {
        return Err("no type after the tab; give the entry a type, or remove the tab".into());
    }
    if kind.contains('\t') {
        return Err("more than one tab; a line is an entry, or entry TAB type".into());
    }
    if kind.contains([' ', '|']) || kind.chars().any(char::is_control) {
        let start = shortened(kind, EXCERPT);
        return Err(format!("the type '{start}' has a blank, a control character or '|'; use another name"));
    }
    if kind.chars().count() > MOST_OF_TYPE {
        let start = shortened(kind, EXCERPT);
        return Err(format!("the type {start} has more than {MOST_OF_TYPE} characters; use a shorter name"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        let source = Source { name: "towns.txt", text: text.as_bytes(), comments: true };
        source.packed(false).err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn mistakes_name_file_and_line() {
        let long = |words: usize| format!("x\n{}\n", "a ".repeat(words));
        assert_eq!(message(&long(MOST_WORDS)), "");
        for (text, expected) in [
            (long(MOST_WORDS + 1), "towns.txt, line 2: an entry of more than 64 words: a a a"),
            ("a\tX\tY\n".into(), "towns.txt, line 1: more than one tab"),
            ("a\n\tX\n".into(), "towns.txt, line 2: no entry before the tab"),
            ("a\n b\t \n".into(), "towns.txt, line 2: no type after the tab"),
            ("a\tX Y\n".into(), "towns.txt, line 1: the type 'X Y' has a blank"),
            (format!("a\t{}\n", "X".repeat(101)), "has more than 100 characters"),
            ((0..17).map(|kind| format!("a\tX{kind}\n")).collect(), "towns.txt: an entry has more than 16 types"),
        ] {
            let message = message(&text);
            assert!(message.contains(expected), "{expected}: {message}");
        }
        let source = Source { name: "towns.txt", text: b"a\n\xff\n", comments: true };
        assert!(source.packed(false).err().unwrap().to_string().starts_with("towns.txt, line 2: invalid UTF-8"));
    }

    #[test]
    fn the_package_depends_on_the_entries_and_not_on_their_sequence() {
        let packed =
            |text: &str, folded| Source { name: "l", text: text.as_bytes(), comments: true }.packed(folded).unwrap();
        assert_eq!(packed("b c\na\tX\nb\n", false), packed("\u{feff}b\n# a\nb  c \na\tX\n\na\tX", false));
        assert_ne!(packed("a\n", false), packed("A\n", false));
        assert_eq!(packed("Ä\tX\n", true), packed("ä\tX\n", true));
    }
}
