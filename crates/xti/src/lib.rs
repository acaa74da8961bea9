//! XTI, the X/Open Transport Interface (XNS 5.2): endpoints of transports that are STREAMS drivers. An [`Endpoint`] uses the
//! Transport Provider Interface ([`headwater_streams::tpi`]) through its stream head, and never uses a socket.
//!
//! Two endpoints send each other datagrams:
//!
//! ```
//! use headwater_xti::{EndpointOptions, Binding};
//!
//! # let path = std::env::temp_dir().join(format!("headwater-xti-{}", std::process::id()));
//! let options = EndpointOptions::new().directory(&path);
//! let (sender, receiver) = (options.open("ticlts")?, options.open("ticlts")?);
//! sender.bind(&Binding::any())?;
//! receiver.bind(&Binding::to(b"printer"))?;
//! sender.send_to(b"printer", &[], b"page 1")?;
//!
//! let (mut address, mut data) = ([0; 108], [0; 100]);
//! let datagram = receiver.receive_from(&mut address, &mut [], &mut data)?;
//! assert_eq!(&data[..datagram.data], b"page 1");
//! assert_eq!(address[..datagram.address], sender.addresses()?.local);
//! # std::fs::remove_dir_all(path).ok();
//! # Ok::<(), headwater_xti::XtiError>(())
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `endpoint.rs` | opening, binding, the state, events, addresses, options |
//! | `state.rs` | the states and their table, as data |
//! | `connection.rs` | requesting and accepting connections |
//! | `release.rs` | the two ways to end a connection |
//! | `data.rs` | data of connections |
//! | `datagram.rs` | datagrams and their errors |
//! | `socket.rs` | the calls of sockets, over the module `sockmod` instead of XTI |
//! | `line.rs` | the messages between an endpoint of XTI and its provider: no other file of XTI sends or receives one |
//!
//! Any number of threads may use an endpoint at the same time, for instance one to receive and another to send. A waiting call ends
//! with [`TransportError::System`] and `EINTR` when a signal handler has run. Signal handlers must not make these calls.

#![deny(unsafe_code)]
#![deny(missing_docs, missing_debug_implementations)]
#![warn(clippy::missing_errors_doc)]

mod connection;
mod data;
mod datagram;
mod endpoint;
mod error;
mod line;
mod options;
mod release;
mod socket;
mod state;

pub use connection::{Call, Incoming};
pub use data::{ReceivedData, SendFlags};
pub use datagram::{Datagram, DatagramError};
pub use endpoint::{Addresses, Binding, Endpoint, EndpointOptions, Info, Look, VECTOR_MAX};
pub use error::{Result, XtiError};
pub use headwater_streams::tpi::{ManagementFlags, Service, TransportError};
pub use options::{ALL_OPTIONS, OptionList};
pub use release::Disconnect;
pub use socket::{Direction, Socket};
pub use state::{Event, State};

/// The examples of the page are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/xti.md")]
struct Page;
