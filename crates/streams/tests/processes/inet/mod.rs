//! The transports over the kernel's sockets, `inet-udp`, `inet-tcp` and `inet-rawip`: against plain sockets, each other, and what is wrong.

mod connections;
mod datagrams;
mod lingering;
mod listeners;
mod options;
mod processes;
mod tasks;

use std::net::SocketAddr;
use std::time::Duration;

use crate::endpoints::{acceptor, ask, ask_with, asked, is, next, refused, state, told};
use headwater_streams::tpi::{InternetAddress, Primitive, PrimitiveNumber};
use headwater_streams::{Device, Stream};

const PATIENCE: Duration = Duration::from_secs(60);

fn open(driver: &str) -> Stream {
    Device::open_private(driver).expect("known")
}

/// An endpoint that has an address, and the address with its port.
fn bound_to(driver: &str, address: &str, waiting: u32) -> (Stream, SocketAddr) {
    let endpoint = open(driver);
    let address = InternetAddress::from(address.parse::<SocketAddr>().expect("an address"));
    ask(&endpoint, Primitive::BindReq { address: address.bytes(), waiting });
    let address = bind_answer(&endpoint, waiting);
    (endpoint, address)
}

fn bind_answer(endpoint: &Stream, waiting: u32) -> SocketAddr {
    let message = next(endpoint);
    match Primitive::decode(message.control().expect("an answer")) {
        Ok(Primitive::BindAck { address, waiting: granted }) if granted == waiting => {
            InternetAddress::decode(address).expect("one of the internet")
        }
        other => panic!("{other:?}"),
    }
}

/// Asks for a connection.
fn call(endpoint: &Stream, to: SocketAddr) {
    ask(endpoint, Primitive::ConnReq { destination: InternetAddress::from(to).bytes(), options: b"" });
    told(endpoint, Primitive::OkAck { of: PrimitiveNumber::ConnReq });
}

/// An endpoint with a connection to `to`.
fn connected_to(to: SocketAddr) -> Stream {
    let (endpoint, _) = bound_to("inet-tcp", if to.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" }, 0);
    call(&endpoint, to);
    told(&endpoint, Primitive::ConnCon { responder: InternetAddress::from(to).bytes(), options: b"" });
    endpoint
}

/// A T_DISCON_IND without a sequence number comes next; its reason.
fn disconnected(endpoint: &Stream) -> u32 {
    let message = next(endpoint);
    match Primitive::decode(message.control().expect("an indication")) {
        Ok(Primitive::DisconInd { reason, sequence: Primitive::NO_SEQUENCE }) => reason,
        other => panic!("{other:?}"),
    }
}
