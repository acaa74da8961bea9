//! Endpoints of XTI, the X/Open Transport Interface (`headwater-xti`): datagrams ([`datagrams`]) and connections ([`connections`]),
//! over the transports of `headwater-streams`: `udp` and the loop-back transports in shared memory, and those over the
//! kernel's sockets ("XTI over sockets").
//!
//! Both endpoints are opened in a private directory of devices. A message is one call of XTI at either side.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::atomic::{AtomicU32, Ordering};

use headwater_streams::tpi::{InternetAddress, TransportError, XTI_GENERIC, XTI_RCVBUF, XTI_SNDBUF};
use headwater_xti::{Binding, Endpoint, EndpointOptions, ManagementFlags, OptionList, XtiError};

use super::udp::BUFFER_BYTES;
use super::{Info, Loss, Setup, Unavailable};

pub mod connections;
pub mod datagrams;

/// A transport of XTI: the type of a transport of the gauge.
pub trait Provider: 'static {
    /// The properties of the transport.
    const INFO: Info;
    /// The name of the driver.
    const DRIVER: &'static str;
    /// Whether addresses are those of the internet; else the provider chooses one.
    const HAS_PORTS: bool;
    /// Whether the driver uses sockets of the kernel. Else endpoints find each other in the directory of devices, also later, and it
    /// stays until the harness removes it.
    const IS_OVER_SOCKETS: bool;
}

const INFO: Info = Info {
    name: "xti-udp",
    summary: "XTI over STREAMS UDP: t_sndudata and t_rcvudata, in shared memory",
    blocking: "spins up to 20 us (yields on a shared CPU), then sleeps on a futex, later on a socket",
    keeps_boundaries: true,
    loss: Loss::Counted,
    pollable: false,
    special: true,
    ..Info::BYTES
};

/// Opens two bound endpoints with `connect`, which makes them known to each other.
fn open<P: Provider>(
    setup: &Setup<'_>,
    connect: impl FnOnce(&EndpointOptions) -> Result<(Endpoint, Endpoint), XtiError>,
) -> Result<(Endpoint, Endpoint), Unavailable> {
    if let Some(size_max) = P::INFO.size_max.filter(|size_max| setup.size > *size_max) {
        return Err(Unavailable(format!("a message holds at most {size_max} B")));
    }
    static OPENED: AtomicU32 = AtomicU32::new(0);
    let number = OPENED.fetch_add(1, Ordering::Relaxed);
    let directory = setup.directory.join(format!("{}-{}-{number}", P::INFO.name, std::process::id()));
    let ends = connect(&EndpointOptions::new().directory(&directory));
    if P::IS_OVER_SOCKETS || ends.is_err() {
        let _ = fs::remove_dir_all(&directory);
    }
    let (sender, receiver) = ends.map_err(|error| Unavailable(format!("XTI: {error}")))?;
    for end in [&sender, &receiver] {
        end.stream().set_nonblocking(setup.nonblocking).map_err(|error| Unavailable::call("O_NONBLOCK", error))?;
    }
    Ok((sender, receiver))
}

/// Opens an endpoint. A socket below has the buffers of transport `udp`.
fn endpoint<P: Provider>(options: &EndpointOptions) -> Result<Endpoint, XtiError> {
    let endpoint = options.open(P::DRIVER)?;
    if P::IS_OVER_SOCKETS && P::INFO.keeps_boundaries {
        let bytes = (BUFFER_BYTES as u32).to_ne_bytes();
        let buffers = [XTI_SNDBUF, XTI_RCVBUF].into_iter();
        let list = buffers.fold(OptionList::default(), |list, name| list.with(XTI_GENERIC, name, &bytes));
        endpoint.manage_options(&list, ManagementFlags::NEGOTIATE)?;
    }
    Ok(endpoint)
}

/// What an endpoint is bound to.
fn binding<P: Provider>() -> Binding {
    if P::HAS_PORTS {
        Binding::to(InternetAddress::from(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).bytes())
    } else {
        Binding::any()
    }
}

/// The error of a call as the kernel reports such errors.
#[cold]
fn error_of(error: XtiError) -> io::Error {
    match (error.t_errno, error.errno) {
        (TransportError::Flow | TransportError::NoData, _) => io::ErrorKind::WouldBlock.into(),
        (_, Some(errno)) => io::Error::from_raw_os_error(errno.number()),
        _ => io::Error::other(error),
    }
}
