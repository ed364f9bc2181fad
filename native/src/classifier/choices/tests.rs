use super::*;
use crate::classifier::matrix::Design;
use crate::classifier::table::{Layout, Numbers, Table};
use crate::numeric::log_sum_exp;
use proptest::prelude::*;

/// Some groups of rows with three columns, and the weights of the columns.
#[derive(Debug, Clone)]
struct Problem {
    rows: Vec<Vec<f64>>,
    groups: Vec<(Vec<u32>, usize, f64)>,
    w: Vec<f64>,
}

const COLUMNS: usize = 3;

fn problem(size: f64) -> impl Strategy<Value = Problem> {
    let number = move || prop_oneof![Just(0.0), Just(1.0), -size..size];
    let row = prop::collection::vec(number(), COLUMNS);
    let group = |n: usize| {
        let rows = prop::sample::subsequence((0..n as u32).collect::<Vec<_>>(), 2..=n.min(6)).prop_shuffle();
        (rows, 0usize..100, 0.1..2.0).prop_map(|(rows, k, weight)| {
            let k = 1 + k % (rows.len() - 1);
            (rows, k, weight)
        })
    };
    (prop::collection::vec(row, 2..9), prop::collection::vec(-2.0..2.0, COLUMNS)).prop_flat_map(move |(rows, w)| {
        let n = rows.len();
        (Just(rows), prop::collection::vec(group(n), 1..8), Just(w)).prop_map(|(rows, groups, w)| Problem {
            rows,
            groups,
            w,
        })
    })
}

impl Problem {
    fn design(&self, dense: bool) -> Design {
        let values: Vec<f64> = self.rows.concat();
        if dense {
            let numbers = Numbers::Double(Arc::new(values));
            let layout = Layout { by_rows: true, first: 0, step: COLUMNS as isize };
            return Design::dense(Table::new(numbers, layout, (self.rows.len(), COLUMNS), None).unwrap());
        }
        let (mut ends, mut ids, mut values) = (vec![], vec![], vec![]);
        for row in &self.rows {
            let entries = row.iter().enumerate().filter(|entry| *entry.1 != 0.0);
            entries.for_each(|(column, &value)| {
                ids.push(column as u32);
                values.push(value);
            });
            ends.push(ids.len());
        }
        Design::new(ends, &ids, &values, COLUMNS).unwrap()
    }

    fn choices(&self, dense: bool, threads: usize) -> Choices {
        let n = self.rows.len();
        let linear = Classifier::new(Arc::new(self.design(dense)), vec![0; n], vec![], 2, (None, false), threads);
        let mut ends = vec![];
        for (rows, _, _) in &self.groups {
            ends.push(ends.last().copied().unwrap_or(0) + rows.len());
        }
        let groups = Groups {
            rows: self.groups.iter().flat_map(|group| group.0.clone()).collect(),
            ends,
            n_chosen: self.groups.iter().map(|group| group.1 as u32).collect(),
            weights: self.groups.iter().map(|group| group.2).collect(),
        };
        Choices::new(Arc::new(linear.unwrap()), groups).unwrap()
    }

    /// The negative log-likelihood by the list of all sets.
    fn enumerated(&self, w: &[f64]) -> f64 {
        let score = |row: u32| self.rows[row as usize].iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
        let of_group = |(rows, k, weight): &(Vec<u32>, usize, f64)| {
            let of_set = |set: u32| (0..rows.len()).filter(|j| set >> j & 1 == 1).map(|j| score(rows[j])).sum::<f64>();
            let sets: Vec<f64> =
                (0u32..1 << rows.len()).filter(|set| set.count_ones() as usize == *k).map(of_set).collect();
            weight * (log_sum_exp(sets.iter().copied()) - of_set((1 << k) - 1))
        };
        self.groups.iter().map(of_group).sum()
    }

