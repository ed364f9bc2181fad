//! Templates applied to sentences: attributes are hashed from the hashes of their parts, without building strings.

use crate::corpus::hash::Piece;
use crate::corpus::sink::{Gold, Sink};
use crate::text::cells::Cells;
use crate::text::joins::{Line, Part, SentencePieces};
use crate::text::looked_up::{LookUps, LookedUp};
use crate::text::substrings::{Substring, Substrings};
use crate::text::template::Template;
use crate::text::token_views::TokenViews;
use crate::text::view::{Column, text_of};
use std::borrow::Cow;

impl Template {
    /// Appends the string of a line at a token, whose hash is `Expander::key`.
    fn write(&self, line: &Line, cells: &LookedUp<'_>, token: usize, substring: Option<&[u8]>, out: &mut Vec<u8>) {
        let whole = self.write_within(usize::MAX, line, cells, token, substring, out);
        debug_assert!(whole.is_some());
    }

    /// Appends the string of a line at a token; None, with an unfinished string, if it makes `out`, or a cell that it copies,
    /// longer than `most`.
    fn write_within(
        &self,
        most: usize,
        line: &Line,
        cells: &LookedUp<'_>,
        token: usize,
        substring: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        for (index, part) in line.parts.iter().enumerate() {
            let text = match part {
                Part::Literal(text, _) => Cow::Borrowed(&text[..]),
                Part::Cell { view, row } => match (row.resolve(token, cells.tokens()), substring, line.substrings) {
                    (_, Some(substring), Some((at, _))) if at == index => Cow::Borrowed(substring),
                    (Ok(at), ..) => {
                        let view = &self.views[*view];
                        let cell = self.cell_within(most.checked_sub(out.len())?, cells, at, view.column())?;
                        match cell {
                            Cow::Borrowed(cell) => view.of(cell),
                            Cow::Owned(cell) => Cow::Owned(view.of(&cell).into_owned()),
                        }
                    }
                    (Err(beyond), ..) => Cow::Owned(self.beyond(*view, beyond)),
                },
            };
            if text.len() > most.saturating_sub(out.len()) {
                return None;
            }
            out.extend_from_slice(&text);
        }
        Some(())
    }

    /// A cell of a token: of the data, of a lexicon, or of a column that the template defines; None if such a column's is longer
    /// than `most`.
    pub(super) fn cell_within<'c>(
        &self,
        most: usize,
        cells: &LookedUp<'c>,
        token: usize,
        column: Column,
    ) -> Option<Cow<'c, [u8]>> {
        let index = match column {
            Column::Data(column) => return Some(Cow::Borrowed(cells.cells.cell(token, column))),
            Column::Tagged(number) => return Some(Cow::Borrowed(cells.value(token, number))),
            Column::Made(index) => index,
        };
        let mut text = Vec::new();
        self.write_within(most, &self.made_columns[index].1, cells, token, None, &mut text)?;
        Some(Cow::Owned(text))
    }
}

/// Tokens whose keys are formed together: those of a usual template stay in the first-level cache.
const TOGETHER: usize = 64;

/// The most text, in bytes, of the attributes that a line with `%substrings`, or all other lines together, give a token.
const MOST_TEXT: usize = 64 << 20;
/// Copies for `%substrings` whose text is not looked at.
const FEW: usize = 1000;

/// Expands a template over sentences; keeps its buffers from one sentence to the next.
pub struct Expander<'t> {
    template: &'t Template,
    sentence: SentencePieces,
    look_ups: LookUps<'t>,
    views: TokenViews<'t>,
    substrings: Substrings,
    /// A buffer for the hashes of a token's views.
    views_of_token: Vec<Piece>,
}

impl<'t> Expander<'t> {
    /// An expander without buffers.
    pub fn new(template: &'t Template) -> Self {
        let (sentence, views) = (SentencePieces::default(), TokenViews::new(template));
        let (look_ups, substrings) = (LookUps::default(), Substrings::default());
        Expander { template, sentence, look_ups, views, substrings, views_of_token: Vec::new() }
    }

