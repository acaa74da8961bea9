use headwater_results::schema::Placement;

use super::*;
use crate::facilities;
use crate::plan::rows::of_subject;

fn row() -> Row {
    let entry = facilities::find("sync").expect("a facility of the table");
    of_subject(&(entry.subjects)()[0], entry.info, Placement::Free)
}

#[test]
fn only_the_first_eleven_repetitions_count() {
    let mut batches = vec![5.0; 11];
    batches.extend([0.0; 20]);
    assert_eq!(LmbenchRule::Median.of(&batches, Better::Lower), Some(5.0));
    assert_eq!(LmbenchRule::Best.of(&batches, Better::Lower), Some(5.0));
}

#[test]
fn the_best_is_the_least_time_and_the_highest_rate() {
    let batches = [3.0, 1.0, 2.0];
    assert_eq!(LmbenchRule::Best.of(&batches, Better::Lower), Some(1.0));
    assert_eq!(LmbenchRule::Best.of(&batches, Better::Higher), Some(3.0));
    assert_eq!(LmbenchRule::Median.of(&batches, Better::Higher), Some(2.0));
    assert_eq!(LmbenchRule::Best.of(&[], Better::Higher), None);
}

#[test]
fn the_value_is_added_where_the_row_wants_it() {
    let plain = row();
    let wanting = with_value(plain.clone());
    assert_eq!(wanting.metrics.len(), 2);
    assert_eq!((&*wanting.metrics[1].name, &*wanting.metrics[1].unit), (NAME, &*plain.metrics[0].unit));
    let own = plain.metrics[0].name.clone();
    let mut measured = Measured { series: [(own, vec![1.0, 9.0, 2.0])].into(), ..Measured::default() };
    add(&mut measured, &plain, LmbenchRule::Median);
    assert!(!measured.series.contains_key(NAME));
    add(&mut measured, &wanting, LmbenchRule::Median);
    assert_eq!(measured.series[NAME], [2.0]);
}
