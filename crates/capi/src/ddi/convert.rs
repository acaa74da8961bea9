//! Converts a message of a stream to blocks of C, and back. The bytes are handed over and not copied if the message
//! owns them.
//!
//! | message | blocks |
//! |---|---|
//! | M_DATA | blocks of M_DATA |
//! | M_PROTO, M_PCPROTO | one block of that type with the control part; blocks of M_DATA with the data part, if there
//! is one |
//! | M_IOCTL, M_IOCACK, M_IOCNAK, M_COPYIN, M_COPYOUT, M_IOCDATA | one block of that type with C's structure; blocks of
//! M_DATA |
//! | M_SETOPTS, M_READ | one block of that type with C's structure |
//! | others | one block of that type with the data part; or with the control part, and blocks of M_DATA |

use headwater_streams::{Errno, Error, IoctlBlock, Kind, Message, MessageHeader, Result, SetOptions};

use super::block::{self, M_DATA};
use super::ioctl;
use super::types::{
    MSG_CONTROL, MSG_PLAIN, MSGDELIM, MSGMARK, MSGNOLOOP, Mblk, SO_HIWAT, SO_LOWAT, SO_MAXPSZ, SO_MINPSZ, SO_MREADOFF,
    SO_MREADON, SO_READOPT, StreamOptions,
};

fn is_ioctl(kind: Kind) -> bool {
    matches!(kind, Kind::Ioctl | Kind::IocAck | Kind::IocNak | Kind::CopyIn | Kind::CopyOut | Kind::IocData)
}

fn flags_of(header: MessageHeader) -> u16 {
    let flag = |on: bool, flag: u16| if on { flag } else { 0 };
    flag(header.marked, MSGMARK)
        | flag(header.turned, MSGNOLOOP)
        | flag(header.delimited, MSGDELIM)
        | flag(!header.whole, MSG_PLAIN)
}

/// Makes the blocks of a message. The caller owns them.
pub fn to_blocks(message: Message<'_>) -> *mut Mblk {
    let header = message.header;
    let flag = flags_of(header);
    let labelled = |bytes: Vec<u8>, kind: u8, flag: u16| {
        let made = block::from_vec(bytes);
        // SAFETY: `made` was just made, and is ours.
        unsafe { block::label(made, kind, header.band, flag) };
        made
    };
    let with_data = |first: *mut Mblk, data: Option<Vec<u8>>| {
        if let Some(data) = data {
            // SAFETY: `first` was just made, is ours, and is the only block.
            unsafe { (*first).cont = labelled(data, M_DATA, 0) };
        }
        first
    };
    let kind = header.kind as u8;
    match header.kind {
        Kind::Data => labelled(message.into_parts().1.unwrap_or_default(), M_DATA, flag),
        Kind::SetOptions => labelled(bytes_of(&options_of(SetOptions::of(&message))), kind, flag),
        Kind::Read => {
            let wanted =
                message.data().and_then(|data| data.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes));
            labelled((wanted as usize).to_ne_bytes().to_vec(), kind, flag)
        }
        _ if is_ioctl(header.kind) && IoctlBlock::of(&message).is_ok() => {
            let ioctl = IoctlBlock::of(&message).unwrap_or_default();
            let first = ioctl::to_block(header.kind, ioctl);
            // SAFETY: `first` was just made, and is ours.
            unsafe { block::label(first, kind, header.band, flag) };
            with_data(first, message.into_parts().1)
        }
        Kind::Proto | Kind::PcProto => {
            let (control, data) = message.into_parts();
            with_data(labelled(control.unwrap_or_default(), kind, flag), data)
        }
        _ => match message.into_parts() {
            (Some(control), data) => with_data(labelled(control, kind, flag | MSG_CONTROL), data),
            (None, data) => labelled(data.unwrap_or_default(), kind, flag),
        },
    }
}

/// Makes the message of blocks. The blocks are used up.
///
/// Errors: `EINVAL` if there is no such type, or if an ioctl's block is too short.
///
/// # Safety
/// `mp` is a message that the caller owns.
pub unsafe fn to_message(mp: *mut Mblk) -> Result<Message<'static>> {
    // SAFETY: the caller owns all blocks of the message `mp`. Each block is read once and then freed.
    unsafe {
        let number = block::kind(mp);
        let Some(kind) = Kind::of(number) else {
            block::free_message(mp);
            return Err(Error::new(
                Errno::Inval,
                format!("a module in C has sent a message of the unknown type {number:#x}"),
            ));
        };
        let mut header = MessageHeader::of(kind);
        let flag = (*mp).flag;
        header.band = if kind.is_high_priority() { 0 } else { (*mp).band };
        header.whole = flag & MSG_PLAIN == 0;
        header.marked = flag & MSGMARK != 0;
        header.turned = flag & MSGNOLOOP != 0;
        header.delimited = flag & MSGDELIM != 0;
        if kind == Kind::Data && (*mp).cont.is_null() {
            let mut message = Message::from(block::into_vec(mp));
            message.header = header;
            return Ok(message);
        }
        let caller = if kind == Kind::Ioctl { ioctl::caller_of(mp) } else { None };
        let Parts { typed, data } = split(mp, number);
        if is_ioctl(kind) {
            return ioctl::to_message(header, &typed, data, caller);
        }
        let mut message = Message::new(header, None, None).into_owned();
        match kind {
            Kind::Data => data.into_iter().for_each(|block| message.link(Message::from(block))),
            Kind::SetOptions => {
                let mut options = read_options(&typed)?.message();
                options.header = header;
                return Ok(options);
            }
            Kind::Read => {
                let wanted = typed.first_chunk().map_or(0, |bytes| usize::from_ne_bytes(*bytes));
                *message.data_mut() = u32::try_from(wanted).unwrap_or(u32::MAX).to_le_bytes().to_vec();
            }
            _ => {
                let is_control = flag & MSG_CONTROL != 0 || !data.is_empty();
                if matches!(kind, Kind::Proto | Kind::PcProto) || is_control {
                    *message.control_mut() = typed;
                } else if !typed.is_empty() {
                    *message.data_mut() = typed;
                }
                data.into_iter().for_each(|block| message.link(Message::from(block)));
            }
        }
        Ok(message)
    }
}

