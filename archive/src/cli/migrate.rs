//! `headwater archive migrate`: makes or renews the tables.

use std::io::Write;

use clap::Args;
use headwater_results::foreign::line;

use crate::database::Kind;
use crate::place::Place;
use crate::schema;

/// Make or renew the tables; a PostgreSQL archive is made by this
///
/// With --roles two roles of PostgreSQL are made: headwater_reader, who may read, and headwater_adder, who may also add and may not change
/// or delete. `GRANT headwater_adder TO ci` makes the user ci one of them.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  headwater archive --archive postgres://owner@db.example/runs migrate --roles
  psql runs -c 'GRANT headwater_adder TO ci'")]
pub struct MigrateArguments {
    /// Make PostgreSQL's roles headwater_reader and headwater_adder; takes the right to make roles
    #[arg(long)]
    roles: bool,
}

pub fn migrate(place: &Place, arguments: &MigrateArguments) -> anyhow::Result<u8> {
    let mut database = place.open(true)?;
    if arguments.roles && database.kind() == Kind::Sqlite {
        anyhow::bail!("--roles: a file has no roles, only permissions; PostgreSQL has");
    }
    let found = schema::migrate(database.as_mut())?;
    if arguments.roles {
        database.script(&schema::roles())?;
    }
    let mut out = std::io::stdout().lock();
    let place = place.to_string();
    let place = line(&place);
    match found {
        0 => writeln!(out, "{place}: an archive now, version {} of the tables", schema::VERSION)?,
        schema::VERSION => writeln!(out, "{place}: has version {found} of the tables already")?,
        _ => writeln!(out, "{place}: version {found} of the tables is {} now", schema::VERSION)?,
    }
    Ok(0)
}
