//! The modules of a terminal: `ptem`, `ldterm` and `pckt`.

use std::time::{Duration, Instant};

use headwater_streams::{Errno, Flush, IoctlTimeout, Kind, MemoryAt, Stream};
use headwater_terminals::termios::numbers::{
    ECHO, SIGINT, SIGWINCH, TCFLSH, TCSETS, TCSETSF, TCSETSW, TIOCGWINSZ, TIOCSIG, TIOCSWINSZ, VMIN, VTIME,
};
use headwater_terminals::termios::{TERMIOS, Termios};

use super::common::{calm, child, in_own_process, joined, private_directory, within};
use super::{PATIENCE, ioctl, set, settings, terminal, text, unlocked};

/// A master and its slave's terminal, in this process.
fn pair() -> (tempfile::TempDir, Stream, Stream) {
    let directory = private_directory();
    let (master, number) = unlocked(directory.path());
    let slave = terminal(directory.path(), number).expect("unlocked");
    (directory, master, slave)
}

/// What can be read now, without waiting.
fn pending(stream: &Stream) -> String {
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

#[test]
fn a_process_reads_lines_and_the_master_gets_the_echo() {
    in_own_process!();
    within(PATIENCE, "lines are typed to another process".to_owned());
    let directory = private_directory();
    let (master, number) = unlocked(directory.path());
    let reader = child(|| {
        let terminal = terminal(directory.path(), number)?;
        terminal.write(b"$ ")?;
        for line in ["one\n", "two\n", "thre", ""] {
            assert_eq!(text(&terminal), line);
            terminal.write(format!("got {}\n", line.trim_end()).as_bytes())?;
        }
        Ok(())
    });
    assert_eq!(text(&master), "$ ");
    // The second line and the end of the first come in one write, with a correction.
    master.write(b"on").expect("room");
    assert_eq!(text(&master), "on");
    master.write(b"e\rtwx\x7fo\r").expect("room");
    let expect = "e\r\ntwx\x08 \x08o\r\ngot one\r\ngot two\r\n";
    let mut all = String::new();
    while all.len() < expect.len() {
        all += &text(&master);
    }
    assert_eq!(all, expect);
    master.write(b"thre\x04\x04").expect("room");
    let mut all = String::new();
    while !all.ends_with("got \r\n") {
        all += &text(&master);
    }
    assert_eq!(all, "thregot thre\r\ngot \r\n");
    joined(reader);
    assert_eq!(text(&master), "", "the slave is closed");
    calm();
}

#[test]
fn an_interrupt_character_raises_a_signal_in_the_other_process_and_discards_what_waits() {
    in_own_process!();
    within(PATIENCE, "an interrupt character is typed".to_owned());
    let directory = private_directory();
    let (master, number) = unlocked(directory.path());
    let reader = child(|| {
        let terminal = terminal(directory.path(), number)?;
        terminal.write(b"ready")?;
        let mut signals = 0;
        while signals == 0 {
            std::thread::sleep(Duration::from_millis(1));
            signals = terminal.signals().take_raised();
        }
        assert_eq!(signals, 1 << SIGINT);
        // The line before it is gone, also the one that could be read.
        assert_eq!(text(&terminal), "after\n");
        Ok(())
    });
    assert_eq!(text(&master), "ready");
    master.write(b"gone\nal").expect("room");
    master.write(b"so\x03after\n").expect("room");
    joined(reader);
    let mut all = String::new();
    while !all.ends_with("after\r\n") {
        all += &text(&master);
    }
    assert!(all.contains("^C"), "{all:?}");
    calm();
}

#[test]
fn an_interrupt_character_does_not_wait_behind_input_that_is_not_read() {
    in_own_process!();
    within(PATIENCE, "input that is not read is interrupted".to_owned());
    let (_directory, master, slave) = pair();
    let termios = settings(&slave);
    let mut silent = termios;
    silent.local &= !ECHO;
    set(&slave, TCSETS, &silent);
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
    assert_eq!(slave.signals().take_raised(), 1 << SIGINT);
    assert_eq!(slave.nread().expect("empty").1, 0);
    assert_eq!(pending(&slave), "");
    calm();
}

#[test]
fn the_window_size_is_set_from_both_sides_and_a_change_is_told() {
    in_own_process!();
    within(PATIENCE, "the window size is changed".to_owned());
    let directory = private_directory();
    let (master, number) = unlocked(directory.path());
    assert_eq!(ioctl(&master, TIOCGWINSZ, b"").expect_err("no slave").errno(), Errno::Inval);
    let size = |rows: u8, columns: u8| [rows, 0, columns, 0, 0, 0, 0, 0];
    let other = child(|| {
        let terminal = terminal(directory.path(), number)?;
        assert_eq!(ioctl(&terminal, TIOCGWINSZ, b"")?.1, size(0, 0));
        ioctl(&terminal, TIOCSWINSZ, &size(24, 80))?;
        assert_eq!(terminal.signals().take_raised(), 1 << SIGWINCH);
        terminal.write(b"set")?;
        while terminal.signals().take_raised() != 1 << SIGWINCH {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(ioctl(&terminal, TIOCGWINSZ, b"")?.1, size(50, 132));
        Ok(())
    });
    assert_eq!(text(&master), "set");
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
    in_own_process!();
    within(PATIENCE, "settings are changed".to_owned());
    let directory = private_directory();
    let (master, number) = unlocked(directory.path());
    let slave = terminal(directory.path(), number).expect("unlocked");
    assert_eq!(settings(&slave).bytes()[..TERMIOS], Termios::default().bytes()[..TERMIOS]);
    let raw = Termios::default().raw();
    joined(child(|| {
        let other = super::slave(directory.path(), number)?;
        assert_eq!(other.modules().list()?, ["ldterm", "ptem", "pts"]);
        set(&other, TCSETS, &raw);
        Ok(())
    }));
    assert_eq!(settings(&slave).local, raw.local);
    master.write(b"\x03\x7f").expect("room");
    assert_eq!(text(&slave), "\x03\x7f");
    assert_eq!(slave.signals().take_raised(), 0);
    set(&master, TCSETS, &Termios::default());
    assert_eq!(settings(&slave).local, Termios::default().local);
    master.write(b"x\x03").expect("room");
    assert_eq!(slave.signals().take_raised(), 1 << SIGINT);
    master.transparent_ioctl(TIOCSIG, 15, &mut Vec::<MemoryAt<'_>>::new()).expect("TIOCSIG");
    assert_eq!(slave.signals().take_raised(), 1 << 15);
    assert_eq!(ioctl(&slave, 0x54ff, b"").expect_err("unknown").errno(), Errno::Inval);
    assert_eq!(ioctl(&master, 0x54ff, b"").expect_err("unknown").errno(), Errno::Inval);
    assert_eq!(ioctl(&slave, TCSETS, b"short").expect_err("too short").errno(), Errno::Inval);
    calm();
}

#[test]
fn a_stopped_terminal_sends_nothing_until_it_is_started() {
    in_own_process!();
    within(PATIENCE, "output is stopped".to_owned());
    let (_directory, master, slave) = pair();
    slave.write(b"before").expect("room");
    master.write(b"\x13").expect("room");
    slave.write(b"behind").expect("room");
    assert_eq!(pending(&master), "before");
    // What has to wait for the output waits.
    let raw = settings(&slave).raw();
    let drained =
        slave.ioctl(TCSETSW, &mut raw.bytes()[..TERMIOS].to_vec(), IoctlTimeout::After(Duration::from_millis(50)));
    assert_eq!(drained.expect_err("stopped").errno(), Errno::Time);
    assert_eq!(pending(&master), "");
    master.write(b"\x11").expect("room");
    assert_eq!(pending(&master), "behind");
    assert_eq!(settings(&slave).local, raw.local, "it has gone behind the output");
    calm();
}

#[test]
fn discarded_input_is_not_read_and_discarded_output_does_not_arrive() {
    in_own_process!();
    within(PATIENCE, "a terminal is flushed".to_owned());
    let (_directory, master, slave) = pair();
    let mut termios = settings(&slave);
    termios.local &= !ECHO;
    set(&slave, TCSETS, &termios);
    master.write(b"line\npart").expect("room");
    ioctl(&slave, TCFLSH, &0u32.to_ne_bytes()).expect("TCIFLUSH");
    master.write(b"kept\npart").expect("room");
    assert_eq!(pending(&slave), "kept\n");
    set(&slave, TCSETSF, &termios);
    master.write(b"kept\npart").expect("room");
    assert_eq!(pending(&slave), "kept\n");
    slave.write(b"gone").expect("room");
    ioctl(&slave, TCFLSH, &1u32.to_ne_bytes()).expect("TCOFLUSH");
    assert_eq!(pending(&master), "", "it lay at the master's head");
    // The master discards what it has written, and what it has not read.
    slave.write(b"gone").expect("room");
    master.write(b"gone\n").expect("room");
    master.flush_queues(Flush::ALL).expect("flush");
    slave.write(b"there").expect("room");
    assert_eq!((pending(&master), pending(&slave)), ("there".to_owned(), String::new()));
    assert_eq!(ioctl(&slave, TCFLSH, &9u32.to_ne_bytes()).expect_err("no such").errno(), Errno::Inval);
    calm();
}

#[test]
fn without_lines_a_read_waits_for_enough_bytes_or_for_its_time() {
    in_own_process!();
    within(PATIENCE, "MIN and TIME".to_owned());
    let (_directory, master, slave) = pair();
    let with = |min: u8, time: u8| {
        let mut raw = Termios::default().raw();
        (raw.characters[VMIN], raw.characters[VTIME]) = (min, time);
        raw
    };
    set(&slave, TCSETS, &with(3, 0));
    master.write(b"ab").expect("room");
    assert_eq!(pending(&slave), "");
    master.write(b"cd").expect("room");
    assert_eq!(text(&slave), "abcd");
    // The time between two bytes.
    set(&slave, TCSETS, &with(10, 2));
    let start = Instant::now();
    master.write(b"ab").expect("room");
    assert_eq!(text(&slave), "ab");
    assert!((200..2000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    // A read that finds nothing.
    set(&slave, TCSETS, &with(0, 0));
    assert_eq!(text(&slave), "");
    master.write(b"x").expect("room");
    assert_eq!(text(&slave), "x");
    set(&slave, TCSETS, &with(0, 2));
    let start = Instant::now();
    assert_eq!(text(&slave), "");
    assert!((200..2000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            master.write(b"in time").expect("room");
        });
        assert_eq!(text(&slave), "in time");
    });
    // What was typed of a line can be read without lines.
    set(&slave, TCSETS, &Termios::default());
    master.write(b"part").expect("room");
    set(&slave, TCSETS, &with(1, 0));
    assert_eq!(text(&slave), "part");
    calm();
}

#[test]
fn in_packet_mode_the_master_gets_each_message_with_its_type() {
    in_own_process!();
    within(PATIENCE, "packet mode".to_owned());
    let (_directory, mut master, slave) = pair();
    master.push("pckt").expect("known");
    let next = |master: &Stream| {
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
    ioctl(&slave, TCFLSH, &1u32.to_ne_bytes()).expect("TCOFLUSH");
    assert_eq!(next(&mut master), (Kind::Data as u32, vec![], Some(b"kept".to_vec())));
    assert_eq!(next(&mut master), (Kind::Flush as u32, vec![], Some(Flush::READ.bytes().to_vec())));
    master.write(b"\x13").expect("room");
    assert_eq!(next(&mut master).0, Kind::Stop as u32);
    master.write(b"\x11").expect("room");
    assert_eq!(next(&mut master).0, Kind::Start as u32);
    calm();
}
