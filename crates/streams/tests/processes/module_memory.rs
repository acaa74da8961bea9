//! The memory that a module asks for: each push has its own, all processes share it, and it is zeros at first.

use crate::common::{child, in_own_process, joined};
use headwater_streams::limits::{MODULE_INSTANCE_MAX, NSTRPUSH};
use headwater_streams::{Errno, Kind, Message, Module, ModuleInfo, Queue, Result, Side, Stream, pipe, register};

/// Adds up the first bytes of messages, in the last byte of its memory, and passes on the sum instead.
#[derive(Debug)]
struct Sum(&'static str, usize);

impl Module for Sum {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new(self.0).instance(self.1)
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if queue.side() == Side::Read || message.header.kind != Kind::Data {
            return queue.put_next(message);
        }
        assert_eq!(queue.instance_len(), self.1);
        let (mut sum, last) = ([0], self.1 - 1);
        queue.read_instance(last, &mut sum)?;
        sum[0] += message.data().and_then(|data| data.first()).copied().unwrap_or(0);
        queue.write_instance(last, &sum)?;
        for (at, len) in [(self.1, 1), (0, self.1 + 1), (usize::MAX, 2)] {
            let refused = [queue.read_instance(at, &mut vec![0; len]), queue.write_instance(at, &vec![0; len])];
            assert!(refused.into_iter().all(|done| done.expect_err("outside").errno() == Errno::Inval));
        }
        queue.put_next(Message::data_of(&sum).into_owned())
    }
}

/// Writes a byte and returns what arrives for it.
fn sum(near: &Stream, far: &Stream, byte: u8) -> u8 {
    near.write(&[byte]).expect("room");
    let mut got = [0];
    assert_eq!(far.read(&mut got).expect("there"), 1);
    got[0]
}

#[test]
fn each_push_has_memory_of_its_own_that_is_zeros_at_first() {
    in_own_process!();
    register(Sum("sum", MODULE_INSTANCE_MAX)).expect("new");
    let (near, far) = pipe().expect("pipe");
    for end in [&near, &far] {
        end.push("sum").expect("known");
    }
    // What comes of the far end is added up by its own instance.
    assert_eq!((sum(&near, &far, 5), sum(&near, &far, 6)), (5, 11));
    assert_eq!((sum(&far, &near, 1), sum(&far, &near, 2)), (1, 3));
    near.push("sum").expect("known");
    // The new one passes on 7, the old one adds that.
    assert_eq!((sum(&near, &far, 7), sum(&near, &far, 1)), (18, 26));
    near.pop().expect("pushed");
    near.pop().expect("pushed");
    near.push("sum").expect("known");
    assert_eq!(sum(&near, &far, 1), 1, "the memory of the one before");
    assert_eq!(sum(&far, &near, 1), 4, "of the other end");
}

#[test]
fn processes_share_it() {
    in_own_process!();
    register(Sum("shared sum", 1)).expect("new");
    let (near, far) = pipe().expect("pipe");
    near.push("shared sum").expect("known");
    assert_eq!(sum(&near, &far, 1), 1);
    joined(child(|| {
        assert_eq!(sum(&near, &far, 2), 3);
        Ok(())
    }));
    assert_eq!(sum(&near, &far, 4), 7);
}

#[test]
fn as_many_modules_as_an_end_takes_have_it_and_none_has_too_much() {
    in_own_process!();
    register(Sum("many sums", 4096)).expect("new");
    let too_much = register(Sum("too much", MODULE_INSTANCE_MAX + 1)).expect_err("beyond the limit");
    assert_eq!(too_much.errno(), Errno::Inval);
    let (near, far) = pipe().expect("pipe");
    for _ in 0..NSTRPUSH {
        near.push("many sums").expect("room");
    }
    assert_eq!(sum(&near, &far, 1), 1);
    // Each has added 1 to what it was given: the sums are those of Pascal's triangle.
    assert_eq!(sum(&near, &far, 0), 64);
}

/// Has its write queue not enabled by messages.
#[derive(Debug)]
struct Passive;

impl Module for Passive {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("passive").service(Side::Write)
    }

    fn open(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        queue.set_passive();
        queue.enable_for_memory();
        Ok(())
    }
}

#[test]
fn a_module_takes_a_queue_over_without_the_flags_of_the_one_before() {
    in_own_process!();
    register(Passive).expect("new");
    let (near, far) = pipe().expect("pipe");
    near.push("passive").expect("known");
    near.pop().expect("pushed");
    near.push("srvmod").expect("known");
    far.set_nonblocking(true).expect("arm");
    near.putmsg(Some(b"x"), Some(b"y")).expect("room");
    assert_eq!(far.read(&mut [0; 4]).expect_err("a control part").errno(), Errno::Badmsg);
}
