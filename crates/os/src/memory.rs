//! Memory that several processes share: a sealed memfd, or a file that outlives them, mapped whole or in parts. The regions of
//! `headwater-shm` and the process-shared locks of the gauge are in such memory.
//!
//! References and pointers are returned only after a check that they are inside the mapping. The contents are never
//! interpreted. Because of the seals no process can make the memory shorter, so an access inside the mapping cannot raise
//! SIGBUS. The memory grows only on request, and never beyond the file size limit of the process, which would raise SIGXFSZ.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU16, AtomicU32, AtomicU64};

use rustix::fs::{FallocateFlags, MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags};
use rustix::process::Resource;

use crate::own_numbers::settled;

/// The seals of all shared memory: no process can make it shorter, or change the seals afterwards.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::SEAL);
/// The seals of memory whose size is fixed.
const FIXED: SealFlags = SEALS.union(SealFlags::GROW);

/// Memory that all processes with its descriptor, and all forked children, share.
///
/// It is filled with zeros at first. It is mapped readable and writable until the value is dropped.
#[derive(Debug)]
pub struct SharedMemory {
    base: NonNull<u8>,
    len: usize,
    /// Shared by the mappings of several parts.
    fd: Arc<OwnedFd>,
}

// SAFETY: the mapping belongs to the process, not to a thread, and stays until drop. The methods return either a
// `Shareable` reference (atomics), or a raw pointer whose user is responsible for its accesses.
unsafe impl Send for SharedMemory {}
// SAFETY: as for Send. No method changes the struct itself through a shared reference.
unsafe impl Sync for SharedMemory {}

/// A type that may be placed in shared memory and borrowed from there.
///
/// # Safety
/// Every bit pattern must be valid, and all of its bytes must be inside atomics (or padding that is never read): other
/// processes may write to it at any time while a `&Self` exists.
pub unsafe trait Shareable: Sync {}
// SAFETY: an atomic accepts every bit pattern and concurrent writes.
unsafe impl Shareable for AtomicU8 {}
// SAFETY: as above.
unsafe impl Shareable for AtomicU16 {}
// SAFETY: as above.
unsafe impl Shareable for AtomicU32 {}
// SAFETY: as above.
unsafe impl Shareable for AtomicI32 {}
// SAFETY: as above.
unsafe impl Shareable for AtomicU64 {}
// SAFETY: an array adds nothing to its elements.
unsafe impl<T: Shareable, const N: usize> Shareable for [T; N] {}

impl SharedMemory {
    /// Creates, seals and maps `len` bytes of zeros. `name` appears in `/proc/PID/maps`. Pages are allocated at the first
    /// access; see [`SharedMemory::populate`].
    ///
    /// # Errors
    /// `InvalidInput` for a length of 0, otherwise the errors of memfd_create(2), ftruncate(2), fcntl(2) and mmap(2).
    pub fn create(name: &str, len: usize) -> io::Result<SharedMemory> {
        SharedMemory::create_sealed(name, len, FIXED)
    }

    /// Like [`SharedMemory::create`], but any process that has the memory can make it longer by [`SharedMemory::reach`].
    ///
    /// # Errors
    /// Those of [`SharedMemory::create`].
    pub fn create_growable(name: &str, len: usize) -> io::Result<SharedMemory> {
        SharedMemory::create_sealed(name, len, SEALS)
    }

