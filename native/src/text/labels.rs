//! The labels of column and attribute files, where a cell may hold a partial label.

use crate::corpus::MOST_COST;
use crate::corpus::sink::Gold;

/// The message for a sentence with another number of labels than tokens.
pub fn unequal(tokens: usize, labels: usize) -> String {
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    format!("{tokens} token{} but {labels} label{}", plural(tokens), plural(labels))
}

/// The largest difference from 1 of the sum of a token's probabilities.
const ROUNDING: f64 = 1e-6;

/// Divides the probabilities of a token's labels by their sum, which is 1 but for rounding. Error: it is not, or a probability is
/// not a number from 0 to 1, or a label occurs twice.
pub fn checked_shares<T: PartialEq>(mut shares: Vec<(T, f64)>) -> Result<Vec<(T, f64)>, String> {
    if let Some((_, wrong)) = shares.iter().find(|(_, share)| !(0.0..=1.0 + ROUNDING).contains(share)) {
        return Err(format!("a label has the probability {wrong}; probabilities are numbers from 0 to 1"));
    }
    if (1..shares.len()).any(|at| shares[..at].iter().any(|(label, _)| *label == shares[at].0)) {
        return Err("a label has two probabilities".into());
    }
    if shares.is_empty() {
        return Err("no label has a probability; give the probability of each label".into());
    }
    let sum: f64 = shares.iter().map(|(_, share)| share).sum();
    if (sum - 1.0).abs() > ROUNDING {
        let (difference, than) = ((sum - 1.0).abs(), if sum < 1.0 { "less" } else { "more" });
        return Err(format!(
            "the probabilities add up to {sum:.6}, {difference:.6} {than} than 1; divide them by their sum"
        ));
    }
    shares.iter_mut().for_each(|(_, share)| *share /= sum);
    Ok(shares)
}

/// Fails if a sentence has another number of costs than tokens, or one that is not a finite number >= 0.
pub fn check_costs(costs: &[f64], tokens: usize) -> Result<(), String> {
    if costs.len() != tokens {
        return Err(format!("{} token weights for {tokens} token{}", costs.len(), if tokens == 1 { "" } else { "s" }));
    }
    match costs.iter().position(|cost| !(0.0..=MOST_COST).contains(cost)) {
        Some(token) => Err(format!("token {token}: weight {} {}", costs[token], no_cost(costs[token]))),
        None => Ok(()),
    }
}

/// What is wrong with a number that is not a cost, as the end of a message.
pub fn no_cost(number: f64) -> String {
    if (MOST_COST..f64::INFINITY).contains(&number) {
        format!("is too large; give a number from 0 to {MOST_COST}")
    } else {
        "is not a finite number >= 0".into()
    }
}

/// How a reader takes the labels of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Labels {
    /// The text has no labels, or they are ignored.
    Ignored,
    /// A cell is a label.
    Whole,
    /// A cell is a label, or the format's own mark for an unknown label: `_` in CoNLL-U files, and `null` in JSON lines.
    Marked,
    /// As `Marked`, and a cell `?` is an unknown label as well.
    Open,
    /// A cell `?` is an unknown label, a cell `A|B` is either of two labels, and `A:0.7|B:0.3` a distribution; other cells are labels, or the format's own mark for
    /// an unknown label. JSON lines always have `null` and lists instead.
    Partial,
}

impl Labels {
    /// How labels of this name are read. Error: there is no such name.
    pub fn named(name: &str) -> crate::error::Result<Labels> {
        match name {
            "none" => Ok(Labels::Ignored),
            "whole" => Ok(Labels::Whole),
            "marked" => Ok(Labels::Marked),
            "open" => Ok(Labels::Open),
            "partial" => Ok(Labels::Partial),
            _ => Err(crate::error::Error::Option(format!("labels '{name}' are unknown"))),
        }
    }

    /// Whether the format's own mark for an unknown label stands for any label.
    pub fn marks(self) -> bool {
        matches!(self, Labels::Marked | Labels::Open | Labels::Partial)
    }

    /// Whether the text has labels to read.
    pub fn given(self) -> bool {
        self != Labels::Ignored
    }

    /// The label in a cell; None if labels are ignored.
    #[inline(always)]
    pub fn parse(self, cell: &[u8]) -> Result<Option<Gold<'_>>, String> {
        match self {
            Labels::Ignored => Ok(None),
            Labels::Open if cell == b"?" => Ok(Some(Gold::Unknown)),
            Labels::Whole | Labels::Marked | Labels::Open => check_single(cell).map(|()| Some(Gold::Label(cell))),
            Labels::Partial => parse_partial(cell).map(Some),
        }
    }
}

/// The largest difference from 1 of a sum of numbers that are meant as the probabilities of a distribution.
const ROUGHLY: f64 = 0.02;

