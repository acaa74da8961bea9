//! Connections: requesting, accepting and refusing them, and their data.

use std::io::{IoSlice, IoSliceMut};

use headwater_xti::{Binding, Call, Endpoint, Look, SendFlags, State, TransportError as E};

use super::{bound, connected, directory, event, fails, open};

#[test]
fn listener_accepts_a_connection_itself() {
    let place = directory();
    let listener = bound(place.path(), "ticots", b"listener", 2);
    let caller = bound(place.path(), "ticots", b"caller", 0);
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| caller.connect(&Call::to(b"listener")));
        let incoming = listener.listen().expect("a caller");
        assert_eq!((&incoming.call.address[..], listener.state()), (&b"caller"[..], State::Listening));
        listener.accept(&listener, incoming.sequence, &Call::default()).expect("it accepts");
        assert_eq!(calling.join().unwrap().expect("accepted").address, b"listener");
    });
    assert_eq!((listener.state(), caller.state()), (State::Connected, State::Connected));
    let addresses = caller.addresses().expect("known");
    assert_eq!((&addresses.local[..], &addresses.remote[..]), (&b"caller"[..], &b"listener"[..]));
    listener.send(b"hello", SendFlags::default()).expect("sent");
    let mut data = [0; 8];
    assert_eq!(caller.receive(&mut data).expect("it has come").len, 5);
}

#[test]
fn two_callers_are_accepted_by_other_endpoints() {
    let place = directory();
    let listener = bound(place.path(), "ticotsord", b"listener", 2);
    let callers = [bound(place.path(), "ticotsord", b"1", 0), bound(place.path(), "ticotsord", b"2", 0)];
    for caller in &callers {
        caller.stream().set_nonblocking(true).expect("it can");
        fails(caller.connect(&Call::to(b"listener")), E::NoData);
        assert_eq!(caller.state(), State::Connecting);
        fails(caller.receive_connect(), E::NoData);
        fails(caller.connect(&Call::to(b"listener")), E::OutOfState);
    }
    let first = listener.listen().expect("a caller");
    let second = listener.listen().expect("another");
    fails(listener.listen(), E::QueueFull);
    fails(listener.accept(&listener, first.sequence, &Call::default()), E::IndicationsWait);
    let (one, two) = (open(place.path(), "ticotsord"), bound(place.path(), "ticotsord", b"two", 0));
    fails(listener.accept(&two, first.sequence.wrapping_add(100), &Call::default()), E::BadSequence);
    let other = bound(place.path(), "ticots", b"other", 0);
    fails(listener.accept(&other, first.sequence, &Call::default()), E::ProviderMismatch);
    let listens = bound(place.path(), "ticotsord", b"listens", 1);
    fails(listener.accept(&listens, first.sequence, &Call::default()), E::AcceptorListens);
    // An endpoint without an address may accept, too.
    listener.accept(&one, first.sequence, &Call::default()).expect("it accepts");
    assert_eq!((listener.state(), one.state()), (State::Listening, State::Connected));
    listener.accept(&two, second.sequence, &Call::default()).expect("it accepts");
    assert_eq!((listener.state(), two.state()), (State::Idle, State::Connected));
    for caller in &callers {
        event(caller, Look::Connect);
        caller.receive_connect().expect("accepted");
        assert_eq!(caller.state(), State::Connected);
        fails(caller.receive(&mut [0; 8]), E::NoData);
    }
}

#[test]
fn refused_caller_gets_a_disconnection() {
    let place = directory();
    let listener = bound(place.path(), "ticots", b"listener", 2);
    let caller = bound(place.path(), "ticots", b"caller", 0);
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| caller.connect(&Call::to(b"listener")));
        let incoming = listener.listen().expect("a caller");
        fails(listener.disconnect(&[]), E::BadSequence);
        fails(listener.refuse(incoming.sequence + 7, &[]), E::BadSequence);
        fails(listener.refuse(incoming.sequence, b"why"), E::BadData);
        listener.refuse(incoming.sequence, &[]).expect("it refuses");
        assert_eq!(listener.state(), State::Idle);
        fails(calling.join().unwrap(), E::Look);
    });
    assert_eq!((caller.look(), caller.state()), (Ok(Some(Look::Disconnect)), State::Connecting));
    fails(caller.receive_connect(), E::Look);
    let disconnect = caller.receive_disconnect().expect("it is there");
    assert_eq!((disconnect.reason, disconnect.sequence), (111, None));
    assert_eq!(caller.state(), State::Idle);
    // The result is the same if no endpoint has the address.
    fails(caller.connect(&Call::to(b"nobody")), E::Look);
    assert_eq!(caller.receive_disconnect().expect("it is there").reason, 111);
    fails(caller.connect(&Call::to(&[1; 200])), E::BadAddress);
    assert_eq!(caller.state(), State::Idle);
}

