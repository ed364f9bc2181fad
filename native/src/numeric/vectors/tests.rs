//! Laws of the vector operations: the same bits on any number of threads, plain sums, exact zeros.

use crate::numeric::chunks::SMALL;
use crate::numeric::strengths::{Each, Penalty, Same, Strengths};
use crate::numeric::vectors::*;

fn penalty(l1: f64, l2: f64) -> Penalty<'static> {
    Penalty { l1, l2, unpenalised: 0, varied: None }
}

fn vector(n: usize, seed: u64) -> Vec<f64> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            if x.is_multiple_of(5) { 0.0 } else { (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0 }
        })
        .collect()
}

#[test]
fn results_are_bitwise_the_same_on_any_number_of_threads() {
    let n = SMALL * 3 + 17;
    let [a, b, c, d] = [1, 2, 3, 4].map(|seed| vector(n, seed));
    let old: Vec<Vec<u16>> = (5..11).map(|seed| vector(n, seed).into_iter().map(narrow).collect()).collect();
    let units: Vec<f64> = a.iter().map(|a| 1.5 + a).collect();
    let run = |threads: usize| {
        let (mut out, mut s, mut y) = (vec![0.0; n], vec![0; n], vec![0; n]);
        let mut all = norms(&a, threads).to_vec();
        let mut products = vec![0.0; 2 * (old.len() + 2)];
        let (new, from) = (Point { w: &a, g: &b }, Point { w: &c, g: &d });
        let rows: Vec<&[u16]> = old.iter().map(|row| &row[..]).collect();
        let size =
            secant_pair(new, from, Scale(&units), penalty(0.3, 0.1), &rows, &mut s, &mut y, &mut products, threads);
        all.extend([size.most, size.squared, size.slope]);
        let rows: [(&[u16], f64); 5] = [(&s, 0.5), (&y, -1.0), (&s, 2.0), (&y, 0.1), (&s, -0.2)];
        for l1 in [0.0, 0.3] {
            let step = quasi_newton_step(new, Scale(&units), penalty(l1, 0.1), &rows, -3.0, 0.5, &mut out, threads);
            all.extend([step.slope, step.change, step.l1_norm, step.squared]);
            all.extend(&out);
        }
        all.into_iter().chain(products).chain(out).map(f64::to_bits).collect::<Vec<_>>()
    };
    let one = run(1);
    assert!(run(2) == one && run(3) == one);
}

#[test]
fn blocks_left_out_change_no_bit() {
    let n = 3 * CHUNK + 5;
    let rows: Vec<Vec<u16>> = (1..8).map(|k| vector(n, k).into_iter().map(narrow).collect()).collect();
    let rows: Vec<(&[u16], f64)> = rows.iter().map(|row| (&row[..], 0.3)).collect();
    let (l1, zero) = (0.25, vec![0.0; n]);
    let mut g = vector(n, 9);
    g.iter_mut().enumerate().filter(|(i, _)| (i / 37) % 3 != 0).for_each(|(_, g)| *g = 0.0);
    let at = Point { w: &zero, g: &g };
    let mut out = zero.clone();
    let step = quasi_newton_step(at, Scale(&[]), penalty(l1, 0.0), &rows, -1.0, 1.0, &mut out, 1);
    let expected: Vec<f64> = (0..n)
        .map(|i| {
            let v = Same { l1, l2: 0.0 }.derivative(0, 0.0, g[i]);
            let d = rows.iter().fold(-v, |d, (row, by)| widen(row[i]).mul_add(*by, d));
            if d * v < 0.0 { d } else { 0.0 }
        })
        .collect();
    assert!(out == expected && step.slope < 0.0 && out.iter().any(|&x| x != 0.0));
}

#[test]
fn factors_of_one_and_no_signs_change_no_bit() {
    let n = 2 * CHUNK + 7;
    let [w, g, from, before] = [1, 2, 3, 4].map(|seed| vector(n, seed));
    let row: Vec<u16> = vector(n, 5).into_iter().map(narrow).collect();
    let (factors, signs) = (vec![1.0; n], vec![0; n]);
    for (l1, l2) in [(0.0, 0.0), (0.0, 0.3), (0.4, 0.0), (0.4, 0.3)] {
        let run = |penalty: Penalty<'_>| {
            let (mut s, mut y, mut products, mut out) = (vec![0; n], vec![0; n], vec![0.0; 6], vec![0.0; n]);
            let (new, old) = (Point { w: &w, g: &g }, Point { w: &from, g: &before });
            let size = secant_pair(new, old, Scale(&[]), penalty, &[&row], &mut s, &mut y, &mut products, 1);
            let step = quasi_newton_step(new, Scale(&[]), penalty, &[(&row, 0.3)], -1.0, 0.7, &mut out, 1);
            let numbers = [size.most, size.squared, size.slope, step.l1_norm, step.squared];
            (numbers.into_iter().chain(out).chain(products).collect::<Vec<_>>(), s, y)
        };
        let varied = Some(Each { factors: &factors, signs: &signs });
        assert!(run(penalty(l1, l2)) == run(Penalty { varied, ..penalty(l1, l2) }));
    }
}