    fn create_sealed(name: &str, len: usize, seals: SealFlags) -> io::Result<SharedMemory> {
        if len == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "shared memory needs at least one byte"));
        }
        if cfg!(miri) {
            return SharedMemory::map(Arc::new(std::fs::File::open("/dev/null")?.into()), 0, len);
        }
        check_file_limit(len)?;
        let fd = settled(open_memfd(name)?);
        rustix::fs::ftruncate(&fd, len as u64)?;
        rustix::fs::fcntl_add_seals(&fd, seals)?;
        SharedMemory::map(Arc::new(fd), 0, len)
    }

    /// Maps the shared memory behind a descriptor from another process.
    ///
    /// # Errors
    /// `InvalidInput` if the descriptor is not a memfd, lacks one of the seals (another process could then truncate it while
    /// it is mapped), or is empty or longer than `len_max` bytes.
    pub fn from_fd(fd: OwnedFd, len_max: usize) -> io::Result<SharedMemory> {
        let len = sealed_len(&fd, FIXED)?;
        if len == 0 || len > len_max {
            return Err(refused("shared memory has an unexpected size"));
        }
        SharedMemory::map(Arc::new(fd), 0, len)
    }

    /// Maps the first `len` bytes of growable memory behind a descriptor from another process.
    ///
    /// # Errors
    /// `InvalidInput` if the descriptor is not a memfd, lacks a seal, or has fewer bytes.
    pub fn growable_from_fd(fd: OwnedFd, len: usize) -> io::Result<SharedMemory> {
        if sealed_len(&fd, SEALS)? < len {
            return Err(refused("shared memory has an unexpected size"));
        }
        SharedMemory::map(Arc::new(fd), 0, len)
    }

    /// Maps the first `len` bytes of the memory, which is more than before. The address changes.
    ///
    /// # Errors
    /// `InvalidInput` if the memory has fewer bytes, or `len` is less than before; the errors of mremap(2).
    pub fn extended(mut self, len: usize) -> io::Result<SharedMemory> {
        if self.file_len()? < len || len < self.len {
            return Err(refused("shared memory has an unexpected size"));
        }
        // SAFETY: our own mapping. No borrow of it is left, since `self` was moved here, and the file is long enough.
        let base = unsafe { rustix::mm::mremap(self.base.as_ptr().cast(), self.len, len, MremapFlags::MAYMOVE)? };
        self.base = NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        self.len = len;
        Ok(self)
    }

    /// Maps another part of the memory separately.
    ///
    /// # Errors
    /// `InvalidInput` if the memory has fewer bytes; the errors of mmap(2).
    pub fn part(&self, offset: usize, len: usize) -> io::Result<SharedMemory> {
        let end = offset.checked_add(len).filter(|_| len > 0);
        let is_there = |end: usize| self.file_len().is_ok_and(|len| end <= len);
        if !end.is_some_and(is_there) {
            return Err(refused("shared memory has an unexpected size"));
        }
        let lead = offset % rustix::param::page_size();
        let mut part = SharedMemory::map(self.fd.clone(), offset - lead, lead + len)?;
        part.base = part.bytes(lead, len).expect("it was mapped from the page's beginning on");
        part.len = len;
        Ok(part)
    }

    /// Makes the memory at least `len` bytes long, for all processes. The new bytes are zeros, and use no memory yet.
    ///
    /// # Errors
    /// `EFBIG` beyond the file size limit of the process (RLIMIT_FSIZE); `EPERM` for memory whose size is fixed; the errors of
    /// ftruncate(2).
    pub fn reach(&self, len: usize) -> io::Result<()> {
        if self.file_len()? >= len {
            return Ok(());
        }
        check_file_limit(len)?;
        match rustix::fs::ftruncate(&self.fd, len as u64) {
            // Another process has made it longer meanwhile, and the seal keeps us from making it shorter again.
            Err(Errno::PERM) if self.file_len()? >= len => Ok(()),
            reached => Ok(reached?),
        }
    }

    fn file_len(&self) -> io::Result<usize> {
        Ok(usize::try_from(rustix::fs::fstat(&self.fd)?.st_size).unwrap_or(0))
    }

    /// Creates a file of `len` bytes of zeros, accessible to its owner only, and maps it. This memory outlives all processes
    /// that map it. The space is allocated at once, so that a full file system is an error here and not a SIGBUS later.
    ///
    /// A file has no seals. A process that may write to it can also truncate it, and so end the processes that map it.
    /// Therefore it is for processes of one user, which could end each other anyway.
    ///
    /// # Errors
    /// `AlreadyExists` if the file exists; the errors of open(2), fallocate(2) and mmap(2).
    pub fn create_file(path: &Path, len: usize) -> io::Result<SharedMemory> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        check_file_limit(len)?;
        let fd = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
        let made = rustix::fs::fallocate(&fd, FallocateFlags::empty(), 0, len as u64)
            .map_err(io::Error::from)
            .and_then(|()| SharedMemory::map(Arc::new(fd), 0, len));
        if made.is_err() {
            let _ = std::fs::remove_file(path);
        }
        made
    }

    /// Maps a file that [`SharedMemory::create_file`] has made.
    ///
    /// # Errors
    /// `InvalidInput` if it is not a regular file, or is empty or longer than `len_max`; `PermissionDenied` if another user owns
    /// it, unless this process's user is root; the errors of open(2) and mmap(2).
    pub fn open_file(path: &Path, len_max: usize) -> io::Result<SharedMemory> {
        let fd = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?;
        let status = rustix::fs::fstat(&fd)?;
        let own = rustix::process::geteuid();
        if status.st_uid != own.as_raw() && !own.is_root() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is another user's"));
        }
        let plain = rustix::fs::FileType::from_raw_mode(status.st_mode) == rustix::fs::FileType::RegularFile;
        match usize::try_from(status.st_size) {
            Ok(len) if plain && len > 0 && len <= len_max => SharedMemory::map(Arc::new(fd), 0, len),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file of a valid size")),
        }
    }

    /// Maps the first `len` bytes of a regular file that is open for reading and writing. A shorter file is first extended
    /// with zeros, and its space allocated. Several processes may do so at the same time. As with
    /// [`SharedMemory::create_file`], a process that may truncate the file can end the processes that map it.
    ///
    /// # Errors
    /// The errors of fallocate(2), ftruncate(2) and mmap(2).
    pub fn from_file(fd: OwnedFd, len: usize) -> io::Result<SharedMemory> {
        check_file_limit(len)?;
        match rustix::fs::fallocate(&fd, FallocateFlags::empty(), 0, len as u64) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                if (rustix::fs::fstat(&fd)?.st_size as u64) < len as u64 {
                    rustix::fs::ftruncate(&fd, len as u64)?;
                }
            }
            taken => taken?,
        }
        SharedMemory::map(Arc::new(fd), 0, len)
    }

    fn map(fd: Arc<OwnedFd>, offset: usize, len: usize) -> io::Result<SharedMemory> {
        // SAFETY: a new mapping at an address that the kernel chooses replaces nothing. The callers have checked that the file
        // has `len` bytes, and that a memfd is sealed. A process that truncates another file can only end this process.
        #[cfg(not(miri))]
        let base = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            rustix::mm::mmap(std::ptr::null_mut(), len, access, MapFlags::SHARED, &*fd, offset as u64)?
        };
        // SAFETY: the length is not 0. Miri has no shared mappings, and a single process needs none.
        #[cfg(miri)]
        let base = unsafe { std::alloc::alloc_zeroed(heap_layout(len)) };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(SharedMemory { base, len, fd })
    }

    /// Allocates every page and enters it into this process's page table, so that no later access faults. A forked child has
    /// an empty page table for shared memory, and must call this again.
    ///
    /// A kernel without MADV_POPULATE_WRITE (before 5.14) does nothing: the pages are allocated at the first access.
    ///
    /// # Errors
    /// The errors of madvise(2).
    pub fn populate(&self) -> io::Result<()> {
        // SAFETY: the range is exactly our own mapping, and populating changes no byte.
        let populated =
            unsafe { rustix::mm::madvise(self.base.as_ptr().cast::<c_void>(), self.len, Advice::LinuxPopulateWrite) };
        match populated {
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the pages of a range to the kernel. All processes then read zeros there. The range must consist of whole pages.
    ///
    /// # Errors
    /// The errors of fallocate(2).
    pub fn discard(&self, offset: usize, len: usize) -> io::Result<()> {
        if cfg!(miri) {
            return Ok(());
        }
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(rustix::fs::fallocate(&self.fd, hole, offset as u64, len as u64)?)
    }

    /// Returns the number of bytes of the memory for which pages are allocated.
    ///
    /// # Errors
    /// The errors of fstat(2).
    pub fn resident(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstat(&self.fd)?.st_blocks as u64 * 512)
    }

    /// Returns the length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "shared memory is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Borrows the `T` at `offset` bytes. Returns `None` if it is not completely inside, or not aligned.
    pub fn get<T: Shareable>(&self, offset: usize) -> Option<&T> {
        let place = self.bytes(offset, size_of::<T>())?.cast::<T>();
        if !place.is_aligned() {
            return None;
        }
        // SAFETY: inside the mapping (checked by `bytes`) and aligned (checked above). `Shareable` allows every bit pattern
        // and writes by other processes. The borrow ends before the mapping does.
        Some(unsafe { place.as_ref() })
    }

    /// Returns a pointer to `len` bytes at `offset`; `None` if they are not completely inside. The pointer is valid until this
    /// value is dropped. Other processes may write there at any time, so do not make a `&` or `&mut` to plain data from it.
    pub fn bytes(&self, offset: usize, len: usize) -> Option<NonNull<u8>> {
        let end = offset.checked_add(len)?;
        // SAFETY: offset <= end <= self.len, so the result is inside the mapping, or at its end.
        (end <= self.len).then(|| unsafe { self.base.add(offset) })
    }
}

