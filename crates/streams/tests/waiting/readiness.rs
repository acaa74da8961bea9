//! The descriptor of a stream as a program sees it that does not know the library, and the stream's own poll, beside the kernel's
//! pipe, which is measured in the same test: in each state, and when the state comes about during a wait.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use headwater_streams::{Events, Stream, pipe};

use crate::common::{child, in_own_process, polled};

/// What has happened, and which end is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Nothing,
    Data,
    Full,
    RoomAgain,
    ReaderGone,
    ReaderGoneFull,
    WriterGone,
    WriterGoneData,
    /// No pipe of the kernel is shut down in one direction: reads end as if the writer had gone, and writes fail as if the reader had.
    WriterShut,
    WriterShutData,
    ReaderShut,
    ReaderShutFull,
}

use State::*;

/// The state of a kernel's pipe that is the same.
fn kernel_state(state: State) -> State {
    match state {
        WriterShut => WriterGone,
        WriterShutData => WriterGoneData,
        ReaderShut => ReaderGone,
        ReaderShutFull => ReaderGoneFull,
        state => state,
    }
}

const AT_READER: [State; 6] = [Nothing, Data, WriterGone, WriterGoneData, WriterShut, WriterShutData];
const AT_WRITER: [State; 7] = [Nothing, Full, RoomAgain, ReaderGone, ReaderGoneFull, ReaderShut, ReaderShutFull];

/// A pipe of either kind, as far as the tests use it.
trait Pipe: Sized {
    type Reader: AsFd;
    type Writer: AsFd;
    fn open() -> (Self::Reader, Self::Writer);
    fn fill(writer: &mut Self::Writer);
    fn write(writer: &mut Self::Writer);
    /// Reads until nothing is there.
    fn drain(reader: &mut Self::Reader);
    fn shut(reader: Option<&mut Self::Reader>, writer: Option<&mut Self::Writer>);
}

struct Kernel;

impl Pipe for Kernel {
    type Reader = std::io::PipeReader;
    type Writer = std::io::PipeWriter;

    fn open() -> (Self::Reader, Self::Writer) {
        std::io::pipe().expect("pipe")
    }

    fn fill(writer: &mut Self::Writer) {
        nonblocking(writer.as_fd(), true);
        while writer.write(&[0; 4096]).is_ok() {}
        nonblocking(writer.as_fd(), false);
    }

    fn write(writer: &mut Self::Writer) {
        writer.write_all(b"data").expect("room");
    }

    fn drain(reader: &mut Self::Reader) {
        nonblocking(reader.as_fd(), true);
        while reader.read(&mut [0; 65536]).is_ok_and(|count| count > 0) {}
        nonblocking(reader.as_fd(), false);
    }

    fn shut(_: Option<&mut Self::Reader>, _: Option<&mut Self::Writer>) {
        unreachable!("see kernel_state");
    }
}

fn nonblocking(fd: BorrowedFd<'_>, on: bool) {
    let flags = flags_of(fd);
    let flags = if on { flags | libc::O_NONBLOCK } else { flags & !libc::O_NONBLOCK };
    // SAFETY: changes a flag of an open file.
    unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&fd), libc::F_SETFL, flags) };
}

fn flags_of(fd: BorrowedFd<'_>) -> libc::c_int {
    // SAFETY: asks for flags of an open file.
    unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&fd), libc::F_GETFL) }
}

struct Streams;

impl Pipe for Streams {
    type Reader = Stream;
    type Writer = Stream;

    fn open() -> (Stream, Stream) {
        let (writer, reader) = pipe().expect("pipe");
        writer.set_nonblocking(true).expect("arm");
        reader.set_nonblocking(true).expect("arm");
        (reader, writer)
    }

    fn fill(writer: &mut Stream) {
        while writer.write(&[0; 4096]).is_ok() {}
    }

    fn write(writer: &mut Stream) {
        assert_eq!(Stream::write(writer, b"data").expect("room"), 4);
    }

    fn drain(reader: &mut Stream) {
        while reader.read(&mut [0; 65536]).is_ok_and(|count| count > 0) {}
    }

    fn shut(reader: Option<&mut Stream>, writer: Option<&mut Stream>) {
        if let Some(reader) = reader {
            reader.shutdown(Shutdown::Read).expect("shutdown");
        }
        if let Some(writer) = writer {
            writer.shutdown(Shutdown::Write).expect("shutdown");
        }
    }
}

fn prepare<P: Pipe>(state: State, writer: &mut P::Writer) {
    match state {
        Full | RoomAgain | ReaderGoneFull | ReaderShutFull => P::fill(writer),
        WriterGoneData | WriterShutData => P::write(writer),
        _ => {}
    }
}

/// Does what brings the state about, at the end that is not looked at.
fn cause_at_writer<P: Pipe>(state: State, mut writer: P::Writer) -> Option<P::Writer> {
    match state {
        Data => P::write(&mut writer),
        WriterGone | WriterGoneData => return None,
        WriterShut | WriterShutData => P::shut(None, Some(&mut writer)),
        _ => {}
    }
    Some(writer)
}

fn cause_at_reader<P: Pipe>(state: State, mut reader: P::Reader) -> Option<P::Reader> {
    match state {
        RoomAgain => P::drain(&mut reader),
        ReaderGone | ReaderGoneFull => return None,
        ReaderShut | ReaderShutFull => P::shut(Some(&mut reader), None),
        _ => {}
    }
    Some(reader)
}

