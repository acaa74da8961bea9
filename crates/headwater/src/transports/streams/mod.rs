//! The STREAMS pipe of `headwater-streams`: with its windows ([`window`]), with modules ([`modules`]), with the options of
//! its heads ([`options`]), and with its mechanisms switched off ([`policy`]); and its FIFO ([`fifo`]). This file has the
//! end that all share.
//!
//! Both ends are one stream, which is full-duplex, so that answers take the same way back. A message is one `write` and
//! one `read`, as with a kernel pipe.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use headwater_results::schema::Standing;
use headwater_streams::{Error, Handle, Options, Policy, WriteOptions, limits};

use super::{Endpoint, Info, Setup, Transport, Unavailable};

pub mod fifo;
pub mod modules;
pub mod options;
pub mod policy;
pub mod window;

/// A stream by its recipe: a transport is a type with one of these.
pub trait Kind: 'static {
    /// What it is made of.
    const RECIPE: Recipe;
}

/// What a stream is created with, and what is done to it before it is used.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// What the transport is.
    info: Info,
    /// High water mark, bytes; the low one is half of it.
    hiwat: u32,
    /// Mechanisms.
    policy: Policy,
    /// Pushed on the sender's end, the lowest first.
    modules: &'static [&'static str],
    /// How both ends write.
    write: WriteOptions,
    /// Whether a read of both ends waits for its whole count.
    fill: bool,
}

/// `streams-pipe`, which the others differ from.
const PIPE: Recipe = Recipe {
    info: Info {
        name: "streams-pipe",
        summary: "STREAMS pipe in shared memory, hiwat 64 KiB",
        blocking: "spins up to 20 us (yields on a shared CPU), then sleeps on a futex, later on a socket",
        standing: Standing::Candidate,
        keeps_boundaries: false,
        lossy: false,
        size_max: None,
        spins: false,
        policy: None,
        pollable: true,
        special: false,
        unfit: &[],
    },
    hiwat: limits::HIWAT,
    policy: Policy::DEFAULT,
    modules: &[],
    write: WriteOptions::PIPE,
    fill: false,
};

/// What a variant of the pipe says of itself.
const fn variant(name: &'static str, policy: Option<&'static str>, summary: &'static str) -> Info {
    Info { name, summary, policy, special: true, ..PIPE.info }
}

impl<K: Kind> Transport for K {
    type End = StreamEnd;
    const INFO: Info = K::RECIPE.info;

    fn open(setup: &Setup<'_>) -> Result<(StreamEnd, StreamEnd), Unavailable> {
        K::RECIPE.open(setup).map_err(|error| Unavailable::call("STREAMS pipe", error))
    }
}

impl Recipe {
    fn open(&self, setup: &Setup<'_>) -> Result<(StreamEnd, StreamEnd), Error> {
        let options = Options::new().hiwat(self.hiwat).lowat(self.hiwat / 2).policy(self.policy);
        let (mut sender, mut receiver) = options.pair()?;
        for module in self.modules {
            sender.push(module)?;
        }
        for end in [&mut sender, &mut receiver] {
            end.set_write_options(self.write)?;
            end.set_read_options(end.read_options().fill(self.fill))?;
            end.set_nonblocking(setup.nonblocking)?;
        }
        Ok((StreamEnd(sender), StreamEnd(receiver)))
    }
}

/// An end of a stream.
#[derive(Debug)]
pub struct StreamEnd(Handle);

impl Endpoint for StreamEnd {
    /// The end takes its place in the process that uses it.
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
