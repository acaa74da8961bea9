//! A private directory in which tests run the command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A directory for a test: runs are in `runs`, temporary files in `tmp`.
pub struct TestDir(TempDir);

#[allow(dead_code)] // Each test program uses some of it.
impl TestDir {
    pub fn new() -> TestDir {
        let dir = TestDir(TempDir::new().expect("a temporary directory"));
        fs::create_dir(dir.tmp()).expect("an empty directory");
        dir
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn tmp(&self) -> PathBuf {
        self.path("tmp")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
        command.args(arguments).current_dir(self.0.path()).env("TMPDIR", self.tmp()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command starts")
    }

    /// The path of the directory.
    pub fn root(&self) -> &Path {
        self.0.path()
    }

    /// Files that a run in this directory left in `tmp`.
    pub fn left_behind(&self) -> Vec<PathBuf> {
        fs::read_dir(self.tmp()).expect("the directory").flatten().map(|entry| entry.path()).collect()
    }
}

/// The exit status of a command that ended by itself.
#[allow(dead_code)] // As above.
pub fn status(output: &Output) -> i32 {
    output.status.code().expect("ended by itself")
}
