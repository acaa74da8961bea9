//! `layers`: which crate may use which, after the drawing in ARCHITECTURE.md. `linked`: what a program that uses the
//! runtime compiles. `libc`: only os, os-tools and capi know the C library. `components`: which
//! part of streams may use which.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::Finding;
use super::source::product_code;
use super::tree::Tree;

/// A folder of crates/ and the folders that it may use. xtask may use all: it is not part of the product.
const ALLOWED: &[(&str, &[&str])] = &[
    ("os", &[]),
    ("os-tools", &["os"]),
    ("shm", &["os"]),
    ("ring", &["os", "shm"]),
    ("trace", &["os", "shm"]),
    ("trace-tools", &["os", "os-tools", "shm", "trace"]),
    ("trace-c", &["trace"]),
    ("streams", &["os", "shm", "trace"]),
    ("terminals", &["streams"]),
    ("xti", &["streams"]),
    ("capi", &["os", "streams", "terminals", "xti"]),
    ("results", &[]),
    ("report", &["results"]),
    ("gauge", &["os", "os-tools", "ring", "trace", "trace-tools", "streams", "terminals", "xti", "results"]),
    ("headwater", &["gauge", "os", "os-tools", "trace", "trace-tools", "streams", "terminals", "results", "report"]),
];

/// The components of streams, from the lowest up: each may use itself and those before it. A file belongs to the component with
/// the longest path that it begins with.
const COMPONENTS: &[(&str, &[&str])] = &[
    ("base", &["error", "limits", "layout", "policy", "flags", "counters", "events"]),
    // What a transport and its user say to each other, as bytes.
    ("transport interface", &["tpi"]),
    ("message", &["message"]),
    ("options", &["options"]),
    ("queue", &["queue"]),
    ("process", &["process"]),
    ("plumb", &["plumb", "sched", "modules", "drivers"]),
    ("head", &["head"]),
    // How an end is opened in a process, and the public API.
    (
        "open",
        &[
            "open",
            "inspect",
            "attach",
            "pipe",
            "stream",
            "strlog",
            "autopush",
            "asynchronous",
            "listener",
            "face",
            "lib",
        ],
    ),
];

/// Existing dependencies that violate [`COMPONENTS`]: a file, and the component that it uses. Remove an entry when the
/// dependency is gone.
const EXCEPTIONS: &[(&str, &str)] = &[
    // By this a transport's driver finds other streams of its kind, sends along them, and has threads wait for them. A trait would say
    // each function of `open::device::peer` twice, and its procedures take queues, so it could not stand below them.
    ("plumb/queue/peers", "open"),
];

const STREAMS: &str = "crates/streams/src/";

/// Checks that every `crate::` and `super::` path of streams leads to the same component or a lower one.
pub fn components(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut against: BTreeSet<_> = EXCEPTIONS.iter().collect();
    for (path, text) in tree.files_in(STREAMS, &["rs"]) {
        let module = path.trim_start_matches(STREAMS).trim_end_matches(".rs");
        if module.split('/').any(|part| part.ends_with("tests")) {
            continue;
        }
        let Some(own) = component_of(module) else {
            found.push(Finding::at(
                path,
                1,
                format!("{module} is of no component of streams: give it one in COMPONENTS"),
            ));
            continue;
        };
        for (line, used) in module_paths(module, &product_code(text)) {
            let Some(other) = component_of(&used).filter(|other| *other > own) else { continue };
            let known = EXCEPTIONS.iter().find(|(file, name)| *file == module && *name == COMPONENTS[other].0);
            match known {
                Some(known) => drop(against.remove(known)),
                None => {
                    let (own, other) = (COMPONENTS[own].0, COMPONENTS[other].0);
                    found.push(Finding::at(path, line, format!("{own} must not know {other}: crate::{used}")));
                }
            }
        }
    }
    found.extend(methods(tree));
    let is_here = tree.files_in(STREAMS, &["rs"]).next().is_some();
    for (file, other) in against.into_iter().filter(|_| is_here) {
        let path = format!("{STREAMS}{file}.rs");
        found.push(Finding::at(&path, 1, format!("{file} does not use {other} any more: take it out of EXCEPTIONS")));
    }
    found
}