/// Fails if a cell that is to be a single label is a distribution: two labels or more with probabilities that add up to about 1.
#[inline(always)]
pub fn check_single(cell: &[u8]) -> Result<(), String> {
    if cell.contains(&b'|') && is_distribution(cell) { Err(not_single(cell)) } else { Ok(()) }
}

/// Whether a cell with a bar is a distribution such as `A:0.7|B:0.3`, and not a label that contains bars.
#[cold]
fn is_distribution(cell: &[u8]) -> bool {
    let shares: Option<Vec<f64>> =
        cell.split(|&byte| byte == b'|').map(|part| share_of(part).flatten().map(|(_, share)| share)).collect();
    shares.is_some_and(|shares| {
        let sum: f64 = shares.iter().sum();
        shares.iter().all(|share| (0.0..=1.0).contains(share)) && (sum - 1.0).abs() <= ROUGHLY
    })
}

/// The message for a distribution where a single label is needed.
#[cold]
fn not_single(cell: &[u8]) -> String {
    format!(
        "label '{}' gives probabilities of labels: allow them with --partial in train and encode (partial=True in Python); \
         other commands need one gold label per token (a label with this name needs JSON lines)",
        String::from_utf8_lossy(cell)
    )
}

/// The content of a cell of partial labels.
fn parse_partial(cell: &[u8]) -> Result<Gold<'_>, String> {
    if cell == b"?" {
        return Ok(Gold::Unknown);
    }
    if !cell.contains(&b'|') {
        return single_share(cell);
    }
    let names: Vec<&[u8]> = cell.split(|&byte| byte == b'|').collect();
    if names.iter().any(|name| share_of(name).is_some()) {
        let shares: Result<Vec<_>, String> =
            names.iter().map(|name| share_of(name).flatten().ok_or_else(|| not_a_share(name))).collect();
        let located = |message: String| format!("label '{}': {message}", String::from_utf8_lossy(cell));
        return Ok(Gold::Soft(shares.and_then(checked_shares).map_err(located)?));
    }
    let message = if names.contains(&b"".as_slice()) {
        "a label is missing next to a bar"
    } else if names.contains(&b"?".as_slice()) {
        "? matches any label and must stand alone"
    } else {
        return Ok(Gold::OneOf(names));
    };
    let cell = String::from_utf8_lossy(cell);
    Err(format!(
        "label '{cell}': {message}; write A|B for one of several labels, ? for any label \
         (labels that contain bars need JSON lines)"
    ))
}

/// The content of a cell without bars: the distribution of `A:1.0`, else a label, such as `A`, `A:1` and `3:14`. Error: the only
/// probability is not 1, as in `A:0.7`.
fn single_share(cell: &[u8]) -> Result<Gold<'_>, String> {
    let Some((name, share)) = share_of(cell).flatten() else { return Ok(Gold::Label(cell)) };
    let is_fraction = cell[name.len()..].iter().any(|byte| b".eE".contains(byte));
    if !is_fraction || !(0.0..=1.0).contains(&share) {
        return Ok(Gold::Label(cell));
    }
    let shares = checked_shares(vec![(name, share)]).map_err(|message| {
        let cell = String::from_utf8_lossy(cell);
        format!("label '{cell}': {message}, or write the other labels as in A:0.7|B:0.3 (a label with this name needs JSON lines)")
    });
    shares.map(Gold::Soft)
}

/// The label and its probability in `B-PER:0.7`: none if there is no number after a colon, and none within if the text is not a
/// label with a probability although there is one, such as `B-PER:0,7`, `B-PER:nan` and `:0.7`.
fn share_of(text: &[u8]) -> Option<Option<(&[u8], f64)>> {
    let colon = text.iter().rposition(|&byte| byte == b':')?;
    let share = std::str::from_utf8(&text[colon + 1..]).ok()?;
    let (starts, digits) =
        (share.trim_start_matches(['+', '-']), |byte: u8| byte.is_ascii_digit() || b".,eE+-%".contains(&byte));
    let is_number =
        starts.starts_with(|first: char| first.is_ascii_digit() || first == '.') && share.bytes().all(digits);
    let is_special = ["nan", "inf", "infinity"].iter().any(|name| starts.eq_ignore_ascii_case(name));
    if !is_number && !is_special {
        return None;
    }
    let number = share.parse().ok().filter(|_| starts.len() == share.len() && is_number && colon > 0);
    Some(number.map(|number| (&text[..colon], number)))
}

