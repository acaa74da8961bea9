//! The STREAMS pipe of `headwater-streams`: with several windows ([`window`]), with modules ([`modules`]), with the
//! options of its heads ([`options`]), and with single mechanisms switched off ([`policy`]); and the STREAMS FIFO
//! ([`fifo`]) and pseudo-terminals ([`pty`]). This file contains the transport and the end that the pipes share.
//!
//! A stream is full-duplex, so answers use the same stream. A message is one `write` and one `read`, as with a kernel
//! pipe.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use headwater_streams::{DirectStream, Error, Options, Policy, WriteOptions, limits};

use super::stream_options::StreamOptions;
use super::{Endpoint, Info, Setup, Transport, Unavailable};

pub mod fifo;
pub mod modules;
pub mod options;
pub mod policy;
pub mod pty;
pub mod window;

/// A STREAMS pipe with a configuration of its own: the type of a transport.
pub trait StreamsPipe: 'static {
    /// The configuration.
    const CONFIGURATION: Configuration;
}

/// The configuration of a STREAMS pipe: how it is created, and what is done to it before it is used.
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    /// The properties of the transport.
    info: Info,
    /// High-water mark in bytes. The low-water mark is half of it.
    hiwat: u32,
    /// The mechanisms that are switched on.
    policy: Policy,
    /// Modules that are pushed on the sender's end, the lowest first.
    modules: &'static [&'static str],
    /// The write options of both ends.
    write: WriteOptions,
    /// Whether a read at either end waits until its buffer is full (RFILL).
    fill: bool,
}

/// The configuration of `streams-pipe`, from which the others differ.
const PIPE: Configuration = Configuration {
    info: Info {
        name: "streams-pipe",
        summary: "STREAMS pipe in shared memory, hiwat 64 KiB",
        blocking: "spins up to 20 us (yields on a shared CPU), then sleeps on a futex, later on a socket",
        ..Info::BYTES
    },
    hiwat: limits::HIWAT,
    policy: Policy::DEFAULT,
    modules: &[],
    write: WriteOptions::PIPE,
    fill: false,
};

/// Returns the properties of a variant of the pipe.
const fn variant(name: &'static str, policy: Option<&'static str>, summary: &'static str) -> Info {
    Info { name, summary, policy, special: true, ..PIPE.info }
}

impl<K: StreamsPipe> Transport for K {
    type End = StreamEnd;
    const INFO: Info = K::CONFIGURATION.info;
    const HAS_OPTIONS: bool = true;

    fn open(setup: &Setup<'_>) -> Result<(StreamEnd, StreamEnd), Unavailable> {
        let options = StreamOptions::parse(setup.options).map_err(Unavailable)?;
        K::CONFIGURATION.open(setup, &options).map_err(|error| Unavailable::call("STREAMS pipe", error))
    }
}

impl Configuration {
    fn open(&self, setup: &Setup<'_>, options: &StreamOptions) -> Result<(StreamEnd, StreamEnd), Error> {
        let parameters = options.parameters(Options::new().policy(self.policy), self.hiwat);
        let (sender, receiver) = parameters.pipe()?;
        for module in self.modules {
            sender.push(module)?;
        }
        for end in [&sender, &receiver] {
            end.settings().set_write_options(self.write)?;
            end.settings().set_read_options(end.settings().read_options().fill(self.fill))?;
            end.set_nonblocking(setup.nonblocking)?;
        }
        options.apply(&sender, &receiver)?;
        Ok((StreamEnd(sender.direct()), StreamEnd(receiver.direct())))
    }
}

/// An end of a stream.
#[derive(Debug)]
pub struct StreamEnd(DirectStream);

impl Endpoint for StreamEnd {
    /// Attaches the end to the process that uses it.
    fn attach(&mut self) -> io::Result<()> {
        Ok(self.0.attach()?)
    }

    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        Ok(self.0.write(message)?)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.0.read(buffer)?)
    }

    fn incoming(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    fn outgoing(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.0.counters().named().collect()
    }
}

#[cfg(test)]
mod tests;
