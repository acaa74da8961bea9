//! Which of the streams a command shows.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use headwater_streams::inspect::{self, Snapshot, StreamKind};

use super::words;

/// The options that select streams.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct FilterArguments {
    /// Only these streams: the number of a stream, the path of a FIFO, the name of a driver or `driver/minor`, `pipe`, `fifo`
    #[arg(value_name = "STREAM")]
    names: Vec<String>,

    /// Only streams of these processes
    #[arg(long, value_name = "PID", value_delimiter = ',', help_heading = "What")]
    pid: Vec<u32>,

    /// Only streams on which one of these modules is pushed, or that end in such a driver
    #[arg(long, value_name = "MODULE", value_delimiter = ',', help_heading = "What")]
    with: Vec<String>,
}

impl FilterArguments {
    /// The streams that there are and that are asked for.
    pub(super) fn streams(&self) -> anyhow::Result<Vec<Snapshot>> {
        let all = inspect::streams().context("the processes in /proc cannot be listed")?;
        Ok(all.into_iter().filter(|stream| self.takes(stream)).collect())
    }

    /// Whether everything is asked for.
    pub(super) fn is_open(&self) -> bool {
        self.names.is_empty() && self.pid.is_empty() && self.with.is_empty()
    }

    /// What is said if there is nothing to show.
    pub(super) fn nothing(&self) -> String {
        let whose = match headwater_os::files::own_user() {
            0 => "any process".to_owned(),
            user => format!("a process of user {user}; root sees those of all users"),
        };
        if self.is_open() {
            format!("No stream is open in {whose}.")
        } else {
            format!("No stream is as asked for in {whose}; `headwater streams ls` shows all.")
        }
    }

    fn takes(&self, stream: &Snapshot) -> bool {
        let has = |pid: &u32| stream.processes.iter().any(|process| process.pid == *pid);
        (self.names.is_empty() || self.names.iter().any(|name| is_named(stream, name)))
            && (self.pid.is_empty() || self.pid.iter().any(has))
            && (self.with.is_empty() || self.with.iter().any(|name| has_module(stream, name)))
    }
}

fn is_named(stream: &Snapshot, name: &str) -> bool {
    if name.parse() == Ok(stream.id) || words::name(stream) == name {
        return true;
    }
    match &stream.kind {
        StreamKind::Pipe => name == "pipe",
        StreamKind::Fifo { path, .. } => name == "fifo" || path.as_deref().is_some_and(|path| path == absolute(name)),
        StreamKind::Device { driver, minor } => name == driver || name == format!("{driver}/{minor}"),
        _ => false,
    }
}

/// As /proc shows a path.
fn absolute(name: &str) -> PathBuf {
    std::fs::canonicalize(name).unwrap_or_else(|_| Path::new(name).to_owned())
}

fn has_module(stream: &Snapshot, name: &str) -> bool {
    stream.state().is_some_and(|state| {
        state.driver.as_ref().is_some_and(|driver| driver.name == name)
            || state.ends.iter().flat_map(|end| &end.modules).any(|module| module.name == name)
    })
}
