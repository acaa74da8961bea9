//! Minimal Debian systems in folders: one is made by debootstrap once and copied for each check. They never touch the
//! machine's own packages. Called by `package` and `readme`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell;

/// A copy of a clean root, which is removed at the end.
pub struct Copy {
    /// Where it is.
    pub path: PathBuf,
    _removed: Removed,
}

/// Returns a copy at `folder/root` of the clean root with these packages beside the minimum.
///
/// # Errors
/// If debootstrap is missing or fails; it needs root, and a Debian mirror for the first time.
pub fn copy(folder: &Path, suite: &str, packages: &str) -> Result<Copy> {
    let clean = made(folder, suite, packages)?;
    let path = folder.join("root");
    let removed = Removed(path.clone());
    removed.now()?;
    shell::run(shell::command("cp").arg("-a").arg(&clean).arg(&path))?;
    Ok(Copy { path, _removed: removed })
}

/// Returns the clean root of a release of Debian, and makes it if there is none.
fn made(folder: &Path, suite: &str, packages: &str) -> Result<PathBuf> {
    let clean = folder.join(format!("clean-{suite}"));
    if !clean.exists() {
        let unfinished = folder.join(format!("clean-{suite}.unfinished"));
        let removed = Removed(unfinished.clone());
        removed.now()?;
        let mut debootstrap = shell::command("debootstrap");
        debootstrap.args(["--variant=minbase", &format!("--include={packages}"), suite]).arg(&unfinished);
        shell::run(&mut debootstrap).context("the clean root (the command debootstrap makes it, as root)")?;
        fs::rename(&unfinished, &clean)?;
    }
    Ok(clean)
}

/// A folder of the machine that is seen in a root.
#[derive(Clone, Debug)]
pub struct Mount {
    /// Where it is on the machine.
    pub from: PathBuf,
    /// Where it is in the root, from its top.
    pub to: &'static str,
}

/// The devices of a root: what programs expect on every system.
const DEVICES: &str = "mknod -m 666 null c 1 3; mknod -m 666 zero c 1 5; mknod -m 666 full c 1 7; mknod -m 666 random c 1 8; \
                       mknod -m 666 urandom c 1 9; mknod -m 666 tty c 5 0; mkdir -m 1777 shm; mkdir pts; \
                       mount -t devpts -o newinstance,ptmxmode=0666 none pts; ln -s pts/ptmx ptmx; ln -s /proc/self/fd fd";

/// Runs a script in a root, with a /proc and a /dev of its own that end with it, and returns what it printed.
///
/// # Errors
/// If the script fails: with its output.
pub fn within(root: &Path, mounts: &[Mount], environment: &[(&str, &str)], script: &str) -> Result<String> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let mut inside = format!(
        "mount -t proc proc proc; mount -t sysfs -o ro sysfs sys; mount -t tmpfs none dev; cd dev; {DEVICES}; cd ..\n"
    );
    for mount in mounts {
        let from = quoted(&mount.from.display().to_string());
        inside += &format!("mkdir -p .{0}; mount --bind {from} .{0}\n", mount.to);
    }
    inside += "exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive";
    for (name, value) in environment {
        inside += &format!(" {}", quoted(&format!("{name}={value}")));
    }
    inside += &format!(" sh -ec {}", quoted(script));
    let mut command: Command = shell::command("unshare");
    command.current_dir(root).args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", &inside]);
    let output = command.output().context("unshare")?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        bail!("{script}: {}\n{}{}", output.status, said(&output.stdout), said(&output.stderr));
    }
    Ok(said(&output.stdout))
}

/// A folder that is removed at the end.
struct Removed(PathBuf);

impl Removed {
    fn now(&self) -> Result<()> {
        if self.0.exists() {
            fs::remove_dir_all(&self.0).with_context(|| self.0.display().to_string())?;
        }
        Ok(())
    }
}

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = self.now();
    }
}
