//! Writes a trace: whole packets, each by one system call. It reads no clock; callers pass the times.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, IoSlice, Write as _};
use std::path::{Path, PathBuf};

use headwater_os::files::{make_private_directory, private};
use rustix::rand::{GetRandomFlags, getrandom};

use super::files::{self, file_name, stream_files};
use super::packet::{BEFORE_ALL, HEAD, Head};
use super::walk::walk;
use super::{Error, Metadata};
use crate::schema::{Check, EventKind, Schema};
use crate::shape::Shapes;

/// The most files that a writer keeps open: a trace with a ring per thread may have more files than a process may have
/// descriptors.
const OPEN_MAX: usize = 256;

/// Records of one ring that are written together.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// The index of the stream in the schema.
    pub stream: usize,
    /// The number of the ring within the stream.
    pub ring: u32,
    /// The CPU of the records.
    pub cpu: u32,
    /// Time of the first record in ticks; not before the end of the ring's last packet.
    pub begin: u64,
    /// Time of the last record in ticks.
    pub end: u64,
    /// Records of the ring that were lost since it began.
    pub discarded: u64,
    /// The ring position of the end of the records, in bytes since the ring began. [`super::positions`] returns it.
    pub position: u64,
    /// The records, in parts that may be cut anywhere.
    pub parts: &'a [&'a [u8]],
}

/// A trace that is being written. If it is dropped without [`Writer::close`], the trace is valid, but lacks the losses
/// of rings after their last packet.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    metadata: Metadata,
    shapes: Vec<Shapes>,
    /// The rings by stream and number.
    rings: BTreeMap<(usize, u32), Ring>,
}

/// The file of a ring.
#[derive(Debug)]
struct Ring {
    path: PathBuf,
    /// `None` while it is closed because of [`OPEN_MAX`].
    file: Option<File>,
    /// Bytes of whole packets.
    whole: u64,
    /// Whether incomplete bytes may follow, because a write failed.
    torn: bool,
    last: Option<Head>,
    /// Losses that no packet contains yet.
    noted: Option<Noted>,
}

#[derive(Debug, Clone, Copy)]
struct Noted {
    cpu: u32,
    discarded: u64,
    time: u64,
}

impl Writer {
    /// Creates a trace in a directory that is empty or does not exist. Only this process's user gets access: a trace
    /// may contain addresses, names and data of other programs.
    ///
    /// Errors: `NotEmpty`; `Unfit` for a schema that CTF cannot express; errors of the file system.
    pub fn create(dir: &Path, schema: &Schema) -> Result<Writer, Error> {
        schema.check()?;
        make_private_directory(dir).map_err(Error::io("create the directory", dir))?;
        files::remove_incomplete_metadata(dir);
        if fs::read_dir(dir).map_err(Error::io("list", dir))?.next().is_some() {
            return Err(Error::NotEmpty { path: dir.to_owned() });
        }
        let uuid = random_uuid().map_err(Error::io("get a random identity for", dir))?;
        let metadata = Metadata { uuid, schema: schema.clone() };
        files::write_metadata(dir, &metadata)?;
        Ok(Writer::with(dir, metadata))
    }

    /// Repairs a trace and continues it, whichever program wrote it and however that ended.
    ///
    /// Errors: as those of [`super::repair`].
    pub fn resume(dir: &Path) -> Result<Writer, Error> {
        super::repair(dir)?;
        let mut writer = Writer::with(dir, files::read_metadata(dir)?);
        for file in stream_files(dir, &writer.metadata.schema)? {
            let packets = super::repair::to_the_end(&file, writer.metadata.uuid)?;
            let mut ring = Ring::new(file.path);
            (ring.whole, ring.last) = (packets.next, packets.last);
            writer.rings.insert((file.stream, file.ring), ring);
        }
        Ok(writer)
    }

    fn with(dir: &Path, metadata: Metadata) -> Writer {
        let shapes = metadata.schema.streams.iter().map(|stream| Shapes::of(&stream.events)).collect();
        Writer { dir: dir.to_owned(), metadata, shapes, rings: BTreeMap::new() }
    }

    /// Returns the schema, including added event types.
    pub fn schema(&self) -> &Schema {
        &self.metadata.schema
    }

    /// Returns the time of the last record of a ring in ticks; 0 if there is none.
    pub fn last_time(&self, stream: usize, ring: u32) -> u64 {
        self.rings.get(&(stream, ring)).and_then(|ring| ring.last).map_or(0, |last| last.end)
    }

