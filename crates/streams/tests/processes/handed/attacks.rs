//! A process without rights hands a process of root a stream, so that root does what that process could not.

use std::fs::{File, Permissions};
use std::io::Read;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use headwater_os::abstract_socket::{self, Listener};
use headwater_os::child::Child;
use headwater_os::descriptors;
use headwater_os::doorbell::Doorbell;
use headwater_os::files;
use headwater_os::shared_files::SharedFiles;
use headwater_streams::attach::AttachedOptions;
use headwater_streams::drivers::major;
use headwater_streams::drivers::sad::{SAD_GAP, SAD_SAP, SadCommand, SadRequest};
use headwater_streams::tpi::{InternetAddress, Primitive, PrimitiveNumber, TransportError};
use headwater_streams::{Device, DeviceOptions, Errno, Events, IoctlTimeout, Result, Stream, register};

use super::{PATIENCE, ask_for_credentials, descriptors_of};
use crate::common::users::{NOBODY, become_user, holder, is_root, public_place};
use crate::common::{calm, in_own_process, private_directory, within};
use crate::datagrams::Delay;

/// A directory that every user may search.
fn public() -> tempfile::TempDir {
    let directory = tempfile::tempdir_in(public_place()).expect("a directory");
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("chmod");
    directory
}

/// A connection of TCP whose bytes wait for room, with a local socket to a service in the place of its own.
fn connection_to_service(service: &Path) -> Result<(Stream, impl Sized)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = InternetAddress::from(listener.local_addr()?);
    let stream = Device::open_private("inet-tcp")?;
    stream.putmsg(Some(&Primitive::BindReq { address: b"", waiting: 0 }.encode()), None)?;
    stream.receive()?;
    stream.putmsg(Some(&Primitive::ConnReq { destination: address.bytes(), options: b"" }.encode()), None)?;
    let (peer, _) = listener.accept()?;
    for _ in 0..2 {
        stream.receive()?;
    }
    stream.set_nonblocking(true)?;
    while stream.write(&[b'!'; 4096]).is_ok() {}
    let mut own = descriptors_of(&stream);
    let shared = SharedFiles::from_fds([own.remove(3), own.remove(3)]).expect("a pair");
    let socket = UnixStream::connect(service)?;
    socket.set_nonblocking(true)?;
    let version = shared.copy()?.version.wrapping_add(1);
    let mut all = [None; headwater_os::shared_files::PLACES];
    all[0] = Some(socket.as_fd());
    shared.replace(version, all)?;
    Ok((stream, (peer, shared)))
}

#[test]
fn a_service_gets_no_byte_with_roots_credentials() {
    in_own_process!();
    if !is_root() {
        return;
    }
    within(PATIENCE, "a local socket in the place of a connection's".to_owned());
    let directory = public();
    let path = directory.path().join("service");
    let service = UnixListener::bind(&path).expect("free");
    ask_for_credentials(service.as_fd());
    std::fs::set_permissions(&path, Permissions::from_mode(0o777)).expect("chmod");
    let (here, there) = UnixStream::pair().expect("sockets");
    let _attacker: Child = holder(|| {
        become_user(NOBODY);
        let made = connection_to_service(&path)?;
        for _ in 0..2 {
            made.0.send_over(&here)?;
        }
        Ok(made)
    });
    let (mut seen, _) = service.accept().expect("the attacker has connected");
    seen.set_nonblocking(true).expect("a socket");
    let expect_nothing = |seen: &mut UnixStream| {
        let error = seen.read(&mut [0; 64]).expect_err("bytes came with the credentials of root");
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    };
    // A receiver of streams does not ask for a driver.
    assert_eq!(Stream::receive_over(&there).expect_err("a device").errno(), Errno::Acces);
    // One that asks for this driver gets the stream, and uses no such file.
    let stream = Device::receive_over("inet-tcp", &there).expect("it was asked for");
    stream.set_nonblocking(true).expect("no call is under way");
    for _ in 0..5 {
        let polled = stream.poll(Events::OUT | Events::IN, Some(Duration::from_millis(20)));
        let _ = stream.write(b"from root");
        expect_nothing(&mut seen);
        assert_eq!(polled.expect_err("a wrong file").errno(), Errno::Proto);
    }
    // Nor does the library's thread, which serves a driver's files.
    assert!(stream.read(&mut [0; 8]).is_err());
    std::thread::sleep(Duration::from_millis(50));
    expect_nothing(&mut seen);
    calm();
}

