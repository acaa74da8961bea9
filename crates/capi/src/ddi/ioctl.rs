//! The block of an ioctl's messages: iocblk, copyreq and copyresp in C, and [`IoctlBlock`] in the stream.
//!
//! The block that C gets has room for each of the three structures, which a module turns into one another in place. The
//! credentials follow them. `cq_private` is a pointer of this process, so a number goes through the stream instead.
//! Only this file turns the number back into the pointer, and only once. So no other process can pass a pointer to a
//! module.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;

use headwater_os::fork::epoch;
use headwater_os::fork_mutex::ForkMutex;
use headwater_streams::{Errno, Error, IoctlBlock, Kind, Message, MessageHeader, PRIVATE_WORDS, Result};

use super::block;
use super::types::{CopyRequest, CopyResponse, Credentials, Iocblk, Mblk};

/// The offset of the credentials in the block, after the largest structure.
const CREDENTIALS_AT: usize = 96;
const BLOCK: usize = CREDENTIALS_AT + size_of::<Credentials>();

const _: () = assert!(size_of::<Iocblk>() <= CREDENTIALS_AT && size_of::<CopyRequest>() <= CREDENTIALS_AT);
const _: () = assert!(size_of::<CopyResponse>() <= CREDENTIALS_AT && CREDENTIALS_AT.is_multiple_of(8));

/// The most requests to copy without an answer. If there are more, the private message of the oldest one is freed.
const PRIVATE_MAX: usize = 1024;

/// The private messages of requests to copy, by number: the ioctl's identifier, and the address of the message.
static PRIVATE: ForkMutex<Private> = ForkMutex::new(Private { last: 0, messages: BTreeMap::new() });

struct Private {
    last: u64,
    messages: BTreeMap<u64, (u32, usize)>,
}

/// Stores a private message. Returns the words that stand for it.
fn keep(id: u32, message: *mut Mblk) -> [u64; PRIVATE_WORDS] {
    if message.is_null() {
        return [0; PRIVATE_WORDS];
    }
    let (number, oldest) = PRIVATE.with(|private| {
        private.last += 1;
        private.messages.insert(private.last, (id, message.expose_provenance()));
        let is_full = private.messages.len() > PRIVATE_MAX;
        (private.last, is_full.then(|| private.messages.pop_first()).flatten())
    });
    if let Some((_, (_, address))) = oldest {
        // SAFETY: the module has handed the message over, and PRIVATE has its address no more.
        unsafe { block::free_message(ptr::with_exposed_provenance_mut(address)) };
    }
    [epoch(), number]
}

/// Returns the private message that the words stand for; null if they stand for none. The message is the caller's.
fn take([made_in, number]: [u64; PRIVATE_WORDS], id: u32) -> *mut Mblk {
    if made_in != epoch() {
        return ptr::null_mut();
    }
    let found = PRIVATE.with(|private| {
        let is_its = private.messages.get(&number).is_some_and(|(of, _)| *of == id);
        is_its.then(|| private.messages.remove(&number)).flatten()
    });
    found.map_or(ptr::null_mut(), |(_, address)| ptr::with_exposed_provenance_mut(address))
}

/// Makes the first block of an ioctl's message.
pub fn to_block(kind: Kind, ioctl: IoctlBlock) -> *mut Mblk {
    let made = block::from_vec(vec![0; BLOCK]);
    // SAFETY: `made` is ours. Its buffer is zeroed, is aligned by the allocator, and has room for each structure.
    unsafe {
        let base = (*made).rptr;
        let credentials: *mut Credentials = base.add(CREDENTIALS_AT).cast();
        let IoctlBlock { user, group, .. } = ioctl;
        credentials.write_unaligned(Credentials { user, group, real_user: user, real_group: group });
        let (command, id) = (ioctl.command as i32, ioctl.id);
        let len = match kind {
            Kind::CopyIn | Kind::CopyOut => {
                let request = CopyRequest {
                    command,
                    credentials,
                    id,
                    address: ptr::without_provenance_mut(ioctl.address as usize),
                    size: ioctl.size as usize,
                    flag: 0,
                    private: take(ioctl.private, id),
                };
                base.cast::<CopyRequest>().write_unaligned(request);
                size_of::<CopyRequest>()
            }
            Kind::IocData => {
                let response = CopyResponse {
                    command,
                    credentials,
                    id,
                    error: ptr::without_provenance_mut(ioctl.error as usize),
                    pad: 0,
                    pad2: 0,
                    private: take(ioctl.private, id),
                };
                base.cast::<CopyResponse>().write_unaligned(response);
                size_of::<CopyResponse>()
            }
            _ => {
                let block = Iocblk {
                    command,
                    credentials,
                    id,
                    count: ioctl.count.map_or(usize::MAX, |count| count as usize),
                    error: ioctl.error,
                    value: ioctl.value,
                    fill: 0,
                    flag: 0,
                    fill2: 0,
                };
                base.cast::<Iocblk>().write_unaligned(block);
                size_of::<Iocblk>()
            }
        };
        (*made).wptr = base.add(len);
        made
    }
}

