//! An endpoint: opening and binding it, its state, events, addresses and options.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::time::Duration;

use headwater_streams::modules::timod;
use headwater_streams::tpi::{self, Capabilities, ManagementFlags, Primitive, PrimitiveNumber, ProviderInfo, Service};
use headwater_streams::{DeviceOptions, Errno, IoctlTimeout, Stream, known_drivers};

use crate::error::{Result, XtiError};
use crate::line::{self, Line};
use crate::options::OptionList;
use crate::state::{Event, State};
use headwater_streams::tpi::TransportError;

/// The largest number of pieces of a call that gathers or scatters data (T_IOV_MAX).
#[doc(alias = "T_IOV_MAX")]
pub const VECTOR_MAX: usize = 16;

/// The time after which a driver that has not answered the first request counts as no transport. A transport answers at once.
const FIRST_ANSWER: IoctlTimeout = IoctlTimeout::After(Duration::from_secs(3));

/// Options for opening an endpoint.
///
/// ```
/// use headwater_xti::{EndpointOptions, TransportError};
///
/// let error = EndpointOptions::new().open("no-transport").unwrap_err();
/// assert_eq!(error.t_errno, TransportError::BadName);
/// ```
///
/// Source: XNS 5.2, t_open.
#[derive(Debug, Clone, Default)]
pub struct EndpointOptions {
    device: DeviceOptions,
}

impl EndpointOptions {
    /// Makes options with the usual directory of devices, and with calls that wait.
    pub fn new() -> EndpointOptions {
        EndpointOptions::default()
    }

    /// Sets the directory in which endpoints find each other ([`DeviceOptions::directory`]).
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> EndpointOptions {
        self.device.directory = Some(directory.into());
        self
    }

    /// Sets whether calls fail with TNODATA or TFLOW instead of waiting (O_NONBLOCK): the asynchronous mode.
    #[must_use]
    pub fn nonblocking(mut self, nonblocking: bool) -> EndpointOptions {
        self.device.nonblocking = nonblocking;
        self
    }

    /// Opens a new endpoint of a transport, by the name of its driver: "ticlts", "ticots", "ticotsord".
    ///
    /// # Errors
    /// TBADNAME if the driver is not known; TSYSERR with the error of the open, or with `ENXIO` if the driver is not a transport.
    #[doc(alias = "t_open")]
    pub fn open(&self, transport: &str) -> Result<Endpoint> {
        Endpoint::from_stream(self.open_stream(transport)?)
    }

    /// Opens a stream to the driver of a transport.
    pub(crate) fn open_stream(&self, transport: &str) -> Result<Stream> {
        if !known_drivers().contains(&transport) {
            return Err(TransportError::BadName.into());
        }
        Ok(self.device.open(transport)?)
    }
}

/// The address of an endpoint, and the length of its queue of connections.
///
/// Source: XNS 5.2, t_bind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
#[doc(alias = "t_bind")]
pub struct Binding {
    /// The address. If it is empty in a request, the provider chooses one.
    pub address: Vec<u8>,
    /// The number of connections that may wait to be accepted (qlen); 0 if the endpoint does not listen.
    pub waiting: u32,
}

impl Binding {
    /// Requests an address that the provider chooses.
    pub fn any() -> Binding {
        Binding::default()
    }

    /// Requests this address.
    pub fn to(address: &[u8]) -> Binding {
        Binding { address: address.to_vec(), waiting: 0 }
    }

    /// Also requests to listen, with up to `waiting` connections in the queue.
    #[must_use]
    pub fn listening(self, waiting: u32) -> Binding {
        Binding { waiting, ..self }
    }
}

/// The sizes of a transport, and its service. A size is in bytes; -1 (T_INFINITE): no limit; -2 (T_INVALID): the transport does not
/// have it.
///
/// Source: XNS 5.2, t_getinfo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "t_info")]
pub struct Info {
    /// The longest address.
    pub address: i32,
    /// The longest options.
    pub options: i32,
    /// The longest message (TSDU); 0 for a stream of bytes without boundaries.
    pub tsdu: i32,
    /// The longest expedited message (ETSDU).
    pub etsdu: i32,
    /// The longest data of a request for a connection.
    pub connect_data: i32,
    /// The longest data of a disconnection.
    pub disconnect_data: i32,
    /// The longest data of one message to the provider. Longer data is split.
    pub tidu: i32,
    /// The kind of service.
    pub service: Service,
    /// True if empty messages can be sent (T_SENDZERO).
    pub sends_zero: bool,
}