    /// Passes every attribute of every token to the sink, and the token's label, `label_of(token)`. Does not end the sentence. Error:
    /// a token is too long for the template.
    pub fn expand<'l, S: Sink>(
        &mut self,
        cells: &Cells<'_>,
        sink: &mut S,
        label_of: impl Fn(usize) -> Option<Gold<'l>>,
    ) -> Result<(), String> {
        let tokens = cells.tokens();
        let template = self.template;
        let cells = &self.look_ups.of(template, cells, MOST_TEXT).map_err(too_long)?;
        check_text(template, cells)?;
        let views = &mut self.views;
        let push = |token, pieces: &mut Vec<Piece>| views.push(cells, token, pieces);
        template.joins.fill(&mut self.sentence, tokens, &mut self.views_of_token, push);
        for first in (0..tokens).step_by(TOGETHER) {
            let window = first..tokens.min(first + TOGETHER);
            let beyond = |view, distance| template.piece_beyond(view, distance);
            template.joins.join(&mut self.sentence, window.clone(), beyond);
            for token in window {
                let keys = self.sentence.keys(token - first, template.lines.len());
                for (number, (line, &key)) in template.lines.iter().zip(keys).enumerate() {
                    if let Some((at, most)) = line.substrings {
                        let (sentence, memory) = (&self.sentence, &mut self.substrings);
                        expand_substrings(template, sentence, memory, (number, at, most), cells, token, sink)?;
                        continue;
                    }
                    // A bigram joins a token and the previous one: the first token does not have one.
                    if line.bigram && token > 0 {
                        sink.bigram(key, |out| template.write(line, cells, token, None, out));
                    }
                    if line.state {
                        sink.state(key, 1.0, |out| template.write(line, cells, token, None, out));
                    }
                }
                sink.end_token(label_of(token));
            }
        }
        Ok(())
    }
}

/// Passes the attributes of the line with this number, where `%substrings` is the macro with index `at`, to the sink: one for each substring of 1 to
/// `most` characters.
fn expand_substrings<S: Sink>(
    template: &Template,
    sentence: &SentencePieces,
    memory: &mut Substrings,
    (number, at, most): (usize, usize, usize),
    cells: &LookedUp<'_>,
    token: usize,
    sink: &mut S,
) -> Result<(), String> {
    let line = &template.lines[number];
    let Part::Cell { view, row } = &line.parts[at] else { return Ok(()) };
    let tokens = cells.tokens();
    let cell = match row.resolve(token, tokens) {
        Ok(looked_at) => template.cell_within(MOST_TEXT, cells, looked_at, template.views[*view].column()),
        Err(beyond) => Some(Cow::Owned(template.beyond(*view, beyond))),
    };
    let cell = cell.ok_or_else(|| too_long(token))?;
    let text = text_of(&cell);
    let characters = text.chars().count();
    let most = most.min(characters);
    if characters * most > FEW {
        let mut others = Vec::new();
        let written = template.write_within(MOST_TEXT, line, cells, token, Some(b""), &mut others);
        if written.is_none() || characters * most > MOST_TEXT / (others.len() + most) {
            return Err(format!(
                "token {token}: a cell of {characters} characters is too long for %substrings, whose attributes would \
                 have more than {} MiB of text; shorten the cell, or change the template",
                MOST_TEXT >> 20
            ));
        }
    }
    let beyond = |view, distance| template.piece_beyond(view, distance);
    let key = |substring| template.joins.key(number, sentence, token, substring, beyond);
    for Substring { bytes, piece } in memory.of(&text, most) {
        let substring = &text.as_bytes()[bytes.clone()];
        let key = key(Some(*piece));
        if line.bigram && token > 0 {
            sink.bigram(key, |out| template.write(line, cells, token, Some(substring), out));
        }
        if line.state {
            sink.state(key, 1.0, |out| template.write(line, cells, token, Some(substring), out));
        }
    }
    Ok(())
}

/// Error: the lines of a template would give a token too much text.
fn check_text(template: &Template, cells: &LookedUp<'_>) -> Result<(), String> {
    let copied = template.copies.cells();
    let longest = cells.cells.cells.iter().map(|cell| cell.len()).max().unwrap_or(0).max(template.longest_value());
    if copied.saturating_mul(longest) <= MOST_TEXT {
        return Ok(());
    }
    let mut attribute = Vec::new();
    for token in 0..cells.tokens() {
        let mut left = MOST_TEXT;
        for line in template.lines.iter().filter(|line| line.substrings.is_none()) {
            attribute.clear();
            template.write_within(left, line, cells, token, None, &mut attribute).ok_or_else(|| too_long(token))?;
            left -= attribute.len();
        }
    }
    Ok(())
}

