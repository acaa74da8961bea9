//! Descriptors that another process hands over, by kinds that they must not be: the receiver gets an error, and nothing is sent, created,
//! waited for or broken on the way.

mod attacks;

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use headwater_os::abstract_socket::{self, Listener};
use headwater_os::descriptors;
use headwater_os::file_facts::is_nonblocking;
use headwater_os::files;
use headwater_os::shared_files::{PLACES, SharedFiles};
use headwater_streams::tpi::Primitive;
use headwater_streams::{Access, Device, DeviceOptions, Errno, Events, Fifo, FifoOptions, Result, Stream, pipe};

use crate::common::{calm, in_own_process, private_directory, within};

const PATIENCE: Duration = Duration::from_secs(60);
/// No call with a wrong descriptor lasts longer, on a busy machine too.
const SOON: Duration = Duration::from_secs(5);

/// Files of every kind that a descriptor may be of.
struct Wrong {
    /// What they are called, and a descriptor of each.
    files: Vec<(&'static str, OwnedFd)>,
    /// The ends of those that would show what is sent.
    service: OwnedFd,
    peer: UnixStream,
    connected: TcpStream,
    source: File,
}

fn made(number: i32) -> OwnedFd {
    assert!(number >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the kernel has just made it.
    unsafe { OwnedFd::from_raw_fd(number) }
}

impl Wrong {
    fn make(directory: &Path) -> Wrong {
        // A service with the credentials of its senders, as a root service has them.
        let name = format!("headwater-test-handed-{}", std::process::id());
        let listener = Listener::bind(&name).expect("free");
        let client = OwnedFd::from(abstract_socket::connect(&name, PATIENCE).expect("it listens"));
        let service = OwnedFd::from(listener.accept().expect("accept").expect("it has come"));
        ask_for_credentials(service.as_fd());
        let (unix, peer) = UnixStream::pair().expect("pair");
        ask_for_credentials(peer.as_fd());
        let tcp_listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let tcp = TcpStream::connect(tcp_listener.local_addr().expect("bound")).expect("it listens");
        let (connected, _) = tcp_listener.accept().expect("it has come");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let (read_end, sink) = std::io::pipe().expect("pipe");
        let plain = directory.join("plain");
        std::fs::write(&plain, "untouched").expect("write");
        let fifo = directory.join("fifo");
        files::make_fifo(&fifo, 0o600).expect("mkfifo");
        let read_write = |path: &Path| OpenOptions::new().read(true).write(true).open(path).expect("ours");
        let memory = c"headwater-stream".as_ptr();
        // SAFETY: the calls take numbers and a text, and make descriptors.
        let (memfd, eventfd, epoll, pidfd) = unsafe {
            (
                made(libc::memfd_create(memory, libc::MFD_ALLOW_SEALING | libc::MFD_CLOEXEC)),
                made(libc::eventfd(0, libc::EFD_CLOEXEC)),
                made(libc::epoll_create1(libc::EPOLL_CLOEXEC)),
                made(libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) as i32),
            )
        };
        let files = vec![
            ("a local socket", unix.into()),
            ("a local packet socket of a service", client),
            ("a local listening socket", listener.into()),
            ("a UDP socket that waits", udp.into()),
            ("a TCP socket that waits", tcp.into()),
            ("a TCP socket that listens and waits", tcp_listener.into()),
            ("a pipe to write", sink.into()),
            ("a pipe to read", read_end.try_clone().expect("dup").into()),
            ("a plain file", read_write(&plain).into()),
            ("a directory", File::open(directory).expect("ours").into()),
            ("a directory that is not opened", files::find_directory(directory).expect("ours")),
            ("a plain file that is not opened", path_only(&plain)),
            ("/dev/zero", read_write(Path::new("/dev/zero")).into()),
            ("memory that is not sealed", memfd),
            ("a counter of events", eventfd),
            ("an epoll set", epoll),
            ("a process", pidfd),
            ("a FIFO", read_write(&fifo).into()),
        ];
        Wrong { files, service, peer, connected, source: OwnedFd::from(read_end).into() }
    }

    /// Fails if any of them has got a byte or changed.
    fn expect_nothing_sent(&self, directory: &Path) {
        assert_eq!(abstract_socket::receive_now(&self.service).ok().flatten(), None, "a service got a packet");
        for (what, fd) in [("local", self.peer.as_fd()), ("TCP", self.connected.as_fd()), ("pipe", self.source.as_fd())]
        {
            let mut polled = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid pollfd.
            unsafe { libc::poll(&mut polled, 1, 0) };
            assert_eq!(polled.revents & libc::POLLIN, 0, "bytes came to the {what} end");
        }
        let mut plain = File::open(directory.join("plain")).expect("ours");
        let mut text = String::new();
        plain.read_to_string(&mut text).expect("text");
        assert_eq!(text, "untouched");
        let mut names: Vec<_> =
            std::fs::read_dir(directory).expect("ours").map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["fifo", "plain"], "a file was created");
    }
}

