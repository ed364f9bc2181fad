//! Templates: the pattern language of CRF++ and Wapiti, parsed. `expand` applies a template to sentences.
//!
//! A line starts with `U` (attribute x label), `B` (attribute x label x label), `*` (both) or `T` (three labels in a row, without
//! an attribute), in upper or lower case. A macro names a column and a row: the row counts from the current token (`-1`, `+1`),
//! from the first token (`@1`) or from the last (`@-1`).
//!
//! | macro | value |
//! | --- | --- |
//! | `%x[row,col]` | the cell |
//! | `%t[row,col,"re"]` | `true` or `false`: whether the expression matches |
//! | `%m[row,col,"re"]` | the first match, or nothing |
//! | `%X` `%T` `%M` | the same, lower-cased |
//! | `%shape[row,col]` | letters to A or a, digits to #: `IL-2` gives `AA-#` |
//! | `%normal[row,col]` | lower-cased, every digit `#` |
//! | `%substrings[row,col,max]` | every substring of 1 to max characters: an attribute each |
//! | `%drop[row,col,"re"]` `%DROP` | the cell without the matches of an expression; in lower case |
//! | `%length[row,col]` | the number of characters |
//! | `%in[row,col,"file"]` `%IN` | `B`, `I` or `O`: whether the cell begins, continues or is outside an entry of a lexicon (`lexicon`); in lower case |
//!
//! A line may also start with a name of its own, such as `word[-1]:%x[-1,0]`: three or more small letters, of which the first is not
//! a `b`, and a colon or `=` before the macros. It is a `U` line.
//!
//! A line `C NAME=...` defines a column: the string of the rest of the line at each token. Macros of later lines use its name
//! in place of a number.
//!
//! Beyond the ends of a sentence a macro gives CRF++'s `_B-1`, `_B-2`, ..., `_B+1`, .... A line without macros that starts with `B` stands for
//! label bigrams (transitions). `#` starts a comment at the start of a line or after white space, outside quotation marks.
//! The comment `# Columns: word, part of speech` names the columns (`naming`).
//!
//! The first line may name the program whose rules the template follows (`Dialect`).

use crate::corpus::hash::Piece;
use crate::error::{Error, Result, shortened};
use crate::files::model_file::Storage;
use crate::text::arguments::{Arguments, Row, expected, parse_row, unknown_macro};
use crate::text::copies::Copies;
use crate::text::dialect::Dialect;
use crate::text::joins::{Joins, Line, Part};
use crate::text::lexicon::{self, Attached};
use crate::text::naming;
use crate::text::pattern;
use crate::text::view::{Column, LookUp, Lower, View};
use regex::bytes::Regex;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A parsed template.
pub struct Template {
    /// The template as it was written, without the packages of its lexicons.
    source: String,
    lexicons: Vec<Attached>,
    dialect: Dialect,
    /// The lines without comments and empty lines.
    patterns: Vec<String>,
    pub(super) lines: Vec<Line>,
    /// The columns that `C` lines define, with their names.
    pub(super) made_columns: Vec<(String, Line)>,
    /// The distinct look-ups in lexicons.
    pub(super) look_ups: Vec<LookUp>,
    /// The lexicons that the template has not: the name, whether its entries are to be lower-cased, the line.
    missing: Vec<(String, bool, usize)>,
    /// What the columns of the data are called.
    column_names: Vec<String>,
    /// How the keys of the lines are joined.
    pub(super) joins: Joins,
    /// The distinct views of all macros.
    pub(super) views: Vec<View>,
    /// The distinct expressions of all macros, compiled.
    expressions: HashMap<String, Regex>,
    /// What the lines copy for each token.
    pub(super) copies: Copies,
    /// Whether a `B` line without macros requests label bigrams.
    pub transitions: bool,
    /// Whether a `T` line requests triples of labels: a chain of second order.
    pub triples: bool,
    /// Number of columns that the data needs: the largest column of a macro plus one, and at least 1.
    pub columns: usize,
    /// The line of the template, from 1, that needs the last of these columns.
    pub widest_line: usize,
}

/// The most lines of a template: real templates have up to a few hundred.
const MOST_LINES: usize = 10_000;

/// Characters of a line that messages quote.
const EXCERPT: usize = 200;

