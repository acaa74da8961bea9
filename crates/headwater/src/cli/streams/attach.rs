//! `headwater streams attach`: fattach, by a process that holds the attachment.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use headwater_os_tools::signal::StopSignals;
use headwater_streams::attach::{detach, is_attached_file};
use headwater_streams::{CommandStream, DeviceOptions, Stream, pipe};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::cli::status;

/// How often it looks whether the stream was detached.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Attach a stream to a file: programs that use the library and open the file get the stream
///
/// The command holds the attachment, and ends when the stream is detached, when the program that it has started ends, or on SIGINT,
/// SIGTERM or SIGHUP; however it ends, the file is plain again. Users who may both read and write the file can open the stream; only
/// the owner of the file, and root, may attach one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  headwater streams attach /run/echo --driver echo --create &
  headwater streams attach server --connld -- ./server   Stream::from_env(\"HEADWATER_STREAM\") in ./server receives connections
  headwater streams attach name --from-fd 5              an end that a parent process has opened as descriptor 5

Exit status: 0 detached or ended by a signal, 2 it could not be attached; else that of the program.")]
pub(super) struct AttachArguments {
    /// The file
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Attach a new stream of this driver: echo, log, loop, mux, nuls
    #[arg(long, value_name = "NAME", group = "what")]
    driver: Option<String>,

    /// The minor number of the device, which other processes find by it too [default: a device that only the file leads to]
    #[arg(long, value_name = "NUMBER", requires = "driver")]
    minor: Option<u32>,

    /// Attach the end of a stream that was inherited as this descriptor
    #[arg(long, value_name = "DESCRIPTOR", group = "what")]
    from_fd: Option<u32>,

    /// Start a program, attach one end of a pipe and pass it the other end as HEADWATER_STREAM
    #[arg(value_name = "COMMAND", group = "what", last = true)]
    command: Vec<String>,

    /// Push this module on the end before it is attached; repeatable
    #[arg(short, long, alias = "push", value_name = "NAME")]
    module: Vec<String>,

    /// Give each program that opens the file a pipe of its own, whose other end the other end of the stream receives: push connld
    #[arg(long)]
    connld: bool,

    /// Create the file, for this user alone, if it does not exist; it stays
    #[arg(long)]
    create: bool,
}

/// The variable by which a program finds its end.
const VARIABLE: &str = "HEADWATER_STREAM";

pub(super) fn attach(arguments: &AttachArguments) -> anyhow::Result<u8> {
    let path = &arguments.path;
    if arguments.create {
        // A link that leads nowhere is not followed: it may be another user's, and lead to where this user may make files.
        match OpenOptions::new().append(true).create_new(true).mode(0o600).open(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => drop(created.context(path.display().to_string())?),
        }
    }
    // Before any thread and program is started, which inherit the mask.
    let signals = StopSignals::watch()?;
    let (end, program) = open(arguments)?;
    let modules = arguments.module.iter().map(String::as_str);
    for module in modules.chain(arguments.connld.then_some("connld")) {
        end.push(module).map_err(|error| anyhow!("{module}: {error}"))?;
    }
    end.attach_to(path).map_err(|error| anyhow!("{error}"))?;
    // The attachment holds it.
    drop(end);
    let status = match program {
        Some((command, far)) => run(command, far, path, &signals)?,
        None => wait(path, &signals, || Ok(None))?,
    };
    // Before this process ends, so that a driver's close procedure is called. It may have been detached already.
    let _ = detach(path);
    Ok(status.unwrap_or(status::OK))
}

/// The end to be attached, and the program that gets the other one, if there is any.
fn open(arguments: &AttachArguments) -> anyhow::Result<(Stream, Option<(Command, Stream)>)> {
    let named = |error: headwater_streams::Error| anyhow!("{error}");
    if let Some(driver) = &arguments.driver {
        let options = DeviceOptions::new();
        let stream = match arguments.minor {
            Some(minor) => options.minor(minor).open(driver),
            None => options.open_private(driver),
        };
        return Ok((stream.map_err(named)?, None));
    }
    if let Some(number) = arguments.from_fd {
        return Ok((Stream::from_number(number).map_err(named)?, None));
    }
    let Some((program, rest)) = arguments.command.split_first() else {
        return Err(anyhow!("nothing to attach: give --driver, --from-fd, or -- COMMAND"));
    };
    let (near, far) = pipe().map_err(named)?;
    let mut command = Command::new(program);
    command.args(rest);
    Ok((near, Some((command, far))))
}

/// Runs the program, and returns its status. None if the stream is detached or a signal comes: the program then sees the end of the
/// stream, and is not waited for.
fn run(mut command: Command, far: Stream, path: &Path, signals: &StopSignals) -> anyhow::Result<Option<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.stream(VARIABLE, &far).map_err(|error| anyhow!("{error}"))?.spawn();
    let mut child = child.context(name)?;
    // The program alone has the other end.
    drop((command, far));
    wait(path, signals, || {
        let ended = child.try_wait()?;
        // One that was killed by a signal has no code.
        Ok(ended.map(|ended| ended.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(status::INTERRUPTED)))
    })
}

/// Waits until the stream is detached or a stop signal has come (None), or `ended` returns a status.
fn wait(
    path: &Path,
    signals: &StopSignals,
    mut ended: impl FnMut() -> anyhow::Result<Option<u8>>,
) -> anyhow::Result<Option<u8>> {
    // Of the file, which may be renamed meanwhile.
    let file = File::open(path).or_else(|_| OpenOptions::new().write(true).open(path));
    let file = file.context(path.display().to_string())?;
    let limit = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.as_nanos() as i64 };
    loop {
        if let Some(status) = ended()? {
            return Ok(Some(status));
        }
        if signals.taken().is_some() || !is_attached_file(&file) {
            return Ok(None);
        }
        // Not interrupted: the signals are blocked.
        poll(&mut [PollFd::new(signals, PollFlags::IN)], Some(&limit))?;
    }
}
