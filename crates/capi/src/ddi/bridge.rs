//! A module or driver in C as a module or driver of Rust. Each procedure calls the one of C.

use std::ffi::c_int;

use headwater_streams::{Driver, DriverInfo, Errno, Error, Message, Module, ModuleInfo, Opening, Queue, Result, Side};

use super::context::{close, with_context};
use super::convert;
use super::instance::{Definition, Instance, Pair, own_credentials};
use super::queue::call_put;
use super::types::{CLONEOPEN, CQueue, DRVOPEN, MODOPEN};

/// The index of the word in a module's state that tells one push from another.
const GENERATION: usize = 7;
/// The bytes of a module's state that are left to C.
pub const STATE_BYTES: usize = GENERATION * 8;

/// A module in C.
#[derive(Debug)]
pub struct CModule(pub &'static Definition);

/// A driver in C.
#[derive(Debug)]
pub struct CDriver(pub &'static Definition);

impl Module for CModule {
    fn info(&self) -> ModuleInfo {
        let Definition { name, hiwat, lowat, minpsz, maxpsz, services, .. } = *self.0;
        let mut info = ModuleInfo::new(name).water_marks(hiwat, lowat).packet_sizes(minpsz, maxpsz);
        info.services = services;
        info
    }

    fn open(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        let mut state = queue.state();
        state[GENERATION] = generation();
        queue.set_state(state);
        with_instance(self.0, queue, |_, _| Ok(()))
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        put(self.0, message, queue)
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        service(self.0, queue)
    }
}

impl Driver for CDriver {
    fn info(&self) -> DriverInfo {
        let Definition { name, hiwat, lowat, minpsz, maxpsz, services, shared, .. } = *self.0;
        let info = DriverInfo::new(name).water_marks(hiwat, lowat).packet_sizes(minpsz, maxpsz);
        let mut info = info.instance(shared);
        info.services = services;
        info
    }

    fn open(&self, opening: &Opening, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        let instance = instance_of(self.0, queue);
        let sflag = if opening.is_clone { CLONEOPEN } else { DRVOPEN };
        let flag = if opening.nonblocking { libc::O_RDWR | libc::O_NONBLOCK } else { libc::O_RDWR };
        let pair = instance.pair();
        let mut opened = Ok(0);
        if !pair.is_open() {
            pair.open_once(|| {
                opened = call_open(pair, queue, opening.minor, flag, sflag);
                opened.as_ref().copied().unwrap_or(libc::EIO)
            });
        } else {
            opened = call_open(pair, queue, opening.minor, flag, sflag);
        }
        checked(opened?)
    }

    fn close(&self, queue: &mut Queue<'_, '_, '_>) {
        let instance = instance_of(self.0, queue);
        let pair = instance.pair();
        if pair.take_open() {
            // No call can report a failure: the stream is closed.
            let _ = with_context(pair, queue, false, || close(pair.queue(Side::Read)));
        }
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        put(self.0, message, queue)
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        service(self.0, queue)
    }
}

/// Returns a number that no other push has.
fn generation() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = headwater_os::fork::epoch().rotate_left(20) ^ LAST.fetch_add(1, Ordering::Relaxed);
    number.max(1)
}

fn instance_of(definition: &'static Definition, queue: &mut Queue<'_, '_, '_>) -> std::sync::Arc<Instance> {
    let generation = if definition.is_driver { 0 } else { queue.state()[GENERATION] };
    queue.local(|known: &Instance| known.is_of(definition, generation), || Instance::new(definition, generation))
}

/// Calls `action` with the queues of C. Calls the open procedure before, if this process has not called it.
fn with_instance<T>(
    definition: &'static Definition,
    queue: &mut Queue<'_, '_, '_>,
    action: impl FnOnce(&Pair, &mut Queue<'_, '_, '_>) -> Result<T>,
) -> Result<T> {
    let instance = instance_of(definition, queue);
    let pair = instance.pair();
    if !pair.is_open() {
        let mut opened = Ok(0);
        let failed = pair.open_once(|| {
            let sflag = if definition.is_driver { DRVOPEN } else { MODOPEN };
            opened = call_open(pair, queue, queue.minor().unwrap_or(0), libc::O_RDWR, sflag);
            opened.as_ref().copied().unwrap_or(libc::EIO)
        });
        opened?;
        checked(failed)?;
    }
    action(pair, queue)
}

/// Converts what an open procedure has returned: 0, an errno, or OPENFAIL.
fn checked(failed: c_int) -> Result<()> {
    const WHY: &str = "the open procedure of the module failed";
    match failed {
        0 => Ok(()),
        1..=4095 => Err(Error::new(Errno::new(failed), WHY)),
        _ => Err(Error::new(Errno::Nxio, WHY)),
    }
}

fn call_open(pair: &Pair, queue: &mut Queue<'_, '_, '_>, minor: u32, flag: c_int, sflag: c_int) -> Result<c_int> {
    let read: *mut CQueue = pair.queue(Side::Read);
    let mut device = libc::makedev(0, minor);
    // Sending up at once would wait for a thread that waits for this procedure.
    let holds_back = pair.definition.is_driver;
    with_context(pair, queue, holds_back, || {
        // SAFETY: `read` is a queue of `pair`, and its open procedure is that of its qinit, so it has this type;
        // `device` is ours.
        unsafe {
            let open = (*read).qinfo.as_ref().and_then(|qinit| qinit.open);
            open.map_or(0, |open| open(read, &raw mut device, flag, sflag, own_credentials()))
        }
    })
}

/// Calls the put procedure.
pub fn put(definition: &'static Definition, message: Message<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    with_instance(definition, queue, |pair, queue| {
        let own = pair.queue(queue.side());
        // SAFETY: `own` is a queue of `pair`, and the blocks of the message were just made and are ours.
        with_context(pair, queue, false, || unsafe { call_put(own, convert::to_blocks(message)) })
    })
}

/// Calls the service procedure.
fn service(definition: &'static Definition, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    with_instance(definition, queue, |pair, queue| {
        let own = pair.queue(queue.side());
        with_context(pair, queue, false, || {
            // SAFETY: `own` is a queue of `pair`, and its service procedure is that of its qinit, so it has this type.
            unsafe {
                if let Some(service) = (*own).qinfo.as_ref().and_then(|qinit| qinit.service) {
                    service(own);
                }
            }
        })
    })
}