/// The most different expressions of a template, each of which takes memory.
const MOST_EXPRESSIONS: usize = 500;

impl Template {
    /// Parses a template; errors name the line of the template.
    pub fn parse(source: &str) -> Result<Template> {
        Template::complete(source, Attached::all(source, None)?)
    }

    /// Parses the template of a model file, whose lexicons are in a range of the bytes of the file.
    pub fn parse_stored(source: &str, storage: &Arc<Storage>, lexicons: Range<usize>) -> Result<Template> {
        Template::complete(source, Attached::all(source, Some((storage, lexicons)))?)
    }

    /// The lexicons that a template names and does not have: the name, whether its entries are to be lower-cased, the line.
    pub fn missing_lexicons(source: &str) -> Result<Vec<(String, bool, usize)>> {
        Ok(Template::parse_with(source, Attached::all(source, None)?)?.missing)
    }

    /// Parses a template; error if it has not all of its lexicons.
    fn complete(source: &str, lexicons: Vec<Attached>) -> Result<Template> {
        let template = Template::parse_with(source, lexicons)?;
        match template.missing.first() {
            None => Ok(template),
            Some((name, _, line)) => Err(Error::Template(format!(
                "template line {line}: the lexicon {name} is not attached to the template; attach it with with_lexicons"
            ))),
        }
    }

    fn parse_with(source: &str, lexicons: Vec<Attached>) -> Result<Template> {
        let dialect = Dialect::of(source)?;
        let mut template = Template {
            source: lexicon::shortened(source).into_owned(),
            lexicons,
            dialect,
            patterns: Vec::new(),
            lines: Vec::new(),
            made_columns: Vec::new(),
            look_ups: Vec::new(),
            missing: Vec::new(),
            column_names: naming::columns(source),
            joins: Joins::default(),
            views: Vec::new(),
            expressions: HashMap::new(),
            copies: Copies::default(),
            transitions: false,
            triples: false,
            columns: 1,
            widest_line: 1,
        };
        for (index, line) in source.lines().enumerate() {
            if index == MOST_LINES {
                return Err(Error::Template(
                    "the template has more than 10,000 lines; check that the file is a template".into(),
                ));
            }
            let mut line = dialect.without_comment(line).to_owned();
            if dialect == Dialect::Wapiti && line.is_char_boundary(1) {
                line[..1].make_ascii_lowercase();
            }
            if !line.is_empty() {
                let (columns, missing) = (template.columns, template.missing.len());
                template.parse_line(&line).map_err(|error| {
                    let (error, line) = (error.to_string(), shortened(&line, EXCERPT));
                    Error::Template(format!(
                        "template line {}: {} in: {line}",
                        index + 1,
                        shortened(&error, 4 * EXCERPT)
                    ))
                })?;
                template.patterns.push(line);
                template.missing[missing..].iter_mut().for_each(|(_, _, line)| *line = index + 1);
                if template.columns > columns {
                    template.widest_line = index + 1;
                }
            }
        }
        if template.lines.is_empty() && !template.transitions && !template.triples {
            return Err(Error::Template("the template has no U, B, * or T line".into()));
        }
        template.joins = Joins::new(&template.lines, |view, distance| template.piece_beyond(view, distance));
        Ok(template)
    }

    /// The string that a macro produces beyond the ends of a sentence. Wapiti's macros look at the padding as at a cell.
    pub(super) fn beyond(&self, view: usize, beyond: isize) -> Vec<u8> {
        let padding = self.dialect.padding(beyond).into_bytes();
        if self.dialect == Dialect::Wapiti { self.views[view].of(&padding).into_owned() } else { padding }
    }

    /// The hash of `beyond`.
    pub(super) fn piece_beyond(&self, view: usize, beyond: isize) -> Piece {
        Piece::of(&self.beyond(view, beyond))
    }

    /// Whether a macro names this column.
    pub fn looks_at(&self, column: usize) -> bool {
        let columns = self.views.iter().map(View::column).chain(self.look_ups.iter().map(|look_up| look_up.column));
        columns.into_iter().any(|other| other == Column::Data(column))
    }

