//! Plans that can show nothing say so, and those that can do not.

use super::super::RunRequest;
use super::*;

fn plan(launches: Option<u32>, budget_s: Option<f64>, variants: &[&str]) -> Plan {
    let request = RunRequest {
        selection: vec!["pipe".to_owned()],
        launches,
        budget_s,
        variants: variants.iter().map(|variant| (*variant).to_owned()).collect(),
        ..RunRequest::default()
    };
    Plan::new(&request, 2, || 1).expect("a pipe")
}

const TWO: [&str; 2] = ["a=", "b="];

#[test]
fn five_launches_of_variants_show_nothing_and_six_do() {
    let few = plan(Some(5), None, &TWO);
    let found = few.undecided().expect("2 / 2^5 is above 5 %");
    assert_eq!((found.launches, found.needed, found.rows, found.is_budget), (5, 6, few.rows.len() / 2, false));
    assert!((found.more_s - few.estimate_s() / 5.0).abs() < 1e-6, "{found:?}");
    assert_eq!(plan(Some(6), None, &TWO).undecided(), None, "rows of the same blocks are tested together");
    assert_eq!(plan(Some(3), None, &[]).undecided(), None, "nothing is compared");
    assert_eq!(plan(Some(3), Some(0.001), &[]).undecided(), None, "nor with a budget of less than a launch");
}

#[test]
fn a_budget_that_holds_too_few_launches_says_so() {
    let whole_s = plan(Some(12), None, &TWO).estimate_s();
    let found = plan(Some(12), Some(whole_s / 4.0), &TWO).undecided().expect("three launches");
    assert_eq!((found.launches, found.needed, found.is_budget), (3, 6, true));
    assert_eq!(plan(Some(12), Some(whole_s * 0.8), &TWO).undecided(), None);
}

#[test]
fn a_short_budget_shortens_launches_of_variants_but_leaves_enough() {
    let squeezed = plan(None, Some(0.1), &TWO);
    assert_eq!(squeezed.settings.launches, 6);
    assert!(plan(None, Some(0.1), &[]).settings.launches < 6);
}
