//! What the tests share: a directory of their own, archives of both kinds, runs, and the command.
#![allow(dead_code)] // Each test program uses some of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

pub mod headwater;
pub mod postgres;
pub mod proxy;
pub mod sample;

use postgres::Server;

/// A directory with everything that a test writes.
pub struct TestDir(TempDir);

impl TestDir {
    pub fn new() -> TestDir {
        TestDir(TempDir::new().expect("a temporary directory"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a run, and returns its directory.
    pub fn run(&self, name: &str, events: &str) -> PathBuf {
        let directory = self.path(name);
        fs::create_dir_all(&directory).expect("a directory");
        fs::write(directory.join("run.jsonl"), events).expect("a file");
        directory
    }

    /// Returns a command whose usual places are in this directory.
    pub fn plain(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        command.env("XDG_DATA_HOME", self.path("data")).env("XDG_STATE_HOME", self.path("state"));
        command.env("HOME", self.path("home")).env_remove("HEADWATER_ARCHIVE");
        for name in ["PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE", "PGPASSFILE", "PGSSLROOTCERT"] {
            command.env_remove(name);
        }
        command
    }

    /// Returns `headwater-archive` with an archive and arguments.
    pub fn command(&self, archive: &str, arguments: &[&str]) -> Command {
        let mut command = self.plain(Path::new(env!("CARGO_BIN_EXE_headwater-archive")));
        command.env("HEADWATER_ARCHIVE", archive).args(arguments);
        command
    }

    pub fn archive(&self, archive: &str, arguments: &[&str]) -> Output {
        self.command(archive, arguments).output().expect("it starts")
    }

    /// Adds a run, and expects success.
    pub fn add(&self, archive: &str, run: &Path) -> String {
        expect(&self.archive(archive, &["add", text(run)]), 0, &[])
    }

    /// Returns the runs of a query, as `list --json` prints them.
    pub fn list(&self, archive: &str, query: &str) -> Vec<serde_json::Value> {
        let output = self.archive(archive, &["list", "--json", query]);
        let text = expect(&output, 0, &[]);
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("a text")
}

/// Checks the exit status and what was said, and returns it.
pub fn expect(output: &Output, status: i32, parts: &[&str]) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{said}");
    for part in parts {
        assert!(said.contains(part), "no {part:?} in: {said}");
    }
    said
}

/// How many times as much as the brief form a test does.
pub fn times() -> usize {
    std::env::var("HEADWATER_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// Changes the tables of an archive behind its program's back; `{}` stands before a table's name.
pub fn change(archive: &str, sql: &str) {
    match Server::shared().filter(|_| archive.starts_with("postgres")) {
        Some(server) => server.connect_to(archive).batch_execute(&sql.replace("{}", "headwater.")).expect("a change"),
        None => rusqlite::Connection::open(archive)
            .and_then(|file| file.execute_batch(&sql.replace("{}", "")))
            .expect("a change"),
    }
}

/// Does a test with an empty archive of each kind.
pub fn on_both(test: impl Fn(&TestDir, &str)) {
    let dir = TestDir::new();
    test(&dir, text(&dir.path("archive.sqlite")));
    if let Some(server) = Server::shared() {
        let dir = TestDir::new();
        let archive = server.database();
        expect(&dir.archive(&archive, &["migrate", "--roles"]), 0, &["an archive now"]);
        test(&dir, &archive);
    }
}