#[test]
fn a_service_gets_no_bell_of_root() {
    in_own_process!();
    if !is_root() {
        return;
    }
    within(PATIENCE, "a connection to a service in the place of a doorbell".to_owned());
    let name = format!("headwater-test-bell-{}", std::process::id());
    let listener = Listener::bind(&name).expect("free");
    let (here, there) = UnixStream::pair().expect("sockets");
    let _attacker = holder(|| {
        become_user(NOBODY);
        let client = OwnedFd::from(abstract_socket::connect(&name, PATIENCE)?);
        let (near, _far) = headwater_streams::pipe()?;
        let own = descriptors_of(&near);
        let old = Doorbell::from_fd(own[0].try_clone()?)?.cookie()?.to_ne_bytes();
        // The header says that the client's socket is the end's.
        let memory = File::from(own[1].try_clone()?);
        let mut header = [0; 256];
        memory.read_exact_at(&mut header, 0)?;
        let at = (0..248).step_by(8).find(|at| header[*at..*at + 8] == old).expect("the header has it");
        memory.write_all_at(&cookie_of(&client).to_ne_bytes(), at as u64)?;
        descriptors::send(here.as_fd(), &[client.as_fd(), memory.as_fd()])?;
        Ok((client, near))
    });
    let served = listener.accept().expect("accept").expect("the attacker has connected");
    ask_for_credentials(served.as_fd());
    let taken = Stream::receive_over(&there);
    if let Ok(stream) = &taken {
        stream.set_nonblocking(true).expect("no call is under way");
        let _ = (stream.write(b"x"), stream.read(&mut [0; 8]));
    }
    assert_eq!(
        abstract_socket::receive_now(&served).ok().flatten(),
        None,
        "a packet came with the credentials of root"
    );
    assert_eq!(taken.expect_err("no pair of sockets").errno(), Errno::Nostr);
    calm();
}

fn cookie_of(socket: &OwnedFd) -> u64 {
    let (mut cookie, mut len) = (0u64, 8);
    // SAFETY: the kernel writes the eight bytes of a cookie.
    let done = unsafe {
        let (name, place) = (libc::SO_COOKIE, (&raw mut cookie).cast());
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, name, place, &raw mut len)
    };
    assert_eq!(done, 0);
    cookie
}

/// What is in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("readable");
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn root_creates_no_file_in_a_directory_that_a_stream_brings() {
    in_own_process!();
    if !is_root() {
        return;
    }
    within(PATIENCE, "a directory of root in the place of a stream's".to_owned());
    let place = public();
    let [of_root, of_attacker] = ["of-root", "of-attacker"].map(|name| place.path().join(name));
    for path in [&of_root, &of_attacker] {
        std::fs::create_dir(path).expect("mkdir");
        std::fs::set_permissions(path, Permissions::from_mode(0o700)).expect("chmod");
    }
    std::os::unix::fs::chown(&of_attacker, Some(NOBODY), Some(NOBODY)).expect("chown");
    // Root's own directory of devices is one that root finds by its path.
    let own = private_directory();
    let options = DeviceOptions::new().directory(own.path());
    let (here, there) = UnixStream::pair().expect("sockets");
    let _attacker = holder(|| {
        become_user(NOBODY);
        let theirs = DeviceOptions::new().directory(&of_attacker);
        let streams = [theirs.open("sad")?, theirs.open("log")?];
        let directory = files::find_directory(&of_root)?;
        for stream in &streams {
            stream.send_over(&here)?;
            // The directory in the place of each descriptor, and behind them.
            let own: Vec<OwnedFd> = descriptors_of(stream);
            for place in 0..=own.len() {
                let mut files: Vec<_> = own.iter().map(AsFd::as_fd).collect();
                match files.get_mut(place) {
                    Some(file) => *file = directory.as_fd(),
                    None => files.push(directory.as_fd()),
                }
                descriptors::send(here.as_fd(), &files)?;
            }
        }
        Ok(streams)
    });
    let counts = [("sad", 5), ("log", 7)];
    for (driver, count) in counts {
        for _ in 0..count {
            let stream = match options.receive_over(driver, &there) {
                Ok(stream) => stream,
                Err(error) => {
                    assert!(matches!(error.errno(), Errno::Nostr | Errno::Proto | Errno::Acces), "{error:?}");
                    continue;
                }
            };
            if driver == "sad" {
                for (command, request) in
                    [(SAD_SAP, SadCommand::All), (SAD_SAP, SadCommand::Clear), (SAD_GAP, SadCommand::Clear)]
                {
                    let request = SadRequest::new(request, major("echo")).modules(["nullmod"]);
                    let mut bytes = request.bytes().expect("short names").to_vec();
                    let error =
                        stream.ioctl(command, &mut bytes, IoctlTimeout::Usual).expect_err("another's directory");
                    assert_eq!(error.errno(), Errno::Acces, "{error}");
                }
            } else {
                let error = stream.ioctl(headwater_streams::drivers::log::ERRLOG, &mut Vec::new(), IoctlTimeout::Usual);
                assert_eq!(error.expect_err("another's directory").errno(), Errno::Acces);
                let control = headwater_streams::drivers::log::LogControl::new(
                    1,
                    headwater_streams::drivers::log::LogFlags::ERROR,
                );
                let _ = stream.putmsg(Some(&control.bytes()), Some(b"from root"));
            }
        }
    }
    assert_eq!(names(&of_root), [""; 0], "root has created a file");
    assert_eq!(names(&of_attacker).iter().filter(|name| name.starts_with(".autopush")).count(), 0);
    assert_eq!(options.open("echo").expect("known").modules().list().expect("its modules"), ["echo"], "root's devices");
    assert!(!names(own.path()).iter().any(|name| name.starts_with(".autopush")));
    calm();
}

