//! A stream's shared memory: made once, checked once by whoever attaches.
//!
//! What the header says is copied into this process and never read again. It knows where the parts lie, and nothing of
//! what they are for.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use headwater_os::fence::Fence;
use headwater_os::memory::SharedMemory;
use headwater_shm::{Placed, Window};

use crate::error::{Errno, Error, Result};
use crate::layout::{Fixed, MAGIC, Mark, Offsets, StoreWords, VERSION};
use crate::limits::{self, MARKS, PAGE};
use crate::options::Options;
use crate::policy::Policy;

/// The name under which the memory shows in /proc.
pub(crate) const NAME: &str = "headwater-stream";

/// A mapped region whose header has been checked. Clones share the mapping.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    memory: Arc<SharedMemory>,
    pub fixed: Placed<Fixed>,
    offsets: Offsets,
    pub fence: Fence,
    pub policy: Policy,
    pub strmsgsz: u32,
    pub strctlsz: u32,
    pub nstrpush: u32,
}

impl Region {
    /// Makes and maps the memory of a stream.
    pub fn create(options: &Options, cookies: [u64; 2]) -> Result<Region> {
        options.check()?;
        let message_max = options.strmsgsz as usize + options.strctlsz as usize;
        let window_bytes = (options.hiwat as usize + message_max).next_power_of_two();
        // As much as the heads' queues may hold without a lane, and a message of full length on its way in.
        let pages = (options.hiwat as usize + 2 * message_max).div_ceil(PAGE) + limits::NSTRPUSH;
        let offsets = Offsets { window_bytes, pages };
        let memory = Arc::new(SharedMemory::create(NAME, offsets.region())?);
        let fence = Fence::best();
        let fixed: Placed<Fixed> = Placed::at(&memory, 0).expect("the region was made for it");
        let header = &fixed.header.0;
        // Relaxed: the descriptor, without which nobody else comes here, is passed on later through the kernel.
        header.version.store(VERSION, Ordering::Relaxed);
        header.fence.store(fence as u32, Ordering::Relaxed);
        header.window.store(window_bytes as u64, Ordering::Relaxed);
        header.pages.store(pages as u32, Ordering::Relaxed);
        header.policy.store(options.policy.bits(), Ordering::Relaxed);
        header.strmsgsz.store(options.strmsgsz, Ordering::Relaxed);
        header.strctlsz.store(options.strctlsz, Ordering::Relaxed);
        header.nstrpush.store(options.nstrpush, Ordering::Relaxed);
        for (word, cookie) in header.cookies.iter().zip(cookies) {
            word.store(cookie, Ordering::Relaxed);
        }
        for lane in &fixed.lanes {
            lane.flow.0.hiwat.store(options.hiwat, Ordering::Relaxed);
            lane.flow.0.lowat.store(options.lowat, Ordering::Relaxed);
            lane.flow.0.maxpsz.store(options.maxpsz, Ordering::Relaxed);
        }
        header.magic.store(MAGIC, Ordering::Relaxed);
        Region::over(memory, fixed)
    }

    /// Maps the memory behind a descriptor from elsewhere.
    ///
    /// Errors: `EPROTO` for one that is no stream of this version, or contradicts itself.
    pub fn open(fd: OwnedFd) -> Result<Region> {
        let memory = Arc::new(SharedMemory::from_fd(fd, usize::MAX)?);
        let fixed = Placed::at(&memory, 0).ok_or_else(|| Error::corrupt("it is shorter than a header"))?;
        Region::over(memory, fixed)
    }

    fn over(memory: Arc<SharedMemory>, fixed: Placed<Fixed>) -> Result<Region> {
        let header = &fixed.header.0;
        if header.magic.load(Ordering::Relaxed) != MAGIC {
            return Err(Error::new(Errno::Nostr, "the descriptor's memory is no stream"));
        }
        let version = header.version.load(Ordering::Relaxed);
        if version != VERSION {
            let why = format!("the stream's layout has version {version}, this library has {VERSION}");
            return Err(Error::new(Errno::Proto, why));
        }
        let fence = Fence::from_number(header.fence.load(Ordering::Relaxed));
        let fence = fence.ok_or_else(|| Error::corrupt("an unknown fence"))?;
        let policy = Policy::from_bits(header.policy.load(Ordering::Relaxed));
        let policy = policy.ok_or_else(|| Error::corrupt("an unknown policy"))?;
        let strmsgsz = header.strmsgsz.load(Ordering::Relaxed);
        let strctlsz = header.strctlsz.load(Ordering::Relaxed);
        let nstrpush = header.nstrpush.load(Ordering::Relaxed);
        let window = header.window.load(Ordering::Relaxed);
        let pages = header.pages.load(Ordering::Relaxed);
        let fits = strmsgsz <= limits::STRMSGSZ_MAX
            && strctlsz <= limits::STRMSGSZ_MAX
            && nstrpush as usize <= limits::NSTRPUSH
            && window.is_power_of_two()
            && window <= 1 << 32
            && window > u64::from(strmsgsz) + u64::from(strctlsz)
            && pages <= 1 << 20;
        let offsets = Offsets { window_bytes: window as usize, pages: pages as usize };
        if !fits || memory.len() != offsets.region() {
            return Err(Error::corrupt("its header and its size disagree"));
        }
        Ok(Region { memory, fixed, offsets, fence, policy, strmsgsz, strctlsz, nstrpush })
    }

    pub fn marks(&self, direction: usize) -> Placed<[Mark]> {
        Placed::slice_at(&self.memory, self.offsets.marks(direction), MARKS).expect("the size was checked")
    }

    pub fn window(&self, direction: usize) -> Window {
        let offset = self.offsets.window(direction);
        Window::at(&self.memory, offset, self.offsets.window_bytes).expect("the size was checked")
    }

    pub fn store(&self, direction: usize) -> Placed<StoreWords> {
        Placed::at(&self.memory, self.offsets.store(direction)).expect("the size was checked")
    }

    /// Bytes of the largest message, control and data together.
    pub fn message_max(&self) -> u64 {
        u64::from(self.strmsgsz) + u64::from(self.strctlsz)
    }
}

impl AsFd for Region {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }
}
