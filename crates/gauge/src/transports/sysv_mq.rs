//! `sysv-mq`: System V message queues (sysvipc(7)), one for each direction.
//!
//! The queues are always in a private IPC namespace: a System V queue outlives its processes, and only the end of such
//! a namespace removes it however the processes end. A queue has the default of 16,384 bytes (`kernel.msgmnb`) if two
//! messages fit, otherwise room for two messages; the limits are raised within the namespace only. There are two queues
//! rather than two message types in one, so that each direction has a buffer and a lock of its own, as with every other
//! transport. Each message is copied behind the type word that the calls require, as every program must do.

use std::fs;
use std::io;

use headwater_os_tools::namespace::private_ipc;
use headwater_os_tools::queue::sysv::{Envelope, Queue};

use super::{Endpoint, Info, Setup, Transport, Unavailable};

/// System V message queues.
#[derive(Debug)]
pub struct SysvMq;

impl Transport for SysvMq {
    type End = SysvMqEnd;

    const INFO: Info = Info {
        name: "sysv-mq",
        summary: "System V message queue of 16 KiB, or of two messages where these are larger",
        blocking: "sleeps in msgrcv and msgsnd",
        keeps_boundaries: true,
        // kernel.msgmnb is an int, and a queue must hold two messages.
        size_max: Some(i32::MAX as usize / 2),
        pollable: false,
        ..Info::BYTES
    };

    fn open(setup: &Setup<'_>) -> Result<(SysvMqEnd, SysvMqEnd), Unavailable> {
        private_ipc().map_err(|error| {
            Unavailable(format!(
                "a System V queue needs a private IPC namespace, so that none is left behind, and unshare says: \
                 {error}; try as root, or with user namespaces allowed (sysctl user.max_ipc_namespaces, \
                 user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
            ))
        })?;
        raise("msgmax", setup.size)?;
        raise("msgmnb", 2 * setup.size)?;
        let create = || Queue::create().map_err(|error| Unavailable::call("msgget", error));
        let forth = create()?;
        let back = if setup.duplex { Some(create()?) } else { None };
        let end = |sends, receives| SysvMqEnd {
            sends,
            receives,
            envelope: Envelope::new(setup.size),
            nonblocking: setup.nonblocking,
        };
        Ok((end(Some(forth), back), end(back, Some(forth))))
    }
}

/// Raises `kernel.<limit>` in the private namespace to at least `wanted`.
fn raise(limit: &str, wanted: usize) -> Result<(), Unavailable> {
    let file = format!("/proc/sys/kernel/{limit}");
    let now = fs::read_to_string(&file).map_err(|error| Unavailable::call(&file, error))?;
    if now.trim().parse::<usize>().is_ok_and(|now| now >= wanted) {
        return Ok(());
    }
    fs::write(&file, wanted.to_string()).map_err(|error| {
        Unavailable(format!("kernel.{limit} is {} B and cannot be raised to {wanted} B: {error}", now.trim()))
    })
}

/// An end of one queue, or of two queues if the channel is duplex.
#[derive(Debug)]
pub struct SysvMqEnd {
    sends: Option<Queue>,
    receives: Option<Queue>,
    envelope: Envelope,
    nonblocking: bool,
}

impl Endpoint for SysvMqEnd {
    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        let queue = self.sends.ok_or(io::ErrorKind::Unsupported)?;
        queue.send(message, &mut self.envelope, self.nonblocking).map(|()| message.len())
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let queue = self.receives.ok_or(io::ErrorKind::Unsupported)?;
        queue.receive(buffer, &mut self.envelope, self.nonblocking)
    }
}
