//! A stream's shared memory: made once, checked once by each process that attaches.
//!
//! The header's values are copied into this process and never read again. The region knows where the parts lie, but not
//! their purpose.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use headwater_os::fence::Fence;
use headwater_os::memory::SharedMemory;
use headwater_os::set_once::OnceBox;
use headwater_shm::{BiasedLock, Members, Placed, Window};

use super::driver_info::StreamDriver;
use super::local::Locals;
use super::sleep::BELL;
use super::slot_name::{read_name, write_name};
use crate::error::{Errno, Error, Result, corrupt, fixed};
use crate::layout::{
    DRIVER, Fixed, Header, MAGIC, MODULES_BYTES, Offsets, RecordHeader, VERSION, module_instance, queue_of,
};
use crate::limits::{self, BLOCKS, CUT_MAX, FASTBUF, PAGE, RECORDS};
use crate::message::ioctl::IOCTL_BLOCK;
use crate::options::Options;
use crate::options::head::{ReadOptions, WriteOptions};
use crate::policy::Policy;
use crate::queue::flow::WaterMarks;
use crate::queue::store::Store;

/// The beginning of the name under which the memory of a pipe or a device shows in /proc. Behind it stand the cookies of the sockets that
/// were made with it: the users of the stream can change what is in the memory, and not its name.
pub(crate) const NAME: &str = "headwater-stream";

/// The name of the memory of a stream with these sockets: both ends of the doorbell, and what else a device has.
fn name_with(cookies: &[u64]) -> String {
    cookies.iter().fold(NAME.to_owned(), |name, cookie| format!("{name}-{cookie:x}"))
}

/// The cookies in the name of a memory; None for the memory of a FIFO, or something else.
pub(crate) fn cookies_in(name: &str) -> Option<Vec<u64>> {
    let cookies = name.strip_prefix(NAME)?.strip_prefix('-')?;
    cookies.split('-').map(|cookie| u64::from_str_radix(cookie, 16).ok()).collect()
}

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
    /// The driver in which the stream ends, if it does.
    pub driver: Option<&'static dyn StreamDriver>,
    /// The driver's own memory, if it has asked for some.
    pub instance: Option<Window>,
    /// The table of the members: the handles that use the stream.
    pub members: Members,
    /// The modules' own memory, once this process has mapped it: see [`Region::modules`].
    modules: Arc<OnceBox<Window>>,
    /// The memory's inode: the stream's name for the tracer.
    pub inode: u64,
    /// What modules and drivers keep in this process.
    pub locals: Arc<Locals>,
}

impl Region {
    /// Makes and maps the memory of a pipe.
    pub fn create(options: &Options, cookies: [u64; 2]) -> Result<Region> {
        Region::make(&name_with(&cookies), options, cookies, None)
    }

    /// Makes and maps the memory of a FIFO.
    pub fn create_fifo(name: &str, options: &Options, cookies: [u64; 2]) -> Result<Region> {
        Region::make(name, options, cookies, None)
    }

    /// Makes and maps the memory of a stream that ends in a driver. `others`: the cookies of the sockets that it has beside its doorbell.
    pub fn create_device(
        options: &Options,
        cookies: [u64; 2],
        others: &[u64],
        driver: &'static dyn StreamDriver,
        minor: u32,
    ) -> Result<Region> {
        Region::make(&name_with(&[&cookies, others].concat()), options, cookies, Some((driver, minor)))
    }

