//! The settings and queries of an end: options, water marks, raised signals.

use std::sync::atomic::Ordering;

use super::handle::Handle;
use super::options::{ErrorOptions, ReadOptions, WriteOptions};
use super::state::{self, Call};
use crate::error::{Error, Result, Text, fixed};
use crate::process::end::Access;

impl Handle {
    pub(crate) fn read_options(&self) -> ReadOptions {
        ReadOptions::of(self.end.words())
    }

    pub(crate) fn set_read_options(&mut self, options: ReadOptions) -> Result<()> {
        state::check(self.end.words(), Call::Peek)?;
        options.set(self.end.words());
        self.back.announce();
        Ok(())
    }

    pub(crate) fn write_options(&self) -> WriteOptions {
        WriteOptions::of(self.end.words())
    }

    pub(crate) fn set_write_options(&mut self, options: WriteOptions) -> Result<()> {
        state::check(self.end.words(), Call::SetWrite)?;
        self.end.words().write_options.store(options.bits(), Ordering::Relaxed);
        self.out.announce();
        Ok(())
    }

    pub(crate) fn error_options(&self) -> ErrorOptions {
        ErrorOptions::from_bits(self.end.words().error_options.load(Ordering::Relaxed))
    }

    pub(crate) fn set_error_options(&mut self, options: ErrorOptions) {
        self.end.words().error_options.store(options.bits(), Ordering::Relaxed);
    }

    pub(crate) fn water_marks(&self) -> (u32, u32) {
        let flow = &self.end.region.fixed.lanes[1 - self.end.side].flow.0;
        (flow.hiwat.load(Ordering::Relaxed), flow.lowat.load(Ordering::Relaxed))
    }

    pub(crate) fn set_water_marks(&mut self, hiwat: u32, lowat: u32) -> Result<()> {
        let most = self.end.region.hiwat_max();
        if hiwat == 0 || u64::from(hiwat) > most {
            return Err(Error::numbered(Text::HiwatRange, hiwat.into(), most));
        }
        if lowat > hiwat {
            return Err(Error::numbered(Text::LowatAboveHiwat, lowat.into(), hiwat.into()));
        }
        self.end.region.set_water_marks(1 - self.end.side, hiwat, lowat);
        self.back.announce();
        // The queue may be below its low-water mark now.
        if self.attach().is_ok() {
            self.after_taking(true);
        }
        self.wake_writers()
    }

    pub(crate) fn pipe_size(&self) -> Option<u32> {
        let lane = self.lanes_of_pipe()?.next()?;
        Some(self.end.region.fixed.lanes[lane].flow.0.hiwat.load(Ordering::Relaxed))
    }

    pub(crate) fn set_pipe_size(&mut self, size: u32) -> Result<()> {
        let lanes = self.lanes_of_pipe().ok_or_else(|| fixed!(Badf, "a device has no size of a pipe"))?;
        let most = self.end.region.hiwat_max();
        if size == 0 || u64::from(size) > most {
            return Err(Error::numbered(Text::HiwatRange, size.into(), most));
        }
        for lane in lanes {
            self.end.region.set_water_marks(lane, size, size / 2);
        }
        self.back.announce();
        self.out.announce();
        self.end.wake_own_writers()?;
        self.wake_writers()
    }

    /// The lanes of a pipe or FIFO, by number: the one that this end reads first, if it reads.
    fn lanes_of_pipe(&self) -> Option<impl Iterator<Item = usize> + use<>> {
        let side = self.end.side;
        let (reads, writes) = match self.end.endpoint.access {
            _ if self.end.region.driver.is_some() => return None,
            Access::Both => (true, true),
            Access::Read => (true, false),
            Access::Write => (false, true),
        };
        Some([(reads, 1 - side), (writes, side)].into_iter().filter_map(|(is_used, lane)| is_used.then_some(lane)))
    }

    pub(crate) fn take_signals(&mut self) -> u64 {
        // A broken stream has none.
        let _ = self.attach().and_then(|()| self.take_front(|_, _| Ok(((), None))));
        self.end.words().signals.swap(0, Ordering::AcqRel)
    }
}
