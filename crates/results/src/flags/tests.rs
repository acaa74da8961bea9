use std::collections::BTreeSet;

use super::*;

/// One of each kind.
pub(crate) fn one_of_each() -> Vec<Flag> {
    vec![
        Flag::FewLaunches { n: 3 },
        Flag::NotSteady { launches: 2 },
        Flag::Autocorrelated { lag1: 0.71 },
        Flag::Sloped { per_cent: -12.5 },
        Flag::ChangePoint { at_launch: 5, ratio: 0.8 },
        Flag::TwoModes { ratio: 2.25, lower: 1.2e6, upper: 2.7e6 },
        Flag::Quantised { step_ns: 100.0, batch_ns: 2000.0 },
        Flag::TooFewSamples { n: 4 },
        Flag::Stolen { share: 0.034 },
        Flag::ForeignLoad { share: 0.12 },
        Flag::Throttled { seconds: 0.25 },
        Flag::InvoluntarySwitches { per_second: 412.0 },
        Flag::WideInterval { per_cent: 23.0 },
    ]
}

#[test]
fn letters_are_distinct() {
    let letters: BTreeSet<char> = one_of_each().iter().map(Flag::letter).collect();
    assert_eq!(letters.len(), one_of_each().len());
    assert!(letters.iter().all(char::is_ascii_lowercase));
}

#[test]
fn sentences_are_short_and_contain_the_numbers() {
    let sentences: Vec<String> = one_of_each().iter().map(Flag::sentence).collect();
    assert!(sentences.iter().all(|sentence| sentence.len() <= 72 && sentence.contains(|c: char| c.is_ascii_digit())));
    assert_eq!(sentences[3], "drifts by -12 % over the run");
    assert_eq!(sentences[4], "changes to 0.80 times the level at launch 6");
    assert_eq!(Flag::FewLaunches { n: 1 }.sentence(), "a single launch: no interval");
}

#[test]
fn stored_names_are_snake_case_and_come_back() {
    for flag in one_of_each() {
        let text = serde_json::to_string(&flag).expect("a flag is plain data");
        assert_eq!(serde_json::from_str::<Flag>(&text).expect("what was written is read"), flag, "{text}");
    }
    let text = serde_json::to_string(&Flag::FewLaunches { n: 3 }).expect("a flag is plain data");
    assert_eq!(text, r#"{"flag":"few_launches","n":3}"#);
}
