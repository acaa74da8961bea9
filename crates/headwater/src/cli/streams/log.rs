//! `headwater streams log`: the error logger and the trace logger of the driver `log`, as strerr and strace of SVR4.

use std::io::Write;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use clap::Args;
use headwater_os_tools::signal::StopSignals;
use headwater_results::foreign::line;
use headwater_streams::drivers::log::{ERRLOG, IDS_MAX, LOST, LogControl, LogFlags, TRCLOG, TraceId};
use headwater_streams::{DeviceOptions, Errno, IoctlTimeout, Stream};
use serde_json::json;

use super::screen::{Woken, wait};
use crate::cli::output::{note, out};
use crate::cli::status;

/// Print what modules, drivers and processes log (strlog), as it comes
///
/// Without an option it is a trace logger of all messages. A logger gets the messages that are submitted while it runs;
/// none are kept for it before.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "MID SID LEVEL: the number of the module or driver, a number within it, and the highest level; `all` or -1
stands for every one. A trace logger prints the messages that fit one of up to 64 triplets.

A line: time, sequence number, level, flags, MID/SID, text. A gap in the numbers: messages were for another trace
logger, or were lost, which is said at the end.

Flags:
  T  for trace loggers
  E  for the error logger
  F  fatal
  N  notify the administrator
  C  also for the console
  w  a warning
  n  a note

Examples:
  headwater streams log                          every trace message
  headwater streams log --trace 42 all 3 7 1 all     of module 42 up to level 3, and of module 7, number 1
  headwater streams log --errors                 the error logger; there is one in a directory
  headwater streams log --errors --trace --json | jq .text

Exit status: 0 all done, also after SIGINT; 2 wrong usage, or there is another error logger; 4 messages were lost, because they
came faster than they were printed."
)]
pub(super) struct LogArguments {
    /// Which trace messages: triplets of MID SID LEVEL [default: all]
    #[arg(value_name = "MID SID LEVEL", allow_negative_numbers = true)]
    ids: Vec<String>,

    /// Print the messages for the error logger
    #[arg(long, help_heading = "What")]
    errors: bool,

    /// Print trace messages; without it, only if --errors is not given either or triplets are
    #[arg(long, help_heading = "What")]
    trace: bool,

    /// The directory in which devices are found [default: $HEADWATER_RUNTIME_DIR or this user's]
    #[arg(short, long, value_name = "DIR", help_heading = "What")]
    directory: Option<PathBuf>,

    /// Stop after this many messages
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Output")]
    count: Option<u64>,

    /// Print one JSON object per message
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Do not say on standard error when the logger is ready
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

/// A logger: a stream of the driver that gets messages.
struct Logger {
    /// `trace` or `error`.
    name: &'static str,
    stream: Stream,
}

pub(super) fn log(arguments: &LogArguments) -> anyhow::Result<u8> {
    let ids = ids(&arguments.ids)?;
    // Before the library starts a thread, which would get the signals.
    let stop = StopSignals::watch()?;
    let mut options = DeviceOptions::new().nonblocking(true);
    if let Some(directory) = &arguments.directory {
        // The library would create it, and a logger in a directory that no program uses waits for ever.
        if !directory.is_dir() {
            bail!("{} is no directory: create it, or name the one that the programs use", directory.display());
        }
        options = options.directory(directory);
    }
    let mut loggers = Vec::new();
    if arguments.errors {
        loggers.push(Logger::open(&options, "error", ERRLOG, Vec::new())?);
    }
    if arguments.trace || !ids.is_empty() || !arguments.errors {
        let ids = if ids.is_empty() { vec![TraceId::ALL] } else { ids };
        loggers.push(Logger::open(&options, "trace", TRCLOG, TraceId::list(&ids))?);
    }
    if !arguments.quiet {
        let names: Vec<_> = loggers.iter().map(|logger| logger.name).collect();
        note!("headwater: logging {}; Ctrl-C ends it", names.join(" and "));
    }
    follow(arguments, &loggers, &stop)?;
    let mut lost = 0;
    for logger in &loggers {
        let of_logger = logger.lost();
        if of_logger > 0 {
            note!("headwater: {of_logger} {} messages were lost: they came faster than they were printed", logger.name);
        }
        lost += of_logger;
    }
    Ok(if lost > 0 { status::PARTIAL } else { status::OK })
}

/// Prints messages until a signal comes, or as many as were asked for.
fn follow(arguments: &LogArguments, loggers: &[Logger], stop: &StopSignals) -> anyhow::Result<()> {
    let mut out = out();
    let mut printed = 0;
    let descriptors: Vec<_> = loggers.iter().map(|logger| logger.stream.as_fd()).collect();
    loop {
        for logger in loggers {
            while let Some((control, text)) = logger.next()? {
                if arguments.json {
                    writeln!(out, "{}", as_json(logger.name, &control, &text))?;
                } else {
                    writeln!(out, "{}", as_line(&control, &text))?;
                }
                printed += 1;
                if arguments.count == Some(printed) {
                    return Ok(out.flush()?);
                }
            }
        }
        out.flush()?;
        if wait(stop, None, &descriptors)? == Woken::Stop {
            return Ok(());
        }
    }
}

impl Logger {
    fn open(options: &DeviceOptions, name: &'static str, command: u32, mut ids: Vec<u8>) -> anyhow::Result<Logger> {
        let stream = options.open("log").context("the driver `log` cannot be opened")?;
        match stream.ioctl(command, &mut ids, IoctlTimeout::Usual) {
            Err(error) if error.errno() == Errno::Busy => bail!("there is another error logger, and one is allowed"),
            Err(error) if error.errno() == Errno::Nosr => bail!("there are as many trace loggers as are allowed"),
            done => done.map(|_| Logger { name, stream }).context("this process cannot become a logger"),
        }
    }