    fn make(
        name: &str,
        options: &Options,
        cookies: [u64; 2],
        device: Option<(&'static dyn StreamDriver, u32)>,
    ) -> Result<Region> {
        options.check()?;
        let info = device.map(|(driver, _)| driver.info());
        let instance_bytes =
            info.map_or(0, |info| if info.instance == 0 { 0 } else { info.instance.next_power_of_two() });
        let message_max = message_max(options.strmsgsz, options.strctlsz) as usize;
        let window_bytes = (options.hiwat as usize + message_max).next_power_of_two();
        // As much as a head's queue may hold without a lane, and behind it one more call (in pieces, each with a page that is
        // not full), a message of high priority, and one that a service procedure puts back.
        let pages = ((options.hiwat as usize + 5 * message_max).div_ceil(PAGE) + CUT_MAX).next_power_of_two();
        let offsets = Offsets { window_bytes, pages, instance_bytes };
        let memory = Arc::new(SharedMemory::create_growable(name, offsets.region())?);
        let fence = Fence::best();
        let fixed: Placed<Fixed> = Placed::at(&memory, 0).expect("the region was made for it");
        let header = &fixed.header.0;
        // Relaxed: the descriptor, without which no other process gets here, is passed on later through the kernel.
        header.version.store(VERSION, Ordering::Relaxed);
        header.fence.store(fence as u32, Ordering::Relaxed);
        header.window.store(window_bytes as u64, Ordering::Relaxed);
        header.pages.store(pages as u32, Ordering::Relaxed);
        header.policy.store(options.policy.bits(), Ordering::Relaxed);
        header.strmsgsz.store(options.strmsgsz, Ordering::Relaxed);
        header.strctlsz.store(options.strctlsz, Ordering::Relaxed);
        header.nstrpush.store(options.nstrpush, Ordering::Relaxed);
        header.instance.store(instance_bytes as u64, Ordering::Relaxed);
        for (word, cookie) in header.cookies.iter().zip(cookies) {
            word.store(cookie, Ordering::Relaxed);
        }
        for lane in &fixed.lanes {
            lane.flow.0.maxpsz.store(options.maxpsz, Ordering::Relaxed);
            // The descriptor reports the first message; see `inbox`.
            lane.reader.0.sleep.store(BELL, Ordering::Relaxed);
        }
        for end in &fixed.ends {
            end.0.write_options.store(WriteOptions::PIPE.bits(), Ordering::Relaxed);
            end.0.read_options.store(ReadOptions::default().bits(), Ordering::Relaxed);
            end.0.close_ms.store(limits::CLOSE_MS, Ordering::Relaxed);
        }
        if let (Some((_, minor)), Some(info)) = (device, info) {
            write_name(&fixed.device.driver, info.name);
            fixed.device.minor.store(minor, Ordering::Relaxed);
            fixed.ends[0].0.write_options.store(WriteOptions::DEVICE.bits(), Ordering::Relaxed);
            // The driver's end has no reader to notify.
            fixed.lanes[0].reader.0.sleep.store(0, Ordering::Relaxed);
        }
        header.magic.store(MAGIC, Ordering::Relaxed);
        let own_driver = |_: &str| device.map(|(driver, _)| driver).ok_or_else(|| corrupt!("a driver's name"));
        let region = Region::over(memory, fixed, own_driver)?;
        (0..2).for_each(|direction| region.set_water_marks(direction, options.hiwat, options.lowat));
        if let Some(info) = info {
            let queue = queue_of(1, DRIVER);
            (0..2).for_each(|direction| region.store(direction).set_marks(queue, info.hiwat, info.lowat));
            region.store(0).set_packet_sizes(queue, [info.minpsz, info.maxpsz]);
        }
        Ok(region)
    }

    /// Maps the memory behind a descriptor from elsewhere. `find_driver` is called with the driver's name, if the stream ends in one.
    ///
    /// Errors: `ENOSTR` for one that is no stream; `EPROTO` for one of another version, or that contradicts itself; those of
    /// `find_driver`.
    pub fn open_with(
        fd: OwnedFd,
        find_driver: impl FnOnce(&str) -> Result<&'static dyn StreamDriver>,
    ) -> Result<Region> {
        let memory = SharedMemory::growable_from_fd(fd, size_of::<Fixed>()).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidInput => Error::new(Errno::Nostr, error.to_string()),
            _ => error.into(),
        })?;
        let start: &Fixed = memory.get(0).expect("it was mapped for it");
        check_version(&start.header.0)?;
        let offsets = Sizes::of(&start.header.0).offsets();
        let len = offsets.ok_or_else(|| corrupt!("its header has a size beyond its limit"))?.region();
        let memory = memory.extended(len).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidInput => corrupt!("its header and its size disagree"),
            _ => error.into(),
        })?;
        let memory = Arc::new(memory);
        let fixed = Placed::at(&memory, 0).expect("it is not shorter than before");
        Region::over(memory, fixed, find_driver)
    }

    fn over(
        memory: Arc<SharedMemory>,
        fixed: Placed<Fixed>,
        find_driver: impl FnOnce(&str) -> Result<&'static dyn StreamDriver>,
    ) -> Result<Region> {
        let header = &fixed.header.0;
        check_version(header)?;
        let fence = Fence::from_number(header.fence.load(Ordering::Relaxed));
        let fence = fence.ok_or_else(|| corrupt!("an unknown fence"))?;
        let policy = Policy::from_bits(header.policy.load(Ordering::Relaxed));
        let policy = policy.ok_or_else(|| corrupt!("an unknown policy"))?;
        let sizes = Sizes::of(header);
        let offsets = sizes.offsets();
        let offsets = offsets.filter(|offsets| offsets.region() == memory.len());
        let offsets = offsets.ok_or_else(|| corrupt!("its header and its size disagree"))?;
        let name = read_name(&fixed.device.driver)?;
        let driver = if name.is_empty() { None } else { Some(find_driver(&name)?) };
        let instance = Window::at(&memory, offsets.instance(), offsets.instance_bytes);
        let [first, chunks] = [fixed.clone(), fixed.clone()];
        let (first, chunks) = (first.part(|fixed| &fixed.members[..]), chunks.part(|fixed| &fixed.member_chunks));
        let members = Members::growing(first, chunks, &memory, offsets.member_chunks());
        let inode = headwater_os::descriptors::inode(&*memory)?;
        let locals = Arc::default();
        Ok(Region {
            memory,
            fixed,
            offsets,
            fence,
            policy,
            strmsgsz: sizes.strmsgsz,
            strctlsz: sizes.strctlsz,
            nstrpush: sizes.nstrpush,
            driver,
            instance,
            members,
            modules: Arc::default(),
            inode,
            locals,
        })
    }

    /// What is mapped.
    pub fn memory(&self) -> &Arc<SharedMemory> {
        &self.memory
    }

    /// The end with that cookie: 0, 1, or none.
    pub fn side_of(&self, cookie: u64) -> Option<usize> {
        let cookies = &self.fixed.header.0.cookies;
        cookies.iter().position(|word| word.load(Ordering::Relaxed) == cookie)
    }

    /// The cookie of an end.
    pub fn cookie_of(&self, side: usize) -> u64 {
        self.fixed.header.0.cookies[side].load(Ordering::Relaxed)
    }

    /// Whether another process uses an end, as far as is known. A table that contradicts itself counts as use.
    pub fn is_used_by_another(&self, side: usize) -> bool {
        self.members.is_used_by_another(side).unwrap_or(true)
    }

    pub fn records(&self, direction: usize) -> Placed<[RecordHeader]> {
        Placed::slice_at(&self.memory, self.offsets.records(direction), RECORDS).expect("the size was checked")
    }

    pub fn window(&self, direction: usize) -> Window {
        let offset = self.offsets.window(direction);
        Window::at(&self.memory, offset, self.offsets.window_bytes).expect("the size was checked")
    }

    /// Gives the pages of a direction's window back to the kernel. Under the writer's lock, while nothing lies in the lane.
    pub fn discard_window(&self, direction: usize) -> Result<()> {
        Ok(self.memory.discard(self.offsets.window(direction), self.offsets.window_bytes)?)
    }

    /// The modules' own memory: see [`module_instance`]. A stream has none until a module needs it.
    pub fn modules(&self) -> Result<&Window> {
        if let Some(modules) = self.modules.get() {
            return Ok(modules);
        }
        let at = self.offsets.modules();
        self.memory.reach(at + MODULES_BYTES)?;
        let part = Arc::new(self.memory.part(at, MODULES_BYTES)?);
        Ok(self.modules.set(Window::at(&part, 0, MODULES_BYTES).expect("it was mapped for it")))
    }

    /// Clears the first bytes of the memory of a module's instance; whole pages are given back to the kernel. Before the module is
    /// pushed.
    pub fn clear_module_instance(&self, end: usize, slot: usize, len: usize) -> Result<()> {
        let len = len.min(limits::MODULE_INSTANCE_MAX);
        if len > 0 {
            self.modules()?;
            let at = self.offsets.modules() + module_instance(end, slot);
            self.memory.discard(at, len.next_multiple_of(PAGE))?;
        }
        Ok(())
    }

    /// A member's view of a direction's store.
    pub fn store(&self, direction: usize) -> Store {
        let checked = "the size was checked";
        let words = Placed::at(&self.memory, self.offsets.store(direction)).expect(checked);
        let flow = self.fixed.part(|fixed| &fixed.lanes[direction].flow.0);
        let links = Placed::slice_at(&self.memory, self.offsets.links(direction), self.offsets.pages).expect(checked);
        let fast = Window::at(&self.memory, self.offsets.fast(direction), BLOCKS * FASTBUF).expect(checked);
        let pages = Window::at(&self.memory, self.offsets.pages(direction), self.offsets.pages * PAGE).expect(checked);
        let lock = self.fixed.part(|fixed| &fixed.lanes[direction].store_lock.0);
        Store::new(words, flow, links, fast, pages, self.message_max(), BiasedLock::new(lock, 3 * direction as u32 + 2))
    }

    /// The largest high-water mark that the windows have room for.
    pub fn hiwat_max(&self) -> u64 {
        self.offsets.window_bytes as u64 - self.message_max()
    }

    /// The largest number of bytes for which a reader may wait: the low-water mark.
    pub fn gather_max(&self) -> u32 {
        self.fixed.lanes.iter().map(|lane| lane.flow.0.lowat.load(Ordering::Relaxed)).min().unwrap_or(1).max(1)
    }

    /// Sets the water marks of a direction's last queue.
    pub fn set_water_marks(&self, direction: usize, hiwat: u32, lowat: u32) {
        WaterMarks::store(&self.fixed.lanes[direction].flow.0, hiwat, lowat, self.policy.hysteresis);
    }

    /// Bytes of the largest message, control and data together.
    pub fn message_max(&self) -> u64 {
        message_max(self.strmsgsz, self.strctlsz)
    }
}

