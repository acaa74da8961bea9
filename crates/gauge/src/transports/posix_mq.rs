//! `posix-mq`: POSIX message queues (mq_overview(7)), one for each direction.
//!
//! A queue holds the default of 10 messages, or as many as `RLIMIT_MSGQUEUE` permits: with its usual 819,200 bytes, 10
//! messages of up to 64 KiB in one direction, 6 of 64 KiB in both directions, 3 of 256 KiB in one. If the system
//! permits it, the queues are in a private IPC namespace. There the limits can be raised without a change for the
//! machine, and no queue can outlive the launch, even if it is killed between creating and unlinking a queue.

use std::fs;
use std::io;

use headwater_os_tools::limits;
use headwater_os_tools::namespace::private_ipc;
use headwater_os_tools::queue::posix::{Receiver, Sender, pair};
use rustix::io::Errno;

use super::{Endpoint, Info, Setup, Transport, Unavailable};

/// POSIX message queues.
#[derive(Debug)]
pub struct PosixMq;

/// Number of messages in a queue: the kernel's default (`fs.mqueue.msg_default`).
const DEPTH: usize = 10;

const MSG_MAX: &str = "/proc/sys/fs/mqueue/msg_max";
const MSGSIZE_MAX: &str = "/proc/sys/fs/mqueue/msgsize_max";

impl Transport for PosixMq {
    type End = PosixMqEnd;

    const INFO: Info = Info {
        name: "posix-mq",
        summary: "POSIX message queue, 10 messages deep or as deep as RLIMIT_MSGQUEUE allows",
        blocking: "sleeps in mq_receive and mq_send",
        keeps_boundaries: true,
        // The kernel's HARD_MSGSIZEMAX.
        size_max: Some(16 << 20),
        pollable: false,
        ..Info::BYTES
    };

    fn open(setup: &Setup<'_>) -> Result<(PosixMqEnd, PosixMqEnd), Unavailable> {
        // Without a private namespace, use the shared one as long as its limits suffice.
        let own_limits = private_ipc().and_then(|()| raise_limits(setup.size));
        for depth in (1..=DEPTH).rev() {
            match open_ends(setup, depth) {
                Ok(ends) => return Ok(ends),
                // All queues of this user together are too large: try queues that hold fewer messages.
                Err(Errno::MFILE) => {}
                Err(Errno::INVAL) => return Err(beyond_limits(setup.size, own_limits.err())),
                Err(Errno::NOSYS) => return Err(Unavailable("the kernel has no POSIX message queues".into())),
                Err(error) => return Err(Unavailable::call("mq_open", error)),
            }
        }
        Err(beyond_resource_limit(setup))
    }
}

/// Raises the limits of the namespace to messages of `size` bytes, if they are lower.
fn raise_limits(size: usize) -> io::Result<()> {
    for (file, wanted) in [(MSG_MAX, DEPTH), (MSGSIZE_MAX, size)] {
        if read_limit(file).is_some_and(|limit| limit < wanted) {
            fs::write(file, wanted.to_string())?;
        }
    }
    Ok(())
}

fn read_limit(file: &str) -> Option<usize> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn open_ends(setup: &Setup<'_>, depth: usize) -> Result<(PosixMqEnd, PosixMqEnd), Errno> {
    let open = || {
        pair(depth, setup.size, setup.nonblocking).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    };
    let (forth_in, forth_out) = open()?;
    let (back_in, back_out) = if setup.duplex { Some(open()?).unzip() } else { (None, None) };
    Ok((
        PosixMqEnd { sender: Some(forth_in), receiver: back_out },
        PosixMqEnd { sender: back_in, receiver: Some(forth_out) },
    ))
}

fn beyond_limits(size: usize, refusal: Option<io::Error>) -> Unavailable {
    let show = |file| read_limit(file).map_or("unknown".into(), |limit| limit.to_string());
    let refusal =
        refusal.map_or(String::new(), |error| format!(" and cannot be raised in a namespace of our own ({error})"));
    Unavailable(format!(
        "a message of {size} B: fs.mqueue.msgsize_max is {} (and msg_max {}){refusal}; try sysctl -w \
         fs.mqueue.msgsize_max={size}",
        show(MSGSIZE_MAX),
        show(MSG_MAX),
    ))
}

fn beyond_resource_limit(setup: &Setup<'_>) -> Unavailable {
    let limit =
        limits::get("msgqueue").and_then(|limit| limit.soft).map_or("unknown".into(), |limit| limit.to_string());
    let queues = if setup.duplex { "two queues" } else { "a queue" };
    Unavailable(format!(
        "RLIMIT_MSGQUEUE is {limit} B for all queues of a user: no room for {queues} of one message of {} B; see ulimit -q",
        setup.size
    ))
}

/// An end of one queue, or of two queues if the channel is duplex.
#[derive(Debug)]
pub struct PosixMqEnd {
    sender: Option<Sender>,
    receiver: Option<Receiver>,
}

impl Endpoint for PosixMqEnd {
    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        let sender = self.sender.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        sender.send(message).map(|()| message.len())
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let receiver = self.receiver.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        receiver.receive(buffer)
    }
}
