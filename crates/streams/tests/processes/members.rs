//! As many handles of a stream are in use as its table has room for, and no more; a member that dies makes room.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use headwater_os::child::Child;
use headwater_streams::{Access, Errno, Error, Events, Handle, Priority};

use crate::common::{child, fifo, in_own_process, open};

/// Members of a stream (`headwater_shm::MEMBERS`, docs/streams.md).
const MEMBERS: usize = 64;

/// Processes that use a stream until they are killed.
fn users(count: usize, attach: impl Fn() -> headwater_streams::Result<Handle>) -> Vec<Child> {
    let (ready, mut is_ready) = UnixStream::pair().expect("pair");
    let users: Vec<Child> = (0..count)
        .map(|_| {
            child(|| {
                let mut stream = attach()?;
                stream.attach()?;
                (&ready).write_all(b"x")?;
                std::thread::sleep(Duration::from_secs(60));
                Ok(())
            })
        })
        .collect();
    is_ready.read_exact(&mut vec![0; count]).expect("each says so");
    users
}

fn kill(mut user: Child) {
    user.kill();
    user.wait().expect("wait");
}

fn is_full(error: &Error) -> bool {
    error.errno() == Errno::Nosr && error.to_string().contains("64 handles use this stream already")
}

#[test]
fn the_sixty_fifth_process_is_told_of_the_limit() {
    in_own_process!();
    let (mut near, far) = Handle::pair().expect("pipe");
    let mut users = users(MEMBERS, || Ok(far.another()));
    // A handle that has made no call does not count; each use of it fails in the same way, and breaks nothing.
    let mut buffer = [0; 8];
    assert!(is_full(&near.attach().expect_err("full")));
    assert!(is_full(&near.write(b"x").expect_err("full")));
    assert!(is_full(&near.read(&mut buffer).expect_err("full")));
    assert!(is_full(&near.putpmsg(Some(b"x"), None, Priority::High).expect_err("full")));
    assert!(is_full(&near.getmsg(None, Some(&mut buffer)).expect_err("full")));
    assert!(is_full(&near.poll(Events::IN, Some(Duration::ZERO)).expect_err("full")));
    assert!(is_full(&near.push("nullmod").expect_err("full")));
    assert!(is_full(&near.set_nonblocking(true).expect_err("full")));

    kill(users.pop().expect("one of them"));
    near.set_nonblocking(false).expect("no error");
    near.attach().expect("the dead one has left its place");
    assert!(is_full(&far.another().attach().expect_err("full again")));
    near.write(b"x").expect("room");
    kill(users.pop().expect("one of them"));
    let mut reader = far.another();
    assert_eq!(reader.read(&mut buffer).expect("there"), 1);
    // A handle that is dropped makes room as well.
    drop(reader);
    far.another().attach().expect("its place");
}

#[test]
fn places_of_the_dead_are_taken_again_and_again() {
    in_own_process!();
    let (mut near, far) = Handle::pair().expect("pipe");
    near.write(b"written before").expect("room");
    for _ in 0..3 {
        users(MEMBERS - 1, || Ok(far.another())).into_iter().for_each(kill);
    }
    let handles: Vec<Handle> = (0..MEMBERS - 1)
        .map(|number| {
            let mut handle = far.another();
            handle.attach().unwrap_or_else(|error| panic!("handle {number}: {error}"));
            handle
        })
        .collect();
    assert!(is_full(&far.another().attach().expect_err("full")));
    let mut buffer = [0; 32];
    let mut last = handles.into_iter().next_back().expect("many");
    assert_eq!(last.read(&mut buffer).expect("nothing was lost"), 14);
}

#[test]
fn a_full_fifo_is_not_opened() {
    in_own_process!();
    let (_directory, path) = fifo();
    let mut users = users(MEMBERS, || open(&path, Access::Read));
    assert!(is_full(&open(&path, Access::Write).expect_err("full")));
    kill(users.pop().expect("one of them"));
    open(&path, Access::Write).expect("a place").write(b"x").expect("room");
}
