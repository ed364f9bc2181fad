//! Sentences cut into pieces by the labels that their tokens keep.
//!
//! - Where at least two labels of a token have a marginal above the bound of links, the token and its neighbours are coupled: a
//!   piece is a run of such tokens, with the labels above the bound, and with the tokens of a single label on either side that
//!   links reach: one in first order, two in second.
//! - The other likely labels of a token make a piece by themselves, whose links keep the scores that they had: its cells begin at
//!   log p(y_t = j), the label or the labels above the bound of links among them, together as one.

use crate::chain::objective::layout::Block;
use crate::chain::objective::pruned::likely::BlockLabels;
use crate::chain::objective::weighted::Weighted;
use crate::numeric::LANES;
use std::ops::Range;

/// The bounds of marginals, and of what is made of them.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Of labels.
    pub labels: f64,
    /// Of labels that keep their links.
    pub links: f64,
    /// Of the cost of an evaluation, as a share of the cost of a whole one; infinity for any cost.
    pub cost: f64,
}

/// A run of tokens of a sentence.
pub struct Piece {
    /// The first token in the corpus.
    pub token: usize,
    /// The rows of `Pieces`.
    pub rows: Range<usize>,
    pub weight: f64,
    /// Whether its cells begin at log marginals.
    pub is_single: bool,
    /// Orders pieces so that neighbours have about the same shape.
    key: u64,
}

/// A label or none, and its marginal.
pub type Cell = (u16, f32);

/// The pieces of a block's sentences.
pub struct Cutter {
    no_label: u16,
    order: usize,
    labels: f32,
    links: f32,
    cells: Vec<Cell>,
    ends: Vec<usize>,
    pub pieces: Vec<Piece>,
}

/// The most tokens of a group of single pieces: enough to outweigh the beginning and the end of its loops.
const MOST_TOKENS: usize = 16;

/// The least marginal that a cell begins with.
const LEAST: f32 = 1e-10;

impl Cutter {
    /// No pieces yet.
    pub fn new(no_label: u16, order: usize, bounds: Bounds) -> Cutter {
        let (cells, ends, pieces) = (Vec::new(), vec![0], Vec::new());
        Cutter { no_label, order, labels: bounds.labels as f32, links: bounds.links as f32, cells, ends, pieces }
    }

    #[inline(always)]
    pub fn row(&self, row: usize) -> &[Cell] {
        &self.cells[self.ends[row]..self.ends[row + 1]]
    }

    /// The pieces of a block's sentences, which keep the likely labels of each token, and the gold label.
    pub fn of_block(mut self, sentences: Weighted<'_>, block: &Block, likely: &BlockLabels) -> Cutter {
        let corpus = sentences.corpus;
        for (at, sentence) in block.sentences.iter().enumerate().filter(|&(at, _)| likely.has(at)) {
            let (tokens, weight) = (corpus.tokens(sentence.number), sentences.weight(sentence.number));
            self.cut(at, tokens.clone(), &corpus.gold[tokens], weight, likely);
        }
        self.sort();
        self
    }

    /// Adds the pieces of a sentence: the number `at` of its block, with tokens of the corpus and gold labels.
    fn cut(&mut self, at: usize, tokens: Range<usize>, gold: &[u32], weight: f64, likely: &BlockLabels) {
        let (first, n) = (self.ends.len() - 1, tokens.len());
        for token in 0..n {
            let (labels, marginals) = likely.of(at, token);
            let start = self.cells.len();
            // Without any likely label only the gold label remains.
            let mut most = (gold[token] as u16, 0.0);
            for (&label, &p) in labels.iter().zip(marginals) {
                if p > self.links {
                    self.cells.push((label, p));
                }
                most = if p > most.1 { (label, p) } else { most };
            }
            if self.cells.len() == start {
                self.cells.push((most.0, if most.1 > 0.0 { most.1 } else { 1.0 }));
            }
            self.ends.push(self.cells.len());
        }
        self.add_runs(first, n, tokens.start, weight);
        for token in 0..n {
            self.add_single(first + token, likely.of(at, token), gold[token], tokens.start + token, weight);
        }
    }

