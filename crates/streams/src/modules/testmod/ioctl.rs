//! The ioctls of `testmod`: all ways in which a module answers an ioctl, or does not.

use crate::error::{Errno, Result};
use crate::message::Message;
use crate::message::ioctl::IoctlBlock;
use crate::message::kind::Kind;
use crate::plumb::queue::Queue;

/// Returns the data in reverse order, and how many bytes they are.
pub const REVERSE: u32 = 0x4801;
/// Is refused with the error whose number is the first byte of the data; 0 is none.
pub const REFUSE: u32 = 0x4802;
/// Is done and fails with the error whose number is the first byte of the data.
pub const FAIL: u32 = 0x4803;
/// Is never answered.
pub const IGNORE: u32 = 0x4804;
/// Is answered when the next one comes, before that, with [`LATE_VALUE`].
pub const DELAY: u32 = 0x4805;
/// As [`DELAY`], by a request to copy from address 0.
pub const DELAY_COPY: u32 = 0x4806;
/// Is answered under the number of another ioctl.
pub const MISTAKE: u32 = 0x4807;
/// Transparent: the argument is the address of three words, an address to copy from, one to copy to in reverse order,
/// and the number of bytes. Returns that number.
pub const COPY: u32 = 0x4808;
/// Returns how many M_IOCDATA with an error have come.
pub const COUNT_FAILED_COPIES: u32 = 0x4809;

/// The return value of an answer that comes too late.
pub const LATE_VALUE: i32 = 4711;

/// The words of the module's state that ioctls use: the number of the ioctl whose answer is delayed, and its command; how many
/// copies have failed.
const DELAYED_ID: usize = 1;
const DELAYED_COMMAND: usize = 2;
const FAILED_COPIES: usize = 3;

/// Answers an M_IOCTL or M_IOCDATA, or passes it on.
pub(super) fn put<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    let block = IoctlBlock::of(&message)?;
    if message.header.kind == Kind::IocData {
        return go_on_copying(message, block, queue);
    }
    answer_delayed(&message, queue)?;
    let first = i32::from(message.data().and_then(|data| data.first()).copied().unwrap_or(0));
    match block.command {
        REVERSE => {
            let reversed: Vec<u8> = message.data().unwrap_or_default().iter().rev().copied().collect();
            queue.acknowledge(&message, reversed.len() as i32, Some(reversed))
        }
        REFUSE => queue.refuse(&message, Errno::new(first)),
        FAIL => queue.acknowledge_error(&message, Errno::new(first)),
        IGNORE => Ok(()),
        DELAY | DELAY_COPY => {
            let mut state = queue.state();
            (state[DELAYED_ID], state[DELAYED_COMMAND]) = (u64::from(block.id), u64::from(block.command));
            queue.set_state(state);
            Ok(())
        }
        MISTAKE => {
            let other = IoctlBlock { id: block.id.wrapping_add(1), ..block }.message(Kind::Ioctl, None);
            queue.acknowledge(&other, LATE_VALUE, None)
        }
        COPY => {
            let address =
                message.data().and_then(|data| data.first_chunk()).map_or(0, |bytes| u64::from_ne_bytes(*bytes));
            queue.copy_in(&message, address, 24, [ASKED, 0])
        }
        COUNT_FAILED_COPIES => {
            let count = queue.state()[FAILED_COPIES];
            queue.acknowledge(&message, count as i32, None)
        }
        _ => queue.put_next(message),
    }
}

/// The progress of a [`COPY`], in the first private word: the three words were asked for, then the bytes, then those
/// were sent.
const ASKED: u64 = 1;
const FETCHED: u64 = 2;
const SENT: u64 = 3;

fn go_on_copying<'m>(message: Message<'m>, block: IoctlBlock, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    if block.error != 0 {
        let mut state = queue.state();
        state[FAILED_COPIES] += 1;
        queue.set_state(state);
        return Ok(());
    }
    let data = message.data().unwrap_or_default();
    match block.private {
        [ASKED, _] => {
            let word = |at: usize| data.get(8 * at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
            let [from, to, len] = [0, 1, 2].map(|at| u64::from_ne_bytes(word(at)));
            queue.copy_in(&message, from, len, [FETCHED, to])
        }
        [FETCHED, to] => {
            let reversed: Vec<u8> = data.iter().rev().copied().collect();
            let len = reversed.len() as u64;
            queue.copy_out(&message, to, reversed, [SENT, len])
        }
        [SENT, len] => queue.acknowledge(&message, len as i32, None),
        _ => queue.put_next(message),
    }
}

/// The answer that an earlier ioctl was to get when another comes.
fn answer_delayed(message: &Message<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let mut state = queue.state();
    let id = std::mem::take(&mut state[DELAYED_ID]) as u32;
    if id == 0 {
        return Ok(());
    }
    let command = state[DELAYED_COMMAND] as u32;
    queue.set_state(state);
    let earlier = IoctlBlock { id, command, ..IoctlBlock::of(message)? }.message(Kind::Ioctl, None);
    if command == DELAY_COPY {
        queue.copy_in(&earlier, 0, 1, [ASKED, 0])
    } else {
        queue.acknowledge(&earlier, LATE_VALUE, None)
    }
}