    fn gradient(&self, choices: &Choices, w: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; COLUMNS];
        choices.value_and_gradient(w, &mut gradient, &Interrupt::default()).unwrap();
        gradient
    }
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #[test]
    fn values_are_those_of_all_sets_and_gradients_and_hessians_their_derivatives(problem in problem(3.0), dense: bool) {
        let choices = problem.choices(dense, 2);
        let w = &problem.w;
        let mut gradient = vec![0.0; COLUMNS];
        let value = choices.value_and_gradient(w, &mut gradient, &Interrupt::default()).unwrap();
        prop_assert!(close(value, problem.enumerated(w), 1e-12));
        let scores = choices.scores(w);
        let hessian = choices.hessian(&scores, &[0, 1, 2], 1, &Interrupt::default()).unwrap();
        let diagonal = choices.hessian_diagonal(&scores, &Interrupt::default()).unwrap();
        let some = choices.hessian(&scores, &[0, 2], 1, &Interrupt::default()).unwrap();
        for a in 0..COLUMNS {
            let (mut above, mut below) = (w.clone(), w.clone());
            let h = 1e-5;
            above[a] += h;
            below[a] -= h;
            let slope = (problem.enumerated(&above) - problem.enumerated(&below)) / (2.0 * h);
            prop_assert!(close(gradient[a], slope, 1e-6), "{} {slope}", gradient[a]);
            let (above, below) = (problem.gradient(&choices, &above), problem.gradient(&choices, &below));
            for b in 0..COLUMNS {
                let curvature = (above[b] - below[b]) / (2.0 * h);
                prop_assert!(close(hessian[a * COLUMNS + b], curvature, 1e-6), "{} {curvature}", hessian[a * COLUMNS + b]);
            }
            prop_assert!(close(diagonal[a], hessian[a * (COLUMNS + 1)], 1e-12));
        }
        for (at, (a, b)) in [(0, 0), (0, 2), (2, 0), (2, 2)].into_iter().enumerate() {
            prop_assert!(close(some[at], hessian[a * COLUMNS + b], 1e-12));
        }
    }

    #[test]
    fn scores_far_from_one_another_are_handled_by_logarithms(problem in problem(2000.0)) {
        let choices = problem.choices(true, 1);
        let mut gradient = vec![0.0; COLUMNS];
        let value = choices.value_and_gradient(&problem.w, &mut gradient, &Interrupt::default()).unwrap();
        prop_assert!(close(value, problem.enumerated(&problem.w), 1e-9));
        prop_assert!(gradient.iter().all(|slope| slope.is_finite()));
    }

    #[test]
    fn batches_and_restrictions_are_parts_of_the_sum(problem in problem(2.0), dense: bool) {
        let (choices, n) = (problem.choices(dense, 1), problem.groups.len());
        let parts = [(0..n / 2).collect::<Vec<_>>(), (n / 2..n).collect()];
        let value = |choices: &Choices, w: &[f64]| {
            choices.value_and_gradient(w, &mut vec![0.0; w.len()], &Interrupt::default()).unwrap()
        };
        let of_parts = parts.iter().filter(|part| !part.is_empty()).map(|part| value(&choices.batch(part, 2.0), &problem.w));
        prop_assert!(close(of_parts.sum(), 2.0 * value(&choices, &problem.w), 1e-12));
        let mut w = problem.w.clone();
        w[1] = 0.0;
        prop_assert!(close(value(&choices.restrict(&[0, 2]), &[w[0], w[2]]), value(&choices, &w), 1e-12));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn results_are_the_same_on_any_number_of_threads(problem in problem(2.0), dense: bool) {
        let mut large = problem.clone();
        for _ in 0..12 {
            large.groups = [large.groups.clone(), large.groups].concat();
        }
        let results = [1, 2, 3].map(|threads| {
            let choices = large.choices(dense, threads);
            let scores = choices.scores(&large.w);
            let residuals = choices.residuals(&scores, &Interrupt::default()).unwrap();
            let hessian = choices.hessian(&scores, &[0, 1, 2], 1, &Interrupt::default()).unwrap();
            (residuals.nll.to_bits(), large.gradient(&choices, &large.w), hessian)
        });
        prop_assert_eq!(&results[0], &results[1]);
        prop_assert_eq!(&results[0], &results[2]);
    }
}

#[test]
fn with_nearly_all_of_many_alternatives_chosen_the_others_are_the_set() {
    let scores: Vec<f64> = (0..2000).map(|j| f64::from(j % 7)).collect();
    let (mut shares, mut mirrored) = (vec![0.0; 2000], vec![0.0; 2000]);
    Subsets::default().evaluate(&scores, 1998, &mut shares);
    let negative: Vec<f64> = scores.iter().map(|score| -score).collect();
    Subsets::default().evaluate(&negative, 2, &mut mirrored);
    assert!(shares.iter().zip(&mirrored).all(|(a, b)| (a + b - 1.0).abs() < 1e-12));
    assert!((shares.iter().sum::<f64>() - 1998.0).abs() < 1e-8);
}

#[test]
fn large_sets_do_not_overflow() {
    let (m, k) = (3000, 1500);
    let mut shares = vec![0.0; m];
    let nll = Subsets::default().evaluate(&vec![0.0; m], k, &mut shares);
    let log_binomial: f64 = (0..k).map(|i| ((m - i) as f64 / (i + 1) as f64).ln()).sum();
    assert!((nll - log_binomial).abs() < 1e-7, "{nll} {log_binomial}");
    assert!(shares.iter().all(|share| (share - 0.5).abs() < 1e-8));
}

#[test]
fn damaged_groups_are_refused() {
    let problem = Problem { rows: vec![vec![1.0; COLUMNS]; 3], groups: vec![(vec![0, 1, 2], 1, 1.0)], w: vec![] };
    let whole = problem.choices(true, 1);
    let refused = |change: fn(&mut Groups)| {
        let mut groups = whole.groups.clone();
        change(&mut groups);
        Choices::new(Arc::clone(&whole.linear), groups).err().map(|error| error.to_string()).unwrap()
    };
    assert!(refused(|groups| groups.rows[0] = 3).contains("do not fit a matrix of 3 rows"));
    assert!(refused(|groups| groups.ends[0] = 2).contains("ends of the groups"));
    assert!(refused(|groups| groups.n_chosen[0] = 3).contains("group 0: 3 of 3"));
    assert!(refused(|groups| groups.n_chosen[0] = 0).contains("0 of 3"));
    assert!(refused(|groups| groups.weights[0] = -1.0).contains("weight -1 of group 0"));
}
