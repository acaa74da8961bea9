//! The records of one file, in their order. The contents of the file are not trusted.

use super::Error;
use super::files::{Packets, StreamFile};
use super::packet::HEAD;
use crate::record::{self, RECORD_MAX};
use crate::shape::Shapes;

/// Bytes per read.
const CHUNK: usize = 256 << 10;

/// A file of packets that is being read.
#[derive(Debug)]
pub(super) struct Source {
    packets: Packets,
    /// The index of its trace in the reader.
    pub trace: usize,
    pub stream: usize,
    pub ring: u32,
    pub cpu: u32,
    /// Offset of the packet's next record, and of the end of the packet.
    at: u64,
    end: u64,
    /// Time of the previous record, and of the packet's last.
    time: u64,
    time_end: u64,
    /// The result of [`Source::advance`].
    pub found: Found,
    /// Whether the rest of the file cannot be read.
    failed: bool,
}

/// The next item of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A record at offset `at` of the file, and the index of its type in the stream.
    Record { head: record::Head, kind: usize, at: u64 },
    /// `count` events were lost between two times.
    Loss { count: u64, between: (u64, u64), time: u64 },
    /// The end of the file.
    End,
}

impl Source {
    pub fn open(file: &StreamFile, trace: usize, uuid: [u8; 16]) -> Result<Source, Error> {
        let packets = Packets::open(file, uuid, CHUNK)?;
        let (stream, ring) = (file.stream, file.ring);
        Ok(Source {
            packets,
            trace,
            stream,
            ring,
            cpu: 0,
            at: 0,
            end: 0,
            time: 0,
            time_end: 0,
            found: Found::End,
            failed: false,
        })
    }

    /// Returns the time of the found item.
    pub fn time(&self) -> Option<u64> {
        match self.found {
            Found::Record { head, .. } => Some(head.time),
            Found::Loss { time, .. } => Some(time),
            Found::End => None,
        }
    }

    /// Returns the fields and padding of the found record.
    pub fn fields(&self) -> &[u8] {
        let Found::Record { head, at, .. } = self.found else { return &[] };
        self.packets.window.held(at).get(record::HEAD..usize::from(head.len)).unwrap_or_default()
    }

    /// Returns the file and the bytes of an incomplete packet at its end, after everything else was read.
    pub fn cut(&self) -> Option<(&std::path::Path, u64)> {
        let rest = self.packets.rest();
        (self.found == Found::End && rest > 0).then_some((self.packets.window.path.as_path(), rest))
    }

    /// Finds the next item.
    ///
    /// Errors: `Damaged`, errors of the file system; then the file is taken to have ended.
    pub fn advance(&mut self, shapes: &Shapes) -> Result<(), Error> {
        let advanced = self.find(shapes);
        self.failed = advanced.is_err();
        advanced
    }

    /// Takes notice of what was added to the file, if no item is found whose bytes may be asked for: `is_given` says that
    /// the last one has been returned. Returns whether the file was at its end.
    pub fn look_again(&mut self, is_given: bool) -> bool {
        let is_at_end = self.found == Found::End && !self.failed;
        if is_at_end || is_given {
            self.packets.window.look_again();
        }
        is_at_end
    }

    fn find(&mut self, shapes: &Shapes) -> Result<(), Error> {
        self.found = Found::End;
        while self.at == self.end {
            let before = self.packets.last;
            let Some((at, head)) = self.packets.next()? else { return Ok(()) };
            (self.at, self.end) = (at + HEAD as u64, at + head.size);
            (self.time, self.time_end, self.cpu) = (head.begin, head.end, head.cpu);
            let (lost, since) = before.map_or((0, head.begin), |before| (before.discarded, before.end));
            if head.discarded > lost {
                let count = head.discarded - lost;
                self.found = Found::Loss { count, between: (since, head.end), time: head.begin };
                return Ok(());
            }
        }
        self.found = self.record(shapes)?;
        Ok(())
    }

    fn record(&mut self, shapes: &Shapes) -> Result<Found, Error> {
        let at = self.at;
        let left = usize::try_from(self.end - at).unwrap_or(usize::MAX);
        let bytes = self.packets.window.at(at, left.min(RECORD_MAX))?;
        let bytes = &bytes[..left.min(bytes.len())];
        let found = sound(bytes, shapes, self.time, self.time_end);
        let (head, kind) = found.map_err(|message| self.packets.damaged(at, message))?;
        self.at += u64::from(head.len);
        self.time = head.time;
        Ok(Found::Record { head, kind, at })
    }
}

/// Checks the record at the beginning of `bytes`. Returns its head, and the index of its type.
fn sound(bytes: &[u8], shapes: &Shapes, from: u64, to: u64) -> Result<(record::Head, usize), &'static str> {
    let head = record::Head::read(bytes).ok_or("no whole record stands here")?;
    let (kind, shape) = shapes.get(head.event).ok_or("the metadata does not know the record's event")?;
    let whole = shape.fields_of_record(&bytes[..head.len.into()]);
    whole.ok_or("the fields of the record do not fill it")?;
    if head.time < from || head.time > to {
        return Err("the record's time is not between those before and behind it");
    }
    Ok((head, *kind))
}
