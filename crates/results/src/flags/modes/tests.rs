use super::*;
use crate::testing::{Random, noise};

/// The rates of a pipe whose reader sometimes waits and sometimes lags, as in MEASURING's traps.
fn pipe_rates(random: &mut Random, n: usize) -> Vec<f64> {
    (0..n)
        .map(|_| if random.unit() < 0.5 { random.between(1.0e6, 1.4e6) } else { random.between(2.5e6, 3.0e6) })
        .collect()
}

#[test]
fn the_modes_of_a_waiting_and_lagging_pipe_are_found() {
    let mut random = Random::new(1);
    for n in [20, 50, 200, 1000] {
        let hits = (0..200).filter(|_| modes_of(&pipe_rates(&mut random, n)).is_some()).count();
        assert!(hits >= 190, "n = {n}: {hits} of 200");
    }
    let Some(modes) = modes_of(&pipe_rates(&mut random, 200)) else { panic!("not found") };
    assert!((1.1e6..1.3e6).contains(&modes.lower) && (2.65e6..2.85e6).contains(&modes.upper), "{modes:?}");
}

#[test]
fn one_mode_is_not_two() {
    type Draw = fn(&mut Random) -> f64;
    let draws: [(&str, Draw); 4] = [
        ("normal", |random| 100.0 + 10.0 * random.normal()),
        ("uniform", |random| random.between(1.0, 9.0)),
        ("exponential", |random| 1.0 - random.unit().ln()),
        ("disturbed", |random| (0.05 * random.contaminated()).exp()),
    ];
    let mut random = Random::new(2);
    for n in [12, 20, 60] {
        for (name, draw) in draws {
            let hits = (0..2000)
                .filter(|_| modes_of(&(0..n).map(|_| draw(&mut random)).collect::<Vec<_>>()).is_some())
                .count();
            assert!(hits <= 20, "{name}, n = {n}: {hits} of 2000");
        }
        assert_eq!(modes_of(&noise(&mut random, n, 0.0)), None, "constant");
    }
}

#[test]
fn few_or_invalid_values_have_no_modes() {
    for values in [vec![], vec![1.0], vec![1.0, 3.0], vec![1.0; 50], vec![0.0; 50], vec![f64::NAN; 50], vec![-1.0; 50]]
    {
        assert_eq!(modes_of(&values), None, "{values:?}");
    }
    assert_eq!(two_modes(&[], &[]), None);
    assert_eq!(two_modes(&[None], &[1.0]), None);
}

#[test]
fn close_modes_and_rare_values_do_not_count() {
    let of = |upper: f64, every: usize| (0..60).map(|i| if i % every == 0 { upper } else { 1.0 }).collect::<Vec<_>>();
    assert!(modes_of(&of(1.3, 2)).is_some());
    assert_eq!(modes_of(&of(1.1, 2)), None, "closer than the machine's own wandering");
    assert_eq!(modes_of(&of(1.3, 12)), None, "outliers, not a mode");
}

#[test]
fn one_disturbed_launch_does_not_flag_the_row() {
    let modes = Some(Modes { lower: 1.0, upper: 2.0 });
    assert!(two_modes(&[modes], &[]).is_some());
    assert_eq!(two_modes(&[modes, None], &[]), None);
    assert!(two_modes(&[modes, modes], &[]).is_some());
    assert_eq!(two_modes(&[modes, None, None, None, None], &[]), None);
    assert!(two_modes(&[modes, None, modes, None, None], &[]).is_some());
}

#[test]
fn modes_among_launches_are_found() {
    let launches: Vec<f64> = (0..12).map(|i| f64::from(100 + i % 3) * f64::from(1 + i % 2)).collect();
    let Some(Flag::TwoModes { ratio, .. }) = two_modes(&[None; 12], &launches) else { panic!("not found") };
    assert!((ratio - 2.0).abs() < 0.05, "{ratio}");
    let wandering = noise(&mut Random::new(9), 12, 0.2);
    assert_eq!(two_modes(&[None; 12], &wandering), None);
}
