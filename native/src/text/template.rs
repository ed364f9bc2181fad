//! Templates: CRF++'s and Wapiti's pattern language, parsed once and expanded without building strings.
//!
//! A line starts with `U` (attribute x label), `B` (attribute x label x label), `*` (both) or `T` (three labels in a row, which
//! go without attributes), in either case.
//! Its macros look at the cell `row` tokens away (`-1`, `+1`; `@1` counts from the first token, `@-1` from the last):
//!
//! | macro | value |
//! | --- | --- |
//! | `%x[row,col]` | the cell |
//! | `%t[row,col,"re"]` | `true` or `false`: does the expression match |
//! | `%m[row,col,"re"]` | the first match, or nothing |
//! | `%X` `%T` `%M` | the same, lower-cased |
//! | `%shape[row,col]` | letters to A or a, digits to #: `IL-2` gives `AA-#` |
//! | `%normal[row,col]` | lower-cased, every digit `#` |
//! | `%substrings[row,col,max]` | every substring of 1 to max characters: an attribute each |
//!
//! Beyond the ends a macro gives CRF++'s `_B-1`, `_B-2`, ..., `_B+1`, .... A line without macros that starts with `B` stands for
//! label bigrams (transitions). `#` starts a comment at the start of a line or after white space, outside quotation marks.

use crate::corpus::hash::Piece;
use crate::corpus::sink::Sink;
use crate::error::{Error, Result};
use crate::text::cells::Cells;
use crate::text::pattern;
use regex::bytes::Regex;
use std::borrow::Cow;

pub struct Template {
    source: String,
    lines: Vec<Line>,
    views: Vec<View>,
    /// A `B` line without macros asks for transitions.
    pub transitions: bool,
    /// A `T` line asks for triples of labels: a chain of second order.
    pub triples: bool,
    /// Columns the macros look at: the largest index plus one. At least 1: a token is in the data by its first cell.
    pub columns: usize,
}

struct Line {
    state: bool,
    bigram: bool,
    parts: Vec<Part>,
    /// The index among `parts` of a `%substrings` cell, with its maximum length.
    substrings: Option<(usize, usize)>,
}

enum Part {
    Literal(Vec<u8>, Piece),
    Cell { view: usize, row: Row },
}

#[derive(Clone, Copy)]
enum Row {
    Relative(isize),
    FromStart(usize),
    FromEnd(usize),
}

/// What a macro sees of a cell.
enum View {
    Cell { column: usize, lower: bool },
    Test { column: usize, regex: Regex },
    Match { column: usize, regex: Regex, lower: bool },
    Shape { column: usize },
    Normal { column: usize },
}

impl View {
    fn column(&self) -> usize {
        match *self {
            View::Cell { column, .. }
            | View::Test { column, .. }
            | View::Match { column, .. }
            | View::Shape { column }
            | View::Normal { column } => column,
        }
    }

    fn of<'c>(&self, cell: &'c [u8]) -> Cow<'c, [u8]> {
        match self {
            View::Cell { lower: false, .. } => Cow::Borrowed(cell),
            View::Cell { lower: true, .. } => lowered(cell),
            View::Test { regex, .. } => Cow::Borrowed(if regex.is_match(cell) { b"true" } else { b"false" }),
            View::Match { regex, lower, .. } => match regex.find(cell) {
                Some(found) if *lower => lowered(&cell[found.range()]),
                Some(found) => Cow::Borrowed(&cell[found.range()]),
                None => Cow::Borrowed(b""),
            },
            View::Shape { .. } => map_characters(cell, |c| match c {
                _ if c.is_numeric() => '#',
                _ if c.is_uppercase() => 'A',
                _ if c.is_lowercase() => 'a',
                _ => c,
            }),
            View::Normal { .. } => {
                map_characters(&lowered(cell), |c| if c.is_numeric() { '#' } else { c }).into_owned().into()
            }
        }
    }

    fn same_as(&self, other: &View) -> bool {
        match (self, other) {
            (View::Cell { column: a, lower: l }, View::Cell { column: b, lower: m }) => a == b && l == m,
            (View::Test { column: a, regex: r }, View::Test { column: b, regex: s }) => {
                a == b && r.as_str() == s.as_str()
            }
            (View::Match { column: a, regex: r, lower: l }, View::Match { column: b, regex: s, lower: m }) => {
                a == b && l == m && r.as_str() == s.as_str()
            }
            (View::Shape { column: a }, View::Shape { column: b })
            | (View::Normal { column: a }, View::Normal { column: b }) => a == b,
            _ => false,
        }
    }
}

fn text_of(cell: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(cell)
}