/// Checks that no component calls a method that a higher one defines for a type of a lower one: no path shows that arrow. A method is
/// known by its name, so one whose name a component below has too is not seen.
fn methods(tree: &Tree) -> Vec<Finding> {
    let files: Vec<(&str, usize, String)> = tree
        .files_in(STREAMS, &["rs"])
        .filter_map(|(path, text)| {
            let module = path.trim_start_matches(STREAMS).trim_end_matches(".rs");
            let is_test = module.split('/').any(|part| part.ends_with("tests"));
            let own = component_of(module).filter(|_| !is_test)?;
            Some((path, own, product_code(text)))
        })
        .collect();
    let types = lowest(&files, &["struct ", "enum "]);
    let functions = lowest(&files, &["fn "]);
    let is_below =
        |of: &BTreeMap<&str, usize>, name: &str, own: usize| of.get(name).is_some_and(|lowest| *lowest < own);
    let mut found = Vec::new();
    for (path, own, code) in &files {
        for (line, of, method) in inherent_methods(code) {
            if !is_below(&types, of, *own) || is_below(&functions, method, *own) {
                continue;
            }
            for (caller, other, code) in files.iter().filter(|(_, other, _)| other < own) {
                if contains_word(code, &format!(".{method}(")) || contains_word(code, &format!("{of}::{method}")) {
                    let (own, other) = (COMPONENTS[*own].0, COMPONENTS[*other].0);
                    let caller = caller.trim_start_matches(STREAMS);
                    found.push(Finding::at(
                        path,
                        line,
                        format!("{other} ({caller}) must not call {of}::{method}, which {own} defines"),
                    ));
                }
            }
        }
    }
    found
}

/// Returns the lowest component in which each name stands behind one of these keywords.
fn lowest<'a>(files: &'a [(&str, usize, String)], keywords: &[&str]) -> BTreeMap<&'a str, usize> {
    let mut lowest = BTreeMap::new();
    for (_, own, code) in files {
        for (at, keyword) in keywords.iter().flat_map(|keyword| code.match_indices(keyword)) {
            let is_word = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let name = first_word(&code[at + keyword.len()..]);
            if is_word && !name.is_empty() {
                let known = lowest.entry(name).or_insert(*own);
                *known = (*known).min(*own);
            }
        }
    }
    lowest
}

/// Returns the identifier with which a text begins.
fn first_word(text: &str) -> &str {
    &text[..text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len())]
}

/// Returns the methods of the blocks `impl Type` of a file: line, type, name.
fn inherent_methods(code: &str) -> Vec<(usize, &str, &str)> {
    let mut methods = Vec::new();
    let mut of = None;
    for (at, line) in code.lines().enumerate() {
        if let Some(rest) = line.strip_prefix("impl").filter(|_| !line.contains(" for ")) {
            // Behind the parameters of the block.
            let rest =
                rest.split_once("> ").filter(|_| rest.starts_with('<')).map_or(rest, |(_, rest)| rest).trim_start();
            let path = &rest[..rest.find(['<', ' ', '{']).unwrap_or(rest.len())];
            of = path.rsplit("::").next().filter(|of| !of.is_empty());
        } else if line.starts_with('}') || line.starts_with("impl") {
            of = None;
        } else if let (Some(of), Some(indented)) = (of, line.strip_prefix("    ").filter(|rest| !rest.starts_with(' ')))
            && let Some((before, rest)) = indented.split_once("fn ")
            && (before.is_empty() || before.ends_with(' '))
        {
            methods.push((at + 1, of, first_word(rest)));
        }
    }
    methods
}

