//! Adding a run to the tables, reading it back, removing it. Everything that changes a run's rows is one transaction, so
//! that half a run is never visible.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Instant, SystemTime};

use anyhow::{Context, bail};
use headwater_results::history::own_figure;
use headwater_results::origin::{Machine, facts_of};
use headwater_results::schema::{RowResult, Run, RunHeader};

use crate::content;
use crate::database::{Database, Kind, Retry, Value, insert, patience, pause, places, retry, rows, text, transaction};
use crate::place::Place;
use crate::record::{Form, Record, digest, header_of, restored};
use crate::schema;

/// What adding has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The run is there now.
    New,
    /// The run was there with fewer launches, and is there with all of them now.
    Continued,
    /// The run was there already.
    Already,
}

/// How often a connection that is lost is made again.
const LOST_MAX: u32 = 3;

/// Adds runs to an archive, over one connection as long as it holds.
pub struct Adder {
    place: Place,
    database: Option<Box<dyn Database>>,
}

impl Adder {
    /// Returns an adder that is not connected yet.
    pub fn new(place: Place) -> Adder {
        Adder { place, database: None }
    }

    /// Adds a run; repeats it while the database is busy, and a few times if the connection is lost.
    ///
    /// # Errors
    /// The place, the cause and the remedy.
    pub fn add(&mut self, record: &Record) -> anyhow::Result<Added> {
        let begun = Instant::now();
        let parts = content::parts(&record.content);
        let mut lost = 0;
        loop {
            let error = match self.try_to(record, &parts) {
                Ok(added) => return Ok(added),
                Err(error) => error,
            };
            // Whatever state the connection is in, the next attempt has another one.
            self.database = None;
            match retry(&error) {
                Retry::Busy if begun.elapsed() < patience() => {}
                Retry::Lost if lost < LOST_MAX && begun.elapsed() < patience() => lost += 1,
                _ => return Err(error),
            }
            std::thread::sleep(pause(begun.elapsed()));
        }
    }

    fn try_to(&mut self, record: &Record, parts: &[Vec<u8>]) -> anyhow::Result<Added> {
        let database = match &mut self.database {
            Some(database) => database,
            none => none.insert(open(&self.place, true)?),
        };
        add_to(database.as_mut(), record, parts).with_context(|| self.place.to_string())
    }
}

/// Opens an archive whose tables are ready.
///
/// # Errors
/// The place, the cause and the remedy.
pub fn open(place: &Place, create: bool) -> anyhow::Result<Box<dyn Database>> {
    let mut database = place.open(create)?;
    schema::ready(database.as_mut()).with_context(|| place.to_string())?;
    Ok(database)
}

/// Adds a run whose compressed parts are these.
///
/// # Errors
/// Of the database; and for a run whose other state is there and is no beginning of this one.
fn add_to(database: &mut dyn Database, record: &Record, parts: &[Vec<u8>]) -> anyhow::Result<Added> {
    let run = &record.run;
    // These are shared and no part of the run: they may stay if it fails, and waiting for others ends here.
    let machine = machine(database, &Machine::of(&run.header.environment))?;
    let facts = [serde_json::to_string(&facts_of(&run.header))?];
    let facts =
        documents(database, "facts (digest, document)", &facts, |digest, document| vec![text(digest), text(document)])?
            [&facts[0]];
    let definitions = definitions(database, &run.results)?;
    transaction(database, |database| {
        let earlier = match state(database, record)? {
            State::There => return Ok(Added::Already),
            State::Absent => None,
            State::Earlier(id) => Some(id),
        };
        let id = insert_run(database, record, machine, facts)?;
        let Some(id) = id else { return Ok(Added::Already) };
        if let Some(earlier) = earlier {
            insert(database, "superseded (run, later)", &[vec![Value::Integer(earlier), Value::Integer(id)]], "")?;
        }
        let labels = run.header.labels.iter().map(|(name, value)| vec![text(name), text(value), Value::Integer(id)]);
        insert(database, "label (name, value, run)", &labels.collect::<Vec<_>>(), "")?;
        let mut results: Vec<Vec<Value>> = Vec::new();
        for (place, (result, definition)) in (0..).zip(run.results.iter().zip(&definitions)) {
            let ids = [*definition, id, place].map(Value::Integer);
            results.push(ids.into_iter().chain(result_values(result)?).collect());
        }
        results.sort_by_key(|values| values[0].integer().unwrap_or(0));
        results.dedup_by_key(|values| values[0].integer().unwrap_or(0));
        const RESULT: &str = "result (definition, run, place, reason, median, low, high, confidence, launches, blocks)";
        insert(database, RESULT, &results, "")?;
        for (number, part) in (0..).zip(parts) {
            let values = vec![Value::Integer(id), Value::Integer(number), Value::Bytes(part.clone())];
            insert(database, "part (run, number, content)", &[values], "")?;
        }
        Ok(if earlier.is_some() { Added::Continued } else { Added::New })
    })
}

