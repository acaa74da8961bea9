//! `Listener` and `Stream::connect`: what `UnixListener` has, over streams.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use headwater_os::files;
use headwater_streams::{Errno, Listener, Stream};

use crate::common::{calm, child, expect_nothing_left, in_own_process, joined, open_things, polled, reads, within};

const PATIENCE: Duration = Duration::from_secs(60);

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("server");
    (directory, path)
}

#[test]
fn each_client_gets_a_connection_and_the_server_learns_who_it_is() {
    in_own_process!();
    within(PATIENCE, "clients of a listener".to_owned());
    let (_directory, path) = place();
    let before = open_things();
    let listener = Listener::bind(&path).expect("free");
    assert_eq!(polled(&listener, libc::POLLIN, Duration::ZERO), 0, "no client");
    let clients: Vec<_> = (0..5)
        .map(|number: u32| {
            child(|| {
                let connection = Stream::connect(&path)?;
                connection.write(number.to_string().as_bytes())?;
                assert_eq!(reads(&connection), format!("answer to {number}"));
                Ok(())
            })
        })
        .collect();
    assert_eq!(polled(&listener, libc::POLLIN, PATIENCE), libc::POLLIN, "clients wait");
    for _ in 0..4 {
        let (connection, peer) = listener.accept().expect("a client");
        assert_eq!((peer.user, peer.group), (Some(files::own_user()), Some(files::own_group())));
        let number = reads(&connection);
        connection.write(format!("answer to {number}").as_bytes()).expect("the client waits");
    }
    for connection in listener.incoming().take(1) {
        let connection = connection.expect("a client");
        let number = reads(&connection);
        connection.write(format!("answer to {number}").as_bytes()).expect("the client waits");
    }
    clients.into_iter().for_each(joined);
    listener.set_nonblocking(true).expect("set");
    assert_eq!(listener.accept().expect_err("no client").errno(), Errno::Again);
    drop(listener);
    assert!(!path.exists(), "the path goes with the listener");
    expect_nothing_left(before);
    calm();
}

#[test]
fn a_path_that_is_taken_is_refused_and_left_as_it_is() {
    in_own_process!();
    within(PATIENCE, "binding".to_owned());
    let (directory, path) = place();
    let in_use = |path: &PathBuf| assert_eq!(Listener::bind(path).expect_err("taken").errno(), Errno::new(98));
    let listener = Listener::bind(&path).expect("free");
    in_use(&path);
    let connection = std::thread::spawn({
        let path = path.clone();
        move || Stream::connect(path)
    });
    listener.accept().expect("it still listens");
    connection.join().expect("no panic").expect("connected");
    drop(listener);
    fs::write(&path, "text of a user").expect("write");
    in_use(&path);
    assert_eq!(fs::read_to_string(&path).expect("read"), "text of a user");
    let folder = directory.path().join("folder");
    fs::create_dir(&folder).expect("mkdir");
    in_use(&folder);
    let link = directory.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).expect("symlink");
    in_use(&link);
    let nowhere = Listener::bind(directory.path().join("no/server")).expect_err("no such directory");
    assert_eq!(nowhere.errno(), Errno::Noent);
    calm();
}

#[test]
fn a_path_that_a_killed_server_has_left_is_refused_to_clients_and_bound_again() {
    in_own_process!();
    within(PATIENCE, "a killed server".to_owned());
    let (_directory, path) = place();
    assert_eq!(Stream::connect(&path).expect_err("nothing").errno(), Errno::Noent);
    let mut server = headwater_os::child::Child::fork(|| {
        let _listener = Listener::bind(&path).expect("free");
        std::process::abort();
    })
    .expect("fork");
    server.wait().expect("waited for");
    assert!(path.exists(), "killed processes remove nothing");
    assert_eq!(Stream::connect(&path).expect_err("no server").errno(), Errno::new(111));
    for other in ["/dev/null", "/"] {
        assert_eq!(Stream::connect(other).expect_err("no server").errno(), Errno::new(111), "{other}");
    }
    let listener = Listener::bind(&path).expect("it was left behind");
    let client = child(|| Stream::connect(&path).map(drop));
    listener.accept().expect("a client");
    joined(client);
    calm();
}

#[test]
fn the_path_stays_when_a_forked_child_ends_or_another_file_has_come() {
    in_own_process!();
    within(PATIENCE, "dropping".to_owned());
    let (_directory, path) = place();
    let listener = Listener::bind(&path).expect("free");
    let listener = std::cell::Cell::new(Some(listener));
    let in_child = child(|| {
        drop(listener.take());
        Ok(())
    });
    joined(in_child);
    assert!(path.exists(), "it is the parent's");
    let client = child(|| Stream::connect(&path).map(drop));
    let listener = listener.take().expect("the parent's");
    listener.accept().expect("it still listens");
    joined(client);
    fs::remove_file(&path).expect("remove");
    fs::write(&path, "another file").expect("write");
    drop(listener);
    assert_eq!(fs::read_to_string(&path).expect("it stays"), "another file");
    calm();
}
