//! Raw text cut into tokens: the matches of a regular expression, in the syntax of the `regex` crate. The presets are expressions
//! with a name.
//!
//! | preset | tokens |
//! | --- | --- |
//! | `whitespace` | what blanks separate |
//! | `words` | words, numbers, and every other character that is not a blank |
//! | `characters` | every character that is not a blank |
//!
//! A word is a run of letters, digits and marks of any script. Inside words stay apostrophes, hyphens (`King's`, `twenty-one`) and
//! characters that are not seen (soft hyphens, joiners); inside numbers, points and commas (`1,250.50`). Marks belong to the
//! character before them.

use crate::error::{Error, Result};
use regex::{Regex, RegexBuilder};
use std::ops::Range;

/// Name and expression of the presets.
pub const PRESETS: [(&str, &str); 3] = [
    ("whitespace", r"\S+"),
    (
        "words",
        r"[\p{N}]+(?:[.,][\p{N}]+)+[\p{L}\p{N}\p{M}]*|[\p{L}\p{N}\p{M}]+(?:['’\-\u{ad}\u{200c}\u{200d}][\p{L}\p{N}\p{M}]+)*|\S\p{M}*",
    ),
    ("characters", r"\S\p{M}*"),
];

/// Expressions, each before a text, to seed fuzzing.
pub const SEEDS: [&str; 4] = [
    "words\nAda's 21 日本, e\u{301}",
    "[A-Z]\\w*|\\d{2,5}\nAda 2021",
    "(?x) \\b \\p{L}+ (?:-\\p{L}+)*?\na-b",
    "(?i)no\\.|[^\\s,]+\nNo. 1",
];

/// The most memory of a compiled expression, in bytes.
const MOST: usize = 4 << 20;

/// The most bytes of an expression.
const LONGEST: usize = 10_000;

/// A byte order mark, which belongs to no token.
const MARK: char = '\u{feff}';

/// Cuts texts into tokens.
pub struct Tokenizer {
    expression: Regex,
}

impl Tokenizer {
    /// The tokenizer with the name of a preset, or with an expression. Error: what is wrong with the expression, which matches
    /// nothing or the empty string, or is not valid.
    pub fn new(spec: &str) -> Result<Tokenizer> {
        let preset = PRESETS.iter().find(|(name, _)| *name == spec);
        let expression = preset.map_or(spec, |(_, expression)| expression);
        let refused = |problem: &str| Err(Error::Option(problem.into()));
        if expression.len() > LONGEST {
            return refused("is too long; give an expression of at most 10,000 characters");
        }
        let parsed = match regex_syntax::parse(expression) {
            Ok(parsed) => parsed,
            Err(error) => {
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
                let remedy = match reason.ends_with("not supported") {
                    true => "write it without them, in the syntax of Rust's crate regex",
                    false => "escape literal characters such as ( [ + | with a backslash",
                };
                return refused(&format!("is not a valid regular expression: {reason}; {remedy}"));
            }
        };
        match parsed.properties().minimum_len() {
            None => return refused("matches nothing; give an expression whose matches are the tokens"),
            Some(0) => return refused("can match the empty string, which is not a token; use + in place of *"),
            Some(_) => {}
        }
        match RegexBuilder::new(expression).size_limit(MOST).build() {
            Ok(expression) => Ok(Tokenizer { expression }),
            Err(_) => refused("is too large; repeat fewer times, or use smaller classes of characters"),
        }
    }

    /// The expression whose matches are the tokens.
    pub fn expression(&self) -> &str {
        self.expression.as_str()
    }

    /// The bytes of each token of a text, from left to right.
    pub fn tokens<'t>(&self, text: &'t str) -> impl Iterator<Item = Range<usize>> + use<'_, 't> {
        let before = if text.starts_with(MARK) { MARK.len_utf8() } else { 0 };
        self.expression.find_iter(&text[before..]).map(move |token| token.start() + before..token.end() + before)
    }
}

/// Turns increasing offsets in bytes of a text into offsets in characters (code points).
pub struct Characters<'t> {
    text: &'t str,
    is_ascii: bool,
    bytes: usize,
    characters: usize,
}

