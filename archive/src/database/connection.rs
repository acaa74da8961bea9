//! A connection to a PostgreSQL server in which every wait has a limit: a server that says nothing, or is stopped in the middle of
//! an answer, is an error after [`patience`]. Called by [`super::postgres`] for each call of the protocol.

use std::future::Future;
use std::time::Duration;

use anyhow::{Context, anyhow};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, Error};

use super::{WAIT, patience};
use crate::place::Server;

/// A connection, and the runtime that moves its bytes while a call waits.
pub struct Connection {
    runtime: Option<Runtime>,
    /// Ends with the connection, with its error.
    mover: Option<JoinHandle<Result<(), Error>>>,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// With the server's name, the cause and the remedy.
    pub fn connect(server: &Server) -> anyhow::Result<(Connection, Client)> {
        let runtime = Builder::new_current_thread().enable_all().build().context("a runtime")?;
        let mut connection = Connection { runtime: Some(runtime), mover: None };
        let runtime = connection.runtime.as_ref().context("it was just made")?;
        let limit = patience();
        let (client, moving) = match runtime.block_on(async { timeout(limit, server.connect()).await }) {
            Ok(connected) => connected?,
            Err(_elapsed) => return Err(silent(limit)).with_context(|| format!("{server}: no connection")),
        };
        connection.mover = Some(runtime.spawn(moving));
        Ok((connection, client))
    }

    /// Waits for a call of the protocol.
    ///
    /// # Errors
    /// Those of the call; the server's silence.
    pub fn wait<T>(&mut self, call: impl Future<Output = Result<T, Error>>) -> anyhow::Result<T> {
        let limit = patience();
        let runtime = self.runtime.as_ref().context("the connection is in use")?;
        match runtime.block_on(async { timeout(limit, call).await }) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(self.cause(error).into()),
            Err(_elapsed) => Err(silent(limit)),
        }
    }

    /// Returns the error that has ended the connection, if that is why a call has failed.
    fn cause(&mut self, error: Error) -> Error {
        let (Some(runtime), true) = (&self.runtime, error.is_closed()) else { return error };
        let ended =
            self.mover.take().map(|mover| runtime.block_on(async { timeout(Duration::from_secs(1), mover).await }));
        match ended {
            Some(Ok(Ok(Err(cause)))) => cause,
            _ => error,
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Looking up a name cannot be stopped, and is not waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn silent(limit: Duration) -> anyhow::Error {
    anyhow!(
        "the server has said nothing for {}; {WAIT} sets how long it is waited for",
        humantime::format_duration(limit)
    )
}
