//! `map`: ARCHITECTURE.md names every crate. `glossary`: each term is explained once, in alphabetical order.

use super::Finding;
use super::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";
const GLOSSARY: &str = "docs/glossary.md";
const CHANGELOG: &str = "CHANGELOG.md";

/// Checks that ARCHITECTURE.md names every crate by its folder, and that there is a CHANGELOG.md.
pub fn crates(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    match tree.text(MAP) {
        None => found.push(Finding::at(MAP, 1, "is missing")),
        Some(map) => {
            let manifests =
                tree.files_in("crates/", &["toml"]).filter_map(|(path, _)| path.strip_suffix("/Cargo.toml"));
            found.extend(
                manifests
                    .filter(|folder| !map.contains(folder))
                    .map(|folder| Finding::at(MAP, 1, format!("does not name {folder}"))),
            );
        }
    }
    if tree.text(CHANGELOG).is_none() {
        found.push(Finding::at(CHANGELOG, 1, "is missing"));
    }
    found
}

/// Checks that the terms of the glossary, in bold at the start of a line, are in ascending order without repetition,
/// ignoring case.
pub fn glossary(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut before = String::new();
    for (index, line) in tree.text(GLOSSARY).unwrap_or_default().lines().enumerate() {
        let marked = line.strip_prefix("- ").unwrap_or(line).strip_prefix("**");
        let Some((term, _)) = marked.and_then(|rest| rest.split_once("**")) else { continue };
        let term = term.trim_matches(['.', ':']).to_lowercase();
        if term == before {
            found.push(Finding::at(GLOSSARY, index + 1, format!("{term} is explained twice")));
        } else if term < before {
            found.push(Finding::at(GLOSSARY, index + 1, format!("{term} belongs before {before}")));
        }
        before = term;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_names_every_crate() {
        let tree = Tree::from([
            (MAP, "crates/os is the floor.\n"),
            ("crates/os/Cargo.toml", ""),
            ("crates/shm/Cargo.toml", ""),
        ]);
        assert_eq!(
            crates(&tree),
            [Finding::at(MAP, 1, "does not name crates/shm"), Finding::at(CHANGELOG, 1, "is missing"),]
        );
    }

    #[test]
    fn terms_ascend_without_repetition() {
        let text = "# Glossary\n\n**Alpha**: a.\n**beta** and **aside**: b.\n- **Beta.** again\n**alphabet**: late.\n";
        let found: Vec<usize> = glossary(&Tree::from([(GLOSSARY, text)])).iter().map(|found| found.line).collect();
        assert_eq!(found, [5, 6]);
    }
}
