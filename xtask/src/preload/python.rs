//! Compares the outcome of each test of Python's own suite. Called by `preload`. A test whose outcome differs is run by itself
//! several times more on both sides, because some depend on time.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::{Options, program};
use crate::shell;

/// Modules that use descriptors, processes and signals.
const MODULES: [&str; 10] = [
    "test_os",
    "test_subprocess",
    "test_select",
    "test_selectors",
    "test_poll",
    "test_epoll",
    "test_fcntl",
    "test_pty",
    "test_popen",
    "test_signal",
];

/// How often a test that differs is run again, on both sides.
const AGAIN: usize = 3;

/// The outcome of each test, by its name.
type Outcomes = BTreeMap<String, String>;

/// Runs the modules without the library and with it. Returns the tests that end otherwise with it each time.
///
/// # Errors
/// If the tests cannot be run.
pub fn compare(options: &Options, library: &Path) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    for module in MODULES.into_iter().filter(|module| options.has(module)) {
        let (plain, _) = run(options, None, module, &[])?;
        let (preloaded, texts) = run(options, Some(library), module, &[])?;
        ensure!(!plain.is_empty(), "{module} has no tests");
        let good = plain.values().filter(|outcome| *outcome == "ok").count();
        println!("{module}: {} tests, {good} succeed without the library", plain.len());
        for (name, outcome) in &plain {
            let seen = preloaded.get(name).map_or("not run", String::as_str);
            if seen != outcome && stays_different(options, library, module, name)? {
                let text = texts.get(name).map_or("", String::as_str);
                differences.push(format!("{name}: without: {outcome}; with: {seen}\n{text}"));
            }
        }
        if preloaded.is_empty() {
            differences.push(format!("{module}: the process ended before its tests did"));
        }
    }
    Ok(differences)
}

/// Whether a test by itself ends in one way without the library and in another way with it, each time.
fn stays_different(options: &Options, library: &Path, module: &str, name: &str) -> Result<bool> {
    let outcome = |library: Option<&Path>| -> Result<String> {
        Ok(run(options, library, module, &[name])?.0.remove(name).unwrap_or_else(|| "not run".into()))
    };
    for _ in 0..AGAIN {
        if outcome(None)? == outcome(Some(library))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Runs a module or some of its tests. The second map has the texts of failures.
fn run(options: &Options, library: Option<&Path>, module: &str, tests: &[&str]) -> Result<(Outcomes, Outcomes)> {
    let directory = tempfile::tempdir()?;
    let result = directory.path().join("outcomes");
    let script = shell::root().join("crates/capi/tests/foreign/outcomes.py");
    let words = [&*options.python, &*script, &*result, Path::new(module)];
    program(library, &words)
        .args(tests)
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("timeout")?;
    let text = fs::read_to_string(&result).unwrap_or_default();
    let mut outcomes = Outcomes::new();
    let mut texts = Outcomes::new();
    for line in text.lines().filter(|line| !line.starts_with('\t')) {
        match line.split_once('\t') {
            Some(("text", rest)) => {
                let (name, _) = rest.split_once(": ").unwrap_or((rest, ""));
                let from = text.find(rest).unwrap_or_default();
                let whole = text[from..].lines().skip(1).take_while(|line| line.starts_with('\t')).collect::<Vec<_>>();
                texts.insert(name.to_owned(), whole.join("\n"));
            }
            Some((outcome, name)) => {
                outcomes.insert(name.to_owned(), outcome.to_owned());
            }
            None => {}
        }
    }
    Ok((outcomes, texts))
}
