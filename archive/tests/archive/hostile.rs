//! Names of hosts, kernels, labels and rows that attack the terminal or browser that shows them: what the terminal and the pages show of an archive
//! holds no control character and no markup of theirs. HEADWATER names the command; `cargo xtask ci` sets it.

use std::fs;

use crate::support::headwater::headwater;
use crate::support::sample::Sample;
use crate::support::{TestDir, expect, on_both};

/// Closes attributes and elements, ends statements, moves the cursor, sets the title of the terminal, turns the text around.
const EVIL: &str = "x\"'><img src=y onerror=alert(1)></script><script>alert(2)</script>'); DROP TABLE run; --\
    \u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\r\n`$(touch owned)`";

/// Checks that a text has no control character but the line feed, and nothing that changes its direction.
fn is_harmless(text: &str, of: &[&str]) {
    let wrong = |character: char| {
        (character.is_control() && character != '\n') || ('\u{202a}'..='\u{202e}').contains(&character)
    };
    if let Some(at) = text.find(wrong) {
        let before: String = text[..at].chars().rev().take(100).collect::<Vec<char>>().into_iter().rev().collect();
        let after: String = text[at..].chars().take(40).collect();
        panic!("{of:?}: {after:?} after {before:?}");
    }
}

/// Six hosts under two kernels, of which the second one is slower.
fn fill(dir: &TestDir, archive: &str) {
    for number in 0..12 {
        let (host, is_new) = (number / 2, number % 2 == 1);
        let sample = Sample {
            host: format!("{EVIL}{host}"),
            machine: Some(format!("{host}<b>\u{1b}[1m")),
            kernel: format!("6.{}{EVIL}", 12 + 6 * u32::from(is_new)),
            started_at: format!("2026-11-1{}T10:00:0{host}Z", u32::from(is_new)),
            labels: vec![(EVIL.to_owned(), EVIL.to_owned())],
            rows: vec![format!("{EVIL}/rtt/64/two-cpus"), "pipe/rtt/64/two-cpus".to_owned()],
            level: if is_new { 0.9e6 } else { 1e6 } * (1.0 + 0.001 * f64::from(host)),
            launches: 6,
            ..Sample::named(&format!("{EVIL}{number}"))
        };
        dir.add(archive, &dir.run(&format!("run{number}"), &sample.lines()));
    }
}

#[test]
fn no_name_in_the_archive_reaches_a_terminal_or_a_page_as_more_than_text() {
    let Some(_) = headwater() else { return };
    on_both(|dir, archive| {
        fill(dir, archive);
        let by_label = ["compare", "archive:", "--by", "date", "--over", EVIL];
        for (arguments, status) in [
            (&["compare", "archive:", "--by", "kernel"][..], 1),
            (&["compare", "archive:", "--by", "kernel", "--csv"], 1),
            (&["compare", "archive:", "--by", "kernel", "--over", "name", "--expect", EVIL], 1),
            (&by_label, 1),
            (&["history", "rtt", "archive:", "--all"], 0),
            (&["show", "archive:last=1"], 0),
            (&["show", "archive:run=nowhere"], 2),
            (&["compare", "archive:", "--by", EVIL], 2),
            (&["archive", "list"], 0),
            (&["archive", "check"], 0),
        ] {
            let output = dir.said(archive, arguments);
            let said = expect(&output, status, &[]);
            // CSV is for programs, and has quotes of its own.
            if !arguments.contains(&"--csv") {
                is_harmless(&said, arguments);
            }
            assert!(!said.contains('\u{1b}'), "{arguments:?}: {said:?}");
        }
        for arguments in [
            &["compare", "archive:", "--by", "kernel", "--title", EVIL, "-o", "page.html"][..],
            &["history", "rtt", "archive:", "-o", "page.html", "--force"],
            &["report", "archive:last=2", "-o", "page.html", "--force"],
        ] {
            let status = i32::from(arguments[0] == "compare");
            expect(&dir.said(archive, arguments), status, &[]);
            let page = fs::read_to_string(dir.path("page.html")).expect("a page");
            assert!(page.contains("&lt;img src=y"), "{arguments:?}: the names are there");
            for wrong in ["<img src=y", "<script>alert", "</script><script>alert", "<b>\u{1b}"] {
                assert!(!page.contains(wrong), "{arguments:?}: {wrong:?} in the page");
            }
            is_harmless(&page, arguments);
        }
        expect(&dir.archive(archive, &["check"]), 0, &["12 runs checked, 0 wrong"]);
        assert!(!dir.path("owned").exists(), "nothing was executed");
    });
}
