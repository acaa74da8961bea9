//! Pseudo-terminals: `ptm` and `pts`, in one process and in several that know each other by the number alone.

mod kills;
mod terminal;

use crate::common;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use crate::common::{calm, child, extent, in_own_process, joined, polled, private_directory, within};
use headwater_os::child::Child;
use headwater_streams::{DeviceOptions, Errno, IoctlTimeout, MemoryAt, Result, Stream};
use headwater_terminals::pty;
use headwater_terminals::termios::numbers::{ECHO, ICANON, TCGETS, TCSETS};
use headwater_terminals::termios::{TERMIOS, TERMIOS2, Termios};

const PATIENCE: Duration = Duration::from_secs(20);

fn master(directory: &Path) -> Stream {
    headwater_terminals::register().expect("free names");
    DeviceOptions::new().directory(directory).open("ptm").expect("a free number")
}

fn slave(directory: &Path, number: u32) -> Result<Stream> {
    headwater_terminals::register()?;
    DeviceOptions::new().directory(directory).minor(number).open("pts")
}

fn ioctl(stream: &Stream, command: u32, data: &[u8]) -> Result<(i32, Vec<u8>)> {
    let mut data = data.to_vec();
    let value = stream.ioctl(command, &mut data, IoctlTimeout::Usual)?;
    Ok((value, data))
}

/// A master whose slave may be opened, and its number.
fn unlocked(directory: &Path) -> (Stream, u32) {
    let master = master(directory);
    ioctl(&master, pty::UNLOCK, b"").expect("unlock");
    let number = master.minor().expect("a device");
    (master, number)
}

