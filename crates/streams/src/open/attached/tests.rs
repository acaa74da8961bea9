//! Holders that are hostile: what they answer is input.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use headwater_os::abstract_socket::{self, Listener};
use headwater_os::{descriptors, discard, files};

use super::node::{Challenge, Marks};
use super::*;
use crate::error::Errno;
use crate::pipe::pipe;

/// One at a time: they count descriptors.
static ALONE: Mutex<()> = Mutex::new(());

fn file() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("name");
    File::create(&path).expect("create");
    (directory, path)
}

/// Opens the name, whose holder does what `acts` does with each connection.
fn open_with(options: AttachedOptions, acts: impl Fn(OwnedFd) + Sync) -> Result<Option<Stream>> {
    let (_directory, path) = file();
    let node = node::open_to_attach(&find_plain(&path).expect("a plain file")).expect("own");
    let (marks, listener) = Marks::set(node).expect("nothing is attached");
    std::thread::scope(|scope| {
        let opener = scope.spawn(|| {
            let opened = options.open(&path);
            // Ends the other thread.
            let _ = listener.end();
            opened
        });
        scope.spawn(|| {
            while let Ok(Some(socket)) = wait_and_accept(&listener) {
                acts(socket);
            }
        });
        let opened = opener.join().expect("no panic");
        drop(marks);
        opened
    })
}

fn wait_and_accept(listener: &Listener) -> std::io::Result<Option<OwnedFd>> {
    listener.wait()?;
    Ok(listener.accept()?.map(OwnedFd::from))
}

/// Goes through the protocol, and then sends these bytes and files.
fn answering<'a>(bytes: &'a [u8], files: &'a [BorrowedFd<'a>]) -> impl Fn(OwnedFd) + Sync + 'a {
    move |socket| {
        let challenge = Challenge::new().expect("getrandom");
        abstract_socket::send(&socket, &challenge.bytes()).expect("it waits");
        let mut request = [0; 1];
        let _ = abstract_socket::receive(&socket, &mut request, Duration::from_secs(5));
        let _ = descriptors::send_with(socket.as_fd(), bytes, files);
    }
}

#[test]
fn answers_that_are_no_stream_are_refused_and_closed() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let null = File::open("/dev/null").expect("open");
    let (source, _sink) = files::shared_pipe().expect("pipe");
    let (near, far) = pipe().expect("pipe");
    let (other, _another) = pipe().expect("pipe");
    let (bell, memory) = {
        let handle = near.new_handle();
        let mut files = handle.end.endpoint.descriptors().map(|fd| fd.try_clone_to_owned().expect("dup"));
        (files.next().expect("a doorbell"), files.next().expect("memory"))
    };
    let strange_memory = other.new_handle().end.region.as_fd().try_clone_to_owned().expect("dup");
    let cases: [(&[u8], &[BorrowedFd<'_>]); 12] = [
        (b"s\0\0\0\0", &[]),
        (b"s\0\0\0\0", &[null.as_fd()]),
        (b"s\0\0\0\0", &[null.as_fd(), null.as_fd()]),
        (b"s\0\0\0\0", &[source.as_fd(), memory.as_fd(), null.as_fd()]),
        (b"s\0\0\0\0", &[bell.as_fd(), null.as_fd()]),
        (b"s\0\0\0\0", &[bell.as_fd(), strange_memory.as_fd()]),
        (b"c\0\0\0\0", &[memory.as_fd(), bell.as_fd()]),
        (b"c\0\0\0\0", &[bell.as_fd(), memory.as_fd(), null.as_fd(), null.as_fd()]),
        (b"d\0\0\0\0", &[]),
        (b"x\0\0\0\0", &[bell.as_fd(), memory.as_fd()]),
        (b"s", &[bell.as_fd(), memory.as_fd()]),
        (b"e\0\0\0\x7f", &[]),
    ];
    // Descriptors of files that no other test has.
    let file =
        |number: u32| std::fs::metadata(format!("/proc/self/fd/{number}")).map(|file| (file.dev(), file.ino())).ok();
    let ours = [source.as_fd(), bell.as_fd(), memory.as_fd(), strange_memory.as_fd()]
        .map(|fd| file(fd.as_raw_fd().unsigned_abs()).expect("it is open"));
    let count = || {
        let all = descriptors::own().expect("/proc").into_iter();
        all.filter_map(|found| file(found.number)).filter(|file| ours.contains(file)).count()
    };
    let before = count();
    for (bytes, files) in cases {
        let refused = open_with(AttachedOptions::new(), answering(bytes, files)).expect_err("no stream");
        assert_eq!(refused.errno(), Errno::Proto, "{bytes:?} with {} files: {refused}", files.len());
    }
    assert_eq!(count(), before);
    let opened = open_with(AttachedOptions::new(), answering(b"s\0\0\0\0", &[bell.as_fd(), memory.as_fd()]));
    opened.expect("no error").expect("this one is a stream").write(b"x").expect("room");
    assert_eq!(far.read(&mut [0; 8]).expect("there"), 1);
    let refused = open_with(AttachedOptions::new(), answering(b"e\x10\0\0\0", &[])).expect_err("refused");
    assert_eq!(refused.errno(), Errno::Busy);
}

/// A file whose last close takes as long as its sender likes.
#[test]
fn what_a_holder_sends_is_closed_without_waiting() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for count in [1, 2, 7] {
        let begin = Instant::now();
        let peers = Mutex::new(Vec::new());
        let refused = open_with(AttachedOptions::new(), |socket| {
            let (files, others): (Vec<_>, Vec<_>) = (0..count).map(|_| discard::lingering_socket()).unzip();
            peers.lock().expect("no panic").extend(others);
            answering(b"s\0\0\0\0", &files.iter().map(AsFd::as_fd).collect::<Vec<_>>())(socket);
            // The holder's own copies may be the last.
            discard::files(files);
        });
        assert!(refused.is_err(), "no stream came");
        assert!(begin.elapsed() < Duration::from_secs(10), "{count}: {:?}", begin.elapsed());
    }
}

