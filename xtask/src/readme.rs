//! `cargo xtask readme`: follows README.md as a reader does: in a clean Debian system with Rust and a C compiler, from a clean clone, with an
//! empty home. Every command of its blocks is run as it is, and every command in its text with names in the place of its placeholders. Part of
//! `cargo xtask ci --long`; needs root and debootstrap.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::clean_root::{self, Mount};
use crate::shell::{self, cargo};

/// What the README asks for beside Rust: a C compiler. `make` and `pkg-config` are what its commands name; with
/// `pkgconf` a program in C finds the library.
const PACKAGES: &str = "gcc,libc6-dev,make,pkgconf";

/// The release of the clean root.
const SUITE: &str = "bookworm";

/// The reader's clone, the toolchain and the crates, from the top of the root.
const CLONE: &str = "/reader/headwater";
const TOOLCHAIN: &str = "/opt/rust";
const CARGO_HOME: &str = "/reader/.cargo";

/// What a command begins with.
const PROGRAMS: [&str; 4] = ["headwater", "cargo", "make", "cc"];

/// What is put in the place of each placeholder, the longer ones first: [`PREPARED`] has made it.
const PLACEHOLDERS: [(&str, &str); 14] = [
    ("ROW RUN...", "null/stream/64 old new"),
    ("ltt/smp4-a RUN", "ltt/smp4-a calls"),
    ("RUN...", "old new"),
    ("RUN", "old"),
    ("A B", "old new"),
    ("--resume DIR", "--resume old"),
    ("trace stat DIR", "trace stat headwater-trace-*"),
    ("DIR", "directory"),
    ("netperf FILE", "netperf UDP_STREAM.txt"),
    ("lmbench FILE", "lmbench 3-default"),
    ("-- CMD", "-- true"),
    ("CMD", "./peer"),
    ("ROWS", "null/stream/64"),
    ("/tmp/old/headwater", "$(command -v headwater)"),
];

/// Commands that measure are planned only, or made short: what they measure is tested elsewhere.
const SHORT: [(&str, &str); 9] = [
    ("headwater run --resume", " --more 1"),
    ("headwater run", " --dry-run"),
    ("headwater perftest", " --dry-run"),
    ("headwater noise", " null/stream/64 --time 1ms --launches 12 || test $? -eq 3"),
    ("headwater overhead", " --configs off,null --blocks 1"),
    ("headwater compare", " || test $? -eq 3"),
    ("headwater streams top", " --count 1"),
    ("headwater streams log", " & sleep 1; kill $!"),
    ("headwater doctor", " || test $? -eq 1"),
];

/// How far to go.
#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Leave out the commands that contain this; repeatable
    #[arg(long, value_name = "WORDS")]
    skip: Vec<String>,
}

/// Follows the README.
pub fn run(options: &Options) -> Result<()> {
    let text = fs::read_to_string(shell::root().join("README.md"))?;
    let reader = Reader::new()?;
    let mut failed = Vec::new();
    for command in commands(&text).iter().filter(|command| !options.skip.iter().any(|words| command.contains(words))) {
        let started = Instant::now();
        let result = reader.types(command);
        let elapsed_s = started.elapsed().as_secs_f64();
        match result {
            Ok(_) => println!("readme: {command}: ok, {elapsed_s:.1} s"),
            Err(error) => {
                println!("readme: {command}: FAILED, {elapsed_s:.1} s: {error:#}");
                failed.push(command.clone());
            }
        }
    }
    if !failed.is_empty() {
        bail!("readme: {} failed", failed.join("; "));
    }
    Ok(())
}

/// A clean system with a clone.
struct Reader {
    root: clean_root::Copy,
    mounts: Vec<Mount>,
}

impl Reader {
    fn new() -> Result<Reader> {
        let folder = shell::target_directory().join("readme");
        let root = clean_root::copy(&folder, SUITE, PACKAGES)?;
        let inside = |path: &str| root.path.join(&path[1..]);
        fs::create_dir_all(inside("/reader"))?;
        let mut clone = shell::command("git");
        shell::run(clone.args(["clone", "--quiet", "--no-local"]).arg(shell::root()).arg(inside(CLONE)))?;
        // The crates are downloaded outside, where there are certificates.
        for manifest in ["Cargo.toml", "archive/Cargo.toml"] {
            shell::run(&mut cargo(&["fetch", "--locked", "--quiet", "--manifest-path", manifest]))?;
        }
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
        let home = home.context("neither CARGO_HOME nor HOME is set")?;
        let sysroot = shell::output(shell::command("rustc").args(["--print", "sysroot"]))?;
        let registry = inside(CARGO_HOME).join("registry");
        fs::create_dir_all(inside(CARGO_HOME))?;
        shell::run(shell::command("cp").arg("-a").arg(home.join("registry")).arg(registry))?;
        let toolchain = Mount { from: sysroot.trim().into(), to: TOOLCHAIN };
        Ok(Reader { root, mounts: vec![toolchain] })
    }

