//! Connections of `ticots` and `ticotsord` in one process.

use headwater_streams::tpi::{Primitive, PrimitiveNumber, State, TransportError};
use headwater_streams::{Kind, Priority};

use super::{
    PATIENCE, accept, acceptor, ask, ask_with, asked, bound, call, connected, is, next, open, refused, state, told,
};
use crate::common::{in_own_process, private_directory, within};

const RESET: Primitive<'static> = Primitive::DisconInd { reason: 104, sequence: Primitive::NO_SEQUENCE };
const REFUSED: Primitive<'static> = Primitive::DisconInd { reason: 111, sequence: Primitive::NO_SEQUENCE };

#[test]
fn data_goes_both_ways_and_a_disconnect_ends_the_connection() {
    in_own_process!();
    within(PATIENCE, "a connection".to_owned());
    let directory = private_directory();
    for driver in ["ticots", "ticotsord"] {
        let (caller, called) = connected(directory.path(), driver);
        assert_eq!([state(&caller), state(&called)], [State::Connected; 2]);
        ask(&called, Primitive::AddrReq);
        told(&called, Primitive::AddrAck { local: b"called", remote: b"caller" });
        for (from, to) in [(&caller, &called), (&called, &caller)] {
            ask_with(from, Primitive::DataReq { more: true }, Some(b"hello"));
            let message = next(to);
            is(&message, Primitive::DataInd { more: true });
            assert_eq!(message.data(), Some(&b"hello"[..]));
            from.write(b"plain").expect("room");
            let message = next(to);
            assert_eq!((message.header.kind, message.data()), (Kind::Data, Some(&b"plain"[..])));
        }
        ask(&caller, Primitive::DisconReq { sequence: Primitive::NO_SEQUENCE });
        told(&caller, Primitive::OkAck { of: PrimitiveNumber::DisconReq });
        told(&called, RESET);
        assert_eq!([state(&caller), state(&called)], [State::Idle; 2]);
        // What is sent now is discarded.
        ask_with(&called, Primitive::DataReq { more: false }, Some(b"late"));
        assert_eq!(state(&called), State::Idle);
    }
}

#[test]
fn expedited_data_overtake_what_waits() {
    in_own_process!();
    within(PATIENCE, "expedited data".to_owned());
    let directory = private_directory();
    let (caller, called) = connected(directory.path(), "ticots");
    ask_with(&caller, Primitive::DataReq { more: false }, Some(b"slow"));
    ask_with(&caller, Primitive::ExdataReq { more: false }, Some(b"fast"));
    let first = next(&called);
    is(&first, Primitive::ExdataInd { more: false });
    assert_eq!((first.data(), first.priority()), (Some(&b"fast"[..]), Priority::Band(1)));
    assert_eq!(next(&called).data(), Some(&b"slow"[..]));
}

#[test]
fn an_orderly_release_lets_both_directions_end_behind_their_data() {
    in_own_process!();
    within(PATIENCE, "an orderly release".to_owned());
    let directory = private_directory();
    let (caller, called) = connected(directory.path(), "ticotsord");
    ask_with(&caller, Primitive::DataReq { more: false }, Some(b"last"));
    ask(&caller, Primitive::OrdrelReq);
    assert_eq!(state(&caller), State::AwaitRelease);
    assert_eq!(next(&called).data(), Some(&b"last"[..]));
    told(&called, Primitive::OrdrelInd);
    assert_eq!(state(&called), State::Releasing);
    ask_with(&called, Primitive::DataReq { more: false }, Some(b"answer"));
    ask(&called, Primitive::OrdrelReq);
    assert_eq!(next(&caller).data(), Some(&b"answer"[..]));
    told(&caller, Primitive::OrdrelInd);
    assert_eq!([state(&caller), state(&called)], [State::Idle; 2]);
    // Both can connect again.
    let listener = bound(directory.path(), "ticotsord", b"another", 1);
    call(&called, b"another");
    accept(&listener, &caller);
    told(&called, Primitive::ConnCon { responder: b"another", options: b"" });
    assert_eq!([state(&caller), state(&called)], [State::Connected; 2]);
}

