//! `pipe-bandwidth`, `af-unix-bandwidth`, `tcp-bandwidth`: transfer of bytes from one process to another: through a
//! pipe and through a pair of AF_UNIX stream sockets by calls of 64 KiB; over a TCP connection to localhost by messages
//! of 10 MB (one `write(2)`) with socket buffers of 1 MB.
//!
//! The receiver is timed. It requests a number of messages through a second pipe, so that no data is in transit before
//! the timing begins. The buffer sizes of the pipe and of AF_UNIX are the machine's defaults. The buffers of both
//! processes are page-aligned.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;

use headwater_os::child::Child;
use headwater_os_tools::library_calls::{read, write};
use headwater_os_tools::mapping::Memory;
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::facilities::operation::{Figure, Operation, fork_peer};
use crate::harness::conduct::Job;
use crate::plan::cost::LaunchCost;
use crate::transports::Unavailable;
use crate::transports::tcp::connection;

/// Bytes per message through a pipe and AF_UNIX.
const SMALL: usize = 64 << 10;

/// Bytes per message over TCP.
const LARGE: usize = 10_000_000;

/// The requested buffer sizes of a TCP connection in bytes; the kernel grants at most `net.core.wmem_max` and
/// `rmem_max`.
const TCP_BUFFER: usize = 1 << 20;

/// Number of messages of the check.
const CHECKED: u64 = 3;

/// The receiver, and the process that sends.
#[derive(Debug)]
pub struct Bandwidth {
    // Dropped first: the sender must end before its connection is closed.
    _sender: Child,
    requests: PipeWriter,
    receiver: OwnedFd,
    message: Memory,
    /// Bytes of the message; the memory consists of whole pages.
    bytes: usize,
}

impl Operation for Bandwidth {
    const ROWS: &'static [(&'static str, &'static str)] = &[
        ("pipe-bandwidth", "pipe between two processes, calls of 64 KiB"),
        ("af-unix-bandwidth", "AF_UNIX stream sockets between two processes, calls of 64 KiB"),
        ("tcp-bandwidth", "TCP to localhost between two processes, messages of 10 MB, buffers of 1 MB"),
    ];
    const FIGURE: Figure = Figure::Bandwidth;
    const COST: LaunchCost = LaunchCost::fixed(0.045);

    fn quantity(job: &Job) -> f64 {
        size(job) as f64
    }

    fn prepare(job: &Job) -> Result<Bandwidth, Unavailable> {
        let (sender, receiver) = match job.row.subject.as_str() {
            "pipe-bandwidth" => {
                let (receiver, sender) = io::pipe().map_err(|error| Unavailable::call("pipe2", error))?;
                (sender.into(), receiver.into())
            }
            "af-unix-bandwidth" => socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .map_err(|error| Unavailable::call("socketpair", error))?,
            _ => {
                let (sender, receiver) = connection()?;
                let sized = set_socket_send_buffer_size(&sender, TCP_BUFFER)
                    .and_then(|()| set_socket_recv_buffer_size(&receiver, TCP_BUFFER));
                sized.map_err(|error| Unavailable::call("setsockopt", error))?;
                (sender, receiver)
            }
        };
        let (taken, requests) = io::pipe().map_err(|error| Unavailable::call("pipe2", error))?;
        let mut own = Some((requests, receiver));
        let bytes = size(job);
        let message = message(bytes).map_err(|error| Unavailable::call("mmap", error))?;
        let child = fork_peer(job, || {
            drop(own.take());
            send(&sender, taken, &message.bytes()[..bytes])
        })?;
        let (requests, receiver) = own.take().expect("taken in the child only");
        Ok(Bandwidth { _sender: child, requests, receiver, message, bytes })
    }

    fn check(&mut self) -> io::Result<()> {
        let expected = self.message.bytes()[..self.bytes].to_vec();
        self.request(CHECKED)?;
        for number in 0..CHECKED {
            self.message.bytes_mut().fill(0);
            self.receive()?;
            let received = self.message.bytes();
            if let Some(place) = (0..expected.len()).find(|&place| received[place] != expected[place]) {
                return Err(io::Error::other(format!(
                    "byte {place} of message {number} differs from the byte that was sent"
                )));
            }
        }
        Ok(())
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        self.request(operations)?;
        for _ in 0..operations {
            self.receive()?;
        }
        Ok(())
    }
}

impl Bandwidth {
    /// Makes the sender send the given number of messages.
    fn request(&mut self, messages: u64) -> io::Result<()> {
        self.requests.write_all(&messages.to_ne_bytes())
    }

    #[inline]
    fn receive(&mut self) -> io::Result<()> {
        let mut received = 0;
        let message = &mut self.message.bytes_mut()[..self.bytes];
        while received < message.len() {
            match read(&self.receiver, &mut message[received..])? {
                0 => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the sender is gone")),
                count => received += count,
            }
        }
        Ok(())
    }
}

/// The loop of the sender. It ends when the request pipe is closed.
fn send(sender: &OwnedFd, mut requests: PipeReader, message: &[u8]) -> io::Result<()> {
    let mut order = [0; 8];
    while requests.read_exact(&mut order).is_ok() {
        for _ in 0..u64::from_ne_bytes(order) {
            let mut sent = 0;
            while sent < message.len() {
                sent += write(sender, &message[sent..])?;
            }
        }
    }
    Ok(())
}

fn size(job: &Job) -> usize {
    if job.row.subject == "tcp-bandwidth" { LARGE } else { SMALL }
}

/// Returns a message whose bytes depend on their offset, with a period that is not a power of two.
fn message(bytes: usize) -> io::Result<Memory> {
    let mut message = Memory::populated(bytes)?;
    message.bytes_mut().iter_mut().zip((0..=250).cycle()).for_each(|(byte, value)| *byte = value);
    Ok(message)
}
