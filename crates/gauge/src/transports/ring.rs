//! `ring-spin`, `ring-futex`, `ring-futex-1m`: a byte ring in shared memory (`headwater-ring`), one for each direction.
//!
//! The rings are limits: what the memory system allows without kernel calls and without the semantics of a file
//! descriptor. `ring-spin` uses its CPU while it waits; the others spin or yield for a short time and then sleep.

use std::io;

use headwater_os::cpu;
use headwater_results::schema::Standing;
use headwater_ring::{Counters, Receiver, Sender, Wait, pair};

use super::{Endpoint, Info, Setup, Transport, Unavailable};

/// The ring whose ends spin.
#[derive(Debug)]
pub struct RingSpin;

/// The ring whose ends sleep.
#[derive(Debug)]
pub struct RingFutex;

/// The ring whose ends sleep, with a window of 1 MiB.
#[derive(Debug)]
pub struct RingFutex1M;

/// The default size of a kernel pipe.
const WINDOW_BYTES: usize = 64 << 10;

/// The size of `pipe-1m`.
const LARGE_WINDOW_BYTES: usize = 1 << 20;

const INFO: Info = Info {
    name: "ring-futex",
    summary: "byte ring in shared memory, 64 KiB",
    blocking: "spins up to 20 us (yields on a shared CPU), then sleeps on a futex",
    standing: Standing::Limit,
    policy: Some("futex"),
    pollable: false,
    ..Info::BYTES
};

impl Transport for RingSpin {
    type End = RingEnd;

    const INFO: Info = Info {
        name: "ring-spin",
        summary: "byte ring in shared memory, 64 KiB; both ends spin",
        blocking: "spins on its CPU, never sleeps",
        spins: true,
        policy: Some("spin"),
        ..INFO
    };

    fn open(setup: &Setup<'_>) -> Result<(RingEnd, RingEnd), Unavailable> {
        // A non-blocking end never waits, so it does not spin.
        if !setup.nonblocking && (setup.same_cpu || cpu::allowed().is_ok_and(|cpus| cpus.len() < 2)) {
            return Err(Unavailable(
                "spinning needs two CPUs: on one, each end would wait out the other's time slice".into(),
            ));
        }
        ends(setup, WINDOW_BYTES, Wait::Spin)
    }
}

impl Transport for RingFutex {
    type End = RingEnd;
    const INFO: Info = INFO;

    fn open(setup: &Setup<'_>) -> Result<(RingEnd, RingEnd), Unavailable> {
        ends(setup, WINDOW_BYTES, Wait::Sleep)
    }
}

impl Transport for RingFutex1M {
    type End = RingEnd;
    const INFO: Info = Info { name: "ring-futex-1m", summary: "byte ring in shared memory, 1 MiB", ..INFO };

    fn open(setup: &Setup<'_>) -> Result<(RingEnd, RingEnd), Unavailable> {
        ends(setup, LARGE_WINDOW_BYTES, Wait::Sleep)
    }
}

fn ends(setup: &Setup<'_>, window_bytes: usize, wait: Wait) -> Result<(RingEnd, RingEnd), Unavailable> {
    let ring = || pair(window_bytes, wait).map_err(|error| Unavailable::call("shared memory", error));
    let (forth_in, forth_out) = ring()?;
    let (back_in, back_out) = if setup.duplex { Some(ring()?).unzip() } else { (None, None) };
    let nonblocking = setup.nonblocking;
    Ok((
        RingEnd { sender: Some(forth_in), receiver: back_out, nonblocking },
        RingEnd { sender: back_in, receiver: Some(forth_out), nonblocking },
    ))
}

/// An end of one ring, or of two rings if the channel is duplex.
#[derive(Debug)]
pub struct RingEnd {
    sender: Option<Sender>,
    receiver: Option<Receiver>,
    nonblocking: bool,
}

impl RingEnd {
    #[inline]
    fn sender(&mut self) -> io::Result<&mut Sender> {
        self.sender.as_mut().ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    #[inline]
    fn receiver(&mut self) -> io::Result<&mut Receiver> {
        self.receiver.as_mut().ok_or_else(|| io::ErrorKind::Unsupported.into())
    }
}

impl Endpoint for RingEnd {
    /// Each half belongs to the process that uses it. Their pages are faulted in before anything is timed.
    fn attach(&mut self) -> io::Result<()> {
        self.sender.as_mut().map_or(Ok(()), Sender::attach)?;
        self.receiver.as_mut().map_or(Ok(()), Receiver::attach)?;
        Ok(())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let halves = [self.sender.as_ref().map(Sender::counters), self.receiver.as_ref().map(Receiver::counters)];
        let sum = |count: fn(&Counters) -> u64| halves.iter().flatten().map(count).sum();
        vec![
            ("wake_ups", sum(|half| half.wakes)),
            ("blocks", sum(|half| half.sleeps)),
            ("rescues", sum(|half| half.rescues)),
            ("spins", sum(|half| half.spins)),
            ("yields", sum(|half| half.yields)),
        ]
    }

    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        if !self.nonblocking {
            self.send(message)?;
            return Ok(message.len());
        }
        match self.sender()?.try_write(message)? {
            0 if !message.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.nonblocking {
            return Ok(self.receiver()?.read_some(buffer)?);
        }
        match self.receiver()?.try_read(buffer) {
            Ok(0) if !buffer.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            Ok(count) => Ok(count),
            Err(headwater_ring::Error::Closed) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        Ok(self.sender()?.write_all(message)?)
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        Ok(self.receiver()?.read_exact(buffer)?)
    }
}