fn path_only(path: &Path) -> OwnedFd {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path).expect("found").into()
}

/// Has the kernel add the sender's credentials to what a socket receives.
fn ask_for_credentials(socket: BorrowedFd<'_>) {
    let on: libc::c_int = 1;
    // SAFETY: reads one int.
    let done = unsafe {
        let (on, len) = ((&raw const on).cast(), size_of_val(&on) as libc::socklen_t);
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PASSCRED, on, len)
    };
    assert_eq!(done, 0);
}

/// The descriptors of an end.
fn descriptors_of(end: &Stream) -> Vec<OwnedFd> {
    let (here, there) = UnixStream::pair().expect("sockets");
    end.send_over(&here).expect("room");
    descriptors::receive(there.as_fd()).expect("sent")
}

/// Has `take` take up the descriptors after one was exchanged for each wrong file, at each place.
fn refuses_each(
    what: &str,
    end: &Stream,
    directory: &Path,
    wrong: &Wrong,
    take: impl Fn(&UnixStream) -> Result<Stream>,
) {
    let own = descriptors_of(end);
    // As it is, it is taken.
    let (here, there) = UnixStream::pair().expect("sockets");
    let all = || own.iter().map(AsFd::as_fd).collect::<Vec<_>>();
    descriptors::send(here.as_fd(), &all()).expect("room");
    drop(take(&there).unwrap_or_else(|error| panic!("{what}: {error}")));
    for place in 0..own.len() {
        for (kind, file) in &wrong.files {
            let mut sent = all();
            sent[place] = file.as_fd();
            descriptors::send(here.as_fd(), &sent).expect("room");
            let start = Instant::now();
            let error = take(&there).expect_err(&format!("{what}: {kind} in the place of descriptor {place}"));
            assert!(
                matches!(error.errno(), Errno::Nostr | Errno::Proto | Errno::Acces),
                "{what}: {kind} in the place of descriptor {place}: {error:?}"
            );
            assert!(start.elapsed() < SOON, "{what}: {kind} at {place}: {:?}", start.elapsed());
        }
    }
    wrong.expect_nothing_sent(directory);
}

#[test]
fn a_stream_is_taken_up_only_with_descriptors_of_the_right_kinds() {
    in_own_process!();
    within(PATIENCE, "wrong descriptors in the place of a stream's".to_owned());
    let (devices, wrong_place) = (private_directory(), private_directory());
    let wrong = Wrong::make(wrong_place.path());
    let refuses = |what: &str, end: &Stream, take: &dyn Fn(&UnixStream) -> Result<Stream>| {
        refuses_each(what, end, wrong_place.path(), &wrong, take);
    };
    let (near, _far) = pipe().expect("pipe");
    refuses("a pipe", &near, &|socket| Stream::receive_over(socket));
    let options = DeviceOptions::new().directory(devices.path());
    for driver in ["echo", "loop", "inet-tcp"] {
        let device = Device::open_private(driver).expect("known");
        refuses(driver, &device, &|socket| Device::receive_over(driver, socket));
    }
    headwater_terminals::register().expect("free names");
    for driver in ["echo", "log", "sad", "udp", "ticots", "ptm"] {
        let device = options.open(driver).expect("known");
        refuses(&format!("{driver} by name"), &device, &|socket| options.receive_over(driver, socket));
    }
    let path = devices.path().join("fifo");
    files::make_fifo(&path, 0o600).expect("mkfifo");
    let reader = FifoOptions::new().nonblocking(true).open(&path, Access::Read).expect("ours");
    let writer = Fifo::open(&path, Access::Write).expect("it is read");
    refuses("a FIFO", &writer, &|socket| Stream::receive_over(socket));
    // Nothing is broken.
    writer.write(b"x").expect("room");
    assert_eq!(reader.read(&mut [0; 8]).expect("there"), 1);
    calm();
}

