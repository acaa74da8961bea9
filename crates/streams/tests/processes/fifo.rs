//! FIFOs: opened by a path, by unrelated processes that come and go, and carried to others as pipes are.
//! The permissions are tested in `users.rs`.

use crate::common;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use headwater_streams::{Access, Errno, Fifo, FifoOptions, Stream};

use crate::common::{calm, child, fifo, in_own_process, joined, open, read_all, within};

#[test]
fn a_fifo_joins_unrelated_processes() {
    in_own_process!();
    let (_directory, path) = fifo();
    let writer = child(|| {
        let stream = Fifo::open(&path, Access::Write)?;
        for number in 0..1000u32 {
            stream.write(&number.to_le_bytes())?;
        }
        Ok(())
    });
    let reader = Fifo::open(&path, Access::Read).expect("they meet");
    let all = read_all(&reader);
    joined(writer);
    assert!(all.chunks(4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four"))).eq(0..1000));
}

#[test]
fn a_fifo_without_a_reader_refuses_a_writer_that_is_not_to_wait() {
    in_own_process!();
    let (_directory, path) = fifo();
    assert_eq!(open(&path, Access::Write).expect_err("nobody reads").errno(), Errno::Nxio);
    let reader = open(&path, Access::Read).expect("opens at once");
    assert_eq!(reader.read(&mut [0]).expect("no writer: the end"), 0);
    let writer = open(&path, Access::Write).expect("somebody reads");
    assert_eq!(reader.read(&mut [0]).expect_err("a writer, and nothing written").errno(), Errno::Again);
    writer.write(b"x").expect("room");
    assert_eq!(reader.read(&mut [0]).expect("there"), 1);
    assert_eq!(writer.read(&mut [0]).expect_err("wrong way").errno(), Errno::Badf);
    assert_eq!(reader.write(&[0]).expect_err("wrong way").errno(), Errno::Badf);
}

#[test]
fn an_open_for_both_does_not_wait_and_is_a_reader_and_a_writer_for_others() {
    in_own_process!();
    within(Duration::from_secs(20), "an open for both".to_owned());
    let (_directory, path) = fifo();
    let (reader, writer) = FifoOptions::new().open_both(&path).expect("it opens at once");
    writer.write(b"own").expect("room");
    assert_eq!(reader.read(&mut [0; 9]).expect("there"), 3);
    // Others open without waiting, also if they may wait.
    joined(child(|| {
        Fifo::open(&path, Access::Write)?.write(b"other")?;
        let read = Fifo::open(&path, Access::Read)?;
        read.set_nonblocking(true)?;
        assert_eq!(read.read(&mut [0; 9])?, 5);
        assert_eq!(read.read(&mut [0; 9]).expect_err("there is a writer").errno(), Errno::Again);
        Ok(())
    }));
    let far = open(&path, Access::Read).expect("opens at once");
    drop(writer);
    assert_eq!(far.read(&mut [0]).expect("the last writer has closed"), 0);
    let near = open(&path, Access::Write).expect("somebody reads");
    drop((reader, far));
    assert_eq!(near.write(b"x").expect_err("the last reader has closed").errno(), Errno::Pipe);
    assert_eq!(Fifo::open(&path, Access::Both).expect_err("one stream has one direction").errno(), Errno::Inval);
}

/// Opens a FIFO at one end while a child opens, perhaps writes and closes the other end at once, in turns of which each
/// ends before the next begins.
fn meets_peers_that_go_at_once(access: Access) {
    let (_directory, path) = fifo();
    let (here, there) = UnixStream::pair().expect("pair");
    let rounds = 100;
    let peer = child(|| {
        let other = if access == Access::Read { Access::Write } else { Access::Read };
        for _ in 0..rounds {
            std::io::Read::read_exact(&mut &there, &mut [0])?;
            let stream = Fifo::open(&path, other)?;
            if other == Access::Write {
                stream.write(b"x")?;
            }
            drop(stream);
            std::io::Write::write_all(&mut &there, b"x")?;
        }
        Ok(())
    });
    within(Duration::from_secs(20), "opening a FIFO whose other end is closed at once".to_owned());
    let mut random = common::Random(19);
    for _ in 0..rounds {
        std::io::Write::write_all(&mut &here, b"x").expect("it waits");
        std::thread::sleep(Duration::from_micros(random.next() % 2000));
        let stream = Fifo::open(&path, access).expect("they meet");
        if access == Access::Read {
            assert_eq!(read_all(&stream), b"x");
        }
        std::io::Read::read_exact(&mut &here, &mut [0]).expect("the peer has gone");
    }
    calm();
    joined(peer);
}

#[test]
fn a_reader_s_open_returns_when_a_writer_has_come_and_gone() {
    in_own_process!();
    meets_peers_that_go_at_once(Access::Read);
}

#[test]
fn a_writer_s_open_returns_when_a_reader_has_come_and_gone() {
    in_own_process!();
    meets_peers_that_go_at_once(Access::Write);
}

#[test]
fn those_who_open_at_the_same_time_meet() {
    in_own_process!();
    for _ in 0..40 {
        let (_directory, path) = fifo();
        common::meet_at_the_same_time(&path);
    }
}

#[test]
fn a_stopped_opener_stops_nobody() {
    in_own_process!();
    let (_directory, path) = fifo();
    let mut other = child(|| {
        loop {
            drop(open(&path, Access::Read)?);
        }
    });
    let mut random = common::Random(5);
    for round in 0..60 {
        within(Duration::from_secs(10), format!("opening beside a stopped process, round {round}"));
        std::thread::sleep(Duration::from_micros(random.next() % 1000));
        other.stop().expect("our own child");
        // Waiting for each other: calls after an open may need a lock that the stopped process holds.
        let (reader, writer) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| Fifo::open(&path, Access::Read).expect("a writer comes"));
            let writer = Fifo::open(&path, Access::Write).expect("a reader comes");
            (reader.join().expect("it has opened it"), writer)
        });
        other.resume();
        writer.write(b"x").expect("room");
        assert_eq!(reader.read(&mut [0; 8]).expect("there"), 1);
    }
    calm();
    assert!(other.try_wait().expect("wait").is_none(), "no open of its own has failed");
}