    /// The template as it was written, with its lexicons.
    pub fn source(&self) -> Cow<'_, str> {
        lexicon::whole(&self.source, &self.lexicons)
    }

    /// The lexicons of the template.
    pub fn lexicons(&self) -> &[Attached] {
        &self.lexicons
    }

    /// Length of the longest value of a look-up, in bytes.
    pub(super) fn longest_value(&self) -> usize {
        self.look_ups.iter().map(|look_up| look_up.lexicon.longest_value()).max().unwrap_or(0)
    }

    /// The program whose rules the template follows.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The lines without comments and empty lines.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(String::as_str)
    }

    /// The number of copies of this line, if it is a line without macros that requests label bigrams.
    pub fn plain(&self, line: &[u8]) -> usize {
        match line.first() {
            Some(b'B' | b'b' | b'*') if !line.contains(&b'%') => {
                self.patterns().filter(|pattern| pattern.as_bytes() == line).count()
            }
            _ => 0,
        }
    }

    /// Parses a line without its comment.
    fn parse_line(&mut self, text: &str) -> Result<()> {
        let (state, bigram) = match text.as_bytes()[0].to_ascii_lowercase() {
            _ if self.dialect == Dialect::Crfpp && !text.starts_with(['U', 'B']) => {
                return Err(Error::Template("a CRF++ line must start with U, B or #".into()));
            }
            b't' if self.dialect == Dialect::Wapiti => {
                return Err(Error::Template("a Wapiti line must start with u, b, * or #".into()));
            }
            b'u' => (true, false),
            _ if self.dialect == Dialect::Own && naming::starts_with_name(text) => (true, false),
            b'c' if self.dialect == Dialect::Own => return self.parse_column(text),
            b'b' => (false, true),
            b'*' => (true, true),
            b't' => {
                self.triples = true;
                let message = "a T line cannot contain macros; use a B line";
                return if text.contains('%') { Err(Error::Template(message.into())) } else { Ok(()) };
            }
            _ => return Err(Error::Template("a line must start with U, B, *, T, C or #".into())),
        };
        let mut line = Line { state, bigram, parts: Vec::new(), macro_names: Vec::new(), substrings: None };
        self.parse_parts(text, &mut line)?;
        if line.bigram && !line.parts.iter().any(|part| matches!(part, Part::Cell { .. })) {
            self.transitions = true;
            line.bigram = false;
        }
        if line.state || line.bigram {
            self.copies.add(&line, &self.views)?;
            self.lines.push(line);
        }
        Ok(())
    }

    /// Parses a line `C NAME=...`.
    fn parse_column(&mut self, text: &str) -> Result<()> {
        let wrong = |what: &str| Err(Error::Template(format!("{what}; a C line looks like C suffix=%m[0,0,\"..$\"]")));
        let Some((name, value)) = text[1..].split_once('=') else { return wrong("no '='") };
        let name = name.trim();
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name {
            return wrong(&format!("'{name}' is not a valid name (a letter, then letters, digits or _)"));
        }
        if self.made_columns.iter().any(|(defined, _)| defined == name) {
            return wrong(&format!("the column {name} is defined twice"));
        }
        let mut line =
            Line { state: false, bigram: false, parts: Vec::new(), macro_names: Vec::new(), substrings: None };
        self.parse_parts(value.trim_start(), &mut line)?;
        if line.substrings.is_some() {
            return wrong("%substrings gives several strings, but a column needs one");
        }
        if line.parts.iter().any(|part| matches!(part, Part::Cell { row, .. } if !matches!(row, Row::Relative(0)))) {
            return wrong("a column can use only the token's own cells: rows must be 0");
        }
        self.copies.add_column(&line, &self.views)?;
        self.made_columns.push((name.to_owned(), line));
        Ok(())
    }

    /// Parses literal text and macros.
    fn parse_parts(&mut self, text: &str, line: &mut Line) -> Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            push_literal(&mut line.parts, &rest[..at]);
            rest = self.parse_macro(&rest[at..], line)?;
        }
        push_literal(&mut line.parts, rest);
        Ok(())
    }

    /// The number of a column, given by its number or by the name that a `C` line has given it.
    fn column(&self, text: &str) -> Option<Column> {
        let by_name = || self.made_columns.iter().position(|(name, _)| name == text).map(Column::Made);
        text.parse::<u16>().ok().map(|number| Column::Data(number.into())).or_else(by_name)
    }

    /// What a column is called.
    fn column_name(&self, column: Column) -> String {
        match column {
            Column::Made(number) => self.made_columns[number].0.clone(),
            Column::Data(column) | Column::Tagged(column) => {
                self.column_names.get(column).cloned().unwrap_or_else(|| naming::column(column))
            }
        }
    }

    /// The column of a look-up in the lexicon with this name, which is lower-cased or not.
    fn look_up(&mut self, name: &str, folded: bool, column: Column) -> Result<Column> {
        let is_named = |other: &&Attached| other.name == name && other.lexicon.folded == folded;
        let Some(Attached { lexicon, .. }) = self.lexicons.iter().find(is_named) else {
            if !self.missing.iter().any(|(other, lower, _)| other == name && *lower == folded) {
                self.missing.push((name.to_owned(), folded, 0));
            }
            return Ok(column);
        };
        let same = |other: &LookUp| other.column == column && Arc::ptr_eq(&other.lexicon, lexicon);
        let existing = self.look_ups.iter().position(same);
        if existing.is_none() {
            self.copies.add_look_up(column)?;
            self.look_ups.push(LookUp { lexicon: Arc::clone(lexicon), column });
        }
        Ok(Column::Tagged(existing.unwrap_or(self.look_ups.len() - 1)))
    }

    /// An error if the template's dialect has no such macro.
    fn check_macro(&self, name: &str, row: Row) -> Result<()> {
        let is_supported = match self.dialect {
            Dialect::Own => true,
            Dialect::Wapiti => matches!(name, "x" | "X" | "t" | "T" | "m" | "M"),
            Dialect::Crfpp => name == "x" && matches!(row, Row::Relative(-8..=8)),
        };
        if is_supported {
            return Ok(());
        }
        let has = match self.dialect {
            Dialect::Crfpp => "CRF++ supports only %x with rows from -8 to 8",
            _ => "Wapiti supports only %x, %t, %m, %X, %T and %M",
        };
        Err(Error::Template(format!("%{name}: {has}; leave out the line {}", self.dialect.first_line())))
    }

    /// Compiles an expression, unless an earlier macro has it.
    fn compiled(&mut self, expression: &str) -> Result<Regex> {
        if let Some(regex) = self.expressions.get(expression) {
            return Ok(regex.clone());
        }
        if self.expressions.len() == MOST_EXPRESSIONS {
            return Err(Error::Template(format!(
                "the template has more than {MOST_EXPRESSIONS} different expressions"
            )));
        }
        let compile = if self.dialect == Dialect::Wapiti { pattern::compile_wapiti } else { pattern::compile };
        let regex = compile(expression)?;
        self.expressions.insert(expression.to_owned(), regex.clone());
        Ok(regex)
    }

    /// Parses the macro at the start of `text`, which starts with `%`; returns the text after the macro.
    fn parse_macro<'t>(&mut self, text: &'t str, line: &mut Line) -> Result<&'t str> {
        let open = text.find('[');
        let name = &text[1..open.unwrap_or(1)];
        let (example, missing) = expected(name);
        let malformed = |what: &str| Error::Template(format!("{what}; a macro looks like {example}"));
        let open = open.ok_or_else(|| malformed("'%' is not followed by a macro"))?;
        unknown_macro(name).map_or(Ok(()), |what| Err(malformed(&what)))?;
        let mut arguments = Arguments { rest: &text[open + 1..] };
        let row = parse_row(arguments.next(',').ok_or_else(|| malformed("no row"))?)?;
        let column = arguments.column(name).map_err(malformed)?;
        let column = self.column(column).ok_or_else(|| {
            malformed(&format!("column '{column}' is not a number from 0 to 65535, or the name of a C line above"))
        })?;
        self.check_macro(name, row)?;
        let lower = match (name.chars().all(char::is_uppercase), self.dialect) {
            (false, _) => Lower::No,
            (true, Dialect::Wapiti) => Lower::Ascii,
            (true, _) => Lower::All,
        };
        let mut expression = String::new();
        let mut regex = || -> Result<Regex> {
            expression = arguments.quoted().ok_or_else(|| malformed(missing))?;
            self.compiled(&expression)
        };
        let view = match name {
            "x" | "X" => View::Cell { column, lower },
            "t" | "T" => View::Test { column, regex: regex()? },
            "m" | "M" => View::Match { column, regex: regex()?, lower },
            "drop" | "DROP" => View::Drop { column, regex: regex()?, lower },
            "length" => View::Length { column },
            "shape" => View::Shape { column },
            "normal" => View::Normal { column },
            "in" | "IN" => {
                expression = arguments.quoted().ok_or_else(|| malformed(missing))?;
                lexicon::check_name(&expression)?;
                let column = self.look_up(&expression, lower == Lower::All, column)?;
                View::Cell { column, lower: Lower::No }
            }
            "substrings" => {
                let most = arguments.next(']').and_then(|n| n.parse().ok()).filter(|&n: &usize| n > 0);
                let most = most.ok_or_else(|| malformed(missing))?;
                if line.substrings.replace((line.parts.len(), most)).is_some() {
                    return Err(Error::Template("a line can have only one %substrings".into()));
                }
                View::Cell { column, lower: Lower::No }
            }
            _ => unreachable!("%{name} is a known macro"),
        };
        if let Column::Data(column) = column {
            self.columns = self.columns.max(column + 1);
        }
        let existing = self.views.iter().position(|other| other.same_as(&view));
        let view = existing.unwrap_or_else(|| {
            self.views.push(view);
            self.views.len() - 1
        });
        line.parts.push(Part::Cell { view, row });
        line.macro_names.push(naming::name_of_macro(
            name,
            row,
            (column == Column::Data(0), &self.column_name(column)),
            &expression,
        ));
        Ok(arguments.rest)
    }
}

