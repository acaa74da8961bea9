//! External transports: programs that speak the line protocol over their standard input and output, so that a library
//! can be measured without being linked. docs/external-transports.md defines the contract.
//!
//! One program is started per end and launch. It inherits the CPU of its end. Its standard error is that of the
//! command, so its messages reach the user.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use headwater_os::child::kill_group;
use headwater_os::cpu;

use super::conduct::{Job, LaunchError, Team};
use super::link::{Link, Process, excerpt};
use super::protocol::{Description, PROTOCOL_VERSION, Prepare, Reply, Request, Role};
use crate::{facilities, patterns, suites};

/// How long a program may take to describe itself.
const DESCRIBE_PATIENCE: Duration = Duration::from_secs(10);

/// The maximum size of a description, bytes.
const DESCRIPTION_BYTES_MAX: u64 = 64 << 10;

/// The longest name of a row's subject, bytes: every table prints it.
const NAME_BYTES_MAX: usize = 40;

/// Splits a command line at white space; text in quotes stays together.
///
/// # Errors
/// A description of the syntax error.
pub fn words(command: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in command.chars() {
        match quote {
            Some(open) if character == open => quote = None,
            Some(_) => word.get_or_insert_default().push(character),
            None if character == '\'' || character == '"' => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            None if character.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(character),
        }
    }
    if let Some(open) = quote {
        return Err(format!("the quote {open} is not closed in {command:?}"));
    }
    words.extend(word);
    if words.is_empty() { Err("the command is empty".into()) } else { Ok(words) }
}

/// Starts the program once and returns its description of itself.
///
/// # Errors
/// The reason, with the name of the program.
pub fn describe(command: &str) -> Result<Description, String> {
    let fail = |what: String| format!("--transport-cmd {command:?}: {what}");
    let words = words(command).map_err(fail)?;
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| fail(format!("cannot start {}: {error}", words[0])))?;
    let reply = first_reply(&mut child);
    // The program holds no resources yet. The whole group is killed, because the command may be a wrapper around the
    // program.
    kill_group(child.id());
    let _ = child.kill();
    let _ = child.wait();
    let reply = reply.map_err(fail)?;
    match serde_json::from_str(&reply) {
        Ok(Reply::Description(description)) => checked(description).map_err(fail),
        Ok(Reply::Error { message } | Reply::Skipped { reason: message }) => Err(fail(message)),
        Ok(other) => Err(fail(format!("answered {other:?} to describe"))),
        Err(error) => {
            // A program of another protocol version may describe itself differently, but states its version in the same
            // way.
            let version = serde_json::from_str(&reply).map(|VersionOnly { protocol }| protocol);
            Err(fail(match version {
                Ok(version) if version != PROTOCOL_VERSION => other_version(version),
                _ => {
                    format!("its answer to describe is not of the protocol: {error} in {:?}", excerpt(reply.as_bytes()))
                }
            }))
        }
    }
}

/// The part of a description that every version has.
#[derive(serde::Deserialize)]
struct VersionOnly {
    protocol: u32,
}

fn other_version(version: u32) -> String {
    format!("it speaks version {version} of the protocol, this is version {PROTOCOL_VERSION}")
}

fn first_reply(child: &mut Child) -> Result<String, String> {
    let request = serde_json::to_string(&Request::Describe).map_err(|error| error.to_string())?;
    if let Some(input) = child.stdin.as_mut() {
        // If the program exits without reading, its empty answer shows that below.
        let _ = writeln!(input, "{request}");
    }
    let output = child.stdout.take().ok_or("it has no output")?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let result = BufReader::new(output.take(DESCRIPTION_BYTES_MAX)).read_line(&mut line).map(|_| line);
        // The other side may have stopped waiting.
        let _ = sender.send(result);
    });
    match receiver.recv_timeout(DESCRIBE_PATIENCE) {
        Ok(Ok(line)) if line.is_empty() => {
            Err("it ended without an answer to describe; docs/external-transports.md has the protocol".into())
        }
        Ok(Ok(line)) => Ok(line),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer to describe within {} s", DESCRIBE_PATIENCE.as_secs())),
    }
}

fn checked(description: Description) -> Result<Description, String> {
    if description.protocol != PROTOCOL_VERSION {
        return Err(other_version(description.protocol));
    }
    let name = &description.name;
    let good = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    if !name.starts_with(|first: char| first.is_ascii_alphanumeric()) || !name.chars().all(good) {
        return Err(format!(
            "{name:?} is no name for a row: a letter or digit, then letters, digits, '-', '_' and '.'"
        ));
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(format!("{name:?} is too long for a row: at most {NAME_BYTES_MAX} characters"));
    }
    // On the command line such a name would be taken for something else.
    if suites::find(name).is_some() || patterns::find(name).is_some() || facilities::find(name).is_some() {
        return Err(format!("{name:?} is the name of a suite or pattern; give the program another name"));
    }
    let known = |pattern: &&patterns::Entry| description.patterns.iter().any(|name| name == pattern.info.name);
    if !patterns::TABLE.iter().filter(|entry| entry.info.external).any(|entry| known(&entry)) {
        return Err(format!("it can do none of the patterns of external programs: {:?}", description.patterns));
    }
    Ok(description)
}

/// Starts the programs for both ends of a launch and has them prepare, the receiver first.
///
/// # Errors
/// [`LaunchError`] with the error that the program reported.
pub fn start_team(command: &str, job: &Job) -> Result<Team, LaunchError> {
    let (first_cpu, second_cpu) = job.cpus.unzip();
    let mut team = Team::new(vec![start(command, Role::Receiver, second_cpu)?], job);
    expect_ready(Role::Receiver, team.ask_last(&prepare(job, Role::Receiver))?)?;
    team.join(start(command, Role::Sender, first_cpu)?);
    expect_ready(Role::Sender, team.ask_last(&prepare(job, Role::Sender))?)?;
    Ok(team)
}

fn expect_ready(role: Role, replies: Vec<Reply>) -> Result<(), LaunchError> {
    match replies.into_iter().find(|reply| *reply != Reply::Ready) {
        None => Ok(()),
        Some(other) => Err(LaunchError::Failed(format!("the {} answered {other:?} to prepare", role.name()))),
    }
}

fn prepare(job: &Job, role: Role) -> Request {
    Request::Prepare(Prepare {
        role,
        pattern: job.row.pattern.clone(),
        size: job.size(),
        directory: job.directory.clone(),
        token: job.token.clone(),
    })
}

fn start(command: &str, role: Role, cpu: Option<u32>) -> Result<Link, LaunchError> {
    let words = words(command).map_err(LaunchError::Failed)?;
    let (side, to_worker, from_worker) = Link::descriptors().map_err(|error| LaunchError::system("pipe2", error))?;
    // The child inherits the affinity. The conductor only waits from now on, so it need not go back.
    if let Some(cpu) = cpu {
        cpu::bind(cpu).map_err(|error| LaunchError::system("sched_setaffinity", error))?;
    }
    let child = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::from(side.requests))
        .stdout(Stdio::from(side.replies))
        .spawn()
        .map_err(|error| LaunchError::Failed(format!("cannot start {}: {error}", words[0])))?;
    Ok(Link::new(role, Process::Started(child), to_worker, from_worker))
}

#[cfg(test)]
mod tests;
