//! The command itself, which HEADWATER names; `cargo xtask ci` sets it.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::TestDir;

/// Returns the command; `None` if HEADWATER does not name it, which is said.
pub fn headwater() -> Option<PathBuf> {
    let found = env::var_os("HEADWATER").map(PathBuf::from);
    if found.is_none() {
        let said = b"\nSKIPPED: HEADWATER does not name the command: nothing is tested with it\n\n";
        std::io::stderr().write_all(said).expect("standard error");
    }
    found
}

impl TestDir {
    pub fn headwater(&self, archive: &str, arguments: &[&str]) -> Command {
        let mut command = self.plain(&headwater().expect("the command"));
        let beside = Path::new(env!("CARGO_BIN_EXE_headwater-archive")).parent().expect("a folder").to_owned();
        let usual = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([beside].into_iter().chain(env::split_paths(&usual))).expect("a path");
        command.env("PATH", path).env("HEADWATER_ARCHIVE", archive).args(arguments);
        command
    }

    pub fn said(&self, archive: &str, arguments: &[&str]) -> Output {
        self.headwater(archive, arguments).output().expect("it starts")
    }
}
