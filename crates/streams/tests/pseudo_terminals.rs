//! Pseudo-terminals: `ptm` and `pts`, in one process and in several that know each other by the number alone.

mod common;

use std::path::Path;
use std::time::Duration;

use common::{alone, calm, child, joined, polled, private_directory, within};
use headwater_streams::drivers::pty;
use headwater_streams::{DeviceOptions, Errno, Handle, IoctlTimeout, MemoryAt, Result, Stream};

const PATIENCE: Duration = Duration::from_secs(20);

fn master(directory: &Path) -> Handle {
    DeviceOptions::new().directory(directory).open("ptm").map(Stream::into_handle).expect("a free number")
}

fn slave(directory: &Path, number: u32) -> Result<Handle> {
    DeviceOptions::new().directory(directory).minor(number).open("pts").map(Stream::into_handle)
}

fn ioctl(stream: &mut Handle, command: u32, data: &[u8]) -> Result<(i32, Vec<u8>)> {
    let mut data = data.to_vec();
    let value = stream.ioctl(command, &mut data, IoctlTimeout::Usual)?;
    Ok((value, data))
}

/// A master whose slave may be opened, and its number.
fn unlocked(directory: &Path) -> (Handle, u32) {
    let mut master = master(directory);
    ioctl(&mut master, pty::UNLOCK, b"").expect("unlock");
    let number = master.minor().expect("a device");
    (master, number)
}

fn text(handle: &mut Handle) -> String {
    let mut bytes = [0; 256];
    let count = handle.read(&mut bytes).expect("no error");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

#[test]
fn a_slave_is_opened_after_its_master_has_unlocked_it() {
    let _alone = alone();
    within(PATIENCE, "a pseudo-terminal is unlocked and opened".to_owned());
    let directory = private_directory();
    let before = common::open_things();
    assert_eq!(slave(directory.path(), 0).expect_err("no master").errno(), Errno::Nxio);
    let (mut first, mut second) = (master(directory.path()), master(directory.path()));
    assert_eq!([first.minor(), second.minor()], [Some(0), Some(1)]);
    assert_eq!(ioctl(&mut second, pty::NUMBER, b"").expect("ISPTM").0, 1);
    let mut number = [0xff; 4];
    let mut memory = vec![MemoryAt::new(4096, &mut number)];
    assert_eq!(second.transparent_ioctl(pty::GET_NUMBER, 4096, &mut memory).expect("TIOCGPTN"), 0);
    drop(memory);
    assert_eq!(u32::from_ne_bytes(number), 1);
    assert_eq!(slave(directory.path(), 1).expect_err("locked").errno(), Errno::Acces);
    for command in pty::GRANT.into_iter().chain([pty::ZONE, pty::UNLOCK]) {
        ioctl(&mut second, command, b"").expect("done");
    }
    let mut other = slave(directory.path(), 1).expect("unlocked");
    assert_eq!(
        (other.minor(), other.look().expect("pts"), second.look().expect("ptm")),
        (Some(1), "pts".into(), "ptm".into())
    );
    other.write(b"output").expect("room");
    assert_eq!(text(&mut second), "output");
    second.write(b"input").expect("room");
    assert_eq!(text(&mut other), "input");
    assert_eq!(slave(directory.path(), 0).expect_err("locked").errno(), Errno::Acces);
    // Linux's ioctls.
    let mut lock = 0u32.to_ne_bytes();
    first.transparent_ioctl(pty::SET_LOCK, 4096, &mut vec![MemoryAt::new(4096, &mut lock)]).expect("TIOCSPTLCK");
    let third = slave(directory.path(), 0).expect("unlocked");
    assert_eq!(ioctl(&mut first, pty::SET_LOCK, &1u32.to_ne_bytes()).expect("lock").0, 0);
    assert_eq!(ioctl(&mut first, pty::GET_LOCK, b"").expect("TIOCGPTLCK").1, 1u32.to_ne_bytes());
    drop((third, other, first, second));
    assert_eq!(common::open_things(), before);
    assert_eq!(master(directory.path()).minor(), Some(0), "the number is free again");
    assert_eq!(DeviceOptions::new().open_private("pts").expect_err("no master").errno(), Errno::Nxio);
    calm();
}

#[test]
fn a_slave_is_opened_again_by_other_processes_and_each_has_the_master() {
    let _alone = alone();
    within(PATIENCE, "several processes open a slave".to_owned());
    let directory = private_directory();
    let (mut master, number) = unlocked(directory.path());
    let mut one = slave(directory.path(), number).expect("unlocked");
    for round in 0..3 {
        let other = child(|| {
            let mut slave = slave(directory.path(), number)?;
            assert_eq!(text(&mut slave), "asked");
            slave.write(b"answered").map(drop)
        });
        master.write(b"asked").expect("room");
        assert_eq!(text(&mut master), "answered", "{round}");
        joined(other);
        assert_eq!(polled(&master, libc::POLLIN, Duration::ZERO) & libc::POLLHUP, 0, "a process still has the slave");
    }
    one.write(b"last").expect("room");
    drop(one);
    assert_eq!(text(&mut master), "last");
    assert_eq!(text(&mut master), "");
    assert_ne!(polled(&master, libc::POLLIN, PATIENCE) & libc::POLLHUP, 0);
    calm();
}
