//! `streams-fifo`: the STREAMS FIFO, opened by its path. Like the kernel's `fifo` it is one-way, so a round trip takes
//! two FIFOs, and the name is removed before the first message.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use headwater_streams::{Access, Error, Fifo, FifoOptions, Options, Stream};

use super::super::stream_options::StreamOptions;
use super::super::{Endpoint, Info, Setup, Transport, Unavailable};
use super::{PIPE, StreamEnd};

/// The STREAMS FIFO.
#[derive(Debug)]
pub struct StreamsFifo;

impl Transport for StreamsFifo {
    type End = FifoEnd;

    const HAS_OPTIONS: bool = true;

    const INFO: Info =
        Info { name: "streams-fifo", summary: "STREAMS FIFO, found by its path, hiwat 64 KiB", ..PIPE.info };

    fn open(setup: &Setup<'_>) -> Result<(FifoEnd, FifoEnd), Unavailable> {
        let options = StreamOptions::parse(setup.options).map_err(Unavailable)?;
        let one_way = |name: &str| one_way(setup, &options, &setup.directory.join(format!("streams-fifo-{name}")));
        let (forth_in, forth_out) = one_way("forth")?;
        let (back_in, back_out) = if setup.duplex { Some(one_way("back")?).unzip() } else { (None, None) };
        Ok((
            FifoEnd { sender: Some(forth_in), receiver: back_out },
            FifoEnd { sender: back_in, receiver: Some(forth_out) },
        ))
    }
}

/// Creates a FIFO and returns its writing and its reading end.
fn one_way(setup: &Setup<'_>, options: &StreamOptions, path: &Path) -> Result<(StreamEnd, StreamEnd), Unavailable> {
    let unavailable = |error: Error| Unavailable::call("STREAMS FIFO", error);
    Fifo::create(path, 0o600).map_err(unavailable)?;
    let ends = open_both(path, options, setup.nonblocking);
    // The name is removed even if the opening failed.
    fs::remove_file(path).map_err(|error| Unavailable::call("unlink of the FIFO", error))?;
    let (writer, reader) = ends.map_err(unavailable)?;
    Ok((StreamEnd(writer.direct()), StreamEnd(reader.direct())))
}

/// Opens the reader, which does not wait for a writer, and then the writer, which finds a reader.
fn open_both(path: &Path, options: &StreamOptions, nonblocking: bool) -> Result<(Stream, Stream), Error> {
    let parameters = options.parameters(Options::new(), PIPE.hiwat);
    let opening = FifoOptions::new().nonblocking(true).stream(parameters);
    let reader = opening.open(path, Access::Read)?;
    let writer = opening.open(path, Access::Write)?;
    for end in [&reader, &writer] {
        end.set_nonblocking(nonblocking)?;
    }
    options.apply(&writer, &reader)?;
    Ok((writer, reader))
}

/// An end of one FIFO, or of two FIFOs if the channel is duplex.
#[derive(Debug)]
pub struct FifoEnd {
    pub(super) sender: Option<StreamEnd>,
    pub(super) receiver: Option<StreamEnd>,
}

impl Endpoint for FifoEnd {
    fn attach(&mut self) -> io::Result<()> {
        [&mut self.sender, &mut self.receiver].into_iter().flatten().try_for_each(Endpoint::attach)
    }

    #[inline]
    fn send_some(&mut self, message: &[u8]) -> io::Result<usize> {
        self.sender.as_mut().ok_or(io::ErrorKind::Unsupported)?.send_some(message)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receiver.as_mut().ok_or(io::ErrorKind::Unsupported)?.receive_some(buffer)
    }

    fn incoming(&self) -> Option<BorrowedFd<'_>> {
        self.receiver.as_ref()?.incoming()
    }

    fn outgoing(&self) -> Option<BorrowedFd<'_>> {
        self.sender.as_ref()?.outgoing()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut ends = [&self.sender, &self.receiver].into_iter().flatten().map(Endpoint::counters);
        let mut sum = ends.next().unwrap_or_default();
        ends.for_each(|more| sum.iter_mut().zip(more).for_each(|((_, count), (_, more))| *count += more));
        sum
    }
}