fn lowered(cell: &[u8]) -> Cow<'_, [u8]> {
    Cow::Owned(text_of(cell).to_lowercase().into_bytes())
}

fn map_characters(cell: &[u8], map: impl Fn(char) -> char) -> Cow<'_, [u8]> {
    Cow::Owned(text_of(cell).chars().map(map).collect::<String>().into_bytes())
}

impl Template {
    /// Parses a template; errors name the line of the template.
    pub fn parse(source: &str) -> Result<Template> {
        let mut template = Template {
            source: source.to_owned(),
            lines: Vec::new(),
            views: Vec::new(),
            transitions: false,
            triples: false,
            columns: 1,
        };
        for (index, line) in source.lines().enumerate() {
            let line = without_comment(line);
            if !line.is_empty() {
                template
                    .parse_line(line)
                    .map_err(|error| Error::Template(format!("template line {}: {error} in: {line}", index + 1)))?;
            }
        }
        if template.lines.is_empty() && !template.transitions && !template.triples {
            return Err(Error::Template("the template has no U, B, * or T line".into()));
        }
        Ok(template)
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    fn parse_line(&mut self, text: &str) -> Result<()> {
        let (state, bigram) = match text.as_bytes()[0].to_ascii_lowercase() {
            b'u' => (true, false),
            b'b' => (false, true),
            b'*' => (true, true),
            b't' => {
                self.triples = true;
                let message = "a T line has no macros: three labels in a row go without attributes; a B line has them";
                return if text.contains('%') { Err(Error::Template(message.into())) } else { Ok(()) };
            }
            _ => return Err(Error::Template("a line has to start with U, B, *, T or #".into())),
        };
        let mut line = Line { state, bigram, parts: Vec::new(), substrings: None };
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            push_literal(&mut line.parts, &rest[..at]);
            rest = self.parse_macro(&rest[at..], &mut line)?;
        }
        push_literal(&mut line.parts, rest);
        if line.bigram && !line.parts.iter().any(|part| matches!(part, Part::Cell { .. })) {
            self.transitions = true;
            line.bigram = false;
        }
        if line.state || line.bigram {
            self.lines.push(line);
        }
        Ok(())
    }

    /// Parses one macro at the start of `text`, which starts with `%`; returns what follows it.
    fn parse_macro<'t>(&mut self, text: &'t str, line: &mut Line) -> Result<&'t str> {
        let malformed =
            |what: &str| Error::Template(format!("{what}; a macro looks like %x[-1,0] or %t[0,0,\"^\\u\"]"));
        let open = text.find('[').ok_or_else(|| malformed("'%' without a macro"))?;
        let name = &text[1..open];
        let mut arguments = Arguments { rest: &text[open + 1..] };
        let row = parse_row(arguments.next(',').ok_or_else(|| malformed("no row"))?)?;
        let needs_more = matches!(name, "t" | "T" | "m" | "M" | "substrings");
        let column = arguments.next(if needs_more { ',' } else { ']' }).ok_or_else(|| malformed("no column"))?;
        let column = match column.parse::<u16>() {
            Ok(number) => usize::from(number),
            Err(_) => return Err(malformed(&format!("column '{column}' is not a number from 0 to 65535"))),
        };
        let lower = name.chars().all(char::is_uppercase);
        let mut regex = || -> Result<Regex> {
            let quoted = arguments.quoted().ok_or_else(|| malformed("no \"expression\""))?;
            pattern::compile(&quoted)
        };
        let view = match name {
            "x" | "X" => View::Cell { column, lower },
            "t" | "T" => View::Test { column, regex: regex()? },
            "m" | "M" => View::Match { column, regex: regex()?, lower },
            "shape" => View::Shape { column },
            "normal" => View::Normal { column },
            "substrings" => {
                let most = arguments.next(']').and_then(|n| n.parse().ok()).filter(|&n: &usize| n > 0);
                let most = most.ok_or_else(|| malformed("%substrings needs a maximum length"))?;
                if line.substrings.replace((line.parts.len(), most)).is_some() {
                    return Err(Error::Template("only one %substrings to a line".into()));
                }
                View::Cell { column, lower: false }
            }
            _ => return Err(malformed(&format!("unknown macro %{name}"))),
        };
        self.columns = self.columns.max(column + 1);
        let known = self.views.iter().position(|other| other.same_as(&view));
        let view = known.unwrap_or_else(|| {
            self.views.push(view);
            self.views.len() - 1
        });
        line.parts.push(Part::Cell { view, row });
        Ok(arguments.rest)
    }

    /// Appends the string of a line at a token: what its hash stands for.
    fn write(&self, line: &Line, cells: &Cells<'_>, token: usize, substring: Option<&[u8]>, out: &mut Vec<u8>) {
        for (index, part) in line.parts.iter().enumerate() {
            match part {
                Part::Literal(text, _) => out.extend_from_slice(text),
                Part::Cell { view, row } => match (row.resolve(token, cells.tokens()), substring, line.substrings) {
                    (Ok(_), Some(substring), Some((at, _))) if at == index => out.extend_from_slice(substring),
                    (Ok(at), ..) => {
                        let view = &self.views[*view];
                        out.extend_from_slice(&view.of(cells.cell(at, view.column())));
                    }
                    (Err(beyond), ..) => out.extend_from_slice(padding(beyond).as_bytes()),
                },
            }
        }
    }
}

