//! The modules of an end.

use super::Stream;
use crate::error::Result;

impl Stream {
    /// Puts a module between this end's head and what is below (I_PUSH). All users of the stream must know it; the
    /// modules of [`crate::modules`] are known in every process.
    ///
    /// # Errors
    /// `EINVAL` for a name that is not known, or when the end has as many modules as it takes; `ENXIO` after a hang-up,
    /// `EIO` after an error; what the module's own opening reports.
    #[doc = include_str!("../../doc/modules.md")]
    #[doc(alias = "I_PUSH")]
    pub fn push(&self, name: &str) -> Result<()> {
        self.call(|handle| handle.push(name))
    }

    /// Takes the module away that was pushed last (I_POP). Messages in its queues are discarded.
    ///
    /// # Errors
    /// `EINVAL` if there is none; `EPERM` if it is [anchored](Modules::anchor) and the process is not root's; `ENXIO` after a
    /// hang-up, `EIO` after an error.
    #[doc = include_str!("../../doc/modules.md")]
    #[doc(alias = "I_POP")]
    pub fn pop(&self) -> Result<()> {
        self.call(|handle| handle.pop())
    }

    /// The modules that are pushed on this end.
    #[doc = include_str!("../../doc/modules.md")]
    pub fn modules(&self) -> Modules<'_> {
        Modules(self)
    }
}

/// The modules of an end; see [`Stream::modules`].
#[derive(Debug, Clone, Copy)]
pub struct Modules<'s>(&'s Stream);

impl Modules<'_> {
    /// Anchors the modules that are pushed on a device: from now on only a process of root pops one of them (I_ANCHOR). Modules that
    /// are pushed later are popped as before. A later call anchors these too; without a module it has no effect.
    ///
    /// The processes that have the stream open keep this rule: each one refuses its own calls.
    ///
    /// # Errors
    /// `EINVAL` on a pipe or FIFO; `ENXIO` after a hang-up, `EIO` after an error.
    #[doc = include_str!("../../doc/anchor.md")]
    #[doc(alias = "I_ANCHOR")]
    pub fn anchor(&self) -> Result<()> {
        self.0.call(|handle| handle.anchor())
    }

    /// The name of the module that was pushed last, or of the driver (I_LOOK).
    ///
    /// # Errors
    /// `EINVAL` if there is neither.
    #[doc = include_str!("../../doc/modules.md")]
    #[doc(alias = "I_LOOK")]
    pub fn look(&self) -> Result<String> {
        self.0.call(|handle| handle.look())
    }

    /// Whether a module of that name is pushed, or the driver has that name (I_FIND).
    ///
    /// # Errors
    /// `EINVAL` for a name that this process does not know.
    #[doc = include_str!("../../doc/modules.md")]
    #[doc(alias = "I_FIND")]
    pub fn find(&self, name: &str) -> Result<bool> {
        self.0.call(|handle| handle.find(name))
    }

    /// The names of the end's modules, the last pushed first, then that of the driver (I_LIST).
    ///
    /// # Errors
    /// `EPROTO` on a broken stream.
    #[doc = include_str!("../../doc/modules.md")]
    #[doc(alias = "I_LIST")]
    pub fn list(&self) -> Result<Vec<String>> {
        self.0.call(|handle| handle.list())
    }
}
