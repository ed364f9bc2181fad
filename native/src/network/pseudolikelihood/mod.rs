//! The negative log pseudo-likelihood of a pairwise network of discrete variables and its gradient (Besag 1975): the sum over
//! samples and variables of -weight * log p(x_i | all others).
//!
//! Every state of a variable except the first is a column. The score of a state of variable i, given all others, is the weight
//! of its column plus the sum, over the active columns of other variables, of the weights of the pairs; the score of the first
//! state is 0. A missing variable is replaced by the frequencies of its states, and has no term.
//!
//! Let M be the symmetric matrix of the weights of pairs, and X the columns of the samples. Scores are X M plus the weights of
//! single columns, residuals are R = weight * (p - [x = state]), and the derivative for the pair (a, b) is
//! (X' R)[a, b] + (X' R)[b, a].
//!
//! X' R is computed by tables of sums (`patterns`). So is X M, unless few pairs have weights that are not 0: then it is summed
//! over these pairs (`interactions`). One thread makes each sum in a fixed sequence: results are bitwise the same on any number of
//! threads.

mod interactions;
mod patterns;
mod residuals;
mod restricted;
mod samples;

pub use crate::network::pseudolikelihood::restricted::Restricted;
pub use crate::network::pseudolikelihood::samples::Samples;

use crate::error::Result;
use crate::network::pseudolikelihood::interactions::{InteractionScores, Interactions};
use crate::network::pseudolikelihood::patterns::{Multiply, Patterns, TILE};
use crate::network::pseudolikelihood::residuals::Residuals;
use crate::network::pseudolikelihood::samples::CHUNK;
use crate::numeric::aligned::Aligned;
use crate::numeric::arch::arch;
use crate::threads::{self, Interrupt, Pool, locked};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Numbers in a sheet, the scores that are kept at a time: an eighth of a gigabyte.
const SHEET: usize = 1 << 24;
/// Rows of X' R that a thread works on at a time.
const ROWS: usize = 512;
/// Share of the weights that are not 0, among the squared number of columns, above which X M is computed by tables.
const DENSE: f64 = 0.1;

/// The objective over all weights.
pub struct PseudoLikelihood {
    pub samples: Arc<Samples>,
    /// The threads that evaluate the objective.
    pub pool: Pool,
    /// Tables for X M.
    by_sample: Patterns,
    /// Tables for X' R.
    by_column: Patterns,
    scratch: Mutex<Scratch>,
}

/// Buffers kept from one evaluation to the next. A tile is a range of `TILE` columns; matrices are stored tile by tile.
#[derive(Default)]
struct Scratch {
    /// M, tiles x rows x `TILE`. Rows are columns of the samples, then variables that are missing in some sample.
    matrix: Aligned,
    /// X' R, tiles x rows x `TILE`. Rows are the rows of M, and a last one with sums over all samples.
    product: Aligned,
    /// Scores, then residuals, chunks x tiles x `TILE` x `CHUNK`; in the end, residuals, chunks x tiles x `CHUNK` x `TILE`.
    sheet: Aligned,
}

impl PseudoLikelihood {
    /// The objective on samples, evaluated on `n_threads` threads (0: all cores).
    pub fn new(samples: Samples, n_threads: usize) -> Result<Self> {
        let pool = threads::pool(n_threads)?;
        let (by_sample, by_column) =
            pool.install(|| rayon::join(|| Patterns::of_samples(&samples), || Patterns::of_columns(&samples)));
        Ok(PseudoLikelihood { samples: Arc::new(samples), pool, by_sample, by_column, scratch: Mutex::default() })
    }

    /// The objective over the weights with the numbers `features`, which ascend; all other weights are 0.
    pub fn restrict(&self, features: Vec<usize>) -> Restricted {
        Restricted::new(Arc::clone(&self.samples), self.pool, features)
    }

    /// The term of one variable over the weights that it depends on: of the pairs with its columns, then of its columns.
    pub fn node(&self, variable: usize) -> Restricted {
        let (samples, columns) = (&*self.samples, self.samples.columns(variable));
        let of_row = |a: usize| samples.row[a]..samples.row[a + 1];
        let before = |a: usize| columns.clone().map(move |b| samples.row[a] + b - samples.behind(a).start);
        let pairs = (0..columns.start).flat_map(before).chain(columns.clone().flat_map(of_row));
        let features = pairs.chain(columns.clone().map(|a| samples.n_interactions() + a)).collect();
        let mut node = self.restrict(features);
        node.variables = variable..variable + 1;
        node
    }

    /// Whether an evaluation takes a few milliseconds at most.
    pub fn is_quick(&self) -> bool {
        let d = self.samples.n_columns();
        self.samples.n_samples * d * (d + 64) < 40_000_000
    }

    /// Number of tiles of all columns.
    fn n_tiles(&self) -> usize {
        self.samples.n_columns().div_ceil(TILE)
    }

