//! A connection to a database: SQLite or PostgreSQL. All statements of this program go through it, with the values beside
//! the statement and never in it, and are the same for both: parameters are `$1`, `$2`, ...
//!
//! It knows nothing about runs.

use std::time::{Duration, SystemTime};

use anyhow::bail;

pub mod connection;
pub mod limited;
pub mod postgres;
pub mod sqlite;

/// A value of a parameter or a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// An integer; ids, counts, seconds.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A text without a NUL, see [`text`].
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// Returns a text as a value. PostgreSQL's texts contain no NUL: a name with one gets a replacement character instead.
pub fn text(text: &str) -> Value {
    Value::Text(if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.to_owned() })
}

impl Value {
    /// Returns an integer.
    ///
    /// # Errors
    /// If the database holds something else.
    pub fn integer(&self) -> anyhow::Result<i64> {
        match self {
            Value::Integer(value) => Ok(*value),
            other => bail!("the database has {other:?} where an integer belongs; `headwater archive check` checks it"),
        }
    }

    /// Returns a text.
    ///
    /// # Errors
    /// As [`Value::integer`].
    pub fn text(&self) -> anyhow::Result<&str> {
        match self {
            Value::Text(value) => Ok(value),
            other => bail!("the database has {other:?} where a text belongs; `headwater archive check` checks it"),
        }
    }

    /// Returns a floating-point number.
    ///
    /// # Errors
    /// As [`Value::integer`].
    pub fn real(&self) -> anyhow::Result<f64> {
        match self {
            Value::Real(value) => Ok(*value),
            Value::Integer(value) => Ok(*value as f64),
            other => bail!("the database has {other:?} where a number belongs; `headwater archive check` checks it"),
        }
    }

    /// Returns bytes.
    ///
    /// # Errors
    /// As [`Value::integer`].
    pub fn bytes(&self) -> anyhow::Result<&[u8]> {
        match self {
            Value::Bytes(value) => Ok(value),
            _ => bail!("the database has something else where bytes belong; `headwater archive check` checks it"),
        }
    }
}

/// Which database it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One file.
    Sqlite,
    /// A server.
    Postgres,
}

/// Takes one row of an answer.
pub type Take<'a> = &'a mut dyn FnMut(&[Value]) -> anyhow::Result<()>;

/// A connection.
pub trait Database {
    /// Returns which database it is.
    fn kind(&self) -> Kind;

    /// Executes statements without parameters.
    fn script(&mut self, sql: &str) -> anyhow::Result<()>;

    /// Executes a statement, and returns how many rows it has changed.
    fn execute(&mut self, sql: &str, values: &[Value]) -> anyhow::Result<u64>;

    /// Executes a query, and hands each row to `take` as it comes.
    fn query(&mut self, sql: &str, values: &[Value], take: Take<'_>) -> anyhow::Result<()>;
}

/// The most rows of an answer that is kept in memory: labels of a million runs.
pub const KEPT_MAX: usize = 4 << 20;

/// Returns all rows of an answer that is known to be short.
pub fn rows(database: &mut dyn Database, sql: &str, values: &[Value]) -> anyhow::Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    database.query(sql, values, &mut |row| keep(&mut rows, row.to_vec()))?;
    Ok(rows)
}

/// Adds to what is kept of an answer.
///
/// # Errors
/// If there is more than any archive has.
pub fn keep<T>(kept: &mut Vec<T>, one: T) -> anyhow::Result<()> {
    if kept.len() >= KEPT_MAX {
        bail!("the database answers with more than {KEPT_MAX} rows; a query such as since=7d means fewer");
    }
    kept.push(one);
    Ok(())
}

/// Does `work` in a transaction: all of it is visible at once, or none. In SQLite the transaction is a writer's from its
/// beginning.
pub fn transaction<T>(
    database: &mut dyn Database,
    work: impl FnOnce(&mut dyn Database) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    database.script(match database.kind() {
        Kind::Sqlite => "BEGIN IMMEDIATE",
        Kind::Postgres => "BEGIN",
    })?;
    match work(database).and_then(|done| database.script("COMMIT").map(|()| done)) {
        Ok(done) => Ok(done),
        Err(error) => {
            // A connection that is lost has no transaction any more.
            let _ = database.script("ROLLBACK");
            Err(error)
        }
    }
}

/// The most rows of one statement: with the widest table it has fewer parameters than either database takes.
const ROWS_MAX: usize = 500;

/// Inserts rows of equal width by as few statements as possible; `end` follows the values.
pub fn insert(database: &mut dyn Database, into: &str, rows: &[Vec<Value>], end: &str) -> anyhow::Result<()> {
    for rows in rows.chunks(ROWS_MAX) {
        let width = rows[0].len();
        let row = |at: usize| {
            let places: Vec<String> = (0..width).map(|column| format!("${}", at * width + column + 1)).collect();
            format!("({})", places.join(","))
        };
        let places: Vec<String> = (0..rows.len()).map(row).collect();
        database.execute(&format!("INSERT INTO {into} VALUES {} {end}", places.join(",")), &rows.concat())?;
    }
    Ok(())
}

/// Returns `($1,$2,...)` for `count` parameters from `first` on.
pub fn places(first: usize, count: usize) -> String {
    let places: Vec<String> = (first..first + count).map(|place| format!("${place}")).collect();
    format!("({})", places.join(","))
}

/// What an attempt that has failed is worth repeating for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Many use the database at the same time: it is free soon.
    Busy,
    /// The connection was lost, or there was none.
    Lost,
    /// The same would happen again.
    Never,
}

/// Returns what an error is worth repeating for.
pub fn retry(error: &anyhow::Error) -> Retry {
    error
        .chain()
        .find_map(|cause| {
            let sqlite = cause.downcast_ref::<rusqlite::Error>().map(sqlite::retry);
            let postgres = || cause.downcast_ref::<tokio_postgres::Error>().map(postgres::retry);
            // A server that is not there.
            let refused = || cause.downcast_ref::<std::io::Error>().map(|_| Retry::Lost);
            sqlite.or_else(postgres).or_else(refused)
        })
        .unwrap_or(Retry::Never)
}

/// How long a database is waited for that other processes use, unless [`WAIT`] says it.
const WAIT_MAX: Duration = Duration::from_secs(120);

/// The variable with another time, such as `10s`.
pub const WAIT: &str = "HEADWATER_ARCHIVE_WAIT";

/// Returns how long a database is waited for: one that other processes use, and each answer of a server.
pub fn patience() -> Duration {
    let written = std::env::var(WAIT).ok().and_then(|written| humantime::parse_duration(&written).ok());
    written.unwrap_or(WAIT_MAX).max(Duration::from_millis(2))
}

/// Returns how long one statement waits for other processes, and how long a server lets a transaction stand in which nothing
/// happens: shorter than [`patience`], so that a process that is stopped in the middle does not keep the others from adding.
pub fn patience_of_a_statement() -> Duration {
    patience() / 2
}

/// Returns how long to wait before the next attempt: longer, the longer it has lasted, and not as long as other processes.
pub fn pause(lasted: Duration) -> Duration {
    const SHORTEST: Duration = Duration::from_millis(20);
    const LONGEST: Duration = Duration::from_secs(1);
    let longest = lasted.clamp(SHORTEST, LONGEST);
    let random = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.subsec_nanos());
    let share = (random ^ std::process::id().wrapping_mul(7919)) % 1000;
    longest / 2 + longest * share / 2000
}
