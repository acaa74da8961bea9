//! Writes a trace: whole packets, each by one system call. Reads no clock; who calls it says when.

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

/// Most files that a writer keeps open: a trace with a ring per thread may have more than a process may have descriptors.
const OPEN_MAX: usize = 256;

/// Records of one ring, to be written together.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// The place of the stream in the schema.
    pub stream: usize,
    /// Which ring of the stream.
    pub ring: u32,
    /// The CPU that the records are of.
    pub cpu: u32,
    /// Time of the first record; ticks. Not before the end of the ring's last packet.
    pub begin: u64,
    /// Time of the last record; ticks.
    pub end: u64,
    /// Records of the ring that were lost since it began.
    pub discarded: u64,
    /// Where in the ring the records end, bytes since it began; [`super::positions`] gives it back.
    pub position: u64,
    /// The records, one behind the other; they may be cut anywhere between and within them.
    pub parts: &'a [&'a [u8]],
}

/// A trace that is being written. Dropped without [`Writer::close`] it is a sound trace too, without the loss of rings that
/// wrote nothing more.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    metadata: Metadata,
    shapes: Vec<Shapes>,
    /// By stream and ring.
    rings: BTreeMap<(usize, u32), Ring>,
}

/// The file of a ring.
#[derive(Debug)]
struct Ring {
    path: PathBuf,
    /// Only while it is needed, see [`OPEN_MAX`].
    file: Option<File>,
    /// Bytes of whole packets.
    whole: u64,
    /// Whether there may be bytes behind them, because a write failed.
    torn: bool,
    last: Option<Head>,
    /// Loss that no packet has said yet.
    noted: Option<Noted>,
}

#[derive(Debug, Clone, Copy)]
struct Noted {
    cpu: u32,
    discarded: u64,
    time: u64,
}

impl Writer {
    /// A new trace in a directory that does not exist or is empty. It is for this process's user alone: what is recorded
    /// tells of addresses, names and data of others.
    ///
    /// Errors: `NotEmpty`; `Unfit` for a schema that CTF cannot say; what the file system reports.
    pub fn create(dir: &Path, schema: &Schema) -> Result<Writer, Error> {
        schema.check()?;
        make_private_directory(dir).map_err(Error::io("create the directory", dir))?;
        files::remove_unborn(dir);
        if fs::read_dir(dir).map_err(Error::io("list", dir))?.next().is_some() {
            return Err(Error::NotEmpty { path: dir.to_owned() });
        }
        let uuid = random_uuid().map_err(Error::io("get a random identity for", dir))?;
        let metadata = Metadata { uuid, schema: schema.clone() };
        files::write_metadata(dir, &metadata)?;
        Ok(Writer::with(dir, metadata))
    }

    /// Goes on with a trace, whoever wrote it and however that ended; repairs it first.
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

    /// What the trace's records are, new kinds included.
    pub fn schema(&self) -> &Schema {
        &self.metadata.schema
    }

    /// Time of the last record of a ring so far, ticks; 0 without one.
    pub fn last_time(&self, stream: usize, ring: u32) -> u64 {
        self.rings.get(&(stream, ring)).and_then(|ring| ring.last).map_or(0, |last| last.end)
    }

    /// Makes a kind of event known; before the first packet with one. One that is known already changes nothing.
    ///
    /// Errors: `Unfit`; `Schema` if the stream does not exist, or the id is that of another kind; what the file system
    /// reports, and then the kind is not known.
    pub fn add_event(&mut self, stream: usize, kind: EventKind) -> Result<(), Error> {
        kind.check()?;
        self.check_stream(stream)?;
        let events = &mut self.metadata.schema.streams[stream].events;
        if let Some(known) = events.iter().find(|known| known.id == kind.id) {
            if *known == kind {
                return Ok(());
            }
            let message = format!("the id {} of {} is that of {}", kind.id, kind.name, known.name);
            return Err(Error::Schema { path: self.dir.clone(), message });
        }
        events.push(kind);
        if let Err(error) = files::write_metadata(&self.dir, &self.metadata) {
            self.metadata.schema.streams[stream].events.pop();
            return Err(error);
        }
        let events = &self.metadata.schema.streams[stream].events;
        self.shapes[stream].add(events.len() - 1, events.last().expect("it was just pushed"));
        Ok(())
    }

    /// Writes a packet; one without records says what was lost. Returns the bytes that the file has grown by.
    ///
    /// Errors: `Unsound` for records that would spoil the trace, or times or losses that go back; `Schema` for an unknown
    /// stream; what the file system reports, a full disk among it. None of them leaves a part of the packet, and the next
    /// call may succeed.
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
        // Loss is said as a difference, so that the first packet can have none.
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

    /// Says that a ring has lost so many records since it began, as of now. The next packet says it too; if none comes,
    /// [`Writer::close`] writes it down.
    ///
    /// Errors: `Schema` for an unknown stream.
    pub fn note_loss(&mut self, stream: usize, ring: u32, cpu: u32, discarded: u64, time: u64) -> Result<(), Error> {
        self.check_stream(stream)?;
        self.ring(stream, ring).noted = Some(Noted { cpu, discarded, time });
        Ok(())
    }

    /// Ends the trace: rings that have lost something since their last packet get one that says so. Does not wait for the
    /// disk.
    ///
    /// Errors: as those of [`Writer::packet`]; the first, after all rings were tried.
    pub fn close(mut self) -> Result<(), Error> {
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

    /// Waits until everything is on the disk.
    ///
    /// Errors: what the file system reports.
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

    /// Keeps below [`OPEN_MAX`].
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

    /// Appends everything, or nothing.
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

/// One writev as a rule; the kernel may take less.
fn write_all(file: &mut &File, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    // Empty ones at the front would make a write of nothing.
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

/// A uuid of version 4.
fn random_uuid() -> io::Result<[u8; 16]> {
    let mut uuid = [0; 16];
    let filled = getrandom(&mut uuid, GetRandomFlags::empty())?;
    // Up to 256 bytes the kernel gives all or none.
    assert_eq!(filled, uuid.len());
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    Ok(uuid)
}