/// Reads a structure of C from the bytes of a block.
fn read<T: Copy>(bytes: &[u8]) -> Result<T> {
    if bytes.len() < size_of::<T>() {
        let why = format!("an ioctl's block has {} bytes, but its structure has {}", bytes.len(), size_of::<T>());
        return Err(Error::new(Errno::Inval, why));
    }
    // SAFETY: the length was checked, and the structures have only integers and pointers, for which any bytes are
    // valid.
    Ok(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// Returns the credentials that an ioctl's block points at.
///
/// # Safety
/// `mp` is the first block of an ioctl's message; `ioc_cr` is null or as the library has set it.
pub unsafe fn caller_of(mp: *const Mblk) -> Option<Credentials> {
    // SAFETY: the caller promises that `mp` is a block, and that `ioc_cr` is null or points at credentials. `ioc_cr`
    // has the same offset in each of the structures.
    unsafe {
        let block: Iocblk = read(block::bytes(mp)).ok()?;
        if block.credentials.is_null() { None } else { Some(block.credentials.read_unaligned()) }
    }
}

/// Makes the message of an ioctl's block and the data behind it.
///
/// Errors: `EINVAL` if the block is too short.
pub fn to_message(
    header: MessageHeader,
    typed: &[u8],
    mut data: Vec<Vec<u8>>,
    caller: Option<Credentials>,
) -> Result<Message<'static>> {
    let mut joined = if data.len() == 1 { data.pop().unwrap_or_default() } else { data.concat() };
    let mut block = IoctlBlock::default();
    match header.kind {
        Kind::CopyIn | Kind::CopyOut => {
            let request: CopyRequest = read(typed)?;
            (block.command, block.id) = (request.command as u32, request.id);
            block.address = request.address.addr() as u64;
            block.size = if header.kind == Kind::CopyOut { joined.len() } else { request.size } as u64;
            block.private = keep(request.id, request.private);
        }
        Kind::IocData => {
            let response: CopyResponse = read(typed)?;
            (block.command, block.id) = (response.command as u32, response.id);
            block.error = error_of(response.error);
            block.private = keep(response.id, response.private);
        }
        kind => {
            let found: Iocblk = read(typed)?;
            (block.command, block.id) = (found.command as u32, found.id);
            (block.error, block.value) = (found.error, found.value);
            if kind == Kind::Ioctl {
                block.count = (found.count != usize::MAX).then_some(found.count as u64);
                (block.user, block.group) = caller.map_or((0, 0), |caller| (caller.user, caller.group));
            } else {
                let given = if kind == Kind::IocNak || found.count == usize::MAX { 0 } else { found.count };
                joined.truncate(given);
                block.count = Some(joined.len() as u64);
            }
        }
    }
    let mut message = Message::new(header, Some(&block.bytes()), None).into_owned();
    if !joined.is_empty() || matches!(header.kind, Kind::CopyOut | Kind::Ioctl) {
        *message.data_mut() = joined;
    }
    Ok(message)
}

/// Converts `cp_rval`, which is an errno in a pointer.
fn error_of(value: *mut c_void) -> i32 {
    i32::try_from(value.addr()).unwrap_or(libc::EIO)
}