    /// Writes the gradient at `w` and returns the value, which is infinite if a weight is not finite.
    pub fn value_and_gradient(&self, w: &[f64], gradient: &mut [f64], interrupt: &Interrupt) -> Result<f64> {
        let (samples, n) = (&*self.samples, self.samples.n_interactions());
        if !w.iter().map(|w| w.abs()).sum::<f64>().is_finite() {
            gradient.fill(0.0);
            return Ok(f64::INFINITY);
        }
        let Scratch { matrix, product, sheet } = &mut *locked(&self.scratch);
        let used = w[..n].iter().filter(|&&w| w != 0.0).count();
        let few = used as f64 <= DENSE * (samples.n_columns() as f64).powi(2);
        let edges = few.then(|| Interactions::new(samples, (0..n).filter(|&at| w[at] != 0.0).map(|at| (at, at))));
        if !few {
            self.spread(w, matrix);
        }
        let rows = self.by_column.rows();
        product.clear();
        product.resize(self.n_tiles() * rows * TILE, 0.0);
        let of_chunk = self.n_tiles() * TILE * CHUNK;
        let (n_chunks, of_sheet) = (samples.n_chunks(), (SHEET / of_chunk).max(1));
        let mut value = 0.0;
        for start in (0..n_chunks).step_by(of_sheet) {
            let chunks = start..(start + of_sheet).min(n_chunks);
            sheet.resize(of_sheet.min(n_chunks) * of_chunk, 0.0);
            let sheet = &mut sheet[..chunks.len() * of_chunk];
            if edges.is_none() {
                self.scores(chunks.clone(), matrix, &w[n..], sheet, interrupt);
            }
            value += self.residuals(chunks.clone(), edges.as_ref(), w, sheet, interrupt);
            self.multiply(chunks, sheet, product, interrupt);
            interrupt.check()?;
        }
        self.finish(product, gradient);
        Ok(value)
    }

    /// Computes M from the weights.
    fn spread(&self, w: &[f64], matrix: &mut Aligned) {
        let (samples, d) = (&*self.samples, self.samples.n_columns());
        let rows = self.by_column.rows();
        matrix.clear();
        matrix.resize(self.n_tiles() * rows * TILE, 0.0);
        let tiles = matrix.chunks_exact_mut(rows * TILE).enumerate().collect();
        threads::share(self.pool, tiles, |(tile, out): (usize, &mut [f64])| {
            let columns = tile * TILE..((tile + 1) * TILE).min(d);
            for a in 0..columns.end {
                let behind = samples.behind(a);
                let part = behind.start.max(columns.start)..columns.end.max(behind.start);
                let from = &w[samples.row[a] + part.start - behind.start..][..part.len()];
                out[a * TILE + part.start - columns.start..][..part.len()].copy_from_slice(from);
            }
            for block in (0..d).step_by(TILE) {
                for b in columns.clone() {
                    let behind = samples.behind(b);
                    let part = behind.start.max(block)..(block + TILE).min(d).max(behind.start);
                    let from = &w[samples.row[b] + part.start - behind.start..][..part.len()];
                    part.zip(from).for_each(|(a, w)| out[a * TILE + b - columns.start] = *w);
                }
            }
            let (columns, missing) = out.split_at_mut(d * TILE);
            for (row, i) in missing.chunks_exact_mut(TILE).zip(self.missing()) {
                for (a, share) in samples.columns(i).map(|a| (a, samples.frequencies[a])) {
                    row.iter_mut().zip(&columns[a * TILE..]).for_each(|(row, w)| *row += share * w);
                }
            }
        });
    }

    /// Variables that are missing in some sample.
    fn missing(&self) -> impl Iterator<Item = usize> {
        let has_missing = &self.samples.has_missing;
        (0..has_missing.len()).filter(|&i| has_missing[i])
    }

    /// Computes the scores of all columns in the samples of a sheet, by tables.
    fn scores(&self, chunks: Range<usize>, matrix: &[f64], singles: &[f64], sheet: &mut [f64], interrupt: &Interrupt) {
        let (rows, n_tiles) = (self.by_column.rows(), self.n_tiles());
        let mut slabs: Vec<_> = sheet.chunks_exact_mut(TILE * CHUNK).enumerate().collect();
        // A tile of M stays in the second cache while all chunks use it.
        slabs.sort_by_key(|(slab, _)| (slab % n_tiles, slab / n_tiles));
        threads::share(self.pool, slabs, |(slab, out): (usize, &mut [f64])| {
            if interrupt.is_set() {
                return;
            }
            let (tile, chunk) = (slab % n_tiles, chunks.start + slab / n_tiles);
            let (mut sums, mut tables) = (Aligned::new(CHUNK * TILE, 0.0), Aligned::default());
            let dense = &matrix[tile * rows * TILE..][..rows * TILE];
            let patterns = &self.by_sample;
            arch().dispatch(Multiply { patterns, chunk, first_row: 0, dense, tables: &mut tables, out: &mut sums });
            transpose(&sums, out, TILE);
            let tile_singles = singles[tile * TILE..].iter().take(TILE);
            tile_singles
                .zip(out.chunks_exact_mut(CHUNK))
                .for_each(|(w, out)| out.iter_mut().for_each(|score| *score += w));
        });
    }

