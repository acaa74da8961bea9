//! All providers of transports: each primitive in each state, and what is none. Whatever a user sends is answered, or ends the stream by
//! M_ERROR; nothing hangs, and no process ends.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/endpoints.rs"]
mod endpoints;
mod malformed;
mod states;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use endpoints::{acceptor, ask, asked, next, state, told};
use headwater_streams::tpi::{InternetAddress, Primitive, PrimitiveNumber, Service};
use headwater_streams::{Device, DeviceOptions, Stream};

const PATIENCE: Duration = Duration::from_secs(60);

/// A provider, and its service.
const PROVIDERS: &[(&str, Service)] = &[
    ("inet-udp", Service::Datagrams),
    ("inet-tcp", Service::OrderlyConnections),
    ("inet-rawip", Service::Datagrams),
    ("udp", Service::Datagrams),
    ("ticlts", Service::Datagrams),
    ("ticots", Service::Connections),
    ("ticotsord", Service::OrderlyConnections),
];

/// A provider whose endpoints are found in a directory.
#[derive(Debug, Clone, Copy)]
struct Provider<'d> {
    name: &'static str,
    service: Service,
    directory: &'d Path,
}

impl Provider<'_> {
    fn open(self) -> Stream {
        let opened = if self.name.starts_with("inet") {
            Device::open_private(self.name)
        } else {
            DeviceOptions::new().directory(self.directory).open(self.name)
        };
        opened.expect("known")
    }

    /// Whether an endpoint can be bound here: raw sockets need a privilege.
    fn can_bind(self) -> bool {
        // SAFETY: no arguments.
        self.name != "inet-rawip" || unsafe { libc::geteuid() } == 0
    }

    /// An address for a bind. Of a raw protocol the port is the number of the IP protocol: one for experiments.
    fn wanted(self) -> Vec<u8> {
        let port = if self.name == "inet-rawip" { 253 } else { 0 };
        let address = InternetAddress::from(SocketAddr::from(([127, 0, 0, 1], port)));
        if self.name.starts_with("tic") { Vec::new() } else { address.bytes().to_vec() }
    }

    /// An endpoint that has an address, and the address.
    fn bound(self, waiting: u32) -> (Stream, Vec<u8>) {
        let endpoint = self.open();
        ask(&endpoint, Primitive::BindReq { address: &self.wanted(), waiting });
        let answer = next(&endpoint);
        match Primitive::decode(answer.control().expect("an answer")) {
            Ok(Primitive::BindAck { address, .. }) => (endpoint, address.to_vec()),
            other => panic!("{other:?}"),
        }
    }

    /// Two that are connected, and the listener.
    fn connected(self) -> (Stream, Stream, Stream) {
        let ((listener, address), (caller, _), called) = (self.bound(1), self.bound(0), self.open());
        ask(&caller, Primitive::ConnReq { destination: &address, options: b"" });
        told(&caller, Primitive::OkAck { of: PrimitiveNumber::ConnReq });
        let (sequence, _) = asked(&listener);
        ask(&listener, Primitive::ConnRes { acceptor: acceptor(&called), options: b"", sequence });
        told(&listener, Primitive::OkAck { of: PrimitiveNumber::ConnRes });
        next(&caller);
        (caller, called, listener)
    }
}

fn each_provider(test: impl Fn(Provider<'_>)) {
    let directory = common::private_directory();
    for (name, service) in PROVIDERS.iter().copied() {
        test(Provider { name, service, directory: directory.path() });
    }
}
