//! A minimal Debian system in a folder, in which the package is installed, used and removed. It is made by debootstrap once and
//! copied for each check. It never touches the machine's own packages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell;

/// What a C program needs to be compiled.
const COMPILER: &str = "--include=gcc,libc6-dev,pkgconf";

/// Run in the clean root, one after the other; each must succeed.
const USES: &[(&str, &str)] = &[
    ("the version", "headwater --version"),
    ("the list", "headwater list | grep -q pipe"),
    (
        "a program with streams",
        r#"cd /tmp && printf '#include <stropts.h>\n#include <unistd.h>\nint main(void) { int e[2]; return pipe(e) != 0 || isastream(e[0]) != 1; }\n' >streams.c && cc -Wall -Werror streams.c -o streams $(pkg-config --cflags --libs headwater) && ./streams"#,
    ),
    (
        "a program with events",
        r#"cd /tmp && printf '#include <headwater/trace.h>\nint main(void) { return 0; }\n' >trace.c && cc -Wall -Werror trace.c -o trace $(pkg-config --cflags --libs headwater-trace) && ./trace"#,
    ),
    ("the command's man page", "zcat /usr/share/man/man1/headwater-run.1.gz | grep -q '^.TH'"),
    ("the library's man page", "zcat /usr/share/man/man7/libheadwater.7.gz | grep -q '^.TH\\|^.Dt'"),
    ("the completions", "grep -q headwater /usr/share/bash-completion/completions/headwater"),
    ("the licences", "grep -q 'Apache License' /usr/share/doc/headwater/copyright"),
];

/// Removed from the root after the uses, and not part of the comparison: what the uses and dpkg itself write.
const NOT_COMPARED: [&str; 5] = ["tmp", "var/lib/dpkg", "var/log", "var/cache/ldconfig", "etc/ld.so.cache"];

/// Installs, uses and purges the package.
///
/// # Errors
/// If a step fails, or if a file is left behind.
pub fn check(folder: &Path, suite: &str, package: &Path) -> Result<()> {
    let clean = made(folder, suite)?;
    let root = folder.join("root");
    let removed = Removed(root.clone());
    removed.now()?;
    shell::run(shell::command("cp").arg("-a").arg(&clean).arg(&root))?;
    let before = files(&root)?;
    fs::copy(package, root.join("tmp/headwater.deb"))?;
    within(&root, "dpkg --install /tmp/headwater.deb").context("the installation")?;
    let installed = files(&root)?;
    println!("package: {} files installed", installed.difference(&before).count());
    for (what, script) in USES {
        within(&root, script).with_context(|| (*what).to_owned())?;
        println!("package: {what}: ok");
    }
    within(&root, "dpkg --purge headwater").context("the purge")?;
    let after = files(&root)?;
    let left: Vec<_> = after.symmetric_difference(&before).collect();
    if !left.is_empty() {
        bail!("the purge leaves or has removed {left:?}");
    }
    println!("package: purged, nothing is left");
    Ok(())
}

/// Returns the clean root of a release of Debian, and makes it if there is none.
fn made(folder: &Path, suite: &str) -> Result<PathBuf> {
    let clean = folder.join(format!("clean-{suite}"));
    if !clean.exists() {
        let unfinished = folder.join(format!("clean-{suite}.unfinished"));
        let removed = Removed(unfinished.clone());
        removed.now()?;
        let mut debootstrap = shell::command("debootstrap");
        debootstrap.args(["--variant=minbase", COMPILER, suite]).arg(&unfinished);
        shell::run(&mut debootstrap).context("the clean root (the command debootstrap makes it, as root)")?;
        fs::rename(&unfinished, &clean)?;
    }
    Ok(clean)
}

/// Runs a script in the root, with a /proc and a /dev of its own that end with it.
fn within(root: &Path, script: &str) -> Result<()> {
    let inside = format!(
        "mount -t proc proc \"$1/proc\" && mount -t tmpfs none \"$1/dev\" && mknod -m 666 \"$1/dev/null\" c 1 3 && mkdir -m 1777 \"$1/dev/shm\" && \
         exec chroot \"$1\" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -ec '{}'",
        script.replace('\'', r"'\''")
    );
    let mut command: Command = shell::command("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", &inside, "sh"]).arg(root);
    let output = command.output().context("unshare")?;
    if !output.status.success() {
        bail!(
            "{script}: {}\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

/// Every file of the root that is compared.
fn files(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let relative = path.strip_prefix(root)?.to_owned();
            if NOT_COMPARED.iter().any(|name| relative == Path::new(name)) {
                continue;
            }
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            }
            found.insert(relative);
        }
    }
    Ok(found)
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
