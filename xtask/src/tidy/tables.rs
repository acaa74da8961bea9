//! `tables`: in the folders of the gauge with one instance per file, every instance is in the table.

use std::collections::BTreeSet;

use super::Finding;
use super::source::{code, lines_with_word, modules, product_code};
use super::tree::Tree;

/// The folders with a table in their `mod.rs`; folders below them may have one too.
const FOLDERS: [&str; 4] = [
    "crates/gauge/src/transports/",
    "crates/gauge/src/patterns/",
    "crates/gauge/src/suites/",
    "crates/gauge/src/facilities/",
];

/// Files that are not instances.
const NO_INSTANCE: [&str; 3] = ["mod", "tests", "template"];

/// Checks that every file is a module, and that every public module is used in the table. Private modules are helpers.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.files_in("crates/gauge/src/", &["rs"])
        .filter(|(path, _)| path.ends_with("/mod.rs") && FOLDERS.iter().any(|folder| path.starts_with(folder)))
        .flat_map(|(path, text)| check_folder(tree, path, text))
        .collect()
}

fn check_folder(tree: &Tree, table: &str, text: &str) -> Vec<Finding> {
    let folder = table.trim_end_matches("mod.rs");
    let declared = modules(&code(text));
    let mut found = Vec::new();
    for stem in stems(tree, folder) {
        if !declared.iter().any(|(_, _, name)| name == stem) {
            found.push(Finding::at(
                table,
                1,
                format!("{folder}{stem} is no module: add `pub mod {stem};` and its line"),
            ));
        }
    }
    let product = product_code(text);
    for (line, public, name) in modules(&product) {
        let used_here = lines_with_word(&product, &name).any(|other| other != line);
        if public && !used_here && !used_above(tree, folder, &name) {
            found.push(Finding::at(table, line, format!("`{name}` has no line in the table")));
        }
    }
    found
}

/// Whether the table of a folder above `folder` uses the name: a folder may have several instances of the same kind.
fn used_above(tree: &Tree, folder: &str, name: &str) -> bool {
    let mut above = folder.trim_end_matches('/');
    while let Some((parent, _)) = above.rsplit_once('/') {
        above = parent;
        let table = tree.text(&format!("{above}/mod.rs")).unwrap_or_default();
        if lines_with_word(&product_code(table), name).next().is_some() {
            return true;
        }
    }
    false
}

/// Returns the names of the files, and of the folders with a `mod.rs`; `a/` beside `a.rs` belongs to `a`.
fn stems<'a>(tree: &'a Tree, folder: &'a str) -> BTreeSet<&'a str> {
    tree.paths_in(folder)
        .filter_map(|path| {
            let name = &path[folder.len()..];
            name.strip_suffix(".rs").filter(|name| !name.contains('/')).or_else(|| {
                name.strip_suffix('/').filter(|name| !name.contains('/') && tree.has(&format!("{path}mod.rs")))
            })
        })
        .filter(|name| !NO_INSTANCE.contains(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instance_is_in_its_table() {
        let tree = Tree::from([
            (
                "crates/gauge/src/transports/mod.rs",
                "mod helper;\npub mod pipe;\npub mod tcp;\npub mod udp;\n#[cfg(test)]\nmod testing;\n\
                 static TABLE: &[Entry] = &[entry::<pipe::Pipe>(), entry::<udp::plain::Udp>()]; // tcp::Tcp\n",
            ),
            ("crates/gauge/src/transports/helper.rs", ""),
            ("crates/gauge/src/transports/pipe.rs", ""),
            ("crates/gauge/src/transports/pipe/tests.rs", ""),
            ("crates/gauge/src/transports/tcp.rs", ""),
            ("crates/gauge/src/transports/pty.rs", ""),
            ("crates/gauge/src/transports/testing.rs", ""),
            ("crates/gauge/src/transports/udp/mod.rs", "pub mod plain;\npub mod batch;\n"),
            ("crates/gauge/src/transports/udp/plain.rs", ""),
            ("crates/gauge/src/transports/udp/batch.rs", ""),
            ("crates/gauge/src/transports/template.rs", ""),
            ("crates/gauge/src/facilities/mod.rs", "pub mod sync;\nstatic TABLE: &[Entry] = &[sync::ENTRY];\n"),
            ("crates/gauge/src/facilities/sync/mod.rs", "table![];\n"),
            ("crates/gauge/src/facilities/sync/mutex.rs", ""),
        ]);
        let found: Vec<String> = check(&tree)
            .into_iter()
            .map(|found| format!("{}:{}: {}", found.path.replace("crates/gauge/src/", ""), found.line, found.message))
            .collect();
        assert_eq!(found.len(), 4, "{found:#?}");
        assert!(found[0].starts_with("facilities/sync/mod.rs:1: ") && found[0].contains("`pub mod mutex;`"));
        assert!(found[1].starts_with("transports/mod.rs:1: ") && found[1].contains("`pub mod pty;`"));
        assert_eq!(found[2], "transports/mod.rs:3: `tcp` has no line in the table");
        assert_eq!(found[3], "transports/udp/mod.rs:2: `batch` has no line in the table");
    }
}