#[test]
fn a_signal_handler_ends_the_wait_for_a_peer() {
    in_own_process!();
    let (_directory, path) = fifo();
    within(Duration::from_secs(20), "a signal during open".to_owned());
    joined(child(|| {
        extern "C" fn nothing(_signal: libc::c_int) {}
        let often = libc::timeval { tv_sec: 0, tv_usec: 20_000 };
        let timer = libc::itimerval { it_interval: often, it_value: often };
        // SAFETY: the handler does nothing; the timer is valid.
        unsafe {
            libc::signal(libc::SIGALRM, nothing as *const () as libc::sighandler_t);
            libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
        }
        let error = Fifo::open(&path, Access::Read).expect_err("nobody writes");
        assert_eq!(error.errno(), Errno::Intr);
        Ok(())
    }));
    calm();
}

#[test]
fn an_open_without_descriptors_says_so() {
    in_own_process!();
    let (_directory, path) = fifo();
    for others in [false, true] {
        let _reader = others.then(|| open(&path, Access::Read).expect("opens at once"));
        joined(child(|| {
            let used = headwater_os::descriptors::own()?.last().map_or(0, |last| u64::from(last.number) + 1);
            let opened = (used..used + 20).find(|limit| {
                let limit = libc::rlimit { rlim_cur: *limit, rlim_max: 4096 };
                // SAFETY: the limit is a valid one.
                assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
                match open(&path, Access::Read) {
                    Ok(_) => true,
                    Err(error) => {
                        assert_eq!(error.errno(), Errno::Mfile, "{error}");
                        false
                    }
                }
            });
            let needed = opened.expect("twenty are enough") - used;
            assert!(needed <= 12, "{needed}");
            Ok(())
        }));
    }
}

#[test]
fn what_a_missing_node_is_refused_for_is_told() {
    in_own_process!();
    let (directory, _path) = fifo();
    let error = open(&directory.path().join("nothing"), Access::Read).expect_err("there is none");
    assert!(error.to_string().contains("nothing") && error.to_string().contains("No such file"), "{error}");
    assert_eq!(error.errno(), headwater_streams::Error::from(std::io::Error::from_raw_os_error(libc::ENOENT)).errno());
}

