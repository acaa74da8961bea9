//! `purity`: results and report are functions of their arguments. They read no file, clock, environment or network and
//! print nothing; their tests may. `environment`: what programs link reads the environment in one place, which refuses to in a
//! set-user-ID process.

use super::Finding;
use super::source::{lines_with_word, product_code, test_only};
use super::tree::Tree;

/// The folders of the pure crates.
const PURE: [&str; 2] = ["crates/results/src/", "crates/report/src/"];

/// Modules of the standard library that access the outside.
const MODULES: [&str; 4] = ["fs", "env", "process", "net"];

/// Names that access it, however they are imported.
const NAMES: [&str; 9] =
    ["stdin", "stdout", "stderr", "Instant", "SystemTime", "print", "println", "eprint", "eprintln"];

/// The folders of what programs link.
const LINKED: [&str; 4] = ["crates/os/src/", "crates/shm/src/", "crates/streams/src/", "crates/trace/src/"];

/// Files of those that may name the environment: the one that asks for the rights of the process first; the places at which
/// tests kill a process, which are compiled in only by the feature `probes`; the directory of devices, for `env::temp_dir`, whose
/// TMPDIR the C library removes from the environment of a set-user-ID process (ld.so(8)); and the one that sets a variable of a
/// program that is being started.
const READERS: [&str; 4] = [
    "crates/os/src/environment.rs",
    "crates/shm/src/probe.rs",
    "crates/streams/src/process/directory.rs",
    "crates/streams/src/open/passed.rs",
];

/// Names by which a program reads its environment.
const ENVIRONMENT: [&str; 7] = ["env", "environ", "getenv", "secure_getenv", "var_os", "vars", "vars_os"];

/// No crate that programs link reads the environment by itself.
pub fn environment(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in LINKED.iter().flat_map(|folder| tree.files_in(folder, &["rs"])) {
        if test_only(tree, path) || READERS.contains(&path) {
            continue;
        }
        let code = product_code(text);
        for (line, name) in
            ENVIRONMENT.iter().flat_map(|name| lines_with_word(&code, name).map(move |line| (line, *name)))
        {
            let why = "ask headwater_os::environment::trusted: a set-user-ID process must not believe its environment";
            found.push(Finding::at(path, line, format!("{name}: {why}")));
        }
    }
    found
}

/// Checks that no pure crate uses anything impure.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in PURE.iter().flat_map(|folder| tree.files_in(folder, &["rs"])) {
        if test_only(tree, path) {
            continue;
        }
        let code = product_code(text);
        let names = NAMES.iter().flat_map(|name| lines_with_word(&code, name).map(move |line| (line, *name)));
        for (line, name) in names.chain(impure_modules(&code)) {
            found.push(Finding::at(path, line, format!("{name} is for headwater: this crate only computes")));
        }
    }
    found
}

/// Returns the uses of [`MODULES`], written `std::fs` or within `std::{...}`.
fn impure_modules(code: &str) -> Vec<(usize, &'static str)> {
    let mut uses = Vec::new();
    for (start, _) in code.match_indices("std::") {
        let rest = &code[start + "std::".len()..];
        let heads = if rest.starts_with('{') { group_heads(rest) } else { vec![(0, head(rest))] };
        for (at, name) in heads {
            if let Some(module) = MODULES.iter().find(|module| **module == name) {
                let line = code[..start + "std::".len() + at].matches('\n').count() + 1;
                uses.push((line, *module));
            }
        }
    }
    uses
}

/// Returns the first name of each path in a group `{a::b, c}`, with its position.
fn group_heads(group: &str) -> Vec<(usize, &str)> {
    let (mut heads, mut depth, mut expect) = (Vec::new(), 0, false);
    for (at, character) in group.char_indices() {
        match character {
            '{' => (depth, expect) = (depth + 1, depth == 0),
            '}' => depth -= 1,
            ',' => expect = depth == 1,
            character if expect && !character.is_whitespace() => {
                heads.push((at, head(&group[at..])));
                expect = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    heads
}

fn head(path: &str) -> &str {
    path.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pure_crate_touches_nothing_outside() {
        for (text, lines) in [
            ("use std::fs;\n", vec![1]),
            ("use std::{\n    fmt,\n    net::{TcpStream, env},\n    process::exit,\n};\n", vec![3, 4]),
            ("fn f() { std::env::args(); }\n", vec![1]),
            ("use std::io::{self, stdout};\n", vec![1]),
            ("let t = Instant::now();\n", vec![1]),
            ("println!();\n", vec![1]),
            ("use std::io::Write; // std::fs\nlet s = \"println\";\n", vec![]),
            ("#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n", vec![]),
        ] {
            let tree = Tree::from([("crates/report/src/a.rs", text)]);
            let found: Vec<usize> = check(&tree).iter().map(|found| found.line).collect();
            assert_eq!(found, lines, "{text}");
        }
    }

    #[test]
    fn what_programs_link_reads_the_environment_in_one_place() {
        let read = "fn f() { std::env::var_os(\"A\"); }\n";
        let tree = Tree::from([
            ("crates/trace/src/a.rs", read),
            ("crates/os/src/environment.rs", read),
            ("crates/headwater/src/a.rs", read),
            ("crates/streams/src/a/tests.rs", read),
            ("crates/shm/src/a.rs", "#[cfg(test)]\nmod tests {\n    use std::env;\n}\n// getenv\n"),
        ]);
        let found: Vec<_> = environment(&tree).into_iter().map(|found| (found.path, found.line)).collect();
        assert_eq!(found, [("crates/trace/src/a.rs".to_owned(), 1), ("crates/trace/src/a.rs".to_owned(), 1)]);
    }

    #[test]
    fn tests_and_other_crates_may() {
        let tree = Tree::from([
            ("crates/results/src/lib.rs", "#[cfg(test)]\nmod testing;\n"),
            ("crates/results/src/testing.rs", "use std::fs;\n"),
            ("crates/results/src/a/tests.rs", "use std::fs;\n"),
            ("crates/headwater/src/a.rs", "use std::fs;\n"),
        ]);
        assert_eq!(check(&tree), []);
    }
}
