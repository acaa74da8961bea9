use super::*;

const MARKS: WaterMarks = WaterMarks { hiwat: 100, lowat: 40 };

fn band(count: u32) -> Band {
    Band { count: AtomicU32::new(count), flags: AtomicU32::new(0) }
}

#[test]
fn full_is_above_hiwat_until_below_lowat() {
    let after = |counts: &[u64]| counts.iter().fold(false, |full, count| MARKS.is_full(*count, full));
    for (counts, full) in [
        (&[100][..], false),
        (&[101], true),
        (&[101, 100, 40], true),
        (&[101, 39], false),
        (&[101, 39, 100], false),
        (&[101, 0], false),
    ] {
        assert_eq!(after(counts), full, "{counts:?}");
    }
    // A message longer than hiwat, and marks of 0: an empty queue takes something.
    let none = WaterMarks { hiwat: 0, lowat: 0 };
    assert!(!none.is_full(0, true) && none.is_full(1, true));
}

#[test]
fn marks_stay_within_the_window_and_without_hysteresis_lowat_is_above_hiwat() {
    let flow = || Flow {
        hiwat: AtomicU32::new(0),
        lowat: AtomicU32::new(0),
        maxpsz: AtomicU32::new(0),
        minpsz: AtomicU32::new(0),
        full: AtomicU32::new(0),
    };
    let (with, without) = (flow(), flow());
    WaterMarks::store(&with, 100, 40, true);
    WaterMarks::store(&without, 100, 40, false);
    assert_eq!(WaterMarks::of(&with), MARKS);
    assert_eq!(WaterMarks::of(&without).within(50), WaterMarks { hiwat: 50, lowat: 51 });
    assert_eq!(WaterMarks::of(&with).within(30), WaterMarks { hiwat: 30, lowat: 30 });
    let without = WaterMarks::of(&without);
    assert!(without.is_full(101, true) && !without.is_full(100, true));
}

#[test]
fn low_water_back_enables_once_and_only_whoever_was_refused() {
    let queue = band(101);
    assert!(!count_down(&queue, MARKS, 101), "nobody was refused");
    count_up(&queue, 101);
    assert!(!can_put(&queue, MARKS, true) && !may_go_on(&queue, MARKS));
    assert!(!count_down(&queue, MARKS, 61), "40 is not below 40");
    assert!(!may_go_on(&queue, MARKS));
    assert!(count_down(&queue, MARKS, 1), "39 is");
    assert!(may_go_on(&queue, MARKS));
    assert!(!count_down(&queue, MARKS, 1), "once");
    assert!(can_put(&queue, MARKS, true));
}

#[test]
fn who_is_refused_for_want_of_memory_waits_as_well() {
    let queue = band(10);
    assert!(!can_put(&queue, MARKS, false));
    assert!(may_go_on(&queue, MARKS), "the band has room");
    assert!(count_down(&queue, MARKS, 1));
}
