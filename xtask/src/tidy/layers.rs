//! `layers`: which crate may use which, after the drawing in ARCHITECTURE.md. `libc`: only os and os-tools know the C library.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::Finding;
use super::tree::Tree;

/// A folder of crates/ and the folders that it may use. xtask is free: it is not part of the product.
const ALLOWED: &[(&str, &[&str])] = &[
    ("os", &[]),
    ("os-tools", &["os"]),
    ("shm", &["os"]),
    ("ring", &["os", "shm"]),
    ("trace", &["os", "shm"]),
    ("trace-tools", &["os", "os-tools", "shm", "trace"]),
    ("trace-c", &["trace"]),
    ("streams", &["os", "shm", "trace"]),
    ("results", &[]),
    ("report", &["results"]),
    ("headwater", &["os", "os-tools", "ring", "trace", "trace-tools", "streams", "results", "report"]),
];

/// What only the tests of a folder may use on top.
const ALLOWED_IN_TESTS: &[(&str, &[&str])] = &[("trace-c", &["trace-tools"]), ("streams", &["os-tools", "ring"])];

/// The crates that may depend on the C library.
const C_LIBRARY: [&str; 2] = ["os", "os-tools"];

/// Every dependency of one crate of ours on another is in [`ALLOWED`], in whichever table of the manifest it stands, or is one
/// of its tests and in [`ALLOWED_IN_TESTS`].
pub fn edges(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (folder, path, text) in manifests(tree) {
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == folder) else {
            found.push(Finding::at(path, 1, format!("{folder} has no place in the layers: give it one in ALLOWED")));
            continue;
        };
        let tests = ALLOWED_IN_TESTS.iter().find(|(name, _)| *name == folder).map_or(&[][..], |(_, allowed)| allowed);
        for (kind, package) in dependencies(text) {
            let Some(other) = folder_of(&package) else { continue };
            // A crate may name itself, to switch on its own features for its tests.
            let is_allowed = allowed.contains(&other) || kind == "dev-dependencies" && tests.contains(&other);
            if other != folder && !is_allowed {
                found.push(Finding::at(path, line_of(text, &package), format!("{folder} must not use {other}")));
            }
        }
    }
    found
}

/// `libc` is a dependency of [`C_LIBRARY`] alone; tests may use it anywhere.
pub fn libc(tree: &Tree) -> Vec<Finding> {
    manifests(tree)
        .filter(|(folder, _, _)| !C_LIBRARY.contains(folder))
        .filter(|(_, _, text)| dependencies(text).contains(&("dependencies", "libc".to_owned())))
        .map(|(_, path, text)| Finding::at(path, line_of(text, "libc"), "system calls go through os, or rustix"))
        .collect()
}

fn manifests(tree: &Tree) -> impl Iterator<Item = (&str, &str, &str)> {
    tree.files_in("crates/", &["toml"]).filter_map(|(path, text)| {
        let folder = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
        (!folder.contains('/')).then_some((folder, path, text))
    })
}

/// Which table a dependency stands in (`dependencies`, `dev-dependencies`, `build-dependencies`) and its package.
/// A manifest that cannot be read has none: Cargo says it better.
fn dependencies(text: &str) -> BTreeSet<(&'static str, String)> {
    let Ok(manifest) = text.parse::<Table>() else { return BTreeSet::new() };
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let tables = std::iter::once(&manifest).chain(targets.filter_map(Value::as_table));
    let mut packages = BTreeSet::new();
    for table in tables {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for (name, value) in table.get(kind).and_then(Value::as_table).into_iter().flatten() {
                let package = value.get("package").and_then(Value::as_str).unwrap_or(name);
                packages.insert((kind, package.to_owned()));
            }
        }
    }
    packages
}

/// The folder of crates/ that holds a package of ours.
fn folder_of(package: &str) -> Option<&str> {
    match package.strip_prefix("headwater") {
        Some("") => Some("headwater"),
        Some(rest) => rest.strip_prefix('-'),
        None => None,
    }
}

fn line_of(text: &str, package: &str) -> usize {
    text.lines().position(|line| line.contains(package)).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(found: &[Finding]) -> Vec<String> {
        found.iter().map(|found| format!("{}:{} {}", found.path, found.line, found.message)).collect()
    }

    #[test]
    fn only_the_drawn_edges_are_allowed() {
        let tree = Tree::from([
            ("crates/shm/Cargo.toml", "[dependencies]\nheadwater-os.workspace = true\nlibc = \"1\"\n"),
            ("crates/os/Cargo.toml", "[dev-dependencies]\nheadwater-shm.workspace = true\n"),
            ("crates/report/Cargo.toml", "[target.'cfg(unix)'.dependencies]\nx = { package = \"headwater-os\" }\n"),
            ("crates/new/Cargo.toml", ""),
            ("crates/streams/Cargo.toml", "[dev-dependencies]\nheadwater-os-tools = \"1\"\n"),
            ("crates/trace-c/Cargo.toml", "[dependencies]\nheadwater-trace-tools = \"1\"\n"),
        ]);
        assert_eq!(
            messages(&edges(&tree)),
            [
                "crates/new/Cargo.toml:1 new has no place in the layers: give it one in ALLOWED",
                "crates/os/Cargo.toml:2 os must not use shm",
                "crates/report/Cargo.toml:2 report must not use os",
                "crates/trace-c/Cargo.toml:2 trace-c must not use trace-tools",
            ]
        );
    }

    #[test]
    fn only_os_and_tests_know_libc() {
        let tree = Tree::from([
            ("crates/os/Cargo.toml", "[dependencies]\nlibc = \"1\"\n"),
            ("crates/shm/Cargo.toml", "[dev-dependencies]\nlibc = \"1\"\n"),
            ("crates/headwater/Cargo.toml", "[dependencies]\nlibc = \"1\"\n"),
        ]);
        assert_eq!(messages(&libc(&tree)), ["crates/headwater/Cargo.toml:2 system calls go through os, or rustix"]);
    }
}
