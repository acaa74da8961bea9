//! Pseudo-terminals: `ptm` and `pts`, in one process and in several that know each other by the number alone.

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{alone, calm, child, joined, polled, private_directory, setting, within};
use headwater_os::child::Child;
use headwater_streams::drivers::pty;
use headwater_streams::modules::termios::numbers::{
    ECHO, ICANON, SIGINT, SIGWINCH, TCFLSH, TCGETS, TCSETS, TCSETSF, TCSETSW, TIOCGWINSZ, TIOCSIG, TIOCSWINSZ, VMIN,
    VTIME,
};
use headwater_streams::modules::termios::{TERMIOS, TERMIOS2, Termios};
use headwater_streams::{DeviceOptions, Errno, Flush, Handle, IoctlTimeout, Kind, MemoryAt, Result, Stream};

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

/// A slave with the modules of a terminal.
fn terminal(directory: &Path, number: u32) -> Result<Handle> {
    let mut slave = slave(directory, number)?;
    slave.push("ptem")?;
    slave.push("ldterm")?;
    Ok(slave)
}

fn settings(stream: &mut Handle) -> Termios {
    let mut bytes = ioctl(stream, TCGETS, &[]).expect("TCGETS").1;
    assert_eq!(bytes.len(), TERMIOS);
    bytes.resize(TERMIOS2, 0);
    Termios::from_bytes(&bytes).expect("whole")
}

fn set(stream: &mut Handle, command: u32, termios: &Termios) {
    ioctl(stream, command, &termios.bytes()[..TERMIOS]).expect("TCSETS");
}

/// What can be read now, without waiting.
fn pending(stream: &mut Handle) -> String {
    stream.set_nonblocking(true).expect("set");
    let mut all = Vec::new();
    let mut bytes = [0; 4096];
    loop {
        match stream.read(&mut bytes) {
            Ok(count) => all.extend_from_slice(&bytes[..count]),
            Err(error) => {
                assert_eq!(error.errno(), Errno::Again, "{error}");
                break;
            }
        }
    }
    stream.set_nonblocking(false).expect("set");
    String::from_utf8_lossy(&all).into_owned()
}

/// A master and its slave's terminal, in this process.
fn pair() -> (tempfile::TempDir, Handle, Handle) {
    let directory = private_directory();
    let (master, number) = unlocked(directory.path());
    let slave = terminal(directory.path(), number).expect("unlocked");
    (directory, master, slave)
}

#[test]
fn a_process_reads_lines_and_the_master_gets_the_echo() {
    let _alone = alone();
    within(PATIENCE, "lines are typed to another process".to_owned());
    let directory = private_directory();
    let (mut master, number) = unlocked(directory.path());
    let reader = child(|| {
        let mut terminal = terminal(directory.path(), number)?;
        terminal.write(b"$ ")?;
        for line in ["one\n", "two\n", "thre", ""] {
            assert_eq!(text(&mut terminal), line);
            terminal.write(format!("got {}\n", line.trim_end()).as_bytes())?;
        }
        Ok(())
    });
    assert_eq!(text(&mut master), "$ ");
    // The second line and the end of the first come in one write, with a correction.
    master.write(b"on").expect("room");
    assert_eq!(text(&mut master), "on");
    master.write(b"e\rtwx\x7fo\r").expect("room");
    let expect = "e\r\ntwx\x08 \x08o\r\ngot one\r\ngot two\r\n";
    let mut all = String::new();
    while all.len() < expect.len() {
        all += &text(&mut master);
    }
    assert_eq!(all, expect);
    master.write(b"thre\x04\x04").expect("room");
    let mut all = String::new();
    while !all.ends_with("got \r\n") {
        all += &text(&mut master);
    }
    assert_eq!(all, "thregot thre\r\ngot \r\n");
    joined(reader);
    assert_eq!(text(&mut master), "", "the slave is closed");
    calm();
}

