//! The lines of a template, and the keys of their attributes, joined from hashes that lines share: each token's macros are hashed
//! once, together with the literal text between macros, and a line joins the hashes of its macros.

use crate::corpus::hash::Piece;
use crate::text::arguments::Row;
use std::collections::HashMap;
use std::ops::Range;

/// A line with attributes.
pub(super) struct Line {
    /// Whether the attributes are state attributes.
    pub(super) state: bool,
    /// Whether the attributes are bigram attributes.
    pub(super) bigram: bool,
    pub(super) parts: Vec<Part>,
    /// What its macros are called.
    pub(super) macro_names: Vec<String>,
    /// The `%substrings` macro: its index among `parts`, and its maximum length.
    pub(super) substrings: Option<(usize, usize)>,
}

/// A literal text with its hash, or a macro.
pub(super) enum Part {
    Literal(Vec<u8>, Piece),
    Cell { view: usize, row: Row },
}

/// Tokens before and after a sentence whose hashes are kept beside those of its tokens, at most.
const MOST_REACH: usize = 8;

/// A macro, with the literal texts between it and the macro before it, and after it if it is the last one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Unit {
    before: Option<Piece>,
    view: usize,
    after: Option<Piece>,
}

impl Unit {
    /// The hash of the unit, given its macro's.
    #[inline(always)]
    fn around(self, piece: Piece) -> Piece {
        let piece = self.before.map_or(piece, |before| before.then(piece));
        self.after.map_or(piece, |after| piece.then(after))
    }
}

/// Where the hash of a unit of a line is.
#[derive(Clone, Copy)]
enum Place {
    /// This far after the hashes that begin `reach` tokens before the current one.
    Near(u32),
    /// At a row that may be anywhere.
    Far(u32, Row),
}

/// The literal text before a line's first macro, and the units of its macros.
struct Join {
    head: Piece,
    places: Vec<Place>,
    /// The places, if all of them are near.
    near: Vec<u32>,
    /// Which of the macros is `%substrings`, with its unit.
    substrings: Option<(usize, u32)>,
}

/// The lines of a template, and what is hashed of each token for them.
#[derive(Default)]
pub(super) struct Joins {
    units: Vec<Unit>,
    lines: Vec<Join>,
    /// Tokens before and after the current one that the lines look at, at most `MOST_REACH`.
    reach: usize,
    /// The units of the tokens before the first one, and after the last one.
    before: Vec<Piece>,
    after: Vec<Piece>,
}

/// The hashes of a sentence's tokens, and keys of their attributes.
#[derive(Default)]
pub(super) struct SentencePieces {
    /// Units of `reach` tokens before the first one, of all tokens, of `reach` tokens after the last one.
    pieces: Vec<Piece>,
    tokens: usize,
    /// The keys of some tokens, line by line.
    keys: Vec<u64>,
}

impl SentencePieces {
    /// The keys of the lines at a token, counted from the first of `Joins::join`; a line with `%substrings` has none.
    #[inline(always)]
    pub(super) fn keys(&self, token: usize, lines: usize) -> &[u64] {
        &self.keys[token * lines..][..lines]
    }
}

impl Joins {
    /// The joins of a template's lines. `beyond` gives the hash of a view at a distance beyond the ends of a sentence.
    pub(super) fn new(lines: &[Line], beyond: impl Fn(usize, isize) -> Piece) -> Joins {
        let mut joins = Joins::default();
        let relative = |part: &Part| match part {
            Part::Cell { row: Row::Relative(offset), .. } => offset.unsigned_abs(),
            Part::Cell { .. } | Part::Literal(..) => 0,
        };
        let reaches = lines.iter().flat_map(|line| &line.parts).map(relative);
        joins.reach = reaches.filter(|&reach| reach <= MOST_REACH).max().unwrap_or(0);
        let mut numbers = HashMap::new();
        joins.lines = lines.iter().map(|line| Join::new(line, &mut numbers)).collect();
        joins.units.resize(numbers.len(), Unit { before: None, view: 0, after: None });
        numbers.into_iter().for_each(|(unit, number)| joins.units[number as usize] = unit);
        let (reach, units) = (joins.reach, joins.units.len());
        joins.lines.iter_mut().for_each(|join| join.place(reach, units));
        let margin = |distances: std::ops::Range<isize>| -> Vec<Piece> {
            let all = distances.flat_map(|distance| joins.units.iter().map(move |unit| (unit, distance)));
            all.map(|(unit, distance)| unit.around(beyond(unit.view, distance))).collect()
        };
        let reach = joins.reach as isize;
        let (before, after) = (margin(-reach..0), margin(1..reach + 1));
        (joins.before, joins.after) = (before, after);
        joins
    }

    /// Takes a sentence of some tokens. `views` appends the hashes of a token's views to an empty list.
    #[inline]
    pub(super) fn fill(
        &self,
        sentence: &mut SentencePieces,
        tokens: usize,
        views_of_token: &mut Vec<Piece>,
        mut views: impl FnMut(usize, &mut Vec<Piece>),
    ) {
        sentence.tokens = tokens;
        let pieces = &mut sentence.pieces;
        pieces.clear();
        pieces.extend_from_slice(&self.before);
        for token in 0..tokens {
            views_of_token.clear();
            views(token, views_of_token);
            pieces.extend(self.units.iter().map(|unit| unit.around(views_of_token[unit.view])));
        }
        pieces.extend_from_slice(&self.after);
    }

