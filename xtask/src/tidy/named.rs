//! `guarantees`: the tests that docs/guarantees.md names exist. `decisions`: the paths that ARCHITECTURE.md and the decisions name
//! exist. Called by `tidy`; it does not judge whether a test shows what the document says.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::Tree;

const GUARANTEES: &str = "docs/guarantees.md";

/// The folders in which a path of a document begins.
const TOPS: [&str; 8] = ["archive/", "crates/", "docs/", "examples/", "experiments/", "fuzz/", "web/", "xtask/"];

/// Words in a name from which on it is taken for a test's, outside the columns of tests too.
const WORDS_MIN: usize = 4;

/// Checks that every test and path that docs/guarantees.md names exists: in a column of tests whatever is between backquotes,
/// elsewhere paths and names of at least [`WORDS_MIN`] words. Paths may be relative to crates/streams.
pub fn guarantees(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(GUARANTEES) else { return vec![Finding::at(GUARANTEES, 1, "is missing")] };
    let functions: BTreeSet<&str> = tree
        .files_in("crates/", &["rs"])
        .flat_map(|(_, source)| source.split("fn ").skip(1))
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default())
        .collect();
    let mut found = Vec::new();
    let mut is_column = false;
    for (index, line) in text.lines().enumerate() {
        let last = line.strip_prefix('|').and_then(|row| row.trim_end_matches('|').rsplit('|').next());
        is_column = last.is_some_and(|last| is_column || last.trim().starts_with("test"));
        let is_last = |piece: &str| is_column && last.is_some_and(|last| last.contains(&format!("`{piece}`")));
        for piece in line.split('`').skip(1).step_by(2) {
            let is_name = piece.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            let is_path =
                ["crates/", "tests/", "src/"].iter().any(|top| piece.starts_with(top)) && !piece.contains(' ');
            if is_path && !tree.has(piece) && !tree.has(&format!("crates/streams/{piece}")) {
                found.push(Finding::at(GUARANTEES, index + 1, format!("there is no {piece}")));
            }
            let is_test = is_name && (is_last(piece) || piece.split('_').count() >= WORDS_MIN);
            if is_test && !functions.contains(piece) {
                found.push(Finding::at(GUARANTEES, index + 1, format!("there is no test {piece}")));
            }
        }
    }
    found
}

/// Checks that every path between backquotes in ARCHITECTURE.md and docs/decisions exists. Of a source file the last parts of its path
/// suffice. A path with a placeholder (`<name>`, `*`) is not judged.
pub fn decisions(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let documents = tree
        .files_in("", &["md"])
        .filter(|(path, _)| *path == "ARCHITECTURE.md" || path.starts_with("docs/decisions/"));
    for (document, text) in documents {
        for (index, line) in text.lines().enumerate() {
            let paths =
                line.split('`').skip(1).step_by(2).filter(|piece| !piece.contains(['<', '*', ' '])).flat_map(expanded);
            for path in paths {
                let is_whole = TOPS.iter().any(|top| path.starts_with(top));
                let end = format!("/{path}");
                let is_known =
                    tree.has(&path) || !is_whole && tree.files_in("", &["rs"]).any(|(known, _)| known.ends_with(&end));
                if !is_known && (is_whole || path.ends_with(".rs")) {
                    found.push(Finding::at(document, index + 1, format!("there is no {path}")));
                }
            }
        }
    }
    found
}

/// Returns the paths that `a/{b,c}.rs` stands for.
fn expanded(path: &str) -> Vec<String> {
    let braces = path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (inside, after))) = braces else { return vec![path.to_owned()] };
    inside.split(',').flat_map(|one| expanded(&format!("{before}{one}{after}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guarantees_name_tests_that_exist() {
        let text = "| guarantee | scope | test |\n|---|---|---|\n\
            | a | b `x` | `it_holds` (`headwater-os`), `it_does_not` |\n\n\
            `call_me`, `is_named_outside_tables`, `tests/a.rs`, `tests/b.rs`\n";
        let tree = Tree::from([(GUARANTEES, text), ("crates/streams/tests/a.rs", "#[test]\nfn it_holds() {}\n")]);
        assert_eq!(
            guarantees(&tree),
            [
                Finding::at(GUARANTEES, 3, "there is no test it_does_not"),
                Finding::at(GUARANTEES, 5, "there is no test is_named_outside_tables"),
                Finding::at(GUARANTEES, 5, "there is no tests/b.rs"),
            ]
        );
    }

    #[test]
    fn decisions_name_paths_that_exist() {
        let path = "docs/decisions/0001-a.md";
        let text =
            "`crates/a/src/{b,c}.rs`, `crates/<name>.rs`, `cargo run`, `xtask/none.rs`, `src/{b,d}.rs`, `Ring`\n";
        let tree = Tree::from([(path, text), ("crates/a/src/b.rs", "")]);
        assert_eq!(
            decisions(&tree),
            [
                Finding::at(path, 1, "there is no crates/a/src/c.rs"),
                Finding::at(path, 1, "there is no xtask/none.rs"),
                Finding::at(path, 1, "there is no src/d.rs"),
            ]
        );
    }
}
