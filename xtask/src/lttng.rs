//! LTTng's session daemon, for measurements of LTTng-UST (`cargo xtask trace-peers`, `cargo experiment trace-cost`): started for one
//! measurement and ended on drop.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::shell;

/// Time limit for the daemon to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A daemon.
pub struct Daemon(Child);

impl Daemon {
    /// Starts a daemon, and waits until it answers. If one is running already, ours ends at once.
    pub fn start() -> Result<Daemon> {
        let mut command = shell::command("lttng-sessiond");
        command.arg("--no-kernel").stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = Daemon(command.spawn().context("lttng-sessiond: Debian has it in lttng-tools")?);
        let start = Instant::now();
        while let Err(error) = lttng(&["list"]) {
            if start.elapsed() > PATIENCE {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(daemon)
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // With SIGTERM the daemon ends its children, but not if its consumer has been killed.
        let _ = shell::command("kill").arg(self.0.id().to_string()).status();
        let start = Instant::now();
        while start.elapsed() < PATIENCE && matches!(self.0.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the command `lttng` with these arguments. It may wait for ever for a daemon whose consumer has been killed.
pub fn lttng(arguments: &[&str]) -> Result<()> {
    let status = shell::command("timeout")
        .args([&PATIENCE.as_secs().to_string(), "lttng", "--no-sessiond"])
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
