use super::*;
use crate::classifier::table::{Layout, Numbers};
use crate::numeric::random::Random;
use std::sync::Arc;

/// A matrix by rows, with numbers that single precision holds exactly, also after an addition of a whole number.
fn numbers(n_rows: usize, n_columns: usize) -> Vec<f64> {
    let mut random = Random::new(7, 0);
    (0..n_rows * n_columns).map(|_| (random.uniform() * 2048.0 - 1024.0).round() / 256.0).collect()
}

/// What is subtracted from each column: 0 from most.
fn shift(n_columns: usize) -> Vec<f64> {
    (0..n_columns).map(|column| if column % 3 == 1 { column as f64 } else { 0.0 }).collect()
}

/// The same matrix in every layout, without and with a shift: then its numbers are larger by as much.
fn tables(all: &[f64], n_rows: usize, n_columns: usize) -> Vec<Table> {
    let (mut tables, zeros, shift) = (Vec::new(), vec![0.0; n_columns], shift(n_columns));
    for more in [zeros, shift] {
        let x = |i: usize, j: usize| all[i * n_columns + j] + more[j];
        // Lines one after the other; with two numbers between them; from the last to the first.
        for (by_rows, gap, backwards) in [(true, 0, false), (false, 0, false), (true, 2, true), (false, 2, true)] {
            let (n_lines, length) = if by_rows { (n_rows, n_columns) } else { (n_columns, n_rows) };
            let step = length + gap;
            let (first, step_of) =
                if backwards { ((n_lines - 1) * step, -(step as isize)) } else { (0, step as isize) };
            let layout = Layout { by_rows, first, step: step_of };
            let mut numbers = vec![f64::NAN; first.max((n_lines - 1) * step) + length];
            for line in 0..n_lines {
                for place in 0..length {
                    numbers[layout.line(line) + place] = if by_rows { x(line, place) } else { x(place, line) };
                }
            }
            let single: Vec<f32> = numbers.iter().map(|&x| x as f32).collect();
            for numbers in [Numbers::Double(Arc::new(numbers)), Numbers::Single(Arc::new(single))] {
                let shift = (more.iter().any(|&x| x != 0.0)).then(|| more.clone());
                tables.push(Table::new(numbers, layout, (n_rows, n_columns), shift).unwrap());
            }
        }
    }
    tables
}

#[test]
fn blocks_are_the_same_for_every_layout() {
    for (n_rows, n_columns) in [(1, 1), (9, 5), (67, 8), (30, 21)] {
        let all = numbers(n_rows, n_columns);
        for table in tables(&all, n_rows, n_columns) {
            let chosen: Vec<usize> = (0..n_columns).step_by(2).collect();
            for chosen in [None, Some(&chosen[..])] {
                let columns = Columns { table: &table, chosen, intercept: Some(0.5) };
                let (n, stride) = (columns.count(), stride(columns.count()));
                let (rows, mut block) = (n_rows / 3..n_rows, vec![f64::NAN; n_rows * stride]);
                arch().dispatch(Copied(columns, rows.clone(), stride, &mut block));
                for (row, block) in rows.zip(block.chunks_exact(stride)) {
                    for (place, &x) in block.iter().enumerate() {
                        let column = chosen.map_or(place, |chosen| chosen.get(place).copied().unwrap_or(0));
                        let own = place + 1 < n;
                        let expected =
                            if own { all[row * n_columns + column] } else { 0.5 * f64::from(place + 1 == n) };
                        assert_eq!(x, expected);
                    }
                }
            }
        }
    }
}

#[test]
fn some_rows_and_their_entries_are_the_same_for_every_layout() {
    let (n_rows, n_columns) = (9, 5);
    let all = numbers(n_rows, n_columns);
    for table in tables(&all, n_rows, n_columns) {
        for (row, table, own) in [(7, &table, 7), (7, &table.select(&[2, 7]), 1)] {
            let entries: Vec<f64> = table.entries(own).map(|entry| entry.1).collect();
            assert_eq!(entries, &all[row * n_columns..][..n_columns]);
        }
    }
}

#[test]
fn lines_outside_the_memory_are_refused() {
    let refused = |first, step| {
        let numbers = Numbers::Double(Arc::new(vec![0.0; 10]));
        Table::new(numbers, Layout { by_rows: true, first, step }, (3, 2), None).is_err()
    };
    assert_eq!([(0, 2), (0, 4), (8, -4), (4, 0), (4, 2)].map(|(first, step)| refused(first, step)), [false; 5]);
    let outside = [(0, 5), (7, -4), (9, 0), (5, 2), (0, isize::MAX), (usize::MAX, 2), (0, isize::MIN)];
    assert_eq!(outside.map(|(first, step)| refused(first, step)), [true; 7]);
}

#[test]
fn the_first_number_that_is_not_finite_is_named_in_every_layout() {
    for (by_rows, first, step, name) in [(true, 0, 2, "sample 1, column 1"), (false, 4, -2, "sample 1, column 1")] {
        let numbers = Numbers::Double(Arc::new(vec![0.0, 0.0, 0.0, f64::INFINITY, 0.0, f64::NAN]));
        let table = Table::new(numbers, Layout { by_rows, first, step }, if by_rows { (3, 2) } else { (2, 3) }, None);
        assert!(table.err().unwrap().to_string().contains(if by_rows { name } else { "sample 1, column 0" }));
    }
}

#[test]
fn the_matrix_of_products_is_that_of_all_rows_or_of_some_blocks() {
    let pool = threads::pool(2).unwrap();
    for (n_rows, n_columns) in [(5, 3), (300, 17), (2000, 150)] {
        let all = numbers(n_rows, n_columns);
        let diagonal: Vec<f64> = (0..n_rows).map(|i| 1.0 / (1 + i % 5) as f64).collect();
        for (table, step) in tables(&all, n_rows, n_columns).into_iter().zip([1, 3, 1, 2].into_iter().cycle()) {
            let matrix = gram(Columns::all(&table, Some(2.0)), &diagonal, step, pool);
            let rows: Vec<usize> = (0..n_rows).filter(|row| (row / MOST_ROWS).is_multiple_of(step)).collect();
            let x = |row: usize, column: usize| if column < n_columns { all[row * n_columns + column] } else { 2.0 };
            let size = n_columns + 1;
            for (a, b) in [(0, 0), (n_columns, n_columns), (1, n_columns), (n_columns - 1, 0), (size / 2, 1)] {
                let expected: f64 = rows.iter().map(|&row| diagonal[row] * x(row, a) * x(row, b)).sum();
                assert!((matrix[a * size + b] - expected).abs() < 1e-9 * (1.0 + expected.abs()));
            }
        }
    }
}
