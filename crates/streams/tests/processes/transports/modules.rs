//! The modules over a transport: `timod` and `tirdwr`.

use headwater_streams::modules::timod;
use headwater_streams::tpi::{Capabilities, Primitive, PrimitiveNumber, State, TransportError};
use headwater_streams::{Errno, IoctlTimeout, ReadMode, ReadOptions, Stream};

use super::{PATIENCE, ask, ask_with, bound, connected, next, open, state, told};
use crate::common::{in_own_process, private_directory, within};

fn ioctl(endpoint: &Stream, command: u32, data: &[u8]) -> Result<(i32, Vec<u8>), Errno> {
    let mut data = data.to_vec();
    let value = endpoint.ioctl(command, &mut data, IoctlTimeout::Usual).map_err(|error| error.errno())?;
    Ok((value, data))
}

#[test]
fn timod_makes_ioctls_of_requests_and_their_answers() {
    in_own_process!();
    within(PATIENCE, "requests as ioctls".to_owned());
    let directory = private_directory();
    let endpoint = open(directory.path(), "ticots");
    endpoint.push("timod").expect("known");
    let bind = Primitive::BindReq { address: b"name", waiting: 2 }.encode();
    let bound_to = Primitive::BindAck { address: b"name", waiting: 2 }.encode();
    assert_eq!(ioctl(&endpoint, timod::BIND, &bind), Ok((0, bound_to)));
    // In the wrong state, and an address that is taken.
    let wrong = TransportError::OutOfState.number() as i32;
    assert_eq!(ioctl(&endpoint, timod::BIND, &bind), Ok((wrong, Vec::new())));
    let other = open(directory.path(), "ticots");
    other.push("timod").expect("known");
    let busy = TransportError::AddressBusy.number() as i32;
    assert_eq!(ioctl(&other, timod::BIND, &bind), Ok((busy, Vec::new())));
    let (value, info) = ioctl(&endpoint, timod::GETINFO, &Primitive::InfoReq.encode()).expect("answered");
    assert!(
        matches!(Primitive::decode(&info), Ok(Primitive::InfoAck(info)) if value == 0 && info.state == State::Idle)
    );
    let addresses = Primitive::AddrAck { local: b"name", remote: b"" }.encode();
    assert_eq!(ioctl(&endpoint, timod::GETADDRS, &Primitive::AddrReq.encode()), Ok((0, addresses)));
    let wanted = Capabilities { info: true, acceptor: true };
    let (_, given) =
        ioctl(&endpoint, timod::CAPABILITY, &Primitive::CapabilityReq { wanted }.encode()).expect("answered");
    assert!(matches!(Primitive::decode(&given), Ok(Primitive::CapabilityAck { .. })));
    // Data that are another request, or none, and an ioctl that is none of these.
    for (command, data) in
        [(timod::BIND, &Primitive::UnbindReq.encode()[..]), (timod::UNBIND, b"abc"), (timod::BIND, b""), (77, b"")]
    {
        assert_eq!(ioctl(&endpoint, command, data), Err(Errno::Inval), "{command:#x}");
    }
    let done = Primitive::OkAck { of: PrimitiveNumber::UnbindReq }.encode();
    assert_eq!(ioctl(&endpoint, timod::UNBIND, &Primitive::UnbindReq.encode()), Ok((0, done)));
    // Messages pass.
    assert_eq!(state(&endpoint), State::Unbound);
}

#[test]
fn tirdwr_makes_bytes_of_data_and_the_end_of_a_file_of_a_release() {
    in_own_process!();
    within(PATIENCE, "read and write over a connection".to_owned());
    let directory = private_directory();
    let (caller, called) = connected(directory.path(), "ticotsord");
    called.push("tirdwr").expect("known");
    ask_with(&caller, Primitive::DataReq { more: false }, Some(b"hello"));
    let mut text = [0; 16];
    assert_eq!((called.read(&mut text).expect("data"), &text[..5]), (5, &b"hello"[..]));
    called.write(b"answer").expect("room");
    assert_eq!(next(&caller).data(), Some(&b"answer"[..]));
    ask(&caller, Primitive::OrdrelReq);
    assert_eq!(called.read(&mut text).expect("the end"), 0);
    // The user may still write, and closes then.
    called.write(b"last").expect("room");
    drop(called);
    assert_eq!(next(&caller).data(), Some(&b"last"[..]));
    told(&caller, Primitive::OrdrelInd);
    assert_eq!(state(&caller), State::Idle);
}

