//! Ioctls that hand a module or driver some bytes and get some back, by I_STR or transparently: the steps of M_COPYIN, M_COPYOUT and
//! M_IOCDATA, in one place. For modules and drivers of the library.

use super::queue::Queue;
use crate::error::{Error, Result, fixed};
use crate::message::Message;
use crate::message::ioctl::IoctlBlock;
use crate::message::kind::Kind;

/// The steps of a transparent ioctl, in the first private word of its block.
const FETCHED: u64 = 0x6669_7273_7400;
const RETURNED: u64 = FETCHED + 1;

/// Answers an M_IOCTL, or the M_IOCDATA that follows it. `len_in` is how many bytes a command hands over; `act` gets them, does what
/// the command asks for, and returns the ioctl's value and the bytes for the caller. Its error refuses the ioctl; of
/// one of I_STR with fewer bytes, `EINVAL`.
pub(crate) fn exchange<'m>(
    message: Message<'m>,
    queue: &mut Queue<'_, '_, 'm>,
    len_in: impl FnOnce(u32) -> usize,
    act: impl FnOnce(u32, &[u8], &mut Queue<'_, '_, 'm>) -> Result<(i32, Vec<u8>)>,
) -> Result<()> {
    let block = IoctlBlock::of(&message)?;
    let len_in = len_in(block.command);
    let data = message.data().unwrap_or_default();
    let is_own = block.count.is_some();
    let address = match (message.header.kind, block.private) {
        // Nothing was copied: the caller knows why.
        (Kind::IocData, _) if block.error != 0 => return Ok(()),
        (Kind::IocData, [RETURNED, value]) => return queue.acknowledge(&message, value as i32, None),
        (Kind::IocData, [FETCHED, address]) => address,
        (Kind::IocData, _) => return Ok(()),
        _ if is_own => 0,
        _ => {
            let address = data.first_chunk().copied().map_or(0, u64::from_ne_bytes);
            if len_in > 0 {
                return queue.copy_in(&message, address, len_in as u64, [FETCHED, address]);
            }
            address
        }
    };
    let short = || fixed!(Inval, "the ioctl has fewer bytes of data than its structure");
    let done = match data.get(..len_in).ok_or_else(short) {
        Ok(data) => act(block.command, data, queue),
        Err(error) => Err(error),
    };
    answer(&message, queue, is_own, address, done)
}

fn answer(
    message: &Message<'_>,
    queue: &mut Queue<'_, '_, '_>,
    is_own: bool,
    address: u64,
    done: Result<(i32, Vec<u8>)>,
) -> Result<()> {
    match done {
        Err(error) if Error::is_held(&error) => Err(error),
        Err(error) => queue.refuse(message, error.errno()),
        Ok((value, data)) if is_own || data.is_empty() => {
            queue.acknowledge(message, value, Some(data).filter(|_| is_own))
        }
        Ok((value, data)) => queue.copy_out(message, address, data, [RETURNED, value as u32 as u64]),
    }
}
