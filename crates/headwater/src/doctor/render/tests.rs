//! Tests of the text of sample findings.

use expect_test::{Expect, expect};

use super::super::Remedy;
use super::*;

fn findings() -> Vec<Finding> {
    let remedy = Remedy {
        what: "Write performance to the governors".to_owned(),
        command: "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor".to_owned(),
        undo: "echo powersave | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor".to_owned(),
    };
    let warning =
        Finding::warning("powersave, not performance", "The clock rate follows the load, so launches differ.");
    vec![
        Finding { topic: "governor", ..warning.with(remedy) },
        Finding { topic: "CPUs", ..Finding::note("2 CPUs may be used", "None is left for the rest of the system.") },
        Finding { topic: "clock source", ..Finding::good("tsc") },
    ]
}

fn check(width: usize, expect: Expect) {
    expect.assert_eq(&render(&findings(), false, width));
}

#[test]
fn text_stands_beside_its_topic() {
    check(
        72,
        expect![[r#"
            warning  governor      powersave, not performance
                                   The clock rate follows the load, so launches
                                   differ.
                                   Write performance to the governors:
                                     do    echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor
                                     undo  echo powersave | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor
            note     CPUs          2 CPUs may be used
                                   None is left for the rest of the system.
            good     clock source  tsc

            1 warning, 1 note, 1 good. Nothing was changed.
        "#]],
    );
}

#[test]
fn narrow_terminal_has_text_below_its_topic() {
    check(
        40,
        expect![[r#"
            warning  governor
                powersave, not performance
                The clock rate follows the load, so
                launches differ.
                Write performance to the governors:
                  do    echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor
                  undo  echo powersave | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor
            note     CPUs
                2 CPUs may be used
                None is left for the rest of the
                system.
            good     clock source
                tsc

            1 warning, 1 note, 1 good. Nothing was changed.
        "#]],
    );
}

#[test]
fn colour_changes_nothing_but_colour() {
    let coloured = render(&findings(), true, 72);
    let mut plain = coloured.clone();
    for code in ["\x1b[1;33m", "\x1b[36m", "\x1b[32m", "\x1b[0m"] {
        assert!(plain.contains(code), "{code:?}");
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, render(&findings(), false, 72));
}

#[test]
fn no_findings_are_counted_too() {
    assert_eq!(render(&[], false, 80), "\n0 warnings, 0 notes, 0 good. Nothing was changed.\n");
}

#[test]
fn long_words_are_not_broken() {
    assert_eq!(wrap("a bb cccccccc d", 5), ["a bb", "cccccccc", "d"]);
    assert_eq!(wrap("", 5), [""; 0]);
}
