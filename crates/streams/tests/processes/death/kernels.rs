//! Older kernels, and filters that refuse system calls: missing calls have a cost, but never break a healthy stream.

use std::process::Command;
use std::time::Duration;

use headwater_os::child::Child;
use headwater_os::refuse::{Refusal, refuse, refuse_from};
use headwater_streams::{Events, Stream, pipe};

use super::common::{self, alone, calm, fifo, in_own_process, joined, open, read_all, within};
use super::{Holds, holder, use_side};

/// A kernel, or a container's filter, described by the calls that it does not offer.
struct Kernel {
    name: &'static str,
    /// Calls from this number on are unknown.
    first_unknown: u32,
    refused: &'static [Refusal],
}

const fn refused(call: i64, errno: i32) -> Refusal {
    Refusal { call, argument: None, errno }
}

const fn advice(value: u32) -> Refusal {
    Refusal { call: libc::SYS_madvise, argument: Some((2, value)), errno: libc::EINVAL }
}

/// MADV_WIPEONFORK, and the two ways to populate.
const WIPE: Refusal = advice(18);
const POPULATE: [Refusal; 2] = [advice(22), advice(23)];
const fn option(call: i64, number: u32) -> Refusal {
    Refusal { call, argument: Some((2, number)), errno: libc::ENOPROTOOPT }
}

/// SO_PASSPIDFD and SO_PEERPIDFD (Linux 6.5).
const SET_PASS: Refusal = option(libc::SYS_setsockopt, 76);
const GET_PEER: Refusal = option(libc::SYS_getsockopt, 77);

const KERNELS: &[Kernel] = &[
    // pidfd_open came with 434, the calls below 424 are those of 4.19.
    Kernel { name: "Linux 4.19", first_unknown: 424, refused: &[POPULATE[0], POPULATE[1], SET_PASS, GET_PEER] },
    Kernel { name: "Linux 5.4", first_unknown: 436, refused: &[POPULATE[0], POPULATE[1], SET_PASS, GET_PEER] },
    Kernel { name: "Linux 5.15", first_unknown: 449, refused: &[SET_PASS, GET_PEER] },
    Kernel {
        name: "a filter that permits little",
        first_unknown: u32::MAX,
        refused: &[
            refused(libc::SYS_pidfd_open, libc::EPERM),
            refused(libc::SYS_pidfd_send_signal, libc::EPERM),
            refused(libc::SYS_membarrier, libc::EPERM),
            WIPE,
        ],
    },
    Kernel {
        name: "without descriptors for pidfds",
        first_unknown: u32::MAX,
        refused: &[refused(libc::SYS_pidfd_open, libc::EMFILE)],
    },
    Kernel {
        name: "without membarrier and wiping",
        first_unknown: 424,
        refused: &[refused(libc::SYS_membarrier, libc::ENOSYS), WIPE],
    },
];

/// Not a test of its own: what [`streams_work_on_older_kernels`] starts, a program that has asked the kernel nothing yet.
#[test]
fn on_an_older_kernel() {
    let Ok(name) = std::env::var("DEATH_KERNEL") else { return };
    let kernel = KERNELS.iter().find(|kernel| kernel.name == name).expect("one of them");
    refuse(kernel.refused).expect("seccomp");
    if kernel.first_unknown < u32::MAX {
        refuse_from(kernel.first_unknown).expect("seccomp");
    }
    let _alone = alone();
    within(Duration::from_secs(40), format!("streams on {name}"));
    a_child_is_another_user();
    a_contended_side_changes_hands();
    the_dead_make_room();
    a_fifo_is_opened();
    calm();
    println!("all of it works");
}

fn a_child_is_another_user() {
    let (near, far) = pipe().expect("pipe");
    near.write(b"parent ").expect("room");
    joined(common::child(|| near.write(b"child ").map(drop)));
    near.write(b"parent").expect("room");
    assert!(far.poll(Events::IN, Some(Duration::from_secs(5))).expect("no error").intersects(Events::IN));
    drop(near);
    assert_eq!(read_all(&far), b"parent child parent");
}

fn a_contended_side_changes_hands() {
    let (near, far) = pipe().expect("pipe");
    let clones: Vec<Stream> = (0..3).map(|_| near.clone()).collect();
    drop(near);
    std::thread::scope(|scope| {
        for writer in clones {
            scope.spawn(move || {
                for round in 0..300 {
                    writer.write(&[1; 50]).unwrap_or_else(|error| panic!("round {round}: {error}"));
                    if round % 100 == 0 {
                        // Longer than a waiter spins.
                        let mut holder = writer.direct();
                        let place = holder.reserve(50).expect("room");
                        std::thread::sleep(Duration::from_millis(15));
                        drop(place);
                    }
                }
            });
        }
        assert_eq!(read_all(&far).len(), 3 * 300 * 50);
    });
}

/// Killed in the middle of a call, as a zombie and when it was waited for; and in 64 places.
fn the_dead_make_room() {
    for holds in [Holds::Writing, Holds::Reading] {
        for reaped in [false, true] {
            let (near, far) = pipe().expect("pipe");
            far.putmsg(None, Some(b"held")).expect("room");
            near.attach().expect("a place");
            let (mut child, control) = holder(near.clone(), holds);
            child.kill();
            if reaped {
                child.wait().expect("wait");
            }
            assert_eq!(use_side(&near, holds).expect("it is dead"), 4);
            drop(control);
        }
    }
    let (near, far) = pipe().expect("pipe");
    for round in 0..70 {
        let mut user = Child::fork(|| {
            let mut copy = near.direct();
            copy.write(b"x").expect("room");
            headwater_os::child::kill_self()
        })
        .expect("fork");
        user.wait().expect("wait");
        assert_eq!(far.read(&mut [0; 8]).unwrap_or_else(|error| panic!("round {round}: {error}")), 1);
    }
}

fn a_fifo_is_opened() {
    let (_directory, path) = fifo();
    let reader = open(&path, headwater_streams::Access::Read).expect("open");
    let writer = open(&path, headwater_streams::Access::Write).expect("open");
    writer.write(b"through a FIFO").expect("room");
    assert_eq!(reader.read(&mut [0; 32]).expect("there"), 14);
}

#[test]
fn streams_work_on_older_kernels() {
    in_own_process!();
    for Kernel { name, .. } in KERNELS {
        let mut program = Command::new(std::env::current_exe().expect("our own path"));
        program.args(["--exact", "death::kernels::on_an_older_kernel", "--nocapture"]).env("DEATH_KERNEL", name);
        let done = program.output().expect("it starts");
        let said = String::from_utf8_lossy(&done.stdout);
        let complaint = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && said.contains("all of it works"), "{name}: {said}{complaint}");
    }
}
