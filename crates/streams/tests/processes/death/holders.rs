//! A holder that is stopped, frozen by its control group, slow, or forgetful.

use std::fs;
use std::net::Shutdown;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use headwater_streams::{Errno, Events, Flush, MessageFilter, ReadOptions, Stream, pipe};

use super::common::{Interruptible, calm, in_own_process, joined, read_all, within};
use super::{HELD, Holds, hold, holder, refusal, signal, tell, use_directly, use_side, wait_for};

const SIDES: [Holds; 2] = [Holds::Writing, Holds::Reading];
/// Longer than the limit for a live holder ever was.
const LONG: Duration = Duration::from_millis(2300);

/// The end whose side is held: with a message there to be borrowed, and another behind it.
fn ends(holds: Holds) -> (Stream, Stream) {
    let (near, far) = pipe().expect("pipe");
    far.putmsg(None, Some(HELD)).expect("room");
    far.putmsg(None, Some(b"more")).expect("room");
    let _ = holds;
    near.attach().expect("a place");
    (near, far)
}

pub(super) fn stopped(pid: u32) {
    signal(pid, libc::SIGSTOP);
    let state = || fs::read_to_string(format!("/proc/{pid}/stat")).expect("/proc");
    while !state().rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')) {
        std::thread::yield_now();
    }
}

#[test]
fn a_call_that_is_not_to_wait_does_not_wait_for_a_stopped_holder() {
    in_own_process!();
    for holds in SIDES {
        within(Duration::from_secs(20), format!("{holds:?} is stopped"));
        let (near, far) = ends(holds);
        let (child, control) = holder(near.clone(), holds);
        stopped(child.id());
        near.set_nonblocking(true).expect("arm");
        let start = Instant::now();
        for _ in 0..5 {
            assert_eq!(refusal(use_side(&near, holds)), Errno::Again);
        }
        near.set_nonblocking(false).expect("no error");
        if let Holds::Writing = holds {
            let ready = near.poll(Events::OUT, Some(Duration::from_millis(50))).expect("no error");
            assert!(ready.is_empty(), "{ready:?}");
        }
        let ready = near.poll(Events::IN | Events::OUT, Some(Duration::from_secs(10))).expect("no error");
        assert!(ready.intersects(Events::IN), "what can be seen without the side that is held is told");
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        signal(child.id(), libc::SIGCONT);
        tell(&control);
        assert_eq!(use_side(&near, holds).expect("it came out"), 4);
        joined(child);
        if let Holds::Writing = holds {
            drop(near);
            assert_eq!(read_all(&far), b"heldmore");
        }
    }
    calm();
}

#[test]
fn a_signal_ends_the_wait_for_a_stopped_holder() {
    in_own_process!();
    for holds in SIDES {
        within(Duration::from_secs(20), format!("{holds:?} is stopped"));
        let (near, _far) = ends(holds);
        let (child, control) = holder(near.clone(), holds);
        stopped(child.id());
        let waiter = Interruptible::start(move || (refusal(use_side(&near, holds)), near));
        let (errno, near) = waiter.end(Duration::from_millis(20));
        assert_eq!(errno, Errno::Intr);
        signal(child.id(), libc::SIGCONT);
        tell(&control);
        assert_eq!(use_side(&near, holds).expect("it came out"), 4);
        joined(child);
    }
    calm();
}

/// A read that wants more than is there has taken the available bytes, and then waits for another reader, which has
/// come before it.
#[test]
fn what_a_read_has_taken_is_said_though_another_reader_is_in_the_way_of_the_rest() {
    in_own_process!();
    within(Duration::from_secs(40), "a reader is in another one's way".into());
    let mut met = 0;
    for _ in 0..200 {
        let (near, far) = pipe().expect("pipe");
        let reader = far.clone();
        far.settings().set_read_options(ReadOptions::new().fill(true)).expect("set");
        far.set_nonblocking(true).expect("arm");
        near.write(b"0123456789").expect("room");
        let waiter = Interruptible::start(move || reader.read(&mut [0; 30]));
        // It has taken what is there, and waits for the rest.
        while far.peek(None, Some(&mut [0; 1]), MessageFilter::Any).expect("no error").is_some() {
            std::thread::sleep(Duration::from_micros(100));
        }
        std::thread::sleep(Duration::from_millis(2));
        near.write(b"x").expect("room");
        // The first of the two gets it.
        let mut direct = far.direct();
        let done = if let Ok(_borrowed) = direct.borrow() {
            met += 1;
            waiter.end(Duration::from_millis(5))
        } else {
            near.write(&[1; 30]).expect("room");
            waiter.join()
        };
        let count = done.expect("what was taken is said");
        assert!((10..=30).contains(&count), "{count}");
        if met == 20 {
            break;
        }
    }
    assert!(met > 0, "the other reader never came first");
    calm();
}

