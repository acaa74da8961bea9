//! Repairs a trace after a crash: a file may end within a packet, for which other tools refuse the whole trace. Cuts
//! such files to whole packets, and finds how far each ring was copied. Must not be used while the trace is being
//! written.

use std::path::Path;

use headwater_os::files::OFlags;
use headwater_os::plain_file;

use super::Error;
use super::files::{Packets, StreamFile, read_metadata, stream_files};
use super::packet::{BEFORE_ALL, HEAD};

/// The result of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repaired {
    /// Files that ended within a packet.
    pub files: usize,
    /// Bytes of those packets, which were removed.
    pub bytes_cut: u64,
}

/// Cuts every file of a trace to whole packets.
///
/// Errors: `NoTrace`, `Metadata`; `Damaged` for a file that contains anything but packets, which is not changed; errors
/// of the file system.
pub fn repair(dir: &Path) -> Result<Repaired, Error> {
    let mut repaired = Repaired { files: 0, bytes_cut: 0 };
    each_file(dir, |file, packets| {
        if packets.rest() > 0 {
            let opened = plain_file::open_for(&file.path, OFlags::WRONLY);
            opened.and_then(|opened| opened.set_len(packets.next)).map_err(Error::io("cut", &file.path))?;
            repaired.files += 1;
            repaired.bytes_cut += packets.rest();
        }
        Ok(())
    })?;
    Ok(repaired)
}

/// How far a ring was copied to a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The index of the stream in the schema.
    pub stream: usize,
    /// The number of the ring within the stream.
    pub ring: u32,
    /// The ring position of the end of the last whole packet's records, in bytes since the ring began; `None` if there
    /// are none.
    pub position: Option<u64>,
}

/// Returns how far each ring was copied to a trace. Recovery after a crash continues there.
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

/// Walks a file's packets to the end: afterwards the last whole packet and its end are known.
pub(super) fn to_the_end(file: &StreamFile, uuid: [u8; 16]) -> Result<Packets, Error> {
    // Reads only the heads.
    let mut packets = Packets::open(file, uuid, HEAD)?;
    while packets.next()?.is_some() {}
    Ok(packets)
}