/// Whether code has a text that no longer word begins or ends with.
fn contains_word(code: &str, text: &str) -> bool {
    let continues = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (begins, ends) =
        (text.starts_with(|c: char| c.is_alphanumeric()), text.ends_with(|c: char| c.is_alphanumeric()));
    code.match_indices(text).any(|(at, _)| {
        let (before, after) = (code[..at].chars().next_back(), code[at + text.len()..].chars().next());
        !(begins && continues(before) || ends && continues(after))
    })
}

/// Returns the index in [`COMPONENTS`] of a module path.
fn component_of(module: &str) -> Option<usize> {
    let is_in = |prefix: &str| module.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let fitting = COMPONENTS.iter().enumerate().flat_map(|(at, (_, prefixes))| {
        prefixes.iter().filter(|prefix| is_in(prefix)).map(move |prefix| (prefix.len(), at))
    });
    fitting.max().map(|(_, at)| at)
}

/// Returns the modules that the file of a module names by `crate::a::b` and `super::b`, as `a/b`, with their lines.
fn module_paths(module: &str, code: &str) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    for (at, line) in code.lines().enumerate() {
        let mut rest = line;
        while let Some(start) = rest.find("crate::").into_iter().chain(rest.find("super::")).min() {
            let is_of_crate = rest[start..].starts_with("crate::");
            let mut base: Vec<&str> = if is_of_crate { Vec::new() } else { module.split('/').collect() };
            rest = &rest[start + "crate::".len()..];
            base.pop();
            while !is_of_crate && rest.starts_with("super::") {
                rest = &rest["super::".len()..];
                base.pop();
            }
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(rest.len());
            let named = rest[..end].trim_end_matches(':').replace("::", "/");
            let parts = base.into_iter().chain([&named[..]]).filter(|part| !part.is_empty());
            paths.push((at + 1, parts.collect::<Vec<_>>().join("/")));
        }
    }
    paths
}

/// What tests of a folder may use in addition.
const ALLOWED_IN_TESTS: &[(&str, &[&str])] =
    &[("trace-c", &["trace-tools"]), ("streams", &["os-tools", "ring", "terminals"]), ("terminals", &["os"])];

/// The crates that a linked crate may depend on, whatever its features: a user must compile only a handful.
const LINKED: &[(&str, &[&str])] = &[
    ("os", &["libc", "rustix"]),
    ("shm", &["loom"]),
    ("trace", &["tracing-core", "tracing-subscriber"]),
    ("streams", &["bitflags", "futures-core", "futures-sink", "tokio"]),
    ("terminals", &[]),
    ("xti", &[]),
];

/// The crates that may depend on the C library; capi is a part of it for its users.
const C_LIBRARY: [&str; 3] = ["os", "os-tools", "capi"];

/// Checks that every dependency of one of our crates on another is in [`ALLOWED`], whichever table of the manifest it
/// is in, or is a dependency of its tests and in [`ALLOWED_IN_TESTS`].
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
            // A crate may depend on itself, to enable its own features for its tests.
            let is_allowed = allowed.contains(&other) || kind == "dev-dependencies" && tests.contains(&other);
            if other != folder && !is_allowed {
                found.push(Finding::at(path, line_of(text, &package), format!("{folder} must not use {other}")));
            }
        }
    }
    found
}

/// Checks that the dependencies of a program that uses the runtime are in [`LINKED`]; tests may use more.
pub fn linked(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (folder, path, text) in manifests(tree) {
        let Some((_, allowed)) = LINKED.iter().find(|(name, _)| *name == folder) else { continue };
        for (_, package) in dependencies(text).into_iter().filter(|(kind, _)| *kind != "dev-dependencies") {
            if folder_of(&package).is_none() && !allowed.contains(&package.as_str()) {
                let message = format!("every program that uses {folder} would compile {package}");
                found.push(Finding::at(path, line_of(text, &package), message));
            }
        }
    }
    found
}

