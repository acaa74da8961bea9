//! `cargo experiment overhead-scale`: what tracing costs the two workloads of the old report at their real scale: the build of a large program in C,
//! Linux itself in its smallest form, and the compression of 300 MB of its source.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell::{self, command};

/// Where Debian's package linux-source puts its archives.
const ARCHIVES: &str = "/usr/src";
/// Bytes that are compressed.
const BYTES: u64 = 300_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Workload {
    Compile,
    Compress,
}

/// What is measured, and how often.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// One of the two
    #[arg(long)]
    only: Option<Workload>,
    /// So many blocks; with fewer than six no difference can be found
    #[arg(long, default_value_t = 6)]
    blocks: u32,
    /// What make builds, such as `vmlinux`, or `kernel/ mm/` for a part of it
    #[arg(long, default_value = "vmlinux")]
    targets: String,
    /// Configurations of `headwater overhead`
    #[arg(long, default_value = "off,null,armed,flight,drain")]
    configs: String,
}

/// Makes what is compiled and compressed, once, and measures.
///
/// # Errors
/// Without the source or the programs that build it; if `headwater overhead` fails.
pub fn run(options: &Options) -> Result<()> {
    let place = shell::target_directory().join("overhead-scale");
    let source = source(&place)?;
    let headwater = shell::release_build()?;
    let measure = |name: &str, script: &str| {
        println!("{name}: {script}");
        let run = free(&place, name);
        let mut overhead = command(headwater.to_str().context("a path in UTF-8")?);
        overhead.args(["overhead", "--configs", &options.configs, "--blocks", &options.blocks.to_string(), "--output"]);
        shell::run(overhead.arg(&run).args(["--", "sh", "-c", script]))
    };
    let is_wanted = |workload| options.only.is_none_or(|only| only == workload);
    if is_wanted(Workload::Compile) {
        let make = format!("make -s -C '{}'", source.display());
        measure(
            "compile",
            &format!("{make} clean && {make} -j$(nproc) {} >'{}/make.log' 2>&1", options.targets, place.display()),
        )?;
    }
    if is_wanted(Workload::Compress) {
        let tar = tar(&place, &source)?;
        measure("compress", &format!("gzip -c '{0}' >'{0}.gz'", tar.display()))?;
    }
    Ok(())
}

/// The first of `name`, `name-2` and so on that is not there: a run takes long, and an earlier one is kept.
fn free(place: &Path, name: &str) -> PathBuf {
    let numbered = (2..).map(|number| place.join(format!("{name}-{number}")));
    let mut paths = std::iter::once(place.join(name)).chain(numbered);
    paths.find(|path| !path.exists()).expect("one is free")
}

/// The source of Linux, unpacked and configured.
fn source(place: &Path) -> Result<PathBuf> {
    let source = place.join("linux");
    if source.join(".config").exists() {
        return Ok(source);
    }
    let archives = fs::read_dir(ARCHIVES).with_context(|| ARCHIVES.to_owned())?.flatten().map(|entry| entry.path());
    let mut archives: Vec<PathBuf> = archives
        .filter(|path| path.to_string_lossy().contains("/linux-source-") && path.to_string_lossy().ends_with(".tar.xz"))
        .collect();
    archives.sort();
    let Some(archive) = archives.pop() else {
        bail!(
            "no {ARCHIVES}/linux-source-*.tar.xz: install Debian's packages linux-source, flex, bison, bc and libelf-dev"
        );
    };
    println!("unpacking {}", archive.display());
    let unpacked = place.join("linux-unpacked");
    fs::create_dir_all(&unpacked)?;
    shell::run(command("tar").args(["--strip-components=1", "-xf"]).arg(&archive).arg("-C").arg(&unpacked))?;
    shell::run(command("make").args(["-s", "-C"]).arg(&unpacked).arg("tinyconfig"))?;
    fs::rename(&unpacked, &source)?;
    Ok(source)
}

/// The file that is compressed: the source as tar(1) packs it, cut.
fn tar(place: &Path, source: &Path) -> Result<PathBuf> {
    let tar = place.join("source.tar");
    if fs::metadata(&tar).is_ok_and(|file| file.len() == BYTES) {
        return Ok(tar);
    }
    let script = format!(
        "tar -C '{}' --exclude='*.o' -cf - fs mm kernel net sound drivers | head -c {BYTES} >'{}'",
        source.display(),
        tar.display()
    );
    shell::run(command("sh").args(["-c", &script]))?;
    Ok(tar)
}