/// The message for cells that a template copies too often.
fn too_long(token: usize) -> String {
    format!(
        "token {token}: its cells are too long for the template, whose attributes would have more than {} MiB of text; \
         shorten the cells, or let the template copy them less often",
        MOST_TEXT >> 20
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::hash::key_of;
    use crate::text::lexicon;
    use proptest::prelude::*;

    /// Collects attribute strings and checks each against its key.
    #[derive(Default)]
    struct Collect {
        tokens: Vec<Vec<String>>,
        current: Vec<String>,
    }

    impl Collect {
        fn add(&mut self, kind: &str, key: u64, write: impl FnOnce(&mut Vec<u8>)) {
            let mut text = Vec::new();
            write(&mut text);
            assert_eq!(key, key_of(&text), "the key of {text:?} is not the key of its string");
            self.current.push(format!("{kind}{}", String::from_utf8(text).unwrap()));
        }
    }

    impl Sink for Collect {
        fn state(&mut self, key: u64, value: f64, write: impl FnOnce(&mut Vec<u8>)) {
            assert_eq!(value, 1.0);
            self.add("", key, write);
        }
        fn bigram(&mut self, key: u64, write: impl FnOnce(&mut Vec<u8>)) {
            self.add("bigram ", key, write);
        }
        fn end_token(&mut self, _label: Option<Gold<'_>>) {
            self.tokens.push(std::mem::take(&mut self.current));
        }
        fn end_sentence(&mut self, _weight: f64) {}
    }

    fn expand(template: &str, sentence: &[&[&str]]) -> Vec<Vec<String>> {
        let template = Template::parse(template).unwrap();
        let cells = Cells {
            columns: sentence[0].len(),
            cells: sentence.iter().flat_map(|row| row.iter().map(|cell| cell.as_bytes())).collect(),
        };
        let mut sink = Collect::default();
        Expander::new(&template).expand(&cells, &mut sink, |_| None).unwrap();
        sink.tokens
    }

    #[test]
    fn text_beyond_the_limit_is_refused_before_it_is_written() {
        // Within the limits of copies: a column of 512 copies, eight of which a line copies.
        let mut doubled = "C a0=%x[0,0]%x[0,0]\n".to_owned();
        (1..9).for_each(|i| doubled += &format!("C a{i}=%x[0,a{0}]%x[0,a{0}]\n", i - 1));
        let word = "w".repeat(1 << 20);
        let cells = Cells { columns: 1, cells: vec![word.as_bytes(), b"a"] };
        let uses = ["U:%x[0,a8]%x[0,a8]", "U:%length[0,a8]", "U:%m[0,a8,\"^.\"]", "U:%substrings[0,a8,2]"];
        for line in uses {
            let template = Template::parse(&format!("{doubled}{line}\n")).unwrap();
            let mut sink = Collect::default();
            let error = Expander::new(&template).expand(&cells, &mut sink, |_| None).unwrap_err();
            assert!(error.starts_with("token 0: ") && error.contains("64 MiB of text"), "{line}: {error}");
            let (line, mut out) = (&template.lines[0], Vec::new());
            let mut look_ups = LookUps::default();
            let cells = look_ups.of(&template, &cells, MOST_TEXT).unwrap();
            assert!(template.write_within(3 << 20, line, &cells, 0, None, &mut out).is_none());
            assert!(out.capacity() <= 8 << 20);
            out.clear();
            assert!(template.write_within(2000, line, &cells, 1, None, &mut out).is_some());
        }
    }

    #[test]
    fn macros_padding_and_absolute_rows() {
        let got = expand(
            "U1:%x[-1,0]/%x[0,1]\nU2:%x[ 2, 0 ]\nU3:%x[@1,0]%x[@-1,0]%x[@9,0]\n",
            &[&["the", "DT"], &["Dog", "NN"]],
        );
        assert_eq!(got[0], ["U1:_B-1/DT", "U2:_B+1", "U3:theDog_B+7"]);
        assert_eq!(got[1], ["U1:the/NN", "U2:_B+2", "U3:theDog_B+7"]);
    }

    #[test]
    fn tests_matches_shapes_and_lower_case() {
        let got = expand(
            r#"U1:%t[0,0,"^\u"] U2:%m[0,0,"\d+"]
u3:%X[0,0]
U4:%M[0,0,"^.."]
U5:%shape[0,0]|%normal[0,0]"#,
            &[&["IL-22"]],
        );
        assert_eq!(got[0], ["U1:true U2:22", "u3:il-22", "U4:il", "U5:AA-##|il-##"]);
    }

    #[test]
    fn lines_make_columns_of_cells_and_of_columns() {
        let template = "C clean=%drop[0,0,\"^[(]+|[.,]+$\"]\nC low = %DROP[0,clean,\"[.]\"]\nC size=%x[0,low]+%length[0,low]\nU%x[0,low]|%x[-1,clean]|%t[0,low,\"^s\"]|%x[-1,size]";
        let got = expand(template, &[&["(St.J."], &["Étienne,"]]);
        assert_eq!(got[0], ["Ustj|_B-1|true|_B-1"]);
        assert_eq!(got[1], ["Uétienne|St.J|false|stj+3"]);
    }

    #[test]
    fn lexicons_are_looked_up_in_cells_and_in_columns() {
        let text = "New York\tTOWN\nYork\n";
        let source = lexicon::Source { name: "towns", text: text.as_bytes(), comments: true };
        let line = |folded| lexicon::line_of("towns.txt", &source, folded).unwrap().0;
        let template = format!(
            "C low=%X[0,0]\nC both=%in[0,0,\"towns.txt\"]/%IN[0,low,\"towns.txt\"]\n\
             U0:%in[0,0,\"towns.txt\"]|%IN[1,0,\"towns.txt\"]\nU1:%x[-1,both]\n*%in[@1,0,\"towns.txt\"]\n{}\n{}\n",
            line(false),
            line(true)
        );
        let got = expand(&template, &[&["in"], &["New"], &["York"], &["NEW"], &["york"]]);
        assert_eq!(got[0], ["U0:O|B-TOWN", "U1:_B-1", "*O"]);
        assert_eq!(got[1], ["U0:B-TOWN|I-TOWN", "U1:O/O", "bigram *O", "*O"]);
        assert_eq!(got[2], ["U0:I-TOWN|B-TOWN", "U1:B-TOWN/B-TOWN", "bigram *O", "*O"]);
        assert_eq!(got[4], ["U0:O|_B+1", "U1:O/B-TOWN", "bigram *O", "*O"]);
        let parsed = Template::parse(&template).unwrap();
        assert_eq!(parsed.source(), template);
        assert_eq!((parsed.look_ups.len(), parsed.looks_at(0)), (3, true));
        assert_eq!(parsed.name_of("U0:O|B").as_deref(), Some("in towns/next word in towns = O/B"));
    }

    #[test]
    fn look_ups_are_the_same_whether_tokens_are_remembered_or_not() {
        let source = lexicon::Source { name: "words", text: b"a b\nb a a\n", comments: true };
        let (line, _) = lexicon::line_of("words", &source, false).unwrap();
        let template = Template::parse(&format!("U:%in[0,0,\"words\"]/%X[0,0]\n{line}\n")).unwrap();
        let words: Vec<[u8; 1]> = (0..3000usize).map(|n| if n * n % 7 < 3 { *b"a" } else { *b"b" }).collect();
        let cells = Cells { columns: 1, cells: words.iter().map(|word| &word[..]).collect() };
        let mut sink = Collect::default();
        // The sink compares each key with the key of the attribute's string, which is built again.
        Expander::new(&template).expand(&cells, &mut sink, |_| None).unwrap();
        assert_eq!(sink.tokens.len(), 3000);
    }

    #[test]
    fn a_hostile_lexicon_does_not_make_look_ups_quadratic() {
        let text: String = (1..=lexicon::MOST_WORDS).map(|n| format!("{}\n", "a ".repeat(n))).collect();
        let source = lexicon::Source { name: "a", text: text.as_bytes(), comments: true };
        let (line, _) = lexicon::line_of("a", &source, false).unwrap();
        let template = Template::parse(&format!("U:%in[0,0,\"a\"]\n{line}\n")).unwrap();
        let cells = Cells { columns: 1, cells: vec![b"a"; 100_000] };
        let mut sink = Collect::default();
        Expander::new(&template).expand(&cells, &mut sink, |_| None).unwrap();
        let starts = sink.tokens.iter().filter(|token| *token == &["U:B"]).count();
        assert_eq!(starts, 100_000usize.div_ceil(lexicon::MOST_WORDS));
    }

    #[test]
    fn views_are_the_same_whether_they_are_remembered_or_not() {
        let template =
            Template::parse("C low=%X[0,0]\nU1:%x[0,low]/%shape[-1,0]\nU2:%m[0,1,\"..$\"]/%length[1,low]").unwrap();
        let words: Vec<String> = (0..3000).map(|n| format!("W{}", n * 7919 % 613)).collect();
        let tags: Vec<String> = (0..3000).map(|n| format!("tag{}", n % 11)).collect();
        let rows = words.iter().zip(&tags).flat_map(|(word, tag)| [word.as_bytes(), tag.as_bytes()]);
        let cells = Cells { columns: 2, cells: rows.collect() };
        let mut sink = Collect::default();
        // The sink compares each key with the key of the attribute's string, which is built again.
        Expander::new(&template).expand(&cells, &mut sink, |_| None).unwrap();
        assert_eq!(sink.tokens.len(), 3000);
    }

    #[test]
    fn substrings_are_the_same_whether_they_are_remembered_or_not() {
        let template = Template::parse("U%substrings[-1,0,3]\nB%x[0,1]%substrings[0,0,2]~%x[1,1]").unwrap();
        let word = |n: usize| "aé€b".repeat(if n.is_multiple_of(97) { 99 } else { 1 }) + &(n * 7919 % 613).to_string();
        let words: Vec<String> = (0..3000).map(word).collect();
        let cells = Cells { columns: 2, cells: words.iter().flat_map(|word| [word.as_bytes(), b"T"]).collect() };
        let (mut remembering, mut sink) = (Expander::new(&template), Collect::default());
        remembering.expand(&cells, &mut sink, |_| None).unwrap();
        for token in 1..cells.tokens() - 1 {
            let cells = Cells { columns: 2, cells: cells.cells[2 * token - 2..2 * token + 4].to_vec() };
            let mut alone = Collect::default();
            Expander::new(&template).expand(&cells, &mut alone, |_| None).unwrap();
            assert_eq!(alone.tokens[1], sink.tokens[token]);
        }
    }

    #[test]
    fn substrings_are_distinct() {
        let got = expand("U%substrings[0,0,2]", &[&["aab"]]);
        assert_eq!(got[0], ["Ua", "Uaa", "Uab", "Ub"]);
    }

    #[test]
    fn cells_that_are_too_long_for_substrings_are_refused() {
        let refused = |source: &str, length: usize| {
            let word = "ab".repeat(length / 2).into_bytes();
            let template = Template::parse(source).unwrap();
            let cells = Cells { columns: 1, cells: vec![b"x", &word] };
            Expander::new(&template).expand(&cells, &mut Collect::default(), |_| None).err()
        };
        assert_eq!(refused("U%substrings[0,0,9]", 10_000), None);
        assert_eq!(refused("U%x[0,0]%substrings[0,0,9]", 2_000), None);
        let message = refused("U%x[0,0]%substrings[0,0,9]", 3_000).unwrap();
        assert!(message.starts_with("token 1: a cell of 3000 characters is too long"), "{message}");
        assert!(refused("U%substrings[0,0,99]", 10_000).is_some());
    }

    #[test]
    fn bigrams_start_at_the_second_token_and_stars_do_both() {
        let got = expand("B1:%x[0,0]\n*2:%x[0,0]", &[&["a"], &["b"]]);
        assert_eq!(got[0], ["*2:a"]);
        assert_eq!(got[1], ["bigram B1:b", "bigram *2:b", "*2:b"]);
    }

    /// Lines of all kinds of templates: literal texts, rows near and far, columns, views, substrings.
    fn line() -> impl Strategy<Value = String> {
        let row = prop_oneof![(-12i8..=12).prop_map(|row| row.to_string()), "@-?[123]".prop_map(|row| row)];
        let name = prop::sample::select(vec!["x", "X", "shape", "length"]);
        let part = (name, row, 0..2, prop::sample::select(vec!["", "/", "|é", "+"]));
        let part = part.prop_map(|(name, row, column, literal)| format!("%{name}[{row},{column}]{literal}"));
        let substrings = prop_oneof![3 => Just(""), 1 => Just("%substrings[-1,0,2]~")];
        (
            prop::sample::select(vec!["U", "B7:", "*:", "word="]),
            proptest::collection::vec(part, 0..4),
            substrings,
            0..5usize,
        )
            .prop_map(|(head, mut parts, substrings, at)| {
                parts.insert(at.min(parts.len()), substrings.into());
                head.to_owned() + &parts.concat()
            })
    }

    proptest! {
        #[test]
        fn keys_are_those_of_the_strings_for_every_template_and_sentence(
            lines in proptest::collection::vec(line(), 1..6),
            words in proptest::collection::vec("[aB2é]{1,20}", 2..14),
        ) {
            let template = Template::parse(&lines.join("\n"));
            prop_assume!(template.is_ok());
            let template = template.unwrap();
            let cells = words.iter().flat_map(|word| [word.as_bytes(), b"T"]).collect::<Vec<_>>();
            let cells = match template.columns {
                1 => Cells { columns: 1, cells: cells.into_iter().step_by(2).collect() },
                columns => Cells { columns, cells },
            };
            let mut expander = Expander::new(&template);
            // The sink compares each key with the key of the attribute's string; buffers serve two sentences.
            for _ in 0..2 {
                let mut sink = Collect::default();
                expander.expand(&cells, &mut sink, |_| None).unwrap();
                prop_assert_eq!(sink.tokens.len(), words.len());
            }
        }
    }
}
