//! A writer that is refused is killed at any place on its way; the survivor at its end does nothing, and the reader's
//! descriptor still shows the right events.

use std::time::Duration;

use headwater_shm::probe;
use headwater_streams::{Errno, Options, Stream};

use crate::common::{calm, child, in_own_process, polled, within};

fn is_readable(stream: &Stream) -> bool {
    polled(stream, libc::POLLIN, Duration::ZERO) & libc::POLLIN != 0
}

#[test]
fn a_refused_writer_killed_at_any_place_leaves_what_is_unread_to_be_seen() {
    in_own_process!();
    const MESSAGE: usize = 100;
    const HELD: usize = 1100;
    for place in 0.. {
        within(Duration::from_secs(30), format!("a refused writer killed at place {place}"));
        let (near, far) = Options::new().hiwat(1000).lowat(500).pipe().expect("pipe");
        near.set_nonblocking(true).expect("set");
        far.set_nonblocking(true).expect("set");
        for _ in 0..HELD / MESSAGE {
            near.write(&[1; MESSAGE]).expect("room");
        }
        let mut writer = child(|| {
            near.attach()?;
            probe::arm(place, None);
            assert_eq!(near.write(&[1; MESSAGE]).expect_err("full").errno(), Errno::Again);
            Ok(())
        });
        let came_through = writer.wait().expect("wait").success();
        for left in (0..HELD).rev().step_by(MESSAGE) {
            assert!(is_readable(&far), "killed at place {place}: {left} bytes and more are unread");
            assert_eq!(far.read(&mut [0; MESSAGE]).expect("there"), MESSAGE);
        }
        assert_eq!(far.read(&mut [0]).expect_err("nothing").errno(), Errno::Again);
        // Once more if a dead process has left packets.
        assert_eq!(far.read(&mut [0]).expect_err("nothing").errno(), Errno::Again);
        assert!(!is_readable(&far), "killed at place {place}: readable, and nothing is there");
        near.write(b"x").expect("room");
        assert!(is_readable(&far), "killed at place {place}");
        if came_through {
            assert!(place > 5, "only {place} places were passed");
            break;
        }
    }
    calm();
}
