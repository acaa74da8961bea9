//! A process that opens, uses or closes a device is killed at any place on its way: each open that the driver has seen is closed
//! once, by any process, and the device is whole for the next.

use std::path::Path;
use std::time::{Duration, Instant};

use headwater_shm::probe;
use headwater_streams::{DeviceOptions, Errno, Result, Stream};

use crate::closing::{self, ALONE, PAIRED, check_closes, count, forget, logged};
use crate::common::{calm, child, in_own_process, polled, within};

const PATIENCE: Duration = Duration::from_secs(30);

fn open(directory: &Path, driver: &str, minor: u32) -> Result<Stream> {
    DeviceOptions::new().directory(directory).minor(minor).open(driver)
}

/// Has `victim` killed at each place that it comes to, and `then` look at what is left, until it comes through. `places` is what
/// it passes at least.
fn at_each_place(
    what: &str,
    places: u64,
    mut prepare: impl FnMut(),
    victim: impl Fn(u64) -> Result<()>,
    mut then: impl FnMut(u64, u32),
) {
    for place in 0.. {
        within(PATIENCE, format!("{what} killed at place {place}"));
        forget();
        prepare();
        let mut process = child(|| victim(place));
        let came_through = process.wait().expect("wait").success();
        then(place, process.id());
        if came_through {
            assert!(place > places, "{what}: only {place} places were passed");
            break;
        }
    }
    calm();
}

#[test]
fn a_user_killed_at_any_place_of_open_and_close_leaves_one_close_for_each_open() {
    in_own_process!();
    let directory = closing::start();
    for driver in [ALONE, PAIRED] {
        let victim = |place| {
            probe::arm(place, None);
            let stream = open(directory.path(), driver, 3)?;
            stream.write(b"1")?;
            drop(stream);
            probe::arm(u64::MAX, None);
            Ok(())
        };
        at_each_place(
            driver,
            15,
            || (),
            victim,
            |place, pid| {
                // Another number: it closes what is left under the first.
                drop(open(directory.path(), driver, 6).expect("free"));
                let closed = count("closed 3");
                assert!(closed >= count("open 3"), "killed at place {place}: {:?}", logged());
                drop(open(directory.path(), driver, 3).expect("free"));
                assert_eq!(count("closed 3"), closed + 1, "killed at place {place}: {:?}", logged());
                check_closes(&logged(), 3, &[pid.to_string()]);
            },
        );
    }
}

#[test]
fn a_partner_killed_at_any_place_is_closed_once_and_the_other_one_is_hung_up() {
    in_own_process!();
    let directory = closing::start();
    let before = crate::common::open_things();
    let stream = std::cell::RefCell::new(None::<Stream>);
    let prepare = || *stream.borrow_mut() = Some(open(directory.path(), PAIRED, 0).expect("free"));
    let victim = |place| {
        drop(stream.borrow_mut().take());
        probe::arm(place, None);
        let partner = open(directory.path(), PAIRED, 1)?;
        partner.write(b"5")?;
        drop(partner);
        probe::arm(u64::MAX, None);
        Ok(())
    };
    at_each_place("a partner", 40, prepare, victim, |place, pid| {
        let stream = stream.borrow_mut().take().expect("prepared");
        stream.set_nonblocking(true).expect("arm");
        // What has come, and then the end, if it was there; else it is as if it had never come.
        let start = Instant::now();
        let is_hung_up = loop {
            match stream.read(&mut [0; 8]) {
                Ok(0) => break true,
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(error.errno(), Errno::Again, "killed at place {place}: {error}");
                    if count("open 1") == 0 || start.elapsed() > Duration::from_millis(60) {
                        break false;
                    }
                }
            }
        };
        let has_hang_up = polled(&stream, libc::POLLIN, Duration::ZERO) & libc::POLLHUP != 0;
        assert_eq!(has_hang_up, is_hung_up, "killed at place {place}");
        if !is_hung_up {
            // The next one is its partner.
            let partner = open(directory.path(), PAIRED, 1).expect("free");
            partner.write(b"6").expect("room");
            stream.set_nonblocking(false).expect("wait");
            assert_eq!(stream.read(&mut [0; 8]).expect("there"), 1, "killed at place {place}");
        }
        drop(stream);
        drop(open(directory.path(), PAIRED, 1).expect("free"));
        check_closes(&logged(), 1, &[pid.to_string()]);
        assert_eq!(count("closed 0"), 1, "killed at place {place}: {:?}", logged());
    });
    crate::common::expect_nothing_left(before);
}

#[test]
fn one_that_closes_its_dead_partner_is_killed_at_any_place() {
    in_own_process!();
    let directory = closing::start();
    let victim = |place| {
        let stream = open(directory.path(), PAIRED, 8)?;
        let mut partner = child(|| {
            let partner = open(directory.path(), PAIRED, 9)?;
            partner.write(b"7")?;
            headwater_os::child::kill_self();
        });
        stream.read(&mut [0; 8])?;
        probe::arm(place, None);
        partner.wait()?;
        drop(stream);
        probe::arm(u64::MAX, None);
        Ok(())
    };
    at_each_place(
        "the one that is left",
        10,
        || (),
        victim,
        |place, pid| {
            for minor in [8, 9] {
                drop(open(directory.path(), PAIRED, minor).expect("free"));
                check_closes(&logged(), minor, &[pid.to_string()]);
                assert!(count(&format!("closed {minor}")) >= 2, "killed at place {place}: {:?}", logged());
            }
        },
    );
}
