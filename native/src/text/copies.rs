//! How much of the input a template copies for each token, and the limits: columns made of columns multiply, and so do substrings.

use crate::error::{Error, Result};
use crate::text::joins::{Line, Part};
use crate::text::view::{Column, View};

/// The most cells that a line copies for a token, with the columns that it uses. As `%substrings` of up to n
/// characters counts n (n + 1) / 2 times, n is at most 99.
pub const MOST_OF_LINE: usize = 5_000;
/// The most cells that all lines of a template copy for a token.
pub const MOST_OF_TEMPLATE: usize = 20_000;
/// The most columns that are each made of the one before it.
pub const MOST_IN_A_ROW: usize = 100;
/// Bytes of literal text that count as a cell.
const BYTES_OF_CELL: usize = 10;

/// What one line copies for a token.
#[derive(Clone, Copy, Default)]
struct Cost {
    /// Cells, with the columns that the line uses.
    cells: usize,
    /// Columns that are each made of the one before it.
    in_a_row: usize,
}

/// What the lines of a template copy for a token.
#[derive(Default)]
pub(super) struct Copies {
    made_columns: Vec<Cost>,
    cells: usize,
}

impl Copies {
    /// Counts a line with attributes. Error: a limit is exceeded.
    pub(super) fn add(&mut self, line: &Line, views: &[View]) -> Result<()> {
        let cost = self.cost(line, views);
        if cost.cells > MOST_OF_LINE {
            return Err(Error::Template(format!(
                "the line copies {} cells for each token, with the columns that it uses; the limit is {MOST_OF_LINE}",
                cost.cells
            )));
        }
        if cost.in_a_row > MOST_IN_A_ROW {
            return Err(Error::Template(format!("more than {MOST_IN_A_ROW} columns are each made of another one")));
        }
        self.add_cells(cost.cells)
    }

    fn add_cells(&mut self, cells: usize) -> Result<()> {
        self.cells += cells;
        if self.cells > MOST_OF_TEMPLATE {
            return Err(Error::Template(format!(
                "this line and those before it copy {} cells for each token; the limit is {MOST_OF_TEMPLATE}",
                self.cells
            )));
        }
        Ok(())
    }

    /// As `add`, for a line that makes the next column.
    pub(super) fn add_column(&mut self, line: &Line, views: &[View]) -> Result<()> {
        self.add(line, views)?;
        let Cost { cells, in_a_row } = self.cost(line, views);
        self.made_columns.push(Cost { cells, in_a_row: in_a_row + 1 });
        Ok(())
    }

    /// Counts a column that is looked up in a lexicon.
    pub(super) fn add_look_up(&mut self, column: Column) -> Result<()> {
        self.add_cells(1 + self.of_column(column).cells)
    }

    /// Cells that all lines copy for a token.
    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    /// What a cell of a column costs beside its copy.
    fn of_column(&self, column: Column) -> Cost {
        match column {
            Column::Data(_) | Column::Tagged(_) => Cost::default(),
            Column::Made(number) => self.made_columns[number],
        }
    }

