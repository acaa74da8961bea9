//! `paths`, `registry`, `blanks`: no text contains paths or registries of one machine, or trailing white space.

use super::Finding;
use super::tree::Tree;

/// The extensions of hand-written files.
const WRITTEN: [&str; 10] = ["rs", "md", "toml", "c", "h", "py", "sh", "json", "yml", "run"];

/// Directories of a developer's machine, in parts, so that this file does not contain them.
const MACHINE_PATHS: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];

/// Words that would make a build fetch from other sources than the public registries.
const MIRRORS: [&str; 5] = [
    concat!("index", "-url"),
    concat!("replace", "-with"),
    concat!("sparse", "+http"),
    concat!("trusted", "-host"),
    concat!("find", "-links"),
];

/// The source of every package in Cargo.lock.
const PUBLIC_INDEX: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";

fn written(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.files().filter(|(path, _)| {
        let name = path.rsplit('/').next().unwrap_or(path);
        WRITTEN.contains(&name.rsplit('.').next().unwrap_or(name))
    })
}

/// Checks that there is no absolute path of a machine.
pub fn machine_paths(tree: &Tree) -> Vec<Finding> {
    lines_with(tree, &MACHINE_PATHS, "a path of one machine")
}

/// Checks that only public registries are used.
pub fn registries(tree: &Tree) -> Vec<Finding> {
    let mut found = lines_with(tree, &MIRRORS, "a registry of one machine");
    for (index, line) in tree.text("Cargo.lock").unwrap_or_default().lines().enumerate() {
        if line.starts_with("source = ") && line != PUBLIC_INDEX {
            found.push(Finding::at("Cargo.lock", index + 1, "a package that is not from crates.io"));
        }
    }
    found
}

/// Checks that the workspace passes no flags to the compiler that a crate which depends on the libraries does not get.
pub fn flags(tree: &Tree) -> Vec<Finding> {
    const PATH: &str = ".cargo/config.toml";
    let lines = tree.text(PATH).unwrap_or_default().lines().enumerate();
    let sets_flags = |line: &str| line.trim_start().starts_with("rustflags");
    let message = "a crate that depends on the libraries is built without these flags (docs/decisions/0047)";
    lines.filter(|(_, line)| sets_flags(line)).map(|(index, _)| Finding::at(PATH, index + 1, message)).collect()
}

fn lines_with(tree: &Tree, words: &[&str], what: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in written(tree) {
        for (index, line) in text.lines().enumerate() {
            if let Some(word) = words.iter().find(|word| line.contains(**word)) {
                found.push(Finding::at(path, index + 1, format!("{word} is {what}")));
            }
        }
    }
    found
}

/// Checks that there is no white space at the end of a line, no tab in Rust, and one line feed at the end of a file.
pub fn blanks(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in written(tree) {
        for (index, line) in text.split('\n').enumerate() {
            if line.ends_with([' ', '\t', '\r']) {
                found.push(Finding::at(path, index + 1, "white space at the end of the line"));
            }
            if path.ends_with(".rs") && line.contains('\t') {
                found.push(Finding::at(path, index + 1, "a tab"));
            }
        }
        if !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n")) {
            found.push(Finding::at(path, text.lines().count(), "the file does not end with one line feed"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_names_a_machine() {
        let text = format!("fine: /dev/shm\nbad: {}somebody\n", MACHINE_PATHS[0]);
        let tree = Tree::from([("a.md", text.as_str()), ("picture.svg", text.as_str())]);
        let found: Vec<(String, usize)> =
            machine_paths(&tree).into_iter().map(|found| (found.path, found.line)).collect();
        assert_eq!(found, [("a.md".to_owned(), 2)]);
    }

    #[test]
    fn everything_comes_from_the_public_registry() {
        let lock = format!("{PUBLIC_INDEX}\nsource = \"registry+https://mirror.example/index\"\n");
        let config = format!("[source.crates-io]\n{} = \"mirror\"\n", MIRRORS[1]);
        let tree = Tree::from([("Cargo.lock", lock.as_str()), (".cargo/config.toml", config.as_str())]);
        let found: Vec<(String, usize)> = registries(&tree).into_iter().map(|found| (found.path, found.line)).collect();
        assert_eq!(found, [(".cargo/config.toml".to_owned(), 2), ("Cargo.lock".to_owned(), 2)]);
    }

    #[test]
    fn the_workspace_sets_no_flags_of_the_compiler() {
        let config = "[alias]\nxtask = \"run\"\n# rustflags\n[build]\nrustflags = [\"-C\", \"target-cpu=native\"]\n";
        let tree = Tree::from([(".cargo/config.toml", config), ("fuzz/.cargo/config.toml", config)]);
        let found: Vec<(String, usize)> = flags(&tree).into_iter().map(|found| (found.path, found.line)).collect();
        assert_eq!(found, [(".cargo/config.toml".to_owned(), 5)]);
    }

    #[test]
    fn nothing_invisible_stands_in_a_text() {
        for (path, text, lines) in [
            ("a.rs", "a\nb\n", vec![]),
            ("a.rs", "a \nb\n", vec![1]),
            ("a.rs", "a\n\tb\n", vec![2]),
            ("a.rs", "a\r\n", vec![1]),
            ("a.rs", "a", vec![1]),
            ("a.rs", "a\n\n", vec![2]),
            ("a.c", "\ta\n", vec![]),
            (".ci/run", "a \n", vec![1]),
            ("a.1", "a \n", vec![]),
        ] {
            let found: Vec<usize> = blanks(&Tree::from([(path, text)])).iter().map(|found| found.line).collect();
            assert_eq!(found, lines, "{path} {text:?}");
        }
    }
}