#[test]
fn a_drivers_files_are_of_the_kinds_that_it_declares() {
    in_own_process!();
    within(PATIENCE, "wrong files among a driver's".to_owned());
    let (devices, wrong_place) = (private_directory(), private_directory());
    let wrong = Wrong::make(wrong_place.path());
    let options = DeviceOptions::new().directory(devices.path());
    let open = |driver: &str| {
        if driver == "log" || driver == "udp" { options.open(driver) } else { Device::open_private(driver) }
    };
    for (driver, place, fitting) in [
        ("inet-tcp", 0, &[][..]),
        ("inet-tcp", 1, &[]),
        ("inet-tcp", 7, &[]),
        ("inet-udp", 0, &[]),
        ("inet-udp", 1, &[]),
        ("inet-rawip", 0, &[]),
        ("udp", 0, &[]),
        // A mailbox is a FIFO, and the table a plain file: which one is checked where it is used.
        ("log", 0, &["a pipe to write", "a pipe to read", "a FIFO"]),
        ("log", 1, &["a plain file", "memory that is not sealed"]),
        ("log", 2, &[]),
    ] {
        for (kind, file) in &wrong.files {
            let what = format!("{driver}, place {place}: {kind}");
            let stream = open(driver).expect("known");
            if driver == "udp" {
                // It has no file before.
                stream.putmsg(Some(&Primitive::BindReq { address: b"", waiting: 0 }.encode()), None).expect("room");
            }
            let mut own = descriptors_of(&stream);
            let pair: [OwnedFd; 2] = own.split_off(own.len() - 2).try_into().expect("two");
            let shared = SharedFiles::from_fds(pair).expect("a pair");
            let copied = shared.copy().expect("readable");
            let mut all: [Option<BorrowedFd<'_>>; PLACES] =
                copied.files.each_ref().map(|file| file.as_ref().map(AsFd::as_fd));
            all[place] = Some(file.as_fd());
            shared.replace(copied.version.wrapping_add(1), all).expect("room");
            // A process that has none of the files yet.
            let (here, there) = UnixStream::pair().expect("sockets");
            stream.send_over(&here).expect("room");
            drop(stream);
            let stream = options.receive_over(driver, &there).expect("the stream itself is right");
            stream.set_nonblocking(true).expect("no call is under way");
            let start = Instant::now();
            let polled = stream.poll(Events::IN | Events::OUT, Some(Duration::from_millis(1)));
            if !fitting.contains(kind) {
                let errno = polled.expect_err(&what).errno();
                assert!(matches!(errno, Errno::Proto | Errno::Acces), "{what}: {errno:?}");
            }
            // Errors, perhaps, and nothing worse.
            let _ = stream.write(b"x");
            let _ = stream.putmsg(Some(&[1; 24]), Some(b"x"));
            let _ = stream.read(&mut [0; 8]);
            assert!(start.elapsed() < SOON, "{what}: {:?}", start.elapsed());
            drop(stream);
            assert!(
                !kind.contains("that waits") || !is_nonblocking(file).expect("open"),
                "{what}: its flags were changed"
            );
        }
        wrong.expect_nothing_sent(wrong_place.path());
    }
    calm();
}