/// When it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Before,
    /// By the death of a process, before the look.
    ByDeath,
    During,
}

const LATER: Duration = Duration::from_millis(30);
const SOON: Duration = Duration::from_secs(8);
const IN_VAIN: Duration = Duration::from_millis(200);

/// Whether select(2) says that the end can be read, or written (select(2), "Correspondence between select() and poll()").
fn is_ready(events: i16, wanted: i16) -> bool {
    let told = if wanted == libc::POLLIN {
        libc::POLLIN | libc::POLLHUP | libc::POLLERR
    } else {
        libc::POLLOUT | libc::POLLERR
    };
    events & told != 0
}

/// Brings a pipe into a state, and looks at one end. `look` gets the end, and how long it may wait.
fn look<P: Pipe, E: AsFd, O: AsFd + Send>(
    when: When,
    mut end: E,
    other: O,
    cause: impl FnOnce(O) -> Option<O> + Send,
    look: impl FnOnce(&mut E, Duration) -> bool,
    wait: Duration,
) -> bool {
    match when {
        When::Before => {
            let _other = cause(other);
            look(&mut end, Duration::ZERO)
        }
        When::ByDeath => {
            // Its parent has no copy of the other end.
            let mut peer = child(|| {
                std::mem::forget(cause(other));
                headwater_os::child::kill_self()
            });
            peer.wait().expect("wait");
            look(&mut end, Duration::ZERO)
        }
        When::During => std::thread::scope(|scope| {
            let other = scope.spawn(move || {
                std::thread::sleep(LATER);
                cause(other)
            });
            let seen = look(&mut end, wait);
            drop(other.join());
            seen
        }),
    }
}

/// The answer of raw poll(2) at a pipe.
fn raw<P: Pipe>(state: State, when: When, wanted: i16, wait: Duration) -> bool
where
    P::Reader: Send,
    P::Writer: Send,
{
    let (reader, mut writer) = P::open();
    prepare::<P>(state, &mut writer);
    // Until the wanted event, or the time is over: others that are always reported do not end it.
    let ready = |fd: BorrowedFd<'_>, wait: Duration| {
        let end = Instant::now() + wait;
        loop {
            if is_ready(polled(fd, wanted, end.saturating_duration_since(Instant::now())), wanted) {
                return true;
            }
            if Instant::now() >= end {
                return false;
            }
        }
    };
    if wanted == libc::POLLIN {
        look::<P, _, _>(
            when,
            reader,
            writer,
            |writer| cause_at_writer::<P>(state, writer),
            |end, wait| ready(end.as_fd(), wait),
            wait,
        )
    } else {
        look::<P, _, _>(
            when,
            writer,
            reader,
            |reader| cause_at_reader::<P>(state, reader),
            |end, wait| ready(end.as_fd(), wait),
            wait,
        )
    }
}

/// The answer of the stream's own poll.
fn own(state: State, when: When, wanted: i16, wait: Duration) -> bool {
    let (reader, mut writer) = Streams::open();
    prepare::<Streams>(state, &mut writer);
    let poll = |end: &mut Stream, wait: Duration| {
        // STREAMS: a hang-up excludes POLLOUT, and a write fails at once.
        let told = if wanted == libc::POLLIN { Events::IN } else { Events::OUT } | Events::HUP | Events::ERR;
        let asked = if wanted == libc::POLLIN { Events::IN } else { Events::OUT };
        end.poll(asked, Some(wait)).expect("poll").intersects(told)
    };
    if wanted == libc::POLLIN {
        look::<Streams, _, _>(when, reader, writer, |writer| cause_at_writer::<Streams>(state, writer), poll, wait)
    } else {
        look::<Streams, _, _>(when, writer, reader, |reader| cause_at_reader::<Streams>(state, reader), poll, wait)
    }
}

fn compare(when: When) {
    for (wanted, states) in [(libc::POLLIN, &AT_READER[..]), (libc::POLLOUT, &AT_WRITER[..])] {
        for state in states {
            // A process that dies takes its end with it.
            let is_by_shutdown = *state != kernel_state(*state);
            let stays = matches!(state, Nothing | Data | Full | RoomAgain);
            if when == When::ByDeath && (is_by_shutdown || stays) {
                continue;
            }
            let expected = raw::<Kernel>(kernel_state(*state), When::Before, wanted, Duration::ZERO);
            let wait = if expected { SOON } else { IN_VAIN };
            assert_eq!(
                raw::<Kernel>(kernel_state(*state), when, wanted, wait),
                expected,
                "the kernel's pipe: {state:?} {when:?}"
            );
            assert_eq!(
                raw::<Streams>(*state, when, wanted, wait),
                expected,
                "poll(2) of the descriptor: {state:?} {when:?}"
            );
            assert_eq!(own(*state, when, wanted, wait), expected, "poll of the stream: {state:?} {when:?}");
        }
    }
}

#[test]
fn the_descriptor_and_poll_agree_with_the_kernel_s_pipe() {
    // A process that another test starts has a copy of both ends for a moment.
    in_own_process!();
    compare(When::Before);
}

#[test]
fn a_death_shows_as_at_the_kernel_s_pipe() {
    in_own_process!();
    compare(When::ByDeath);
}

#[test]
fn a_wait_ends_as_at_the_kernel_s_pipe() {
    in_own_process!();
    compare(When::During);
}
