//! `headwater import`: stores results of other benchmarks as a run.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};
use clap::Args;
use headwater_gauge::plan::suggest::there_are;
use headwater_os::plain_file;
use headwater_results::foreign::file_name;
use headwater_results::schema::Event;
use headwater_results::summary::Fold;

use super::output::{note, out};
use super::status;
use crate::import::{self, Format, Imported, LeftOut, Options};
use crate::store::{EVENTS, RUNS, Store};

/// Import results of netperf or lmbench as a run that show, compare and report can read
#[derive(Clone, Debug, Args)]
#[command(after_help = "Formats:
  netperf  UDP_STREAM, UDP_RR, TCP_STREAM and TCP_RR over loopback, as netperf prints them: text, or by
           -o, -O or -k. `-- -o all` says most; of UDP_STREAM plain -o says only what was received
  lmbench  result files of lmbench 2 and 3 (results/SYSTEM/HOST.NUMBER), each one launch; and the summary that
           `make see` prints, each line of a table one launch

Examples:
  headwater import netperf udp.txt -o udp-2007
  netperf -P 0 -t TCP_RR > rr.txt; headwater import netperf --test TCP_RR rr.txt
  headwater import lmbench results/x86_64-linux-gnu/brook.*
  headwater compare published:udp/1 udp-2007")]
pub(super) struct ImportArguments {
    /// The format: netperf or lmbench
    #[arg(value_name = "FORMAT", value_parser = format)]
    format: &'static Format,

    /// Result files of one machine; repeated results of a row become its launches
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The test of results that have no banner (`netperf -P 0`) or protocol: UDP_STREAM, UDP_RR, TCP_STREAM, TCP_RR;
    /// TCP_STREAM/nodelay if netperf had `-- -D`, UDP_RR/connected if it had `-- -n`; behind it the letter of `-f`:
    /// TCP_STREAM/K
    #[arg(long, value_name = "TEST")]
    test: Option<String>,

    /// The column selectors of comma-separated values without a header (`netperf -P 0 -- -o LIST`), or `all`
    #[arg(long, value_name = "LIST")]
    columns: Option<String>,

    /// Directory of the run [default: headwater-runs/<time of the first file>-<host>]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

fn format(name: &str) -> Result<&'static Format, String> {
    import::find(name).ok_or_else(|| there_are(name, import::TABLE.iter().map(|format| format.name)))
}

pub(super) fn import(arguments: &ImportArguments) -> anyhow::Result<u8> {
    let files = arguments.files.iter().map(|path| read(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let options = Options { test: arguments.test.clone(), columns: arguments.columns.clone() };
    let mut imported = arguments.format.import(&files, &options)?;
    let (left_out, notes) = (std::mem::take(&mut imported.left_out), std::mem::take(&mut imported.notes));
    let started_at = modified(&arguments.files[0])?;
    let host = Some(&*imported.environment.host).filter(|host| !host.is_empty()).unwrap_or(arguments.format.name);
    let run_id = format!("{}-{}", started_at.replace(':', "-"), file_name(host));
    let directory = arguments.output.clone().unwrap_or_else(|| Path::new(RUNS).join(&run_id));
    let (rows, launches) = counts(&imported);
    let events = imported.events(&run_id, &started_at, command(arguments));
    // A run that cannot be folded is not stored.
    let run = Fold::run_of(events.clone()).context("the results do not make a run")?;
    store(&directory, &events, &run)?;
    let plural = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    writeln!(out(), "{}, {}: {}", plural(rows, "row"), plural(launches, "result"), directory.display())?;
    warn(&left_out, &notes);
    Ok(status::OK)
}

/// The most bytes of a result file; one of lmbench has 20 kB.
const BYTES_MAX: u64 = 64 << 20;

/// Reads a result file. Bytes that are not UTF-8 spoil their line alone.
fn read(path: &Path) -> anyhow::Result<import::File> {
    let name = path.display().to_string();
    let bytes = plain_file::read(path, BYTES_MAX).with_context(|| name.clone())?;
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        bail!("{name}: this is UTF-16; convert it: iconv -f UTF-16 -t UTF-8");
    }
    Ok((name, String::from_utf8_lossy(&bytes).into_owned()))
}

/// Returns the time at which a file was written, the best known time of its measurement.
fn modified(path: &Path) -> anyhow::Result<String> {
    let time: SystemTime = fs::metadata(path)?.modified().with_context(|| format!("{}", path.display()))?;
    Ok(humantime::format_rfc3339_seconds(time).to_string())
}

fn counts(imported: &Imported) -> (usize, usize) {
    (imported.rows.len(), imported.rows.iter().map(|(_, launches)| launches.len()).sum())
}

fn command(arguments: &ImportArguments) -> Vec<String> {
    let files = arguments.files.iter().map(|path| path.display().to_string());
    ["headwater", "import", arguments.format.name].map(str::to_owned).into_iter().chain(files).collect()
}

/// Removes the directory again if it was made for a run that could not be written.
fn store(directory: &Path, events: &[Event], run: &headwater_results::schema::Run) -> anyhow::Result<()> {
    let is_new = !directory.exists();
    let mut store = Store::create(directory)?;
    let written = events.iter().try_for_each(|event| store.append(event)).and_then(|()| store.publish(run).map(drop));
    if written.is_err() {
        let _ = fs::remove_file(directory.join(EVENTS));
        if is_new {
            let _ = fs::remove_dir(directory);
        }
    }
    Ok(written?)
}

/// Prints what was not imported: for each reason the first line and the number of further lines; then the remarks.
fn warn(left_out: &[LeftOut], notes: &[String]) {
    let mut reasons: Vec<(&LeftOut, usize)> = Vec::new();
    for left in left_out {
        match reasons.iter_mut().find(|(first, _)| first.why == left.why) {
            Some((_, count)) => *count += 1,
            None => reasons.push((left, 1)),
        }
    }
    if !left_out.is_empty() {
        let lines =
            if left_out.len() == 1 { "1 line was".to_owned() } else { format!("{} lines were", left_out.len()) };
        note!("headwater: {lines} left out:");
    }
    for (LeftOut { line, why, .. }, count) in reasons {
        let more = if count == 1 { String::new() } else { format!(" (and {} more)", count - 1) };
        note!("  {}:{}: {}: {why}{more}", line.file, line.number, line.text.trim().escape_debug());
    }
    for note in notes {
        note!("headwater: {note}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use crate::import;

    /// The help is a constant, for the man page is made of it.
    #[test]
    fn the_help_names_every_format() {
        let command = command();
        let import = command.find_subcommand("import").expect("there is such a subcommand");
        let help = import.get_after_help().expect("it has examples").to_string();
        for format in import::TABLE {
            assert!(help.contains(&format!("  {:8} ", format.name)), "{}", format.name);
        }
    }
}
