//! The plain C programs (examples/peers/c): builds them, and measures by one that runs alone. Called by `crosscheck`, by
//! its coarse form in CI, and by tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::shell;

/// The folder of the sources: each `.c` is a program, and prints the names of its mechanisms with `--list`.
const SOURCES: &str = "examples/peers/c";

/// A mechanism of the kernel and the program that measures it.
#[derive(Clone, Debug)]
pub struct Mechanism {
    /// The name of Headwater's transport.
    pub name: String,
    pub program: PathBuf,
}

impl Mechanism {
    /// Returns the command line of the program as an external transport.
    pub fn command(&self) -> String {
        format!("'{}' {}", self.program.display(), self.name)
    }

    /// Returns the figure that the program measures alone: messages/s of `stream`, ns of `rtt`.
    ///
    /// # Errors
    /// If the program fails or prints no figure in the unit of the pattern.
    pub fn alone(&self, pattern: &str, size_bytes: u64, (first, second): (u32, u32), time: Duration) -> Result<f64> {
        let mut command = shell::command(&self.program.to_string_lossy());
        command.args([&self.name, "--alone", pattern, &size_bytes.to_string(), &format!("{first},{second}")]);
        let text = shell::output(command.arg(time.as_millis().to_string()))?;
        let unit = if pattern == "rtt" { "ns" } else { "messages/s" };
        figure(&text, unit).with_context(|| format!("c-{} printed {text:?}, no figure in {unit}", self.name))
    }
}

/// Returns the number before `unit` at the beginning of a text.
fn figure(text: &str, unit: &str) -> Option<f64> {
    let (value, rest) = text.split_once(' ')?;
    rest.strip_prefix(unit).filter(|rest| rest.starts_with(' '))?;
    value.parse().ok()
}

/// Builds all programs into `place`. Returns their mechanisms by program.
///
/// # Errors
/// If one does not build.
pub fn build(place: &Path) -> Result<Vec<Mechanism>> {
    fs::create_dir_all(place).with_context(|| place.display().to_string())?;
    let sources = shell::root().join(SOURCES);
    let mut mechanisms = Vec::new();
    let mut paths = Vec::new();
    for entry in fs::read_dir(&sources).with_context(|| sources.display().to_string())? {
        paths.push(entry?.path());
    }
    paths.sort();
    for source in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "c")) {
        let program = place.join(format!("c-{}", source.file_stem().unwrap_or_default().display()));
        let mut compile = shell::command("cc");
        compile.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-o"]).arg(&program).arg(source).arg("-lrt");
        shell::run(&mut compile)?;
        let list = shell::output(shell::command(&program.to_string_lossy()).arg("--list"))?;
        mechanisms.extend(list.lines().map(|name| Mechanism { name: name.to_owned(), program: program.clone() }));
    }
    ensure!(!mechanisms.is_empty(), "{SOURCES} has no program");
    Ok(mechanisms)
}

#[cfg(test)]
mod tests;