impl From<ProviderInfo> for Info {
    fn from(info: ProviderInfo) -> Info {
        Info {
            address: info.address,
            options: info.options,
            tsdu: info.tsdu,
            etsdu: info.etsdu,
            connect_data: info.connect_data,
            disconnect_data: info.disconnect_data,
            tidu: info.tidu,
            service: info.service,
            sends_zero: info.flags & ProviderInfo::SENDZERO != 0,
        }
    }
}

/// An event (t_look).
///
/// Source: XNS 5.2, t_look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Look {
    /// A connection is asked for.
    #[doc(alias = "T_LISTEN")]
    Listen = 0x01,
    /// The connection was accepted.
    #[doc(alias = "T_CONNECT")]
    Connect = 0x02,
    /// Data has arrived.
    #[doc(alias = "T_DATA")]
    Data = 0x04,
    /// Expedited data has arrived.
    #[doc(alias = "T_EXDATA")]
    ExpeditedData = 0x08,
    /// The connection has ended.
    #[doc(alias = "T_DISCONNECT")]
    Disconnect = 0x10,
    /// A datagram was not delivered.
    #[doc(alias = "T_UDERR")]
    DatagramError = 0x40,
    /// The other end has ended its direction by an orderly release.
    #[doc(alias = "T_ORDREL")]
    Release = 0x80,
    /// There is room for data after TFLOW.
    #[doc(alias = "T_GODATA")]
    RoomForData = 0x100,
    /// There is room for expedited data after TFLOW.
    #[doc(alias = "T_GOEXDATA")]
    RoomForExpeditedData = 0x200,
}

impl Look {
    /// Returns the event of an indication.
    pub(crate) fn from_primitive(number: PrimitiveNumber) -> Option<Look> {
        Some(match number {
            PrimitiveNumber::ConnInd => Look::Listen,
            PrimitiveNumber::ConnCon => Look::Connect,
            PrimitiveNumber::DisconInd => Look::Disconnect,
            PrimitiveNumber::UderrorInd => Look::DatagramError,
            PrimitiveNumber::OrdrelInd => Look::Release,
            _ => return None,
        })
    }

    /// Returns the number of the event in XNS.
    pub const fn number(self) -> i32 {
        self as i32
    }
}

/// The addresses of both ends (t_getprotaddr). An address that does not exist is empty.
///
/// Source: XNS 5.2, t_getprotaddr.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Addresses {
    /// The address of this endpoint.
    pub local: Vec<u8>,
    /// The address of the other end of the connection.
    pub remote: Vec<u8>,
}

/// An endpoint of a transport. Dropping it closes it (t_close).
///
/// ```
/// use headwater_xti::{Binding, EndpointOptions, State};
///
/// # let path = std::env::temp_dir().join(format!("headwater-xti-endpoint-{}", std::process::id()));
/// let endpoint = EndpointOptions::new().directory(&path).open("ticots")?;
/// assert_eq!(endpoint.state(), State::Unbound);
/// assert_eq!(endpoint.bind(&Binding::to(b"shop").listening(3))?.address, b"shop");
/// assert_eq!(endpoint.state(), State::Idle);
/// # std::fs::remove_dir_all(path).ok();
/// # Ok::<(), headwater_xti::XtiError>(())
/// ```
#[derive(Debug)]
pub struct Endpoint {
    pub(crate) line: Line,
    pub(crate) info: Info,
    /// The state that the user knows. Written by the call that has succeeded.
    state: AtomicU8,
    /// The number of connections that the user knows and that wait to be accepted.
    pub(crate) callers: AtomicU32,
    /// The largest number of such connections.
    pub(crate) waiting_max: AtomicU32,
    /// Set if TFLOW was returned, and the event that ends it was not reported yet: for data, for expedited data.
    pub(crate) full: [AtomicBool; 2],
    /// Set if the message that is being received continues: for data, for expedited data.
    pub(crate) goes_on: [AtomicBool; 2],
}

impl Endpoint {
    /// Makes an endpoint from a stream that ends in the driver of a transport (t_sync). This or another process has opened the
    /// stream. The state follows from that of the provider, and from the messages at the stream head. The module `timod` is pushed
    /// if the stream does not have it.
    ///
    /// # Errors
    /// TBADF if the stream does not end in a transport; TSTATECHNG while another call changes the state.
    #[doc(alias = "t_sync")]
    pub fn from_stream(stream: Stream) -> Result<Endpoint> {
        let pushed = !stream.modules().find("timod")?;
        if pushed {
            stream.push("timod")?;
        }
        let line = Line::new(stream);
        let asked = first_answer(&line.stream);
        if pushed && asked.is_err() {
            line.stream.pop()?;
        }
        let (info, state, _) = asked?;
        let endpoint = Endpoint {
            line,
            info: info.into(),
            state: AtomicU8::new(State::Unbound.number()),
            callers: AtomicU32::new(0),
            waiting_max: AtomicU32::new(u32::MAX),
            full: Default::default(),
            goes_on: Default::default(),
        };
        endpoint.adopt(state)?;
        Ok(endpoint)
    }

