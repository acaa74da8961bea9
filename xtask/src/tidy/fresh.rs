//! `fresh`: generated files are up to date.

use std::collections::BTreeMap;

use super::Finding;
use super::tree::Tree;
use crate::docs::FOLDERS;

const REMEDY: &str = "run `cargo xtask docs`";

/// Checks that every generated file exists and is up to date, and that their folders contain no other files.
pub fn check(tree: &Tree, generated: &BTreeMap<String, Vec<u8>>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, bytes) in generated {
        match tree.text(path) {
            None => found.push(Finding::at(path, 1, format!("is missing: {REMEDY}"))),
            Some(text) if text.as_bytes() != bytes => {
                let new = String::from_utf8_lossy(bytes);
                let same = text.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
                found.push(Finding::at(path, same + 1, format!("is out of date: {REMEDY}")));
            }
            Some(_) => {}
        }
    }
    for path in
        FOLDERS.iter().flat_map(|folder| tree.paths_in(&format!("{folder}/")).map(str::to_owned).collect::<Vec<_>>())
    {
        if !generated.contains_key(&path) {
            found.push(Finding::at(&path, 1, format!("is not generated any more: {REMEDY}")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_missing_and_foreign_files_are_found() {
        let tree = Tree::from([("docs/man/a.1", "a\nold\n"), ("docs/man/gone.1", ""), ("docs/schema/c.json", "{}\n")]);
        let generated = [("docs/man/a.1", "a\nnew\n"), ("docs/man/b.1", "b\n"), ("docs/schema/c.json", "{}\n")];
        let generated = generated.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())).into();
        let found: Vec<(String, usize)> =
            check(&tree, &generated).into_iter().map(|found| (found.path, found.line)).collect();
        let expected = [("docs/man/a.1", 2), ("docs/man/b.1", 1), ("docs/man/gone.1", 1)];
        assert_eq!(found, expected.map(|(path, line)| (path.to_owned(), line)));
    }
}
