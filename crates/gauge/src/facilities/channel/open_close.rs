//! `open-close`, `open-byte-close`: one process opens both ends of a channel and closes them; the second row also
//! writes and reads one byte in between. The figure is the time of all of it.
//!
//! A full-duplex transport opens both directions; the kernel's pipe opens one.

use std::io;
use std::marker::PhantomData;

use super::{Opening, lost};
use crate::facilities::operation::{self, Figure, Operation, entry};
use crate::facilities::{Entry, Info};
use crate::harness::conduct::Job;
use crate::transports::{Endpoint, Transport, Unavailable, pipe, streams, unix};

/// Opens and closes channels of `T`. If `BYTE`, one byte passes through each.
#[derive(Debug)]
pub struct OpenClose<T, const BYTE: bool> {
    opening: Opening,
    transport: PhantomData<T>,
}

impl<T: Transport, const BYTE: bool> Operation for OpenClose<T, BYTE> {
    const ROWS: &'static [(&'static str, &'static str)] = &[(T::INFO.name, T::INFO.summary)];
    const FIGURE: Figure = Figure::Microseconds;

    fn prepare(job: &Job) -> Result<Self, Unavailable> {
        let opening = Opening::of(job, 1);
        T::open(&opening.setup())?;
        Ok(OpenClose { opening, transport: PhantomData })
    }

    fn check(&mut self) -> io::Result<()> {
        once::<T>(&self.opening, Some(b'a'))?;
        once::<T>(&self.opening, Some(b'b'))
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            once::<T>(&self.opening, BYTE.then_some(b'x'))?;
        }
        Ok(())
    }
}

#[inline]
fn once<T: Transport>(opening: &Opening, byte: Option<u8>) -> io::Result<()> {
    let (mut sender, mut receiver) = T::open(&opening.setup()).map_err(lost)?;
    if let Some(sent) = byte {
        let mut received = [0];
        sender.send(&[sent])?;
        receiver.receive(&mut received)?;
        if received != [sent] {
            return Err(io::Error::other(format!("{sent} was sent, and {} received", received[0])));
        }
    }
    Ok(())
}

/// The table entry without a byte.
pub const ENTRY: Entry = Entry {
    info: &Info {
        name: "open-close",
        definition_version: |_| 1,
        summary: "both ends of a channel made and closed by one process; time of both",
    },
    subjects: || operation::subjects(TABLE),
    accepts: |_| Ok(()),
    cost: |subject| operation::cost(TABLE, subject),
    probe: |job| operation::probe(TABLE, job),
    conduct: |job| operation::conduct(TABLE, job),
};

/// The table entry with a byte.
pub const ENTRY_BYTE: Entry = Entry {
    info: &Info {
        name: "open-byte-close",
        definition_version: |_| 1,
        summary: "both ends of a channel made, one byte through it, both closed, by one process; time of all",
    },
    subjects: || operation::subjects(TABLE_BYTE),
    accepts: |_| Ok(()),
    cost: |subject| operation::cost(TABLE_BYTE, subject),
    probe: |job| operation::probe(TABLE_BYTE, job),
    conduct: |job| operation::conduct(TABLE_BYTE, job),
};

static TABLE: &[operation::Entry] = &[
    entry::<OpenClose<pipe::Pipe, false>>(),
    entry::<OpenClose<unix::UnixStream, false>>(),
    entry::<OpenClose<streams::window::Pipe, false>>(),
];

static TABLE_BYTE: &[operation::Entry] = &[
    entry::<OpenClose<pipe::Pipe, true>>(),
    entry::<OpenClose<unix::UnixStream, true>>(),
    entry::<OpenClose<streams::window::Pipe, true>>(),
];