fn push_literal(parts: &mut Vec<Part>, text: &str) {
    if !text.is_empty() {
        parts.push(Part::Literal(text.as_bytes().to_vec(), Piece::of(text.as_bytes())));
    }
}

fn without_comment(line: &str) -> &str {
    let (mut quoted, mut previous) = (false, ' ');
    for (at, character) in line.char_indices() {
        match character {
            '"' if previous != '\\' => quoted = !quoted,
            '#' if !quoted && previous.is_whitespace() => return line[..at].trim_end(),
            _ => {}
        }
        previous = character;
    }
    line.trim_end()
}

struct Arguments<'t> {
    rest: &'t str,
}

impl<'t> Arguments<'t> {
    fn next(&mut self, end: char) -> Option<&'t str> {
        let (argument, rest) = self.rest.split_once(end)?;
        self.rest = rest;
        Some(argument.trim())
    }

    /// A quoted expression and the closing bracket; `\"` stands for a quotation mark.
    fn quoted(&mut self) -> Option<String> {
        let body = self.rest.trim_start().strip_prefix('"')?;
        let mut escaped = false;
        let end = body.find(|c| {
            let closes = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        })?;
        self.rest = body[end + 1..].trim_start().strip_prefix(']')?;
        Some(body[..end].replace("\\\"", "\""))
    }
}

fn parse_row(text: &str) -> Result<Row> {
    let bad = || Error::Template(format!("row '{text}' is not a number such as -1, 0, +1, @1 or @-1"));
    if let Some(absolute) = text.strip_prefix('@') {
        return match absolute.parse::<isize>().map_err(|_| bad())? {
            0 => Err(Error::Template("row '@0': absolute rows count from @1, or from @-1 at the end".into())),
            n if n > 0 => Ok(Row::FromStart(n as usize - 1)),
            n => Ok(Row::FromEnd(n.unsigned_abs() - 1)),
        };
    }
    Ok(Row::Relative(text.parse().map_err(|_| bad())?))
}

impl Row {
    /// The token looked at, or how far it lies beyond the start (negative) or the end (positive).
    #[inline(always)]
    fn resolve(self, token: usize, tokens: usize) -> std::result::Result<usize, isize> {
        let at = match self {
            Row::Relative(offset) => token as isize + offset,
            Row::FromStart(n) => n as isize,
            Row::FromEnd(n) => tokens as isize - 1 - n as isize,
        };
        if at < 0 {
            Err(at)
        } else if at as usize >= tokens {
            Err(at - tokens as isize + 1)
        } else {
            Ok(at as usize)
        }
    }
}

fn padding(beyond: isize) -> String {
    format!("_B{beyond:+}")
}

const NEAR: isize = 8;

/// Expands a template over sentences; keeps its buffers from one sentence to the next.
pub struct Expander<'t> {
    template: &'t Template,
    /// Hash of every view of every token of the sentence, by view.
    pieces: Vec<Piece>,
    /// Hashes of the padding from -NEAR to NEAR.
    near: Vec<Piece>,
}

impl<'t> Expander<'t> {
    pub fn new(template: &'t Template) -> Self {
        let near = (-NEAR..=NEAR).map(|beyond| Piece::of(padding(beyond).as_bytes())).collect();
        Expander { template, pieces: Vec::new(), near }
    }

    #[inline(always)]
    fn piece(&self, view: usize, row: Row, token: usize, tokens: usize) -> Piece {
        match row.resolve(token, tokens) {
            Ok(at) => self.pieces[view * tokens + at],
            Err(beyond) if (-NEAR..=NEAR).contains(&beyond) => self.near[(beyond + NEAR) as usize],
            Err(beyond) => Piece::of(padding(beyond).as_bytes()),
        }
    }

