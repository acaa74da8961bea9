//! `connld`: each process that opens the name gets a connection of its own.

use std::time::{Duration, Instant};

use headwater_os::files;
use headwater_streams::attach::{AttachedOptions, detach};
use headwater_streams::{Device, Errno, Stream, pipe};

use super::{PATIENCE, file, is_plain, open, reads};
use crate::common::{Interruptible, calm, child, expect_nothing_left, in_own_process, joined, open_things, within};

/// A server's end, whose other end is attached with connld.
fn server(path: &std::path::Path) -> Stream {
    let (server, named) = pipe().expect("pipe");
    named.push("connld").expect("known");
    named.attach_to(path).expect("own");
    server
}

#[test]
fn twenty_clients_get_a_connection_each() {
    in_own_process!();
    within(PATIENCE, "20 clients of a server".to_owned());
    let (_directory, path) = file();
    let before = open_things();
    let server = server(&path);
    let clients: Vec<_> = (0..20)
        .map(|number: u32| {
            child(|| {
                let connection = open(&path);
                connection.write(format!("{} {number}", std::process::id()).as_bytes())?;
                assert_eq!(reads(&connection), format!("answer to {number}"));
                assert_eq!(reads(&connection), "", "the end");
                Ok(())
            })
        })
        .collect();
    let own = (Some(files::own_user()), Some(files::own_group()));
    let connections: Vec<Stream> = (0..20)
        .map(|_| {
            let received = server.files().receive_from().expect("a client opens");
            assert_eq!((received.user, received.group), own);
            received.into_stream().expect("a connection")
        })
        .collect();
    let mut numbers: Vec<u32> = connections
        .iter()
        .zip(0..)
        .map(|(connection, _): (_, u32)| {
            let text = reads(connection);
            let number = text.split(' ').next_back().and_then(|number| number.parse().ok()).expect("a number");
            connection.write(format!("answer to {number}").as_bytes()).expect("the client waits");
            number
        })
        .collect();
    drop(connections);
    numbers.sort_unstable();
    assert_eq!(numbers, (0..20).collect::<Vec<_>>());
    clients.into_iter().for_each(joined);
    detach(&path).expect("it is attached");
    drop(server);
    expect_nothing_left(before);
    calm();
}

#[test]
fn an_open_waits_until_the_server_has_received_the_connection() {
    in_own_process!();
    within(PATIENCE, "an open waits".to_owned());
    let (_directory, path) = file();
    let server = server(&path);
    let to = path.clone();
    let opener = Interruptible::start(move || Stream::open_attached(to));
    std::thread::sleep(Duration::from_millis(100));
    assert!(!opener.is_finished(), "the server has not received it");
    let connection = server.files().receive_from().expect("it is there").into_stream().expect("a stream");
    let opened = opener.join().expect("received").expect("attached");
    opened.write(b"hello").expect("room");
    assert_eq!(reads(&connection), "hello");
    // The next one gives up.
    let to = path.clone();
    let opener = Interruptible::start(move || Stream::open_attached(to));
    std::thread::sleep(Duration::from_millis(20));
    let interrupted = opener.end(Duration::from_millis(5));
    assert_eq!(interrupted.expect_err("a signal handler ran").errno(), Errno::Intr);
    let dead = server.files().receive_from().expect("it was sent").into_stream().expect("a stream");
    assert_eq!(dead.read(&mut [0; 8]).expect("its opener is gone"), 0);
    detach(&path).expect("it is attached");
    calm();
}

#[test]
fn an_open_that_must_not_wait_is_told_to_try_again() {
    in_own_process!();
    within(PATIENCE, "an open that must not wait".to_owned());
    let (_directory, path) = file();
    let server = server(&path);
    let options = AttachedOptions::new().nonblocking(true);
    // So many that the server's end has no room for all of them.
    for _ in 0..12 {
        let begin = Instant::now();
        assert_eq!(options.open(&path).expect_err("it is not received").errno(), Errno::Again);
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    }
    let (opened, connection) = std::thread::scope(|scope| {
        let opener = scope.spawn(|| open(&path));
        let connection = loop {
            // Those that have given up come first.
            let connection = server.files().receive_from().expect("there").into_stream().expect("a stream");
            connection.set_nonblocking(true).expect("open");
            match connection.read(&mut [0; 8]) {
                Ok(0) => {}
                _ => break connection,
            }
        };
        (opener.join().expect("no panic"), connection)
    });
    connection.set_nonblocking(false).expect("open");
    opened.write(b"hello").expect("room");
    assert_eq!(reads(&connection), "hello");
    detach(&path).expect("it is attached");
    calm();
}

#[test]
fn without_a_server_there_is_no_connection() {
    in_own_process!();
    within(PATIENCE, "the server has ended".to_owned());
    let (_directory, path) = file();
    // It ends while an open waits.
    let first = server(&path);
    let to = path.clone();
    let opener = std::thread::spawn(move || Stream::open_attached(to));
    std::thread::sleep(Duration::from_millis(50));
    drop(first);
    assert_eq!(opener.join().expect("no panic").expect_err("no server").errno(), Errno::Nxio);
    // The attachment is still there.
    assert_eq!(Stream::open_attached(&path).expect_err("no server").errno(), Errno::Nxio);
    detach(&path).expect("it is attached");
    assert!(is_plain(&path));
    calm();
}

#[test]
fn connld_belongs_on_an_end_of_a_pipe() {
    let device = Device::open_private("echo").expect("known");
    assert_eq!(device.push("connld").expect_err("a device").errno(), Errno::Inval);
    let (near, far) = pipe().expect("pipe");
    far.push("connld").expect("a pipe");
    // Without a name it passes everything on.
    far.putmsg(Some(b"control"), Some(b"data")).expect("room");
    assert_eq!(near.receive().expect("there").expect("a message").data(), Some(&b"data"[..]));
    assert_eq!(far.modules().look().expect("pushed"), "connld");
    far.pop().expect("pushed");
}

#[test]
fn a_stream_s_end_is_sent_as_a_file_and_taken_up() {
    in_own_process!();
    within(PATIENCE, "send_stream".to_owned());
    let (near, far) = pipe().expect("pipe");
    for modules in [&[][..], &["srvmod"]] {
        for module in modules {
            near.push(module).expect("known");
        }
        let (one, other) = pipe().expect("pipe");
        near.files().send_stream(&other).expect("room");
        drop(other);
        one.write(b"before").expect("it is on its way");
        joined(child(|| {
            let taken = far.files().receive_from()?.into_stream()?;
            assert_eq!(reads(&taken), "before");
            taken.write(b"answer").map(drop)
        }));
        assert_eq!(reads(&one), "answer");
    }
    let device = Device::open_private("echo").expect("known");
    near.files().send_stream(&device).expect("room");
    device.write(b"hello").expect("room");
    let received = far.files().receive_from().expect("there");
    let taken = Device::take_received("echo", received).expect("a device");
    assert_eq!(reads(&taken), "hello");
    // The file alone is no stream.
    let (one, other) = pipe().expect("pipe");
    near.files().send_stream(&other).expect("room");
    drop((one, other));
    let alone = far.files().receive().expect("there");
    assert_eq!(Stream::from_fd(alone).expect_err("the memory was closed").errno(), Errno::Nostr);
    calm();
}