    /// Adds the coupled runs among n rows.
    fn add_runs(&mut self, first: usize, n: usize, token: usize, weight: f64) {
        let mut row = 0;
        while row < n {
            if self.row(first + row).len() < 2 {
                row += 1;
                continue;
            }
            let (start, mut last) = (row.saturating_sub(self.order), row);
            while row < n && row - last <= self.order {
                if self.row(first + row).len() > 1 {
                    last = row;
                }
                row += 1;
            }
            let end = (last + self.order + 1).min(n);
            row = last + 1;
            self.push(token + start, first + start..first + end, weight, false);
        }
    }

    /// Adds the piece of a token's labels below the bound of links; `row` has the labels above it.
    fn add_single(&mut self, row: usize, (labels, marginals): (&[u16], &[f32]), gold: u32, token: usize, weight: f64) {
        let (coupled, end, start) = (self.ends[row], self.ends[row + 1], self.cells.len());
        let is_coupled = end - coupled > 1;
        // Of several labels above the bound the links decide: here they are one.
        self.cells.push((if is_coupled { self.no_label } else { self.cells[coupled].0 }, 1.0));
        let mut has_gold = self.cells[coupled..end].iter().any(|cell| u32::from(cell.0) == gold);
        for (&label, &p) in labels.iter().zip(marginals) {
            if p > self.labels && p <= self.links && (is_coupled || label != self.cells[coupled].0) {
                has_gold |= u32::from(label) == gold;
                self.cells.push((label, p));
                self.cells[start].1 -= p;
            }
        }
        if !has_gold {
            self.cells.push((gold as u16, self.labels.max(LEAST)));
        }
        if self.cells.len() == start + 1 {
            self.cells.truncate(start);
            return;
        }
        self.cells[start].1 = self.cells[start].1.max(LEAST);
        self.ends.push(self.cells.len());
        self.push(token, self.ends.len() - 2..self.ends.len() - 1, weight, true);
    }

    /// The pieces in groups: eight abreast, or any number of single pieces, eight a token.
    pub fn groups(&self) -> impl Iterator<Item = &[Piece]> {
        let kinds = self.pieces.chunk_by(|a, b| a.is_single == b.is_single);
        kinds.flat_map(|pieces| pieces.chunks(if pieces[0].is_single { LANES * MOST_TOKENS } else { LANES }))
    }

    /// The number of slots of a token of a group: the most labels of its pieces.
    #[inline(always)]
    pub fn slots(&self, group: &[Piece], at: usize) -> usize {
        let rows = (0..LANES).filter_map(|lane| row_of(group, at, lane));
        rows.map(|row| self.row(row).len()).max().unwrap_or(1)
    }

    fn push(&mut self, token: usize, rows: Range<usize>, weight: f64, is_single: bool) {
        let size = |row: usize| (self.ends[row + 1] - self.ends[row]).min(15) as u64;
        let sizes = rows.clone().take(12).fold(0, |key, row| key << 4 | size(row));
        let key = u64::from(!is_single) << 63 | (rows.len().min(0x7fff) as u64) << 48 | sizes;
        self.pieces.push(Piece { token, rows, weight, is_single, key });
    }

    /// Brings pieces of about the same shape together.
    fn sort(&mut self) {
        self.pieces.sort_unstable_by_key(|piece| (piece.key, piece.token));
    }
}

/// The number of tokens of a group's pieces.
pub fn length(group: &[Piece]) -> usize {
    match group[0].is_single {
        true => group.len().div_ceil(LANES),
        false => group.iter().map(|piece| piece.rows.len()).max().unwrap_or(0),
    }
}

/// The row of a token of a group in a lane; None beyond the end.
pub fn row_of(group: &[Piece], at: usize, lane: usize) -> Option<usize> {
    if group[0].is_single {
        return group.get(at * LANES + lane).map(|piece| piece.rows.start);
    }
    group.get(lane).map(|piece| &piece.rows).filter(|rows| at < rows.len()).map(|rows| rows.start + at)
}
