//! Samples of discrete variables, and how the weights of a pairwise network over them are numbered.
//!
//! The first state of a variable has no weight; every other state is a column. The weights of pairs of columns of different
//! variables come first, through the upper triangle row by row; then come the weights of single columns. See
//! `loglinear.networks.numbering`.

use crate::classifier::matrix::Design;
use crate::error::{Error, Result, check_weights};
use std::ops::Range;

/// The state of a variable that was not observed.
pub const MISSING: u16 = u16::MAX;
/// Samples of a chunk: they are worked on side by side in vectors.
pub const CHUNK: usize = 256;

/// Samples with their weights, chunk by chunk. The last chunk is filled up with samples of weight 0.
pub struct Samples {
    pub n_samples: usize,
    /// Variable -> number of states.
    pub states: Vec<usize>,
    /// Variable -> its first column; at the end, the number of columns.
    pub first: Vec<usize>,
    /// Column -> its variable.
    pub variable: Vec<usize>,
    /// Column -> number of the weight of its first pair with a column of a later variable; at the end, the number of pairs.
    pub row: Vec<usize>,
    /// States, chunks x variables x `CHUNK`.
    codes: Vec<u16>,
    /// Weights, chunks x `CHUNK`.
    weights: Vec<f64>,
    /// Column -> the weighted share of its state among the observed states of its variable. It is the value of the column where
    /// the variable is missing.
    pub frequencies: Vec<f64>,
    /// Variable -> whether it is missing in some sample.
    pub has_missing: Vec<bool>,
}

impl Samples {
    /// The samples `codes`: a state for each variable, sample by sample, -1 where it is missing. Without `weights` all weigh 1.
    pub fn new(states: Vec<usize>, codes: &[i32], weights: &[f64]) -> Result<Samples> {
        if let Some(at) = states.iter().position(|r| !(2..usize::from(MISSING)).contains(r)) {
            let message =
                format!("variable {at} has {} states; it needs at least 2 and fewer than {MISSING}", states[at]);
            return Err(Error::Option(message));
        }
        let p = states.len();
        if p == 0 || codes.is_empty() || !codes.len().is_multiple_of(p) {
            return Err(Error::Data(format!("{} codes do not form samples of {p} variables", codes.len())));
        }
        let n = codes.len() / p;
        if ![0, n].contains(&weights.len()) {
            return Err(Error::Data(format!("{n} samples, but {} weights", weights.len())));
        }
        check_weights(weights, "sample")?;
        let weight = |sample: usize| weights.get(sample).copied().unwrap_or(1.0);
        let mut samples = Samples::numbered(n, states)?;
        samples.take(codes)?;
        samples.weights.iter_mut().take(n).enumerate().for_each(|(sample, to)| *to = weight(sample));
        samples.count();
        Ok(samples)
    }

    /// Numbers the weights; samples have no states and no weights yet.
    fn numbered(n_samples: usize, states: Vec<usize>) -> Result<Samples> {
        let (p, mut first, mut variable) = (states.len(), vec![0], Vec::new());
        for (i, &r) in states.iter().enumerate() {
            variable.resize(first[i] + r - 1, i);
            first.push(variable.len());
        }
        let mut row = vec![0];
        for (a, &i) in variable.iter().enumerate() {
            row.push(row[a] + first[p] - first[i + 1]);
        }
        let (d, places) = (first[p], n_samples.div_ceil(CHUNK) * CHUNK);
        if row[d] + d >= u32::MAX as usize {
            return Err(Error::Option(format!(
                "{} weights are too many; use fewer variables or merge states",
                row[d] + d
            )));
        }
        Ok(Samples {
            n_samples,
            codes: vec![0; places * p],
            weights: vec![0.0; places],
            frequencies: vec![0.0; d],
            has_missing: vec![false; p],
            states,
            first,
            variable,
            row,
        })
    }

    /// Copies the states of the samples.
    fn take(&mut self, codes: &[i32]) -> Result<()> {
        let p = self.states.len();
        for (sample, codes) in codes.chunks_exact(p).enumerate() {
            for (i, &code) in codes.iter().enumerate() {
                let to = &mut self.codes[(sample / CHUNK * p + i) * CHUNK + sample % CHUNK];
                *to = match usize::try_from(code) {
                    Ok(state) if state < self.states[i] => state as u16,
                    _ if code == -1 => MISSING,
                    _ => {
                        let r = self.states[i];
                        let message =
                            format!("sample {sample}, variable {i}: state {code} must be in 0..{r}, or -1 for hidden");
                        return Err(Error::Data(message));
                    }
                };
                self.has_missing[i] |= code == -1;
            }
        }
        Ok(())
    }

