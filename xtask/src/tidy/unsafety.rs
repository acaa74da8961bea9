//! `unsafe`: it is permitted only in os, os-tools, shm, the crate that C calls, and in tests that control processes.
//! Every crate root states the rule for its crate.

use std::fmt::Write;

use super::Finding;
use super::source::{code, lines_with_word};
use super::tree::Tree;

/// Where `unsafe` is permitted. C calls trace-c and capi, so their arguments are C's pointers; none of our crates uses
/// them.
const HOMES: [&str; 5] = ["crates/os/", "crates/os-tools/", "crates/shm/", "crates/trace-c/", "crates/capi/"];

/// The attribute that a crate root must have.
const ROOTS: &[(&str, &str)] = &[
    ("crates/results/src/lib.rs", "#![forbid(unsafe_code)]"),
    ("crates/report/src/lib.rs", "#![forbid(unsafe_code)]"),
    ("crates/ring/src/lib.rs", "#![deny(unsafe_code)]"),
    ("crates/trace-tools/src/lib.rs", "#![forbid(unsafe_code)]"),
    ("crates/streams/src/lib.rs", "#![deny(unsafe_code)]"),
    ("crates/terminals/src/lib.rs", "#![forbid(unsafe_code)]"),
    ("crates/xti/src/lib.rs", "#![deny(unsafe_code)]"),
    ("crates/gauge/src/lib.rs", "#![deny(unsafe_code)]"),
    ("crates/headwater/src/lib.rs", "#![deny(unsafe_code)]"),
    ("xtask/src/main.rs", "#![forbid(unsafe_code)]"),
    ("archive/src/main.rs", "#![forbid(unsafe_code)]"),
    ("experiments/src/main.rs", "#![forbid(unsafe_code)]"),
];

/// Checks that every `unsafe` is permitted, and that the crate roots explain it.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in
        ["archive/", "crates/", "experiments/", "xtask/"].iter().flat_map(|folder| tree.files_in(folder, &["rs"]))
    {
        if HOMES.iter().any(|home| path.starts_with(home)) || is_test_program(path) {
            continue;
        }
        let lines = code(text);
        found.extend(
            lines_with_word(&lines, "unsafe")
                .map(|line| Finding::at(path, line, "unsafe belongs in os, os-tools or shm, or a leaf that C calls")),
        );
    }
    for (path, attribute) in ROOTS {
        if tree.text(path).is_some_and(|text| !code(text).contains(attribute)) {
            found.push(Finding::at(path, 1, format!("the crate root lacks {attribute}")));
        }
    }
    for home in HOMES {
        let path = format!("{home}src/lib.rs");
        if tree.text(&path).is_some_and(|text| !text.contains("unsafe")) {
            found.push(Finding::at(
                &path,
                1,
                "the crate root does not say what is unsafe here, and who keeps it sound",
            ));
        }
    }
    found
}

/// Whether the file is in a crate's `tests` folder: separate programs that kill and interrupt processes.
fn is_test_program(path: &str) -> bool {
    path.strip_prefix("crates/")
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(_, file)| file.starts_with("tests/"))
}

/// Returns how often `unsafe` occurs in each file, and in total.
pub fn map(tree: &Tree) -> String {
    let mut map = String::new();
    let mut total = 0;
    for (path, text) in tree.files_in("", &["rs"]) {
        let count = lines_with_word(&code(text), "unsafe").count();
        if count > 0 {
            total += count;
            writeln!(map, "{count:5}  {path}").expect("a string takes all");
        }
    }
    writeln!(map, "{total:5}  in all").expect("a string takes all");
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_stays_at_home() {
        let tree = Tree::from([
            ("crates/os/src/lib.rs", "//! Each module that is unsafe says why.\n"),
            ("crates/os/src/a.rs", "unsafe { f() }\n"),
            ("crates/shm/src/lib.rs", "//! Shared memory.\n"),
            ("crates/headwater/src/lib.rs", "#![deny(unsafe_code)]\nfn unsafe_sounding() {} // unsafe\n"),
            ("crates/headwater/src/b.rs", "\nunsafe { f() }\n"),
            ("crates/headwater/tests/kill.rs", "unsafe { f() }\n"),
            ("crates/report/src/lib.rs", "//! #![forbid(unsafe_code)]\n"),
        ]);
        let found: Vec<(String, usize)> = check(&tree).into_iter().map(|found| (found.path, found.line)).collect();
        let expected =
            [("crates/headwater/src/b.rs", 2), ("crates/report/src/lib.rs", 1), ("crates/shm/src/lib.rs", 1)];
        assert_eq!(found, expected.map(|(path, line)| (path.to_owned(), line)));
    }

    #[test]
    fn the_map_counts_code_only() {
        let tree = Tree::from([("a.rs", "unsafe { unsafe { f() } } // unsafe\n"), ("b.rs", "// unsafe\n")]);
        assert_eq!(map(&tree), "    2  a.rs\n    2  in all\n");
    }
}
