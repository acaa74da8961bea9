//! `headwater archive check`: whether everything in the archive can be read, and says what its files say.

use std::io::Write;

use clap::Args;
use headwater_results::foreign::{line, printable};
use headwater_results::history::own_figure;

use super::list::parsed;
use crate::archive::{self, short};
use crate::database::{Database, Kind, Value, rows};
use crate::place::Place;
use crate::query::{Head, heads};
use crate::spool::Spool;

/// Check the database and every run in it: files against their digests, tables against the files
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  headwater archive check              everything
  headwater archive check since=1d     what was measured since yesterday")]
pub struct CheckArguments {
    /// Which runs [default: all]
    #[arg(value_name = "QUERY")]
    query: Option<String>,
}

pub fn check(place: &Place, arguments: &CheckArguments) -> anyhow::Result<u8> {
    let mut database = archive::open(place, false)?;
    let database = database.as_mut();
    let mut wrong: Vec<String> = Vec::new();
    if database.kind() == Kind::Sqlite {
        for row in rows(database, "PRAGMA integrity_check", &[])? {
            let said = row[0].text()?.to_owned();
            wrong.extend((said != "ok").then_some(said));
        }
    }
    let mut query = parsed(arguments.query.as_deref().unwrap_or_default())?;
    query.all_states = true;
    let heads = heads(database, &query)?;
    for head in &heads {
        if let Err(error) = check_run(database, head) {
            wrong.push(format!("{} {}: {error:#}", short(&head.digest), line(&head.run_id)));
        }
    }
    let mut out = std::io::stdout().lock();
    for what in &wrong {
        writeln!(out, "{}", printable(what))?;
    }
    writeln!(out, "{} runs checked, {} wrong", heads.len(), wrong.len())?;
    let (markers, _) = Spool::usual()?.markers()?;
    if !markers.is_empty() {
        writeln!(out, "{} runs are spooled; `headwater archive add --spooled` adds them", markers.len())?;
    }
    Ok(u8::from(!wrong.is_empty()))
}

/// Checks a run: its file, and that the tables say the same.
fn check_run(database: &mut dyn Database, head: &Head) -> anyhow::Result<()> {
    let run = archive::read(database, head.id, head.form, &head.digest)?;
    let machine = run.header.environment.machine.as_ref().map(|id| id.replace('\0', "\u{fffd}"));
    if head.machine_id != machine {
        anyhow::bail!("the tables have another machine; remove it and add it again");
    }
    const FIND: &str =
        "SELECT d.name, r.median FROM result r JOIN definition d ON d.id = r.definition WHERE r.run = $1";
    let mut found = rows(database, FIND, &[Value::Integer(head.id)])?;
    for result in &run.results {
        let name = result.row.id.replace('\0', "\u{fffd}");
        let median = own_figure(result).map_or(Value::Null, |own| Value::Real(own.estimate.median));
        let Some(at) = found.iter().position(|row| row[0] == Value::Text(name.clone()) && row[1] == median) else {
            anyhow::bail!("the tables have another figure of {}; remove it and add it again", line(&name));
        };
        found.swap_remove(at);
    }
    anyhow::ensure!(found.is_empty(), "the tables have more rows than its file; remove it and add it again");
    Ok(())
}