    /// Forms the keys of all lines without `%substrings` at some tokens: line after line, for the loop over the tokens then joins the
    /// same number of hashes each time. `beyond` is that of `new`.
    #[inline]
    pub(super) fn join(
        &self,
        sentence: &mut SentencePieces,
        tokens: Range<usize>,
        beyond: impl Fn(usize, isize) -> Piece,
    ) {
        let mut keys = std::mem::take(&mut sentence.keys);
        keys.resize(tokens.len() * self.lines.len(), 0);
        let pieces = &sentence.pieces[tokens.start * self.units.len()..];
        for (line, join) in self.lines.iter().enumerate().filter(|(_, join)| join.substrings.is_none()) {
            match *join.near {
                [a] => self.join_near((line, join.head), [a], pieces, &mut keys),
                [a, b] => self.join_near((line, join.head), [a, b], pieces, &mut keys),
                [a, b, c] => self.join_near((line, join.head), [a, b, c], pieces, &mut keys),
                _ => {
                    for (keys, token) in keys.chunks_exact_mut(self.lines.len()).zip(tokens.clone()) {
                        keys[line] = self.key(line, sentence, token, None, &beyond);
                    }
                }
            }
        }
        sentence.keys = keys;
    }

    /// Forms the keys of a line at consecutive tokens; `pieces` begin `reach` tokens before the first of them.
    #[inline(always)]
    fn join_near<const N: usize>(
        &self,
        (line, head): (usize, Piece),
        near: [u32; N],
        pieces: &[Piece],
        keys: &mut [u64],
    ) {
        for (token, keys) in keys.chunks_exact_mut(self.lines.len()).enumerate() {
            let here = &pieces[token * self.units.len()..];
            keys[line] = near.iter().fold(head, |joined, &at| joined.before(here[at as usize])).key();
        }
    }

    /// The key of a line at a token. `beyond` is that of `new`; `substring` replaces the macro `%substrings`.
    #[inline(always)]
    pub(super) fn key(
        &self,
        line: usize,
        sentence: &SentencePieces,
        token: usize,
        substring: Option<Piece>,
        beyond: impl Fn(usize, isize) -> Piece,
    ) -> u64 {
        let (join, width) = (&self.lines[line], self.units.len());
        let here = &sentence.pieces[token * width..];
        if substring.is_none() && !join.near.is_empty() {
            return join.near.iter().fold(join.head, |joined, &at| joined.before(here[at as usize])).key();
        }
        let replaced = substring.zip(join.substrings);
        let mut joined = join.head;
        for (index, &place) in join.places.iter().enumerate() {
            let piece = match (place, replaced) {
                (_, Some((substring, (at, unit)))) if at == index => self.units[unit as usize].around(substring),
                (Place::Near(at), _) => here[at as usize],
                (Place::Far(unit, row), _) => match row.resolve(token, sentence.tokens) {
                    Ok(at) => sentence.pieces[(at + self.reach) * width + unit as usize],
                    Err(distance) => {
                        let unit = self.units[unit as usize];
                        unit.around(beyond(unit.view, distance))
                    }
                },
            };
            joined = joined.before(piece);
        }
        joined.key()
    }
}

impl Join {
    /// Makes places near if they are, now that the number of units is known.
    fn place(&mut self, reach: usize, units: usize) {
        for place in &mut self.places {
            if let Place::Far(unit, Row::Relative(offset)) = *place
                && offset.unsigned_abs() <= reach
            {
                *place = Place::Near(unit + ((offset + reach as isize) as usize * units) as u32);
            }
        }
        let near = |place: &Place| if let Place::Near(at) = place { Some(*at) } else { None };
        self.near = self.places.iter().map(near).collect::<Option<_>>().unwrap_or_default();
    }

    /// The join of a line, at rows that may be anywhere. Numbers the units that are new.
    fn new(line: &Line, numbers: &mut HashMap<Unit, u32>) -> Join {
        let mut join = Join { head: Piece::EMPTY, places: Vec::new(), near: Vec::new(), substrings: None };
        let last = line.parts.iter().rposition(|part| matches!(part, Part::Cell { .. }));
        let literal = |at: usize| match line.parts.get(at) {
            Some(Part::Literal(_, piece)) => Some(*piece),
            Some(Part::Cell { .. }) | None => None,
        };
        for (index, part) in line.parts.iter().enumerate() {
            match part {
                Part::Literal(_, piece) if index == 0 => join.head = *piece,
                Part::Literal(..) => {}
                Part::Cell { view, row } => {
                    let before = if index > 1 { literal(index - 1) } else { None };
                    let after = if Some(index) == last { literal(index + 1) } else { None };
                    let next = numbers.len() as u32;
                    let number = *numbers.entry(Unit { before, view: *view, after }).or_insert(next);
                    if line.substrings.is_some_and(|(at, _)| at == index) {
                        join.substrings = Some((join.places.len(), number));
                    }
                    join.places.push(Place::Far(number, *row));
                }
            }
        }
        join
    }
}
