//! Products of a matrix of states with a dense matrix, by tables of sums: the "method of four Russians" (Arlazarov, Dinic,
//! Kronrod & Faradzev 1970).
//!
//! In X M, row i of the product is the sum of the rows of M that belong to the columns active in sample i. In X' R, row a of the
//! product is the sum of the rows of R that belong to the samples in which column a is active. Consecutive variables (or samples)
//! are taken together in groups. A group has few patterns: the sum for each pattern is computed once, and every row of the product
//! adds one ready sum for a group of, say, four binary variables. A pass covers `GROUPS` groups, and `TILE` columns of the dense
//! matrix at a time, so that its tables stay in the first cache.

use crate::network::pseudolikelihood::samples::{CHUNK, MISSING, Samples};
use crate::numeric::aligned::Aligned;
use pulp::{Simd, WithSimd};

/// Columns of the dense matrix that are worked on together: with `GROUPS` tables of 16 rows they fill the first cache. With fewer
/// groups and more columns, sums would be loaded and stored more often.
pub const TILE: usize = 32;
/// Groups of a pass: a row of the product adds as many ready sums.
const GROUPS: usize = 8;
/// Most patterns of a group, unless a single variable has more.
const PATTERNS: usize = 16;
/// Samples of a pass of X' R: `GROUPS` groups of four.
const SAMPLES: usize = 32;

/// The computation of the tables of a pass, which are stored one after the other. Row 0 is 0; row k + 1 is the sum of an earlier row
/// and a row of the dense matrix, which element k names.
type Recipe = Vec<(u32, u32)>;

/// A matrix of states, prepared for products.
pub struct Patterns {
    /// Pass -> how to compute its tables.
    recipes: Vec<Recipe>,
    /// The rows of the tables that each row of the product adds, chunks x passes x rows.
    codes: Vec<[u16; GROUPS]>,
    /// Rows of the product in a chunk.
    rows: usize,
}

/// Consecutive variables that share a table.
struct Group {
    variables: Vec<usize>,
    /// Number of their patterns: of joint states, where "missing" counts as a state.
    patterns: usize,
}

/// Variable -> the row of the dense matrix for its missing values; these rows come after the columns.
fn missing_rows(samples: &Samples) -> Vec<usize> {
    let before = samples.has_missing.iter().scan(samples.n_columns(), |row, &missing| {
        *row += usize::from(missing);
        Some(*row - usize::from(missing))
    });
    before.collect()
}

/// Divides the variables into groups.
fn groups(samples: &Samples) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (i, &r) in samples.states.iter().enumerate() {
        let n_codes = r + usize::from(samples.has_missing[i]);
        match groups.last_mut() {
            Some(group) if group.patterns * n_codes <= PATTERNS => {
                group.variables.push(i);
                group.patterns *= n_codes;
            }
            _ => groups.push(Group { variables: vec![i], patterns: n_codes }),
        }
    }
    groups
}

impl Group {
    /// For each pattern but the first, a smaller pattern and the row of the dense matrix to add to its sum.
    fn recipe(&self, samples: &Samples, missing: &[usize]) -> Vec<(usize, usize)> {
        let mut recipe = Vec::new();
        let mut smaller = 1;
        for &i in &self.variables {
            let rows = samples.columns(i).chain(samples.has_missing[i].then_some(missing[i]));
            for row in rows {
                recipe.extend((0..smaller).map(|pattern| (pattern, row)));
            }
            smaller = recipe.len() + 1;
        }
        recipe
    }

    /// The pattern of the group's variables in a sample.
    fn pattern(&self, samples: &Samples, chunk: usize, sample: usize) -> usize {
        let mut size = 1;
        let mut pattern = 0;
        for &i in &self.variables {
            let (code, r) = (samples.codes(chunk, i)[sample], samples.states[i]);
            pattern += size * if code == MISSING { r } else { code as usize };
            size *= r + usize::from(samples.has_missing[i]);
        }
        pattern
    }
}

impl Patterns {
    /// For X M: rows of the product are samples; rows of the dense matrix are columns, then variables with missing values.
    pub fn of_samples(samples: &Samples) -> Patterns {
        let (groups, missing) = (groups(samples), missing_rows(samples));
        let n_passes = groups.len().div_ceil(GROUPS);
        let mut codes = vec![[0; GROUPS]; samples.n_chunks() * n_passes * CHUNK];
        let mut recipes = Vec::new();
        for (pass, groups) in groups.chunks(GROUPS).enumerate() {
            let mut recipe: Recipe = Vec::new();
            for (at, group) in groups.iter().enumerate() {
                let before = recipe.len();
                let place = |pattern: usize| if pattern == 0 { 0 } else { before + pattern };
                recipe.extend(group.recipe(samples, &missing).iter().map(|&(p, row)| (place(p) as u32, row as u32)));
                for chunk in 0..samples.n_chunks() {
                    let codes = &mut codes[(chunk * n_passes + pass) * CHUNK..][..CHUNK];
                    for (sample, codes) in codes.iter_mut().enumerate() {
                        codes[at] = place(group.pattern(samples, chunk, sample)) as u16;
                    }
                }
            }
            recipes.push(recipe);
        }
        Patterns { recipes, codes, rows: CHUNK }
    }

