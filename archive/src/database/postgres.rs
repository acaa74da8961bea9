//! PostgreSQL: a server, by its own protocol, with TLS by rustls.

use std::collections::HashMap;
use std::error::Error;
use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Statement};

use super::{Database, Kind, Retry, Take, Value};
use crate::place::Server;

/// The schema in which the tables are; another program's tables in `public` are not touched.
pub const SCHEMA: &str = "headwater";

/// How long a server without a free connection is waited for.
const BUSY_MAX: Duration = Duration::from_secs(120);

/// A connection.
pub struct Postgres {
    client: Client,
    statements: HashMap<String, Statement>,
}

impl Postgres {
    /// Connects.
    ///
    /// # Errors
    /// With the server's name, the cause and the remedy.
    pub fn connect(server: &Server) -> anyhow::Result<Postgres> {
        let begun = Instant::now();
        let mut client = loop {
            match server.connect() {
                Ok(client) => break client,
                // All its connections are taken, or it starts up.
                Err(error) if super::retry(&error) == Retry::Busy && begun.elapsed() < BUSY_MAX => {
                    std::thread::sleep(super::pause(begun.elapsed()));
                }
                Err(error) => return Err(error),
            }
        };
        let settings = format!("SET search_path TO {SCHEMA}; SET client_min_messages TO warning");
        client.batch_execute(&settings).with_context(|| server.to_string())?;
        Ok(Postgres { client, statements: HashMap::new() })
    }

    fn prepared(&mut self, sql: &str) -> anyhow::Result<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(value) => value.to_sql(kind, out),
            Value::Real(value) => value.to_sql(kind, out),
            Value::Text(value) => value.to_sql(kind, out),
            Value::Bytes(value) => value.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::FLOAT8, Type::TEXT, Type::BYTEA].contains(kind)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Value, Box<dyn Error + Sync + Send>> {
        Ok(match *kind {
            Type::INT8 => Value::Integer(i64::from_sql(kind, raw)?),
            Type::FLOAT8 => Value::Real(f64::from_sql(kind, raw)?),
            Type::BYTEA => Value::Bytes(raw.to_vec()),
            _ => Value::Text(String::from_sql(kind, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Value, Box<dyn Error + Sync + Send>> {
        Ok(Value::Null)
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::FLOAT8, Type::TEXT, Type::BYTEA, Type::VARCHAR, Type::NAME].contains(kind)
    }
}

impl Database for Postgres {
    fn kind(&self) -> Kind {
        Kind::Postgres
    }

    fn script(&mut self, sql: &str) -> anyhow::Result<()> {
        Ok(self.client.batch_execute(sql)?)
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> anyhow::Result<u64> {
        let statement = self.prepared(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        Ok(self.client.execute(&statement, &values)?)
    }

    fn query(&mut self, sql: &str, values: &[Value], take: Take<'_>) -> anyhow::Result<()> {
        let statement = self.prepared(sql)?;
        let values = values.iter().map(|value| value as &(dyn ToSql + Sync));
        let mut rows = self.client.query_raw(&statement, values)?;
        let width = statement.columns().len();
        let mut found = Vec::with_capacity(width);
        while let Some(row) = rows.next()? {
            found.clear();
            for column in 0..width {
                found.push(row.try_get(column)?);
            }
            take(&found)?;
        }
        Ok(())
    }
}

/// What an error is worth repeating for, by the class of its SQLSTATE.
pub fn retry(error: &postgres::Error) -> Retry {
    let Some(code) = error.code() else { return Retry::Lost };
    match code.code() {
        // Too many connections, starting up, a serialization failure, a deadlock.
        "53300" | "57P03" | "40001" | "40P01" => Retry::Busy,
        // Shut down, or the connection was ended.
        "57P01" | "57P02" => Retry::Lost,
        code if code.starts_with("08") => Retry::Lost,
        _ => Retry::Never,
    }
}
