//! As many processes and threads use a stream as there are, and a member that dies makes room. The test with ten thousand of
//! each is a program of its own: `crowd.rs`.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use headwater_os::child::Child;
use headwater_os::descriptors;
use headwater_os::memory::SharedMemory;
use headwater_streams::{Access, DirectStream, Errno, Stream, pipe};

use crate::common::{child, fifo, in_own_process, memories, open};

/// Members that a stream has room for before its table grows (`headwater_shm::MEMBERS`).
const MEMBERS: usize = 64;
/// Bytes of a stream's memory before anything has grown, with the default options (docs/guarantees.md).
const REGION: u64 = 6_569_984;

/// Processes that use a stream until they are killed.
fn users(count: usize, attach: impl Fn() -> headwater_streams::Result<Stream>) -> Vec<Child> {
    let (ready, mut is_ready) = UnixStream::pair().expect("pair");
    let users: Vec<Child> = (0..count)
        .map(|_| {
            child(|| {
                let stream = attach()?;
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

/// The memory of the only stream of this process.
fn memory() -> File {
    // Each end has a descriptor of it.
    memories().into_iter().next().expect("it is open")
}

/// Its length in bytes, whether or not they are in use.
fn memory_len() -> u64 {
    memory().metadata().expect("fstat").len()
}

/// From now on this process makes no file longer than that.
fn limit_files(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: a valid structure.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
}

fn ends_well(mut child: Child) {
    assert!(child.wait().expect("wait").success());
}

#[test]
fn a_stream_of_two_users_is_no_longer_than_its_parts() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    near.write(b"x").expect("room");
    far.read(&mut [0; 8]).expect("there");
    assert_eq!(memory_len(), REGION);
}

#[test]
fn the_memory_grows_for_the_sixty_fifth_user() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    let users = users(MEMBERS, || Ok(far.clone()));
    assert_eq!(memory_len(), REGION);
    near.write(b"x").expect("there is room for one more");
    assert!(memory_len() > REGION);
    let mut reader = far.direct();
    assert_eq!(reader.read(&mut [0; 8]).expect("there"), 1);
    users.into_iter().for_each(kill);
}

#[test]
fn where_the_memory_cannot_grow_a_newcomer_is_refused_and_nothing_is_lost() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    near.write(b"before").expect("room");
    let mut users = users(MEMBERS - 1, || Ok(far.clone()));
    near.attach().expect("room");
    ends_well(child(|| {
        limit_files(REGION);
        let refused = far.clone().attach().expect_err("the memory may not grow");
        assert_eq!(refused.errno(), Errno::Fbig, "{refused}");
        assert!(refused.to_string().contains("ulimit -f"), "{refused}");
        Ok(())
    }));
    // A dead user's place needs no growth.
    kill(users.pop().expect("one of them"));
    ends_well(child(|| {
        limit_files(REGION);
        assert_eq!(far.clone().read(&mut [0; 8])?, 6);
        Ok(())
    }));
    near.write(b"after").expect("room");
    users.into_iter().for_each(kill);
}

#[test]
fn places_of_the_dead_are_taken_again_and_again() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    near.write(b"written before").expect("room");
    for _ in 0..3 {
        users(MEMBERS - 1, || Ok(far.clone())).into_iter().for_each(kill);
    }
    assert_eq!(memory_len(), REGION);
    let direct: Vec<DirectStream> = (0..3 * MEMBERS)
        .map(|number| {
            let mut user = far.direct();
            user.attach().unwrap_or_else(|error| panic!("user {number}: {error}"));
            user
        })
        .collect();
    let mut buffer = [0; 32];
    let mut last = direct.into_iter().next_back().expect("many");
    assert_eq!(last.read(&mut buffer).expect("nothing was lost"), 14);
}

#[test]
fn a_fifo_is_opened_by_more_users_than_its_first_table_has_room_for() {
    in_own_process!();
    let (_directory, path) = fifo();
    let users = users(2 * MEMBERS, || open(&path, Access::Read));
    open(&path, Access::Write).expect("room").write(b"x").expect("room");
    users.into_iter().for_each(kill);
}

#[test]
fn a_stream_that_has_grown_can_be_attached() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    near.push("bufmod").expect("a module with memory of its own");
    assert!(memory_len() > REGION);
    near.write(b"x").expect("room");
    near.pop().expect("what was held is passed on");
    let attached = Stream::from_number(far.as_fd().as_raw_fd() as u32).expect("a stream");
    assert_eq!(attached.read(&mut [0; 8]).expect("there"), 1);
}

#[test]
fn a_memory_that_is_shorter_than_its_header_says_is_refused() {
    in_own_process!();
    let (near, _far) = pipe().expect("pipe");
    let whole = memory();
    for len in [1, 4096, 64 << 10, REGION as usize - 1] {
        // With the seals of a stream's memory.
        let short = SharedMemory::create_growable("another", len).expect("memory");
        let mut bytes = vec![0; len];
        whole.read_exact_at(&mut bytes, 0).expect("its beginning");
        File::from(short.as_fd().try_clone_to_owned().expect("dup")).write_all_at(&bytes, 0).expect("room");
        let (one, other) = UnixStream::pair().expect("pair");
        descriptors::send(one.as_fd(), &[near.as_fd(), short.as_fd()]).expect("sent");
        let refused = Stream::receive_over(&other).expect_err("it is no whole stream");
        assert!([Errno::Proto, Errno::Nostr].contains(&refused.errno()), "{len}: {refused}");
    }
}