#[test]
fn listener_sees_a_caller_give_up() {
    let place = directory();
    let listener = bound(place.path(), "ticots", b"listener", 2);
    let callers: Vec<Endpoint> = [b"1", b"2"].map(|name| bound(place.path(), "ticots", name, 0)).into();
    for caller in &callers {
        caller.stream().set_nonblocking(true).expect("it can");
        fails(caller.connect(&Call::to(b"listener")), E::NoData);
    }
    let first = listener.listen().expect("a caller");
    let second = listener.listen().expect("another");
    callers[0].disconnect(&[]).expect("it gives up");
    assert_eq!(callers[0].state(), State::Idle);
    event(&listener, Look::Disconnect);
    fails(listener.listen(), E::QueueFull);
    fails(listener.accept(&bound(place.path(), "ticots", b"x", 0), first.sequence, &Call::default()), E::Look);
    assert_eq!(listener.receive_disconnect().expect("it is there").sequence, Some(first.sequence));
    assert_eq!(listener.state(), State::Listening);
    drop(callers);
    event(&listener, Look::Disconnect);
    assert_eq!(listener.receive_disconnect().expect("it is there").sequence, Some(second.sequence));
    assert_eq!(listener.state(), State::Idle);
    fails(listener.receive_disconnect(), E::OutOfState);
}

#[test]
fn expedited_data_overtakes_and_boundaries_stay() {
    let place = directory();
    let (near, far, _listener) = connected(place.path(), "ticots");
    near.send(b"first", SendFlags::default()).expect("sent");
    near.send(b"second ", SendFlags::MORE).expect("sent");
    near.send(b"part", SendFlags::default()).expect("sent");
    near.send(b"now", SendFlags::EXPEDITED).expect("sent");
    assert_eq!(far.look(), Ok(Some(Look::ExpeditedData)));
    let mut data = [0; 64];
    let mut next = |room: usize| {
        let got = far.receive(&mut data[..room]).expect("it has come");
        (String::from_utf8_lossy(&data[..got.len]).into_owned(), got.more, got.expedited)
    };
    assert_eq!(next(2), ("no".into(), true, true));
    assert_eq!(next(9), ("w".into(), false, true));
    assert_eq!(next(3), ("fir".into(), true, false));
    near.send(b"!", SendFlags::EXPEDITED).expect("sent");
    assert_eq!(next(9), ("!".into(), false, true));
    assert_eq!(next(9), ("st".into(), false, false));
    assert_eq!(next(3), ("sec".into(), true, false));
    assert_eq!(next(9), ("ond ".into(), true, false));
    assert_eq!(next(9), ("part".into(), false, false));
    near.send(b"", SendFlags::default()).expect("an empty message is sent");
    assert_eq!(next(9), (String::new(), false, false));
}

#[test]
fn long_message_is_split_and_joined() {
    let place = directory();
    let (near, far, _listener) = connected(place.path(), "ticots");
    let sent: Vec<u8> = (0..300_000u32).map(|at| (at % 251) as u8).collect();
    let (received, pieces) = std::thread::scope(|scope| {
        let sending = scope.spawn(|| near.send(&sent, SendFlags::default()).expect("sent"));
        let (mut received, mut pieces) = (Vec::new(), 0);
        loop {
            let mut room = vec![0; 70_000];
            let got = far.receive(&mut room).expect("it has come");
            received.extend_from_slice(&room[..got.len]);
            pieces += 1;
            if !got.more {
                assert_eq!(sending.join().unwrap(), sent.len());
                break (received, pieces);
            }
        }
    });
    assert!(pieces > 1 && received == sent, "{pieces} pieces, {} bytes", received.len());
}

