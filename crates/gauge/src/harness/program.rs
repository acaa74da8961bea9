//! The program that runs a launch: this one, or another `headwater` under the environment and wrapper of a variant.
//!
//! The file is opened once and started through its file descriptor, so that a rebuild during a run does not change the
//! run.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use headwater_os_tools::fingerprint::fingerprint;
use headwater_results::schema;

use crate::plan::variants::Variant;

/// A program that can run as a conductor.
#[derive(Debug)]
pub struct Program {
    file: File,
    path: PathBuf,
    variant: Variant,
}

impl Program {
    /// Opens this program, or the one that the variant names.
    ///
    /// # Errors
    /// One line that names the file.
    pub fn open(variant: &Variant) -> Result<Program, String> {
        let path = match &variant.program {
            Some(path) => PathBuf::from(path),
            None => PathBuf::from("/proc/self/exe"),
        };
        let file = File::open(&path).map_err(|error| format!("cannot start {}: {error}", path.display()))?;
        Ok(Program { file, path, variant: variant.clone() })
    }

    /// Opens this program.
    ///
    /// # Errors
    /// As [`Program::open`].
    pub fn own() -> Result<Program, String> {
        Program::open(&Variant::default())
    }

    /// Returns the same program with an additional variable in the environment of its launches.
    ///
    /// # Errors
    /// If no file descriptor is available.
    pub fn with_variable(&self, (name, value): (&str, &Path)) -> io::Result<Program> {
        let mut variant = self.variant.clone();
        variant.environment.push((name.to_owned(), value.to_string_lossy().into_owned()));
        Ok(Program { file: self.file.try_clone()?, path: self.path.clone(), variant })
    }

    /// Returns the command that starts it as a conductor.
    pub fn conductor(&self, subcommand: &str) -> Command {
        // The path names our process id, because within a wrapper `self` would be the wrapper.
        let file = format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd());
        let mut command = match self.variant.wrapper.split_first() {
            None => {
                let mut command = Command::new(&file);
                command.arg0("headwater");
                command
            }
            Some((wrapper, arguments)) => {
                let mut command = Command::new(wrapper);
                command.args(arguments).arg(&file);
                command
            }
        };
        command.arg(subcommand);
        if self.variant.wrapper.is_empty() {
            // A wrapper may stay between this process and the conductor, and is then the conductor's parent.
            command.args(["--parent", &std::process::id().to_string()]);
        }
        command.envs(self.variant.environment.iter().map(|(key, value)| (key, value)));
        command
    }

    /// Returns the path and hash of the file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn identity(&self) -> io::Result<schema::Program> {
        let path = std::fs::canonicalize(&self.path)?;
        Ok(schema::Program { path: path.to_string_lossy().into_owned(), fingerprint: fingerprint(&self.path)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let variant = Variant { program: Some("/nowhere/headwater".to_owned()), ..Variant::default() };
        assert!(Program::open(&variant).expect_err("there is none").contains("/nowhere/headwater"));
    }
}