/// Checks that only [`C_LIBRARY`] depends on `libc`; tests may use it anywhere.
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

/// Returns the table of each dependency (`dependencies`, `dev-dependencies`, `build-dependencies`) and its package. An
/// unreadable manifest has none: Cargo reports it.
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

/// Returns the folder of crates/ that contains one of our packages.
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
    fn a_program_links_a_handful_of_crates() {
        let tree = Tree::from([
            ("crates/os/Cargo.toml", "[dependencies]\nlibc = \"1\"\nio-uring = \"1\"\n"),
            ("crates/trace/Cargo.toml", "[dependencies]\nserde = { version = \"1\", optional = true }\n"),
            ("crates/streams/Cargo.toml", "[dependencies]\nheadwater-os = \"1\"\n[dev-dependencies]\nserde = \"1\"\n"),
            ("crates/headwater/Cargo.toml", "[dependencies]\nserde = \"1\"\n"),
        ]);
        assert_eq!(
            messages(&linked(&tree)),
            [
                "crates/os/Cargo.toml:3 every program that uses os would compile io-uring",
                "crates/trace/Cargo.toml:2 every program that uses trace would compile serde",
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

    #[test]
    fn methods_of_a_lower_components_type_are_not_called_from_below() {
        let tree = Tree::from([
            (
                "crates/streams/src/sched.rs",
                "pub struct Run<'s>(&'s u8);\nfn f(run: &Run) { run.deliver(); run.put(); }\n",
            ),
            ("crates/streams/src/process/end.rs", "fn g() { Run::fresh(); Other::from_fd(); }\nfn finish() {}\n"),
            (
                "crates/streams/src/head/deliver.rs",
                "impl<'s> Run<'s> {\n    pub(crate) fn deliver(&self) {}\n    fn fresh() {}\n    pub fn from_fd() {}\n    pub fn finish() {}\n}\n\
                 impl Put for Run<'_> {\n    fn put(&self) {}\n}\n",
            ),
        ]);
        assert_eq!(
            messages(&methods(&tree)),
            [
                "crates/streams/src/head/deliver.rs:2 plumb (sched.rs) must not call Run::deliver, which head defines",
                "crates/streams/src/head/deliver.rs:3 process (process/end.rs) must not call Run::fresh, which head defines",
            ]
        );
    }

    #[test]
    fn components_of_streams_use_those_below_them() {
        let tree = Tree::from([
            ("crates/streams/src/process/end.rs", "use crate::head::handle::Handle;\n"),
            ("crates/streams/src/process/sleep.rs", "use super::end::End;\nfn f() { super::super::head::f(); }\n"),
            ("crates/streams/src/plumb/queue/peers.rs", "use crate::open::device::peer::Peer;\n"),
            ("crates/streams/src/open/attach.rs", "use crate::head::handle::Handle;\n"),
            ("crates/streams/src/queue/store.rs", "// crate::head is not used\nuse crate::message::Message;\n"),
            ("crates/streams/src/head/handle/tests.rs", "use crate::stream::Stream;\n"),
            ("crates/streams/src/other.rs", ""),
        ]);
        assert_eq!(
            messages(&components(&tree)),
            [
                "crates/streams/src/other.rs:1 other is of no component of streams: give it one in COMPONENTS",
                "crates/streams/src/process/end.rs:1 process must not know head: crate::head/handle/Handle",
                "crates/streams/src/process/sleep.rs:2 process must not know head: crate::head/f",
            ]
        );
        let tree = Tree::from([("crates/streams/src/sched.rs", "use crate::head::WriteSide;\n")]);
        assert_eq!(
            messages(&components(&tree)),
            [
                "crates/streams/src/sched.rs:1 plumb must not know head: crate::head/WriteSide",
                "crates/streams/src/plumb/queue/peers.rs:1 plumb/queue/peers does not use open any more: take it out of EXCEPTIONS",
            ]
        );
    }
}
