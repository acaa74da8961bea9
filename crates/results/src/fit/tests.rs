//! Tests with known lines, with and without knees.

use super::*;
use crate::testing::Random;

/// Twelve blocks over the sizes 1..64k, with the given delay and relative noise; each block has a level of its own.
fn points(seed: u64, noise: f64, delay_s: impl Fn(f64) -> f64) -> Vec<DelayPoint> {
    let mut random = Random::new(seed);
    let levels: Vec<f64> = (0..12).map(|_| 1.0 + noise * random.normal()).collect();
    (0..17)
        .map(|power| {
            let size_bytes = 1u64 << power;
            let delays_s = levels
                .iter()
                .map(|level| delay_s(size_bytes as f64) * level * (1.0 + noise * random.normal()))
                .collect();
            DelayPoint { size_bytes, delays_s, blocks: (0..12).collect() }
        })
        .collect()
}

#[test]
fn a_clean_line_is_found_exactly() {
    let fit = fit_delay(&points(1, 0.0, |size| 1e-6 + size * 2e-10)).expect("a fit");
    let [segment] = &fit.segments[..] else { panic!("{fit:?}") };
    assert!((segment.alpha_s.value / 1e-6 - 1.0).abs() < 1e-9, "{segment:?}");
    assert!((segment.beta_s_per_byte.value / 2e-10 - 1.0).abs() < 1e-9);
    assert!((segment.bandwidth_bytes_per_s.expect("beta is positive").value / 5e9 - 1.0).abs() < 1e-9);
    assert!((segment.half_size_bytes.expect("both are positive").value / 5000.0 - 1.0).abs() < 1e-9);
    assert_eq!((segment.size_min, segment.size_max, segment.points), (1, 65536, 17));
    assert!(segment.residuals.iter().all(|(_, share)| share.abs() < 1e-9));
}

#[test]
fn intervals_have_their_stated_coverage() {
    let mut covered = [0, 0];
    for seed in 0..400 {
        let fit = fit_delay(&points(seed, 0.05, |size| 1e-6 + size * 2e-10)).expect("a fit");
        let line = &fit.segments[0];
        covered[0] += u32::from(line.alpha_s.low <= 1e-6 && 1e-6 <= line.alpha_s.high);
        covered[1] += u32::from(line.beta_s_per_byte.low <= 2e-10 && 2e-10 <= line.beta_s_per_byte.high);
    }
    // Twelve blocks give 96.1 %; four standard deviations of binomial(400, 0.961) are 15.
    assert!(covered.iter().all(|&count| count > 384 - 16), "{covered:?}");
}

#[test]
fn noise_does_not_cause_a_knee() {
    let knees = (0..400)
        .filter(|&seed| fit_delay(&points(seed, 0.15, |size| 1e-6 + size * 2e-10)).expect("a fit").segments.len() > 1)
        .count();
    assert!(knees <= 4, "{knees} of 400");
}

#[test]
fn a_knee_is_found_where_it_is() {
    // Beyond 4 KiB a byte costs four times as much, as beyond the size of a cache.
    let bent = |size: f64| 1e-6 + size * 2e-10 + (size - 4096.0).max(0.0) * 6e-10;
    let mut found = 0;
    for seed in 0..100 {
        let fit = fit_delay(&points(seed, 0.03, bent)).expect("a fit");
        found += u32::from(fit.segments.len() > 1 && (2048..=16384).contains(&fit.segments[0].size_max));
    }
    assert!(found >= 95, "{found} of 100");
}

#[test]
fn a_jump_is_a_knee() {
    // Messages above 4 KiB have a higher fixed cost, as with another code path.
    let jump = |size: f64| if size > 4096.0 { 9e-6 + size * 2e-10 } else { 1e-6 + size * 2e-10 };
    let fit = fit_delay(&points(3, 0.02, jump)).expect("a fit");
    assert_eq!((fit.segments[0].size_max, fit.segments[1].size_min), (4096, 8192), "{fit:?}");
}

#[test]
fn too_few_or_invalid_points_are_not_fitted() {
    assert_eq!(fit_delay(&[]), None);
    let two: Vec<DelayPoint> = points(1, 0.0, |size| size).into_iter().take(2).collect();
    assert_eq!(fit_delay(&two), None);
    let bad = |value: f64| {
        let mut points = points(1, 0.0, |size| size);
        points[4].delays_s.fill(value);
        fit_delay(&points)
    };
    for value in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        assert_eq!(bad(value), None, "{value}");
    }
}

#[test]
fn a_block_without_all_sizes_is_left_out() {
    let mut points = points(1, 0.0, |size| 1e-6 + size * 2e-10);
    points[3].delays_s.truncate(5);
    points[3].blocks.truncate(5);
    // A value of a block that no other size has must not count.
    points[5].blocks[0] = 77;
    let fit = fit_delay(&points).expect("four whole blocks are left");
    assert!((fit.segments[0].alpha_s.value / 1e-6 - 1.0).abs() < 1e-9);
}

#[test]
fn a_flat_delay_has_no_bandwidth() {
    let fit = fit_delay(&points(5, 0.02, |_| 1e-6)).expect("a fit");
    assert_eq!(fit.segments.len(), 1);
    assert_eq!(fit.segments[0].bandwidth_bytes_per_s, None);
}

#[test]
fn huge_and_tiny_values_stay_finite() {
    for scale in [1e-300, 1e300] {
        let fit = fit_delay(&points(6, 0.01, |size| scale * (1.0 + size))).expect("a fit");
        assert!(
            fit.segments.iter().all(|line| line.alpha_s.value.is_finite() && line.beta_s_per_byte.value.is_finite())
        );
    }
}
