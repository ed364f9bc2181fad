//! Products of a matrix of states with a dense matrix, by tables of sums.
//!
//! A row of the product is a sum of rows of the dense matrix: those of the columns that are active in a sample, or of
//! the samples in which a column is active. Neighbouring variables (or samples) have few patterns together; the sum of
//! each pattern is made once, and a row of the product then adds one ready sum for four binary variables (the "method
//! of four Russians", Arlazarov, Dinic, Kronrod & Faradzev 1970). It goes over tiles of `TILE` columns, so that tables
//! stay in the first cache.

use crate::network::pseudolikelihood::samples::{CHUNK, MISSING, Samples};
use crate::numeric::aligned::Aligned;
use pulp::{Simd, WithSimd};

/// Columns of the dense matrix that are worked on together. With `GROUPS` tables of 16 rows they fill the first cache;
/// fewer columns and more tables mean that sums are loaded and stored less often.
pub const TILE: usize = 32;
/// Sums that a row of the product adds in a pass.
const GROUPS: usize = 8;
/// Patterns of a group, if one variable alone has not more.
const PATTERNS: usize = 16;
/// Samples of a backward pass: `GROUPS` groups of four.
const SAMPLES: usize = 32;

/// How the tables of a pass are made: row k + 1 is an earlier row of the tables and a row of the dense matrix. Row 0 is
/// 0.
type Recipe = Vec<(u32, u32)>;

/// For each pass and row of the product, the rows of the tables that it adds.
pub struct Patterns {
    recipes: Vec<Recipe>,
    codes: Vec<[u16; GROUPS]>,
    /// Rows of the product in a chunk.
    rows: usize,
}

/// Variables of a group: what each code of each adds to the row of the tables.
struct Group {
    variables: Vec<usize>,
    patterns: usize,
}

/// Where missing values of the variables stand behind the columns.
fn missing_rows(samples: &Samples) -> Vec<usize> {
    let before = samples.has_missing.iter().scan(samples.n_columns(), |row, &missing| {
        *row += usize::from(missing);
        Some(*row - usize::from(missing))
    });
    before.collect()
}

fn groups(samples: &Samples) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (i, &r) in samples.states.iter().enumerate() {
        let own = r + usize::from(samples.has_missing[i]);
        match groups.last_mut() {
            Some(group) if group.patterns * own <= PATTERNS => {
                group.variables.push(i);
                group.patterns *= own;
            }
            _ => groups.push(Group { variables: vec![i], patterns: own }),
        }
    }
    groups
}

impl Group {
    /// Pattern -> a smaller pattern and the row of the dense matrix by which it differs.
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
    /// Rows of the product are samples, those of the dense matrix columns, and behind them variables with missing
    /// values.
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

    /// Rows of the product are columns, variables with missing values, and one more, in which every sample is active;
    /// those of the dense matrix are the samples of a chunk.
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

    pub fn rows(&self) -> usize {
        self.rows
    }
}

fn low_bit(pattern: usize) -> usize {
    pattern.trailing_zeros() as usize
}

/// out += product, for some of the product's rows in a chunk.
pub struct Multiply<'a> {
    pub patterns: &'a Patterns,
    pub chunk: usize,
    pub first_row: usize,
    /// A tile of the dense matrix, rows x `TILE`.
    pub dense: &'a [f64],
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

/// Vectors whose sums are under way at a time.
const SUMS: usize = 4;

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