#[test]
fn an_interrupt_character_raises_a_signal_in_the_other_process_and_discards_what_waits() {
    let _alone = alone();
    within(PATIENCE, "an interrupt character is typed".to_owned());
    let directory = private_directory();
    let (mut master, number) = unlocked(directory.path());
    let reader = child(|| {
        let mut terminal = terminal(directory.path(), number)?;
        terminal.write(b"ready")?;
        let mut signals = 0;
        while signals == 0 {
            std::thread::sleep(Duration::from_millis(1));
            signals = terminal.take_signals();
        }
        assert_eq!(signals, 1 << SIGINT);
        // The line before it is gone, also the one that could be read.
        assert_eq!(text(&mut terminal), "after\n");
        Ok(())
    });
    assert_eq!(text(&mut master), "ready");
    master.write(b"gone\nal").expect("room");
    master.write(b"so\x03after\n").expect("room");
    joined(reader);
    let mut all = String::new();
    while !all.ends_with("after\r\n") {
        all += &text(&mut master);
    }
    assert!(all.contains("^C"), "{all:?}");
    calm();
}

#[test]
fn an_interrupt_character_does_not_wait_behind_input_that_is_not_read() {
    let _alone = alone();
    within(PATIENCE, "input that is not read is interrupted".to_owned());
    let (_directory, mut master, mut slave) = pair();
    let termios = settings(&mut slave);
    let mut silent = termios;
    silent.local &= !ECHO;
    set(&mut slave, TCSETS, &silent);
    master.set_nonblocking(true).expect("set");
    // Until the slave's head is full, and some more in the discipline's queue.
    let mut sent = 0;
    while sent < 66_000 {
        match master.write(&[b"x".repeat(999), b"\n".to_vec()].concat()) {
            Ok(count) => sent += count,
            Err(_) => break,
        }
    }
    assert!(sent >= 65_000, "{sent}");
    master.write(b"\x03").expect("room in the discipline");
    assert_eq!(slave.take_signals(), 1 << SIGINT);
    assert_eq!(slave.nread().expect("empty").1, 0);
    assert_eq!(pending(&mut slave), "");
    calm();
}