#[test]
fn a_holder_that_is_silent_or_leaves_is_not_waited_for_for_ever() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let kept = Mutex::new(Vec::new());
    let keep = |socket: OwnedFd| kept.lock().expect("no panic").push(socket);
    // It says nothing; it says nothing after the challenge; it lets wait and leaves; it leaves at once.
    let challenged = |socket: OwnedFd| {
        let _ = abstract_socket::send(&socket, &[0; 8]);
        keep(socket);
    };
    let leaves = |socket: OwnedFd| drop(socket);
    let strange = |socket: OwnedFd| {
        let _ = abstract_socket::send(&socket, b"no challenge");
    };
    let waits = answering(b"w\0\0\0\0", &[]);
    type Acts<'a> = &'a (dyn Fn(OwnedFd) + Sync);
    let cases: [(&str, Acts<'_>, Errno); 5] = [
        ("silent", &keep, Errno::Busy),
        ("silent after the challenge", &challenged, Errno::Busy),
        ("lets wait and leaves", &waits, Errno::Nxio),
        ("leaves", &leaves, Errno::Nxio),
        ("says something else", &strange, Errno::Proto),
    ];
    for (what, acts, errno) in cases {
        let begin = Instant::now();
        let refused = open_with(AttachedOptions::new(), acts).expect_err("no stream");
        assert_eq!(refused.errno(), errno, "{what}: {refused}");
        assert!(begin.elapsed() < Duration::from_secs(10), "{what}: {:?}", begin.elapsed());
    }
    let refused = open_with(AttachedOptions::new().nonblocking(true), |socket| {
        let challenge = Challenge::new().expect("getrandom");
        let _ = abstract_socket::send(&socket, &challenge.bytes());
        let _ = abstract_socket::receive(&socket, &mut [0; 1], Duration::from_secs(5));
        let _ = abstract_socket::send(&socket, b"w\0\0\0\0");
        keep(socket);
    });
    assert_eq!(refused.expect_err("no connection comes").errno(), Errno::Again);
}

#[test]
fn visitors_that_ask_for_nothing_or_prove_nothing_get_nothing_and_are_in_no_way() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (_directory, path) = file();
    let (near, far) = pipe().expect("pipe");
    far.attach_to(&path).expect("own");
    let node = find_plain(&path).expect("a plain file");
    let looks = node::open_to_look(&node).expect("own");
    let node::Look::Marked(tokens) = node::look(&looks).expect("fcntl") else { panic!("it is attached") };
    let name = node::socket_name(node::identity(&node).expect("fstat"), tokens[0]);
    let connect = || loop {
        match abstract_socket::connect(&name, Duration::from_secs(5)) {
            Ok(socket) => break OwnedFd::from(socket),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    // More than the holder keeps.
    let silent: Vec<OwnedFd> = (0..300).map(|_| connect()).collect();
    let begin = Instant::now();
    let opened = Stream::open_attached(&path).expect("no error").expect("it is attached");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    drop(silent);
    let challenge_of = |socket: &OwnedFd| {
        let mut bytes = [0; 8];
        assert_eq!(abstract_socket::receive(socket, &mut bytes, Duration::from_secs(5)).expect("a challenge"), 8);
        Challenge::of(bytes)
    };
    let answer = |socket: &OwnedFd| {
        let mut bytes = [0; 8];
        let count = abstract_socket::receive(socket, &mut bytes, Duration::from_secs(5)).expect("an answer");
        bytes[..count].to_vec()
    };
    let refused = {
        let [one, two, three, four] = Errno::Acces.number().to_le_bytes();
        [b'e', one, two, three, four]
    };
    let both = node::open_both(&node).expect("own");
    // Without a proof; with the proof of another connection.
    let (socket, other) = (connect(), connect());
    challenge_of(&socket);
    assert!(challenge_of(&other).answer(&both).expect("fcntl"));
    abstract_socket::send(&socket, b"o").expect("it listens");
    assert_eq!(answer(&socket), refused);
    abstract_socket::send(&other, b"o").expect("it listens");
    assert_eq!(answer(&other)[0], b's');
    // Nonsense, and files, which Linux 6.16 and later refuse to send there.
    for bytes in [&b"x"[..], b"oo", b""] {
        let socket = connect();
        challenge_of(&socket);
        let null = File::open("/dev/null").expect("open");
        if descriptors::send_with(socket.as_fd(), bytes, &[null.as_fd()]).is_err() {
            descriptors::send_with(socket.as_fd(), bytes, &[]).expect("it listens");
        }
        assert_eq!(answer(&socket), b"", "{bytes:?}");
    }
    opened.write(b"x").expect("room");
    assert_eq!(near.read(&mut [0; 8]).expect("there"), 1);
    detach(&path).expect("it is attached");
}
