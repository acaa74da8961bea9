//! A process is killed at any place of a call that gathers messages, or passes a chunk on: each message comes once, in its order.

use std::io::{Read, Write, pipe};
use std::time::Duration;

use headwater_shm::probe;
use headwater_streams::modules::bufmod::{BufferFlags, SET_CHUNK, SET_FLAGS};
use headwater_streams::{IoctlTimeout, Options, Result, Stream};

use crate::common::{calm, child, in_own_process, within};

/// Bytes of a message: a number. Six are a chunk.
const LEN: usize = 8;
const CHUNK: u32 = 50;

fn buffered(hiwat: u32) -> (Stream, Stream) {
    let (near, far) = Options::new().hiwat(hiwat).lowat(hiwat / 2).pipe().expect("pipe");
    near.push("bufmod").expect("known");
    let flags = BufferFlags::NO_HEADER | BufferFlags::NO_DROPS;
    for (command, word) in [(SET_FLAGS, flags.bits()), (SET_CHUNK, CHUNK)] {
        near.ioctl(command, &mut word.to_ne_bytes().to_vec(), IoctlTimeout::Usual).expect("valid");
    }
    (near, far)
}

/// Writes numbers, and reports each one as written.
fn write_numbers(far: &Stream, numbers: std::ops::Range<u64>, mut report: impl FnMut() -> Result<()>) -> Result<()> {
    for number in numbers {
        assert_eq!(far.write(&number.to_ne_bytes())?, LEN);
        report()?;
    }
    Ok(())
}

/// Reads numbers up to the end of the stream.
fn read_all(near: &Stream) -> Vec<u64> {
    let (mut bytes, mut some) = (Vec::new(), [0; 64]);
    while let count @ 1.. = near.read(&mut some).expect("no error") {
        bytes.extend_from_slice(&some[..count]);
    }
    let (numbers, rest) = bytes.as_chunks::<LEN>();
    assert!(rest.is_empty(), "a message in part");
    numbers.iter().copied().map(u64::from_ne_bytes).collect()
}

#[test]
fn a_writer_killed_at_any_place_leaves_each_message_once() {
    in_own_process!();
    for place in 0.. {
        within(Duration::from_secs(30), format!("a writer through bufmod killed at place {place}"));
        let (near, far) = buffered(1 << 16);
        // A chunk has begun.
        write_numbers(&far, 0..3, || Ok(())).expect("room");
        let (mut told, tell) = pipe().expect("pipe");
        let mut killed = child(|| {
            probe::arm(place, None);
            write_numbers(&far, 3..11, || Ok((&tell).write_all(b"x")?))
        });
        drop(tell);
        let came_through = killed.wait().expect("wait").success();
        let mut reports = Vec::new();
        told.read_to_end(&mut reports).expect("a pipe");
        let reported = 3 + reports.len() as u64;
        // The one that it was killed in may have been written.
        write_numbers(&far, 100..110, || Ok(())).expect("room");
        drop(far);
        let (before, after): (Vec<u64>, Vec<u64>) = read_all(&near).into_iter().partition(|number| *number < 100);
        let is_whole = before.iter().copied().eq(0..before.len() as u64);
        assert!(is_whole, "place {place}: {before:?}");
        assert!((reported..=reported + 1).contains(&(before.len() as u64)), "place {place}: {reported}, {before:?}");
        assert!(after.into_iter().eq(100..110), "place {place}");
        if came_through {
            assert!(place > 50, "only {place} places were passed");
            break;
        }
    }
    calm();
}

#[test]
fn a_reader_killed_while_it_makes_room_leaves_the_rest_once() {
    in_own_process!();
    for place in 0.. {
        within(Duration::from_secs(30), format!("a reader behind bufmod killed at place {place}"));
        let (near, far) = buffered(100);
        far.set_nonblocking(true).expect("arm");
        // Until chunks wait in the module, for which there is no room.
        let mut written = 0;
        while far.write(&u64::to_ne_bytes(written)).is_ok() {
            written += 1;
        }
        assert!(written > 24, "{written}");
        let (mut told, tell) = pipe().expect("pipe");
        let mut killed = child(|| {
            probe::arm(place, None);
            let mut number = [0; LEN];
            for _ in 0..9 {
                assert_eq!(near.read(&mut number)?, LEN);
                (&tell).write_all(&number)?;
            }
            Ok(())
        });
        drop((tell, far));
        let came_through = killed.wait().expect("wait").success();
        let mut reports = Vec::new();
        told.read_to_end(&mut reports).expect("a pipe");
        let read = reports.len() as u64 / LEN as u64;
        let rest = read_all(&near);
        // What the killed one had taken and not reported is gone.
        let first = rest.first().copied().unwrap_or(written);
        assert!((read..=read + 1).contains(&first), "place {place}: {read} were read, and {first} comes next");
        assert!(rest.into_iter().eq(first..written), "place {place}");
        if came_through {
            assert!(place > 20, "only {place} places were passed");
            break;
        }
    }
    calm();
}