/// The message for a part of a distribution that is not a label with a probability.
fn not_a_share(text: &[u8]) -> String {
    format!(
        "'{}' is not a label with a probability; write each label with its probability, a number from 0 to 1 with a decimal \
         point, as in A:0.7|B:0.3 (labels that contain bars need JSON lines)",
        String::from_utf8_lossy(text)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_say_what_is_known() {
        let parse = |cell: &'static str| Labels::Partial.parse(cell.as_bytes());
        assert_eq!(parse("?"), Ok(Some(Gold::Unknown)));
        assert_eq!(parse("A"), Ok(Some(Gold::Label(b"A"))));
        assert_eq!(parse("A?"), Ok(Some(Gold::Label(b"A?"))));
        assert_eq!(parse("A|B|A"), Ok(Some(Gold::OneOf(vec![b"A", b"B", b"A"]))));
        assert_eq!(Labels::Whole.parse(b"A|"), Ok(Some(Gold::Label(b"A|"))));
        assert_eq!(Labels::Whole.parse(b"?"), Ok(Some(Gold::Label(b"?"))));
        assert_eq!(Labels::Ignored.parse(b"A|"), Ok(None));
        assert_eq!(Labels::Open.parse(b"A|B"), Ok(Some(Gold::Label(b"A|B"))));
        assert_eq!(Labels::Open.parse(b"?"), Ok(Some(Gold::Unknown)));
        // Colons and bars alone do not make a distribution.
        for label in ["A:1", "A:0", "3:1", "3:14", "a:b", "A:1.5", "A:0,7", ":0.7", "A:", "A:-0.5"] {
            assert_eq!(parse(label), Ok(Some(Gold::Label(label.as_bytes()))));
        }
        assert_eq!(parse("x:A|x:B"), Ok(Some(Gold::OneOf(vec![b"x:A", b"x:B"]))));
        assert_eq!(parse("A:1st|B:2nd"), Ok(Some(Gold::OneOf(vec![b"A:1st", b"B:2nd"]))));
        assert_eq!(parse("A:|B:nano"), Ok(Some(Gold::OneOf(vec![b"A:", b"B:nano"]))));
        assert_eq!(parse("A:.75|B:2.5e-1"), Ok(Some(Gold::Soft(vec![(b"A", 0.75), (b"B", 0.25)]))));
        for bad in ["A|", "|", "|A", "A||B", "?|A"] {
            let message = parse(bad).unwrap_err();
            assert!(message.contains(bad) && message.contains("A|B"), "{message}");
        }
    }

    #[test]
    fn no_label_is_no_distribution() {
        assert_eq!(
            checked_shares::<&str>(vec![]).unwrap_err(),
            "no label has a probability; give the probability of each label"
        );
    }

    #[test]
    fn one_label_with_a_probability_is_a_distribution() {
        for cell in ["A:0.7", "B-PER:.5", "A:7e-1", "a:b:0.25"] {
            let message = Labels::Partial.parse(cell.as_bytes()).unwrap_err();
            assert!(message.starts_with(&format!("label '{cell}': the probabilities add up to 0.")), "{message}");
        }
        assert_eq!(Labels::Partial.parse(b"A:1.0"), Ok(Some(Gold::Soft(vec![(b"A", 1.0)]))));
    }

    #[test]
    fn a_distribution_is_not_a_single_label() {
        for cell in ["A:0.7|B:0.3", "A:1|B:0", "A:0.33|B:0.33|C:0.33"] {
            for labels in [Labels::Whole, Labels::Marked, Labels::Open] {
                assert!(labels.parse(cell.as_bytes()).is_err(), "{cell}");
            }
            assert_eq!(Labels::Ignored.parse(cell.as_bytes()), Ok(None));
        }
        for cell in [
            "A|B",
            "A:B|C:D",
            "A:1|B:2",
            "A:0.7|B",
            "A:0.7",
            "A:0.7|B:0.7",
            "x:1|y:1",
            "Case=Nom|Number=Sing",
            "|",
            ":0.5|:0.5",
        ] {
            assert_eq!(Labels::Whole.parse(cell.as_bytes()), Ok(Some(Gold::Label(cell.as_bytes()))));
        }
        assert!(Labels::Whole.parse(b"A:0.7|B:0.3").unwrap_err().contains("allow them with --partial in train"));
    }

    #[test]
    fn what_looks_like_a_distribution_is_one_or_an_error() {
        let bad_cells = [
            ("A:0,7|B:0,3", "A:0,7"),
            ("A:nan|B:1", "A:nan"),
            ("A:-inf|B:x", "A:-inf"),
            ("A:0.7|B:", "B:"),
            ("A:0.7|B", "B"),
            ("A|B:0.3", "A"),
            ("A:0.7|", ""),
            ("?|B:1", "?"),
            (":0.7|B:0.3", ":0.7"),
            ("A:+0.7|B:0.3", "A:+0.7"),
            ("A:70%|B:30%", "A:70%"),
            ("A:1e|B:0", "A:1e"),
        ];
        for (cell, part) in bad_cells {
            let message = Labels::Partial.parse(cell.as_bytes()).unwrap_err();
            let start = format!("label '{cell}': '{part}' is not a label with a probability; write each label with");
            assert!(message.starts_with(&start), "{message}");
        }
    }
}