impl<'t> Characters<'t> {
    /// The characters of a text, at its beginning.
    pub fn of(text: &'t str) -> Self {
        Characters { text, is_ascii: text.is_ascii(), bytes: 0, characters: 0 }
    }

    /// The number of characters before an offset in bytes, which is not smaller than the one before it.
    pub fn before(&mut self, offset: usize) -> usize {
        if self.is_ascii {
            return offset;
        }
        self.characters += self.text[self.bytes..offset].chars().count();
        self.bytes = offset;
        self.characters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens<'t>(spec: &str, text: &'t str) -> Vec<&'t str> {
        Tokenizer::new(spec).unwrap().tokens(text).map(|token| &text[token]).collect()
    }

    #[test]
    fn words_and_everything_else_that_is_not_a_blank() {
        let cut = tokens("words", "The King's twenty-one (21) horses, 1,250.50 € in the '90s.");
        let words = [
            "The",
            "King's",
            "twenty-one",
            "(",
            "21",
            ")",
            "horses",
            ",",
            "1,250.50",
            "€",
            "in",
            "the",
            "'",
            "90s",
            ".",
        ];
        assert_eq!(cut, words);
        assert_eq!(
            tokens("words", "12b 2nd 3.5km नमस्ते e\u{301}t 👩🏽 C++"),
            ["12b", "2nd", "3.5km", "नमस्ते", "e\u{301}t", "👩", "🏽", "C", "+", "+"]
        );
        assert_eq!(tokens("words", "--a-- x-"), ["-", "-", "a", "-", "-", "x", "-"]);
    }

    #[test]
    fn blanks_of_any_kind_separate() {
        assert_eq!(tokens("whitespace", " a,b\u{a0}c\td\r\ne\u{3000}f "), ["a,b", "c", "d", "e", "f"]);
        assert_eq!(tokens("characters", "猫 e\u{301}!"), ["猫", "e\u{301}", "!"]);
    }

    #[test]
    fn a_byte_order_mark_belongs_to_no_token() {
        for (spec, _) in PRESETS {
            assert_eq!(tokens(spec, "\u{feff}a"), ["a"]);
            assert!(tokens(spec, "\u{feff}").is_empty() && tokens(spec, "").is_empty());
        }
    }

    #[test]
    fn expressions_that_cannot_cut_text_are_refused() {
        let refused = [
            ("a(", "unclosed group"),
            ("a*", "empty string"),
            (r"\b", "empty string"),
            ("a|^", "empty string"),
            (r"[a&&b]", "matches nothing"),
            (r"(?-u:\xff)", "not a valid"),
            (r"(a)\1", "write it without"),
            (r"\w{1000}{1000}", "too large"),
        ];
        assert!(Tokenizer::new(&"a".repeat(LONGEST + 1)).err().unwrap().to_string().contains("too long"));
        for (expression, reason) in refused {
            let error = Tokenizer::new(expression).err().unwrap().to_string();
            assert!(error.contains(reason) && (error.contains(';') || error.contains(',')), "{error}");
        }
    }

    proptest! {
        #[test]
        fn tokens_are_in_order_and_characters_are_counted(text in "\\PC{0,20}|[a1 .,'\u{301}\u{200d}😀-]{0,20}") {
            for (spec, _) in PRESETS {
                let (tokenizer, mut characters) = (Tokenizer::new(spec).unwrap(), Characters::of(&text));
                let mut end = 0;
                for token in tokenizer.tokens(&text) {
                    prop_assert!(end <= token.start && token.start < token.end);
                    prop_assert!(!text[token.clone()].contains(char::is_whitespace));
                    prop_assert_eq!(characters.before(token.start), text[..token.start].chars().count());
                    end = token.end;
                }
                // What no token contains are blanks.
                let length: usize = tokenizer.tokens(&text).map(|token| token.len()).sum();
                prop_assert_eq!(length, text.split_whitespace().map(str::len).sum::<usize>());
            }
        }
    }
}
