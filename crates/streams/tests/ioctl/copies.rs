//! Transparent ioctls: the copies from and to the caller's memory.

use std::cell::Cell;

use headwater_streams::modules::testmod::ioctl::{COPY, COUNT_FAILED_COPIES, REVERSE};
use headwater_streams::{Errno, Error, MemoryAt, Result, Stream, UserMemory, pipe};

use super::{LONG, answering, ask};

/// Makes the module copy three words at 1000 and text at 2000; returns the result and the text.
fn copy(stream: &Stream, argument: u64, words: [u64; 3], text: &[u8]) -> std::result::Result<(i32, Vec<u8>), Errno> {
    let mut words = words.map(u64::to_ne_bytes).concat();
    let mut text = text.to_vec();
    let mut memory = vec![MemoryAt::new(1000, &mut words), MemoryAt::new(2000, &mut text)];
    let value = stream.transparent_ioctl(COPY, argument, &mut memory).map_err(|error| error.errno())?;
    Ok((value, text))
}

#[test]
fn what_a_module_asks_for_is_copied() {
    for modules in [&["testmod"][..], &["testmod", "srvmod"], &["srvmod", "testmod"]] {
        let (near, _far) = pipe().expect("pipe");
        modules.iter().for_each(|module| near.push(module).expect("known"));
        assert_eq!(copy(&near, 1000, [2000, 2004, 4], b"abcd----"), Ok((4, b"abcddcba".to_vec())));
        assert_eq!(copy(&near, 1000, [2000, 2000, 0], b"abcd"), Ok((0, b"abcd".to_vec())));
        let long = vec![7; 100_000];
        assert_eq!(copy(&near, 1000, [2000, 2000, 100_000], &long), Ok((100_000, long)));
    }
}

#[test]
fn a_bad_address_is_efault_and_the_module_is_told() {
    let (near, _far) = answering();
    let bad = [
        (999, [2000, 2000, 1], Errno::Fault),
        (1001, [2000, 2000, 1], Errno::Fault),
        (u64::MAX, [2000, 2000, 1], Errno::Fault),
        (1000, [1999, 2000, 1], Errno::Fault),
        (1000, [2000, 2000, 5], Errno::Fault),
        (1000, [2000, 2002, 3], Errno::Fault),
        (1000, [2000, 2000, u64::MAX], Errno::Inval),
        (1000, [2000, 2000, (256 << 10) + 1], Errno::Inval),
    ];
    for (count, (argument, words, errno)) in bad.into_iter().enumerate() {
        assert_eq!(copy(&near, argument, words, b"abcd"), Err(errno), "{argument} {words:?}");
        assert_eq!(ask(&near, COUNT_FAILED_COPIES, b"", LONG), Ok((count as i32 + 1, Vec::new())));
    }
    assert_eq!(ask(&near, REVERSE, b"ab", LONG), Ok((2, b"ba".to_vec())));
}

/// I_STR hands its data over: a module may not ask for more.
#[test]
fn an_ioctl_with_data_of_its_own_has_no_memory_to_copy_from() {
    let (near, _far) = answering();
    assert_eq!(ask(&near, COPY, &1000u64.to_ne_bytes(), LONG), Err(Errno::Fault));
}

#[test]
fn nobody_knows_a_transparent_ioctl_on_a_bare_pipe() {
    let (near, _far) = pipe().expect("pipe");
    assert_eq!(copy(&near, 1000, [2000, 2000, 1], b"a"), Err(Errno::Inval));
}

/// A memory with its own errors, which is called once for each request of the module.
#[test]
fn the_memory_s_own_error_is_the_ioctl_s() {
    struct Broken(Cell<u32>);
    impl UserMemory for Broken {
        fn copy_in(&self, _: u64, buffer: &mut [u8]) -> Result<()> {
            self.0.set(self.0.get() + 1);
            if self.0.get() == 2 {
                return Err(Error::new(Errno::Io, "the memory is broken"));
            }
            buffer.copy_from_slice(&[1u64, 1, 1].map(u64::to_ne_bytes).concat());
            Ok(())
        }
        fn copy_out(&mut self, _: u64, _: &[u8]) -> Result<()> {
            panic!("it does not come to that");
        }
    }
    let (near, _far) = answering();
    let error = near.transparent_ioctl(COPY, 5, &mut Broken(Cell::new(0))).expect_err("broken");
    assert_eq!(error.errno(), Errno::Io);
}
