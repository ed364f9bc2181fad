//! Leaps of a proximal Newton step's subproblem: towards the minimum over the coordinates whose weights are not 0, all at once. Where
//! columns are much alike, sweeps from one coordinate to the next are slow.
//!
//! A leap ends where a weight would change its sign, which becomes 0, and the next one is over the others. By way of X' D X it is the
//! solution of a system of equations; by way of the data it is by conjugate gradients (Hestenes & Stiefel 1952), scaled by the
//! diagonal of H, each step of which costs as much as a sweep.
//!
//! Symbols as in `newton`.

use crate::classifier::gram::{Column, Gram, inner, is_small};
use crate::classifier::newton::{NewtonSettings, Subproblem};
use crate::classifier::scaled::Scaled;
use crate::numeric::ragged::{Entries, Id, Value};

/// Most steps of conjugate gradients in the leaps between two sweeps, and most such leaps.
const MOST_STEPS: usize = 20;
const MOST_LEAPS: usize = 10;
/// Conjugate gradients end at this share of the violation that is the goal of the sweeps.
const BELOW_GOAL: f64 = 0.5;

impl Subproblem<'_> {
    /// Sweeps by way of X' D X after which a leap is made.
    pub(super) const SLOW: usize = 20;

    /// Leaps by way of X' D X to a minimum over the weights that are not 0. Returns the number of sweeps that cost as much.
    pub(super) fn leap(&mut self, gram: &mut Gram) -> usize {
        let (mut cost, size) = (0, self.columns.len() + self.intercepts.len());
        loop {
            let rows = self.not_zero();
            if !is_small(rows.len()) {
                return self.settings.sweeps;
            }
            cost += rows.len().pow(3) / (3 * size * size);
            if self.leap_over(&rows, gram) {
                return cost.max(Self::SLOW);
            }
        }
    }

    /// The coordinates whose weights are not 0, and those of the intercept.
    fn not_zero(&self) -> Vec<usize> {
        let n = self.columns.len();
        let columns = (0..n).filter(|&at| self.columns[at].w + self.columns[at].delta != 0.0);
        columns.chain(n..n + self.intercepts.len()).collect()
    }

    /// A coordinate; those of the intercept come last.
    pub(super) fn coordinate(&mut self, at: usize) -> &mut Column {
        let n = self.columns.len();
        if at < n { &mut self.columns[at] } else { &mut self.intercepts[at - n] }
    }

    /// The derivative of the subproblem by a coordinate whose weight is not 0, where `product` is its entry of X' D X delta.
    fn slope(&self, at: usize, product: f64) -> f64 {
        let NewtonSettings { l1, l2, .. } = *self.settings;
        product
            + match self.columns.get(at) {
                Some(column) => {
                    let of_penalty = l2 * column.factor * column.delta;
                    column.gradient + of_penalty + (l1 * column.factor).copysign(column.w + column.delta)
                }
                None => self.intercepts[at - self.columns.len()].gradient,
            }
    }

    /// Goes towards the minimum over some coordinates, until a weight would change its sign: it becomes 0. Returns whether the minimum
    /// is reached.
    fn leap_over(&mut self, rows: &[usize], gram: &mut Gram) -> bool {
        let n = self.columns.len();
        let slopes: Vec<f64> = rows.iter().map(|&at| -self.slope(at, gram.product(at))).collect();
        let factor = |row: usize| self.columns.get(rows[row]).map_or(0.0, |column| column.factor);
        let (l2, is_free) = (|row: usize| self.settings.l2 * factor(row), |row: usize| factor(row) == 0.0);
        let changes = gram.part(rows).solve(l2, is_free, slopes.into_iter());
        let (mut length, mut first) = (1.0, None);
        for (&at, change) in rows.iter().zip(&changes).filter(|(at, _)| **at < n) {
            let w = self.columns[at].w + self.columns[at].delta;
            if -change / w * length > 1.0 {
                (length, first) = (-w / change, Some(at));
            }
        }
        for (&at, change) in rows.iter().zip(&changes) {
            let column = self.coordinate(at);
            let before = column.delta;
            column.delta = if first == Some(at) { -column.w } else { before + length * change };
            let change = column.delta - before;
            gram.add(at, change);
        }
        first.is_none()
    }

    /// Leaps by way of the data, until the derivatives by the weights that are not 0 are below `goal`, or for so many steps. If that
    /// does not decrease the subproblem, as signs change, nothing is changed. Returns the number of sweeps that cost as much, and
    /// whether something was changed.
    pub(super) fn leap_by_products<I: Id, V: Value>(
        &mut self,
        z: &Scaled,
        all: Entries<'_, I, V>,
        goal: f64,
    ) -> (usize, bool) {
        let before = self.model();
        let deltas: Vec<f64> = self.columns.iter().chain(&self.intercepts).map(|column| column.delta).collect();
        let (products, mut steps, mut cost) = (self.products.clone(), 0, 0);
        for _ in 0..MOST_LEAPS {
            let (more, ended) = self.conjugate_gradients(z, all, goal * BELOW_GOAL, MOST_STEPS - steps);
            (steps, cost) = (steps + more, cost + more + 1);
            if ended {
                break;
            }
        }
        let changed = self.model() <= before;
        if !changed {
            self.products = products;
            let columns = self.columns.iter_mut().chain(&mut self.intercepts);
            columns.zip(deltas).for_each(|(column, delta)| column.delta = delta);
        }
        (cost, changed)
    }

    /// The value of the subproblem.
    fn model(&self) -> f64 {
        let squares: f64 = self.columns.iter().map(|column| column.factor * (column.delta * column.delta)).sum();
        self.promise() + 0.5 * (inner(&self.products, &self.products) + self.settings.l2 * squares)
    }

    /// Makes steps of conjugate gradients over the weights that are not 0 until one would change its sign, the derivatives are below
    /// `goal`, or there were `most`. Returns the number of steps, and whether the last two were the reason.
    fn conjugate_gradients<I: Id, V: Value>(
        &mut self,
        z: &Scaled,
        all: Entries<'_, I, V>,
        goal: f64,
        most: usize,
    ) -> (usize, bool) {
        let (rows, n, l2) = (self.not_zero(), self.columns.len(), self.settings.l2);
        let curvatures: Vec<f64> = rows.iter().map(|&at| self.coordinate(at).curvature).collect();
        let of_l2: Vec<f64> = rows.iter().map(|&at| if at < n { l2 * self.columns[at].factor } else { 0.0 }).collect();
        let slope = |&at: &usize| -self.slope(at, z.combine(at, all, &self.products));
        let mut slopes: Vec<f64> = rows.iter().map(slope).collect();
        let (mut direction, mut last) = (vec![0.0; rows.len()], f64::INFINITY);
        let mut image = vec![0.0; self.products.len()];
        for done in 0..most {
            if slopes.iter().all(|slope| slope.abs() <= goal) {
                return (done, true);
            }
            let scaled: Vec<f64> = slopes.iter().zip(&curvatures).map(|(slope, curvature)| slope / curvature).collect();
            let size = inner(&slopes, &scaled);
            direction.iter_mut().zip(scaled).for_each(|(to, scaled)| *to = scaled + size / last * *to);
            image.fill(0.0);
            rows.iter().zip(&direction).for_each(|(&at, &to)| z.add_to(at, all, to, &mut image));
            let own: f64 = of_l2.iter().zip(&direction).map(|(l2, to)| l2 * to * to).sum();
            let curvature = inner(&image, &image) + own;
            if curvature <= 0.0 {
                return (done, true);
            }
            let length = size / curvature;
            if self.advance(z, all, &rows, (&direction, &image), length) {
                return (done + 1, false);
            }
            for (((slope, &at), l2), &to) in slopes.iter_mut().zip(&rows).zip(&of_l2).zip(&direction) {
                *slope -= length * (z.combine(at, all, &image) + l2 * to);
            }
            last = size;
        }
        (most, true)
    }

    /// Goes so far along a direction, whose product with Z is its image. Weights that would change their signs become 0; returns
    /// whether there were any.
    fn advance<I: Id, V: Value>(
        &mut self,
        z: &Scaled,
        all: Entries<'_, I, V>,
        rows: &[usize],
        (direction, image): (&[f64], &[f64]),
        length: f64,
    ) -> bool {
        self.products.iter_mut().zip(image).for_each(|(product, image)| *product += length * image);
        let (mut crossed, n) = (false, self.columns.len());
        for (&at, &to) in rows.iter().zip(direction) {
            let column = self.coordinate(at);
            let before = column.w + column.delta;
            column.delta += length * to;
            let beyond = column.w + column.delta;
            if at < n && before * beyond <= 0.0 {
                crossed = true;
                column.delta = -column.w;
                z.add_to(at, all, -beyond, &mut self.products);
            }
        }
        crossed
    }
}