fn text(handle: &Stream) -> String {
    let mut bytes = [0; 256];
    let count = handle.read(&mut bytes).expect("no error");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

#[test]
fn a_slave_is_opened_after_its_master_has_unlocked_it() {
    in_own_process!();
    within(PATIENCE, "a pseudo-terminal is unlocked and opened".to_owned());
    let directory = private_directory();
    let before = common::open_things();
    assert_eq!(slave(directory.path(), 0).expect_err("no master").errno(), Errno::Nxio);
    let (first, second) = (master(directory.path()), master(directory.path()));
    assert_eq!([first.minor(), second.minor()], [Some(0), Some(1)]);
    assert_eq!(ioctl(&second, pty::NUMBER, b"").expect("ISPTM").0, 1);
    let mut number = [0xff; 4];
    let mut memory = vec![MemoryAt::new(4096, &mut number)];
    assert_eq!(second.transparent_ioctl(pty::GET_NUMBER, 4096, &mut memory).expect("TIOCGPTN"), 0);
    drop(memory);
    assert_eq!(u32::from_ne_bytes(number), 1);
    assert_eq!(slave(directory.path(), 1).expect_err("locked").errno(), Errno::Acces);
    for command in pty::GRANT.into_iter().chain([pty::ZONE, pty::UNLOCK]) {
        ioctl(&second, command, b"").expect("done");
    }
    let other = slave(directory.path(), 1).expect("unlocked");
    assert_eq!(
        (other.minor(), other.modules().look().expect("pts"), second.modules().look().expect("ptm")),
        (Some(1), "pts".into(), "ptm".into())
    );
    other.write(b"output").expect("room");
    assert_eq!(text(&second), "output");
    second.write(b"input").expect("room");
    assert_eq!(text(&other), "input");
    assert_eq!(slave(directory.path(), 0).expect_err("locked").errno(), Errno::Acces);
    // Linux's ioctls.
    let mut lock = 0u32.to_ne_bytes();
    first.transparent_ioctl(pty::SET_LOCK, 4096, &mut vec![MemoryAt::new(4096, &mut lock)]).expect("TIOCSPTLCK");
    let third = slave(directory.path(), 0).expect("unlocked");
    assert_eq!(ioctl(&first, pty::SET_LOCK, &1u32.to_ne_bytes()).expect("lock").0, 0);
    assert_eq!(ioctl(&first, pty::GET_LOCK, b"").expect("TIOCGPTLCK").1, 1u32.to_ne_bytes());
    drop((third, other, first, second));
    common::expect_nothing_left(before);
    assert_eq!(master(directory.path()).minor(), Some(0), "the number is free again");
    assert_eq!(DeviceOptions::new().open_private("pts").expect_err("no master").errno(), Errno::Nxio);
    calm();
}

#[test]
fn a_slave_is_opened_again_by_other_processes_and_each_has_the_master() {
    in_own_process!();
    within(PATIENCE, "several processes open a slave".to_owned());
    let directory = private_directory();
    let (master, number) = unlocked(directory.path());
    let one = slave(directory.path(), number).expect("unlocked");
    for round in 0..3 {
        let other = child(|| {
            let slave = slave(directory.path(), number)?;
            assert_eq!(text(&slave), "asked");
            slave.write(b"answered").map(drop)
        });
        master.write(b"asked").expect("room");
        assert_eq!(text(&master), "answered", "{round}");
        joined(other);
        assert_eq!(polled(&master, libc::POLLIN, Duration::ZERO) & libc::POLLHUP, 0, "a process still has the slave");
    }
    one.write(b"last").expect("room");
    drop(one);
    assert_eq!(text(&master), "last");
    assert_eq!(text(&master), "");
    assert_ne!(polled(&master, libc::POLLIN, PATIENCE) & libc::POLLHUP, 0);
    calm();
}

#[test]
fn a_side_that_goes_over_a_socket_or_through_its_descriptor_brings_its_partner_along() {
    in_own_process!();
    within(PATIENCE, "a slave goes over a socket".to_owned());
    let directory = private_directory();
    let (master, number) = unlocked(directory.path());
    let first = slave(directory.path(), number).expect("unlocked");
    let (here, there) = std::os::unix::net::UnixStream::pair().expect("pair");
    first.send_over(&here).expect("sent");
    let mut second = headwater_streams::Device::receive_over("pts", &there).expect("a slave").clone();
    drop(first);
    let mut third =
        Stream::from_number(std::os::fd::AsRawFd::as_raw_fd(&second.as_fd()).unsigned_abs()).expect("a slave");
    for slave in [&mut second, &mut third] {
        slave.write(b"out").expect("room");
        assert_eq!(text(&master), "out");
        master.write(b"in").expect("room");
        assert_eq!(text(slave), "in");
    }
    drop(second);
    assert_eq!(polled(&master, libc::POLLIN, Duration::ZERO) & libc::POLLHUP, 0, "one is left");
    drop(third);
    assert_eq!(text(&master), "");
    assert_eq!(slave(directory.path(), number).expect_err("hung up").errno(), Errno::Nxio);
    calm();
}

/// A slave with the modules of a terminal.
fn terminal(directory: &Path, number: u32) -> Result<Stream> {
    let slave = slave(directory, number)?;
    slave.push("ptem")?;
    slave.push("ldterm")?;
    Ok(slave)
}

fn settings(stream: &Stream) -> Termios {
    let mut bytes = ioctl(stream, TCGETS, &[]).expect("TCGETS").1;
    assert_eq!(bytes.len(), TERMIOS);
    bytes.resize(TERMIOS2, 0);
    Termios::from_bytes(&bytes).expect("whole")
}

fn set(stream: &Stream, command: u32, termios: &Termios) {
    ioctl(stream, command, &termios.bytes()[..TERMIOS]).expect("TCSETS");
}

#[test]
fn either_side_is_hung_up_when_the_other_is_closed_or_killed() {
    in_own_process!();
    let directory = private_directory();
    let before = common::open_things();
    for kills in [false, true] {
        within(PATIENCE, format!("the slave goes; killed: {kills}"));
        let (master, number) = unlocked(directory.path());
        let mut other = Child::fork(|| {
            let Ok(terminal) = terminal(directory.path(), number) else { return 1 };
            let _ = terminal.write(b"last");
            let _ = terminal.read(&mut [0; 8]);
            0
        })
        .expect("fork");
        assert_eq!(text(&master), "last");
        if kills {
            other.kill()
        } else {
            assert_eq!(master.write(b"\x04").expect("room"), 1)
        }
        other.wait().expect("wait");
        assert_eq!(text(&master), "", "{kills}");
        assert_ne!(polled(&master, libc::POLLIN, PATIENCE) & libc::POLLHUP, 0);
        assert_eq!(master.write(b"x").expect_err("no slave").errno(), Errno::Io);
        assert_eq!(slave(directory.path(), number).expect_err("hung up").errno(), Errno::Nxio);
        drop(master);

        within(PATIENCE, format!("the master goes; killed: {kills}"));
        let (tell, told) = (std::io::pipe().expect("pipe"), std::io::pipe().expect("pipe"));
        let mut other = Child::fork(|| {
            let (master, number) = unlocked(directory.path());
            let _ = std::io::Write::write_all(&mut &tell.1, &number.to_ne_bytes());
            let _ = master.read(&mut [0; 8]);
            let _ = master.write(b"last\npart");
            let _ = std::io::Read::read(&mut &told.0, &mut [0]);
            0
        })
        .expect("fork");
        let mut number = [0; 4];
        std::io::Read::read_exact(&mut &tell.0, &mut number).expect("the master's number");
        let terminal = terminal(directory.path(), u32::from_ne_bytes(number)).expect("unlocked");
        terminal.write(b"here").expect("room");
        assert_ne!(polled(&terminal, libc::POLLIN, PATIENCE) & libc::POLLIN, 0);
        if kills {
            other.kill()
        } else {
            std::io::Write::write_all(&mut &told.1, b"x").expect("pipe")
        }
        other.wait().expect("wait");
        assert_eq!(text(&terminal), "last\n");
        assert_eq!(text(&terminal), "");
        assert_eq!(terminal.write(b"x").expect_err("no master").errno(), Errno::Io);
        assert_ne!(polled(&terminal, libc::POLLIN, PATIENCE) & libc::POLLHUP, 0);
        // Its number is not given to another master as long as this slave is open.
        assert_ne!(master_number(directory.path()), u32::from_ne_bytes(number));
        drop(terminal);
        assert_eq!(master_number(directory.path()), 0);
    }
    common::expect_nothing_left(before);
    calm();
}

fn master_number(directory: &Path) -> u32 {
    master(directory).minor().expect("a device")
}

#[test]
fn a_writer_waits_for_a_slow_reader_and_nothing_is_lost() {
    in_own_process!();
    const BYTES: usize = 300_000;
    for is_raw in [true, false] {
        within(PATIENCE, format!("bytes through a terminal in both directions, raw: {is_raw}"));
        let directory = private_directory();
        let (master, number) = unlocked(directory.path());
        let mut termios = if is_raw { Termios::default().raw() } else { Termios::default() };
        termios.local &= !ECHO;
        assert_eq!(is_raw, !termios.has_local(ICANON));
        // Lines of 100 bytes; what is written gets a carriage return.
        let byte = |at: usize| if at % 100 == 99 { b'\n' } else { b'a' + (at % 100 % 23) as u8 };
        let input: Vec<u8> = (0..BYTES).map(byte).collect();
        let output =
            if is_raw { input.clone() } else { String::from_utf8_lossy(&input).replace('\n', "\r\n").into_bytes() };
        let other = child(|| {
            let terminal = terminal(directory.path(), number)?;
            set(&terminal, TCSETS, &termios);
            terminal.write(b"?")?;
            let (mut got, mut buffer) = (Vec::new(), [0; 700]);
            while got.len() < BYTES {
                let count = terminal.read(&mut buffer)?;
                assert!(count > 0 && (is_raw || count == 100), "{count} after {}", got.len());
                got.extend_from_slice(&buffer[..count]);
                if got.len() % 128 == 0 {
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
            assert!(got == input, "other bytes");
            let mut sent = 0;
            while sent < BYTES {
                sent += terminal.write(&input[sent..BYTES.min(sent + 3000)])?;
            }
            Ok(())
        });
        assert_eq!(text(&master), "?");
        assert_eq!(master.write(&input).expect("room, in the end"), BYTES);
        let (mut got, mut buffer) = (Vec::new(), [0; 700]);
        loop {
            match master.read(&mut buffer).expect("no error") {
                0 => break,
                count => got.extend_from_slice(&buffer[..count]),
            }
            if got.len() % 128 == 0 {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        assert!(got == output, "{} bytes of {}", got.len(), output.len());
        joined(other);
    }
    calm();
}

#[test]
fn small_writes_at_full_speed_never_stall() {
    in_own_process!();
    const BYTES: usize = 200_000;
    let directory = private_directory();
    for round in 0..extent("HEADWATER_ROUNDS", 1) {
        within(PATIENCE, format!("small writes through a pseudo-terminal, round {round}"));
        let (master, number) = unlocked(directory.path());
        // Both sides come by fork, as a program's that opens both and starts another.
        let mut ends = Some(slave(directory.path(), number).expect("unlocked"));
        master.attach().expect("meets it");
        let size = [1, 16][round as usize % 2];
        let other = child(|| {
            let slave = ends.take().expect("a copy");
            (0..BYTES / size).try_for_each(|_| slave.write(&[7; 16][..size]).map(drop))
        });
        drop(ends);
        let mut read = 0;
        loop {
            match master.read(&mut [0; 16][..size]).expect("no error") {
                0 => break,
                count => read += count,
            }
        }
        assert_eq!(read, BYTES);
        joined(other);
    }
    calm();
}