    /// Computes the frequencies.
    fn count(&mut self) {
        for i in 0..self.states.len() {
            let mut sums = vec![0.0; self.states[i]];
            for chunk in 0..self.n_chunks() {
                let observed = self.codes(chunk, i).iter().zip(self.weights(chunk));
                observed
                    .filter(|(code, _)| **code != MISSING)
                    .for_each(|(&code, weight)| sums[code as usize] += weight);
            }
            let total: f64 = sums.iter().sum();
            let shares = sums[1..].iter().map(|sum| if total > 0.0 { sum / total } else { 0.0 });
            let columns = self.first[i]..self.first[i + 1];
            self.frequencies[columns].iter_mut().zip(shares).for_each(|(frequency, share)| *frequency = share);
        }
    }

    pub fn n_columns(&self) -> usize {
        self.variable.len()
    }

    /// Number of pairs of columns of different variables.
    pub fn n_interactions(&self) -> usize {
        self.row[self.n_columns()]
    }

    /// Number of weights.
    pub fn n_features(&self) -> usize {
        self.n_interactions() + self.n_columns()
    }

    pub fn n_chunks(&self) -> usize {
        self.n_samples.div_ceil(CHUNK)
    }

    /// The columns of later variables, which form the row of a column in the triangle.
    pub fn behind(&self, column: usize) -> Range<usize> {
        self.first[self.variable[column] + 1]..self.n_columns()
    }

    pub fn columns(&self, variable: usize) -> Range<usize> {
        self.first[variable]..self.first[variable + 1]
    }

    /// The states of a variable in the samples of a chunk.
    #[inline(always)]
    pub fn codes(&self, chunk: usize, variable: usize) -> &[u16; CHUNK] {
        let at = (chunk * self.states.len() + variable) * CHUNK;
        self.codes[at..at + CHUNK].try_into().expect("chunks are full")
    }

    /// The weights of the samples of a chunk.
    #[inline(always)]
    pub fn weights(&self, chunk: usize) -> &[f64; CHUNK] {
        self.weights[chunk * CHUNK..][..CHUNK].try_into().expect("chunks are full")
    }

    /// Writes the values of a column in the samples of a chunk: 1 or 0, or the frequency where the variable is missing.
    #[inline(always)]
    pub fn values(&self, chunk: usize, column: usize, out: &mut [f64]) {
        let i = self.variable[column];
        let (codes, state) = (self.codes(chunk, i), (column - self.first[i] + 1) as u16);
        let missing = self.frequencies[column];
        let out: &mut [f64; CHUNK] = out.try_into().expect("chunks are full");
        for s in 0..CHUNK {
            let other = if codes[s] == MISSING { missing } else { 0.0 };
            out[s] = if codes[s] == state { 1.0 } else { other };
        }
    }

    /// The values of all columns as the sparse matrix of a classifier.
    pub fn design(&self) -> Result<Design> {
        let (mut ends, mut ids, mut values) = (Vec::with_capacity(self.n_samples), Vec::new(), Vec::new());
        for sample in 0..self.n_samples {
            for i in 0..self.states.len() {
                match self.codes(sample / CHUNK, i)[sample % CHUNK] {
                    0 => {}
                    MISSING => self.columns(i).for_each(|column| {
                        ids.push(column as u32);
                        values.push(self.frequencies[column]);
                    }),
                    state => {
                        ids.push((self.first[i] + usize::from(state) - 1) as u32);
                        values.push(1.0);
                    }
                }
            }
            ends.push(ids.len());
        }
        Design::new(ends, &ids, &values, self.n_columns())
    }

    /// The state of a variable in each sample, and the weights of the samples: 0 where the variable is missing.
    pub fn targets(&self, variable: usize) -> (Vec<u32>, Vec<f64>) {
        let places = (0..self.n_samples).map(|sample| (sample / CHUNK, sample % CHUNK));
        places
            .map(|(chunk, at)| match self.codes(chunk, variable)[at] {
                MISSING => (0, 0.0),
                state => (state.into(), self.weights(chunk)[at]),
            })
            .unzip()
    }
}
