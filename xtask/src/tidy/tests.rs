use super::*;

#[test]
fn a_violation_reads_as_a_compiler_error() {
    let tree = Tree::from([("crates/headwater/src/a.rs", "//! A.\n\nunsafe { f() }\n")]);
    let rules = [Rule { name: "unsafe", check: unsafety::check }];
    let lines: Vec<String> = check(&tree, &rules).iter().map(Violation::to_string).collect();
    assert_eq!(
        lines,
        ["crates/headwater/src/a.rs:3: unsafe: unsafe belongs in os, os-tools or shm, or a leaf that C calls"]
    );
}

#[test]
fn contributing_explains_every_rule() {
    let all: String = RULES.iter().map(|rule| format!("- `{}`: ...\n", rule.name)).collect();
    let tree = Tree::from([("CONTRIBUTING.md", format!("{all}- `fresh`: ...\n").as_str())]);
    assert_eq!(rules(&tree), []);
    assert_eq!(rules(&Tree::from([("CONTRIBUTING.md", all.as_str())])).len(), 1);
}

#[test]
fn names_of_rules_are_unique() {
    let mut names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), RULES.len());
}

#[test]
fn a_tree_is_read_from_disk_without_what_is_built() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for folder in ["src", "target", "docs/man"] {
        std::fs::create_dir_all(directory.path().join(folder)).expect("a folder");
    }
    for (path, bytes) in [("src/a.rs", &b"//! A.\n"[..]), ("target/b.rs", b"x"), ("docs/man/c.png", b"\xff\xfe")] {
        std::fs::write(directory.path().join(path), bytes).expect("a file");
    }
    let tree = Tree::read(directory.path()).expect("a tree");
    assert_eq!(tree.files().collect::<Vec<_>>(), [("src/a.rs", "//! A.\n")]);
    assert!(tree.has("docs/man/c.png") && tree.has("docs/man") && !tree.has("target"));
}
