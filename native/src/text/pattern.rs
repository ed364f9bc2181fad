//! Regular expressions of the macros `%t` and `%m`: the syntax of the `regex` crate with Wapiti's character classes.
//!
//! Wapiti's classes are ASCII: `\a` letter, `\d` digit, `\l` lower case, `\p` punctuation, `\s` space, `\u` upper case,
//! `\w` letter, digit or underscore. The capital letter of a class stands for its complement. `\p{..}` is a Unicode property.

use crate::error::{Error, Result};
use regex::bytes::{Regex, RegexBuilder};

/// The most memory of a compiled expression, in bytes.
const MOST: usize = 1 << 20;

fn built(translated: &str) -> std::result::Result<Regex, regex::Error> {
    RegexBuilder::new(translated).size_limit(MOST).build()
}

/// Compiles an expression.
pub fn compile(pattern: &str) -> Result<Regex> {
    let mut translated = String::with_capacity(pattern.len() + 16);
    let mut characters = pattern.chars().peekable();
    let mut in_brackets = false;
    while let Some(character) = characters.next() {
        if character != '\\' {
            match character {
                '[' => in_brackets = true,
                ']' => in_brackets = false,
                _ => {}
            }
            translated.push(character);
            continue;
        }
        let Some(escaped) = characters.next() else {
            return Err(bad(pattern, "it ends with a backslash"));
        };
        let property = matches!(escaped, 'p' | 'P') && characters.peek() == Some(&'{');
        let class = u8::try_from(escaped).ok().filter(|_| !property).and_then(class_name);
        match class {
            Some(name) => {
                let negation = if escaped.is_ascii_uppercase() { "^" } else { "" };
                let (open, close) = if in_brackets { ("", "") } else { ("[", "]") };
                translated.push_str(&format!("{open}[:{negation}{name}:]{close}"));
            }
            None => {
                translated.push('\\');
                translated.push(escaped);
            }
        }
    }
    built(&translated).map_err(|error| {
        let reason = error.to_string();
        bad(pattern, reason.lines().last().unwrap_or("it cannot be parsed"))
    })
}

/// Compiles an expression as Wapiti reads it: bytes; `.`, the classes above but `\w`, which has no underscore; `^` first and `$`
/// last; `*`, which matches as little as possible, and `?` after one of them or after a byte. Everything else is literal.
pub fn compile_wapiti(pattern: &str) -> Result<Regex> {
    let (anchor, body) = match pattern.strip_prefix('^') {
        Some(body) => ("^", body.as_bytes()),
        None => ("", pattern.as_bytes()),
    };
    let mut translated = format!("(?s-u){anchor}");
    let mut at = 0;
    while at < body.len() {
        let escaped = body[at] == b'\\' && at + 1 < body.len();
        let byte = body[at + usize::from(escaped)];
        if !escaped && matches!(byte, b'*' | b'?') {
            return Err(bad(pattern, &format!("nothing to repeat before '{}'", char::from(byte))));
        }
        match (escaped, byte) {
            (false, b'$') if at + 1 == body.len() => translated.push('$'),
            (false, b'.') => translated.push('.'),
            (true, b'w') => translated.push_str("[[:alnum:]]"),
            (true, b'W') => translated.push_str("[[:^alnum:]]"),
            (true, letter) if class_name(letter).is_some() => {
                let negation = if letter.is_ascii_uppercase() { "^" } else { "" };
                translated.push_str(&format!("[[:{negation}{}:]]", class_name(letter).unwrap_or_default()));
            }
            (_, byte) => translated.push_str(&format!("\\x{byte:02x}")),
        }
        at += 1 + usize::from(escaped);
        match body.get(at) {
            Some(b'*') => translated.push_str("*?"),
            Some(b'?') => translated.push('?'),
            _ => continue,
        }
        at += 1;
    }
    built(&translated).map_err(|error| bad(pattern, &error.to_string()))
}

/// The name of a class of characters, by the letter that stands for it or for its complement.
fn class_name(letter: u8) -> Option<&'static str> {
    Some(match letter.to_ascii_lowercase() {
        b'a' => "alpha",
        b'd' => "digit",
        b'l' => "lower",
        b'p' => "punct",
        b's' => "space",
        b'u' => "upper",
        b'w' => "word",
        _ => return None,
    })
}

/// The error for an expression that cannot be compiled.
fn bad(pattern: &str, reason: &str) -> Error {
    Error::Template(format!(
        "regular expression \"{pattern}\": {reason}; escape literal characters such as ( [ + | with a backslash"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first<'a>(pattern: &str, text: &'a str) -> Option<&'a str> {
        compile(pattern).unwrap().find(text.as_bytes()).map(|m| std::str::from_utf8(m.as_bytes()).unwrap())
    }

    #[test]
    fn wapiti_classes_and_their_complements() {
        assert_eq!(first(r"^\u\l*", "Word7"), Some("Word"));
        assert_eq!(first(r"\d", "Word7"), Some("7"));
        assert_eq!(first(r"\p", "a-b"), Some("-"));
        assert_eq!(first(r"\P", "-b"), Some("b"));
        assert_eq!(first(r"\A", "ab1"), Some("1"));
        assert_eq!(first(r"[\u\d]*$", "abC9"), Some("C9"));
        assert_eq!(first(r"^.?.?", "é€x"), Some("é€"));
        assert_eq!(first(r"\p{Greek}", "aβ"), Some("β"));
    }

    #[test]
    fn a_bad_expression_says_how_to_mend_it() {
        let message = compile("(").unwrap_err().to_string();
        assert!(message.contains("escape literal"), "{message}");
    }
}