    /// Adds an event type: as [`Writer::add_events`] with one.
    ///
    /// Errors: as those.
    pub fn add_event(&mut self, stream: usize, kind: EventKind) -> Result<(), Error> {
        self.add_events(stream, [kind])
    }

    /// Adds event types. Must be called before the first record of each is written. Adding one again has no effect. The
    /// metadata are written once, so thousands of types are best added by one call.
    ///
    /// Errors: `Unfit`; `Schema` if the stream does not exist, or an id belongs to another type; errors of the file
    /// system. None of the types is added then.
    pub fn add_events(&mut self, stream: usize, kinds: impl IntoIterator<Item = EventKind>) -> Result<(), Error> {
        self.check_stream(stream)?;
        let before = self.metadata.schema.streams[stream].events.len();
        let mut added = kinds.into_iter().try_for_each(|kind| self.note_event(stream, kind));
        if added.is_ok() && self.metadata.schema.streams[stream].events.len() > before {
            added = files::write_metadata(&self.dir, &self.metadata);
        }
        if added.is_err() {
            let events = &mut self.metadata.schema.streams[stream].events;
            events.truncate(before);
            self.shapes[stream] = Shapes::of(events);
        }
        added
    }

    /// Adds an event type, except to the file.
    fn note_event(&mut self, stream: usize, kind: EventKind) -> Result<(), Error> {
        kind.check()?;
        let (events, shapes) = (&mut self.metadata.schema.streams[stream].events, &mut self.shapes[stream]);
        if let Some((place, _)) = shapes.get(kind.id) {
            let known = &events[*place];
            if *known == kind {
                return Ok(());
            }
            let message = format!("the id {} of {} is that of {}", kind.id, kind.name, known.name);
            return Err(Error::Schema { path: self.dir.clone(), message });
        }
        shapes.add(events.len(), &kind);
        events.push(kind);
        Ok(())
    }

    /// Writes a packet; one without records reports losses. Returns the number of bytes by which the file has grown.
    ///
    /// Errors: `Unsound` for invalid records, or for times or losses that decrease; `Schema` for an unknown stream;
    /// errors of the file system such as a full disk. After an error no part of the packet remains, and the next call
    /// may succeed.
    pub fn packet(&mut self, packet: Packet<'_>) -> Result<u64, Error> {
        self.check_stream(packet.stream)?;
        let ring = self.ring(packet.stream, packet.ring);
        ring.check_order(&packet)?;
        let shapes = &self.shapes[packet.stream];
        let ring = self.rings.get_mut(&(packet.stream, packet.ring)).expect("it was made above");
        let walked = walk(packet.parts, shapes, packet.begin, packet.end)
            .map_err(|unsound| Error::Unsound { path: ring.path.clone(), unsound })?;
        let size = (HEAD + walked.len) as u64;
        let head = Head {
            uuid: self.metadata.uuid,
            stream: packet.stream as u32,
            begin: packet.begin,
            end: packet.end,
            content: size - walked.padding as u64,
            size,
            number: ring.last.map_or(1, |last| last.number + 1),
            discarded: packet.discarded,
            cpu: packet.cpu,
            ring: packet.ring,
            position: packet.position,
        };
        // Readers compute losses as differences between packets, so the first packet cannot report any.
        let first = ring.last.is_none().then_some(Head {
            end: packet.begin,
            content: HEAD as u64,
            size: HEAD as u64,
            number: 0,
            discarded: 0,
            position: BEFORE_ALL,
            ..head
        });
        let heads = [first.map(|first| first.to_bytes()), Some(head.to_bytes())];
        let heads = heads.iter().flatten().map(|bytes| IoSlice::new(bytes));
        let mut slices: Vec<IoSlice<'_>> = heads.chain(packet.parts.iter().map(|part| IoSlice::new(part))).collect();
        let before = ring.whole;
        ring.write(&mut slices)?;
        ring.last = Some(head);
        let grown = ring.whole - before;
        self.close_some();
        Ok(grown)
    }

    /// Records how many events a ring has lost since it began, as of `time`. The next packet reports it; if there is
    /// none, [`Writer::close`] does.
    ///
    /// Errors: `Schema` for an unknown stream.
    pub fn note_loss(&mut self, stream: usize, ring: u32, cpu: u32, discarded: u64, time: u64) -> Result<(), Error> {
        self.check_stream(stream)?;
        self.ring(stream, ring).noted = Some(Noted { cpu, discarded, time });
        Ok(())
    }

    /// Ends the trace, as [`Writer::write_losses`] does. Does not sync.
    ///
    /// Errors: as those of [`Writer::write_losses`].
    pub fn close(mut self) -> Result<(), Error> {
        self.write_losses()
    }

