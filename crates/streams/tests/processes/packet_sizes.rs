//! The shortest and the longest data part that a stream head sends (minpsz, maxpsz): as the first module or driver below has set
//! them by its information or by strqset, or the other head by M_SETOPTS.

use std::sync::Once;

use crate::common::in_own_process;
use headwater_streams::{
    ControlMode, Device, Driver, DriverInfo, Errno, Message, Module, ModuleInfo, Queue, ReadMode, ReadOptions, Result,
    SetOptions, Side, Stream, pipe, register, register_driver,
};

/// Sends back what comes, in messages of these sizes.
#[derive(Debug)]
struct Sized(&'static str, u32, u32);

impl Driver for Sized {
    fn info(&self) -> DriverInfo {
        DriverInfo::new(self.0).packet_sizes(self.1, self.2)
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        queue.reply(message)
    }
}

/// Sets the sizes of its write queue to those that are written, two numbers; an M_SETOPTS for its own head when "head" and two
/// numbers are read.
#[derive(Debug)]
struct Sizer;

impl Module for Sizer {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("sizer")
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        let text = String::from_utf8_lossy(message.data().unwrap_or_default()).into_owned();
        let words: Vec<_> = text.split(' ').collect();
        match (queue.side(), &words[..]) {
            (Side::Write, ["set", min, max]) => {
                let sizes = (min.parse().expect("a number"), max.parse().expect("a number"));
                let refused = queue.set_packet_sizes(9, 8).expect_err("the shortest is longer");
                assert_eq!(refused.errno(), Errno::Inval);
                queue.set_packet_sizes(sizes.0, sizes.1)?;
                assert_eq!(queue.packet_sizes(), sizes);
                Ok(())
            }
            (Side::Read, ["head", min, max]) => {
                let set =
                    SetOptions::new().minpsz(min.parse().expect("a number")).maxpsz(max.parse().expect("a number"));
                queue.put_next(set.message())
            }
            _ => queue.put_next(message),
        }
    }
}

fn know() {
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| {
        register_driver(Sized("sized-4-16", 4, 16)).expect("new");
        register_driver(Sized("sized-0-16", 0, 16)).expect("new");
        register(Sizer).expect("new");
    });
}

fn errno<T: std::fmt::Debug>(done: Result<T>) -> Errno {
    done.expect_err("refused").errno()
}

/// Bytes of 4 to 16 are taken, and no others.
fn takes_4_to_16(stream: &Stream) {
    assert_eq!(stream.settings().maxpsz(), 16);
    for bytes in [0, 1, 3, 17, 40] {
        let bytes = vec![1; bytes];
        if !bytes.is_empty() || stream.settings().write_options().zero {
            assert_eq!(errno(stream.write(&bytes)), Errno::Range, "{} bytes", bytes.len());
            assert_eq!(errno(stream.putmsg(None, Some(&bytes))), Errno::Range, "{} bytes", bytes.len());
        }
        assert_eq!(errno(stream.putmsg(Some(b"c"), Some(&bytes))), Errno::Range, "{} bytes", bytes.len());
    }
    for bytes in [4, 16] {
        assert_eq!(stream.write(&vec![1; bytes]).expect("it fits"), bytes);
        stream.putmsg(None, Some(&vec![1; bytes])).expect("it fits");
        stream.putmsg(Some(b"c"), Some(&vec![1; bytes])).expect("it fits");
    }
    stream.putmsg(Some(b"c"), None).expect("it has no data part");
}

/// Reads find the boundaries of messages, and do not wait.
fn by_messages(stream: &Stream) {
    stream.set_nonblocking(true).expect("arm");
    stream
        .settings()
        .set_read_options(ReadOptions::new().mode(ReadMode::MessageKeep).control(ControlMode::Discard))
        .expect("known");
}

/// The lengths of what is there to be read.
fn lengths(stream: &Stream) -> Vec<usize> {
    let mut buffer = [0; 100_000];
    std::iter::from_fn(|| stream.read(&mut buffer).ok()).collect()
}

#[test]
fn a_driver_s_sizes_are_those_of_its_writers() {
    in_own_process!();
    know();
    let open = |name| Device::open_private(name).expect("known");
    takes_4_to_16(&open("sized-4-16"));
    // Without a shortest, what is too long is cut; not beside a control part.
    let stream = open("sized-0-16");
    by_messages(&stream);
    assert_eq!(stream.write(&[1; 40]).expect("cut"), 40);
    stream.putmsg(None, Some(&[1; 20])).expect("cut");
    assert_eq!(errno(stream.putmsg(Some(b"c"), Some(&[1; 17]))), Errno::Range);
    assert_eq!(stream.write(b"").expect("any"), 0);
    assert_eq!(lengths(&stream), [16, 16, 8, 16, 4, 0]);
    // A module on top says what counts, and this one says nothing.
    let stream = open("sized-4-16");
    stream.push("nullmod").expect("known");
    assert_eq!(stream.write(&[1; 100]).expect("the driver does not look"), 100);
    stream.pop().expect("pushed");
    takes_4_to_16(&stream);
}

#[test]
fn what_a_module_sets_counts_from_the_next_write_on() {
    in_own_process!();
    know();
    let (near, far) = pipe().expect("pipe");
    near.push("sizer").expect("known");
    // Quick writes do not look.
    (0..5).for_each(|_| assert_eq!(near.write(&[1; 3]).expect("any"), 3));
    near.write(b"set 4 16").expect("any");
    takes_4_to_16(&near);
    near.write(b"set 0 8").expect("it fits");
    assert_eq!(near.write(&[1; 20]).expect("cut"), 20);
    near.write(b"set 0 0").expect("it fits");
    near.write(&[1; 30]).expect("as it was");
    by_messages(&far);
    let got = lengths(&far);
    assert_eq!(got.iter().sum::<usize>(), 5 * 3 + 3 * 20 + 20 + 30, "{got:?}");
    // That of the other end's module does not.
    assert_eq!(far.write(&[1; 3]).expect("any"), 3);
}

#[test]
fn what_a_head_is_told_by_setopts_counts_for_the_other_end() {
    in_own_process!();
    know();
    let (near, far) = pipe().expect("pipe");
    far.push("sizer").expect("known");
    near.write(b"head 4 16").expect("any");
    // The module of the other end is the first queue below, and has set nothing.
    far.pop().expect("pushed");
    takes_4_to_16(&near);
    assert!(near.direct().reserve(3).is_err_and(|error| error.errno() == Errno::Range));
    near.direct().reserve(4).expect("it fits").commit().expect("room");
    by_messages(&far);
    assert_eq!(lengths(&far).iter().sum::<usize>(), 3 * 20 + 4);
}
