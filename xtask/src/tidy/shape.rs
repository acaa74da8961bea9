//! `doc`: a source file says at its top what it is. `length`: a source file has a limited length.

use super::Finding;
use super::tree::Tree;

/// A longer file is listed in a note: it may contain a second noun.
const LINES_NOTED: usize = 400;

/// The most lines of a file.
const LINES_MAX: usize = 600;

/// Checks that every source file starts with `//!`, except `tests.rs`, which tests the file beside it.
pub fn doc(tree: &Tree) -> Vec<Finding> {
    tree.files_in("", &["rs"])
        .filter(|(path, text)| !path.ends_with("/tests.rs") && !text.starts_with("//! "))
        .map(|(path, _)| {
            Finding::at(path, 1, "does not start with `//!`: what it is, who calls it, what it never does")
        })
        .collect()
}

/// Checks that no source file is longer than [`LINES_MAX`].
pub fn length(tree: &Tree) -> Vec<Finding> {
    lengths(tree)
        .filter(|(_, lines)| *lines > LINES_MAX)
        .map(|(path, lines)| {
            Finding::at(path, LINES_MAX + 1, format!("{lines} lines, more than {LINES_MAX}: split it"))
        })
        .collect()
}

/// Lists the files that are close to the limit.
pub fn long(tree: &Tree) -> Vec<String> {
    lengths(tree)
        .filter(|(_, lines)| (LINES_NOTED + 1..=LINES_MAX).contains(lines))
        .map(|(path, lines)| format!("{path}: {lines} lines; is there a second noun in it?"))
        .collect()
}

fn lengths(tree: &Tree) -> impl Iterator<Item = (&str, usize)> {
    tree.files_in("", &["rs"]).map(|(path, text)| (path, text.lines().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_is() {
        let tree = Tree::from([("a.rs", "//! A.\n"), ("b.rs", "use x;\n"), ("c.rs", ""), ("a/tests.rs", "use x;\n")]);
        let found: Vec<String> = doc(&tree).into_iter().map(|found| found.path).collect();
        assert_eq!(found, ["b.rs", "c.rs"]);
    }

    #[test]
    fn a_file_has_at_most_600_lines_and_is_noted_above_400() {
        for (lines, noted, wrong) in [(400, 0, 0), (401, 1, 0), (600, 1, 0), (601, 0, 1)] {
            let tree = Tree::from([("a.rs", "x\n".repeat(lines).as_str())]);
            assert_eq!((long(&tree).len(), length(&tree).len()), (noted, wrong), "{lines}");
        }
    }
}
