use headwater_results::schema::Standing;

use super::*;
use crate::testing::{TestRun, messaging};

const STYLE: Style = Style { colour: false, width: 80, unicode: true };

const STOLEN: Flag = Flag::Stolen { share: 0.1 };
const UNSTEADY: Flag = Flag::NotSteady { launches: 2 };
const WIDE: Flag = Flag::WideInterval { per_cent: 30.0 };

/// The marks of the flags of each row, on a page with rows that have these.
fn marks(flags: &[&[Flag]]) -> Vec<String> {
    let mut made = TestRun::new(12);
    for size in 0..flags.len() {
        made.measure(&messaging("pipe", Standing::Candidate, "stream", size as u64), &[1e6], 0.01);
    }
    let mut run = made.run(None);
    for (result, flags) in run.results.iter_mut().zip(flags) {
        result.flags = flags.to_vec();
    }
    let page = Page::new(&run, &STYLE, ShowOptions::default());
    run.results.iter().map(|result| page.marks(&result.flags)).collect()
}

#[test]
fn a_letter_that_every_row_has_says_nothing_in_a_cell() {
    assert_eq!(marks(&[&[STOLEN, UNSTEADY], &[STOLEN]]), ["u", ""]);
    assert_eq!(marks(&[&[STOLEN, UNSTEADY], &[]]), ["vu", ""]);
}

#[test]
fn the_width_of_an_interval_stands_there_as_a_number() {
    assert_eq!(marks(&[&[WIDE, UNSTEADY], &[]]), ["u", ""]);
}

#[test]
fn letters_are_said_once() {
    assert_eq!(marks(&[&[UNSTEADY, Flag::NotSteady { launches: 1 }], &[]]), ["u", ""]);
}
