//! What `make install` installs is what a program needs: the examples of the documentation compile with it by pkg-config and
//! run. Skipped where a tool is missing.

use std::path::{Path, PathBuf};
use std::process::Command;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// What the system calls the place where the files are once they are installed.
const PREFIX: &str = "/usr/test";

/// Whether a command exists; says so if it does not.
fn is_there(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        println!("skipped: there is no {tool}");
    }
    found
}

/// Runs make for a target, with files below `root`. Cargo has built the libraries already, beside this program.
fn make(target: &str, root: &Path) {
    let built = std::env::current_exe().expect("an executable").parent().expect("a directory").to_owned();
    let mut command = Command::new("make");
    command.args(["-s", "-C", CRATE, target, "CARGO=true"]).arg(format!("BUILT={}", built.display()));
    command.arg(format!("DESTDIR={}", root.display())).arg(format!("PREFIX={PREFIX}"));
    let output = command.output().expect("make runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The flags that pkg-config has for the package below `root`.
fn flags(root: &Path, options: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.args(options).arg("headwater-trace").env("PKG_CONFIG_SYSROOT_DIR", root);
    let output =
        command.env("PKG_CONFIG_LIBDIR", root.join(&PREFIX[1..]).join("lib/pkgconfig")).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").split_whitespace().map(str::to_owned).collect()
}

/// The first C program of a document.
fn example(document: &str, begin: &str, end: &str) -> String {
    let text = std::fs::read_to_string(format!("{CRATE}/{document}")).expect("it is there");
    let include = format!("{begin}\n#include <headwater/trace.h>\n");
    let at = text.find(&include).unwrap_or_else(|| panic!("{document} has no example")) + begin.len() + 1;
    let len = text[at..].find(end).expect("it ends");
    text[at..at + len].to_owned()
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn the_documented_examples_compile_with_what_is_installed_and_run() {
    if !["make", "pkg-config", "cc", "c++"].map(is_there).into_iter().all(|there| there) {
        return;
    }
    let root = tempfile::tempdir().expect("a directory");
    make("install", root.path());
    let examples = [
        example("../../docs/tracing.md", "```c", "```\n"),
        example("man/headwater_trace.3", ".Bd -literal -offset indent", ".Ed\n"),
    ];
    let strict = ["-Wall", "-Wextra", "-pedantic", "-Werror"];
    for text in examples {
        assert!(text.contains("int main(void)"), "{text}");
        for (compiler, options) in [("cc", &["-std=c11", "-x", "c"][..]), ("c++", &["-std=c++11", "-x", "c++"])] {
            let (source, program) = (root.path().join("example.c"), root.path().join("example"));
            std::fs::write(&source, &text).expect("room");
            let mut command = Command::new(compiler);
            command.args(options).args(strict).arg(&source).arg("-o").arg(&program);
            // Libraries are no source.
            let output = command.args(["-x", "none"]).args(flags(root.path(), &["--cflags", "--libs"])).output();
            let output = output.expect("it runs");
            assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
            let library = root.path().join(&PREFIX[1..]).join("lib");
            let status = Command::new(&program).env("LD_LIBRARY_PATH", library).status().expect("it runs");
            assert!(status.success(), "{compiler}");
        }
    }
}

#[test]
fn the_static_library_is_linked_by_what_pkg_config_says() {
    if !["make", "pkg-config", "cc"].map(is_there).into_iter().all(|there| there) {
        return;
    }
    let root = tempfile::tempdir().expect("a directory");
    make("install", root.path());
    std::fs::remove_file(root.path().join(&PREFIX[1..]).join("lib/libheadwater_trace_c.so")).expect("it was there");
    let (source, program) = (root.path().join("example.c"), root.path().join("example"));
    std::fs::write(&source, example("../../docs/tracing.md", "```c", "```\n")).expect("room");
    let mut command = Command::new("cc");
    command.arg(&source).arg("-o").arg(&program).args(flags(root.path(), &["--cflags", "--libs", "--static"]));
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(Command::new(&program).status().expect("it runs").success());
}

#[test]
fn what_is_installed_is_removed_again() {
    if !is_there("make") {
        return;
    }
    let root = tempfile::tempdir().expect("a directory");
    make("install", root.path());
    let mut installed: Vec<String> = files(root.path())
        .iter()
        .map(|path| path.strip_prefix(root.path()).expect("below").display().to_string())
        .collect();
    installed.sort();
    assert_eq!(
        installed,
        [
            "usr/test/include/headwater/trace.h",
            "usr/test/lib/libheadwater_trace_c.a",
            "usr/test/lib/libheadwater_trace_c.so",
            "usr/test/lib/libheadwater_trace_c.so.1",
            "usr/test/lib/libheadwater_trace_c.so.1.0.0",
            "usr/test/lib/pkgconfig/headwater-trace.pc",
            "usr/test/share/man/man3/headwater_trace.3",
        ]
    );
    let link = std::fs::read_link(root.path().join("usr/test/lib/libheadwater_trace_c.so")).expect("a link");
    assert_eq!(link, Path::new("libheadwater_trace_c.so.1"));
    // Another package's.
    let other = root.path().join("usr/test/include/headwater/other.h");
    std::fs::write(&other, "").expect("room");
    make("uninstall", root.path());
    assert_eq!(files(root.path()), [other]);
}