#[test]
fn pieces_are_gathered_and_scattered() {
    let place = directory();
    let (near, far, _listener) = connected(place.path(), "ticotsord");
    let pieces = [&b"ab"[..], b"", b"cdef"].map(IoSlice::new);
    assert_eq!(near.send_vectored(&pieces, SendFlags::default()), Ok(6));
    let (mut one, mut two) = ([0; 3], [0; 2]);
    let got = far.receive_vectored(&mut [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)]).expect("it has come");
    assert_eq!((got.len, got.more, &one, &two), (5, true, b"abc", b"de"));
    let got = far.receive_vectored(&mut [IoSliceMut::new(&mut one)]).expect("it has come");
    assert_eq!((got.len, got.more, one[0]), (1, false, b'f'));
    let many = [IoSlice::new(b"x"); 17];
    fails(near.send_vectored(&many, SendFlags::default()), E::BadData);
}

#[test]
fn flow_error_is_followed_by_an_event() {
    let place = directory();
    let (near, far, _listener) = connected(place.path(), "ticots");
    near.stream().set_nonblocking(true).expect("it can");
    let mut sent = 0;
    let error = loop {
        match near.send(&[7; 4096], SendFlags::default()) {
            Ok(len) => sent += len,
            Err(error) => break error,
        }
        assert!(sent < 1 << 30);
    };
    assert_eq!((error.t_errno, near.look()), (E::Flow, Ok(None)));
    let mut room = vec![0; 1 << 16];
    let mut received = 0;
    while received < sent {
        received += far.receive(&mut room).expect("it has come").len;
    }
    event(&near, Look::RoomForData);
    assert_eq!(near.look(), Ok(None));
    near.send(b"more", SendFlags::default()).expect("there is room");
}

#[test]
fn death_of_the_peer_is_a_disconnection_after_its_data() {
    let place = directory();
    let (near, far, _listener) = connected(place.path(), "ticots");
    far.send(b"last words", SendFlags::default()).expect("sent");
    drop(far);
    let mut data = [0; 64];
    assert_eq!(near.receive(&mut data).expect("it has come").len, 10);
    fails(near.receive(&mut data), E::Look);
    assert_eq!(near.look(), Ok(Some(Look::Disconnect)));
    fails(near.send(b"x", SendFlags::default()), E::Look);
    fails(near.disconnect(&[]), E::Look);
    assert_eq!(near.receive_disconnect().expect("it is there").reason, 104);
    assert_eq!(near.state(), State::Idle);
    fails(near.send(b"x", SendFlags::default()), E::OutOfState);
    near.unbind().expect("it is idle");
    assert_eq!(near.state(), State::Unbound);
}

#[test]
fn one_thread_receives_while_another_sends() {
    const MESSAGES: u32 = 2000;
    let place = directory();
    let (near, far, _listener) = connected(place.path(), "ticots");
    std::thread::scope(|scope| {
        for (from, to) in [(&near, &far), (&far, &near)] {
            scope.spawn(move || {
                for at in 0..MESSAGES {
                    assert_eq!(from.send(&at.to_ne_bytes(), SendFlags::default()), Ok(4));
                }
            });
            scope.spawn(move || {
                for at in 0..MESSAGES {
                    let mut data = [0; 4];
                    to.receive(&mut data).expect("it has come");
                    assert_eq!(u32::from_ne_bytes(data), at);
                }
            });
        }
    });
}

#[test]
fn receiving_thread_passes_on_the_acknowledgement() {
    for _ in 0..50 {
        let place = directory();
        let (near, _far, _listener) = connected(place.path(), "ticots");
        std::thread::scope(|scope| {
            let receiving = scope.spawn(|| near.receive(&mut [0; 8]));
            near.disconnect(&[]).expect("it disconnects");
            // The receiver is woken by messages of the next connection, or, as here, by the end of its endpoint.
            near.stream().clone().close().expect("it closes");
            receiving.join().unwrap().expect_err("nothing has come");
        });
    }
}

#[test]
fn datagram_calls_are_not_supported_on_connections() {
    let place = directory();
    let (near, _far, listener) = connected(place.path(), "ticots");
    fails(near.send_to(b"x", &[], b"x"), E::NotSupported);
    fails(near.receive_from(&mut [], &mut [], &mut [0]), E::NotSupported);
    fails(near.receive_error(), E::NotSupported);
    fails(near.release(&[]), E::NotSupported);
    fails(near.receive_release(), E::NotSupported);
    fails(near.bind(&Binding::any()), E::OutOfState);
    fails(near.listen(), E::OutOfState);
    let silent = bound(place.path(), "ticots", b"silent", 0);
    fails(silent.listen(), E::BadQueueLength);
    fails(listener.receive(&mut [0]), E::OutOfState);
}
