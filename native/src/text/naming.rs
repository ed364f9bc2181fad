//! Names of a template's columns, macros and lines, as people read them.

use crate::text::arguments::Row;

/// The comment that names the columns.
const COLUMNS: &str = "# Columns:";

/// The names that the comment `# Columns: word, part of speech` gives to the first columns.
pub(super) fn columns(source: &str) -> Vec<String> {
    let names = source.lines().find_map(|line| line.strip_prefix(COLUMNS)).unwrap_or("");
    names.split(',').map(|name| name.trim().trim_end_matches('.').to_owned()).filter(|name| !name.is_empty()).collect()
}

/// The name of a column that no comment names.
pub(super) fn column(number: usize) -> String {
    if number == 0 { "word".to_owned() } else { format!("column {number}") }
}

/// Whether a line starts with a name, as `word[-1]:%x[-1,0]` does. A name has at least three small letters. It does not start with
/// `b`, which stands for label bigrams.
pub(super) fn starts_with_name(text: &str) -> bool {
    let head = text.split('%').next().unwrap_or("");
    let letters = head.bytes().take_while(|byte| byte.is_ascii_lowercase() || *byte == b'_').count();
    letters >= 3 && !head.starts_with('b') && head.len() < text.len() && head.ends_with([':', '='])
}

/// What a macro gives, in words.
pub(super) fn name_of_macro(name: &str, row: Row, (is_first, column): (bool, &str), expression: &str) -> String {
    let cell = match row {
        Row::Relative(0) => column.to_owned(),
        Row::Relative(-1) => format!("previous {column}"),
        Row::Relative(1) => format!("next {column}"),
        Row::Relative(away) if away < 0 => format!("{column} {} before", -away),
        Row::Relative(away) => format!("{column} {away} after"),
        Row::FromStart(0) => format!("first {column}"),
        Row::FromStart(at) => format!("{column} {} of the sentence", at + 1),
        Row::FromEnd(0) => format!("last {column}"),
        Row::FromEnd(at) => format!("{column} {at} before the last"),
    };
    // Most affixes, shapes and substrings are taken from the word itself.
    let is_word = is_first && matches!(row, Row::Relative(0));
    let of = |part: &str| if is_word { part.to_owned() } else { format!("{part} of {cell}") };
    let dots = expression.trim_matches(['^', '$']).bytes().all(|byte| byte == b'.');
    match name {
        "x" => cell,
        "in" | "IN" if is_word => format!("in {}", lexicon(expression)),
        "in" | "IN" => format!("{cell} in {}", lexicon(expression)),
        "t" | "T" => match characteristic(expression) {
            Some(what) => format!("{cell} {what}"),
            None => format!("{cell} matches {expression}"),
        },
        "m" if dots && expression.starts_with('^') => of("prefix"),
        "m" if dots && expression.ends_with('$') => of("suffix"),
        "m" => format!("{expression} in {cell}"),
        "M" => format!("{expression} in {cell}, lower case"),
        "drop" => format!("{cell} without {expression}"),
        "DROP" => format!("{cell} without {expression}, lower case"),
        "length" => of("length"),
        "shape" => of("shape"),
        "substrings" => of("substring"),
        "normal" => format!("normalised {cell}"),
        _ => format!("{cell}, lower case"),
    }
}

/// The name of a lexicon: of its file, without the folder and the extension.
fn lexicon(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    match name.find('.') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

/// What an expression asks of a word, in words, where it is one that templates often have and no dialect reads otherwise.
fn characteristic(expression: &str) -> Option<&'static str> {
    Some(match expression {
        r"\d" => "has a digit",
        r"^\d" => "begins with a digit",
        r"^\d+$" | r"^\d*$" => "has only digits",
        "-" => "has a hyphen",
        r"\p{Lu}" | r"\u" => "has a capital",
        r"^\p{Lu}" | r"^\u" => "begins with a capital",
        r"^\p{Lu}+$" | r"^\u*$" => "has only capitals",
        _ => return None,
    })
}