    /// Sets the state from that of the provider. The provider is ahead of the user by the messages at the stream head.
    fn adopt(&self, provider: tpi::State) -> Result<State> {
        let state = State::from_provider(provider).ok_or(TransportError::StateChanging)?;
        let state = match (state, self.line.look()?) {
            (State::Listening, Some(Look::Listen)) => State::Idle,
            (State::Connected | State::Released, Some(Look::Connect)) => State::Connecting,
            (State::Released, Some(_)) | (State::Idle, Some(Look::Disconnect | Look::Release)) => State::Connected,
            (state, _) => state,
        };
        self.callers.store(u32::from(state == State::Listening), Ordering::Relaxed);
        self.state.store(state.number(), Ordering::Release);
        Ok(state)
    }

    /// Reads the state from the provider again, for instance after a fork (t_sync).
    ///
    /// # Errors
    /// TSTATECHNG while another call changes the state.
    #[doc(alias = "t_sync")]
    pub fn sync(&self) -> Result<State> {
        let (_, provider, _) = capabilities(&self.line)?;
        let known = self.state();
        // If both agree, the state stays: this process knows best what it has done and received.
        if State::from_provider(provider) == Some(known) {
            return Ok(known);
        }
        self.adopt(provider)
    }

    /// Returns the stream, for instance for poll(2).
    pub fn stream(&self) -> &Stream {
        &self.line.stream
    }

    /// Returns the state (t_getstate).
    #[doc(alias = "t_getstate")]
    #[inline]
    pub fn state(&self) -> State {
        State::from_number(self.state.load(Ordering::Acquire))
    }

    /// Returns the state after an event, or TOUTSTATE if the event cannot happen now.
    #[inline]
    pub(crate) fn check(&self, event: Event) -> Result<State> {
        self.state().after(event).ok_or_else(|| TransportError::OutOfState.into())
    }

    pub(crate) fn set_state(&self, state: State) {
        self.state.store(state.number(), Ordering::Release);
    }

    pub(crate) fn check_service(&self, services: &[Service]) -> Result<()> {
        if services.contains(&self.info.service) { Ok(()) } else { Err(TransportError::NotSupported.into()) }
    }

    /// Returns the sizes and the service of the transport (t_getinfo). They may change with options and connections, so the provider
    /// is asked.
    ///
    /// # Errors
    /// TSYSERR with the error of the stream.
    #[doc(alias = "t_getinfo")]
    pub fn info(&self) -> Result<Info> {
        Ok(capabilities(&self.line)?.0.into())
    }

    /// Returns the sizes and the service of the transport as they were when this endpoint was made. Does not ask the provider.
    pub fn first_info(&self) -> &Info {
        &self.info
    }

    /// Returns the number that names this endpoint as an acceptor of connections.
    pub(crate) fn acceptor(&self) -> Result<u32> {
        Ok(capabilities(&self.line)?.2)
    }

    /// Binds the endpoint (t_bind). Returns the address, and the number of connections that may wait.
    ///
    /// # Errors
    /// TADDRBUSY, TBADADDR, TNOADDR, TACCES of the provider; TOUTSTATE unless the endpoint is unbound; TSYSERR.
    #[doc(alias = "t_bind")]
    pub fn bind(&self, binding: &Binding) -> Result<Binding> {
        let next = self.check(Event::Bind)?;
        let request = Primitive::BindReq { address: &binding.address, waiting: binding.waiting };
        let answer = self.line.ioctl(timod::BIND, request)?;
        let Ok(Primitive::BindAck { address, waiting }) = Primitive::decode(&answer) else {
            return Err(TransportError::Protocol.into());
        };
        self.waiting_max.store(waiting, Ordering::Relaxed);
        self.set_state(next);
        Ok(Binding { address: address.to_vec(), waiting })
    }

    /// Gives up the address (t_unbind). Messages at the stream head are discarded.
    ///
    /// # Errors
    /// TLOOK if a request for a connection or a datagram is waiting; TOUTSTATE unless the endpoint is idle; TSYSERR.
    #[doc(alias = "t_unbind")]
    pub fn unbind(&self) -> Result<()> {
        let next = self.check(Event::Unbind)?;
        if matches!(self.line.look()?, Some(Look::Listen | Look::Data)) {
            return Err(TransportError::Look.into());
        }
        self.line.ioctl(timod::UNBIND, Primitive::UnbindReq)?;
        self.line.drain()?;
        self.set_state(next);
        Ok(())
    }

