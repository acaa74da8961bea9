//! A transport's user in tests: requests, and what is expected of the provider.

#![allow(dead_code, reason = "each test program uses its part")]

use headwater_streams::tpi::{Capabilities, Primitive, PrimitiveNumber, State, TransportError};
use headwater_streams::{Message, Stream};

pub fn ask(endpoint: &Stream, request: Primitive<'_>) {
    ask_with(endpoint, request, None);
}

pub fn ask_with(endpoint: &Stream, request: Primitive<'_>, data: Option<&[u8]>) {
    endpoint.putmsg(Some(&request.encode()), data).expect("sent");
}

/// The next message.
pub fn next(endpoint: &Stream) -> Message<'static> {
    endpoint.receive().expect("no error").expect("no end")
}

pub fn is(message: &Message<'_>, expected: Primitive<'_>) {
    assert_eq!(Primitive::decode(message.control().expect("a primitive")), Ok(expected));
}

/// The next message is that primitive, without data.
pub fn told(endpoint: &Stream, expected: Primitive<'_>) {
    let message = next(endpoint);
    is(&message, expected);
    assert_eq!(message.data(), None);
}

pub fn refused(endpoint: &Stream, of: PrimitiveNumber, error: TransportError) {
    told(endpoint, Primitive::ErrorAck { of, error, errno: 0 });
}

pub fn state(endpoint: &Stream) -> State {
    ask(endpoint, Primitive::InfoReq);
    let message = next(endpoint);
    match Primitive::decode(message.control().expect("an answer")) {
        Ok(Primitive::InfoAck(info)) => info.state,
        other => panic!("{other:?}"),
    }
}

/// The number by which an endpoint accepts connections.
pub fn acceptor(endpoint: &Stream) -> u32 {
    let wanted = Capabilities { info: true, acceptor: true };
    ask(endpoint, Primitive::CapabilityReq { wanted });
    let message = next(endpoint);
    match Primitive::decode(message.control().expect("an answer")) {
        Ok(Primitive::CapabilityAck { given, acceptor, .. }) if given == wanted => acceptor,
        other => panic!("{other:?}"),
    }
}

/// The sequence number of the connection that is asked for next, and who asks.
pub fn asked(listener: &Stream) -> (u32, Vec<u8>) {
    let message = next(listener);
    match Primitive::decode(message.control().expect("an indication")) {
        Ok(Primitive::ConnInd { source, sequence, .. }) => (sequence, source.to_vec()),
        other => panic!("{other:?}"),
    }
}