/// The bytes of a message: those of the first blocks of one type, unless that is M_DATA, and those of each other block.
struct Parts {
    typed: Vec<u8>,
    data: Vec<Vec<u8>>,
}

/// Takes the bytes out of a message, and frees its blocks.
///
/// # Safety
/// `mp` is a message that the caller owns.
unsafe fn split(mp: *mut Mblk, number: u8) -> Parts {
    let mut parts = Parts { typed: Vec::new(), data: Vec::new() };
    let mut next = mp;
    while !next.is_null() {
        // SAFETY: the caller owns all blocks of the message `mp`; `cont` is read before the block is freed.
        unsafe {
            let cont = (*next).cont;
            let is_typed = block::kind(next) == number && number != M_DATA && parts.data.is_empty();
            let bytes = block::into_vec(next);
            if !is_typed {
                parts.data.push(bytes);
            } else if parts.typed.is_empty() {
                parts.typed = bytes;
            } else {
                parts.typed.extend(bytes);
            }
            next = cont;
        }
    }
    parts
}

/// Returns the bytes of the structure.
fn bytes_of(options: &StreamOptions) -> Vec<u8> {
    let mut bytes = vec![0; size_of::<StreamOptions>()];
    // SAFETY: `bytes` has the size of the structure, which is copied as C copies it.
    unsafe { std::ptr::copy_nonoverlapping((&raw const *options).cast(), bytes.as_mut_ptr(), bytes.len()) };
    bytes
}

fn options_of(options: SetOptions) -> StreamOptions {
    let SetOptions { read, hiwat, lowat, maxpsz, minpsz, notify, .. } = options;
    let flag = |option: Option<u32>, flag: u32| if option.is_some() { flag } else { 0 };
    let flags = flag(read, SO_READOPT)
        | flag(hiwat, SO_HIWAT)
        | flag(lowat, SO_LOWAT)
        | flag(maxpsz, SO_MAXPSZ)
        | flag(minpsz, SO_MINPSZ)
        | notify.map_or(0, |notify| if notify != 0 { SO_MREADON } else { SO_MREADOFF });
    StreamOptions {
        flags,
        read: read.unwrap_or_default() as i16,
        write_offset: 0,
        minpsz: minpsz.unwrap_or_default() as isize,
        maxpsz: maxpsz.unwrap_or_default() as isize,
        hiwat: hiwat.unwrap_or_default() as usize,
        lowat: lowat.unwrap_or_default() as usize,
        band: 0,
        errors: 0,
        block_max: 0,
    }
}

fn read_options(bytes: &[u8]) -> Result<SetOptions> {
    if bytes.len() < size_of::<StreamOptions>() {
        return Err(Error::new(Errno::Inval, "an M_SETOPTS is shorter than its stroptions"));
    }
    // SAFETY: the length was checked, and any bytes are valid for the structure's fields.
    let found = unsafe { bytes.as_ptr().cast::<StreamOptions>().read_unaligned() };
    let set = |flag: u32| found.flags & flag != 0;
    let size = |size: isize| u32::try_from(size).unwrap_or(u32::MAX);
    let mark = |mark: usize| u32::try_from(mark).unwrap_or(u32::MAX);
    let mut options = SetOptions::new();
    options.read = set(SO_READOPT).then_some(u32::from(found.read as u16));
    options.minpsz = set(SO_MINPSZ).then_some(size(found.minpsz));
    options.maxpsz = set(SO_MAXPSZ).then_some(size(found.maxpsz));
    options.hiwat = set(SO_HIWAT).then_some(mark(found.hiwat));
    options.lowat = set(SO_LOWAT).then_some(mark(found.lowat));
    options.notify = match (set(SO_MREADON), set(SO_MREADOFF)) {
        (true, _) => Some(1),
        (false, true) => Some(0),
        (false, false) => None,
    };
    Ok(options)
}