    /// For X' R: rows of the product are columns, then variables with missing values, then a row that adds all samples; rows of
    /// the dense matrix are the samples of a chunk.
    pub fn of_columns(samples: &Samples) -> Patterns {
        let (missing, d) = (missing_rows(samples), samples.n_columns());
        let rows = d + samples.has_missing.iter().filter(|&&missing| missing).count() + 1;
        let group = |bit: usize| (1..PATTERNS).map(move |pattern| (pattern & (pattern - 1), bit + low_bit(pattern)));
        let place = |at: usize, pattern: usize| if pattern == 0 { 0 } else { at * (PATTERNS - 1) + pattern };
        let recipe = |pass: usize| {
            let of_group = |at: usize| {
                let rows = group(pass * SAMPLES + at * SAMPLES / GROUPS);
                rows.map(move |(smaller, sample)| (place(at, smaller) as u32, sample as u32))
            };
            (0..GROUPS).flat_map(of_group).collect()
        };
        let n_passes = CHUNK / SAMPLES;
        let mut bits = vec![0u32; samples.n_chunks() * n_passes * rows];
        for chunk in 0..samples.n_chunks() {
            let bits = &mut bits[chunk * n_passes * rows..][..n_passes * rows];
            for i in 0..samples.states.len() {
                for (sample, &code) in samples.codes(chunk, i).iter().enumerate() {
                    let row = match code {
                        0 => continue,
                        MISSING => missing[i],
                        state => samples.first[i] + state as usize - 1,
                    };
                    bits[sample / SAMPLES * rows + row] |= 1 << (sample % SAMPLES);
                }
            }
            (0..n_passes).for_each(|pass| bits[pass * rows + rows - 1] = u32::MAX);
        }
        let codes = bits.iter().map(|bits| {
            std::array::from_fn(|at| place(at, (bits >> (at * SAMPLES / GROUPS)) as usize % PATTERNS) as u16)
        });
        Patterns { recipes: (0..n_passes).map(recipe).collect(), codes: codes.collect(), rows }
    }

    /// Rows of the product in a chunk.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

/// The number of the lowest bit that is set.
fn low_bit(pattern: usize) -> usize {
    pattern.trailing_zeros() as usize
}

/// out += some rows of the product of a chunk, from `first_row` on, for one tile of columns.
pub struct Multiply<'a> {
    pub patterns: &'a Patterns,
    pub chunk: usize,
    pub first_row: usize,
    /// A tile of the dense matrix, rows x `TILE`.
    pub dense: &'a [f64],
    /// A buffer for the tables of a pass.
    pub tables: &'a mut Aligned,
    /// rows x `TILE`
    pub out: &'a mut [f64],
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Multiply { patterns, chunk, first_row, dense, tables, out } = self;
        let n_passes = patterns.recipes.len();
        for (pass, recipe) in patterns.recipes.iter().enumerate() {
            fill(simd, recipe, dense, tables);
            let codes = &patterns.codes[(chunk * n_passes + pass) * patterns.rows + first_row..];
            for row in 0..out.len() / TILE {
                add_rows(simd, &mut out[row * TILE..][..TILE], &codes[row], tables);
            }
        }
    }
}

/// Computes the tables of a pass.
#[inline(always)]
fn fill<S: Simd>(simd: S, recipe: &Recipe, dense: &[f64], tables: &mut Aligned) {
    tables.resize((recipe.len() + 1).max(tables.len() / TILE) * TILE, 0.0);
    tables[..TILE].fill(0.0);
    for (at, &(before, row)) in recipe.iter().enumerate() {
        let (ready, rest) = tables.split_at_mut((at + 1) * TILE);
        let (to, _) = S::as_mut_simd_f64s(&mut rest[..TILE]);
        let (from, _) = S::as_simd_f64s(&ready[before as usize * TILE..][..TILE]);
        let (row, _) = S::as_simd_f64s(&dense[row as usize * TILE..][..TILE]);
        for k in 0..to.len() {
            to[k] = simd.add_f64s(from[k], row[k]);
        }
    }
}

/// Vectors that are summed side by side.
const SUMS: usize = 4;

/// out += the rows of the tables that `codes` name.
#[inline(always)]
fn add_rows<S: Simd>(simd: S, out: &mut [f64], codes: &[u16; GROUPS], tables: &[f64]) {
    let (out, _) = S::as_mut_simd_f64s(out);
    let (tables, _) = S::as_simd_f64s(tables);
    let width = out.len();
    for (part, out) in out.as_chunks_mut::<SUMS>().0.iter_mut().enumerate() {
        let mut sums = *out;
        for &code in codes {
            let row: &[S::f64s] = &tables[usize::from(code) * width + part * SUMS..][..SUMS];
            for k in 0..SUMS {
                sums[k] = simd.add_f64s(sums[k], row[k]);
            }
        }
        *out = sums;
    }
}