/// What the archive has of a run.
enum State {
    Absent,
    There,
    /// This earlier state.
    Earlier(i64),
}

/// Finds a run in whatever state. Until the end of the transaction no other process adds a state of it.
fn state(database: &mut dyn Database, record: &Record) -> anyhow::Result<State> {
    if database.kind() == Kind::Postgres {
        const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
        database.execute(LOCK, &[text(&record.identity)])?;
    }
    const FIND: &str = "SELECT id, digest, form, bytes, launches FROM run \
        WHERE identity = $1 AND NOT EXISTS (SELECT 1 FROM superseded s WHERE s.run = run.id)";
    let found = rows(database, FIND, &[text(&record.identity)])?;
    let Some(row) = found.first() else { return Ok(State::Absent) };
    let (id, there) = (row[0].integer()?, row[1].text()?);
    let (form, bytes, launches) = (Form::named(row[2].text()?)?, row[3].integer()?, row[4].integer()?);
    if there == record.digest {
        return Ok(State::There);
    }
    let own = record.content.get(..usize::try_from(bytes)?);
    match (form, record.form) {
        // The file grows by events alone, so an earlier state is its beginning.
        (Form::Events, Form::Events) if own.is_some_and(|beginning| digest(beginning) == there) => {
            Ok(State::Earlier(id))
        }
        (Form::Events, Form::Events) if is_beginning(database, id, &record.content)? => Ok(State::There),
        // A document is made of the events, which say more.
        (Form::Events, Form::Document) if record.launches <= launches => Ok(State::There),
        (Form::Document, Form::Events) if record.launches >= launches => Ok(State::Earlier(id)),
        (Form::Document, Form::Document) if record.launches > launches => Ok(State::Earlier(id)),
        (Form::Document, Form::Document) if record.launches < launches => Ok(State::There),
        _ => bail!(
            "another state of run {} is in the archive, and neither is the beginning of the other: one was changed; \
             it is {} there, `headwater archive remove digest={}` removes it",
            record.run.header.run_id,
            short(there),
            short(there)
        ),
    }
}

/// Whether a file is the beginning of one that the archive has.
fn is_beginning(database: &mut dyn Database, id: i64, beginning: &[u8]) -> anyhow::Result<bool> {
    Ok(content_of(database, id)?.starts_with(beginning))
}

/// Returns the beginning of a digest, by which a run can be named.
pub fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

fn insert_run(database: &mut dyn Database, record: &Record, machine: i64, facts: i64) -> anyhow::Result<Option<i64>> {
    let header = &record.run.header;
    let status = serde_json::to_value(record.run.status)?;
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let values = [
        text(&record.digest),
        text(&record.identity),
        text(record.form.name()),
        Value::Integer(i64::try_from(record.content.len())?),
        text(&header.run_id),
        Value::Integer(record.started),
        text(&header.started_at),
        text(&now),
        Value::Integer(machine),
        Value::Integer(facts),
        text(&header.environment.kernel.release),
        text(&header.program_name()),
        text(status.as_str().unwrap_or_default()),
        Value::Integer(record.launches),
        machine_id(header),
    ];
    const INTO: &str = "INSERT INTO run (digest, identity, form, bytes, name, started, started_at, added_at, machine, facts, \
        kernel, program, status, launches, machine_id) VALUES";
    let sql = format!("{INTO} {} ON CONFLICT (digest) DO NOTHING RETURNING id", places(1, values.len()));
    let made = rows(database, &sql, &values)?;
    made.first().map(|row| row[0].integer()).transpose()
}

fn machine_id(header: &RunHeader) -> Value {
    header.environment.machine.as_deref().map_or(Value::Null, text)
}

/// Fills the column `machine_id` of runs that were added when there was none. A run that cannot be read keeps none: `check` says
/// what is wrong with it.
///
/// # Errors
/// Of the database.
pub fn fill_machine_ids(database: &mut dyn Database) -> anyhow::Result<()> {
    for row in rows(database, "SELECT id, form FROM run ORDER BY id", &[])? {
        let (id, form) = (row[0].integer()?, Form::named(row[1].text()?)?);
        let Some(header) = content_of(database, id).ok().and_then(|content| header_of(form, &content)) else {
            continue;
        };
        database.execute("UPDATE run SET machine_id = $1 WHERE id = $2", &[machine_id(&header), Value::Integer(id)])?;
    }
    Ok(())
}

