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
        self.instance().map_or(0, |(_, _, len)| len)
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

    /// The memory in which the own one lies, where it begins there, and how long it is. None: the module or driver has asked for none.
    fn instance(&self) -> Option<(&Window, u64, usize)> {
        let (region, link) = (self.run.region, &self.run.chain[self.at]);
        if link.is_driver() {
            let window = region.instance.as_ref()?;
            return Some((window, 0, window.len() as usize));
        }
        // This process's own description; the place has room for any.
        let len = link.module.info().instance.min(MODULE_INSTANCE_MAX);
        (len > 0).then_some((&region.modules, module_instance(link.end, link.slot) as u64, len))
    }

    fn instance_range(&self, at: usize, len: usize) -> Result<(&Window, u64)> {
        let (window, first, own) = self.instance().unwrap_or((&self.run.region.modules, 0, 0));
        let is_inside = at.checked_add(len).is_some_and(|end| end <= own);
        if is_inside {
            Ok((window, first + at as u64))
        } else {
            Err(fixed!(Inval, "the range is outside of the own memory"))
        }
    }
}