#[test]
fn tirdwr_hangs_up_at_a_disconnect_and_fails_at_what_is_no_data() {
    in_own_process!();
    within(PATIENCE, "what read and write cannot show".to_owned());
    let directory = private_directory();
    let (caller, called) = connected(directory.path(), "ticots");
    called.push("tirdwr").expect("known");
    drop(caller);
    assert_eq!(called.read(&mut [0; 8]).expect("hung up"), 0);
    assert_eq!(called.write(b"x").expect_err("hung up").errno(), Errno::Nxio);
    let (caller, called) = (bound(directory.path(), "ticots", b"x", 0), called);
    drop((caller, called));
    let (caller, called) = connected(directory.path(), "ticots");
    called.push("tirdwr").expect("known");
    ask_with(&caller, Primitive::ExdataReq { more: false }, Some(b"urgent"));
    assert_eq!(called.read(&mut [0; 8]).expect_err("expedited").errno(), Errno::Proto);
    let (caller, called) = connected_again(directory.path(), (caller, called));
    caller.push("tirdwr").expect("known");
    caller.putmsg(Some(&Primitive::DataReq { more: false }.encode()), Some(b"x")).expect("sent");
    assert_eq!(caller.write(b"x").expect_err("a control part").errno(), Errno::Proto);
    drop(called);
}

#[test]
fn tirdwr_takes_what_came_before_it_as_if_it_had_come_through_it() {
    in_own_process!();
    within(PATIENCE, "data before the module".to_owned());
    let directory = private_directory();
    let data = |more| Primitive::DataReq { more };
    let mut text = [0; 16];
    let (caller, called) = connected(directory.path(), "ticotsord");
    for (more, piece) in [(true, &b"one "[..]), (false, b"two "), (false, b""), (false, b"three")] {
        ask_with(&caller, data(more), Some(piece));
    }
    assert_eq!(called.read(&mut text).expect_err("a control part").errno(), Errno::Badmsg);
    called.push("tirdwr").expect("known");
    // Changed options leave the module what it is.
    called.settings().set_read_options(ReadOptions::new().mode(ReadMode::MessageKeep)).expect("an endpoint");
    assert_eq!((called.read(&mut text).expect("data"), &text[..4]), (4, &b"one "[..]));
    called.settings().set_read_options(ReadOptions::new()).expect("an endpoint");
    // One reads with it what comes after it.
    ask_with(&caller, data(false), Some(b" four"));
    assert_eq!((called.read(&mut text).expect("data"), &text[..14]), (14, &b"two three four"[..]));
    // Without it they are messages of the transport again.
    ask_with(&caller, data(false), Some(b"five"));
    called.pop().expect("pushed");
    ask_with(&caller, data(false), Some(b"six"));
    assert_eq!(next(&called).data(), Some(&b"five"[..]));
    assert_eq!(called.read(&mut text).expect_err("a control part").errno(), Errno::Badmsg);
    // Another module above it changes nothing; nor does the end, which has come as well.
    called.push("tirdwr").expect("known");
    called.push("nullmod").expect("known");
    ask(&caller, Primitive::OrdrelReq);
    let mut first = [0; 2];
    let got = called.getmsg(Some(&mut first), Some(&mut text)).expect("data");
    assert_eq!((got.control, got.data, &text[..3]), (None, Some(3), &b"six"[..]));
    assert_eq!(called.read(&mut text).expect("the end"), 0);
    called.write(b"last").expect("room");
    drop(called);
    assert_eq!(next(&caller).data(), Some(&b"last"[..]));
    told(&caller, Primitive::OrdrelInd);
}

#[test]
fn tirdwr_takes_an_end_that_came_before_it_for_the_end_of_the_file() {
    in_own_process!();
    within(PATIENCE, "an end before the module".to_owned());
    let directory = private_directory();
    let mut text = [0; 16];
    let (caller, called) = connected(directory.path(), "ticotsord");
    ask_with(&caller, Primitive::DataReq { more: false }, Some(b"all"));
    ask(&caller, Primitive::OrdrelReq);
    called.push("tirdwr").expect("known");
    assert_eq!((called.read(&mut text).expect("data"), &text[..3]), (3, &b"all"[..]));
    assert_eq!(called.read(&mut text).expect("the end"), 0);
    called.set_nonblocking(true).expect("an endpoint");
    assert_eq!(called.read(&mut text).expect_err("no more").errno(), Errno::Again);

    // A disconnect is it for each read.
    drop((caller, called));
    let (caller, called) = connected(directory.path(), "ticots");
    drop(caller);
    within(PATIENCE, "a disconnect".to_owned());
    while called.nread().expect("an endpoint").1 == 0 {}
    called.push("tirdwr").expect("known");
    for _ in 0..3 {
        assert_eq!(called.read(&mut text).expect("the end"), 0);
    }
    // What no read shows stays what it is.
    drop(called);
    let (caller, called) = connected(directory.path(), "ticots");
    ask_with(&caller, Primitive::ExdataReq { more: false }, Some(b"urgent"));
    called.push("tirdwr").expect("known");
    assert_eq!(called.read(&mut text).expect_err("expedited").errno(), Errno::Badmsg);
    called.pop().expect("pushed");
    assert_eq!(next(&called).data(), Some(&b"urgent"[..]));
}

fn connected_again(directory: &std::path::Path, old: (Stream, Stream)) -> (Stream, Stream) {
    drop(old);
    connected(directory, "ticots")
}
