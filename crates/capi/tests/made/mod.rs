//! The library that the tests of this package use: linked by make from the static library that Cargo has built for
//! them. In the long form (`HEADWATER_TIMES`), and for a profile that `HEADWATER_CAPI_PROFILE` names, make lets Cargo
//! build one as a user does.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs make in this package's folder. Tests build the library by turns. Returns the directory in which the library is.
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

/// The static library that Cargo has built beside this test. Cargo may have kept others, of other features: the newest
/// is of the present sources. One of the whole workspace has parts that no program in C uses.
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
