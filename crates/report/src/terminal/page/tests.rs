use headwater_results::schema::Standing;

use super::*;
use crate::testing::{TestRun, messaging};

const STYLE: Style = Style { colour: false, width: 80, unicode: true };

const STOLEN: Flag = Flag::Stolen { share: 0.1 };
const UNSTEADY: Flag = Flag::NotSteady { launches: 2 };
const WIDE: Flag = Flag::WideInterval { per_cent: 30.0 };

/// Returns the marks of each row on a page whose rows have these flags.
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
fn a_flag_of_every_row_is_not_shown_in_cells() {
    assert_eq!(marks(&[&[STOLEN, UNSTEADY], &[STOLEN]]), ["u", ""]);
    assert_eq!(marks(&[&[STOLEN, UNSTEADY], &[]]), ["vu", ""]);
}

#[test]
fn the_width_of_an_interval_is_shown_as_a_number_only() {
    assert_eq!(marks(&[&[WIDE, UNSTEADY], &[]]), ["u", ""]);
}

#[test]
fn each_letter_is_shown_once() {
    assert_eq!(marks(&[&[UNSTEADY, Flag::NotSteady { launches: 1 }], &[]]), ["u", ""]);
}
