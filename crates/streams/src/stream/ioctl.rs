//! Ioctls that modules and drivers answer.

use super::Stream;
use crate::error::Result;
use crate::head::{IoctlTimeout, UserMemory};

impl Stream {
    /// Sends an ioctl down the stream with this data, and waits for the answer of a module or driver (I_STR). Returns
    /// the answer's value (ioc_rval); `data` is then the answer's data. A stream without a module or driver that knows
    /// the command, as every pipe
    /// without modules, refuses it with `EINVAL` at once.
    ///
    /// One ioctl is under way at an end; others of that end wait for their turn, which counts for their time-out. To wait for
    /// an answer has nothing to do with [`Stream::set_nonblocking`].
    ///
    /// ```
    /// use headwater_streams::{Errno, IoctlTimeout, modules::testmod, pipe};
    ///
    /// let (near, _far) = pipe()?;
    /// let mut data = b"abc".to_vec();
    /// let refused = near.ioctl(testmod::ioctl::REVERSE, &mut data, IoctlTimeout::Usual);
    /// assert_eq!(refused.expect_err("no module knows it").errno(), Errno::Inval);
    ///
    /// near.push("testmod")?;
    /// assert_eq!(near.ioctl(testmod::ioctl::REVERSE, &mut data, IoctlTimeout::Usual)?, 3);
    /// assert_eq!(data, b"cba");
    /// # Ok::<(), headwater_streams::Error>(())
    /// ```
    ///
    /// # Errors
    /// `EINVAL` for data longer than strmsgsz, and for a command that no module or driver knows; any other error of an
    /// answer (M_IOCNAK, or an M_IOCACK with ioc_error); `ETIME` when the time is over; `EINTR` after a signal; `ENXIO`
    /// after a hang-up, and when the other end of a pipe is gone; those of a stream with an error. As SUSv2, ioctl of
    /// STREAMS, I_STR.
    #[doc = include_str!("../../doc/ioctl.md")]
    #[doc(alias = "I_STR")]
    #[doc(alias = "strioctl")]
    pub fn ioctl(&self, command: u32, data: &mut Vec<u8>, timeout: IoctlTimeout) -> Result<i32> {
        self.call(|handle| handle.ioctl(command, data, timeout))
    }

    /// Sends an ioctl down the stream with its argument alone, usually an address, and copies from and to `memory` the
    /// bytes that the module or driver requests by M_COPYIN and M_COPYOUT: a transparent ioctl. Returns the answer's
    /// value (ioc_rval). It waits until a signal handler runs.
    ///
    /// ```
    /// use headwater_streams::{MemoryAt, modules::testmod, pipe};
    ///
    /// let (near, _far) = pipe()?;
    /// near.push("testmod")?;
    /// // Two addresses and a length at 1000, the bytes behind them.
    /// let mut bytes = [2000u64, 2003, 3].map(u64::to_ne_bytes).concat();
    /// let mut text = *b"abc---";
    /// let mut memory = vec![MemoryAt::new(1000, &mut bytes), MemoryAt::new(2000, &mut text)];
    /// assert_eq!(near.transparent_ioctl(testmod::ioctl::COPY, 1000, &mut memory)?, 3);
    /// assert_eq!(&text, b"abccba");
    /// # Ok::<(), headwater_streams::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of `memory`, usually `EFAULT`; `EINVAL` if more than strmsgsz is to be copied at a time; else as
    /// [`Stream::ioctl`].
    #[doc(alias = "M_COPYIN")]
    #[doc(alias = "M_COPYOUT")]
    #[doc(alias = "M_IOCDATA")]
    #[doc = include_str!("../../doc/transparent_ioctl.md")]
    pub fn transparent_ioctl(&self, command: u32, argument: u64, memory: &mut dyn UserMemory) -> Result<i32> {
        self.call(|handle| handle.transparent_ioctl(command, argument, memory))
    }
}