#[test]
fn the_window_size_is_set_from_both_sides_and_a_change_is_told() {
    let _alone = alone();
    within(PATIENCE, "the window size is changed".to_owned());
    let directory = private_directory();
    let (mut master, number) = unlocked(directory.path());
    assert_eq!(ioctl(&mut master, TIOCGWINSZ, b"").expect_err("no slave").errno(), Errno::Inval);
    let size = |rows: u8, columns: u8| [rows, 0, columns, 0, 0, 0, 0, 0];
    let other = child(|| {
        let mut terminal = terminal(directory.path(), number)?;
        assert_eq!(ioctl(&mut terminal, TIOCGWINSZ, b"")?.1, size(0, 0));
        ioctl(&mut terminal, TIOCSWINSZ, &size(24, 80))?;
        assert_eq!(terminal.take_signals(), 1 << SIGWINCH);
        terminal.write(b"set")?;
        while terminal.take_signals() != 1 << SIGWINCH {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(ioctl(&mut terminal, TIOCGWINSZ, b"")?.1, size(50, 132));
        Ok(())
    });
    assert_eq!(text(&mut master), "set");
    let mut window = [0; 8];
    let mut memory = vec![MemoryAt::new(4096, &mut window)];
    assert_eq!(master.transparent_ioctl(TIOCGWINSZ, 4096, &mut memory).expect("answered by the slave's side"), 0);
    drop(memory);
    assert_eq!(window, size(24, 80));
    window = size(50, 132);
    let mut memory = vec![MemoryAt::new(4096, &mut window)];
    master.transparent_ioctl(TIOCSWINSZ, 4096, &mut memory).expect("answered by the slave's side");
    drop(memory);
    joined(other);
    calm();
}

#[test]
fn settings_are_kept_for_all_processes_and_reach_from_the_master() {
    let _alone = alone();
    within(PATIENCE, "settings are changed".to_owned());
    let directory = private_directory();
    let (mut master, number) = unlocked(directory.path());
    let mut slave = terminal(directory.path(), number).expect("unlocked");
    assert_eq!(settings(&mut slave).bytes()[..TERMIOS], Termios::default().bytes()[..TERMIOS]);
    let raw = Termios::default().raw();
    joined(child(|| {
        let mut other = crate::slave(directory.path(), number)?;
        assert_eq!(other.list()?, ["ldterm", "ptem", "pts"]);
        set(&mut other, TCSETS, &raw);
        Ok(())
    }));
    assert_eq!(settings(&mut slave).local, raw.local);
    master.write(b"\x03\x7f").expect("room");
    assert_eq!(text(&mut slave), "\x03\x7f");
    assert_eq!(slave.take_signals(), 0);
    set(&mut master, TCSETS, &Termios::default());
    assert_eq!(settings(&mut slave).local, Termios::default().local);
    master.write(b"x\x03").expect("room");
    assert_eq!(slave.take_signals(), 1 << SIGINT);
    master.transparent_ioctl(TIOCSIG, 15, &mut Vec::<MemoryAt<'_>>::new()).expect("TIOCSIG");
    assert_eq!(slave.take_signals(), 1 << 15);
    assert_eq!(ioctl(&mut slave, 0x54ff, b"").expect_err("unknown").errno(), Errno::Inval);
    assert_eq!(ioctl(&mut master, 0x54ff, b"").expect_err("unknown").errno(), Errno::Inval);
    assert_eq!(ioctl(&mut slave, TCSETS, b"short").expect_err("too short").errno(), Errno::Inval);
    calm();
}

#[test]
fn a_stopped_terminal_sends_nothing_until_it_is_started() {
    let _alone = alone();
    within(PATIENCE, "output is stopped".to_owned());
    let (_directory, mut master, mut slave) = pair();
    slave.write(b"before").expect("room");
    master.write(b"\x13").expect("room");
    slave.write(b"behind").expect("room");
    assert_eq!(pending(&mut master), "before");
    // What has to wait for the output waits.
    let raw = settings(&mut slave).raw();
    let drained =
        slave.ioctl(TCSETSW, &mut raw.bytes()[..TERMIOS].to_vec(), IoctlTimeout::After(Duration::from_millis(50)));
    assert_eq!(drained.expect_err("stopped").errno(), Errno::Time);
    assert_eq!(pending(&mut master), "");
    master.write(b"\x11").expect("room");
    assert_eq!(pending(&mut master), "behind");
    assert_eq!(settings(&mut slave).local, raw.local, "it has gone behind the output");
    calm();
}

#[test]
fn discarded_input_is_not_read_and_discarded_output_does_not_arrive() {
    let _alone = alone();
    within(PATIENCE, "a terminal is flushed".to_owned());
    let (_directory, mut master, mut slave) = pair();
    let mut termios = settings(&mut slave);
    termios.local &= !ECHO;
    set(&mut slave, TCSETS, &termios);
    master.write(b"line\npart").expect("room");
    ioctl(&mut slave, TCFLSH, &0u32.to_ne_bytes()).expect("TCIFLUSH");
    master.write(b"kept\npart").expect("room");
    assert_eq!(pending(&mut slave), "kept\n");
    set(&mut slave, TCSETSF, &termios);
    master.write(b"kept\npart").expect("room");
    assert_eq!(pending(&mut slave), "kept\n");
    slave.write(b"gone").expect("room");
    ioctl(&mut slave, TCFLSH, &1u32.to_ne_bytes()).expect("TCOFLUSH");
    assert_eq!(pending(&mut master), "", "it lay at the master's head");
    // The master discards what it has written, and what it has not read.
    slave.write(b"gone").expect("room");
    master.write(b"gone\n").expect("room");
    master.flush_queues(Flush::ALL).expect("flush");
    slave.write(b"there").expect("room");
    assert_eq!((pending(&mut master), pending(&mut slave)), ("there".to_owned(), String::new()));
    assert_eq!(ioctl(&mut slave, TCFLSH, &9u32.to_ne_bytes()).expect_err("no such").errno(), Errno::Inval);
    calm();
}

#[test]
fn without_lines_a_read_waits_for_enough_bytes_or_for_its_time() {
    let _alone = alone();
    within(PATIENCE, "MIN and TIME".to_owned());
    let (_directory, mut master, mut slave) = pair();
    let with = |min: u8, time: u8| {
        let mut raw = Termios::default().raw();
        (raw.characters[VMIN], raw.characters[VTIME]) = (min, time);
        raw
    };
    set(&mut slave, TCSETS, &with(3, 0));
    master.write(b"ab").expect("room");
    assert_eq!(pending(&mut slave), "");
    master.write(b"cd").expect("room");
    assert_eq!(text(&mut slave), "abcd");
    // The time between two bytes.
    set(&mut slave, TCSETS, &with(10, 2));
    let start = Instant::now();
    master.write(b"ab").expect("room");
    assert_eq!(text(&mut slave), "ab");
    assert!((200..2000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    // A read that finds nothing.
    set(&mut slave, TCSETS, &with(0, 0));
    assert_eq!(text(&mut slave), "");
    master.write(b"x").expect("room");
    assert_eq!(text(&mut slave), "x");
    set(&mut slave, TCSETS, &with(0, 2));
    let start = Instant::now();
    assert_eq!(text(&mut slave), "");
    assert!((200..2000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            master.write(b"in time").expect("room");
        });
        assert_eq!(text(&mut slave), "in time");
    });
    // What was typed of a line can be read without lines.
    set(&mut slave, TCSETS, &Termios::default());
    master.write(b"part").expect("room");
    set(&mut slave, TCSETS, &with(1, 0));
    assert_eq!(text(&mut slave), "part");
    calm();
}

#[test]
fn in_packet_mode_the_master_gets_each_message_with_its_type() {
    let _alone = alone();
    within(PATIENCE, "packet mode".to_owned());
    let (_directory, mut master, mut slave) = pair();
    master.push("pckt").expect("known");
    let next = |master: &mut Handle| {
        let message = master.receive().expect("no error").expect("there");
        let kind = u32::from_ne_bytes(*message.control().expect("a type").first_chunk().expect("four bytes"));
        (kind, message.control().expect("a type")[4..].to_vec(), message.data().map(<[u8]>::to_vec))
    };
    slave.write(b"one\n").expect("room");
    slave.write(b"two").expect("room");
    assert_eq!(next(&mut master), (Kind::Data as u32, vec![], Some(b"one\r\n".to_vec())));
    assert_eq!(next(&mut master), (Kind::Data as u32, vec![], Some(b"two".to_vec())));
    slave.putpmsg(Some(b"control"), Some(b"data"), 0).expect("room");
    assert_eq!(next(&mut master), (Kind::Proto as u32, b"control".to_vec(), Some(b"data".to_vec())));
    // A flush of the slave's output is a message, and what was written before it is still read.
    slave.write(b"kept").expect("room");
    ioctl(&mut slave, TCFLSH, &1u32.to_ne_bytes()).expect("TCOFLUSH");
    assert_eq!(next(&mut master), (Kind::Data as u32, vec![], Some(b"kept".to_vec())));
    assert_eq!(next(&mut master), (Kind::Flush as u32, vec![], Some(Flush::READ.bytes().to_vec())));
    master.write(b"\x13").expect("room");
    assert_eq!(next(&mut master).0, Kind::Stop as u32);
    master.write(b"\x11").expect("room");
    assert_eq!(next(&mut master).0, Kind::Start as u32);
    calm();
}

#[test]
fn either_side_is_hung_up_when_the_other_is_closed_or_killed() {
    let _alone = alone();
    let directory = private_directory();
    let before = common::open_things();
    for kills in [false, true] {
        within(PATIENCE, format!("the slave goes; killed: {kills}"));
        let (mut master, number) = unlocked(directory.path());
        let mut other = Child::fork(|| {
            let Ok(mut terminal) = terminal(directory.path(), number) else { return 1 };
            let _ = terminal.write(b"last");
            let _ = terminal.read(&mut [0; 8]);
            0
        })
        .expect("fork");
        assert_eq!(text(&mut master), "last");
        if kills {
            other.kill()
        } else {
            assert_eq!(master.write(b"\x04").expect("room"), 1)
        }
        other.wait().expect("wait");
        assert_eq!(text(&mut master), "", "{kills}");
        assert_ne!(polled(&master, libc::POLLIN, PATIENCE) & libc::POLLHUP, 0);
        assert_eq!(master.write(b"x").expect_err("no slave").errno(), Errno::Io);
        assert_eq!(slave(directory.path(), number).expect_err("hung up").errno(), Errno::Nxio);
        drop(master);

        within(PATIENCE, format!("the master goes; killed: {kills}"));
        let (tell, told) = (std::io::pipe().expect("pipe"), std::io::pipe().expect("pipe"));
        let mut other = Child::fork(|| {
            let (mut master, number) = unlocked(directory.path());
            let _ = std::io::Write::write_all(&mut &tell.1, &number.to_ne_bytes());
            let _ = master.read(&mut [0; 8]);
            let _ = master.write(b"last\npart");
            let _ = std::io::Read::read(&mut &told.0, &mut [0]);
            0
        })
        .expect("fork");
        let mut number = [0; 4];
        std::io::Read::read_exact(&mut &tell.0, &mut number).expect("the master's number");
        let mut terminal = terminal(directory.path(), u32::from_ne_bytes(number)).expect("unlocked");
        terminal.write(b"here").expect("room");
        assert_ne!(polled(&terminal, libc::POLLIN, PATIENCE) & libc::POLLIN, 0);
        if kills {
            other.kill()
        } else {
            std::io::Write::write_all(&mut &told.1, b"x").expect("pipe")
        }
        other.wait().expect("wait");
        assert_eq!(text(&mut terminal), "last\n");
        assert_eq!(text(&mut terminal), "");
        assert_eq!(terminal.write(b"x").expect_err("no master").errno(), Errno::Io);
        assert_ne!(polled(&terminal, libc::POLLIN, PATIENCE) & libc::POLLHUP, 0);
        // Its number is not given to another master as long as this slave is open.
        assert_ne!(master_number(directory.path()), u32::from_ne_bytes(number));
        drop(terminal);
        assert_eq!(master_number(directory.path()), 0);
    }
    assert_eq!(common::open_things(), before);
    calm();
}

fn master_number(directory: &Path) -> u32 {
    master(directory).minor().expect("a device")
}

#[test]
fn a_writer_waits_for_a_slow_reader_and_nothing_is_lost() {
    const BYTES: usize = 300_000;
    let _alone = alone();
    for is_raw in [true, false] {
        within(PATIENCE, format!("bytes through a terminal in both directions, raw: {is_raw}"));
        let directory = private_directory();
        let (mut master, number) = unlocked(directory.path());
        let mut termios = if is_raw { Termios::default().raw() } else { Termios::default() };
        termios.local &= !ECHO;
        assert_eq!(is_raw, !termios.has_local(ICANON));
        // Lines of 100 bytes; what is written gets a carriage return.
        let byte = |at: usize| if at % 100 == 99 { b'\n' } else { b'a' + (at % 100 % 23) as u8 };
        let input: Vec<u8> = (0..BYTES).map(byte).collect();
        let output =
            if is_raw { input.clone() } else { String::from_utf8_lossy(&input).replace('\n', "\r\n").into_bytes() };
        let other = child(|| {
            let mut terminal = terminal(directory.path(), number)?;
            set(&mut terminal, TCSETS, &termios);
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
        assert_eq!(text(&mut master), "?");
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
    const BYTES: usize = 200_000;
    let _alone = alone();
    let directory = private_directory();
    for round in 0..setting("HEADWATER_ROUNDS", 3) {
        within(PATIENCE, format!("small writes through a pseudo-terminal, round {round}"));
        let (mut master, number) = unlocked(directory.path());
        // Both sides come by fork, as a program's that opens both and starts another.
        let mut ends = Some(slave(directory.path(), number).expect("unlocked"));
        master.attach().expect("meets it");
        let size = [1, 16][round as usize % 2];
        let other = child(|| {
            let mut slave = ends.take().expect("a copy");
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
