//! The calls of sockets over an endpoint of a transport. The module `sockmod` keeps the state that the processes of a socket share.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use headwater_streams::modules::sockmod;
pub use headwater_streams::modules::sockmod::Direction;
use headwater_streams::modules::timod;
use headwater_streams::tpi::{self, ManagementFlags, Primitive, Service};
use headwater_streams::{ControlMode, Errno, ErrorOptions, Events, IoctlTimeout, ReadMode, ReadOptions, Stream};

use crate::endpoint::{EndpointOptions, capabilities_within, first_answer};
use crate::error::XtiError;
use crate::line;
use crate::options::OptionList;

// EDESTADDRREQ, EMSGSIZE, EOPNOTSUPP, ECONNABORTED, ENOTCONN, EALREADY, EINPROGRESS.
const NO_DESTINATION: Errno = Errno::new(89);
const TOO_LONG: Errno = Errno::new(90);
const NOT_SUPPORTED: Errno = Errno::new(95);
const ABORTED: Errno = Errno::new(103);
const NOT_CONNECTED: Errno = Errno::new(107);
const ALREADY: Errno = Errno::new(114);
const IN_PROGRESS: Errno = Errno::new(115);
/// The time limit of a call that does not wait for the other end.
const AT_ONCE: IoctlTimeout = IoctlTimeout::After(Duration::from_millis(1));

/// A socket: an endpoint of a transport, with the calls of sockets instead of those of XTI. The transport defines the form of an
/// address: any bytes for the loop-back transports, and a `sockaddr_in` for the transports over the network.
///
/// ```
/// use headwater_xti::{Direction, EndpointOptions};
///
/// # let path = std::env::temp_dir().join(format!("headwater-xti-socket-{}", std::process::id()));
/// let options = EndpointOptions::new().directory(&path);
/// let listener = options.socket("ticotsord")?;
/// listener.bind(b"greeter")?;
/// listener.listen(5)?;
/// let serving = std::thread::spawn(move || {
///     let (near, _) = listener.accept()?;
///     let mut name = [0; 64];
///     let len = near.recv(&mut name)?;
///     near.send(&[b"hello ", &name[..len]].concat())?;
///     // Wait for the end: closing the socket earlier would end the connection for both.
///     near.recv(&mut name)
/// });
/// let socket = options.socket("ticotsord")?;
/// socket.connect(b"greeter")?;
/// socket.send(b"world")?;
/// let mut text = [0; 64];
/// let len = socket.recv(&mut text)?;
/// assert_eq!(&text[..len], b"hello world");
/// socket.shutdown(Direction::Write)?;
/// assert_eq!(serving.join().unwrap()?, 0);
/// # std::fs::remove_dir_all(path).ok();
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Differences from a socket of the kernel:
/// - Expedited data is read in order with other data.
/// - An abortive end of a connection reads as the end of the data.
/// - After the end was read, `poll` reports it only in the process that has read it.
/// - `send` raises no SIGPIPE.
/// - A connection to a socket that listens waits until it is accepted.
///
/// Source: IEEE Std 1003.1, the socket interfaces.
#[derive(Debug)]
pub struct Socket {
    stream: Stream,
    /// The options with which it was opened. Accepted sockets have the same.
    options: EndpointOptions,
    transport: String,
    service: Service,
    longest: i32,
    /// Set if the socket has an address, as far as this process knows.
    is_bound: AtomicBool,
    /// Set if the socket has a connection, or a default destination.
    is_connected: AtomicBool,
    /// Set if a connection was asked for.
    is_connecting: AtomicBool,
    /// Set if this process has received the end of the data.
    has_ended: AtomicBool,
}

