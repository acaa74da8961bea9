//! How an end reads, writes, reports errors, and how much its queue takes.

use std::time::Duration;

use super::Stream;
use crate::error::Result;
use crate::options::head::{ErrorOptions, ReadOptions, WriteOptions};

impl Stream {
    /// How this end reads, writes, reports errors, and how much its queue takes.
    #[doc = include_str!("../../doc/read_options.md")]
    pub fn settings(&self) -> Settings<'_> {
        Settings(self)
    }
}

/// The settings of an end, which all processes share; see [`Stream::settings`].
#[derive(Debug, Clone, Copy)]
pub struct Settings<'s>(&'s Stream);

impl Settings<'_> {
    /// How this end reads (I_GRDOPT).
    #[doc = include_str!("../../doc/read_options.md")]
    #[doc(alias = "I_GRDOPT")]
    pub fn read_options(&self) -> ReadOptions {
        ReadOptions::of(self.0.shared.endpoint.words())
    }

    /// Changes how this end reads, in all processes (I_SRDOPT).
    ///
    /// # Errors
    /// Those of a stream with a read error.
    #[doc = include_str!("../../doc/read_options.md")]
    #[doc(alias = "I_SRDOPT")]
    pub fn set_read_options(&self, options: ReadOptions) -> Result<()> {
        self.0.call(|handle| handle.set_read_options(options))
    }

    /// How this end writes (I_GWROPT).
    #[doc = include_str!("../../doc/write_options.md")]
    #[doc(alias = "I_GWROPT")]
    pub fn write_options(&self) -> WriteOptions {
        WriteOptions::of(self.0.shared.endpoint.words())
    }

    /// Changes how this end writes, in all processes (I_SWROPT).
    ///
    /// # Errors
    /// `ENXIO` after a hang-up, and those of a stream with a write error.
    #[doc = include_str!("../../doc/write_options.md")]
    #[doc(alias = "I_SWROPT")]
    pub fn set_write_options(&self, options: WriteOptions) -> Result<()> {
        self.0.call(|handle| handle.set_write_options(options))
    }

    /// How this end reports errors (I_GERROPT).
    #[doc = include_str!("../../doc/error_options.md")]
    #[doc(alias = "I_GERROPT")]
    pub fn error_options(&self) -> ErrorOptions {
        self.0.with(|handle| handle.error_options())
    }

    /// Changes how this end reports errors (I_SERROPT).
    #[doc = include_str!("../../doc/error_options.md")]
    #[doc(alias = "I_SERROPT")]
    pub fn set_error_options(&self, options: ErrorOptions) {
        self.0.with(|handle| handle.set_error_options(options));
    }

    /// High-water and low-water mark of this end's read queue, bytes.
    #[doc = include_str!("../../doc/water_marks.md")]
    #[doc(alias = "SO_HIWAT")]
    #[doc(alias = "SO_LOWAT")]
    pub fn water_marks(&self) -> (u32, u32) {
        self.0.with(|handle| handle.water_marks())
    }

    /// Changes the water marks of this end's read queue.
    ///
    /// # Errors
    /// `EINVAL` for a low mark above the high one, or a high one for which the stream's window is too small.
    #[doc = include_str!("../../doc/water_marks.md")]
    #[doc(alias = "SO_HIWAT")]
    #[doc(alias = "SO_LOWAT")]
    pub fn set_water_marks(&self, hiwat: u32, lowat: u32) -> Result<()> {
        self.0.call(|handle| handle.set_water_marks(hiwat, lowat))
    }

    /// The longest time that [`Stream::drain`] waits (I_GETCLTIME).
    #[doc(alias = "I_GETCLTIME")]
    #[doc = include_str!("../../doc/close_time.md")]
    pub fn close_time(&self) -> Duration {
        self.0.with(|handle| handle.close_time())
    }

    /// Changes how long [`Stream::drain`] waits, in all processes; whole milliseconds (I_SETCLTIME).
    ///
    /// # Errors
    /// `EINVAL` for more milliseconds than a 32-bit word holds.
    #[doc(alias = "I_SETCLTIME")]
    #[doc = include_str!("../../doc/close_time.md")]
    pub fn set_close_time(&self, time: Duration) -> Result<()> {
        self.0.call(|handle| handle.set_close_time(time))
    }

    /// Largest data part of a message on this stream, bytes.
    #[doc = include_str!("../../doc/sizes.md")]
    #[doc(alias = "q_maxpsz")]
    pub fn maxpsz(&self) -> usize {
        self.0.with(|handle| handle.maxpsz())
    }

    /// The size of a pipe or FIFO as the kernel counts it: the high-water mark of the queue that this end reads; of a FIFO's writer,
    /// of the one that it writes. None for a device.
    #[doc(hidden)]
    pub fn pipe_size(&self) -> Option<u32> {
        self.0.with(|handle| handle.pipe_size())
    }

    /// Sets the high-water marks of a pipe's two queues, or a FIFO's one, and the low-water marks to half of that.
    ///
    /// # Errors
    /// `EBADF` for a device; `EINVAL` for a size for which the stream's window is too small.
    #[doc(hidden)]
    pub fn set_pipe_size(&self, size: u32) -> Result<()> {
        self.0.call(|handle| {
            handle.attach()?;
            handle.set_pipe_size(size)
        })
    }
}
