//! Installs, uses and purges the package in a clean root.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::clean_root;

/// What a C program needs to be compiled.
const COMPILER: &str = "gcc,libc6-dev,pkgconf";

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
    (
        "a run in the archive",
        "cd /tmp && export HOME=/tmp && headwater run pipe/stream/64 --time 5ms --launches 2 --quiet --archive a.sqlite -o run && HEADWATER_ARCHIVE=a.sqlite headwater show archive:last=1 | grep -q pipe",
    ),
    (
        "the archive's man pages",
        "zcat /usr/share/man/man1/headwater-archive.1.gz | grep -q 'kernel=RELEASE' && zcat /usr/share/man/man1/headwater-archive-add.1.gz | grep -q '^.TH'",
    ),
    ("the archive's completions", "headwater complete bash -- 'headwater archive ' | grep -q migrate"),
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
    let copy = clean_root::copy(folder, suite, COMPILER)?;
    let root = &copy.path;
    let within = |script: &str| clean_root::within(root, &[], &[], script);
    let before = files(root)?;
    fs::copy(package, root.join("tmp/headwater.deb"))?;
    within("dpkg --install /tmp/headwater.deb").context("the installation")?;
    let installed = files(root)?;
    println!("package: {} files installed", installed.difference(&before).count());
    for (what, script) in USES {
        within(script).with_context(|| (*what).to_owned())?;
        println!("package: {what}: ok");
    }
    within("dpkg --purge headwater").context("the purge")?;
    let after = files(root)?;
    let left: Vec<_> = after.symmetric_difference(&before).collect();
    if !left.is_empty() {
        bail!("the purge leaves or has removed {left:?}");
    }
    println!("package: purged, nothing is left");
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
