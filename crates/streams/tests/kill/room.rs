//! A user of a FIFO is killed at any place on its way to make room or to wait for it, and the remaining writer is still
//! notified of room.

use std::time::Duration;

use headwater_shm::probe;
use headwater_streams::{Access, Errno, FifoOptions, Options, Stream};

use crate::common::{alone, calm, child, fifo, polled, within};

const MESSAGE: usize = 100;
const LOWAT: usize = 500;

/// A FIFO, its reader and a writer that has filled it and was refused.
fn full() -> (tempfile::TempDir, Stream, Stream) {
    let (directory, path) = fifo();
    let options = Options::new().hiwat(1000).lowat(LOWAT as u32);
    let open = |access| FifoOptions::new().nonblocking(true).stream(options).open(&path, access).expect("open");
    let reader = open(Access::Read);
    let writer = open(Access::Write);
    assert_eq!(fill(&writer), Errno::Again);
    assert!(!is_writable(&writer), "full");
    (directory, reader, writer)
}

/// Writes until it is refused.
fn fill(writer: &Stream) -> Errno {
    loop {
        if let Err(error) = writer.write(&[1; MESSAGE]) {
            return error.errno();
        }
    }
}

fn is_writable(writer: &Stream) -> bool {
    polled(writer, libc::POLLOUT, Duration::ZERO) & libc::POLLOUT != 0
}

/// Reads one message, and then others until few bytes are left: not all, which a writer would notice in any case.
fn read_to_low_water(reader: &Stream) {
    loop {
        assert_eq!(reader.read(&mut [0; MESSAGE]).expect("there"), MESSAGE);
        if reader.nread().expect("whole").0 < LOWAT {
            return;
        }
    }
}

/// Kills another process of the end at each probe that it reaches, and lets a reader then make room.
fn killed_at_any_place(what: &str, mut dies: impl FnMut(&Stream, &Stream, u64) -> bool) {
    let _alone = alone();
    for place in 0.. {
        within(Duration::from_secs(30), format!("{what} killed at place {place}"));
        let (_directory, mut reader, mut writer) = full();
        let came_through = dies(&mut reader, &mut writer, place);
        read_to_low_water(&reader);
        assert!(is_writable(&writer), "{what} killed at place {place}: no room is told");
        if came_through {
            assert!(place > 5, "only {place} places were passed");
            break;
        }
    }
    calm();
}

#[test]
fn a_fifos_reader_killed_at_any_place_leaves_the_writer_its_signal_of_room() {
    killed_at_any_place("a reader", |reader, _, place| {
        let mut rival = child(|| {
            reader.attach()?;
            probe::arm(place, None);
            read_to_low_water(reader);
            Ok(())
        });
        rival.wait().expect("wait").success()
    });
}

#[test]
fn a_fifos_writer_killed_at_any_place_leaves_the_others_their_signal_of_room() {
    killed_at_any_place("a writer", |reader, writer, place| {
        read_to_low_water(reader);
        assert!(is_writable(writer), "there is room");
        let mut rival = child(|| {
            writer.attach()?;
            probe::arm(place, None);
            assert_eq!(fill(writer), Errno::Again);
            Ok(())
        });
        rival.wait().expect("wait").success()
    });
}