impl AsFd for SharedMemory {
    /// Returns the descriptor, which can be passed to another process.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: allocated by `map` with this layout, and borrows from `get` have ended with `self`.
        #[cfg(miri)]
        return unsafe { std::alloc::dealloc(self.base.as_ptr(), heap_layout(self.len)) };
        // A part may begin within a page.
        #[cfg(not(miri))]
        let lead = self.base.as_ptr().addr() % rustix::param::page_size();
        // SAFETY: the range is exactly what `map` made, and borrows from `get` have ended with `self`.
        #[cfg(not(miri))]
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().sub(lead).cast(), lead + self.len) };
        #[cfg(not(miri))]
        debug_assert!(unmapped.is_ok(), "our own mapping can be unmapped");
    }
}

/// Returns the length of a memfd that has these seals.
fn sealed_len(fd: &OwnedFd, wanted: SealFlags) -> io::Result<usize> {
    match rustix::fs::fcntl_get_seals(fd) {
        Ok(seals) if seals.contains(wanted) => {}
        Ok(_) => return Err(refused("shared memory is not sealed against resizing")),
        Err(_) => return Err(refused("descriptor is not a memfd")),
    }
    // The size is read after the seals, so it cannot become smaller afterwards.
    Ok(usize::try_from(rustix::fs::fstat(fd)?.st_size).unwrap_or(0))
}

fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Fails if a file of this length would exceed the limit of the process. Beyond it the kernel would send a signal that ends the
/// process.
fn check_file_limit(len: usize) -> io::Result<()> {
    match rustix::process::getrlimit(Resource::Fsize).current {
        Some(limit) if (len as u64) > limit => {
            let why = format!(
                "shared memory of {len} bytes is larger than this process's file size limit of {limit} bytes \
                 (RLIMIT_FSIZE): raise it by `ulimit -f`"
            );
            Err(io::Error::new(io::ErrorKind::FileTooLarge, why))
        }
        _ => Ok(()),
    }
}

/// Returns the layout of the heap memory that replaces a mapping under Miri.
#[cfg(miri)]
fn heap_layout(len: usize) -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(len, 4096).expect("a length that mmap accepts")
}

/// Makes a close-on-exec memfd that allows sealing. It is not executable if the kernel knows the flag (since 6.3).
pub(crate) fn open_memfd(name: &str) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match rustix::fs::memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => Ok(rustix::fs::memfd_create(name, flags)?),
        opened => Ok(opened?),
    }
}

#[cfg(test)]
mod tests;
