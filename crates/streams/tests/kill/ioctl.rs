//! The caller of an ioctl is killed at any place on its way, also where it copies for it: the next caller at that end
//! gets its own answer soon.

use std::time::{Duration, Instant};

use headwater_shm::probe;
use headwater_streams::modules::testmod::ioctl::{COPY, REVERSE};
use headwater_streams::{IoctlTimeout, MemoryAt, Result, Stream, pipe};

use crate::common::{calm, child, in_own_process, within};

/// A transparent ioctl that is answered after two copies from memory and one to it.
fn copy(stream: &Stream) -> Result<i32> {
    let mut words = [2000u64, 2000, 3].map(u64::to_ne_bytes).concat();
    let mut text = *b"abc";
    let mut memory = vec![MemoryAt::new(1000, &mut words), MemoryAt::new(2000, &mut text)];
    stream.transparent_ioctl(COPY, 1000, &mut memory)
}

#[test]
fn a_caller_of_an_ioctl_killed_at_any_place_leaves_its_end_to_the_next() {
    in_own_process!();
    for modules in [&["testmod"][..], &["testmod", "srvmod"]] {
        for place in 0.. {
            within(Duration::from_secs(30), format!("the caller of an ioctl killed at place {place}"));
            let (near, _far) = pipe().expect("pipe");
            modules.iter().for_each(|module| near.push(module).expect("known"));
            let theirs = near.clone();
            let mut caller = child(|| {
                theirs.attach()?;
                probe::arm(place, None);
                assert_eq!(copy(&theirs)?, 3);
                Ok(())
            });
            let came_through = caller.wait().expect("wait").success();
            let start = Instant::now();
            for text in [&b"ab"[..], b"cde"] {
                let mut data = text.to_vec();
                let timeout = IoctlTimeout::After(Duration::from_secs(5));
                let value = near.ioctl(REVERSE, &mut data, timeout);
                let value = value.unwrap_or_else(|error| panic!("killed at place {place}: {error}"));
                assert!(value as usize == text.len() && data.iter().eq(text.iter().rev()), "killed at place {place}");
                assert_eq!(copy(&near).expect("its own answers"), 3, "killed at place {place}");
            }
            assert!(start.elapsed() < Duration::from_secs(1), "killed at place {place}: {:?}", start.elapsed());
            if came_through {
                assert!(place > 30, "only {place} places were passed");
                break;
            }
        }
    }
    calm();
}
