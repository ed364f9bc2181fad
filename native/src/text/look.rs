//! A look at the beginning of a column file, for what its lines hold instead of words and labels.

use crate::corpus::notes::Look;
use crate::text::layout::{Layout, Roles, Separator, split, tabbed};

/// Bytes that are looked at.
const LOOKED_AT: usize = 64 << 10;
/// Fewest lines from which on a property of all of them is no accident; and for a word that is in all of them.
const LINES: usize = 3;
const SAME: usize = 10;
/// Columns of CoNLL-U, between tabs.
const CONLLU: usize = 10;

/// The beginning of a text that is looked at: whole lines, if there is one.
fn beginning(text: &[u8], most: usize) -> &[u8] {
    let start = &text[..text.len().min(most)];
    let cut = if start.len() < text.len() { start.iter().rposition(|&byte| byte == b'\n') } else { None };
    cut.map_or(start, |at| &start[..=at])
}

/// Looks at the beginning of a text whose cells a separator divides, some of which are the label and the weight of a token.
pub fn look(text: &[u8], layout: Layout, separator: Separator, roles: Roles) -> Look {
    let lines: Vec<(bool, &[u8])> = layout.tokens(beginning(text, LOOKED_AT)).collect();
    let words: Vec<(bool, &[u8])> =
        lines.iter().filter_map(|&(first, line)| word(line, separator, roles).map(|word| (first, word))).collect();
    let several = lines.first().is_some_and(|&(_, line)| separator.count(line) > 1 + roles.count());
    // The first line may be a header.
    let after = words.get(1..).unwrap_or_default();
    Look {
        mark: mark(&lines, &words, several || roles.count() > 0),
        counts: several && (counts(&words) || counts(after)),
        constant: constant(&words) || constant(after),
        conllu: conllu(&lines),
        unsplit: if separator == Separator::Tab { unsplit(&lines) } else { 0 },
    }
}

/// The first cell of a line that is neither its label nor its weight.
fn word(line: &[u8], separator: Separator, roles: Roles) -> Option<&[u8]> {
    let (mut at, mut word) = (0, None);
    separator.each(line, |cell| {
        if word.is_none() && roles.leave(at) {
            word = Some(cell);
        }
        at += 1;
    });
    word
}

/// The character that separates the cells of every line although it should not: within every line of a single cell, or at the end of
/// every word, as in `word, label`.
fn mark(lines: &[(bool, &[u8])], words: &[(bool, &[u8])], several: bool) -> Option<char> {
    if lines.len() < LINES {
        return None;
    }
    let texts = |cells: &[(bool, &[u8])]| -> Option<Vec<String>> {
        cells.iter().map(|&(_, cell)| Some(std::str::from_utf8(cell).ok()?.trim().to_owned())).collect()
    };
    if several {
        let words = texts(words)?;
        let last = words.first()?.chars().next_back().filter(|&last| separates(last))?;
        let ends = words.iter().all(|word| word.ends_with(last)) && words.iter().any(|word| word.chars().count() > 1);
        return ends.then_some(last);
    }
    let lines = texts(lines)?;
    let mut candidates: Vec<char> = inside(lines.first()?).filter(|&character| separates(character)).collect();
    for line in &lines {
        candidates.retain(|&candidate| inside(line).any(|character| character == candidate));
    }
    candidates.first().copied()
}

/// The characters of a line between its first and its last one.
fn inside(line: &str) -> impl Iterator<Item = char> + '_ {
    let end = line.char_indices().next_back().map_or(0, |(at, _)| at);
    line.char_indices().skip(1).take_while(move |&(at, _)| at < end).map(|(_, character)| character)
}

/// Whether a character may separate cells in other programs' files.
fn separates(character: char) -> bool {
    match character {
        '\'' | '-' | '.' | '"' => false,
        '，' | '；' | '、' | '：' | '｜' | '،' | '؛' => true,
        _ => character.is_ascii_punctuation() || (character.is_whitespace() && !character.is_ascii()),
    }
}

/// Whether words are numbers that count the lines of each sentence, from any number on.
fn counts(words: &[(bool, &[u8])]) -> bool {
    let mut before: Option<usize> = None;
    let mut follows = 0;
    for &(first, word) in words {
        let Some(number) = std::str::from_utf8(word).ok().and_then(|word| word.parse::<usize>().ok()) else {
            return false;
        };
        if !first && before.is_some() && before.map(|before| before.wrapping_add(1)) != Some(number) {
            return false;
        }
        follows += usize::from(!first);
        before = Some(number);
    }
    follows > 0 && words.len() >= LINES
}

/// Whether all words are the same.
fn constant(words: &[(bool, &[u8])]) -> bool {
    words.len() >= SAME && words.iter().all(|&(_, word)| word == words[0].1)
}

/// Whether lines have the ten columns of CoNLL-U, and the first token of each sentence is number 1.
fn conllu(lines: &[(bool, &[u8])]) -> bool {
    let mut starts = true;
    let mut tokens = 0;
    for &(first, line) in lines {
        starts |= first;
        if line.starts_with(b"#") && tabbed(line).count() != CONLLU {
            continue;
        }
        let id = tabbed(line).next().unwrap_or_default();
        if tabbed(line).count() != CONLLU || (starts && !(id == b"1" || id.starts_with(b"1-") || id.starts_with(b"0.")))
        {
            return false;
        }
        starts = false;
        tokens += 1;
    }
    tokens > 0
}

