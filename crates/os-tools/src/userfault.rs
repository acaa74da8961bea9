//! Memory whose missing pages another thread of the process supplies: userfaultfd(2). Each first touch of a page sleeps until
//! that thread, which reads the descriptor, has copied a page there.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::thread::{self, JoinHandle};

use linux_raw_sys::general::{
    UFFD_API, UFFD_EVENT_PAGEFAULT, UFFD_USER_MODE_ONLY, UFFDIO_REGISTER_MODE_MISSING, uffd_msg, uffdio_api,
    uffdio_copy, uffdio_range, uffdio_register,
};
use linux_raw_sys::ioctl::{UFFDIO_API, UFFDIO_COPY, UFFDIO_REGISTER};
use rustix::io::Errno;
use rustix::mm::{UserfaultfdFlags, userfaultfd};

use crate::mapping::{Memory, page_bytes};
use headwater_os::cpu;

/// Faults of the kernel itself do not wait, so that an unprivileged process may have the descriptor.
const USER_MODE_ONLY: UserfaultfdFlags = UserfaultfdFlags::from_bits_retain(UFFD_USER_MODE_ONLY);

/// The byte that every page supplied is full of.
pub const SUPPLIED: u8 = 0x5a;

/// Pages that come when they are touched, from a thread of their own.
#[derive(Debug)]
pub struct SuppliedMemory {
    /// A fault in the last page tells the thread to end.
    memory: Memory,
    supplier: Option<JoinHandle<io::Result<()>>>,
}

impl SuppliedMemory {
    /// Maps `pages` pages and starts the thread, on `cpu` if that is given.
    ///
    /// # Errors
    /// What `userfaultfd(2)` reports: `PermissionDenied` where it is not allowed, `Unsupported` for a kernel without it; what
    /// `mmap(2)` and starting a thread report.
    pub fn new(pages: usize, cpu: Option<u32>) -> io::Result<SuppliedMemory> {
        let page = page_bytes();
        let len = pages.checked_add(1).and_then(|pages| pages.checked_mul(page)).ok_or(io::ErrorKind::InvalidInput)?;
        let mut memory = Memory::new(len, 0)?;
        // A huge page would be supplied in small ones all the same; without this the kernel may join them without
        // notice.
        match memory.ask_for_small_pages() {
            Err(error) if error.kind() != io::ErrorKind::InvalidInput => return Err(error),
            _ => {}
        }
        let descriptor = open()?;
        register(&descriptor, &memory)?;
        let last = memory.base().addr().get() + pages * page;
        let supplier = thread::Builder::new().name("supplier".to_owned()).spawn(move || {
            cpu.map_or(Ok(()), cpu::bind)?;
            // When the thread ends it closes the descriptor, and a thread that waits for a page then finds zeros.
            supply(&descriptor, last)
        })?;
        Ok(SuppliedMemory { memory, supplier: Some(supplier) })
    }

    /// The number of pages.
    pub fn pages(&self) -> usize {
        self.memory.words().len() * size_of::<u64>() / page_bytes() - 1
    }

    /// Loads the first byte of a page; waits for the page if it is missing. Panics beyond the end.
    #[inline]
    pub fn touch(&self, page: usize) -> u8 {
        assert!(page < self.pages(), "no such page");
        self.first_word(page) as u8
    }

    /// Takes all pages away again.
    ///
    /// # Errors
    /// What `madvise(2)` reports.
    pub fn empty(&mut self) -> io::Result<()> {
        self.memory.empty()
    }

    #[inline]
    fn first_word(&self, page: usize) -> u64 {
        self.memory.words()[page * (page_bytes() / size_of::<u64>())].get()
    }
}

impl Drop for SuppliedMemory {
    fn drop(&mut self) {
        // The thread leaves with the last page; if it has left before, the page is there or comes as zeros.
        let _ = self.memory.empty();
        std::hint::black_box(self.first_word(self.pages()));
        if let Some(supplier) = self.supplier.take() {
            let _ = supplier.join();
        }
    }
}

fn open() -> io::Result<OwnedFd> {
    // SAFETY: a new descriptor, which changes nothing before a range of ours is registered with it.
    let open = |flags| unsafe { userfaultfd(flags | UserfaultfdFlags::CLOEXEC) };
    match open(USER_MODE_ONLY) {
        // Linux before 5.11.
        Err(Errno::INVAL) => Ok(open(UserfaultfdFlags::empty())?),
        opened => Ok(opened?),
    }
}

fn register(descriptor: &OwnedFd, memory: &Memory) -> io::Result<()> {
    let mut api = uffdio_api { api: UFFD_API.into(), features: 0, ioctls: 0 };
    control(descriptor, UFFDIO_API, &mut api)?;
    let range = uffdio_range { start: memory.base().addr().get() as u64, len: size_of_val(memory.words()) as u64 };
    control(
        descriptor,
        UFFDIO_REGISTER,
        &mut uffdio_register { range, mode: UFFDIO_REGISTER_MODE_MISSING.into(), ioctls: 0 },
    )
}

/// Supplies pages until the one at `last` is asked for.
fn supply(descriptor: &OwnedFd, last: usize) -> io::Result<()> {
    let page = page_bytes();
    let mut source = Memory::populated(page)?;
    source.bytes_mut().fill(SUPPLIED);
    loop {
        let mut message = [0u8; size_of::<uffd_msg>()];
        match rustix::io::read(descriptor, &mut message) {
            Err(Errno::INTR) => continue,
            Ok(count) if count == message.len() => {}
            Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) => return Err(error.into()),
        }
        // SAFETY: as many bytes as the structure has, of which every bit pattern is a value.
        let message: uffd_msg = unsafe { std::mem::transmute(message) };
        if u32::from(message.event) != UFFD_EVENT_PAGEFAULT {
            continue;
        }
        // SAFETY: the event says which part of the union was written; all parts are plain numbers.
        let address = unsafe { message.arg.pagefault.address } & !(page as u64 - 1);
        let src = source.base().addr().get() as u64;
        let mut copy = uffdio_copy { dst: address, src, len: page as u64, mode: 0, copy: 0 };
        match control(descriptor, UFFDIO_COPY, &mut copy) {
            // Another thread touched the page in the same moment, and it is already supplied.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            supplied => supplied?,
        }
        if address as usize == last {
            return Ok(());
        }
    }
}

/// One `ioctl(2)` whose argument is a structure of linux/userfaultfd.h.
fn control<T>(descriptor: &OwnedFd, request: u32, argument: &mut T) -> io::Result<()> {
    // SAFETY: the request belongs to the type of the argument at each of the three calls, and the ranges that arguments name
    // are our own memory: the registered one, which no plain borrow covers while a page is missing, and the source.
    match unsafe { libc::ioctl(descriptor.as_fd().as_raw_fd(), request as _, std::ptr::from_mut(argument)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_pages_come_from_the_other_thread_again_and_again() {
        let mut memory = match SuppliedMemory::new(8, None) {
            Ok(memory) => memory,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return eprintln!("skipped: {error}"),
            Err(error) => panic!("{error}"),
        };
        for _ in 0..3 {
            assert!((0..memory.pages()).all(|page| memory.touch(page) == SUPPLIED));
            memory.empty().expect("emptied");
        }
        assert_eq!(memory.pages(), 8);
    }
}