    /// Writes a packet that reports the losses for each ring with losses since its last packet.
    ///
    /// Errors: as those of [`Writer::packet`]; the first one, after all rings were tried.
    pub fn write_losses(&mut self) -> Result<(), Error> {
        let mut result = Ok(());
        for (stream, number) in self.rings.keys().copied().collect::<Vec<_>>() {
            let ring = &self.rings[&(stream, number)];
            let (said, since) = ring.last.map_or((0, 0), |last| (last.discarded, last.end));
            let Some(noted) = ring.noted.filter(|noted| noted.discarded > said) else { continue };
            let time = noted.time.max(since);
            let position = ring.last.map_or(BEFORE_ALL, |last| last.position);
            let Noted { cpu, discarded, .. } = noted;
            let packet = Packet { stream, ring: number, cpu, begin: time, end: time, discarded, position, parts: &[] };
            result = result.and(self.packet(packet).map(|_| ()));
        }
        result
    }

    /// Syncs all files to the disk.
    ///
    /// Errors: errors of the file system.
    pub fn sync(&self) -> Result<(), Error> {
        let files = self.rings.values().filter(|ring| ring.last.is_some()).map(|ring| ring.path.clone());
        for path in files.chain([self.dir.join("metadata"), self.dir.clone()]) {
            File::open(&path).and_then(|file| file.sync_all()).map_err(Error::io("sync", &path))?;
        }
        Ok(())
    }

    fn check_stream(&self, stream: usize) -> Result<(), Error> {
        if stream < self.metadata.schema.streams.len() {
            return Ok(());
        }
        Err(Error::Schema { path: self.dir.clone(), message: format!("there is no stream {stream}") })
    }

    fn ring(&mut self, stream: usize, ring: u32) -> &mut Ring {
        let name = &self.metadata.schema.streams[stream].name;
        let path = || self.dir.join(file_name(name, ring));
        self.rings.entry((stream, ring)).or_insert_with(|| Ring::new(path()))
    }

    /// Closes files to stay below [`OPEN_MAX`].
    fn close_some(&mut self) {
        if self.rings.len() > OPEN_MAX && self.rings.values().filter(|ring| ring.file.is_some()).count() >= OPEN_MAX {
            self.rings.values_mut().for_each(|ring| ring.file = None);
        }
    }
}

impl Ring {
    fn new(path: PathBuf) -> Ring {
        Ring { path, file: None, whole: 0, torn: false, last: None, noted: None }
    }

    fn check_order(&self, packet: &Packet<'_>) -> Result<(), Error> {
        let (end, discarded) = self.last.map_or((0, 0), |last| (last.end, last.discarded));
        let why = if packet.begin < end || packet.end < packet.begin {
            format!("it goes from {} to {}, and the one before it ends at {end}", packet.begin, packet.end)
        } else if packet.discarded < discarded {
            format!("{} records are lost, and {discarded} were before", packet.discarded)
        } else {
            return Ok(());
        };
        let unsound = super::Unsound { sound: 0, why };
        Err(Error::Unsound { path: self.path.clone(), unsound })
    }

    /// Appends all slices, or nothing.
    fn write(&mut self, slices: &mut [IoSlice<'_>]) -> Result<(), Error> {
        let len: usize = slices.iter().map(|slice| slice.len()).sum();
        if self.file.is_none() {
            let opened = private().append(true).create(true).open(&self.path);
            self.file = Some(opened.map_err(Error::io("open", &self.path))?);
        }
        let mut file = self.file.as_ref().expect("it was opened above");
        let done = if self.torn { file.set_len(self.whole) } else { Ok(()) };
        match done.and_then(|()| write_all(&mut file, slices)) {
            Ok(()) => {
                self.whole += len as u64;
                self.torn = false;
                Ok(())
            }
            Err(error) => {
                self.torn = file.set_len(self.whole).is_err();
                Err(Error::io("write", &self.path)(error))
            }
        }
    }
}

/// Usually one writev; the kernel may write less.
fn write_all(file: &mut &File, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    // Remove empty slices at the front: a write of zero bytes would look like an error.
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match file.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns a uuid of version 4.
fn random_uuid() -> io::Result<[u8; 16]> {
    let mut uuid = [0; 16];
    let filled = getrandom(&mut uuid, GetRandomFlags::empty())?;
    // Up to 256 bytes, getrandom is not interrupted.
    assert_eq!(filled, uuid.len());
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    Ok(uuid)
}