/// A message is borrowed, or a place reserved, by a living thread for seconds: others wait, and nothing is broken.
#[test]
fn a_slow_holder_is_waited_for() {
    in_own_process!();
    within(Duration::from_secs(40), "a slow holder".into());
    std::thread::scope(|scope| {
        for holds in SIDES {
            scope.spawn(move || {
                let (near, _far) = ends(holds);
                let slow = near.clone();
                let (here, there) = std::os::unix::net::UnixStream::pair().expect("pair");
                std::thread::scope(|scope| {
                    let held = scope.spawn(move || hold(&slow, holds, &there).expect("it is not taken away"));
                    wait_for(&here);
                    let mut other = near.direct();
                    other.set_nonblocking(true).expect("arm");
                    let waiter = scope.spawn(move || use_side(&near, holds));
                    let start = Instant::now();
                    while start.elapsed() < LONG {
                        assert_eq!(refusal(use_directly(&mut other, holds)), Errno::Again);
                        std::thread::sleep(Duration::from_millis(50));
                    }
                    assert!(!waiter.is_finished());
                    tell(&here);
                    assert!(held.join().expect("holder"));
                    assert_eq!(waiter.join().expect("waiter").expect("it came out"), 4);
                });
            });
        }
    });
    calm();
}

#[test]
fn what_a_handle_forgot_is_free_when_it_is_dropped() {
    in_own_process!();
    for holds in SIDES {
        within(Duration::from_secs(20), format!("{holds:?} is forgotten"));
        let (near, _far) = ends(holds);
        let mut forgetful = near.direct();
        match holds {
            Holds::Writing => std::mem::forget(forgetful.reserve(4).expect("room")),
            Holds::Reading => std::mem::forget(forgetful.borrow().expect("there")),
        }
        near.set_nonblocking(true).expect("arm");
        assert_eq!(refusal(use_side(&near, holds)), Errno::Again);
        assert_eq!(use_directly(&mut forgetful, holds).expect("the user itself goes on"), 4);
        match holds {
            Holds::Writing => std::mem::forget(forgetful.reserve(4).expect("room")),
            Holds::Reading => std::mem::forget(forgetful.borrow().expect("there")),
        }
        drop(forgetful);
        assert_eq!(use_side(&near, holds).expect("it is gone"), 4);
    }
    calm();
}

#[test]
fn a_forked_childs_copy_of_a_place_is_nothing() {
    in_own_process!();
    within(Duration::from_secs(20), "a copy of a place".into());
    let (near, far) = pipe().expect("pipe");
    let mut other = near.direct();
    other.set_nonblocking(true).expect("arm");
    let mut holder = near.direct();
    // By the bias as well: taken twice.
    for round in 0..2 {
        let place = std::cell::Cell::new(Some(holder.reserve(4).expect("room")));
        for commits in [false, true] {
            let child = super::common::child(|| {
                let place = place.take().expect("a copy");
                if commits {
                    assert_eq!(refusal(place.commit()), Errno::Inval);
                }
                Ok(())
            });
            joined(child);
            assert_eq!(refusal(other.write(b"x")), Errno::Again, "round {round}");
        }
        let mut place = place.take().expect("ours");
        place.fill(0, HELD);
        place.commit().expect("the reader lives");
        assert_eq!(far.read(&mut [0; 8]).expect("there"), 4);
    }
    near.write(HELD).expect("room");
    let mut borrower = far.direct();
    let message = std::cell::Cell::new(borrower.borrow().expect("there"));
    joined(super::common::child(|| {
        assert_eq!(refusal(message.take().expect("a copy").consume(4)), Errno::Inval);
        Ok(())
    }));
    message.take().expect("ours").consume(4).expect("sound");
    calm();
}

