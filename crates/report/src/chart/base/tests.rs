use headwater_results::schema::{RunStatus, Standing};

use super::Reference;
use crate::chart::source::Source;
use crate::testing::{TestRun, messaging, overview};

#[test]
fn the_base_is_the_requested_one_or_the_pipe() {
    let run = overview(6).run(Some(RunStatus::Complete));
    let one = [("monday".to_owned(), &run)];
    let of = |wanted| Source::new(&one, &[], wanted).base;
    assert_eq!(of(None), Some(Reference::Subject("pipe")));
    assert_eq!(of(Some("tcp")), Some(Reference::Subject("tcp")));
    assert_eq!(of(Some("nobody")), Some(Reference::Subject("pipe")));
    assert_eq!(of(Some("monday")), Some(Reference::Run(0, "monday")));
}

#[test]
fn a_single_subject_has_no_base() {
    let mut made = TestRun::new(6);
    made.measure(&messaging("pipe", Standing::Candidate, "stream", 64), &[1e6], 0.0);
    let run = made.run(Some(RunStatus::Complete));
    let one = [("monday".to_owned(), &run)];
    assert_eq!(Source::new(&one, &[], None).base, None);
    let two = [("monday".to_owned(), &run), ("tuesday".to_owned(), &run)];
    assert_eq!(Source::new(&two, &[], None).base, Some(Reference::Run(0, "monday")));
}
