//! A program contains only what its features ask for: without `sdt` it has no probe, and streams without `trace` do not
//! link the tracer. Programs outside of the workspace, because this crate's own tests have every feature.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = r#"
headwater_trace::events! { counted("built:counted") { number: u64 } }

fn main() {
    counted(1);
}
"#;

fn cargo() -> Command {
    let mut command = Command::new(env!("CARGO"));
    // What was compiled with the tests' features or flags has no place here.
    command.env_remove("CARGO_BUILD_TARGET_DIR").env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS");
    command
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Builds the program with these features, and returns the path of its executable.
fn build(features: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("features");
    fs::create_dir_all(package.join("src")).expect("a folder");
    let manifest = format!(
        "[package]\nname = \"built\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         headwater-trace = {{ path = {here:?}, features = [{features}] }}\n"
    );
    fs::write(package.join("Cargo.toml"), manifest).expect("room");
    fs::write(package.join("src/main.rs"), PROGRAM).expect("room");
    // The versions that the workspace has, so that nothing is looked up.
    fs::copy(here.join("../../Cargo.lock"), package.join("Cargo.lock")).expect("the workspace's");
    output(cargo().args(["build", "--quiet", "--offline"]).env("CARGO_PROFILE_DEV_DEBUG", "0").current_dir(&package));
    package.join("target/debug/built")
}

fn has(program: &Path, text: &str) -> bool {
    fs::read(program).expect("an executable").windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
#[ignore = "compiles this crate twice: cargo xtask ci, step features"]
fn a_probe_is_compiled_in_only_by_its_feature() {
    let without = build("");
    // The name of the section and the owner of its notes.
    assert!(has(&without, "built:counted") && !has(&without, "stapsdt"), "an event is no probe");
    if cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        assert!(has(&build("\"sdt\""), "stapsdt"), "with the feature it is one");
    }
}

#[test]
fn streams_without_the_feature_link_no_tracer() {
    let tree = |features: &[&str]| {
        let mut command = cargo();
        command.args(["tree", "--offline", "--package", "headwater-streams", "--edges", "normal", "--prefix", "none"]);
        output(command.args(features).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")))
    };
    assert!(!tree(&[]).contains("headwater-trace"));
    assert!(tree(&["--features", "trace"]).contains("headwater-trace"));
}