/// The number of cells that spaces separate in every line, two or more, if no line has a tab; else 0.
fn unsplit(lines: &[(bool, &[u8])]) -> usize {
    let cells = lines.first().map_or(0, |&(_, line)| split(line).count());
    let alike = lines.iter().all(|&(_, line)| !line.contains(&b'\t') && split(line).count() == cells);
    if cells > 1 && alike && lines.len() >= LINES { cells } else { 0 }
}

/// The comma or semicolon in every line at the beginning of a text; None if there is none, or if the lines are few.
pub fn delimiter(text: &[u8], layout: Layout) -> Option<char> {
    let lines: Vec<&[u8]> = layout.tokens(beginning(text, LOOKED_AT)).map(|(_, line)| line).collect();
    let everywhere = |mark: &u8| lines.iter().all(|line| line.contains(mark));
    if lines.len() < LINES { None } else { [b',', b';'].into_iter().find(everywhere).map(char::from) }
}

/// What to do about a character that separates the cells of every line.
pub fn advice(mark: char) -> String {
    let shown = if mark.is_whitespace() { format!("the blank U+{:04X}", mark as u32) } else { format!("a '{mark}'") };
    format!("; every line has {shown}: separate the columns with tabs or spaces instead")
}

#[cfg(test)]
mod tests {
    use super::look;
    use crate::corpus::notes::Look;
    use crate::text::layout::{Layout, Roles, Separator};

    fn seen(text: &str, separator: Separator, label: Option<usize>) -> Look {
        look(text.as_bytes(), Layout::default(), separator, Roles { label, weight: None })
    }

    #[test]
    fn a_mark_in_every_line_separates_what_blanks_do_not() {
        let mark = |text: &str| seen(text, Separator::Blank, None).mark;
        assert_eq!(mark("word;tag\nIn;O\n;;O\n\nRita;B-PER\n"), Some(';'));
        assert_eq!(mark("In\u{a0}O\nRita\u{a0}B-PER\n.\u{a0}O\n"), Some('\u{a0}'));
        assert_eq!(mark("In，O\n上，O\n，，O\n"), Some('，'));
        // Words may have hyphens, full stops and marks at their ends; two lines are too few.
        for text in ["a-b\nc-d\ne-f\n", "a,\nb,\n,c\n", "a;b\nc;d\n", "a;b\nc;d\nef\n"] {
            assert_eq!(mark(text), None, "{text}");
        }
        assert_eq!(seen("In, O\nRita, PER\n,, O\n", Separator::Blank, Some(1)).mark, Some(','));
        assert_eq!(seen("In, O\nRita PER\n,, O\n", Separator::Blank, Some(1)).mark, None);
        assert_eq!(seen(", O\n, PER\n, O\n", Separator::Blank, Some(1)).mark, None);
    }

    #[test]
    fn numbers_of_lines_are_recognised_with_and_without_a_header() {
        let counts = |text: &str| seen(text, Separator::Blank, Some(2)).counts;
        assert!(counts("1 In O\n2 Rita O\n\n1 a O\n"));
        assert!(counts("id token tag\n0 In O\n1 Rita O\n\n0 a O\n"));
        assert!(counts("7 In O\n8 Rita O\n\n10 a O\n11 b O\n"));
        for text in
            ["1 In O\n3 Rita O\n4 a O\n", "1 a O\n\n2 b O\n\n3 c O\n", "In 1 O\na 2 O\nb 3 O\n", "1 a O\n2 b O\n"]
        {
            assert!(!counts(text), "{text}");
        }
        assert!(!seen("1 up\n2 down\n3 up\n", Separator::Blank, Some(1)).counts);
    }

    #[test]
    fn one_word_in_every_line_is_noticed() {
        let constant = |text: String| seen(&text, Separator::Blank, Some(1)).constant;
        assert!(constant("doc1 O\n".repeat(10)));
        assert!(constant(format!("word tag\n{}", "doc1 O\n".repeat(10))));
        assert!(!constant("doc1 O\n".repeat(9)));
        assert!(!constant(format!("{}doc2 O\n", "doc1 O\n".repeat(10))));
    }

    #[test]
    fn ten_columns_that_count_tokens_are_conllu() {
        let row = |id: &str| format!("{id}\tDogs\tdog\tNOUN\t_\t_\t0\troot\t_\t_\n");
        let conllu = |text: String| seen(&text, Separator::Blank, None).conllu;
        assert!(conllu(format!("# text = Dogs bark\n{}{}\n{}", row("1"), row("2"), row("1-2"))));
        assert!(!conllu(format!("{}{}", row("Dogs"), row("bark"))));
        assert!(!conllu(format!("{}a\tb\n", row("1"))));
    }

    #[test]
    fn spaces_that_separate_although_tabs_should() {
        let unsplit = |text: &str| seen(text, Separator::Tab, None).unsplit;
        assert_eq!(unsplit("In O\nRita B-PER\n. O\n"), 2);
        for text in ["In O\nRita\tB-PER\n. O\n", "In\nRita\n.\n", "New York\nRome\nLa Paz\n", "In O\nRita O\n"] {
            assert_eq!(unsplit(text), 0, "{text}");
        }
    }
}
