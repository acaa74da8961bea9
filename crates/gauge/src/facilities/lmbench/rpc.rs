//! `rpc-udp`, `rpc-tcp`: a null call of a Sun RPC service in another process, over UDP and over TCP.
//!
//! Caller and service build and parse whole messages of the protocol, and check every field. They are not rpcgen and
//! libtirpc: there is no portmapper, no table of services, and no time limit, hence no `poll(2)` before each reply.
//! Nothing is sent again: loopback loses no datagram, and if it did, the launch would fail.

use std::io;
use std::os::fd::OwnedFd;

use headwater_os::child::Child;
use headwater_os::cpu;
use rustix::net::sockopt::set_tcp_nodelay;
use rustix::net::{
    AddressFamily, Ipv4Addr, RecvFlags, SendFlags, SocketAddrAny, SocketAddrV4, SocketFlags, SocketType, bind,
    getsockname, recv, recvfrom, send, sendto, socket_with,
};

use super::rpc_message::{
    Calls, MESSAGE_MAX, NULL_PROCEDURE, RECORD_MARK, accept_reply, length, record_mark, write_reply,
};
use crate::facilities::operation::{Figure, Operation};
use crate::harness::conduct::Job;
use crate::transports::{Unavailable, tcp};

/// Number of calls of the check.
const CHECKED: u64 = 10;

/// The transport of the messages.
pub trait RpcTransport: Sized {
    /// The row of this transport.
    const ROWS: &'static [(&'static str, &'static str)];

    /// Opens the caller's end and the service's end.
    ///
    /// # Errors
    /// [`Unavailable`] with the call that failed.
    fn open() -> Result<(Self, Self), Unavailable>;

    /// Sends a message, which begins with its record mark. The caller sends to the service, the service to the sender
    /// of the last message.
    ///
    /// # Errors
    /// What the system reports.
    fn send(&mut self, record: &[u8]) -> io::Result<()>;

    /// Waits for a message. Returns its length, including the record mark.
    ///
    /// # Errors
    /// What the system reports; `UnexpectedEof` if the other end is closed, `InvalidData` if it is not a message.
    fn receive(&mut self, record: &mut [u8; MESSAGE_MAX]) -> io::Result<usize>;
}

/// The caller; the service is another process.
#[derive(Debug)]
pub struct Rpc<L> {
    _service: Child,
    transport: L,
    calls: Calls,
}

impl<L: RpcTransport> Operation for Rpc<L> {
    const ROWS: &'static [(&'static str, &'static str)] = L::ROWS;
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(job: &Job) -> Result<Rpc<L>, Unavailable> {
        let (transport, mut service) = L::open()?;
        let calls = Calls::new(NULL_PROCEDURE).map_err(|error| Unavailable::call("encoding an RPC call", error))?;
        let cpu = job.cpus.map(|(_, second)| second);
        let serving = Child::fork(|| match cpu.map_or(Ok(()), cpu::bind).and_then(|()| serve(&mut service)) {
            Ok(()) => 0,
            Err(_) => 1,
        });
        let _service = serving.map_err(|error| Unavailable::call("fork", error))?;
        Ok(Rpc { _service, transport, calls })
    }

    fn check(&mut self) -> io::Result<()> {
        self.run(CHECKED)?;
        match call(&mut self.transport, &mut Calls::new(NULL_PROCEDURE + 1)?) {
            Err(error) if error.to_string().contains("ProcedureUnavailable") => Ok(()),
            other => Err(io::Error::other(format!("the call of an unknown procedure was answered by {other:?}"))),
        }
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            call(&mut self.transport, &mut self.calls)?;
        }
        Ok(())
    }
}

/// Makes a call and waits for its reply.
#[inline]
fn call(transport: &mut impl RpcTransport, calls: &mut Calls) -> io::Result<()> {
    let (record, xid) = calls.next();
    transport.send(record)?;
    let mut reply = [0; MESSAGE_MAX];
    let length = transport.receive(&mut reply)?;
    accept_reply(&reply[..length], xid)
}

/// The loop of the service. It ends when it is killed or the transport fails. Messages that are not calls are dropped,
/// as RFC 5531 permits.
fn serve(transport: &mut impl RpcTransport) -> io::Result<()> {
    let (mut request, mut reply) = ([0; MESSAGE_MAX], [0; MESSAGE_MAX]);
    loop {
        let length = transport.receive(&mut request)?;
        if let Ok(length) = write_reply(&request[..length], &mut reply) {
            transport.send(&reply[..length])?;
        }
    }
}

/// An unconnected socket, and the address to which it sends.
#[derive(Debug)]
pub struct Udp {
    socket: OwnedFd,
    peer: SocketAddrAny,
}

impl RpcTransport for Udp {
    const ROWS: &'static [(&'static str, &'static str)] = &[("rpc-udp", "null call of a Sun RPC service over UDP")];

    fn open() -> Result<(Udp, Udp), Unavailable> {
        let end = || -> Result<(OwnedFd, SocketAddrAny), Unavailable> {
            let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
                .map_err(|error| Unavailable::call("socket", error))?;
            bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))
                .map_err(|error| Unavailable::call("bind to 127.0.0.1", error))?;
            let address = getsockname(&socket).map_err(|error| Unavailable::call("getsockname", error))?;
            Ok((socket, address))
        };
        let ((caller, of_caller), (service, of_service)) = (end()?, end()?);
        Ok((Udp { socket: caller, peer: of_service }, Udp { socket: service, peer: of_caller }))
    }

    #[inline]
    fn send(&mut self, record: &[u8]) -> io::Result<()> {
        sendto(&self.socket, &record[RECORD_MARK..], SendFlags::empty(), &self.peer)?;
        Ok(())
    }

    #[inline]
    fn receive(&mut self, record: &mut [u8; MESSAGE_MAX]) -> io::Result<usize> {
        let (length, _, peer) = recvfrom(&self.socket, &mut record[RECORD_MARK..], RecvFlags::empty())?;
        self.peer = peer.unwrap_or_else(|| self.peer.clone());
        record[..RECORD_MARK].copy_from_slice(&record_mark(length));
        Ok(RECORD_MARK + length)
    }
}

/// A TCP connection.
#[derive(Debug)]
pub struct Tcp {
    socket: OwnedFd,
}

impl RpcTransport for Tcp {
    const ROWS: &'static [(&'static str, &'static str)] = &[("rpc-tcp", "null call of a Sun RPC service over TCP")];

    fn open() -> Result<(Tcp, Tcp), Unavailable> {
        let (caller, service) = tcp::connection()?;
        for end in [&caller, &service] {
            set_tcp_nodelay(end, true).map_err(|error| Unavailable::call("setsockopt TCP_NODELAY", error))?;
        }
        Ok((Tcp { socket: caller }, Tcp { socket: service }))
    }

    #[inline]
    fn send(&mut self, record: &[u8]) -> io::Result<()> {
        match send(&self.socket, record, SendFlags::NOSIGNAL)? {
            sent if sent == record.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    #[inline]
    fn receive(&mut self, record: &mut [u8; MESSAGE_MAX]) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            match length(&record[..filled])? {
                Some(length) if length <= filled => return Ok(length),
                _ => {}
            }
            match recv(&self.socket, &mut record[filled..], RecvFlags::empty())?.0 {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                more => filled += more,
            }
        }
    }
}
