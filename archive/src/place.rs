//! Where an archive is: a file of SQLite, or a PostgreSQL server. Read from `--archive`, HEADWATER_ARCHIVE, or the usual
//! place by the XDG base directory specification.
//!
//! A password is never taken from a command line, because every user of the machine can read that, and none is ever
//! printed.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::database::Database;
use crate::database::postgres::Postgres;
use crate::database::sqlite::Sqlite;

mod server;

pub use server::Server;

/// The variable that names the archive.
pub const VARIABLE: &str = "HEADWATER_ARCHIVE";

/// The beginnings of the name of a server.
const SERVER: [&str; 2] = ["postgres://", "postgresql://"];

/// Where an archive is.
#[derive(Clone, Debug)]
pub enum Place {
    /// A file.
    File(PathBuf),
    /// A server.
    Server(Box<Server>),
}

impl Place {
    /// Returns the place that was typed, or that the environment names, or the usual one.
    ///
    /// # Errors
    /// For a name that cannot be a place, with the remedy.
    pub fn of(typed: Option<&str>) -> anyhow::Result<Place> {
        if let Some(typed) = typed {
            return Place::named(typed, "--archive", false);
        }
        match env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            Some(value) => {
                let value = value.into_string().ok().with_context(|| format!("{VARIABLE} is no text"))?;
                Place::named(&value, VARIABLE, true)
            }
            None => Ok(Place::File(usual("XDG_DATA_HOME", ".local/share")?.join("archive.sqlite"))),
        }
    }

    fn named(name: &str, source: &str, may_hold_password: bool) -> anyhow::Result<Place> {
        if SERVER.iter().any(|prefix| name.starts_with(prefix)) {
            return Ok(Place::Server(Box::new(Server::named(name, source, may_hold_password)?)));
        }
        match name.split_once("://") {
            Some(("sqlite" | "file", path)) if !path.is_empty() => Ok(Place::File(PathBuf::from(path))),
            Some((scheme, _)) => {
                bail!("{source}: no archive is named {scheme}://; a file or postgres://HOST/DATABASE is")
            }
            None if name.is_empty() => bail!("{source}: name a file, or postgres://HOST/DATABASE"),
            None => Ok(Place::File(PathBuf::from(name))),
        }
    }

    /// Returns the text that names this place, in whatever directory; without a password.
    ///
    /// # Errors
    /// If the current directory is gone.
    pub fn absolute(&self) -> anyhow::Result<String> {
        match self {
            Place::File(path) => {
                let path = std::path::absolute(path)?;
                path.into_os_string().into_string().ok().context("the archive's path is no text")
            }
            Place::Server(server) => Ok(server.to_string()),
        }
    }

    /// Opens the archive; makes an empty file if there is none and `create` is set.
    ///
    /// # Errors
    /// The place, the cause and the remedy.
    pub fn open(&self, create: bool) -> anyhow::Result<Box<dyn Database>> {
        Ok(match self {
            Place::File(path) => Box::new(Sqlite::open(path, create)?),
            Place::Server(server) => Box::new(Postgres::connect(server)?),
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File(path) => path.display().fmt(formatter),
            Place::Server(server) => server.fmt(formatter),
        }
    }
}

/// Returns headwater's directory of a kind of the XDG specification: below the variable's value, or below `default` in the
/// home directory.
///
/// # Errors
/// If neither is known.
pub fn usual(variable: &str, default: &str) -> anyhow::Result<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute(variable).or_else(|| Some(absolute("HOME")?.join(default)));
    let base = base.with_context(|| {
        format!("there is neither {variable} nor HOME, so the archive has no usual place; name it by --archive or {VARIABLE}")
    })?;
    Ok(Path::new(&base).join("headwater"))
}
