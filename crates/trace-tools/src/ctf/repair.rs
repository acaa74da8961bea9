//! What a crash leaves: a file that ends within a packet, for which others refuse the whole trace. Here it is cut to whole
//! packets, and found where each ring had been read up to. Needs no writer; must not run beside one.

use std::fs::OpenOptions;
use std::path::Path;

use super::Error;
use super::files::{Packets, StreamFile, read_metadata, stream_files};
use super::packet::{BEFORE_ALL, HEAD};

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repaired {
    /// Files that ended within a packet.
    pub files: usize,
    /// Bytes of those packets, which are gone.
    pub bytes_cut: u64,
}

/// Cuts every file of a trace to whole packets.
///
/// Errors: `NoTrace`, `Metadata`; `Damaged` for a file that holds something else than packets, which is left as it is; what
/// the file system reports.
pub fn repair(dir: &Path) -> Result<Repaired, Error> {
    let mut repaired = Repaired { files: 0, bytes_cut: 0 };
    each_file(dir, |file, packets| {
        if packets.rest() > 0 {
            let opened = OpenOptions::new().write(true).open(&file.path);
            opened.and_then(|opened| opened.set_len(packets.next)).map_err(Error::io("cut", &file.path))?;
            repaired.files += 1;
            repaired.bytes_cut += packets.rest();
        }
        Ok(())
    })?;
    Ok(repaired)
}

/// How far a ring has been written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The place of the stream in the schema.
    pub stream: usize,
    /// Which ring of it.
    pub ring: u32,
    /// Where in the ring the last whole packet's records end, bytes since the ring began; None if none were written.
    pub position: Option<u64>,
}

/// How far each ring of a trace has been written down: who goes on after a crash continues there.
///
/// Errors: as those of [`repair`].
pub fn positions(dir: &Path) -> Result<Vec<Position>, Error> {
    let mut positions = Vec::new();
    each_file(dir, |file, packets| {
        let position = packets.last.map(|last| last.position).filter(|position| *position != BEFORE_ALL);
        positions.push(Position { stream: file.stream, ring: file.ring, position });
        Ok(())
    })?;
    Ok(positions)
}

fn each_file(dir: &Path, mut act: impl FnMut(&StreamFile, Packets) -> Result<(), Error>) -> Result<(), Error> {
    let metadata = read_metadata(dir)?;
    for file in stream_files(dir, &metadata.schema)? {
        let packets = to_the_end(&file, metadata.uuid)?;
        act(&file, packets)?;
    }
    Ok(())
}

/// A file's packets, gone through: the last whole one, and where it ends.
pub(super) fn to_the_end(file: &StreamFile, uuid: [u8; 16]) -> Result<Packets, Error> {
    // Between heads nothing is read.
    let mut packets = Packets::open(file, uuid, HEAD)?;
    while packets.next()?.is_some() {}
    Ok(packets)
}
