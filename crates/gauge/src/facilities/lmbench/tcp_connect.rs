//! `tcp-connect`: creates a TCP socket, connects it to a process of the same machine, and closes it.
//!
//! The other process accepts, waits for the end, and closes. So each connection leaves its address in TIME_WAIT for a
//! minute, as LMbench's do, and that is a part of the figure. Linux lets another connection to the same machine use the
//! address after a second (`net.ipv4.tcp_tw_reuse`), and every launch has a port of its own, so that the 28,000
//! addresses suffice.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use headwater_os::child::Child;
use headwater_os::{clock, cpu};
use headwater_os_tools::shared::Shared;
use rustix::net::{
    AddressFamily, Ipv4Addr, RecvFlags, SocketAddrAny, SocketAddrV4, SocketFlags, SocketType, accept_with, bind,
    connect, getsockname, listen, recv, socket_with,
};

use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// The backlog of the other process. After so many connections the client waits for it: a connection that finds the
/// backlog full is dropped, and tried again after a second.
const BACKLOG: u64 = 100;

/// Number of connections of the check.
const CHECKED: u64 = 10;

/// Interval at which the client polls for the other process.
const PAUSE: Duration = Duration::from_micros(10);

/// The client, and the process that accepts.
#[derive(Debug)]
pub struct TcpConnect {
    listener: Child,
    address: SocketAddrAny,
    /// Number of connections whose end the other process has seen. Only that process writes it.
    ended: Shared<AtomicU64>,
    /// Number of connections that were made.
    made: u64,
}

impl Operation for TcpConnect {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("tcp-connect", "socket(), connect() to a process of this machine, close()")];
    const FIGURE: Figure = Figure::Microseconds;
    const PIECE_MAX: u64 = BACKLOG;

    fn prepare(job: &Job) -> Result<TcpConnect, Unavailable> {
        let socket = socket().map_err(|error| Unavailable::call("socket", error))?;
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| Unavailable::call("bind to 127.0.0.1", error))?;
        listen(&socket, BACKLOG as i32).map_err(|error| Unavailable::call("listen", error))?;
        let address = getsockname(&socket).map_err(|error| Unavailable::call("getsockname", error))?;
        let ended = Shared::new(AtomicU64::new(0)).map_err(|error| Unavailable::call("mmap", error))?;
        let cpu = job.cpus.map(|(_, second)| second);
        let listener = Child::fork(|| match cpu.map_or(Ok(()), cpu::bind).and_then(|()| serve(&socket, &ended)) {
            Ok(()) => 0,
            Err(_) => 1,
        });
        let listener = listener.map_err(|error| Unavailable::call("fork", error))?;
        Ok(TcpConnect { listener, address, ended, made: 0 })
    }

    fn check(&mut self) -> io::Result<()> {
        self.tidy(CHECKED)?;
        let before = self.ended.load(Ordering::Relaxed);
        self.run(CHECKED)?;
        self.tidy(0)?;
        match self.ended.load(Ordering::Relaxed) - before {
            CHECKED => Ok(()),
            other => Err(io::Error::other(format!("{CHECKED} connections were made, but {other} were accepted"))),
        }
    }

    /// Waits until the other process has handled all connections.
    fn tidy(&mut self, _operations: u64) -> io::Result<()> {
        // Relaxed: only the number matters.
        while self.ended.load(Ordering::Relaxed) < self.made {
            if let Some(status) = self.listener.try_wait()? {
                return Err(io::Error::other(format!("the process that accepts has ended: {status}")));
            }
            clock::sleep(PAUSE);
        }
        Ok(())
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            connect(&socket()?, &self.address)?;
        }
        self.made += operations;
        Ok(())
    }
}

#[inline]
fn socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::empty(), None)?)
}

/// Accepts connections and counts their ends, until the process is killed.
fn serve(socket: &OwnedFd, ended: &AtomicU64) -> io::Result<()> {
    loop {
        let connection = accept_with(socket, SocketFlags::empty())?;
        while recv(&connection, &mut [0; 16], RecvFlags::empty())?.0 > 0 {}
        drop(connection);
        ended.fetch_add(1, Ordering::Relaxed);
    }
}
