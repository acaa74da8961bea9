//! The orderly release of connections, and disconnections.

use headwater_xti::{Look, SendFlags, State, TransportError as E};

use super::{connected, directory, event, fails};

#[test]
fn release_arrives_after_the_data() {
    let place = directory();
    let (near, far, _listener) = connected(place.path(), "ticotsord");
    near.send(b"bye", SendFlags::default()).expect("sent");
    fails(near.receive_release(), E::NoRelease);
    fails(near.release(b"data"), E::BadData);
    near.release(&[]).expect("it releases");
    assert_eq!(near.state(), State::Releasing);
    fails(near.send(b"x", SendFlags::default()), E::OutOfState);
    fails(far.receive_release(), E::NoRelease);
    let mut data = [0; 8];
    assert_eq!(far.receive(&mut data).expect("it has come").len, 3);
    event(&far, Look::Release);
    fails(far.receive(&mut data), E::Look);
    assert_eq!(far.receive_release(), Ok(Vec::new()));
    assert_eq!(far.state(), State::Released);
    fails(far.receive(&mut data), E::OutOfState);
    // The other direction continues.
    far.send(b"and more", SendFlags::default()).expect("sent");
    assert_eq!(near.receive(&mut data).expect("it has come").len, 8);
    far.release(&[]).expect("it releases");
    assert_eq!(far.state(), State::Idle);
    event(&near, Look::Release);
    near.receive_release().expect("it is there");
    assert_eq!(near.state(), State::Idle);
    assert_eq!(near.addresses().expect("known").remote, b"");
}

#[test]
fn disconnection_overtakes_a_release() {
    let place = directory();
    let (near, far, _listener) = connected(place.path(), "ticotsord");
    far.disconnect(&[]).expect("it disconnects");
    event(&near, Look::Disconnect);
    fails(near.receive_release(), E::Look);
    fails(near.release(&[]), E::Look);
    near.receive_disconnect().expect("it is there");
    assert_eq!((near.state(), far.state()), (State::Idle, State::Idle));
    fails(near.receive_disconnect(), E::OutOfState);
}

#[test]
fn disconnection_drops_unreceived_data() {
    let place = directory();
    let (near, far, _listener) = connected(place.path(), "ticotsord");
    far.send(b"unread", SendFlags::default()).expect("sent");
    near.disconnect(&[]).expect("it disconnects");
    assert_eq!((near.look(), near.state()), (Ok(None), State::Idle));
    // The other end has ended too but does not know it yet, so its own release succeeds.
    far.send(b"lost", SendFlags::default()).expect_err("the end is an event");
    event(&far, Look::Disconnect);
}
