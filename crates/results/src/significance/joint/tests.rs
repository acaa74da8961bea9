//! Tests against every exchange counted one by one, and of the promise.

use super::*;
use crate::testing::Random;

/// Counts every exchange of blocks, and every set of weaker rows, as the definition says.
fn counted(rows: &[Vec<f64>]) -> Vec<f64> {
    let statistic = |row: &[f64], exchange: u32| {
        let sum: f64 = row.iter().enumerate().map(|(at, d)| if exchange >> at & 1 == 1 { -d } else { *d }).sum();
        sum.abs() / row.iter().map(|d| d * d).sum::<f64>().sqrt()
    };
    let observed: Vec<f64> = rows.iter().map(|row| statistic(row, 0)).collect();
    let exchanges = 1_u32 << rows[0].len();
    let step = |row: usize| {
        let weaker: Vec<&Vec<f64>> =
            (0..rows.len()).filter(|&at| observed[at] <= observed[row]).map(|at| &rows[at]).collect();
        let largest = |exchange| weaker.iter().map(|row| statistic(row, exchange)).fold(0.0, f64::max);
        (0..exchanges).filter(|&exchange| largest(exchange) >= observed[row] - 1e-9).count() as f64
            / f64::from(exchanges)
    };
    let steps: Vec<f64> = (0..rows.len()).map(step).collect();
    let at_least = |row: usize| {
        (0..rows.len()).filter(|&at| observed[at] >= observed[row]).map(|at| steps[at]).fold(0.0, f64::max)
    };
    (0..rows.len()).map(at_least).collect()
}

#[test]
fn p_values_are_those_of_all_exchanges() {
    let mut random = Random::new(1);
    for (rows, blocks) in [(1, 6), (5, 6), (7, 9), (3, 1)] {
        let rows: Vec<Vec<f64>> = (0..rows)
            .map(|row| (0..blocks).map(|_| f64::from(row) * 0.4 + random.normal().clamp(-2.0, 2.0)).collect())
            .collect();
        // No value is far enough from the others to be bounded.
        let is_bounded = |row: &Vec<f64>| {
            let mut distances: Vec<f64> = row.iter().map(|value| value.abs()).collect();
            distances.sort_by(f64::total_cmp);
            distances[distances.len() - 1] > DISTANCES_MAX * distances[distances.len() / 2]
        };
        let rows: Vec<Vec<f64>> = rows.into_iter().filter(|row| !is_bounded(row)).collect();
        let found = adjusted(&rows.iter().map(|row| &row[..]).collect::<Vec<_>>());
        for (found, counted) in found.iter().zip(counted(&rows)) {
            assert!((found - counted).abs() < 1e-12, "{found}, not {counted}");
        }
    }
}

#[test]
fn six_blocks_show_one_large_difference_among_a_thousand_rows() {
    let mut random = Random::new(2);
    let mut rows: Vec<Vec<f64>> = (0..1000).map(|_| (0..6).map(|_| 0.02 * random.normal()).collect()).collect();
    rows[7].iter_mut().for_each(|value| *value = 2f64.ln() + 0.02 * *value);
    let found = adjusted(&rows.iter().map(|row| &row[..]).collect::<Vec<_>>());
    assert_eq!(found[7], smallest(6));
    assert!(found.iter().enumerate().all(|(row, p)| row == 7 || *p > 0.05), "{found:?}");
}

#[test]
fn more_blocks_than_groups_and_equal_rows_are_judged() {
    let values: Vec<f64> = (0..40).map(|at| 0.05 + 0.001 * f64::from(at % 3)).collect();
    let equal = vec![0.0; 40];
    assert_eq!(adjusted(&[&values, &equal]), [smallest(40), 1.0]);
    assert_eq!(adjusted(&[]), [0.0; 0]);
    assert_eq!(adjusted(&[&[]]), [1.0]);
}

#[test]
fn equal_rows_of_any_dependence_seldom_differ() {
    let mut random = Random::new(3);
    let mut wrong = |shared: f64| {
        (0..400)
            .filter(|_| {
                let block: Vec<f64> = (0..8).map(|_| shared * random.normal()).collect();
                let rows: Vec<Vec<f64>> =
                    (0..30).map(|_| block.iter().map(|block| block + random.contaminated()).collect()).collect();
                adjusted(&rows.iter().map(|row| &row[..]).collect::<Vec<_>>()).iter().any(|p| *p <= 0.05)
            })
            .count()
    };
    // Three standard deviations above 20 of 400.
    for shared in [0.0, 3.0] {
        let wrong = wrong(shared);
        assert!(wrong <= 33, "{wrong} of 400 with a shared part of {shared}");
    }
}