#[test]
fn a_lock_on_the_node_stops_no_open() {
    in_own_process!();
    let (_directory, path) = fifo();
    let node = headwater_os::files::open_fifo(&path).expect("open");
    // SAFETY: it takes numbers.
    assert_eq!(unsafe { libc::flock(node.as_raw_fd(), libc::LOCK_EX) }, 0);
    within(Duration::from_secs(10), "opening a FIFO whose node is locked".to_owned());
    let reader = open(&path, Access::Read).expect("opens at once");
    open(&path, Access::Write).expect("somebody reads").write(b"x").expect("room");
    assert_eq!(reader.read(&mut [0; 8]).expect("there"), 1);
    calm();
}

#[test]
fn writers_of_a_fifo_come_and_go() {
    in_own_process!();
    let (_directory, path) = fifo();
    let reader = open(&path, Access::Read).expect("opens at once");
    for round in 0..3u8 {
        let writer = open(&path, Access::Write).expect("somebody reads");
        writer.write(&[round]).expect("room");
        drop(writer);
        let mut byte = [9];
        assert_eq!((reader.read(&mut byte).expect("there"), byte), (1, [round]));
        assert_eq!(reader.read(&mut byte).expect("the end"), 0);
    }
    let writer = open(&path, Access::Write).expect("somebody reads");
    drop(reader);
    assert_eq!(writer.write(b"x").expect_err("nobody").errno(), Errno::Pipe);
}

#[test]
fn what_is_no_fifo_is_refused() {
    in_own_process!();
    let (directory, path) = fifo();
    assert_eq!(open(directory.path(), Access::Read).expect_err("a directory").errno(), Errno::Inval);
    assert!(open(&directory.path().join("nothing"), Access::Read).is_err());
    assert_eq!(open(&path, Access::Both).expect_err("both").errno(), Errno::Inval);
}

/// Not a test of its own: what [`ends_of_a_fifo_survive_exec`] starts.
#[test]
fn after_exec() {
    let Ok(number) = std::env::var("STREAM_NUMBER") else { return };
    let number = number.parse().expect("a number");
    if std::env::var_os("STREAM_LOST").is_some() {
        assert_eq!(Stream::from_number(number).expect_err("it was not kept whole").errno(), Errno::Nostr);
        return;
    }
    let stream = Stream::from_number(number).expect("it was kept");
    if std::env::var_os("STREAM_WRITES").is_some() {
        stream.write(b"from the new program").expect("somebody reads");
        assert_eq!(stream.read(&mut [0]).expect_err("wrong way").errno(), Errno::Badf);
    } else {
        assert_eq!(read_all(&stream), b"to the new program");
    }
}

/// Runs this test program's `after_exec` with a descriptor.
fn exec(stream: &Stream, setting: &str) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().expect("our own path"));
    command.args(["--exact", "fifo::after_exec", "--nocapture"]).env(setting, "1");
    command.env("STREAM_NUMBER", stream.as_fd().as_raw_fd().to_string());
    command.stdout(std::process::Stdio::null()).spawn().expect("exec")
}

#[test]
fn ends_of_a_fifo_survive_exec() {
    in_own_process!();
    let (_directory, path) = fifo();
    let reader = open(&path, Access::Read).expect("opens at once");
    let writer = open(&path, Access::Write).expect("somebody reads");
    reader.set_nonblocking(false).expect("no error");
    writer.set_inheritable(true).expect("fcntl");
    let mut started = exec(&writer, "STREAM_WRITES");
    drop(writer);
    // The end comes when the new program has gone: it alone has the writing end.
    assert_eq!(read_all(&reader), b"from the new program");
    assert!(started.wait().expect("wait").success());

    let writer = open(&path, Access::Write).expect("somebody reads");
    reader.set_inheritable(true).expect("fcntl");
    let mut started = exec(&reader, "STREAM_READS");
    drop(reader);
    writer.write(b"to the new program").expect("somebody reads");
    drop(writer);
    assert!(started.wait().expect("wait").success());
}

#[test]
fn an_end_of_a_fifo_that_is_not_to_be_inherited_is_not() {
    in_own_process!();
    let (_directory, path) = fifo();
    let reader = open(&path, Access::Read).expect("opens at once");
    // The descriptor whose number is told, and nothing else.
    headwater_os::descriptors::set_inheritable(reader.as_fd(), true).expect("fcntl");
    assert!(exec(&reader, "STREAM_LOST").wait().expect("wait").success());
    // Processes that have only the descriptor do not keep the end alive.
    drop(reader);
    assert_eq!(open(&path, Access::Write).expect_err("nobody reads").errno(), Errno::Nxio);
}

