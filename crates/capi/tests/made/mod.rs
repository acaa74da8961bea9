//! Makes the library that the tests of this package use. make links it from the static library that Cargo has built for
//! the tests. In the long form (`HEADWATER_TIMES`), and for a profile that `HEADWATER_CAPI_PROFILE` names, make lets
//! Cargo build it, as a user would.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs make in this package's folder. Tests build the library one after the other. Returns the directory of the
/// library.
pub fn make<A: AsRef<OsStr>>(arguments: &[A]) -> PathBuf {
    let turn = File::create(format!("{}/capi.lock", env!("CARGO_TARGET_TMPDIR"))).expect("room");
    turn.lock().expect("a lock");
    let profile = std::env::var("HEADWATER_CAPI_PROFILE").unwrap_or_else(|_| "debug".into());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi");
    let mut command = Command::new("make");
    command.args(["-s", "-C", env!("CARGO_MANIFEST_DIR")]).env_remove("MAKEFLAGS");
    command.arg(format!("PROFILE={profile}")).arg(format!("TARGET={}", target.display()));
    if profile == "debug" && std::env::var_os("HEADWATER_TIMES").is_none() {
        command.arg(format!("BUILT={}", built().display()));
    }
    let output = command.args(arguments).output().expect("make runs");
    assert!(output.status.success(), "make: {}", String::from_utf8_lossy(&output.stderr));
    target.join("capi").join(profile)
}

/// Returns the static library that Cargo has built beside this test. Cargo may have kept others with other features;
/// the newest one has the present sources. A library built with the whole workspace has parts that no program in C
/// uses.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("an executable");
    let folder = test.parent().expect("it is in a folder");
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let is_library = |path: &Path| {
        path.extension() == Some(OsStr::new("a"))
            && path.file_stem().and_then(OsStr::to_str).is_some_and(|stem| stem.starts_with("libheadwater-"))
    };
    let libraries = entries.filter(|entry| is_library(&entry.path()));
    let newest = libraries.max_by_key(|entry| entry.metadata().and_then(|file| file.modified()).expect("a time"));
    newest.unwrap_or_else(|| panic!("no static library in {}", folder.display())).path()
}
