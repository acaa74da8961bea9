//! A session of LTTng-UST in snapshot mode that is destroyed on drop.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::lttng::{Daemon, lttng};

/// A recording session, with a daemon of its own.
pub struct Session {
    name: String,
    home: PathBuf,
    // Dropped after the session is destroyed.
    _daemon: Daemon,
}

impl Session {
    /// Starts a daemon and a session.
    pub fn start() -> Result<Session> {
        let name = format!("headwater-trace-cost-{}", std::process::id());
        let home = std::env::temp_dir().join(&name);
        std::fs::create_dir_all(&home).with_context(|| home.display().to_string())?;
        let session = Session { name, home, _daemon: Daemon::start()? };
        let output = format!("--output={}", session.home.display());
        lttng(&["create", &session.name, "--snapshot", &output])?;
        lttng(&["enable-event", "--userspace", "--session", &session.name, "headwater_cost:event"])?;
        lttng(&["start", &session.name])?;
        Ok(session)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = lttng(&["destroy", &self.name]);
        let _ = std::fs::remove_dir_all(&self.home);
    }
}
