//! External transports: programs that speak the line protocol over their standard input and output, so that a library
//! can be compared without being linked. docs/external-transports.md is the contract.
//!
//! One program is started per end and launch; it inherits the CPU of its end, and its standard error is the
//! command's, so that what it has to say reaches the user.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use headwater_os::cpu;

use super::conduct::{Job, LaunchError, Team};
use super::link::{Link, Process};
use super::protocol::{Description, PROTOCOL_VERSION, Prepare, Reply, Request, Role};

/// How long a program may take to describe itself.
const DESCRIBE_PATIENCE: Duration = Duration::from_secs(10);

/// Splits a command line at white space; quotes keep it together.
///
/// # Errors
/// What is wrong with it, in words.
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

/// Starts the program once and asks what it is.
///
/// # Errors
/// What went wrong, in words that name the program.
pub fn describe(command: &str) -> Result<Description, String> {
    let fail = |what: String| format!("--transport-cmd {command:?}: {what}");
    let words = words(command).map_err(fail)?;
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| fail(format!("cannot start {}: {error}", words[0])))?;
    let reply = first_reply(&mut child);
    let _ = child.kill();
    let _ = child.wait();
    match serde_json::from_str(&reply.map_err(fail)?) {
        Ok(Reply::Description(description)) => checked(description).map_err(fail),
        Ok(Reply::Error { message }) => Err(fail(message)),
        Ok(other) => Err(fail(format!("answered {other:?} to describe"))),
        Err(error) => Err(fail(format!("its answer to describe is not of the protocol: {error}"))),
    }
}

fn first_reply(child: &mut std::process::Child) -> Result<String, String> {
    let request = serde_json::to_string(&Request::Describe).map_err(|error| error.to_string())?;
    // A program that ends without reading shows below, by its empty answer.
    let input = child.stdin.as_mut().map(|input| writeln!(input, "{request}"));
    drop(input);
    let output = child.stdout.take().ok_or("it has no output")?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let result = BufReader::new(output).read_line(&mut line).map(|_| line);
        // The other side may have given up waiting.
        let _ = sender.send(result);
    });
    match receiver.recv_timeout(DESCRIBE_PATIENCE) {
        Ok(Ok(line)) if line.is_empty() => Err("it ended without an answer to describe".into()),
        Ok(Ok(line)) => Ok(line),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer to describe within {} s", DESCRIBE_PATIENCE.as_secs())),
    }
}

fn checked(description: Description) -> Result<Description, String> {
    if description.protocol != PROTOCOL_VERSION {
        return Err(format!(
            "it speaks version {} of the protocol, this is version {PROTOCOL_VERSION}",
            description.protocol
        ));
    }
    let good = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    if description.name.is_empty() || !description.name.chars().all(good) {
        return Err(format!("{:?} is no name for a row: letters, digits, '-', '_' and '.'", description.name));
    }
    Ok(description)
}

/// Starts both ends of a launch and has them prepare, the receiver first.
///
/// # Errors
/// [`LaunchError`] with the program's own words.
pub fn start_team(command: &str, job: &Job) -> Result<Team, LaunchError> {
    let (first_cpu, second_cpu) = job.cpus.unzip();
    let mut team = Team::new(vec![start(command, Role::Receiver, second_cpu)?], job);
    team.ask(&prepare(job, Role::Receiver))?;
    team.join(start(command, Role::Sender, first_cpu)?);
    team.ask_last(&prepare(job, Role::Sender))?;
    Ok(team)
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
    // The child inherits the affinity; the conductor itself only waits, so it may as well stay there.
    if let Some(cpu) = cpu {
        cpu::bind(cpu).map_err(|error| LaunchError::system("sched_setaffinity", error))?;
    }
    let child = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::from(side.requests))
        .stdout(Stdio::from(side.replies))
        .spawn()
        .map_err(|error| LaunchError::Failed(format!("cannot start {}: {error}", words[0])))?;
    Ok(Link::new(role, Process::Started(child), to_worker, OwnedFd::from(from_worker)))
}

#[cfg(test)]
mod tests;
