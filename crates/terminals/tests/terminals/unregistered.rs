//! What a process is told that has not registered the driver or the module of a stream.

use std::os::unix::net::UnixStream;

use crate::common::{child, in_own_process, joined, private_directory};
use headwater_streams::{DeviceOptions, Errno, Result, Stream, pipe};

/// The error names the crate and the call.
fn advises(done: Result<impl Sized>) {
    let error = done.err().expect("it is not registered");
    assert!(error.to_string().contains("headwater_terminals::register()"), "{error}");
    assert_eq!(error.errno(), Errno::Inval, "{error}");
}

#[test]
fn an_unregistered_name_is_refused_with_the_crate_that_brings_it() {
    in_own_process!();
    let directory = private_directory();
    let devices = DeviceOptions::new().directory(directory.path());
    let (near, _far) = pipe().expect("pipe");
    advises(devices.open("ptm"));
    advises(devices.open("pts"));
    advises(near.push("ldterm"));
    for _ in 0..2 {
        headwater_terminals::register().expect("free names");
    }
    devices.open("ptm").expect("known");
    near.push("ldterm").expect("known");
}

#[test]
fn a_process_that_receives_a_stream_of_an_unregistered_driver_is_told() {
    in_own_process!();
    let directory = private_directory();
    let (ours, theirs) = UnixStream::pair().expect("socketpair");
    let sender = child(move || {
        headwater_terminals::register()?;
        let master = DeviceOptions::new().directory(directory.path()).open("ptm")?;
        master.send_over(&theirs)
    });
    advises(Stream::receive_over(&ours));
    joined(sender);
}
