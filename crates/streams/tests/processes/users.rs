//! The permission to open a FIFO: users and privileges. The tests need root to become other users, and are skipped
//! otherwise.

use crate::common;
use std::fs::Permissions;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use headwater_os::child::Child;
use headwater_streams::{Access, Errno, Result};

use crate::common::users::{NOBODY, become_powerless, become_user, fifo, holder, is_root, started};
use crate::common::{child, in_own_process, joined, open, read_all};

/// Opening fails for lack of permission.
fn is_refused(path: &Path, access: Access) -> Result<()> {
    let error = open(path, access).expect_err("no permission");
    assert_eq!(error.errno(), Errno::Acces, "{error}");
    Ok(())
}

/// A process of a user that reads the expected data from a FIFO, to the end.
fn reader(path: &Path, become_reader: impl Fn(), expected: &[u8]) -> Child {
    started(|ready| {
        become_reader();
        let stream = open(path, Access::Read)?;
        ready();
        stream.set_nonblocking(false)?;
        // The first read waits for a writer.
        let mut all = Vec::new();
        while all.len() < expected.len() {
            all.extend(read_all(&stream));
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(all, expected);
        Ok(())
    })
}

#[test]
fn who_may_not_both_read_and_write_is_refused() {
    in_own_process!();
    if !is_root() {
        return;
    }
    // All users of a FIFO share its memory: one permission alone would give the other as well.
    for permissions in [0o600, 0o644, 0o622, 0o000] {
        let (_directory, path) = fifo(permissions);
        let _reader = open(&path, Access::Read).expect("root may");
        for access in [Access::Read, Access::Write] {
            joined(child(|| {
                become_user(NOBODY);
                is_refused(&path, access)
            }));
        }
    }
}

#[test]
fn a_holder_who_cannot_be_seen_is_not_passed_by() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let (_directory, path) = fifo(0o600);
    let holder = holder(|| open(&path, Access::Read));
    // Without a word it would wait at a stream of its own.
    joined(child(|| {
        become_powerless();
        is_refused(&path, Access::Write)
    }));
    drop(holder);
    joined(child(|| {
        become_powerless();
        open(&path, Access::Read).map(drop)
    }));
}

#[test]
fn nobody_is_lured_by_a_name() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let (_directory, path) = fifo(0o600);
    let node = headwater_os::files::open_fifo(&path).and_then(headwater_os::files::status).expect("fstat");
    let _lure = holder(|| {
        become_user(NOBODY);
        // Root sees the processes of both users: the one that may not open the node has memory of that name.
        let name = format!("headwater-fifo-{}-{}-1", node.device, node.number);
        Ok(headwater_os::memory::SharedMemory::create(&name, 1 << 20)?)
    });
    let reader = open(&path, Access::Read).expect("it does not look at that memory");
    open(&path, Access::Write).expect("somebody reads").write(b"x").expect("room");
    assert_eq!(reader.read(&mut [0; 8]).expect("there"), 1);
}

#[test]
fn users_who_may_both_read_and_write_meet() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let (root, nobody, other) = (0, NOBODY, NOBODY - 1);
    for (one, another) in [(root, nobody), (nobody, root), (nobody, other)] {
        let (_directory, path) = fifo(0o666);
        let reader = reader(&path, || become_user(one), b"from another user");
        joined(child(|| {
            become_user(another);
            open(&path, Access::Write)?.write(b"from another user").map(drop)
        }));
        joined(reader);
        // Neither has left a trace: the next one makes a stream of its own.
        joined(child(|| {
            become_user(other);
            assert_eq!(open(&path, Access::Write).expect_err("nobody reads").errno(), Errno::Nxio);
            Ok(())
        }));
    }
}

#[test]
fn a_group_that_may_both_read_and_write_meets() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let (_directory, path) = fifo(0o660);
    std::os::unix::fs::chown(&path, None, Some(NOBODY)).expect("chown");
    let reader = reader(&path, || {}, b"from the group");
    joined(child(|| {
        become_user(NOBODY);
        open(&path, Access::Write)?.write(b"from the group").map(drop)
    }));
    joined(child(|| {
        become_user(NOBODY - 1);
        is_refused(&path, Access::Write)
    }));
    joined(reader);
}

#[test]
fn a_process_that_has_changed_its_user_meets_others_of_that_user() {
    in_own_process!();
    if !is_root() {
        return;
    }
    // The kernel shows its descriptors only to root.
    let (_directory, path) = fifo(0o600);
    std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).expect("chown");
    let reader = reader(&path, || become_user(NOBODY), b"of one user");
    joined(child(|| {
        become_user(NOBODY);
        open(&path, Access::Write)?.write(b"of one user").map(drop)
    }));
    joined(reader);
}

#[test]
fn who_was_let_in_lets_others_in() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let (_directory, path) = fifo(0o666);
    let mut first = holder(|| open(&path, Access::Read));
    let second = started(|ready| {
        become_user(NOBODY);
        let stream = open(&path, Access::Write)?;
        stream.write(b"from the second")?;
        ready();
        std::thread::sleep(Duration::from_secs(60));
        Ok(())
    });
    first.kill();
    first.wait().expect("wait");
    joined(child(|| {
        become_user(NOBODY - 1);
        let stream = open(&path, Access::Read)?;
        let mut bytes = [0; 64];
        let count = stream.read(&mut bytes)?;
        assert_eq!(&bytes[..count], b"from the second");
        Ok(())
    }));
    drop(second);
}

