//! What `headwater` reads: whole runs, and figures of rows. Both are lines on standard output.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufWriter, Write};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use headwater_results::estimate::Estimate;
use headwater_results::history::exchange::{Figure, Writer, read_wanted};
use headwater_results::origin::{Machine, Origin};
use headwater_results::schema::Row;

use super::list::parsed;
use crate::archive;
use crate::database::{Database, Value, places};
use crate::place::Place;
use crate::query::{Head, Query, heads, labels};

/// Prints whole runs, one at a time.
pub fn runs(place: &Place, query: &str) -> anyhow::Result<u8> {
    let mut database = archive::open(place, false)?;
    let query = parsed(query)?;
    let mut out = BufWriter::new(io::stdout().lock());
    for head in heads(database.as_mut(), &query)? {
        let run = archive::read(database.as_mut(), head.id, head.form, &head.digest);
        let run = run.with_context(|| format!("{place}: run {} ({})", head.run_id, archive::short(&head.digest)))?;
        serde_json::to_writer(&mut out, &head.name)?;
        writeln!(out)?;
        serde_json::to_writer(&mut out, &run)?;
        writeln!(out)?;
    }
    out.flush()?;
    Ok(0)
}

/// Prints all rows, reads which are wanted, and prints their figures.
pub fn figures(place: &Place, query: &str) -> anyhow::Result<u8> {
    let mut database = archive::open(place, false)?;
    let database = database.as_mut();
    let query = parsed(query)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut writer = Writer::new();
    let mut rows = BTreeMap::new();
    database.query("SELECT id, document FROM definition ORDER BY id", &[], &mut |found| {
        let row: Arc<Row> = Arc::new(serde_json::from_str(found[1].text()?)?);
        writer.row(found[0].integer()?, &row);
        rows.insert(found[0].integer()?, row);
        Ok(())
    })?;
    writer.rows_end();
    out.write_all(writer.take().as_bytes())?;
    out.flush()?;
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        // The reader has found no row that it wants, and has said so.
        return Ok(0);
    }
    let wanted: BTreeSet<i64> =
        read_wanted(&line).map_err(|error| anyhow!("standard input: {error}"))?.into_iter().collect();
    let heads: BTreeMap<i64, Head> = heads(database, &query)?.into_iter().map(|head| (head.id, head)).collect();
    let mut labels_of: BTreeMap<i64, BTreeMap<String, String>> = BTreeMap::new();
    for (run, name, value) in labels(database, &query)? {
        labels_of.entry(run).or_default().insert(name, value);
    }
    let mut facts = facts(database, &query)?;
    each_figure(database, &query, &wanted, rows.len(), &mut |run, row, figure| {
        // A run that was added since the heads were read.
        let Some(head) = heads.get(&run) else { return Ok(()) };
        if let Some(facts) = facts.remove(&head.facts) {
            writer.facts(head.facts, || facts);
        }
        if !writer.knows_run(run) {
            writer.run(run, head.facts, origin(head, labels_of.remove(&run).unwrap_or_default())?);
        }
        writer.figure(run, row, figure);
        Ok(out.write_all(writer.take().as_bytes())?)
    })?;
    out.write_all(writer.finish().as_bytes())?;
    out.flush()?;
    Ok(0)
}

fn origin(head: &Head, labels: BTreeMap<String, String>) -> anyhow::Result<Origin> {
    Ok(Origin {
        run: head.name.clone(),
        run_id: head.run_id.clone(),
        started_at: head.started_at.clone(),
        machine: Machine {
            host: head.host.clone(),
            id: head.machine_id.clone(),
            cpu: head.cpu.clone(),
            cpus: usize::try_from(head.cpus).unwrap_or(0),
        },
        kernel: head.kernel.clone(),
        program: head.program.clone(),
        status: serde_json::from_value(head.status.as_str().into()).context("the status of a run")?,
        labels,
        facts: Arc::default(),
    })
}

/// Returns the facts of the runs that a query means.
fn facts(database: &mut dyn Database, query: &Query) -> anyhow::Result<BTreeMap<i64, BTreeMap<String, String>>> {
    let mut values = Vec::new();
    let condition = query.condition(&mut values);
    let sql = format!(
        "SELECT f.id, f.document FROM facts f WHERE f.id IN \
         (SELECT r.facts FROM run r JOIN machine m ON m.id = r.machine WHERE {condition})"
    );
    let mut facts = BTreeMap::new();
    database.query(&sql, &values, &mut |row| {
        facts.insert(row[0].integer()?, serde_json::from_str(row[1].text()?)?);
        Ok(())
    })?;
    Ok(facts)
}

/// Takes the figure of a row in a run, or why there is none.
type TakeFigure<'a> = &'a mut dyn FnMut(i64, i64, Result<Figure, String>) -> anyhow::Result<()>;

/// Hands the figures of the wanted rows in the runs of a query to `take`.
fn each_figure(
    database: &mut dyn Database,
    query: &Query,
    wanted: &BTreeSet<i64>,
    rows: usize,
    take: TakeFigure<'_>,
) -> anyhow::Result<()> {
    // As many parameters as a statement surely takes; if all rows are wanted, they need not be named.
    const WANTED_MAX: usize = 10_000;
    let wanted: Vec<Value> = wanted.iter().map(|id| Value::Integer(*id)).collect();
    let groups: Vec<&[Value]> = if wanted.len() == rows { vec![&[]] } else { wanted.chunks(WANTED_MAX).collect() };
    for group in groups {
        let mut values = group.to_vec();
        let of_rows =
            if group.is_empty() { "1 = 1".to_owned() } else { format!("v.definition IN {}", places(1, group.len())) };
        let condition = query.condition(&mut values);
        let sql = format!(
            "SELECT v.run, v.definition, v.reason, v.median, v.low, v.high, v.confidence, v.launches, v.blocks \
             FROM result v JOIN run r ON r.id = v.run JOIN machine m ON m.id = r.machine WHERE {of_rows} AND {condition} \
             ORDER BY r.started, r.id, v.place"
        );
        database.query(&sql, &values, &mut |row| take(row[0].integer()?, row[1].integer()?, figure(row)?))?;
    }
    Ok(())
}

fn figure(row: &[Value]) -> anyhow::Result<Result<Figure, String>> {
    if let Value::Text(reason) = &row[2] {
        return Ok(Err(reason.clone()));
    }
    let launches: Vec<f64> = serde_json::from_str(row[7].text()?)?;
    let blocks = match &row[8] {
        Value::Null => (0..u32::try_from(launches.len())?).collect(),
        blocks => serde_json::from_str(blocks.text()?)?,
    };
    let estimate = Estimate {
        median: row[3].real()?,
        low: row[4].real()?,
        high: row[5].real()?,
        confidence: row[6].real()?,
        n: u32::try_from(launches.len())?,
    };
    Ok(Ok(Figure { estimate, launches, blocks }))
}
