//! A session of LTTng-UST in snapshot mode that is destroyed on drop. It uses LTTng's command, with a daemon of its
//! own.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::shell;

/// Time limit for the daemon to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A recording session.
pub struct Session {
    name: String,
    daemon: Child,
    home: PathBuf,
}

impl Session {
    /// Starts a daemon and a session. If a daemon is running already, ours ends at once.
    pub fn start() -> Result<Session> {
        let name = format!("headwater-trace-cost-{}", std::process::id());
        let home = std::env::temp_dir().join(&name);
        std::fs::create_dir_all(&home).with_context(|| home.display().to_string())?;
        let mut command = shell::command("lttng-sessiond");
        command.arg("--no-kernel").stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = command.spawn().context("lttng-sessiond: Debian has it in lttng-tools")?;
        let session = Session { name, daemon, home };
        let output = format!("--output={}", session.home.display());
        let start = Instant::now();
        while let Err(error) = session.lttng(&["create", &session.name, "--snapshot", &output]) {
            if start.elapsed() > PATIENCE {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        session.lttng(&["enable-event", "--userspace", "--session", &session.name, "headwater_cost:event"])?;
        session.lttng(&["start", &session.name])?;
        Ok(session)
    }

    fn lttng(&self, arguments: &[&str]) -> Result<()> {
        let status = shell::command("lttng")
            .args(["--no-sessiond"])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .context("lttng")?;
        if !status.success() {
            bail!("lttng {}: {status}", arguments.join(" "));
        }
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.lttng(&["destroy", &self.name]);
        // With SIGTERM the daemon ends its children.
        let _ = shell::command("kill").arg(self.daemon.id().to_string()).status();
        let _ = self.daemon.wait();
        let _ = std::fs::remove_dir_all(&self.home);
    }
}
