//! Queries: which runs of an archive are meant. `host=a,kernel=6.18,since=2026-11-01,last=5`; docs/archive.md has them all.
//!
//! A query becomes a condition with parameters; no text of a user is ever part of a statement.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};

use crate::database::{Database, Value, keep, rows, text};
use crate::record::Form;

/// What a query asks of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    terms: Vec<Term>,
    /// The newest or the oldest so many.
    limit: Option<(End, i64)>,
    /// Whether earlier states of runs that were continued are meant too.
    pub all_states: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Newest,
    Oldest,
}

/// A property of a run with the values that are meant; any of them is enough.
#[derive(Clone, Debug, PartialEq)]
struct Term {
    property: Property,
    values: Vec<String>,
    is_negated: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Property {
    Column(&'static str, Match),
    Time(&'static str),
    Label(String),
}

/// How a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    /// Equal; `*` and `?` stand for characters.
    Pattern,
    /// Equal, or the beginning as far as a dot, a dash or a plus sign: 6.18 is 6.18.2 too, and 6.1 is not.
    Release,
    /// The beginning.
    Beginning,
    /// Equal, or the first word.
    FirstWord,
}

/// The terms that are not labels.
const COLUMNS: [(&str, Property); 9] = [
    ("host", Property::Column("m.host", Match::Pattern)),
    ("cpu", Property::Column("m.cpu", Match::Pattern)),
    ("kernel", Property::Column("r.kernel", Match::Release)),
    ("program", Property::Column("r.program", Match::FirstWord)),
    ("run", Property::Column("r.name", Match::Pattern)),
    ("digest", Property::Column("r.digest", Match::Beginning)),
    ("status", Property::Column("r.status", Match::Pattern)),
    ("since", Property::Time(">=")),
    ("until", Property::Time("<")),
];

impl Query {
    /// Reads a query. `now` is what times such as `7d` are relative to.
    ///
    /// # Errors
    /// The term that is wrong, and what would be right.
    pub fn parse(written: &str, now: SystemTime) -> anyhow::Result<Query> {
        let mut query = Query { terms: Vec::new(), limit: None, all_states: false };
        for term in terms(written) {
            query.add(&term, now).with_context(|| format!("archive:{written}"))?;
        }
        Ok(query)
    }

    fn add(&mut self, term: &str, now: SystemTime) -> anyhow::Result<()> {
        // A name alone is that of a run.
        let (name, value) = term.split_once('=').unwrap_or(("run", term));
        let (name, is_negated) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
        if value.is_empty() || name.is_empty() {
            bail!("{term:?}: a term is NAME=VALUE, such as host=a, kernel=6.18, since=7d, last=5 or commit=1a2b3c");
        }
        let end = match name {
            "last" => Some(End::Newest),
            "first" => Some(End::Oldest),
            _ => None,
        };
        if let Some(end) = end {
            let count: i64 = value
                .parse()
                .ok()
                .filter(|count| *count > 0 && !is_negated)
                .with_context(|| format!("{term:?}: {name} takes a number of runs, such as {name}=5"))?;
            if self.limit.replace((end, count)).is_some() {
                bail!("{term:?}: a query has one last or first");
            }
            return Ok(());
        }
        let property = COLUMNS.iter().find(|(known, _)| *known == name).map(|(_, property)| property.clone());
        let property =
            property.unwrap_or_else(|| Property::Label(name.strip_prefix("label.").unwrap_or(name).to_owned()));
        let value = match property {
            Property::Time(_) if is_negated => bail!("{term:?}: since and until take no !"),
            Property::Time(_) => time(value, now)
                .with_context(|| format!("{term:?}: a time is 2026-11-01, 2026-11-01T12:30:00Z, or 7d before now"))?
                .to_string(),
            _ => value.to_owned(),
        };
        match self.terms.iter_mut().find(|known| known.property == property && known.is_negated == is_negated) {
            Some(known) => known.values.push(value),
            None => self.terms.push(Term { property, values: vec![value], is_negated }),
        }
        Ok(())
    }

    /// Returns the condition on the tables `run r JOIN machine m`, whose parameters it appends to `values`.
    pub fn condition(&self, values: &mut Vec<Value>) -> String {
        let matching = self.matching(values);
        let Some((end, count)) = self.limit else { return matching };
        let order = match end {
            End::Newest => "DESC",
            End::Oldest => "ASC",
        };
        values.push(Value::Integer(count));
        format!(
            "r.id IN (SELECT r.id FROM run r JOIN machine m ON m.id = r.machine WHERE {matching} \
             ORDER BY r.started {order}, r.id {order} LIMIT ${})",
            values.len()
        )
    }

    fn matching(&self, values: &mut Vec<Value>) -> String {
        let visible = "NOT EXISTS (SELECT 1 FROM superseded s WHERE s.run = r.id)";
        let mut all = vec![if self.all_states { "1 = 1" } else { visible }.to_owned()];
        for term in &self.terms {
            let any: Vec<String> = term.values.iter().map(|value| term.property.condition(value, values)).collect();
            let any = any.join(" OR ");
            all.push(if term.is_negated { format!("NOT ({any})") } else { format!("({any})") });
        }
        all.join(" AND ")
    }
}

impl Property {
    fn condition(&self, value: &str, values: &mut Vec<Value>) -> String {
        let mut parameter = |value: Value| {
            values.push(value);
            format!("${}", values.len())
        };
        match self {
            Property::Time(comparison) => {
                let time = value.parse().unwrap_or(0);
                format!("r.started {comparison} {}", parameter(Value::Integer(time)))
            }
            Property::Label(name) => {
                let name = parameter(text(name));
                let value = like("l.value", value, &mut parameter);
                format!("EXISTS (SELECT 1 FROM label l WHERE l.run = r.id AND l.name = {name} AND {value})")
            }
            Property::Column(column, Match::Pattern) => like(column, value, &mut parameter),
            Property::Column(column, Match::Beginning) => {
                format!("{column} LIKE {} ESCAPE '\\'", parameter(text(&format!("{}%", escaped(value)))))
            }
            Property::Column(column, Match::FirstWord) => {
                let longer = parameter(text(&format!("{} %", pattern(value))));
                format!("({} OR {column} LIKE {longer} ESCAPE '\\')", like(column, value, &mut parameter))
            }
            Property::Column(column, Match::Release) => {
                let mut any = vec![like(column, value, &mut parameter)];
                for end in [".", "-", "+"] {
                    let longer = parameter(text(&format!("{}{end}%", pattern(value))));
                    any.push(format!("{column} LIKE {longer} ESCAPE '\\'"));
                }
                format!("({})", any.join(" OR "))
            }
        }
    }
}

/// Returns the condition that a column is a value, in which `*` and `?` stand for characters.
fn like(column: &str, value: &str, parameter: &mut impl FnMut(Value) -> String) -> String {
    if value.contains(['*', '?']) {
        return format!("{column} LIKE {} ESCAPE '\\'", parameter(text(&pattern(value))));
    }
    format!("{column} = {}", parameter(text(value)))
}

/// Returns LIKE's pattern for one with `*` and `?`.
fn pattern(value: &str) -> String {
    escaped(value).replace('*', "%").replace('?', "_")
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

/// Splits a query at commas; a backslash keeps the character behind it.
fn terms(written: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut characters = written.chars();
    while let Some(character) = characters.next() {
        let last = terms.last_mut().expect("there is always one");
        match character {
            ',' => terms.push(String::new()),
            '\\' => last.extend(characters.next()),
            other => last.push(other),
        }
    }
    terms.retain(|term| !term.trim().is_empty());
    terms
}

/// Returns a time in seconds since 1970: a date, a date with a time, or how long ago it was.
fn time(value: &str, now: SystemTime) -> anyhow::Result<i64> {
    let seconds = |time: SystemTime| Ok(i64::try_from(time.duration_since(UNIX_EPOCH)?.as_secs())?);
    let is_date = value.len() == 10 && value.contains('-');
    let written = if is_date { format!("{value}T00:00:00Z") } else { value.to_owned() };
    if let Ok(time) = humantime::parse_rfc3339_weak(&written) {
        return seconds(time);
    }
    let ago: Duration = humantime::parse_duration(value)?;
    seconds(now.checked_sub(ago).context("before there were computers")?)
}

/// A run as the tables describe it.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Its id in the tables.
    pub id: i64,
    /// Its name, unique in the answer.
    pub name: String,
    /// Its own name.
    pub run_id: String,
    /// SHA-256 of its file.
    pub digest: String,
    /// Which file that is.
    pub form: Form,
    /// The size of the file.
    pub bytes: i64,
    /// When it began.
    pub started_at: String,
    /// When it was added.
    pub added_at: String,
    /// The host.
    pub host: String,
    /// What follows from the machine's id, if the run says it.
    pub machine_id: Option<String>,
    /// The processor.
    pub cpu: String,
    /// The number of CPUs.
    pub cpus: i64,
    /// The release of the kernel.
    pub kernel: String,
    /// The program that measured.
    pub program: String,
    /// How it ended.
    pub status: String,
    /// The number of launches.
    pub launches: i64,
    /// The id of its facts.
    pub facts: i64,
}

/// Returns the runs that a query means, the oldest first.
///
/// # Errors
/// Of the database.
pub fn heads(database: &mut dyn Database, query: &Query) -> anyhow::Result<Vec<Head>> {
    let mut values = Vec::new();
    let condition = query.condition(&mut values);
    let sql = format!(
        "SELECT r.id, r.name, r.digest, r.form, r.bytes, r.started_at, r.added_at, m.host, m.cpu, m.cpus, r.kernel, \
         r.program, r.status, r.launches, r.facts, r.machine_id FROM run r JOIN machine m ON m.id = r.machine \
         WHERE {condition} ORDER BY r.started, r.id"
    );
    let mut heads: Vec<Head> = Vec::new();
    database.query(&sql, &values, &mut |row| {
        let string = |at: usize| row[at].text().map(str::to_owned);
        let head = Head {
            id: row[0].integer()?,
            name: string(1)?,
            run_id: string(1)?,
            digest: string(2)?,
            form: Form::named(row[3].text()?)?,
            bytes: row[4].integer()?,
            started_at: string(5)?,
            added_at: string(6)?,
            host: string(7)?,
            cpu: string(8)?,
            cpus: row[9].integer()?,
            kernel: string(10)?,
            program: string(11)?,
            status: string(12)?,
            launches: row[13].integer()?,
            facts: row[14].integer()?,
            machine_id: if row[15] == Value::Null { None } else { Some(string(15)?) },
        };
        keep(&mut heads, head)
    })?;
    name_apart(&mut heads);
    Ok(heads)
}

/// Gives runs of the same name names of their own.
fn name_apart(heads: &mut [Head]) {
    let mut count = std::collections::BTreeMap::new();
    for head in &*heads {
        *count.entry(head.name.clone()).or_insert(0) += 1;
    }
    for head in heads {
        if count[&head.name] > 1 {
            head.name = format!("{} {}", head.name, head.digest.get(..8).unwrap_or_default());
        }
    }
}

/// Returns the labels of the runs that a query means, with the run's id.
///
/// # Errors
/// Of the database.
pub fn labels(database: &mut dyn Database, query: &Query) -> anyhow::Result<Vec<(i64, String, String)>> {
    let mut values = Vec::new();
    let condition = query.condition(&mut values);
    let sql = format!(
        "SELECT b.run, b.name, b.value FROM label b JOIN run r ON r.id = b.run JOIN machine m ON m.id = r.machine \
         WHERE {condition} ORDER BY b.run, b.name"
    );
    let found = rows(database, &sql, &values)?;
    found.iter().map(|row| Ok((row[0].integer()?, row[1].text()?.to_owned(), row[2].text()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests;