    /// Hands every attribute of every token to the sink; `label_of(token)` gives its label. Does not end the sentence.
    pub fn expand<'l, S: Sink>(
        &mut self,
        cells: &Cells<'_>,
        sink: &mut S,
        label_of: impl Fn(usize) -> Option<&'l [u8]>,
    ) {
        let tokens = cells.tokens();
        let template = self.template;
        self.pieces.clear();
        for view in &template.views {
            let column = view.column();
            self.pieces.extend((0..tokens).map(|token| Piece::of(&view.of(cells.cell(token, column)))));
        }
        for token in 0..tokens {
            for line in &template.lines {
                if let Some((at, most)) = line.substrings {
                    self.expand_substrings(line, at, most, cells, token, sink);
                    continue;
                }
                let key = self.joined(line, token, tokens, None);
                // Bigrams lie between a token and the one before it: the first token has none.
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

    #[inline(always)]
    fn joined(&self, line: &Line, token: usize, tokens: usize, substring: Option<(usize, Piece)>) -> u64 {
        Piece::joined_key(line.parts.iter().enumerate().map(|(index, part)| match (part, substring) {
            (_, Some((at, piece))) if at == index => piece,
            (Part::Literal(_, piece), _) => *piece,
            (Part::Cell { view, row }, _) => self.piece(*view, *row, token, tokens),
        }))
    }

    fn expand_substrings<S: Sink>(
        &self,
        line: &Line,
        at: usize,
        most: usize,
        cells: &Cells<'_>,
        token: usize,
        sink: &mut S,
    ) {
        let template = self.template;
        let Part::Cell { view, row } = &line.parts[at] else { return };
        let tokens = cells.tokens();
        let padding_text;
        let cell: &[u8] = match row.resolve(token, tokens) {
            Ok(looked_at) => cells.cell(looked_at, template.views[*view].column()),
            Err(beyond) => {
                padding_text = padding(beyond);
                padding_text.as_bytes()
            }
        };
        let text = text_of(cell);
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut seen: Vec<&str> = Vec::new();
        for start in 0..ends.len() - 1 {
            for &end in ends[start + 1..].iter().take(most) {
                seen.push(&text[ends[start]..end]);
            }
        }
        seen.sort_unstable();
        seen.dedup();
        for substring in seen {
            let substring = substring.as_bytes();
            let key = self.joined(line, token, tokens, Some((at, Piece::of(substring))));
            if line.bigram && token > 0 {
                sink.bigram(key, |out| template.write(line, cells, token, Some(substring), out));
            }
            if line.state {
                sink.state(key, 1.0, |out| template.write(line, cells, token, Some(substring), out));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::hash::key_of;

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
        fn end_token(&mut self, _label: Option<&[u8]>) {
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
        Expander::new(&template).expand(&cells, &mut sink, |_| None);
        sink.tokens
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
    fn substrings_are_distinct() {
        let got = expand("U%substrings[0,0,2]", &[&["aab"]]);
        assert_eq!(got[0], ["Ua", "Uaa", "Uab", "Ub"]);
    }

    #[test]
    fn bigrams_start_at_the_second_token_and_stars_do_both() {
        let got = expand("B1:%x[0,0]\n*2:%x[0,0]", &[&["a"], &["b"]]);
        assert_eq!(got[0], ["*2:a"]);
        assert_eq!(got[1], ["bigram B1:b", "bigram *2:b", "*2:b"]);
    }

    #[test]
    fn comments_and_plain_transitions() {
        let template = Template::parse("# a comment\n\nU0:%x[0,0] # words\nB\n").unwrap();
        assert!(template.transitions);
        assert_eq!((template.lines.len(), template.columns), (1, 1));
        assert!(!Template::parse("U0:%t[0,0,\"#\"]").unwrap().transitions);
    }

    #[test]
    fn mistakes_name_their_line() {
        for (bad, word) in [
            ("U1:%x[0,0]\nX:%x[0,0]", "line 2"),
            ("U:%x[0,a]", "column 'a'"),
            ("U:%x[a,0]", "row 'a'"),
            ("U:%y[0,0]", "%y"),
            ("U:100%", "'%'"),
            ("U:%t[0,0,\"(\"]", "expression"),
            ("U:%t[0,0,x]", "expression"),
            ("U:%x[@0,0]", "@0"),
            ("U:%substrings[0,0,0]", "maximum"),
            ("# nothing", "no U, B, * or T line"),
            ("U0:%x[0,0]\nT1:%x[0,0]", "line 2: a T line has no macros"),
        ] {
            let message = Template::parse(bad).err().expect(bad).to_string();
            assert!(message.contains(word), "{bad}: {message}");
        }
    }
}
