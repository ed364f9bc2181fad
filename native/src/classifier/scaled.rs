//! Z = D^1/2 X over the columns of a working set and the intercept's; symbols as in `newton`.

use crate::classifier::gram::inner;
use crate::classifier::objective::Classifier;
use crate::numeric::ragged::{Entries, Id, Lists, Value, with_entries};

/// The matrix Z of a sparse X. The intercept's column comes last.
pub struct Scaled<'a> {
    lists: &'a Lists,
    /// The columns of X.
    ids: Vec<usize>,
    /// The value of the intercept's column.
    intercept: f64,
    /// Sample -> the root of its entry of D.
    pub roots: Vec<f64>,
    /// The entries, column by column, and where each column begins.
    entries: Vec<f64>,
    starts: Vec<usize>,
}

impl<'a> Scaled<'a> {
    /// The matrix over some columns, where `curvatures` are the diagonal of D.
    pub fn new(classifier: &'a Classifier, ids: Vec<usize>, curvatures: &[f64]) -> Scaled<'a> {
        let lists = classifier.design.columns();
        let roots: Vec<f64> = curvatures.iter().map(|curvature| curvature.sqrt()).collect();
        let mut entries = Vec::with_capacity(ids.iter().map(|&id| lists.range(id).len()).sum());
        let mut starts = vec![0];
        with_entries!(lists, all => for &id in &ids {
            let (samples, values) = lists.list(id, all);
            entries.extend(samples.iter().zip(values).map(|(&i, x)| roots[i.at()] * x.get()));
            starts.push(entries.len());
        });
        Scaled { lists, ids, intercept: classifier.intercept.unwrap_or(0.0), roots, entries, starts }
    }

    /// The entries of a column of X.
    #[inline(always)]
    fn column(&self, at: usize) -> &[f64] {
        &self.entries[self.starts[at]..self.starts[at + 1]]
    }

    /// The squared length of column `at`.
    pub fn square(&self, at: usize) -> f64 {
        if at == self.ids.len() {
            return self.intercept * self.intercept * inner(&self.roots, &self.roots);
        }
        inner(self.column(at), self.column(at))
    }

    /// The inner product of column `at` and x. `all` are the entries of X.
    #[inline(always)]
    pub fn combine<I: Id, V: Value>(&self, at: usize, all: Entries<'_, I, V>, x: &[f64]) -> f64 {
        match self.ids.get(at) {
            Some(&id) => self.lists.combine_as(id, all, self.column(at), x),
            None => self.intercept * inner(&self.roots, x),
        }
    }

    /// x += factor * column `at`. `all` are the entries of X.
    #[inline(always)]
    pub fn add_to<I: Id, V: Value>(&self, at: usize, all: Entries<'_, I, V>, factor: f64, x: &mut [f64]) {
        match self.ids.get(at) {
            Some(&id) => self.lists.add_as(id, all, self.column(at), factor, x),
            None => x.iter_mut().zip(&self.roots).for_each(|(x, root)| *x += factor * self.intercept * root),
        }
    }
}
