//! `cargo xtask tidy`: checks the project's rules. One file per kind of rule, and the table below; CONTRIBUTING.md
//! lists the rules by the names in the table.
//!
//! A check is a pure function from the repository's texts to violations. It changes nothing.

use std::fmt;

use anyhow::{Result, bail};

use crate::shell;

mod fresh;
mod language;
mod layers;
mod links;
mod map;
mod named;
mod purity;
mod shape;
mod source;
mod tables;
mod text;
mod tree;
mod unsafety;

use tree::Tree;

/// The options of `tidy`.
#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Print how often `unsafe` stands in each file, instead of checking
    #[arg(long)]
    unsafe_map: bool,
}

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The file, as a path in the repository.
    path: String,
    /// The line number, from 1.
    line: usize,
    /// The rule's name.
    rule: &'static str,
    /// The problem and the remedy.
    message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}: {}", self.path, self.line, self.rule, self.message)
    }
}

/// A rule, with its name in CONTRIBUTING.md.
struct Rule {
    name: &'static str,
    check: fn(&Tree) -> Vec<Finding>,
}

/// A [`Violation`] without the name of its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    fn at(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, message: message.into() }
    }
}

/// All rules, in the order of CONTRIBUTING.md.
static RULES: &[Rule] = &[
    Rule { name: "layers", check: layers::edges },
    Rule { name: "linked", check: layers::linked },
    Rule { name: "components", check: layers::components },
    Rule { name: "libc", check: layers::libc },
    Rule { name: "purity", check: purity::check },
    Rule { name: "environment", check: purity::environment },
    Rule { name: "unsafe", check: unsafety::check },
    Rule { name: "doc", check: shape::doc },
    Rule { name: "length", check: shape::length },
    Rule { name: "tables", check: tables::check },
    Rule { name: "links", check: links::check },
    Rule { name: "guarantees", check: named::guarantees },
    Rule { name: "decisions", check: named::decisions },
    Rule { name: "paths", check: text::machine_paths },
    Rule { name: "registry", check: text::registries },
    Rule { name: "flags", check: text::flags },
    Rule { name: "blanks", check: text::blanks },
    Rule { name: "language", check: language::check },
    Rule { name: "map", check: map::crates },
    Rule { name: "glossary", check: map::glossary },
    Rule { name: "rules", check: rules },
];

/// Checks every rule and prints every violation.
pub fn run(options: &Options) -> Result<()> {
    let tree = Tree::read(shell::root())?;
    if options.unsafe_map {
        print!("{}", unsafety::map(&tree));
        return Ok(());
    }
    let mut violations = check(&tree, RULES);
    violations.extend(fresh::check(&tree, &crate::docs::generated()?).into_iter().map(|found| named("fresh", found)));
    violations.sort();
    for note in shape::long(&tree) {
        println!("note: {note}");
    }
    for violation in &violations {
        println!("{violation}");
    }
    if !violations.is_empty() {
        bail!("tidy: {} places break a rule; CONTRIBUTING.md explains them", violations.len());
    }
    println!("tidy: {} rules hold in {} files", RULES.len() + 1, tree.files().count());
    Ok(())
}

fn check(tree: &Tree, rules: &[Rule]) -> Vec<Violation> {
    rules.iter().flat_map(|rule| (rule.check)(tree).into_iter().map(|found| named(rule.name, found))).collect()
}

fn named(rule: &'static str, Finding { path, line, message }: Finding) -> Violation {
    Violation { path, line, rule, message }
}

/// Checks that CONTRIBUTING.md names every rule.
fn rules(tree: &Tree) -> Vec<Finding> {
    const PATH: &str = "CONTRIBUTING.md";
    let text = tree.text(PATH).unwrap_or_default();
    RULES
        .iter()
        .map(|rule| rule.name)
        .chain(["fresh"])
        .filter(|name| !text.contains(&format!("`{name}`")))
        .map(|name| Finding::at(PATH, 1, format!("does not explain the rule `{name}`")))
        .collect()
}

#[cfg(test)]
mod tests;
