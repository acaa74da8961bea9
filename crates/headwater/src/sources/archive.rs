//! Runs out of an archive, by the program `headwater-archive`, which alone knows databases. Called wherever a run may be
//! named: by [`super::load`] for whole runs, by [`super::many`] for figures.
//!
//! `headwater-archive` is looked for beside this program, then on PATH. What it prints is not trusted more than a file.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use anyhow::{Context, anyhow, bail};
use headwater_results::history::exchange::{Found, Heard, Reader, wanted};
use headwater_results::parse::parse_run;
use headwater_results::schema::Row;

use super::Named;

/// The beginning of a run's name that is a query of the archive.
pub const PREFIX: &str = "archive:";

/// The program that knows databases.
pub const PROGRAM: &str = "headwater-archive";

/// The terms of a query that are not labels, for completions; `headwater-archive` knows their meaning.
pub const TERMS: &[(&str, &str)] = &[
    ("host", "the host's name"),
    ("kernel", "a release, or its beginning: 6.18"),
    ("cpu", "the processor's model"),
    ("program", "the headwater that measured, or its version"),
    ("run", "the run's name"),
    ("digest", "the beginning of the digest that list shows"),
    ("status", "complete, partial or interrupted"),
    ("since", "from this time on: 2026-11-01, 7d"),
    ("until", "before this time"),
    ("last", "the newest so many"),
    ("first", "the oldest so many"),
];

/// The subcommands of `headwater-archive`, for completions.
pub const COMMANDS: &[(&str, &str)] = &[
    ("add", "add runs"),
    ("list", "list runs"),
    ("show", "print runs"),
    ("remove", "remove runs"),
    ("check", "check the database and every run in it"),
    ("migrate", "make or renew the tables, and PostgreSQL's roles"),
];

/// Returns the path of `headwater-archive`.
///
/// # Errors
/// If it is neither beside this program nor on PATH; with the remedy.
pub fn program() -> anyhow::Result<PathBuf> {
    let beside = env::current_exe().ok().and_then(|own| Some(own.parent()?.to_owned()));
    let on_path = env::var_os("PATH").unwrap_or_default();
    let places = beside.into_iter().chain(env::split_paths(&on_path).filter(|place| place.is_absolute()));
    let found = places.map(|place| place.join(PROGRAM)).find(|path| is_program(path));
    found.ok_or_else(|| {
        anyhow!(
            "archives need the program {PROGRAM}, which is neither beside headwater nor on PATH; \
             `cargo install --path archive` in Headwater's sources installs it"
        )
    })
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The variable by which `headwater-archive` finds the headwater that has started it.
const COMMAND: &str = "HEADWATER_COMMAND";

/// Returns the command that runs `headwater-archive` with these arguments.
///
/// # Errors
/// As [`program`].
pub fn command<S: Into<OsString>>(arguments: impl IntoIterator<Item = S>) -> anyhow::Result<Command> {
    let mut command = Command::new(program()?);
    command.args(arguments.into_iter().map(Into::into));
    if let Ok(own) = env::current_exe() {
        command.env(COMMAND, own);
    }
    Ok(command)
}

/// A `headwater-archive` whose output is read.
struct Archive {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Archive {
    fn start(arguments: &[&str], input: Stdio) -> anyhow::Result<Archive> {
        let mut command = command(arguments)?;
        let mut child =
            command.stdin(input).stdout(Stdio::piped()).spawn().with_context(|| format!("{PROGRAM} does not start"))?;
        let output = BufReader::new(child.stdout.take().context("its output is a pipe")?);
        Ok(Archive { child, output })
    }

    /// Replaces `line` by the next one, without its end; returns whether there was one.
    fn read(&mut self, line: &mut String) -> anyhow::Result<bool> {
        line.clear();
        if self.output.read_line(line)? == 0 {
            return Ok(false);
        }
        let is_whole = line.ends_with('\n');
        line.truncate(line.len() - usize::from(is_whole));
        Ok(is_whole)
    }

    /// Ends the program. It has said on standard error what was wrong.
    fn end(mut self) -> anyhow::Result<ExitStatus> {
        drop(self.output);
        Ok(self.child.wait()?)
    }
}

/// The archive's program has said itself what was wrong, so nothing more is printed.
#[derive(Debug)]
pub struct Said;

impl std::error::Error for Said {}

impl std::fmt::Display for Said {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{PROGRAM} has failed")
    }
}

fn broken(what: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("{PROGRAM}: {what}; it may be of another version than headwater: install both from the same sources")
}

/// Returns the whole runs of a query, each as [`super::load`] reads it from a directory.
///
/// # Errors
/// What the program says, and a query without runs.
pub fn runs(query: &str) -> anyhow::Result<Named> {
    let mut archive = Archive::start(&["runs", "--", query], Stdio::null())?;
    let mut runs = Named::new();
    // A line with the run's name, and a line with its document.
    let (mut name, mut document) = (String::new(), String::new());
    while archive.read(&mut name)? && archive.read(&mut document)? {
        let name: String = serde_json::from_str(&name).map_err(broken)?;
        runs.push((name, parse_run(&document).map_err(broken)?));
    }
    if !archive.end()?.success() {
        return Err(Said.into());
    }
    if runs.is_empty() {
        bail!("{PREFIX}{query}: no run of the archive is meant; `headwater archive list` lists them");
    }
    Ok(runs)
}

/// Hands every figure of the runs of a query to `take`, of the rows of the archive that `keep` accepts.
///
/// # Errors
/// What the program says.
pub fn figures(query: &str, mut keep: impl FnMut(&Row) -> bool, mut take: impl FnMut(Found)) -> anyhow::Result<()> {
    let mut archive = Archive::start(&["figures", "--", query], Stdio::piped())?;
    let mut input = archive.child.stdin.take();
    let mut reader = Reader::default();
    let mut is_whole = false;
    let mut line = String::new();
    while archive.read(&mut line)? {
        match reader.line(&line).map_err(broken)? {
            Heard::Reference => {}
            Heard::RowsEnd => {
                let rows: Vec<i64> = reader.rows().filter(|(_, row)| keep(row)).map(|(id, _)| id).collect();
                let mut input = input.take().ok_or_else(|| broken("it asks twice for rows"))?;
                // A program that has died says so by its status.
                let _ = input.write_all(wanted(&rows).as_bytes());
            }
            Heard::Found(found) => take(*found),
            Heard::End => is_whole = true,
        }
    }
    if !archive.end()?.success() {
        return Err(Said.into());
    }
    if !is_whole {
        return Err(broken("its answer has no end"));
    }
    Ok(())
}