    fn cost(&self, line: &Line, views: &[View]) -> Cost {
        let mut sum = Cost::default();
        for (index, part) in line.parts.iter().enumerate() {
            let cells = match part {
                Part::Literal(text, _) => text.len() / BYTES_OF_CELL,
                Part::Cell { view, .. } => {
                    let column = self.of_column(views[*view].column());
                    sum.in_a_row = sum.in_a_row.max(column.in_a_row);
                    // A substring of each length begins at a character.
                    let times = match line.substrings {
                        Some((at, most)) if at == index => most.saturating_mul(most.saturating_add(1)) / 2,
                        _ => 1,
                    };
                    times.saturating_mul(1 + column.cells)
                }
            };
            sum.cells = sum.cells.saturating_add(cells);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Corpus;
    use crate::text::encode::encode;
    use crate::text::format::{Format, Reading};
    use crate::text::input::Source;
    use crate::text::labels::Labels;
    use crate::text::template::Template;
    use crate::threads::Interrupt;
    use proptest::prelude::*;

    fn message(source: &str) -> String {
        Template::parse(source).err().map_or_else(String::new, |error| error.to_string())
    }

    /// Columns that are each made of `times` copies of the one before it.
    fn laughs(columns: usize, times: usize) -> String {
        let first = "C a0=%x[0,0]\n".to_owned();
        let line = |at: usize| format!("C a{at}={}\n", format!("%x[0,a{}]", at - 1).repeat(times));
        first + &(1..columns).map(line).collect::<String>() + &format!("U:%x[0,a{}]\n", columns - 1)
    }

    #[test]
    fn columns_that_double_are_refused_at_the_line_that_exceeds_the_limit() {
        assert_eq!(message(&laughs(11, 2)), "");
        for columns in [12, 60, 200] {
            let message = message(&laughs(columns, 2));
            assert!(message.starts_with("template line 12: the line copies 6142 cells"), "{message}");
            assert!(message.contains("the limit is 5000"), "{message}");
        }
    }

    #[test]
    fn a_long_row_of_columns_is_refused() {
        assert_eq!(message(&laughs(MOST_IN_A_ROW, 1)), "");
        let message = message(&laughs(MOST_IN_A_ROW + 1, 1));
        assert!(message.starts_with("template line 102: more than 100 columns are each made of another"), "{message}");
    }

    #[test]
    fn substrings_literals_and_many_lines_count() {
        assert_eq!(message("U%substrings[0,0,99]"), "");
        for (source, cells) in [
            ("U%substrings[0,0,100]".to_owned(), 5050),
            ("C a=%x[0,0]%x[0,0]\nU%substrings[0,a,99]".to_owned(), 3 * 4950),
            (format!("C a={}\nU%x[0,a]{}", "x".repeat(45_000), "%x[0,a]"), 9002),
        ] {
            let message = message(&source);
            assert!(message.contains(&format!("the line copies {cells} cells")), "{message}");
        }
        assert!(message("U%substrings[0,0,18446744073709551615]").contains("the limit is 5000"));
        assert_eq!(message(&"U%substrings[0,0,99]\n".repeat(4)), "");
        let message = message(&"U%substrings[0,0,99]\n".repeat(5));
        assert!(message.starts_with("template line 5: this line and those before it copy 24750 cells"), "{message}");
    }

    /// The corpus of a sentence of one token.
    fn encoded(template: &Template, word: &str) -> Corpus {
        let reading = Reading::new(Format::Columns, Some(template), Labels::Whole).unwrap();
        let text = format!("{word} A\n\n").into_bytes();
        encode(Source::of_bytes("text", text).unwrap(), reading, &Interrupt::default()).unwrap()
    }

    proptest! {
        #[test]
        fn attributes_of_a_token_are_no_longer_than_the_limits_allow(
            columns in proptest::collection::vec(proptest::collection::vec((0usize..9, 0usize..12), 1..6), 1..14),
            most in 1usize..120,
            word in "[ab]{1,30}",
        ) {
            let mut source = String::new();
            for (at, parts) in columns.iter().enumerate() {
                source += &format!("C a{at}=");
                for (back, literal) in parts {
                    let column = if *back < at { format!("a{}", at - 1 - back) } else { "0".to_owned() };
                    source += &format!("%x[0,{column}]{}", "x".repeat(*literal));
                }
                source.push('\n');
            }
            let last = columns.len() - 1;
            source += &format!("U:%x[0,a{last}]\nU1:%substrings[0,a{last},{most}]\n");
            match Template::parse(&source) {
                Err(error) => prop_assert!(error.to_string().contains("the limit is"), "{error}"),
                Ok(template) => {
                    let corpus = encoded(&template, &word);
                    let bytes = (0..corpus.attributes.len() as u32).map(|id| corpus.attributes.text(id).len());
                    // Literal texts shorter than a cell do not count, but there is one for each macro at most.
                    let longest = word.len() + BYTES_OF_CELL + 2;
                    prop_assert!(bytes.sum::<usize>() <= MOST_OF_TEMPLATE * longest * 4);
                }
            }
        }
    }
}