    /// Runs a command in the clone. Before the first of the command itself, makes what the placeholders stand for.
    fn types(&self, command: &str) -> Result<String> {
        let path = format!("{CARGO_HOME}/bin:{TOOLCHAIN}/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        let environment =
            [("HOME", "/reader"), ("CARGO_HOME", CARGO_HOME), ("CARGO_NET_OFFLINE", "true"), ("PATH", path.as_str())];
        let (place, prepared) = match command.split(' ').next() {
            Some("headwater") => ("/reader/work", PREPARED),
            Some("cc") => (CLONE, PROGRAM),
            _ => (CLONE, ""),
        };
        let script = format!("mkdir -p {place}\ncd {place}\n{prepared}{command}\n");
        clean_root::within(&self.root.path, &self.mounts, &environment, &script)
    }
}

/// A program in C with a stream.
const PROGRAM: &str = r#"
printf '#include <stropts.h>\n#include <unistd.h>\nint main(void) { int ends[2]; return pipe(ends) != 0 || isastream(ends[0]) != 1; }\n' > program.c
"#;

/// What the placeholders stand for.
const PREPARED: &str = r#"
if ! test -e prepared; then
    for run in old new nightly/1 nightly/2; do
        headwater run null/stream/64 pipe/stream/64 --time 1ms --launches 2 --quiet --output $run > /dev/null
    done
    headwater run suite:lmbench null-call --time 1ms --launches 2 --quiet --output calls > /dev/null
    mkdir directory
    clone=/reader/headwater
    cp $clone/crates/headwater/tests/import/lmbench/3-default .
    sed '1d; /^####/,$d' $clone/crates/headwater/tests/import/netperf/UDP_STREAM.txt > UDP_STREAM.txt
    cc -O2 -o peer $clone/examples/peers/c/pipe.c
    touch prepared
fi
"#;

/// Returns the commands of a document in the order in which a reader can type them: those of its blocks and of its text
/// that build or install, then those of the installed command.
fn commands(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_block = false;
    let mut is_shell = false;
    for line in text.lines() {
        if let Some(tag) = line.strip_prefix("```") {
            is_block = !is_block;
            is_shell = is_block && ["", "sh"].contains(&tag);
        } else if is_shell {
            found.push(line.split("  #").next().unwrap_or_default().trim().to_owned());
        } else if !is_block {
            // What stands between back quotes, in a table or a sentence.
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    // Developers' tasks are steps of CI.
    let is_command = |line: &String| {
        let mut words = line.split(' ');
        words.next().is_some_and(|program| PROGRAMS.contains(&program))
            && words.next().is_some_and(|word| word != "xtask")
    };
    found.retain(is_command);
    let mut known = BTreeMap::new();
    for (place, command) in found.into_iter().map(|command| typed(&command)).enumerate() {
        known.entry(command).or_insert(place);
    }
    let mut commands: Vec<(bool, usize, String)> =
        known.into_iter().map(|(command, place)| (command.starts_with("headwater "), place, command)).collect();
    commands.sort();
    commands.into_iter().map(|(.., command)| command).collect()
}

/// Returns a command with names in the place of its placeholders, and short if it measures.
fn typed(command: &str) -> String {
    let mut typed = command.to_owned();
    if command.starts_with("headwater ") {
        for (from, to) in PLACEHOLDERS {
            typed = typed.replace(from, to);
        }
        typed = typed.replace("pipe/rtt/64 ", "null/stream/64 ");
        if let Some((_, more)) = SHORT.iter().find(|(start, _)| typed.starts_with(start)) {
            typed = match typed.split_once(" -- ") {
                Some((before, behind)) => format!("{before}{more} -- {behind}"),
                None => typed + more,
            };
        }
    }
    typed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_blocks_and_of_the_text_are_found_in_the_order_of_a_reader() {
        let text = "`headwater compare A B`, or `RUN`, `cargo`\n```\ncargo build      # says why\n```\n```rust\nlet cargo = 1;\n```\n\
                    `cargo install --path x` and `headwater overhead -- CMD`";
        assert_eq!(
            commands(text),
            [
                "cargo build",
                "cargo install --path x",
                "headwater compare old new || test $? -eq 3",
                "headwater overhead --configs off,null --blocks 1 -- true",
            ]
        );
    }
}
