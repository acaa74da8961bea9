//! PostgreSQL: a server, by its own protocol, with TLS by rustls. [`Connection`] limits every wait for it, and
//! [`super::limited`] every size that it announces.

use std::collections::HashMap;
use std::error::Error;
use std::time::Instant;

use anyhow::Context;
use bytes::BytesMut;
use futures_util::StreamExt;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Statement};

use super::connection::Connection;
use super::{Database, Kind, Retry, Take, Value, patience, patience_of_a_statement};
use crate::place::Server;

/// The schema in which the tables are; another program's tables in `public` are not touched.
pub const SCHEMA: &str = "headwater";

/// A connection.
pub struct Postgres {
    connection: Connection,
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
        let (mut connection, client) = loop {
            match Connection::connect(server) {
                Ok(connected) => break connected,
                // All its connections are taken, or it starts up.
                Err(error) if super::retry(&error) == Retry::Busy && begun.elapsed() < patience() => {
                    std::thread::sleep(super::pause(begun.elapsed()));
                }
                Err(error) => return Err(error),
            }
        };
        // The server ends the transaction of a process that is stopped in its middle, and so frees what it has locked.
        let wait_ms = patience_of_a_statement().as_millis();
        let settings = format!(
            "SET search_path TO {SCHEMA}; SET client_min_messages TO warning; SET lock_timeout TO {wait_ms}; \
             SET idle_in_transaction_session_timeout TO {wait_ms}"
        );
        connection.wait(client.batch_execute(&settings)).with_context(|| server.to_string())?;
        Ok(Postgres { connection, client, statements: HashMap::new() })
    }

    fn prepared(&mut self, sql: &str) -> anyhow::Result<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.connection.wait(self.client.prepare(sql))?;
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
        self.connection.wait(self.client.batch_execute(sql))
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> anyhow::Result<u64> {
        let statement = self.prepared(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        self.connection.wait(self.client.execute(&statement, &values))
    }

    fn query(&mut self, sql: &str, values: &[Value], take: Take<'_>) -> anyhow::Result<()> {
        let statement = self.prepared(sql)?;
        let values = values.iter().map(|value| value as &(dyn ToSql + Sync));
        let mut rows = Box::pin(self.connection.wait(self.client.query_raw(&statement, values))?);
        let width = statement.columns().len();
        let mut found = Vec::with_capacity(width);
        while let Some(row) = self.connection.wait(async { rows.next().await.transpose() })? {
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
pub fn retry(error: &tokio_postgres::Error) -> Retry {
    let Some(code) = error.code() else { return Retry::Lost };
    match code.code() {
        // Too many connections, starting up, a serialization failure, a deadlock, a lock that another process holds.
        "53300" | "57P03" | "40001" | "40P01" | "55P03" => Retry::Busy,
        // Shut down, or the connection was ended, also because this process had stopped in the middle of a transaction.
        "57P01" | "57P02" | "25P03" => Retry::Lost,
        code if code.starts_with("08") => Retry::Lost,
        _ => Retry::Never,
    }
}
