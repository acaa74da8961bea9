//! The loop-back transports `ticlts`, `ticots` and `ticotsord`: in one process, in several, and after kills.

#[path = "../common/mod.rs"]
mod common;
mod connections;
mod datagrams;
mod modules;
mod processes;
mod requests;

use std::path::Path;
use std::time::Duration;

use headwater_streams::tpi::{Primitive, PrimitiveNumber, State, TransportError};
use headwater_streams::{DeviceOptions, Message, Stream};

const PATIENCE: Duration = Duration::from_secs(30);

fn open(directory: &Path, driver: &str) -> Stream {
    DeviceOptions::new().directory(directory).open(driver).expect("a free number")
}

fn ask(endpoint: &Stream, request: Primitive<'_>) {
    ask_with(endpoint, request, None);
}

fn ask_with(endpoint: &Stream, request: Primitive<'_>, data: Option<&[u8]>) {
    endpoint.putmsg(Some(&request.encode()), data).expect("sent");
}

/// The next message.
fn next(endpoint: &Stream) -> Message<'static> {
    endpoint.receive().expect("no error").expect("no end")
}

fn is(message: &Message<'_>, expected: Primitive<'_>) {
    assert_eq!(Primitive::decode(message.control().expect("a primitive")), Ok(expected));
}

/// The next message is that primitive, without data.
fn told(endpoint: &Stream, expected: Primitive<'_>) {
    let message = next(endpoint);
    is(&message, expected);
    assert_eq!(message.data(), None);
}

fn refused(endpoint: &Stream, of: PrimitiveNumber, error: TransportError) {
    told(endpoint, Primitive::ErrorAck { of, error, errno: 0 });
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

fn state(endpoint: &Stream) -> State {
    ask(endpoint, Primitive::InfoReq);
    let message = next(endpoint);
    match Primitive::decode(message.control().expect("an answer")) {
        Ok(Primitive::InfoAck(info)) => info.state,
        other => panic!("{other:?}"),
    }
}

/// The number by which an endpoint accepts connections.
fn acceptor(endpoint: &Stream) -> u32 {
    let wanted = headwater_streams::tpi::Capabilities { info: true, acceptor: true };
    ask(endpoint, Primitive::CapabilityReq { wanted });
    let message = next(endpoint);
    match Primitive::decode(message.control().expect("an answer")) {
        Ok(Primitive::CapabilityAck { given, acceptor, .. }) if given == wanted => acceptor,
        other => panic!("{other:?}"),
    }
}

/// The sequence number of the connection that is asked for next, and who asks.
fn asked(listener: &Stream) -> (u32, Vec<u8>) {
    let message = next(listener);
    match Primitive::decode(message.control().expect("an indication")) {
        Ok(Primitive::ConnInd { source, sequence, .. }) => (sequence, source.to_vec()),
        other => panic!("{other:?}"),
    }
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