    /// Turns the scores of a sheet into residuals, sample by sample; returns the value of its samples. Computes the scores first
    /// if `edges` are given.
    fn residuals(
        &self,
        chunks: Range<usize>,
        edges: Option<&Interactions>,
        w: &[f64],
        sheet: &mut [f64],
        interrupt: &Interrupt,
    ) -> f64 {
        let (samples, singles) = (&*self.samples, &w[self.samples.n_interactions()..]);
        let of_chunk = self.n_tiles() * TILE * CHUNK;
        let values = threads::share(
            self.pool,
            chunks.zip(sheet.chunks_exact_mut(of_chunk)).collect(),
            |(chunk, scores): (usize, &mut [f64])| {
                if interrupt.is_set() {
                    return 0.0;
                }
                if let Some(edges) = edges {
                    let mut values = Aligned::default();
                    let (values, out) = (&mut values, &mut *scores);
                    arch().dispatch(InteractionScores { samples, chunk, edges, w, singles, values, out });
                }
                let variables = 0..samples.states.len();
                let value = arch().dispatch(Residuals { samples, chunk, variables, scores });
                let mut columns = vec![0.0; TILE * CHUNK];
                for slab in scores.chunks_exact_mut(TILE * CHUNK) {
                    columns.copy_from_slice(slab);
                    transpose(&columns, slab, CHUNK);
                }
                value
            },
        );
        values.iter().sum()
    }

    /// product += X' R over the samples of a sheet.
    fn multiply(&self, chunks: Range<usize>, sheet: &[f64], product: &mut [f64], interrupt: &Interrupt) {
        let (rows, n_tiles) = (self.by_column.rows(), self.n_tiles());
        let tiles = product.chunks_exact_mut(rows * TILE).enumerate();
        let pieces = tiles.flat_map(|(tile, rows)| {
            rows.chunks_mut(ROWS * TILE).enumerate().map(move |(piece, out)| (tile, piece * ROWS, out))
        });
        threads::share(self.pool, pieces.collect(), |(tile, first_row, out): (usize, usize, &mut [f64])| {
            let (mut tables, patterns) = (Aligned::default(), &self.by_column);
            for (at, chunk) in chunks.clone().enumerate().filter(|_| !interrupt.is_set()) {
                let dense = &sheet[(at * n_tiles + tile) * TILE * CHUNK..][..TILE * CHUNK];
                arch().dispatch(Multiply { patterns, chunk, first_row, dense, tables: &mut tables, out });
            }
        });
    }

    /// Computes the gradient from X' R.
    fn finish(&self, product: &mut [f64], gradient: &mut [f64]) {
        let (samples, d, rows) = (&*self.samples, self.samples.n_columns(), self.by_column.rows());
        let of_tile = rows * TILE;
        for tile in product.chunks_exact_mut(of_tile) {
            let (columns, missing) = tile.split_at_mut(d * TILE);
            for (row, i) in missing.chunks_exact(TILE).zip(self.missing()) {
                for (a, share) in samples.columns(i).map(|a| (a, samples.frequencies[a])) {
                    columns[a * TILE..][..TILE].iter_mut().zip(row).for_each(|(sum, missing)| *sum += share * missing);
                }
            }
        }
        let (mut interactions, singles) = gradient.split_at_mut(samples.n_interactions());
        for (column, out) in singles.iter_mut().enumerate() {
            *out = product[column / TILE * of_tile + (rows - 1) * TILE + column % TILE];
        }
        let mut pieces = Vec::new();
        for tile in 0..self.n_tiles() {
            let columns = tile * TILE..((tile + 1) * TILE).min(d);
            let (part, rest) = interactions.split_at_mut(samples.row[columns.end] - samples.row[columns.start]);
            pieces.push((columns, part));
            interactions = rest;
        }
        threads::share(self.pool, pieces, |(columns, out): (Range<usize>, &mut [f64])| {
            for others in (columns.start..d).step_by(TILE) {
                let (upper, lower) = (others / TILE * of_tile, columns.start / TILE * of_tile);
                for a in columns.clone() {
                    let behind = samples.behind(a);
                    for b in behind.start.max(others)..(others + TILE).min(d) {
                        let at = samples.row[a] - samples.row[columns.start] + b - behind.start;
                        out[at] = product[upper + a * TILE + b % TILE] + product[lower + b * TILE + a % TILE];
                    }
                }
            }
        });
    }
}

/// Side of the squares in which a matrix is transposed.
const SQUARE: usize = 8;

/// Transposes a matrix with rows of `width` numbers.
fn transpose(from: &[f64], to: &mut [f64], width: usize) {
    let height = from.len() / width;
    for row in (0..height).step_by(SQUARE) {
        for column in (0..width).step_by(SQUARE) {
            for j in column..column + SQUARE {
                let to = &mut to[j * height + row..][..SQUARE];
                (0..SQUARE).for_each(|i| to[i] = from[(row + i) * width + j]);
            }
        }
    }
}