/// A separate control group, removed in the end.
struct Group {
    path: PathBuf,
    /// The file that freezes it, and its values.
    freeze: (&'static str, &'static str, &'static str),
}

impl Group {
    /// Err: the reason why there is none.
    fn new() -> Result<Group, String> {
        let name = format!("headwater-death-{}", std::process::id());
        let kinds = [
            ("/sys/fs/cgroup", ("cgroup.freeze", "1", "0")),
            ("/sys/fs/cgroup/unified", ("cgroup.freeze", "1", "0")),
            ("/sys/fs/cgroup/freezer", ("freezer.state", "FROZEN", "THAWED")),
        ];
        let mut why = String::new();
        for (parent, freeze) in kinds {
            let path = PathBuf::from(parent).join(&name);
            match fs::create_dir(&path) {
                Ok(()) if path.join(freeze.0).exists() => return Ok(Group { path, freeze }),
                Ok(()) => {
                    let _ = fs::remove_dir(&path);
                    why += &format!("{parent}: it has no {}; ", freeze.0);
                }
                Err(error) => why += &format!("{parent}: {error}; "),
            }
        }
        Err(why)
    }

    fn take(&self, pid: u32) {
        fs::write(self.path.join("cgroup.procs"), pid.to_string()).expect("a group of our own");
    }

    fn freeze(&self) {
        fs::write(self.path.join(self.freeze.0), self.freeze.1).expect("the freezer");
        let frozen = || match self.freeze.0 {
            "cgroup.freeze" => fs::read_to_string(self.path.join("cgroup.events")).expect("v2").contains("frozen 1"),
            file => fs::read_to_string(self.path.join(file)).expect("v1").contains("FROZEN"),
        };
        while !frozen() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn thaw(&self) {
        fs::write(self.path.join(self.freeze.0), self.freeze.2).expect("the freezer");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::write(self.path.join(self.freeze.0), self.freeze.2);
        // It can be removed when its last process is reaped.
        for _ in 0..100 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// As a container is paused: the process does not run, but is not shown as stopped.
#[test]
fn a_frozen_holder_is_waited_for() {
    in_own_process!();
    let group = match Group::new() {
        Ok(group) => group,
        Err(why) => return println!("skipped, no control group can be frozen here: {why}"),
    };
    within(Duration::from_secs(40), "a frozen holder".into());
    let holding: Vec<_> = SIDES
        .into_iter()
        .map(|holds| {
            let (near, far) = ends(holds);
            let (child, control) = holder(near.clone(), holds);
            group.take(child.id());
            (holds, near, far, child, control)
        })
        .collect();
    group.freeze();
    let mut waiters = Vec::new();
    let mut others = Vec::new();
    for (holds, near, far, child, control) in holding {
        let mut other = near.direct();
        other.set_nonblocking(true).expect("arm");
        waiters.push(std::thread::spawn(move || use_side(&near, holds)));
        others.push((holds, other, far, child, control));
    }
    let start = Instant::now();
    while start.elapsed() < LONG {
        for (holds, other, ..) in &mut others {
            assert_eq!(refusal(use_directly(other, *holds)), Errno::Again);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
    group.thaw();
    // The other ends stay open until the waiters have come out.
    let mut ends = Vec::new();
    for (_, _, far, child, control) in others {
        tell(&control);
        joined(child);
        ends.push(far);
    }
    for waiter in waiters {
        assert_eq!(waiter.join().expect("waiter").expect("it came out"), 4);
    }
    drop(ends);
    calm();
}

#[test]
fn a_holder_that_lives_keeps_what_it_has_though_both_directions_were_shut_down() {
    in_own_process!();
    let (near, far) = pipe().expect("pipe");
    far.write(HELD).expect("room");
    near.shutdown(Shutdown::Write).expect("shutdown");
    far.shutdown(Shutdown::Write).expect("shutdown");
    let mut borrower = near.direct();
    let message = borrower.borrow().expect("no error").expect("it is there");
    far.set_nonblocking(true).expect("set");
    // The kernel shows a hang-up now.
    assert!(far.poll(Events::OUT, Some(Duration::ZERO)).expect("no error").intersects(Events::HUP));
    let flushed = far.flush_queues(Flush::READ);
    assert_eq!(flushed.expect_err("it is borrowed").errno(), Errno::Again);
    assert_eq!(message.to_vec(), HELD);
    message.consume(HELD.len()).expect("it was there");
    assert_eq!(read_all(&near), b"");
}