impl EndpointOptions {
    /// Opens a socket of a transport (socket(2)), by the name of its driver.
    ///
    /// # Errors
    /// `ENXIO` if the driver is not known, or is not a transport; the error of the open.
    #[doc(alias = "socket(2)")]
    pub fn socket(&self, transport: &str) -> io::Result<Socket> {
        let stream = self.open_stream(transport).map_err(|error| error_of(error, Errno::Nxio))?;
        stream.push("sockmod")?;
        let (info, state, _) = first_answer(&stream).map_err(|error| error_of(error, Errno::Nxio))?;
        let is_datagrams = info.service == Service::Datagrams;
        if is_datagrams {
            stream
                .settings()
                .set_read_options(ReadOptions::new().mode(ReadMode::MessageDiscard).control(ControlMode::Discard))?;
            stream.settings().set_error_options(ErrorOptions::new().read_once(true).write_once(true));
        }
        Ok(Socket {
            stream,
            options: self.clone(),
            transport: transport.to_owned(),
            service: info.service,
            longest: info.tsdu,
            is_bound: AtomicBool::new(state != tpi::State::Unbound),
            is_connected: AtomicBool::new(false),
            is_connecting: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        })
    }
}

impl Socket {
    /// Returns the stream, for poll(2) of several files and for options of the stream head.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Sets whether calls fail with `EAGAIN`, or `EINPROGRESS`, instead of waiting.
    ///
    /// # Errors
    /// The error of the stream.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        Ok(self.stream.set_nonblocking(nonblocking)?)
    }

    /// Binds the socket to an address (bind(2)).
    ///
    /// # Errors
    /// `EADDRINUSE`, `EADDRNOTAVAIL`, `EACCES`; `EINVAL` if it already has one.
    #[doc(alias = "bind(2)")]
    pub fn bind(&self, address: &[u8]) -> io::Result<()> {
        self.take_address(address, 0)
    }

    fn take_address(&self, address: &[u8], waiting: u32) -> io::Result<()> {
        self.request(timod::BIND, Primitive::BindReq { address, waiting }, Errno::Inval)?;
        self.is_bound.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Binds the socket to any address, if it has none.
    fn ensure_bound(&self) -> io::Result<()> {
        if self.is_bound.load(Ordering::Relaxed) {
            return Ok(());
        }
        match self.take_address(&[], 0) {
            // Another process of the socket has bound it.
            Err(error) if error.raw_os_error() == Some(Errno::Inval.number()) => {
                self.is_bound.store(true, Ordering::Relaxed);
                Ok(())
            }
            done => done,
        }
    }

    /// Listens for connections, of which `backlog` may wait (listen(2)).
    ///
    /// # Errors
    /// `EOPNOTSUPP` for a transport without connections; `EADDRINUSE` if another endpoint has taken the address during the call,
    /// which gives up the address and takes it again.
    #[doc(alias = "listen(2)")]
    pub fn listen(&self, backlog: u32) -> io::Result<()> {
        self.check_connections()?;
        let mut address = Vec::new();
        if self.is_bound.load(Ordering::Relaxed) {
            address = self.local_address()?;
            self.request(timod::UNBIND, Primitive::UnbindReq, Errno::Inval)?;
        }
        self.take_address(&address, backlog.max(1))
    }

    /// Accepts a connection (accept(2)), and waits for one. Returns a socket for it, and the address of its other end.
    ///
    /// # Errors
    /// `EINVAL` if the socket does not listen; `EAGAIN` if it is non-blocking; the error of opening a new endpoint.
    #[doc(alias = "accept(2)")]
    pub fn accept(&self) -> io::Result<(Socket, Vec<u8>)> {
        self.check_connections()?;
        loop {
            let Some(message) = self.stream.receive()? else { return Err(code(Errno::Inval)) };
            let Ok(Primitive::ConnInd { source, sequence, .. }) =
                Primitive::decode(message.control().unwrap_or_default())
            else {
                // The caller has given up.
                continue;
            };
            let near = self.options.socket(&self.transport)?;
            let (_, _, acceptor) = capabilities_within(IoctlTimeout::Usual, &near.stream)
                .map_err(|error| error_of(error, Errno::Inval))?;
            let mut request = Primitive::ConnRes { acceptor, options: &[], sequence }.encode();
            match self.stream.ioctl(sockmod::ACCEPT, &mut request, IoctlTimeout::Usual) {
                Err(error) if error.errno() == ABORTED => continue,
                done => done?,
            };
            near.is_bound.store(true, Ordering::Relaxed);
            near.is_connected.store(true, Ordering::Relaxed);
            return Ok((near, source.to_vec()));
        }
    }

    /// Connects the socket, and waits until the other end has accepted (connect(2)). For a socket of datagrams, sets the default
    /// destination instead; an empty address removes it.
    ///
    /// # Errors
    /// `ECONNREFUSED`; `EINPROGRESS` if the socket is non-blocking: the connection is complete when [`Socket::poll`] reports
    /// [`Events::OUT`]; `EALREADY` before that, `EISCONN` afterwards; `EINTR`: connecting continues.
    #[doc(alias = "connect(2)")]
    pub fn connect(&self, address: &[u8]) -> io::Result<()> {
        if self.service == Service::Datagrams {
            self.ensure_bound()?;
            self.stream.ioctl(sockmod::SET_PEER, &mut address.to_vec(), IoctlTimeout::Usual)?;
            self.is_connected.store(!address.is_empty(), Ordering::Relaxed);
            return Ok(());
        }
        let waits = !self.stream.is_nonblocking();
        if self.is_connecting.load(Ordering::Relaxed) {
            return self.finish_connect(if waits { IoctlTimeout::Never } else { AT_ONCE });
        }
        self.ensure_bound()?;
        let mut request = Primitive::ConnReq { destination: address, options: &[] }.encode();
        let (command, time) =
            if waits { (sockmod::CONNECT, IoctlTimeout::Never) } else { (sockmod::START_CONNECT, IoctlTimeout::Usual) };
        match self.stream.ioctl(command, &mut request, time) {
            Ok(_) if waits => self.is_connected.store(true, Ordering::Relaxed),
            Ok(_) => {
                self.is_connecting.store(true, Ordering::Relaxed);
                return Err(code(IN_PROGRESS));
            }
            Err(error) => {
                self.is_connecting.store(error.errno() == Errno::Intr, Ordering::Relaxed);
                return Err(error.into());
            }
        }
        Ok(())
    }

    fn finish_connect(&self, time: IoctlTimeout) -> io::Result<()> {
        match self.stream.ioctl(sockmod::FINISH_CONNECT, &mut Vec::new(), time) {
            Err(error) if error.errno() == Errno::Time => Err(code(ALREADY)),
            Err(error) if error.errno() == Errno::Intr => Err(error.into()),
            done => {
                self.is_connecting.store(false, Ordering::Relaxed);
                done?;
                self.is_connected.store(true, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// Waits for events (poll(2)). If a connection was asked for, [`Events::OUT`] means that it is complete or refused. Then
    /// [`Socket::connect`] returns which.
    ///
    /// # Errors
    /// `EINTR`; the error of the stream.
    #[doc(alias = "poll(2)")]
    pub fn poll(&self, wanted: Events, timeout: Option<Duration>) -> io::Result<Events> {
        if !self.is_connecting.load(Ordering::Relaxed) || !wanted.contains(Events::OUT) {
            if wanted.contains(Events::IN) && self.has_ended.load(Ordering::Relaxed) {
                return Ok(self.stream.poll(wanted, Some(Duration::ZERO))? | Events::IN);
            }
            return Ok(self.stream.poll(wanted, timeout)?);
        }
        let time = timeout.map_or(IoctlTimeout::Never, |time| IoctlTimeout::After(time.max(Duration::from_millis(1))));
        match self.stream.ioctl(sockmod::AWAIT_CONNECT, &mut Vec::new(), time) {
            Ok(_) => Ok(Events::OUT),
            Err(error) if error.errno() == Errno::Time => Ok(Events::empty()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends data over the connection, or to the default destination (send(2)). Returns the number of bytes sent.
    ///
    /// # Errors
    /// `ENOTCONN`, `EDESTADDRREQ`; `EMSGSIZE` if a datagram is too long; `EPIPE` if this direction or the connection has ended;
    /// `EAGAIN`; the error of an earlier datagram.
    #[doc(alias = "send(2)")]
    pub fn send(&self, data: &[u8]) -> io::Result<usize> {
        let is_connected = self.is_connected.load(Ordering::Relaxed);
        if self.service == Service::Datagrams {
            if !is_connected {
                return Err(code(NO_DESTINATION));
            }
            self.check_length(data)?;
            return self.stream.putmsg(None, Some(data)).map(|()| data.len()).map_err(|error| self.send_error(&error));
        }
        if !is_connected {
            return Err(code(NOT_CONNECTED));
        }
        self.stream.write(data).map_err(|error| self.send_error(&error))
    }

    /// Sends a datagram (sendto(2)).
    ///
    /// # Errors
    /// `EOPNOTSUPP` for a transport without datagrams; `EDESTADDRREQ` for an empty address; those of [`Socket::send`].
    #[doc(alias = "sendto(2)")]
    pub fn send_to(&self, address: &[u8], data: &[u8]) -> io::Result<usize> {
        if self.service != Service::Datagrams {
            return Err(code(NOT_SUPPORTED));
        }
        if address.is_empty() {
            return Err(code(NO_DESTINATION));
        }
        self.check_length(data)?;
        self.ensure_bound()?;
        self.stream.send_to(address, &[], data).map(|()| data.len()).map_err(|error| self.send_error(&error))
    }

    fn check_length(&self, data: &[u8]) -> io::Result<()> {
        match usize::try_from(self.longest) {
            Ok(longest) if data.len() > longest => Err(code(TOO_LONG)),
            _ => Ok(()),
        }
    }

    fn send_error(&self, error: &headwater_streams::Error) -> io::Error {
        match error.errno() {
            Errno::Range => code(TOO_LONG),
            // The stream is hung up.
            Errno::Nxio | Errno::Io => code(Errno::Pipe),
            errno => code(errno),
        }
    }

    /// Receives data, and waits for some (recv(2)). Returns 0 at the end of the data of a connection. If a datagram does not fit, its
    /// rest is discarded.
    ///
    /// # Errors
    /// `ENOTCONN`; `EAGAIN`; the error of an earlier datagram.
    #[doc(alias = "recv(2)")]
    pub fn recv(&self, data: &mut [u8]) -> io::Result<usize> {
        let is_datagrams = self.service == Service::Datagrams;
        if is_datagrams {
            self.ensure_bound()?;
        } else if !self.is_connected.load(Ordering::Relaxed) {
            return Err(code(NOT_CONNECTED));
        }
        match self.stream.read(data) {
            Ok(0) if !data.is_empty() && !is_datagrams => {
                self.has_ended.store(true, Ordering::Relaxed);
                Ok(0)
            }
            Err(error) if error.errno() == Errno::Again && self.has_ended.load(Ordering::Relaxed) => Ok(0),
            done => Ok(done?),
        }
    }

    /// Receives a datagram, and waits for one (recvfrom(2)). Returns the number of bytes of data, and the sender's address. If the
    /// datagram does not fit, its rest is discarded.
    ///
    /// # Errors
    /// `EOPNOTSUPP` for a transport without datagrams; those of [`Socket::recv`].
    #[doc(alias = "recvfrom(2)")]
    pub fn recv_from(&self, data: &mut [u8]) -> io::Result<(usize, Vec<u8>)> {
        if self.service != Service::Datagrams {
            return Err(code(NOT_SUPPORTED));
        }
        self.ensure_bound()?;
        let mut address = vec![0; headwater_streams::limits::ADDRESS_MAX];
        let Some(received) = self.stream.recv_from(&mut address, &mut [], data)? else { return Ok((0, Vec::new())) };
        let (mut rest, mut more) = ([0; 4096], received.more);
        while more {
            more = self.stream.getmsg(None, Some(&mut rest))?.more_data;
        }
        address.truncate(received.address);
        Ok((received.data, address))
    }

    /// Ends one direction or both (shutdown(2)).
    ///
    /// # Errors
    /// `ENOTCONN`; `EOPNOTSUPP` for a transport without orderly release.
    #[doc(alias = "shutdown(2)")]
    pub fn shutdown(&self, direction: Direction) -> io::Result<()> {
        if !self.is_connected.load(Ordering::Relaxed) {
            return Err(code(NOT_CONNECTED));
        }
        if direction != Direction::Read && self.service != Service::OrderlyConnections {
            return Err(code(NOT_SUPPORTED));
        }
        let mut data = (direction as u32).to_ne_bytes().to_vec();
        match self.stream.ioctl(sockmod::SHUTDOWN, &mut data, IoctlTimeout::Usual) {
            // The stream is hung up: both directions have ended.
            Err(error) if matches!(error.errno(), Errno::Nxio | Errno::Io) => Err(code(NOT_CONNECTED)),
            done => Ok(done.map(|_| ())?),
        }
    }

    /// Returns the socket's own address (getsockname(2)). It is empty if the socket has none.
    ///
    /// # Errors
    /// The error of the stream.
    #[doc(alias = "getsockname(2)")]
    pub fn local_address(&self) -> io::Result<Vec<u8>> {
        self.addresses().map(|(local, _)| local)
    }

    /// Returns the address of the other end of the connection, or the default destination (getpeername(2)).
    ///
    /// # Errors
    /// `ENOTCONN`.
    #[doc(alias = "getpeername(2)")]
    pub fn peer_address(&self) -> io::Result<Vec<u8>> {
        if self.service == Service::Datagrams {
            let mut address = Vec::new();
            self.stream.ioctl(sockmod::GET_PEER, &mut address, IoctlTimeout::Usual)?;
            return Ok(address);
        }
        let (_, peer) = self.addresses()?;
        if peer.is_empty() { Err(code(NOT_CONNECTED)) } else { Ok(peer) }
    }

    fn addresses(&self) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let answer = self.request(timod::GETADDRS, Primitive::AddrReq, Errno::Inval)?;
        match Primitive::decode(&answer) {
            Ok(Primitive::AddrAck { local, remote }) => Ok((local.to_vec(), remote.to_vec())),
            _ => Err(code(Errno::Proto)),
        }
    }

    /// Reads or changes options of the transport (getsockopt(2), setsockopt(2)). Returns them, and the worst status.
    ///
    /// # Errors
    /// `EINVAL` for an invalid list or invalid flags; `EACCES`.
    #[doc(alias = "getsockopt(2)")]
    #[doc(alias = "setsockopt(2)")]
    pub fn options(&self, list: &OptionList, flags: ManagementFlags) -> io::Result<(OptionList, ManagementFlags)> {
        let request = Primitive::OptmgmtReq { options: list.bytes(), flags };
        let answer = self.request(timod::OPTMGMT, request, Errno::Inval)?;
        match Primitive::decode(&answer) {
            Ok(Primitive::OptmgmtAck { options, flags }) => Ok((OptionList::from(options.to_vec()), flags)),
            _ => Err(code(Errno::Proto)),
        }
    }

    /// Takes the pending error (SO_ERROR).
    ///
    /// # Errors
    /// The error of the stream.
    #[doc(alias = "SO_ERROR")]
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        let error = self.stream.ioctl(sockmod::GET_ERROR, &mut Vec::new(), IoctlTimeout::Usual)?;
        Ok((error != 0).then(|| io::Error::from_raw_os_error(error)))
    }

    fn check_connections(&self) -> io::Result<()> {
        if self.service == Service::Datagrams { Err(code(NOT_SUPPORTED)) } else { Ok(()) }
    }

    /// Sends a request as an ioctl, and returns the answer. `state` is the error if the state does not allow the request.
    fn request(&self, command: u32, request: Primitive<'_>, state: Errno) -> io::Result<Vec<u8>> {
        line::ioctl(&self.stream, IoctlTimeout::Usual, command, request).map_err(|error| error_of(error, state))
    }
}

fn code(errno: Errno) -> io::Error {
    io::Error::from_raw_os_error(errno.number())
}

/// Converts the error of a request to that of a socket. `state` is the error if the state does not allow the request, or there is no
/// provider.
fn error_of(error: XtiError, state: Errno) -> io::Error {
    use tpi::TransportError as T;
    match error.t_errno {
        T::OutOfState | T::BadName | T::BadFile => code(state),
        t_errno => code(t_errno.errno_of_sockets(error.errno.map_or(0, |errno| errno.number().unsigned_abs()))),
    }
}