    /// Returns the addresses of both ends (t_getprotaddr).
    ///
    /// # Errors
    /// TSYSERR with the error of the stream.
    #[doc(alias = "t_getprotaddr")]
    pub fn addresses(&self) -> Result<Addresses> {
        let answer = self.line.ioctl(timod::GETADDRS, Primitive::AddrReq)?;
        match Primitive::decode(&answer) {
            Ok(Primitive::AddrAck { local, remote }) => {
                Ok(Addresses { local: local.to_vec(), remote: remote.to_vec() })
            }
            _ => Err(TransportError::Protocol.into()),
        }
    }

    /// Reads or changes options (t_optmgmt). Returns them with the status of each, and the worst status.
    ///
    /// ```
    /// use headwater_streams::tpi::XTI_GENERIC;
    /// use headwater_xti::{EndpointOptions, ManagementFlags, OptionList};
    ///
    /// # let path = std::env::temp_dir().join(format!("headwater-xti-options-{}", std::process::id()));
    /// let endpoint = EndpointOptions::new().directory(&path).open("ticlts")?;
    /// let all = OptionList::new().with_all(XTI_GENERIC);
    /// let (options, status) = endpoint.manage_options(&all, ManagementFlags::CURRENT)?;
    /// assert_eq!((options.iter().count(), status), (2, ManagementFlags::SUCCESS));
    /// # std::fs::remove_dir_all(path).ok();
    /// # Ok::<(), headwater_xti::XtiError>(())
    /// ```
    ///
    /// # Errors
    /// TBADFLAG unless `flags` is NEGOTIATE, CHECK, DEFAULT or CURRENT; TBADOPT for a list that is malformed; TACCES; TSYSERR.
    #[doc(alias = "t_optmgmt")]
    pub fn manage_options(&self, list: &OptionList, flags: ManagementFlags) -> Result<(OptionList, ManagementFlags)> {
        use ManagementFlags as F;
        self.check(Event::ManageOptions)?;
        if ![F::NEGOTIATE, F::CHECK, F::DEFAULT, F::CURRENT].contains(&flags) {
            return Err(TransportError::BadFlag.into());
        }
        if list.bytes().is_empty() || list.iter().any(|option| option.is_err()) {
            return Err(TransportError::BadOptions.into());
        }
        let answer = self.line.ioctl(timod::OPTMGMT, Primitive::OptmgmtReq { options: list.bytes(), flags })?;
        match Primitive::decode(&answer) {
            Ok(Primitive::OptmgmtAck { options, flags }) => Ok((OptionList::from(options.to_vec()), flags)),
            _ => Err(TransportError::Protocol.into()),
        }
    }

    /// Returns the event that is in front, if there is one (t_look).
    ///
    /// # Errors
    /// TSYSERR with the error of the stream.
    #[doc(alias = "t_look")]
    pub fn look(&self) -> Result<Option<Look>> {
        if let Some(event) = self.line.look()? {
            return Ok(Some(event));
        }
        for (expedited, event) in [(true, Look::RoomForExpeditedData), (false, Look::RoomForData)] {
            let full = &self.full[usize::from(expedited)];
            if full.load(Ordering::Relaxed) && self.line.has_room(expedited)? {
                full.store(false, Ordering::Relaxed);
                return Ok(Some(event));
            }
        }
        Ok(None)
    }
}

/// Asks a driver for the first time. Fails with TBADF if it is not a transport.
pub(crate) fn first_answer(stream: &Stream) -> Result<(ProviderInfo, tpi::State, u32)> {
    capabilities_within(FIRST_ANSWER, stream).map_err(|error| match error.errno {
        // No provider has answered.
        Some(Errno::Inval | Errno::Time) => TransportError::BadFile.into(),
        _ => error,
    })
}

/// Asks for the sizes, the state and the acceptor number in one request.
fn capabilities(line: &Line) -> Result<(ProviderInfo, tpi::State, u32)> {
    capabilities_within(IoctlTimeout::Usual, &line.stream)
}

pub(crate) fn capabilities_within(time: IoctlTimeout, stream: &Stream) -> Result<(ProviderInfo, tpi::State, u32)> {
    let wanted = Capabilities { info: true, acceptor: true };
    let answer = line::ioctl(stream, time, timod::CAPABILITY, Primitive::CapabilityReq { wanted })?;
    match Primitive::decode(&answer) {
        Ok(Primitive::CapabilityAck { given, info, acceptor }) if given.info => Ok((info, info.state, acceptor)),
        _ => Err(XtiError::from(TransportError::Protocol)),
    }
}
