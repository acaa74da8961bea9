//! Checks that the programs of `examples/c` compile without a warning and succeed. Skipped if a tool is missing.

mod made;

use std::path::{Path, PathBuf};
use std::process::Command;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

fn examples() -> PathBuf {
    Path::new(CRATE).join("../../examples/c")
}

/// Returns the programs: the files whose names end with `.c`.
fn programs() -> Vec<String> {
    let entries = std::fs::read_dir(examples()).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter_map(|name| name.strip_suffix(".c").map(str::to_owned)).collect();
    names.sort();
    assert!(names.len() >= 8, "{names:?}");
    names
}

/// Returns whether a command exists, and prints a line if it does not.
fn is_there(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        println!("skipped: there is no {tool}");
    }
    found
}

#[test]
fn every_example_compiles_without_a_warning() {
    if !is_there("cc") {
        return;
    }
    for name in programs() {
        let mut command = Command::new("cc");
        command
            .args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-I"])
            .arg(format!("{CRATE}/include"));
        let output = command.arg(examples().join(format!("{name}.c"))).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn makefile_readme_and_gitignore_list_every_example() {
    let text = |name: &str| std::fs::read_to_string(examples().join(name)).expect("it is there");
    let (makefile, page, ignored) = (text("Makefile"), text("README.md"), text(".gitignore"));
    let listed = makefile.lines().find_map(|line| line.strip_prefix("EXAMPLES = ")).expect("a list");
    let mut listed: Vec<&str> = listed.split(' ').collect();
    listed.sort_unstable();
    assert_eq!(listed, programs());
    for name in programs() {
        assert!(page.contains(&format!("| [{name}.c]({name}.c) |")), "{name}");
        assert!(ignored.lines().any(|line| line == format!("/{name}")), "{name}");
    }
}

#[test]
fn every_example_succeeds() {
    if !["make", "pkg-config", "cc"].map(is_there).into_iter().all(|there| there) {
        return;
    }
    let root = tempfile::tempdir().expect("a directory");
    let run = |command: &mut Command| {
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        said.into_owned()
    };
    let prefix = format!("PREFIX={}/prefix", root.path().display());
    made::make(&["install", &prefix]);
    let folder = root.path().join("examples");
    std::fs::create_dir(&folder).expect("room");
    for entry in std::fs::read_dir(examples()).expect("a folder") {
        let file = entry.expect("an entry");
        if file.path().extension().is_none_or(|extension| extension == "c" || extension == "h") {
            std::fs::copy(file.path(), folder.join(file.file_name())).expect("room");
        }
    }
    let make = |arguments: &[&str]| {
        let mut command = Command::new("make");
        command.arg("-s").args(arguments).current_dir(&folder);
        command.env("HEADWATER_RUNTIME_DIR", root.path().join("devices"));
        command.env("PKG_CONFIG_PATH", root.path().join("prefix/lib/pkgconfig"));
        command
    };
    let said = run(&mut make(&["check"]));
    for name in programs() {
        assert!(said.contains(&format!("{name}: ok")), "{said}");
    }
}
