//! The hashes of a token's views, remembered for tokens that occur again: texts repeat words, and regular expressions take
//! time.

use crate::corpus::hash::Piece;
use crate::text::joins::Part;
use crate::text::looked_up::LookedUp;
use crate::text::template::Template;
use crate::text::view::{Column, Lower, View};

/// Number of tokens after which views are remembered: shorter texts are not worth the memory.
const FIRST: usize = 256;
/// Number of tokens that are remembered, each at the place given by its hash; fewer for templates of more than 256 views.
const PLACES: usize = 1 << 12;
/// The most views that are remembered.
const MOST: usize = 1 << 20;

/// Forms the views of tokens.
pub(super) struct TokenViews<'t> {
    template: &'t Template,
    /// The columns that the template makes of a token.
    made_columns: Vec<Vec<u8>>,
    /// Whether a view costs more than the hash of a cell.
    costly: bool,
    tokens: usize,
    /// Place -> key of the token that is remembered there, or 0.
    keys: Vec<u64>,
    /// Places x views.
    remembered: Vec<Piece>,
}

impl<'t> TokenViews<'t> {
    /// Nothing is remembered yet.
    pub(super) fn new(template: &'t Template) -> Self {
        let is_costly = |view: &View| !matches!(view, View::Cell { lower: Lower::No, .. });
        let costly = !template.made_columns.is_empty() || template.views.iter().any(is_costly);
        let made_columns = vec![Vec::new(); template.made_columns.len()];
        TokenViews { template, made_columns, costly, tokens: 0, keys: Vec::new(), remembered: Vec::new() }
    }

    /// Appends the hashes of a token's views.
    #[inline]
    pub(super) fn push(&mut self, cells: &LookedUp<'_>, token: usize, pieces: &mut Vec<Piece>) {
        if !self.costly {
            let of = |view: &View| Piece::of(cell(cells, &self.made_columns, token, view.column()));
            return pieces.extend(self.template.views.iter().map(of));
        }
        self.tokens += 1;
        if self.tokens <= FIRST {
            return self.form(cells, token, pieces);
        }
        if self.keys.is_empty() {
            let places = PLACES.min(MOST / self.template.views.len().max(1));
            self.keys = vec![0; places];
            self.remembered = vec![Piece::EMPTY; places * self.template.views.len()];
        }
        let key = key_of_token(cells, token, self.template.columns);
        let place = key as usize % self.keys.len();
        let range = place * self.template.views.len()..(place + 1) * self.template.views.len();
        if self.keys[place] == key {
            return pieces.extend_from_slice(&self.remembered[range]);
        }
        let start = pieces.len();
        self.form(cells, token, pieces);
        self.keys[place] = key;
        self.remembered[range].copy_from_slice(&pieces[start..]);
    }

    /// Computes the columns that the template defines, then the views.
    fn form(&mut self, cells: &LookedUp<'_>, token: usize, pieces: &mut Vec<Piece>) {
        let template = self.template;
        for (at, (_, line)) in template.made_columns.iter().enumerate() {
            let (before, from_here) = self.made_columns.split_at_mut(at);
            let column = &mut from_here[0];
            column.clear();
            for part in &line.parts {
                match part {
                    Part::Literal(text, _) => column.extend_from_slice(text),
                    Part::Cell { view, .. } => {
                        let view = &template.views[*view];
                        column.extend_from_slice(&view.of(cell(cells, before, token, view.column())));
                    }
                }
            }
        }
        let of = |view: &View| Piece::of(&view.of(cell(cells, &self.made_columns, token, view.column())));
        pieces.extend(template.views.iter().map(of));
    }
}

/// A cell of the data, of a lexicon, or of the columns formed for this token.
fn cell<'a>(cells: &LookedUp<'a>, made_columns: &'a [Vec<u8>], token: usize, column: Column) -> &'a [u8] {
    match column {
        Column::Data(column) => cells.cells.cell(token, column),
        Column::Made(number) => &made_columns[number],
        Column::Tagged(number) => cells.value(token, number),
    }
}

/// A key of the token's cells and of what it is in lexicons, each of which ends in a byte that does not occur in UTF-8.
fn key_of_token(cells: &LookedUp<'_>, token: usize, columns: usize) -> u64 {
    let end = Piece::of(&[0xff]);
    let add = |key: Piece, cell: &[u8]| key.before(Piece::of(cell)).before(end);
    let key = (0..columns).fold(Piece::EMPTY, |key, column| add(key, cells.cells.cell(token, column)));
    cells.values(token).fold(key, add).key()
}