#[test]
fn ends_of_a_fifo_go_over_a_socket() {
    in_own_process!();
    let (here, there) = UnixStream::pair().expect("pair");
    let (_directory, path) = fifo();
    let reader = open(&path, Access::Read).expect("opens at once");
    let writer = open(&path, Access::Write).expect("somebody reads");
    reader.set_nonblocking(false).expect("no error");
    writer.send_over(&here).expect("send");
    drop(writer);
    let taker = child(|| Stream::receive_over(&there)?.write(b"from the other side").map(drop));
    drop(there);
    assert_eq!(read_all(&reader), b"from the other side");
    joined(taker);
}

#[test]
fn descriptors_of_two_fifos_are_no_end() {
    in_own_process!();
    let (here, there) = UnixStream::pair().expect("pair");
    let receive = |files: &[std::os::fd::BorrowedFd<'_>]| {
        headwater_os::descriptors::send(here.as_fd(), files).expect("send");
        Stream::receive_over(&there).expect_err("no stream").errno()
    };
    let (_directory, path) = fifo();
    let one = open(&path, Access::Read).expect("opens at once");
    let (pipe, other) = std::io::pipe().expect("pipe");
    let node = std::fs::File::open("/dev/null").expect("open");
    let memory = headwater_os::descriptors::own().expect("/proc").into_iter().find_map(|found| {
        let link = headwater_os::descriptors::link(found).ok()?;
        link.to_str()?
            .starts_with("/memfd:headwater-fifo")
            .then(|| headwater_os::descriptors::duplicate(found.number).ok())
    });
    let memory = memory.flatten().expect("it has one");
    assert_eq!(receive(&[pipe.as_fd(), node.as_fd(), node.as_fd()]), Errno::Nostr, "no memory");
    assert_eq!(receive(&[other.as_fd(), memory.as_fd(), pipe.as_fd()]), Errno::Nostr, "not its pipe");
    assert_eq!(receive(&[one.as_fd(), memory.as_fd(), pipe.as_fd()]), Errno::Nostr, "not its node");
    assert_eq!(receive(&[one.as_fd(); 4]), Errno::Nostr);
    assert_eq!(Stream::from_fd(pipe.into()).expect_err("a pipe of nobody's").errno(), Errno::Nostr);
}

#[test]
fn a_duplicate_is_another_handle_of_the_same_end() {
    in_own_process!();
    let (_directory, path) = fifo();
    let reader = open(&path, Access::Read).expect("opens at once");
    let writer = open(&path, Access::Write).expect("somebody reads");
    let copy = Stream::from_fd(reader.as_fd().try_clone_to_owned().expect("dup")).expect("all of it is open");
    drop(reader);
    writer.write(b"x").expect("the copy is there");
    assert_eq!(copy.read(&mut [0; 8]).expect("there"), 1);
    // It holds the node, so the other end may close and open again.
    drop(writer);
    assert_eq!(copy.read(&mut [0; 8]).expect("the end"), 0);
    copy.set_nonblocking(true).expect("no error");
    let _writer = open(&path, Access::Write).expect("somebody reads");
    assert_eq!(copy.read(&mut [0; 8]).expect_err("no end, and nothing written").errno(), Errno::Again);
}

#[test]
fn no_file_is_passed_through_a_fifo() {
    in_own_process!();
    let (_directory, path) = fifo();
    let reader = open(&path, Access::Read).expect("opens at once");
    let writer = open(&path, Access::Write).expect("somebody reads");
    let file = std::fs::File::open("/dev/null").expect("open");
    assert_eq!(writer.files().send(file.as_fd()).expect_err("not connected to one reader").errno(), Errno::Inval);
    assert_eq!(reader.files().send(file.as_fd()).expect_err("wrong way").errno(), Errno::Badf);
    assert_eq!(reader.files().receive().expect_err("nothing").errno(), Errno::Again);
    writer.write(b"x").expect("room");
    assert_eq!(reader.files().receive().expect_err("bytes").errno(), Errno::Badmsg);
    assert_eq!(reader.read(&mut [0; 8]).expect("they are still there"), 1);
    drop(writer);
    assert_eq!(reader.files().receive().expect_err("the end").errno(), Errno::Nxio);
}
