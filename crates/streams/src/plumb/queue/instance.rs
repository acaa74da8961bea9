//! The own memory of a module or driver, in the memory of the stream.

use headwater_shm::{Window, probe};

use super::Queue;
use crate::error::{Result, fixed};
use crate::layout::module_instance;
use crate::limits::MODULE_INSTANCE_MAX;

impl Queue<'_, '_, '_> {
    /// Length of the own memory, bytes: of a driver, for this stream; of a module, for the time that it is pushed.
    #[doc = include_str!("../../../doc/driver.md")]
    pub fn instance_len(&self) -> usize {
        self.instance_place().map_or(0, |(_, len)| len)
    }

    /// Copies from the own memory, from byte `at` on. It is zeros when the stream is made, or the module is pushed; every process
    /// that has the stream open may change it at any time, so what is read is to be checked.
    ///
    /// # Errors
    /// `EINVAL` for a range that is not inside.
    #[doc = include_str!("../../../doc/driver.md")]
    #[doc(alias = "q_ptr")]
    pub fn read_instance(&self, at: usize, bytes: &mut [u8]) -> Result<()> {
        let (window, at) = self.instance_range(at, bytes.len())?;
        window.copy_out(at, bytes);
        Ok(())
    }

    /// Copies to the own memory, from byte `at` on. Procedures of the two sides may run at the same time, in two processes: each
    /// writes bytes of its own.
    ///
    /// # Errors
    /// `EINVAL` for a range that is not inside.
    #[doc = include_str!("../../../doc/driver.md")]
    #[doc(alias = "q_ptr")]
    pub fn write_instance(&mut self, at: usize, bytes: &[u8]) -> Result<()> {
        self.run.act();
        if self.run.chain[self.at].is_driver() {
            self.run.begin_step(at)?;
        }
        let (window, at) = self.instance_range(at, bytes.len())?;
        window.copy_in(at, bytes);
        probe::at();
        Ok(())
    }

    /// Bytes of data that any message may have.
    pub(crate) fn data_max(&self) -> usize {
        self.run.region.strmsgsz as usize
    }

    /// Where the own memory begins in that of the driver, or of all modules, and how long it is. None: the module or driver has
    /// asked for none.
    fn instance_place(&self) -> Option<(u64, usize)> {
        let (region, link) = (self.run.region, &self.run.chain[self.at]);
        if link.is_driver() {
            return region.instance.as_ref().map(|window| (0, window.len() as usize));
        }
        // This process's own description; the place has room for any.
        let len = link.module.info().instance.min(MODULE_INSTANCE_MAX);
        (len > 0).then_some((module_instance(link.end, link.slot) as u64, len))
    }

    fn instance_range(&self, at: usize, len: usize) -> Result<(&Window, u64)> {
        let (first, own) = self.instance_place().unwrap_or_default();
        if at.checked_add(len).is_none_or(|end| end > own) {
            return Err(fixed!(Inval, "the range is outside of the own memory"));
        }
        let region = self.run.region;
        let of_driver = region.instance.as_ref().filter(|_| self.run.chain[self.at].is_driver());
        let window = of_driver.map_or_else(|| region.modules(), Ok)?;
        Ok((window, first + at as u64))
    }
}