    /// The next message that has come; None: there is none now.
    fn next(&self) -> anyhow::Result<Option<(LogControl, String)>> {
        loop {
            let message = match self.stream.receive() {
                Err(error) if error.errno() == Errno::Again => return Ok(None),
                Err(error) if error.errno() == Errno::Intr => continue,
                message => message.context("a log message")?,
            };
            let Some(message) = message else { bail!("the logger's stream was hung up") };
            let text = String::from_utf8_lossy(message.data().unwrap_or_default()).into_owned();
            if let Some(control) = message.control().and_then(LogControl::of) {
                return Ok(Some((control, text)));
            }
        }
    }

    fn lost(&self) -> i32 {
        self.stream.ioctl(LOST, &mut Vec::new(), IoctlTimeout::Usual).unwrap_or(0)
    }
}

/// The triplets of the command line.
fn ids(words: &[String]) -> anyhow::Result<Vec<TraceId>> {
    let (triplets, rest) = words.as_chunks::<3>();
    if !rest.is_empty() {
        bail!(
            "trace messages are named by triplets of MID SID LEVEL, and {} are given; `all` stands for every one",
            words.len()
        );
    }
    if triplets.len() > IDS_MAX {
        bail!("{} triplets are given, and a trace logger has at most {IDS_MAX}", triplets.len());
    }
    let id = |[mid, sid, level]: &[String; 3]| {
        Ok(TraceId { mid: number(mid, "MID")?, sid: number(sid, "SID")?, level: number(level, "LEVEL")? })
    };
    triplets.iter().map(id).collect()
}

/// A number, or None for all.
fn number<T: std::str::FromStr>(word: &str, what: &str) -> anyhow::Result<Option<T>> {
    if matches!(word, "all" | "-1") {
        return Ok(None);
    }
    match word.parse() {
        Ok(number) if !word.starts_with('-') => Ok(Some(number)),
        _ => bail!("{what}: `{word}` is neither a number nor `all`"),
    }
}

/// The letters of the flags.
fn letters(flags: LogFlags) -> String {
    let letters = [
        (LogFlags::TRACE, 'T'),
        (LogFlags::ERROR, 'E'),
        (LogFlags::FATAL, 'F'),
        (LogFlags::NOTIFY, 'N'),
        (LogFlags::CONSOLE, 'C'),
        (LogFlags::WARN, 'w'),
        (LogFlags::NOTE, 'n'),
    ];
    letters.iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, letter)| *letter).collect()
}

fn time(control: &LogControl) -> String {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(control.ttime().into());
    humantime::format_rfc3339_seconds(time).to_string()
}

fn as_line(control: &LogControl, text: &str) -> String {
    let (seq, level, flags) = (control.seq_no(), control.level(), letters(control.flags()));
    let text = line(text.trim_end_matches('\n'));
    format!("{} {seq:>6} {level:>3} {flags:<4} {}/{} {text}", time(control), control.mid(), control.sid())
}

fn as_json(logger: &str, control: &LogControl, text: &str) -> serde_json::Value {
    let flags: Vec<String> = control.flags().iter_names().map(|(name, _)| name.to_lowercase()).collect();
    json!({
        "logger": logger,
        "time": time(control),
        "ticks": control.ltime(),
        "seq": control.seq_no(),
        "level": control.level(),
        "flags": flags,
        "mid": control.mid(),
        "sid": control.sid(),
        "priority": control.pri(),
        "text": text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str) -> anyhow::Result<Vec<TraceId>> {
        ids(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn triplets_are_numbers_or_all() {
        assert_eq!(of("").expect("none"), []);
        let two = [TraceId { mid: Some(42), sid: None, level: Some(3) }, TraceId::ALL];
        assert_eq!(of("42 all 3 -1 all -1").expect("two"), two);
        for wrong in ["42", "1 2", "1 2 300", "1 2 x", "1 -2 3", "40000 1 1"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        assert!(of(&"1 1 1 ".repeat(IDS_MAX + 1)).is_err());
    }

    #[test]
    fn a_line_has_no_control_characters() {
        let control = LogControl::new(3, LogFlags::TRACE | LogFlags::NOTE);
        assert_eq!(as_line(&control, "a\x1b[2Jb\n"), "1970-01-01T00:00:00Z      0   3 Tn   0/0 a\\u001b[2Jb");
        let json = as_json("trace", &control, "a\nb");
        assert_eq!((json["text"].as_str(), json["flags"][0].as_str()), (Some("a\nb"), Some("trace")));
    }
}
