//! `cargo xtask commands`: runs the commands that documents show, so that none of them is out of date. Part of `cargo xtask ci`.
//!
//! A fenced block whose language is `sh run` is run by bash in a private directory, `sh run root` in the repository's. The blocks of a document are
//! one script: it ends at the first command that fails. `file=NAME` behind a language writes the block to that file in the private
//! directory, which is $TMPDIR. A block `yaml` is parsed if Python has a parser, and its
//! commands of headwater are run: `run` with `--dry-run`, others as they are.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell;

/// The documents with commands that are run.
const DOCUMENTS: [&str; 3] = ["docs/ci.md", "docs/rust.md", "docs/c.md"];

/// Which documents.
#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// The documents [default: all that have such commands]
    documents: Vec<String>,
}

/// A fenced block of a document.
#[derive(Debug, PartialEq, Eq)]
struct Block<'a> {
    /// The line of its fence, from 1.
    line: usize,
    /// The words behind the fence.
    tags: Vec<&'a str>,
    text: String,
}

/// Runs the commands of the documents with the debug build.
pub fn run(options: &Options) -> Result<()> {
    shell::run(&mut shell::cargo(&["build", "--quiet", "--package", "headwater"]))?;
    let documents: Vec<&str> = match &options.documents[..] {
        [] => DOCUMENTS.to_vec(),
        some => some.iter().map(String::as_str).collect(),
    };
    let mut failed = Vec::new();
    for document in documents {
        match run_document(document) {
            Ok(count) => println!("commands: {document}: {count} blocks ok"),
            Err(error) => {
                println!("commands: {document}: {error:#}");
                failed.push(document);
            }
        }
    }
    if !failed.is_empty() {
        bail!("commands: {} failed", failed.join(", "));
    }
    Ok(())
}

fn run_document(document: &str) -> Result<usize> {
    let text = fs::read_to_string(shell::root().join(document)).with_context(|| document.to_owned())?;
    let directory = tempfile::tempdir()?;
    let blocks = blocks(&text);
    for block in &blocks {
        if let Some(name) = block.tags.iter().find_map(|tag| tag.strip_prefix("file=")) {
            fs::write(directory.path().join(name), &block.text)?;
        }
        if block.tags.first() == Some(&"yaml") {
            fs::write(directory.path().join(yaml_name(block)), &block.text)?;
        }
    }
    let (script, count) = script(document, &blocks);
    if count == 0 {
        bail!("no block is marked `sh run`");
    }
    let file = directory.path().join("commands.sh");
    fs::write(&file, script)?;
    shell::run(
        shell::command("bash")
            .arg(&file)
            .env("PATH", path()?)
            .env("TMPDIR", directory.path())
            .env("ROOT", shell::root())
            // The unoptimized C libraries are built in a fraction of the time.
            .env("PROFILE", "debug")
            .env("GITHUB_STEP_SUMMARY", directory.path().join("summary.md")),
    )?;
    Ok(count)
}

/// The search path with the debug build of the command in front.
fn path() -> Result<std::ffi::OsString> {
    let old = std::env::var_os("PATH").unwrap_or_default();
    let own: PathBuf = shell::target_directory().join("debug");
    Ok(std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&old)))?)
}

/// Returns the script of a document, and how many blocks it has.
fn script(document: &str, blocks: &[Block<'_>]) -> (String, usize) {
    let mut script = "set -euo pipefail\n".to_owned();
    let mut count = 0;
    for block in blocks {
        let place = if block.tags.contains(&"root") { "$ROOT" } else { "$TMPDIR" };
        let commands = match block.tags[..] {
            ["sh", "run", ..] => block.text.clone(),
            ["yaml", ..] => format!("{}{}", parse_of_yaml(block), commands_of_yaml(&block.text)),
            _ => continue,
        };
        count += 1;
        let name = Path::new(document).display();
        let _ = write!(script, "echo '+ {name}:{}'\ncd \"{place}\"\n{commands}", block.line);
    }
    (script, count)
}

/// The file of a block of YAML.
fn yaml_name(block: &Block<'_>) -> String {
    format!("line-{}.yaml", block.line)
}

/// Returns the command that parses a block of YAML, where the machine has a parser.
fn parse_of_yaml(block: &Block<'_>) -> String {
    let parse = format!("import yaml; yaml.safe_load(open(\"{}\"))", yaml_name(block));
    format!("if python3 -c 'import yaml' 2> no-yaml.txt; then python3 -c '{parse}'; fi\n")
}

/// Returns the commands of headwater in a configuration of a CI system, without what follows them on their line.
fn commands_of_yaml(text: &str) -> String {
    let joined = text.replace("\\\n", " ");
    let mut commands = String::new();
    for line in joined.lines() {
        // The script is run, with the same program twice.
        if let Some((_, arguments)) = line.split_once("sh gate.sh ") {
            let rows = arguments.splitn(3, ' ').last().unwrap_or_default();
            let own = "\"$(command -v headwater)\"";
            let _ = writeln!(commands, "sh gate.sh {own} {own} {rows} --dry-run > dry-run.txt");
            continue;
        }
        let Some((_, arguments)) = line.split_once("target/release/headwater ") else { continue };
        let arguments = arguments.split(" || ").next().unwrap_or_default();
        let status = if arguments.starts_with("doctor") { " > doctor.txt || test $? -eq 1" } else { "" };
        let dry = if arguments.starts_with("run ") { " --dry-run > dry-run.txt" } else { "" };
        let _ = writeln!(commands, "headwater {arguments}{dry}{status}");
    }
    commands
}

/// Returns the fenced blocks of a document.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (number, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(tags), None) => {
                let tags = tags.split_whitespace().collect();
                open = Some(Block { line: number + 1, tags, text: String::new() });
            }
            (None, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_blocks_become_one_script_and_others_do_not() {
        let text = "a\n```sh run\none\n```\n```\nnot run\n```\n```sh run root\ntwo\n```\n";
        let (script, count) = script("d.md", &blocks(text));
        assert_eq!(count, 2);
        assert_eq!(
            script,
            "set -euo pipefail\necho '+ d.md:2'\ncd \"$TMPDIR\"\none\necho '+ d.md:8'\ncd \"$ROOT\"\ntwo\n"
        );
    }

    #[test]
    fn commands_of_a_configuration_are_run_without_measuring() {
        let yaml = "- run: ../target/release/headwater run a \\\n    --quiet || s=$?\n- target/release/headwater doctor || x\n";
        assert_eq!(
            commands_of_yaml(yaml),
            "headwater run a      --quiet --dry-run > dry-run.txt\nheadwater doctor > doctor.txt || test $? -eq 1\n"
        );
        assert_eq!(
            commands_of_yaml(
                "- sh gate.sh ../base/target/release/headwater target/release/headwater pipe --launches 20\n"
            ),
            "sh gate.sh \"$(command -v headwater)\" \"$(command -v headwater)\" pipe --launches 20 --dry-run > dry-run.txt\n"
        );
    }
}
