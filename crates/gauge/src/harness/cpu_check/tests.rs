//! What counts as disturbed, and that the guard keeps to its allowance.

use super::*;

#[test]
fn the_slowest_cpu_counts_against_the_best_time_ever() {
    let mut cpu_check = CpuCheck::new(&[0], 1.0);
    assert_eq!(cpu_check.judge(&[1000]), 1.0);
    assert_eq!(cpu_check.judge(&[1000, 1500]), 1.5);
    assert_eq!(cpu_check.judge(&[500, 1000]), 2.0);
    assert_eq!(cpu_check.judge(&[1000]), 2.0, "the best is remembered");
    assert_eq!(cpu_check.judge(&[]), 1.0, "what cannot be looked at is not disturbed");
}

#[test]
fn a_disturbed_launch_is_tried_again_until_attempts_or_allowance_end() {
    let mut cpu_check = CpuCheck::new(&[0], 0.25);
    assert!(!cpu_check.should_repeat(1.03, 1, 0.1), "not disturbed");
    assert!(cpu_check.should_repeat(1.25, 1, 0.1));
    assert!(!cpu_check.should_repeat(1.25, ATTEMPTS_MAX, 0.1), "the last attempt counts");
    assert!(cpu_check.should_repeat(1.25, 2, 0.1));
    assert!(!cpu_check.should_repeat(1.25, 3, 0.1), "0.05 s are left");
}

#[test]
fn looking_leaves_the_process_where_it_was() {
    let before = cpu::allowed().expect("this process has CPUs");
    let mut cpu_check = CpuCheck::new(&before, 0.0);
    assert!(cpu_check.slowdown(Some((before[0], before[0]))) >= 1.0);
    assert_eq!(cpu::allowed().expect("it still has"), before);
}

#[test]
fn the_loop_is_not_optimised_away() {
    let start = clock::now_ns();
    std::hint::black_box(four_chains(std::hint::black_box(1)));
    // Four chains of six operations each cannot run faster than eight operations per cycle of 10 GHz.
    assert!(clock::now_ns() - start > ROUNDS * 24 / 80);
}
