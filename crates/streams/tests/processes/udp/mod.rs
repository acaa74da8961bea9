//! The driver `udp`: endpoints of the library among each other, and with plain sockets.

mod directories;
mod endpoints;
mod namespaces;
mod options;
mod processes;
mod sockets;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use headwater_streams::tpi::{InternetAddress, Primitive, PrimitiveNumber, TransportError};
use headwater_streams::{DeviceOptions, Events, Stream};

const PATIENCE: Duration = Duration::from_secs(30);
/// Error numbers of T_UDERROR_IND: EMSGSIZE, EAFNOSUPPORT, ECONNREFUSED.
const TOO_LONG: u32 = 90;
const OTHER_FAMILY: u32 = 97;
const REFUSED: u32 = 111;

fn open(directory: &Path) -> Stream {
    DeviceOptions::new().directory(directory).open("udp").expect("a free number")
}

fn ask(endpoint: &Stream, request: Primitive<'_>) {
    endpoint.putmsg(Some(&request.encode()), None).expect("sent");
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// The answer to a bind.
fn bind(endpoint: &Stream, to: SocketAddr) -> Result<SocketAddr, (TransportError, u32)> {
    ask(endpoint, Primitive::BindReq { address: InternetAddress::from(to).bytes(), waiting: 0 });
    let answer = endpoint.receive().expect("no error").expect("no end");
    match Primitive::decode(answer.control().expect("an answer")) {
        Ok(Primitive::BindAck { address, waiting: 0 }) => Ok(InternetAddress::decode(address).expect("an address")),
        Ok(Primitive::ErrorAck { of: PrimitiveNumber::BindReq, error, errno }) => Err((error, errno)),
        other => panic!("{other:?}"),
    }
}

/// An endpoint with an address.
fn bound(directory: &Path, to: &str) -> (Stream, SocketAddr) {
    let endpoint = open(directory);
    let has = bind(&endpoint, address(to)).expect("it is free");
    (endpoint, has)
}

fn send(from: &Stream, to: SocketAddr, data: &[u8]) {
    from.send_to(InternetAddress::from(to).bytes(), &[], data).expect("sent");
}

/// The next datagram, and its source.
fn received(endpoint: &Stream) -> (Vec<u8>, SocketAddr) {
    let (mut source, mut data) = ([0; 28], vec![0; 65536]);
    let received = endpoint.recv_from(&mut source, &mut [], &mut data).expect("no error").expect("no end");
    assert_eq!((received.options, received.more), (0, false));
    data.truncate(received.data);
    (data, InternetAddress::decode(&source[..received.address]).expect("an address"))
}

fn is_empty(endpoint: &Stream) -> bool {
    endpoint.poll(Events::IN, Some(Duration::from_millis(50))).expect("poll").is_empty()
}

/// The next message is the report that a datagram to that address was not delivered. Returns its error.
fn reported(endpoint: &Stream, to: SocketAddr) -> u32 {
    let message = endpoint.receive().expect("no error").expect("no end");
    match Primitive::decode(message.control().expect("a primitive")) {
        Ok(Primitive::UderrorInd { destination, error, .. }) => {
            assert_eq!(InternetAddress::decode(destination), Some(to));
            error
        }
        other => panic!("{other:?}"),
    }
}
