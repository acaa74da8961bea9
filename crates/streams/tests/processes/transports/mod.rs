//! The loop-back transports `ticlts`, `ticots` and `ticotsord`: in one process, in several, and after kills.

mod connections;
mod datagrams;
mod left_files;
mod modules;
mod processes;
mod requests;
mod routes;

use std::path::Path;
use std::time::Duration;

use crate::endpoints::{acceptor, ask, ask_with, asked, is, next, refused, state, told};
use headwater_streams::tpi::{Primitive, PrimitiveNumber};
use headwater_streams::{DeviceOptions, Stream};

const PATIENCE: Duration = Duration::from_secs(30);

fn open(directory: &Path, driver: &str) -> Stream {
    DeviceOptions::new().directory(directory).open(driver).expect("a free number")
}

/// An endpoint with an address.
fn bound(directory: &Path, driver: &str, address: &[u8], waiting: u32) -> Stream {
    let endpoint = open(directory, driver);
    bind(&endpoint, address, waiting);
    endpoint
}

fn bind(endpoint: &Stream, address: &[u8], waiting: u32) {
    ask(endpoint, Primitive::BindReq { address, waiting });
    told(endpoint, Primitive::BindAck { address, waiting });
}

/// Asks for a connection.
fn call(endpoint: &Stream, destination: &[u8]) {
    ask(endpoint, Primitive::ConnReq { destination, options: b"" });
    told(endpoint, Primitive::OkAck { of: PrimitiveNumber::ConnReq });
}

/// Accepts the next connection on an endpoint of its own.
fn accept(listener: &Stream, on: &Stream) {
    let (sequence, _) = asked(listener);
    ask(listener, Primitive::ConnRes { acceptor: acceptor(on), options: b"", sequence });
    told(listener, Primitive::OkAck { of: PrimitiveNumber::ConnRes });
}

/// Two endpoints that are connected, the second through a listener.
fn connected(directory: &Path, driver: &str) -> (Stream, Stream) {
    let listener = bound(directory, driver, b"listener", 1);
    let (caller, called) = (bound(directory, driver, b"caller", 0), bound(directory, driver, b"called", 0));
    call(&caller, b"listener");
    accept(&listener, &called);
    told(&caller, Primitive::ConnCon { responder: b"listener", options: b"" });
    (caller, called)
}