/// Appends a literal text unless it is empty.
fn push_literal(parts: &mut Vec<Part>, text: &str) {
    if !text.is_empty() {
        parts.push(Part::Literal(text.as_bytes().to_vec(), Piece::of(text.as_bytes())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("U:%x[0,0]\nU:%in[0,0,\"towns.txt\"]", "line 2: the lexicon towns.txt is not attached"),
            ("U:%in[0,0,towns.txt]", "no \"lexicon\""),
            ("U:%IN[0,0]", "no \"lexicon\"; a macro looks like %in[0,0,\"towns.txt\"]"),
            ("U:%t[0,0]/%x[0,1]", "no \"expression\"; a macro looks like"),
            ("U:%substrings[0,0]", "maximum length; a macro looks like %substrings[0,0,4]"),
            ("U:%In[0,0,\"towns\"]", "unknown macro %In, write %in or %IN;"),
            ("U:%Shape[0,0]", "unknown macro %Shape, write %shape;"),
            ("U:%in[0,0,\" towns\"]", "surrounding blanks"),
            ("U:%x[0,0]\n#!lexicon bG9nbGlu towns", "line 2: the lexicon towns in the template is damaged"),
            ("U:%x[0,0]\n#!lexicon @0-3 towns", "line 2: the lexicon towns in the template is damaged"),
            (
                "U:%x[0,0]\n#!lexicon @0-18446744073709551615 towns",
                "line 2: the lexicon towns in the template is damaged",
            ),
            ("#!wapiti\nu:%in[0,0,\"towns\"]", "%in: Wapiti supports only"),
            ("#!crf++\nU:%in[0,0,\"towns\"]", "%in: CRF++ supports only"),
            ("U0:%x[0,0]\nT1:%x[0,0]", "line 2: a T line cannot contain macros"),
        ] {
            let message = Template::parse(bad).err().expect(bad).to_string();
            assert!(message.contains(word), "{bad}: {message}");
        }
        let long = "U:%x[0,0]\n".repeat(MOST_LINES + 1);
        assert!(Template::parse(&long).err().unwrap().to_string().contains("more than 10,000 lines"));
    }

    #[test]
    fn an_expression_is_compiled_once_and_there_are_not_too_many() {
        let line = |at: usize| format!("U:%t[0,0,\"a{}\"]\n", at);
        let lines = |count: usize| (0..count).map(line).collect::<String>();
        assert!(Template::parse(&lines(MOST_EXPRESSIONS).repeat(3)).is_ok());
        let message = Template::parse(&lines(MOST_EXPRESSIONS + 1)).err().unwrap().to_string();
        assert!(message.contains("line 501: the template has more than 500 different expressions"), "{message}");
    }
}