#[test]
fn a_forked_child_lets_others_in_after_its_first_call() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let (_directory, path) = fifo(0o666);
    let (tell, told) = UnixStream::pair().expect("pair");
    let mut parent = started(|ready| {
        let stream = open(&path, Access::Read)?;
        let grandchild = child(|| {
            // It outlives its parent, which is killed.
            // SAFETY: it takes a number and touches no memory.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, 0) };
            assert_eq!(stream.read(&mut [0; 8])?, 0, "no writer yet");
            ready();
            let _ = std::io::Read::read(&mut &told, &mut [0]);
            Ok(())
        });
        std::thread::sleep(Duration::from_secs(60));
        drop(grandchild);
        Ok(())
    });
    parent.kill();
    parent.wait().expect("wait");
    let is_let_in_soon = || {
        let start = std::time::Instant::now();
        joined(child(|| {
            become_user(NOBODY);
            open(&path, Access::Write).map(drop)
        }));
        start.elapsed() < Duration::from_millis(400)
    };
    // A wait for the dead would come each time, one for a CPU does not.
    assert!((0..5).any(|_| is_let_in_soon()), "nobody waits for the dead, whose socket the child has");
    std::io::Write::write_all(&mut &tell, b"x").expect("it waits");
}

#[test]
fn who_may_not_open_the_node_gets_nothing_at_its_broker() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let (directory, path) = fifo(0o666);
    let _holder = holder(|| open(&path, Access::Read));
    let node = std::fs::metadata(&path).expect("stat");
    // The permissions of the directory count as well.
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).expect("chmod");
    joined(child(|| {
        become_user(NOBODY);
        is_refused(&path, Access::Write)?;
        let beginning = format!("headwater-fifo-{}-{}-", node.dev(), node.ino());
        let names = headwater_os::abstract_socket::names(&beginning)?;
        assert_eq!(names.len(), 1, "everybody can find the name");
        let socket = headwater_os::abstract_socket::connect(&names[0], Duration::from_secs(5))?;
        let got = headwater_os::descriptors::receive(socket.as_fd()).expect_err("it is closed");
        assert_eq!(got.kind(), std::io::ErrorKind::UnexpectedEof);
        Ok(())
    }));
}

#[test]
fn nobody_is_lured_by_a_broker() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let (_directory, path) = fifo(0o600);
    let node = std::fs::metadata(&path).expect("stat");
    // A process that the powerless user cannot see and that lets no other in, and a user without the permission.
    let _holder = holder(|| open(&path, Access::Read));
    let _lure = holder(|| {
        become_user(NOBODY);
        let name = format!("headwater-fifo-{}-{}-1-1", node.dev(), node.ino());
        let listener = headwater_os::abstract_socket::Listener::bind(&name)?;
        let file = std::fs::File::open("/dev/null")?;
        Ok(std::thread::spawn(move || {
            loop {
                if let Ok(Some(socket)) = listener.accept() {
                    let _ = headwater_os::descriptors::send(socket.as_fd(), &[file.as_fd(); 3]);
                }
                std::thread::sleep(Duration::from_micros(100));
            }
        }))
    });
    joined(child(|| {
        become_powerless();
        is_refused(&path, Access::Write)
    }));
}

#[test]
fn a_broker_may_die_at_any_time() {
    in_own_process!();
    if !is_root() {
        return;
    }
    let mut random = common::Random(5);
    let (mut met, mut alone) = (0, 0);
    for _ in 0..60 {
        let (_directory, path) = fifo(0o666);
        let mut first = holder(|| open(&path, Access::Read));
        // Before, during and after the writer's opening, however long that takes on a loaded machine.
        let most_us = random.one_of(&[200, 4_000, 30_000]);
        let time = Duration::from_micros(random.next() % most_us);
        let killer = std::thread::spawn(move || {
            std::thread::sleep(time);
            first.kill();
            first.wait()
        });
        let writer = || {
            let writer = Child::fork(|| {
                become_user(NOBODY);
                let start = std::time::Instant::now();
                let opened = open(&path, Access::Write);
                assert!(start.elapsed() < Duration::from_secs(2));
                match opened {
                    Ok(_) => 0,
                    Err(error) => error.errno().number(),
                }
            });
            writer.expect("fork").wait().expect("wait").code()
        };
        let met_or_not = writer();
        killer.join().expect("the killer ends").expect("wait");
        match met_or_not {
            Some(0) => met += 1,
            Some(libc::ENXIO) => alone += 1,
            // Killed, and not yet torn down: its lock shows a process that does not answer.
            Some(libc::EACCES) => assert_eq!(writer(), Some(libc::ENXIO), "it has ended"),
            code => panic!("{code:?}"),
        }
    }
    println!("{met} met the reader, {alone} found it dead");
    assert!(met > 0 && alone > 0);
}
