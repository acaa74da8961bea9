//! The forms in which the picture of a trace is written: tracks with slices, instants, counters and arrows.

use std::io;

/// The track on which an event is shown: process and thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Track {
    pub pid: u32,
    pub tid: u32,
}

/// The process id of the CPU tracks, larger than the kernel's largest id (2^22).
const CPUS: u32 = (1 << 22) + 1;

impl Track {
    pub fn of_cpu(cpu: u32) -> Track {
        Track { pid: CPUS, tid: cpu }
    }
}

/// Writes a picture. Times are in nanoseconds since 1970; `args` is a JSON object.
pub trait Sink {
    /// Names a track, before the first event on it.
    fn name(&mut self, track: Track, process: &str, thread: &str) -> io::Result<()>;

    fn instant(&mut self, track: Track, name: &str, stream: &str, at: u128, args: &str) -> io::Result<()>;

    /// Writes an instant of no track.
    fn global(&mut self, name: &str, stream: &str, at: u128, args: &str) -> io::Result<()>;

    fn slice(&mut self, track: Track, name: &str, stream: &str, between: (u128, u128), args: &str) -> io::Result<()>;

    /// Writes a sample of a counter of a process.
    fn counter(&mut self, pid: u32, name: &str, at: u128, value: f64) -> io::Result<()>;

    /// Writes an arrow from one track and time to another.
    fn arrow(&mut self, from: (Track, u128), to: (Track, u128)) -> io::Result<()>;

    fn end(self) -> io::Result<()>;
}