/// The sizes in a header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub strmsgsz: u32,
    pub strctlsz: u32,
    pub nstrpush: u32,
    pub window: u64,
    pub pages: u32,
    pub instance: u64,
}

impl Sizes {
    /// As a header has them, each read once.
    fn of(header: &Header) -> Sizes {
        Sizes {
            strmsgsz: header.strmsgsz.load(Ordering::Relaxed),
            strctlsz: header.strctlsz.load(Ordering::Relaxed),
            nstrpush: header.nstrpush.load(Ordering::Relaxed),
            window: header.window.load(Ordering::Relaxed),
            pages: header.pages.load(Ordering::Relaxed),
            instance: header.instance.load(Ordering::Relaxed),
        }
    }

    /// The offsets of the parts; None if a size is beyond its limit.
    pub fn offsets(self) -> Option<Offsets> {
        let Sizes { strmsgsz, strctlsz, nstrpush, window, pages, instance } = self;
        let sizes = 1..=limits::STRMSGSZ_MAX;
        let fits = sizes.contains(&strmsgsz)
            && sizes.contains(&strctlsz)
            && nstrpush as usize <= limits::NSTRPUSH
            && window.is_power_of_two()
            && window <= 1 << 32
            && window > message_max(strmsgsz, strctlsz)
            && pages.is_power_of_two()
            && pages <= 1 << 20
            && (instance == 0 || instance.is_power_of_two())
            && instance <= limits::INSTANCE_MAX as u64;
        let (window_bytes, instance_bytes) = (window as usize, instance as usize);
        fits.then_some(Offsets { window_bytes, pages: pages as usize, instance_bytes })
    }
}

/// Whether a header is that of a stream of this version.
fn check_version(header: &Header) -> Result<()> {
    if header.magic.load(Ordering::Relaxed) != MAGIC {
        return Err(fixed!(Nostr, "the descriptor's memory is no stream"));
    }
    let version = header.version.load(Ordering::Relaxed);
    if version != VERSION {
        let why = format!("the stream's layout has version {version}, this library has {VERSION}");
        return Err(Error::new(Errno::Proto, why));
    }
    Ok(())
}

/// Bytes of the largest message: what a caller may send, or an ioctl of as much data.
fn message_max(strmsgsz: u32, strctlsz: u32) -> u64 {
    u64::from(strmsgsz) + u64::from(strctlsz).max(IOCTL_BLOCK as u64)
}

impl AsFd for Region {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }
}