/// The values of a row's result: its own figure, or why there is none.
fn result_values(result: &RowResult) -> anyhow::Result<Vec<Value>> {
    Ok(match own_figure(result) {
        Ok(own) => {
            let estimate = own.estimate;
            // Usually the blocks are 0, 1, 2 and so on.
            let is_usual = own.blocks.iter().zip(0..).all(|(block, usual)| *block == usual);
            let blocks = if is_usual { Value::Null } else { Value::Text(serde_json::to_string(&own.blocks)?) };
            vec![
                Value::Null,
                Value::Real(estimate.median),
                Value::Real(estimate.low),
                Value::Real(estimate.high),
                Value::Real(estimate.confidence),
                Value::Text(serde_json::to_string(&own.launches)?),
                blocks,
            ]
        }
        Err(reason) => {
            let mut values = vec![text(&reason)];
            values.resize(7, Value::Null);
            values
        }
    })
}

fn machine(database: &mut dyn Database, machine: &Machine) -> anyhow::Result<i64> {
    let values = [text(&machine.host), text(&machine.cpu), Value::Integer(i64::try_from(machine.cpus)?)];
    const FIND: &str = "SELECT id FROM machine WHERE host = $1 AND cpu = $2 AND cpus = $3";
    if let Some(row) = rows(database, FIND, &values)?.first() {
        return row[0].integer();
    }
    insert(database, "machine (host, cpu, cpus)", &[values.to_vec()], "ON CONFLICT (host, cpu, cpus) DO NOTHING")?;
    let found = rows(database, FIND, &values)?;
    found.first().context("a machine that was inserted is not there")?[0].integer()
}

/// Returns the ids of rows' definitions, in the order of the results.
fn definitions(database: &mut dyn Database, results: &[RowResult]) -> anyhow::Result<Vec<i64>> {
    let mut written = Vec::new();
    let mut rows_of = BTreeMap::new();
    for result in results {
        let document = serde_json::to_string(&result.row)?;
        rows_of.insert(document.clone(), &result.row);
        written.push(document);
    }
    let ids = documents(database, "definition (digest, name, version, document)", &written, |digest, document| {
        let row = rows_of[document];
        vec![text(digest), text(&row.id), Value::Integer(i64::from(row.definition_version)), text(document)]
    })?;
    Ok(written.iter().map(|document| ids[document]).collect())
}

/// Returns the ids of documents, which are inserted if they are not there.
fn documents(
    database: &mut dyn Database,
    into: &str,
    documents: &[String],
    values: impl Fn(&str, &str) -> Vec<Value>,
) -> anyhow::Result<BTreeMap<String, i64>> {
    let table = into.split(' ').next().unwrap_or(into);
    // In the order of digests, so that two processes never wait for each other.
    let mut missing: BTreeMap<String, &str> =
        documents.iter().map(|document| (digest(document.as_bytes()), document.as_str())).collect();
    let mut ids = BTreeMap::new();
    for attempt in 0..2 {
        let wanted: Vec<String> = missing.keys().cloned().collect();
        for wanted in wanted.chunks(500) {
            let sql = format!("SELECT digest, id FROM {table} WHERE digest IN {}", places(1, wanted.len()));
            let values: Vec<Value> = wanted.iter().map(|digest| text(digest)).collect();
            database.query(&sql, &values, &mut |row| {
                if let Some(document) = missing.remove(row[0].text()?) {
                    ids.insert(document.to_owned(), row[1].integer()?);
                }
                Ok(())
            })?;
        }
        if missing.is_empty() {
            return Ok(ids);
        }
        if attempt == 0 {
            let new: Vec<Vec<Value>> = missing.iter().map(|(digest, document)| values(digest, document)).collect();
            insert(database, into, &new, "ON CONFLICT (digest) DO NOTHING")?;
        }
    }
    bail!("a row of table {table} that was inserted is not there")
}

/// Returns the file of a run.
///
/// # Errors
/// Of the database, and for damaged parts.
pub fn content_of(database: &mut dyn Database, id: i64) -> anyhow::Result<Vec<u8>> {
    let mut content = Vec::new();
    let mut next = 0;
    const FIND: &str = "SELECT number, content FROM part WHERE run = $1 ORDER BY number";
    database.query(FIND, &[Value::Integer(id)], &mut |row| {
        if row[0].integer()? != next {
            bail!("part {next} of its file is missing in the database; restore it from a backup");
        }
        next += 1;
        content::append(&mut content, row[1].bytes()?)
    })?;
    Ok(content)
}

/// Returns a run as it was added.
///
/// # Errors
/// Of the database, and if the run was damaged there.
pub fn read(database: &mut dyn Database, id: i64, form: Form, digest: &str) -> anyhow::Result<Run> {
    let content = content_of(database, id)?;
    restored(form, &content, digest)
}

/// Removes runs in all their states.
///
/// # Errors
/// Of the database: who may only add cannot remove.
pub fn remove(database: &mut dyn Database, runs: &BTreeSet<i64>) -> anyhow::Result<()> {
    transaction(database, |database| {
        for id in runs {
            const DELETE: &str = "DELETE FROM run WHERE identity = (SELECT identity FROM run WHERE id = $1)";
            database.execute(DELETE, &[Value::Integer(*id)])?;
        }
        Ok(())
    })
}