#[test]
fn connections_wait_up_to_the_length_that_was_asked_for() {
    in_own_process!();
    within(PATIENCE, "connections that wait".to_owned());
    let directory = private_directory();
    let listener = bound(directory.path(), "ticots", b"listener", 2);
    let callers = [b"a", b"b", b"c"].map(|address| bound(directory.path(), "ticots", address, 0));
    for caller in &callers {
        call(caller, b"listener");
    }
    told(&callers[2], REFUSED);
    let (first, second) = (asked(&listener), asked(&listener));
    assert_eq!((&first.1[..], &second.1[..]), (&b"a"[..], &b"b"[..]));
    assert_eq!(state(&listener), State::AwaitResponse);
    // Out of turn: the second is refused, the first is accepted by the listener itself.
    ask(&listener, Primitive::DisconReq { sequence: 77 });
    refused(&listener, PrimitiveNumber::DisconReq, TransportError::BadSequence);
    let own = acceptor(&listener);
    ask(&listener, Primitive::ConnRes { acceptor: own, options: b"", sequence: first.0 });
    refused(&listener, PrimitiveNumber::ConnRes, TransportError::IndicationsWait);
    ask(&listener, Primitive::DisconReq { sequence: second.0 });
    told(&listener, Primitive::OkAck { of: PrimitiveNumber::DisconReq });
    told(&callers[1], REFUSED);
    ask(&listener, Primitive::ConnRes { acceptor: own, options: b"", sequence: first.0 });
    told(&listener, Primitive::OkAck { of: PrimitiveNumber::ConnRes });
    told(&callers[0], Primitive::ConnCon { responder: b"listener", options: b"" });
    assert_eq!(
        [state(&listener), state(&callers[0]), state(&callers[1])],
        [State::Connected, State::Connected, State::Idle]
    );
    drop(listener);
    told(&callers[0], RESET);
}

#[test]
fn a_caller_that_withdraws_or_ends_is_told_to_the_listener() {
    in_own_process!();
    within(PATIENCE, "connections that are withdrawn".to_owned());
    let directory = private_directory();
    let listener = bound(directory.path(), "ticots", b"listener", 5);
    let (one, two) = (bound(directory.path(), "ticots", b"1", 0), bound(directory.path(), "ticots", b"2", 0));
    call(&one, b"listener");
    call(&two, b"listener");
    let [first, second] = [asked(&listener).0, asked(&listener).0];
    ask(&two, Primitive::DisconReq { sequence: Primitive::NO_SEQUENCE });
    told(&two, Primitive::OkAck { of: PrimitiveNumber::DisconReq });
    told(&listener, Primitive::DisconInd { reason: 103, sequence: second });
    drop(one);
    told(&listener, Primitive::DisconInd { reason: 103, sequence: first });
    assert_eq!([state(&listener), state(&two)], [State::Idle; 2]);
    // A listener that ends.
    call(&two, b"listener");
    drop(listener);
    told(&two, REFUSED);
    // No listener there, and an endpoint that does not listen.
    call(&two, b"listener");
    told(&two, REFUSED);
    let idle = bound(directory.path(), "ticots", b"idle", 0);
    call(&two, b"idle");
    told(&two, REFUSED);
    call(&two, b"2");
    told(&two, REFUSED);
    assert_eq!([state(&idle), state(&two)], [State::Idle; 2]);
}

#[test]
fn only_a_suitable_endpoint_accepts() {
    in_own_process!();
    within(PATIENCE, "endpoints that cannot accept".to_owned());
    let directory = private_directory();
    let listener = bound(directory.path(), "ticots", b"listener", 5);
    let caller = bound(directory.path(), "ticots", b"caller", 0);
    let other = bound(directory.path(), "ticots", b"other", 1);
    let unbound = open(directory.path(), "ticots");
    call(&caller, b"listener");
    let (sequence, _) = asked(&listener);
    let response = |acceptor, sequence| {
        ask(&listener, Primitive::ConnRes { acceptor, options: b"", sequence });
    };
    for (acceptor, sequence, error) in [
        (acceptor(&unbound), sequence + 1, TransportError::BadSequence),
        (0, sequence, TransportError::BadFile),
        (u32::MAX, sequence, TransportError::BadFile),
        (900, sequence, TransportError::BadFile),
        (acceptor(&other), sequence, TransportError::AcceptorListens),
        (acceptor(&caller), sequence, TransportError::OutOfState),
    ] {
        response(acceptor, sequence);
        refused(&listener, PrimitiveNumber::ConnRes, error);
    }
    response(acceptor(&unbound), sequence);
    told(&listener, Primitive::OkAck { of: PrimitiveNumber::ConnRes });
    told(&caller, Primitive::ConnCon { responder: b"listener", options: b"" });
    assert_eq!([state(&listener), state(&unbound)], [State::Idle, State::Connected]);
}
