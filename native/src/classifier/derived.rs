//! Objectives made of another one: on other samples, with other weights, classes or columns.

use crate::classifier::matrix::Design;
use crate::classifier::objective::Classifier;
use crate::error::{Error, Result};
use crate::numeric::ragged::NOWHERE;
use crate::threads;
use std::sync::Arc;

impl Classifier {
    /// The objective on the given samples, whose weights are multiplied by `factor`.
    pub fn batch(&self, samples: &[usize], factor: f64) -> Self {
        let targets = samples.iter().map(|&sample| self.targets[sample]).collect();
        let weights: Vec<f64> = samples.iter().map(|&sample| factor * self.weight(sample)).collect();
        let weights = if weights.iter().all(|&weight| weight == 1.0) { Vec::new() } else { weights };
        self.with(Arc::new(self.design.select(samples)), targets, weights)
    }

    /// The objective with other weights of the samples. It shares the matrix.
    pub fn reweighted(&self, weights: Vec<f64>) -> Self {
        self.with(Arc::clone(&self.design), self.targets.clone(), weights)
    }

    /// The objective on a dense matrix less a number for each column, and nothing else. It shares the numbers.
    pub fn less(&self, shift: Vec<f64>) -> Result<Self> {
        let table = self.design.table().ok_or_else(|| Error::Data("a sparse matrix stays as it is".into()))?;
        Ok(self.with(Arc::new(Design::dense(table.less(shift)?)), self.targets.clone(), self.weights.clone()))
    }

    /// The objective of two classes, `class` as 1 and all others as 0, on `n_threads` threads. It shares the matrix.
    pub fn one_against_rest(&self, class: u32, n_threads: usize) -> Result<Self> {
        let targets = self.targets.iter().map(|&target| u32::from(target == class)).collect();
        let mut one = self.with(Arc::clone(&self.design), targets, self.weights.clone());
        (one.n_classes, one.pool) = (2, threads::pool(n_threads)?);
        Ok(one)
    }

    /// Two classes: the objective over sums of columns (Mathur & Chakrabarti 2010, Eq. 15), where column j is added to the new
    /// column map[j]. The intercept keeps its own column.
    pub fn aggregate(&self, map: &[u32], n_columns: usize) -> Self {
        let design = self.pool.install(|| self.design.merge(map, n_columns));
        self.with(Arc::new(design), self.targets.clone(), self.weights.clone())
    }

    /// Two classes: the objective over some of the columns, given by ascending numbers, and over the intercept.
    pub fn restrict(&self, columns: &[usize]) -> Self {
        let mut map = vec![NOWHERE; self.design.n_columns()];
        columns.iter().enumerate().for_each(|(to, &column)| map[column] = to as u32);
        self.aggregate(&map, columns.len())
    }
}
