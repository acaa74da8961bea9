//! SQLite: one file, compiled in. WAL, so that readers and the one writer do not wait for each other.

use std::ffi::c_int;
use std::fs::{self, DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};
use headwater_os::plain_file;
use rusqlite::limits::Limit;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};

use super::limited::MESSAGE_MAX;
use super::{Database, Kind, Retry, Take, Value, patience, patience_of_a_statement};

/// Marks the file as an archive of headwater: "hwar".
const APPLICATION: i64 = 0x6877_6172;

/// A file that is open.
pub struct Sqlite {
    connection: Connection,
    /// When the present statement must have found its next row, in ms since the file was opened: another program may have put
    /// a view that never ends in the place of a table.
    deadline: Arc<AtomicU64>,
    opened: Instant,
}

/// After how many of its instructions SQLite looks at the deadline.
const INSTRUCTIONS: c_int = 100_000;

impl Sqlite {
    /// Opens an archive, or makes an empty one if `create` is set.
    ///
    /// # Errors
    /// With the path and the remedy; also if the file belongs to another program.
    pub fn open(path: &Path, create: bool) -> anyhow::Result<Sqlite> {
        let named = || path.display().to_string();
        if !path.exists() {
            if !create {
                bail!("{}: there is no archive yet; `headwater archive add RUN` makes it", path.display());
            }
            if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                DirBuilder::new().recursive(true).mode(0o700).create(parent).with_context(named)?;
            }
            // Names of hosts and command lines are their owner's business.
            let made = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
            made.with_context(named)?;
        }
        if fs::metadata(path).with_context(named)?.is_dir() {
            bail!("{}: is a directory; an archive is a file in it", path.display());
        }
        plain_file::open(path).with_context(named)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).with_context(named)?;
        // Two hundred adders at once take a few seconds.
        connection.busy_timeout(patience_of_a_statement()).with_context(named)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MESSAGE_MAX.cast_signed()).with_context(named)?;
        let (deadline, opened) = (Arc::new(AtomicU64::new(u64::MAX)), Instant::now());
        let until = Arc::clone(&deadline);
        let is_late = move || opened.elapsed().as_millis() as u64 > until.load(Ordering::Relaxed);
        connection.progress_handler(INSTRUCTIONS, Some(is_late)).with_context(named)?;
        let mut database = Sqlite { connection, deadline, opened };
        database.claim(path, create)?;
        // Durable when `add` has ended: the marker in the spool is removed then.
        let settings = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA case_sensitive_like = ON; PRAGMA trusted_schema = OFF;";
        database.script(settings).with_context(named)?;
        Ok(database)
    }

    /// Checks that the file is an archive; marks an empty one.
    fn claim(&mut self, path: &Path, create: bool) -> anyhow::Result<()> {
        let not_ours = "it belongs to another program; name another file by --archive or HEADWATER_ARCHIVE";
        let found = self.number("PRAGMA application_id").map_err(|error| {
            let is_other =
                matches!(&error, rusqlite::Error::SqliteFailure(code, _) if code.code == ErrorCode::NotADatabase);
            let error = anyhow::Error::new(error);
            if is_other {
                error.context(format!("{}: {not_ours}", path.display()))
            } else {
                error.context(path.display().to_string())
            }
        })?;
        if found == APPLICATION {
            return Ok(());
        }
        if found != 0
            || self.number("SELECT count(*) FROM sqlite_master").with_context(|| path.display().to_string())? != 0
        {
            bail!("{}: {not_ours}", path.display());
        }
        if !create {
            bail!("{}: is empty, no archive yet; `headwater archive add RUN` makes it", path.display());
        }
        // Two processes may do this at the same time: each does the same.
        let mark = format!("PRAGMA journal_mode = WAL; PRAGMA application_id = {APPLICATION};");
        self.connection.execute_batch(&mark).with_context(|| path.display().to_string())
    }

    /// Begins to wait for a row, or for the end of a statement.
    fn wait(&self) {
        let deadline = self.opened.elapsed() + patience();
        self.deadline.store(deadline.as_millis() as u64, Ordering::Relaxed);
    }

    fn number(&self, sql: &str) -> rusqlite::Result<i64> {
        self.connection.query_row(sql, [], |row| row.get(0))
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Integer(value) => ValueRef::Integer(*value),
            Value::Real(value) => ValueRef::Real(*value),
            Value::Text(value) => ValueRef::Text(value.as_bytes()),
            Value::Bytes(value) => ValueRef::Blob(value),
        }))
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(value) => Value::Text(String::from_utf8_lossy(value).into_owned()),
        ValueRef::Blob(value) => Value::Bytes(value.to_vec()),
    }
}

/// Returns a statement with SQLite's parameters, whose numbers follow `?`.
fn own(sql: &str) -> String {
    sql.replace('$', "?")
}

impl Database for Sqlite {
    fn kind(&self) -> Kind {
        Kind::Sqlite
    }

    fn script(&mut self, sql: &str) -> anyhow::Result<()> {
        self.wait();
        Ok(self.connection.execute_batch(sql)?)
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> anyhow::Result<u64> {
        self.wait();
        let mut statement = self.connection.prepare_cached(&own(sql))?;
        Ok(statement.execute(params_from_iter(values))? as u64)
    }

    fn query(&mut self, sql: &str, values: &[Value], take: Take<'_>) -> anyhow::Result<()> {
        self.wait();
        let mut statement = self.connection.prepare_cached(&own(sql))?;
        let width = statement.column_count();
        let mut rows = statement.query(params_from_iter(values))?;
        let mut found = Vec::with_capacity(width);
        while let Some(row) = rows.next()? {
            found.clear();
            for column in 0..width {
                found.push(value(row.get_ref(column)?));
            }
            take(&found)?;
            self.wait();
        }
        Ok(())
    }
}

/// What an error is worth repeating for. SQLite has waited itself already.
pub fn retry(error: &rusqlite::Error) -> Retry {
    match error {
        rusqlite::Error::SqliteFailure(code, _)
            if matches!(code.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) =>
        {
            Retry::Busy
        }
        _ => Retry::Never,
    }
}