#[test]
fn no_step_leaves_the_sign_of_a_weight() {
    let n = CHUNK + 9;
    let signs: Vec<i8> = (0..n).map(|i| [-1, 0, 1][i % 3]).collect();
    let w: Vec<f64> = vector(n, 1)
        .iter()
        .zip(&signs)
        .map(|(w, &sign)| if sign == 0 { *w } else { w.abs() * f64::from(sign) })
        .collect();
    let (g, factors) = (vector(n, 2), vector(n, 3).iter().map(|f| f.abs()).collect::<Vec<_>>());
    let penalty = Penalty { varied: Some(Each { factors: &factors, signs: &signs }), ..penalty(0.0, 0.1) };
    let mut out = vec![0.0; n];
    let step = quasi_newton_step(Point { w: &w, g: &g }, Scale(&[]), penalty, &[], -1.0, 3.0, &mut out, 1);
    assert!(out.iter().zip(&signs).all(|(w, &sign)| w * f64::from(sign) >= 0.0));
    assert!(step.slope < 0.0 && out.iter().zip(&signs).any(|(w, &sign)| sign == 0 && *w != 0.0));
    let weighted: f64 = out.iter().zip(&factors).map(|(w, factor)| factor * w.abs()).sum();
    assert!((step.l1_norm - weighted).abs() < 1e-9);
}

#[test]
fn sums_equal_plain_sums() {
    let n = 5000;
    let [a, b] = [7, 8].map(|seed| vector(n, seed));
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let zero = vec![0.0; n];
    let (mut s, mut y, mut products) = (vec![0; n], vec![0; n], vec![0.0; 6]);
    let row: Vec<u16> = a.iter().copied().map(narrow).collect();
    let (new, old) = (Point { w: &a, g: &b }, Point { w: &zero, g: &zero });
    let size = secant_pair(new, old, Scale(&[]), penalty(0.0, 0.5), &[&row], &mut s, &mut y, &mut products, 1);
    let v: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b + 0.5 * a).collect();
    assert_eq!(s, row);
    assert_eq!(y, v.iter().copied().map(narrow).collect::<Vec<_>>());
    assert!((size.slope - dot(&a, &v)).abs() < 1e-10 && (size.squared - norms(&v, 1)[1]).abs() < 1e-10);
    let [s, y] = [s, y].map(|x| x.into_iter().map(widen).collect::<Vec<f64>>());
    let plain = [dot(&s, &v), dot(&s, &v), dot(&y, &v), dot(&s, &y), dot(&s, &y), dot(&y, &y)];
    assert!(products.iter().zip(plain).all(|(product, plain)| (product - plain).abs() < 1e-10));
}

#[test]
fn bfloat16_is_the_nearest() {
    for x in [0.0, 1.0, -2.5, 1e-30, 3e38] {
        assert!((widen(narrow(x)) - x).abs() <= x.abs() / 256.0);
    }
    // Halfway between the neighbours 1 and 1 + 1/128, and between 1 + 1/128 and 1 + 2/128: ties go to the even neighbour.
    assert_eq!([1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0].map(|x| widen(narrow(x))), [1.0, 1.0 + 2.0 / 128.0]);
    assert_eq!([f64::INFINITY, -1e300].map(|x| widen(narrow(x))), [f64::INFINITY, f64::NEG_INFINITY]);
    assert!([f64::NAN, -f64::NAN].iter().all(|&x| widen(narrow(x)).is_nan()));
}

#[test]
fn what_is_not_finite_is_seen() {
    let w = vec![0.0; 20];
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut g = vec![1.0; 20];
        g[13] = bad;
        let size = pseudo_gradient(&w, &g, penalty(0.5, 0.0), &mut [0.0; 20], 1);
        assert!(!size.most.is_finite() && !size.squared.is_finite());
    }
}
