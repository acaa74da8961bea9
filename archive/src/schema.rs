//! The tables: their versions, how an older one becomes the present one, and what is refused. docs/archive.md describes
//! them.
//!
//! A migration is one transaction under a lock, so two at the same time are one after the other, and half of one is never
//! visible. There is no way back: an older program refuses a newer archive.

use anyhow::{Context, bail};

use crate::archive;
use crate::database::postgres::SCHEMA;
use crate::database::{Database, Kind, rows, transaction};

/// The migrations: the first makes the tables, each further one changes them. Never change one that was released.
const MIGRATIONS: [&str; 2] = [include_str!("schema/1.sql"), include_str!("schema/2.sql")];

/// The present version of the tables.
pub const VERSION: i64 = MIGRATIONS.len() as i64;

/// The number of the advisory lock under which a PostgreSQL archive is migrated: "hwarchiv".
const LOCK: i64 = 0x6877_6172_6368_6976;

/// Checks the version of an archive. SQLite's file is migrated if need be; a server's tables are their owner's, who does
/// it by `headwater archive migrate`.
///
/// # Errors
/// For a newer version, another program's tables, and a server without or with older tables.
pub fn ready(database: &mut dyn Database) -> anyhow::Result<()> {
    match (version(database)?, database.kind()) {
        (VERSION, _) => Ok(()),
        (_, Kind::Sqlite) => migrate(database).map(drop),
        (0, Kind::Postgres) => {
            bail!("this database has no archive yet; its owner makes it with `headwater archive migrate`")
        }
        (found, Kind::Postgres) => bail!(
            "the archive has version {found} of the tables, and this program needs {VERSION}; \
             the database's owner renews it with `headwater archive migrate`"
        ),
    }
}

/// Makes or renews the tables. Returns the version that was found; 0 if there was none.
///
/// # Errors
/// As [`ready`].
pub fn migrate(database: &mut dyn Database) -> anyhow::Result<i64> {
    transaction(database, |database| {
        if database.kind() == Kind::Postgres {
            database.execute(&format!("SELECT pg_advisory_xact_lock({LOCK})"), &[])?;
        }
        // Another process may have done it meanwhile.
        let found = version(database)?;
        if found == 0 && database.kind() == Kind::Postgres {
            database.script(&format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))?;
        }
        for (number, migration) in (1..).zip(MIGRATIONS).filter(|(number, _)| *number > found) {
            let statements = fitted(migration, database.kind());
            database.script(&statements).with_context(|| format!("version {number} of the tables"))?;
            // What the files of the runs say, and the tables did not keep.
            if number == 2 {
                archive::fill_machine_ids(database)?;
            }
            database.script(&format!("DELETE FROM archive; INSERT INTO archive VALUES ({number})"))?;
        }
        Ok(found)
    })
}

/// Returns the version of the tables; 0 if there are none.
fn version(database: &mut dyn Database) -> anyhow::Result<i64> {
    let (tables, place) = match database.kind() {
        Kind::Sqlite => (
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'".to_owned(),
            "the file",
        ),
        Kind::Postgres => (
            format!("SELECT tablename FROM pg_tables WHERE schemaname = '{SCHEMA}'"),
            "schema headwater of the database",
        ),
    };
    let tables = rows(database, &tables, &[])?;
    if tables.is_empty() {
        return Ok(0);
    }
    let other =
        || format!("{place} has another program's tables; name another archive by --archive or HEADWATER_ARCHIVE");
    if !tables.iter().any(|row| row[0].text().is_ok_and(|name| name == "archive")) {
        bail!("{}", other());
    }
    let found = rows(database, "SELECT version FROM archive", &[]).with_context(other)?;
    let [row] = found.as_slice() else { bail!("{}", other()) };
    let version = row[0].integer().with_context(other)?;
    if version < 1 {
        bail!("{}", other());
    }
    if version > VERSION {
        bail!(
            "the archive has version {version} of the tables, newer than {VERSION}, the newest that this program knows; install a newer headwater-archive"
        );
    }
    Ok(version)
}

/// Returns statements with the words of a database for what the two call differently.
fn fitted(statements: &str, kind: Kind) -> String {
    let words: [(&str, &str); 4] = match kind {
        Kind::Sqlite => [
            ("{id}", "INTEGER PRIMARY KEY"),
            ("{bytes}", "BLOB"),
            ("{clustered}", " WITHOUT ROWID"),
            ("{elements}", "json_each(r.launches)"),
        ],
        Kind::Postgres => [
            ("{id}", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
            ("{bytes}", "BYTEA"),
            ("{clustered}", ""),
            ("{elements}", "json_array_elements_text(r.launches::json)"),
        ],
    };
    words.iter().fold(statements.to_owned(), |text, (word, own)| text.replace(word, own))
}

/// Returns the statements that make PostgreSQL's roles: who reads, and who adds and cannot change or delete. Roles are the server's: two
/// archives of one server that are made at the same moment may both make them, and one fails with `unique_violation`.
pub fn roles() -> String {
    let mut text = String::new();
    for (role, rights) in [("headwater_reader", "SELECT"), ("headwater_adder", "SELECT, INSERT")] {
        text.push_str(&format!(
            "DO $$ BEGIN CREATE ROLE {role} NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;\n\
             GRANT USAGE ON SCHEMA {SCHEMA} TO {role};\n\
             REVOKE ALL ON ALL TABLES IN SCHEMA {SCHEMA} FROM {role};\n\
             GRANT {rights} ON ALL TABLES IN SCHEMA {SCHEMA} TO {role};\n"
        ));
    }
    text.push_str(&format!("REVOKE INSERT ON {SCHEMA}.archive FROM headwater_adder;\n"));
    text
}