#[test]
fn a_request_of_sad_that_waited_in_a_queue_configures_nothing() {
    in_own_process!();
    within(PATIENCE, "a request through a module".to_owned());
    let directory = private_directory();
    let options = DeviceOptions::new().directory(directory.path());
    let sad = options.open("sad").expect("open");
    let mut request =
        SadRequest::new(SadCommand::All, major("echo")).modules(["nullmod"]).bytes().expect("short").to_vec();
    register(Delay).expect("new");
    sad.push("delay").expect("known");
    let error = sad.ioctl(SAD_SAP, &mut request, IoctlTimeout::Usual).expect_err("any process may have queued it");
    assert_eq!(error.errno(), Errno::Perm);
    assert_eq!(options.open("echo").expect("known").modules().list().expect("its modules"), ["echo"]);
    sad.pop().expect("there");
    sad.ioctl(SAD_SAP, &mut request, IoctlTimeout::Usual).expect("the owner's own");
    assert_eq!(options.open("echo").expect("known").modules().list().expect("its modules"), ["nullmod", "echo"]);
    calm();
}

#[test]
fn a_bind_that_waited_in_a_queue_opens_no_raw_socket() {
    in_own_process!();
    if !is_root() {
        return;
    }
    within(PATIENCE, "a bind through a module".to_owned());
    let protocol = InternetAddress::from("127.0.0.1:253".parse::<std::net::SocketAddr>().unwrap());
    let bind = Primitive::BindReq { address: protocol.bytes(), waiting: 0 }.encode();
    let endpoint = Device::open_private("inet-rawip").expect("known");
    register(Delay).expect("new");
    endpoint.push("delay").expect("known");
    endpoint.putmsg(Some(&bind), None).expect("room");
    let answer = endpoint.receive().expect("an answer").expect("one");
    let refused = Primitive::ErrorAck { of: PrimitiveNumber::BindReq, error: TransportError::Access, errno: 0 };
    assert_eq!(Primitive::decode(answer.control().unwrap()), Ok(refused), "any process may have queued it");
    endpoint.pop().expect("there");
    endpoint.putmsg(Some(&bind), None).expect("room");
    let answer = endpoint.receive().expect("an answer").expect("one");
    assert!(matches!(Primitive::decode(answer.control().unwrap()), Ok(Primitive::BindAck { .. })), "{answer:?}");
    calm();
}

#[test]
fn a_device_that_another_user_has_attached_is_opened_by_a_user_that_asks_for_it() {
    in_own_process!();
    if !is_root() {
        return;
    }
    within(PATIENCE, "a device of another user behind a name".to_owned());
    let directory = public();
    let path = directory.path().join("name");
    std::fs::write(&path, "").expect("write");
    std::fs::set_permissions(&path, Permissions::from_mode(0o666)).expect("chmod");
    std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).expect("chown");
    let _holder = holder(|| {
        become_user(NOBODY);
        let device = Device::open_private("echo")?;
        device.attach_to(&path)?;
        Ok(device)
    });
    assert_eq!(Stream::open_attached(&path).expect_err("it was not asked for").errno(), Errno::Acces);
    let error = AttachedOptions::new().driver("loop").open(&path).expect_err("another driver's");
    assert_eq!(error.errno(), Errno::Acces);
    let stream = AttachedOptions::new().driver("echo").open(&path).expect("asked for").expect("attached");
    stream.write(b"hello").expect("room");
    assert_eq!(stream.read(&mut [0; 8]).expect("there"), 5);
    calm();
}
