//! Datagrams: sending them, receiving them in pieces, and their errors.

use std::io::{IoSlice, IoSliceMut};

use headwater_xti::{Look, State, TransportError as E};

use super::{bound, directory, event, fails, open};

#[test]
fn datagram_arrives_in_pieces() {
    let place = directory();
    let (sender, receiver) = (bound(place.path(), "ticlts", b"me", 0), bound(place.path(), "ticlts", b"you", 0));
    sender.send_to(b"you", &[], b"0123456789").expect("sent");
    sender.send_to(b"you", &[], b"").expect("an empty one");
    event(&receiver, Look::Data);
    let (mut address, mut data) = ([0; 8], [0; 4]);
    let got = receiver.receive_from(&mut address, &mut [0; 8], &mut data).expect("it has come");
    assert_eq!((got.address, got.options, got.data, got.more, &data), (2, 0, 4, true, b"0123"));
    let got = receiver.receive_from(&mut address, &mut [], &mut data).expect("it has come");
    assert_eq!((got.address, got.data, got.more, &data), (0, 4, true, b"4567"));
    let got = receiver.receive_from(&mut address, &mut [], &mut data).expect("it has come");
    assert_eq!((got.address, got.data, got.more), (0, 2, false));
    let got = receiver.receive_from(&mut address, &mut [], &mut data).expect("it has come");
    assert_eq!((got.address, got.data, got.more), (2, 0, false));
}

#[test]
fn short_address_buffer_discards_the_datagram() {
    let place = directory();
    let (sender, receiver) = (bound(place.path(), "ticlts", b"sender", 0), bound(place.path(), "ticlts", b"you", 0));
    sender.send_to(b"you", &[], b"lost").expect("sent");
    sender.send_to(b"you", &[], b"next").expect("sent");
    fails(receiver.receive_from(&mut [0; 5], &mut [], &mut [0; 2]), E::BufferOverflow);
    let mut data = [0; 8];
    let got = receiver.receive_from(&mut [], &mut [], &mut data).expect("the next");
    assert_eq!((got.address, &data[..got.data]), (0, &b"next"[..]));
}

#[test]
fn datagram_error_is_an_event() {
    let place = directory();
    let sender = bound(place.path(), "ticlts", b"me", 0);
    fails(sender.receive_error(), E::NoDatagramError);
    sender.send_to(b"nobody", &[], b"x").expect("it is sent, as far as is known");
    event(&sender, Look::DatagramError);
    fails(sender.receive_from(&mut [], &mut [], &mut [0]), E::Look);
    // The call before has received and kept the event.
    assert_eq!(sender.look(), Ok(Some(Look::DatagramError)));
    fails(sender.receive_from(&mut [], &mut [], &mut [0]), E::Look);
    let error = sender.receive_error().expect("it is there");
    assert_eq!((&error.address[..], error.error), (&b"nobody"[..], 111));
    fails(sender.receive_error(), E::NoDatagramError);
    assert_eq!(sender.look(), Ok(None));
}

#[test]
fn bad_arguments_are_refused() {
    let place = directory();
    let sender = bound(place.path(), "ticlts", b"me", 0);
    fails(sender.send_to(b"", &[], b"x"), E::BadAddress);
    fails(sender.send_to(&[1; 109], &[], b"x"), E::BadAddress);
    let longest = usize::try_from(sender.info().expect("known").tsdu).expect("a limit");
    fails(sender.send_to(b"me", &[], &vec![0; longest + 1]), E::BadData);
    sender.send_to(b"me", &[], &vec![0; longest]).expect("the longest");
    let unbound = open(place.path(), "ticlts");
    fails(unbound.send_to(b"me", &[], b"x"), E::OutOfState);
    fails(unbound.receive_from(&mut [], &mut [], &mut [0]), E::OutOfState);
    fails(sender.listen(), E::NotSupported);
    fails(sender.send(b"x", Default::default()), E::NotSupported);
    fails(sender.receive(&mut [0]), E::NotSupported);
    fails(sender.disconnect(&[]), E::NotSupported);
    fails(sender.receive_disconnect(), E::NotSupported);
}

#[test]
fn nonblocking_endpoint_does_not_wait() {
    let place = directory();
    let (sender, receiver) = (bound(place.path(), "ticlts", b"me", 0), bound(place.path(), "ticlts", b"you", 0));
    for endpoint in [&sender, &receiver] {
        endpoint.stream().set_nonblocking(true).expect("it can");
    }
    fails(receiver.receive_from(&mut [], &mut [], &mut [0]), E::NoData);
    let mut sent = 0;
    let error = loop {
        match sender.send_to(b"you", &[], &[1; 1000]) {
            Ok(()) => sent += 1,
            Err(error) => break error.t_errno,
        }
        assert!(sent < 1_000_000);
    };
    assert_eq!(error, E::Flow);
    let mut room = [0; 1000];
    for at in 0..sent {
        let got = receiver.receive_from(&mut [], &mut [], &mut room).unwrap_or_else(|error| panic!("{at}: {error}"));
        assert_eq!(got.data, 1000);
    }
    event(&sender, Look::RoomForData);
}

#[test]
fn pieces_are_gathered_and_scattered() {
    let place = directory();
    let endpoint = bound(place.path(), "ticlts", b"me", 0);
    endpoint.send_vectored_to(b"me", &[], &[&b"ab"[..], b"cde"].map(IoSlice::new)).expect("sent");
    let (mut one, mut two, mut address) = ([0; 1], [0; 9], [0; 4]);
    let mut buffers = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
    let got = endpoint.receive_vectored_from(&mut address, &mut [], &mut buffers).expect("it has come");
    assert_eq!((got.address, got.data, got.more), (2, 5, false));
    assert_eq!((&one, &two[..4]), (b"a", &b"bcde"[..]));
}

#[test]
fn unbind_fails_while_datagrams_wait() {
    let place = directory();
    let endpoint = bound(place.path(), "ticlts", b"me", 0);
    endpoint.send_to(b"me", &[], b"x").expect("sent");
    fails(endpoint.unbind(), E::Look);
    endpoint.receive_from(&mut [], &mut [], &mut [0]).expect("it has come");
    endpoint.unbind().expect("nothing waits");
    assert_eq!(endpoint.state(), State::Unbound);
    fails(endpoint.unbind(), E::OutOfState);
}
