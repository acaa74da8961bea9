//! The Transport Provider Interface (TPI), revision 2: the messages between a transport's user and its provider, and the states of
//! an endpoint. Pure: no stream, no descriptor, no clock.
//!
//! The drivers of transports and the modules above them use it, and so does a library of transport calls (XTI). It is a part of this
//! crate and not one of its own, because drivers are.
//!
//! ```
//! use headwater_streams::tpi::{Primitive, State, Event};
//!
//! let request = Primitive::BindReq { address: b"printer", waiting: 1 };
//! let bytes = request.encode();
//! assert_eq!(Primitive::decode(&bytes), Ok(request));
//! assert_eq!(State::Unbound.after(Event::BindReq), Some(State::AwaitBindAck));
//! ```

mod codec;
mod error;
mod internet;
mod number;
mod options;
mod primitive;
mod state;

pub use codec::Malformed;
pub use error::TransportError;
pub use internet::InternetAddress;
pub use number::PrimitiveNumber;
pub use options::{
    ManagementFlags, OPTION_HEADER, OptionStatus, TransportOption, XTI_DEBUG, XTI_GENERIC, XTI_LINGER, XTI_RCVBUF,
    XTI_RCVLOWAT, XTI_SNDBUF, XTI_SNDLOWAT, options,
};
pub use primitive::{Capabilities, Primitive, ProviderInfo, Service};
pub use state::{Event, State};
