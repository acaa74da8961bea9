//! The files of a trace's directory, and the packets of a file in their order. Reads only whole packets.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use headwater_os::files::private;
use headwater_os::plain_file;

use super::packet::{HEAD, Head};
use super::{Error, Metadata};
use crate::schema::Schema;

const METADATA: &str = "metadata";

/// The most bytes of a trace's metadata. Those of 8192 event types with 30 fields each have 30 MB.
const METADATA_MAX: u64 = 256 << 20;

/// Reads the metadata of a trace.
pub(super) fn read_metadata(dir: &Path) -> Result<Metadata, Error> {
    let path = dir.join(METADATA);
    let text = match plain_file::read(&path, METADATA_MAX) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound && dir.is_dir() => {
            return Err(Error::NoTrace { path: dir.to_owned(), message: "there is no trace here".into() });
        }
        Err(error) => return Err(Error::io("read", &path)(error)),
    };
    Metadata::parse(&text).map_err(|(line, message)| Error::Metadata { path, line, message })
}

/// Replaces the metadata atomically.
pub(super) fn write_metadata(dir: &Path, metadata: &Metadata) -> Result<(), Error> {
    // Other readers take every file for packets unless its name begins with a dot.
    let new = dir.join(".metadata.new");
    let path = dir.join(METADATA);
    let file = private().write(true).create(true).truncate(true).open(&new);
    let written = file.and_then(|mut file| file.write_all(metadata.to_text().as_bytes()));
    let written = written.map_err(Error::io("write", &new));
    let renamed = written.and_then(|()| fs::rename(&new, &path).map_err(Error::io("replace", &path)));
    if renamed.is_err() {
        // Ignored: the file is not part of the trace, and the original error is returned.
        let _ = fs::remove_file(&new);
    }
    renamed
}

/// Removes the incomplete first metadata of a writer that was killed.
pub(super) fn remove_incomplete_metadata(dir: &Path) {
    if !dir.join(METADATA).exists() {
        let _ = fs::remove_file(dir.join(".metadata.new"));
    }
}

/// A file of packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamFile {
    pub path: PathBuf,
    /// The index of its stream in the schema.
    pub stream: usize,
    pub ring: u32,
}

/// Returns the name of a ring's file.
pub(super) fn file_name(stream: &str, ring: u32) -> String {
    format!("{stream}-{ring}")
}

/// Returns the files of a trace by stream and ring.
///
/// Errors: `NoTrace` for a file that does not belong to the trace; errors of the file system.
pub(super) fn stream_files(dir: &Path, schema: &Schema) -> Result<Vec<StreamFile>, Error> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(Error::io("list", dir))? {
        let path = entry.map_err(Error::io("list", dir))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == METADATA || name.starts_with('.') || path.is_dir() {
            continue;
        }
        let Some((stream, ring)) = parts_of(&name, schema) else {
            let message =
                format!("{name} does not belong to the trace: move it away, others cannot read the trace either");
            return Err(Error::NoTrace { path: dir.to_owned(), message });
        };
        files.push(StreamFile { path, stream, ring });
    }
    files.sort_by_key(|file| (file.stream, file.ring));
    Ok(files)
}

fn parts_of(name: &str, schema: &Schema) -> Option<(usize, u32)> {
    let (stream, ring) = name.rsplit_once('-')?;
    let place = schema.streams.iter().position(|kind| kind.name == stream)?;
    let ring = ring.parse().ok()?;
    (file_name(stream, ring) == name).then_some((place, ring))
}

/// Returns the trace in a directory, or the traces in its subdirectories.
pub(super) fn traces_in(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if path.join(METADATA).exists() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(Error::io("list", path))? {
        let inner = entry.map_err(Error::io("list", path))?.path();
        if inner.join(METADATA).exists() {
            found.push(inner);
        }
    }
    found.sort();
    if found.is_empty() {
        let message =
            "there is no trace here, nor in the directories in it (a trace is a directory with the file metadata)";
        return Err(Error::NoTrace { path: path.to_owned(), message: message.into() });
    }
    Ok(found)
}

/// A part of a file in memory, which is replaced when another part is needed. It holds no file descriptor, because a
/// trace of many threads has many files.
#[derive(Debug)]
pub(super) struct Window {
    pub path: PathBuf,
    /// Length of the file when it was opened, or when [`Window::look_again`] was called.
    pub len: u64,
    from: u64,
    bytes: Vec<u8>,
    chunk: usize,
}

impl Window {
    /// Opens a file, of which at least `chunk` bytes are read at a time.
    pub fn open(path: &Path, chunk: usize) -> Result<Window, Error> {
        let len = plain_file::open(path).and_then(|file| file.metadata()).map_err(Error::io("read", path))?.len();
        Ok(Window { path: path.to_owned(), len, from: 0, bytes: Vec::new(), chunk })
    }

    /// Takes notice of what was added to the file. What is in memory may be of an incomplete packet, and is read again.
    pub fn look_again(&mut self) {
        // A file that was removed has nothing new.
        self.len = fs::metadata(&self.path).map_or(self.len, |file| file.len().max(self.len));
        self.bytes.clear();
    }

    /// Returns at least `least` bytes from offset `at` on.
    ///
    /// Errors: errors of the file system; `UnexpectedEof` if the file is shorter.
    pub fn at(&mut self, at: u64, least: usize) -> Result<&[u8], Error> {
        if self.held(at).len() < least {
            self.refill(at, least)?;
        }
        Ok(self.held(at))
    }

    /// Returns the bytes in memory from offset `at` on.
    pub fn held(&self, at: u64) -> &[u8] {
        let skip = at.checked_sub(self.from).and_then(|skip| usize::try_from(skip).ok());
        skip.and_then(|skip| self.bytes.get(skip..)).unwrap_or_default()
    }

    #[cold]
    fn refill(&mut self, at: u64, least: usize) -> Result<(), Error> {
        let left = usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX);
        let size = least.max(self.chunk.min(left));
        self.bytes.resize(size, 0);
        self.from = at;
        let read = plain_file::open(&self.path).and_then(|file| file.read_exact_at(&mut self.bytes, at));
        if read.is_err() {
            self.bytes.clear();
        }
        read.map_err(Error::io("read", &self.path))
    }
}

/// The packets of a file, in order.
#[derive(Debug)]
pub(super) struct Packets {
    pub window: Window,
    uuid: [u8; 16],
    stream: usize,
    ring: u32,
    /// Offset of the next packet. All bytes before it are whole packets.
    pub next: u64,
    /// The head of the previous packet.
    pub last: Option<Head>,
}

impl Packets {
    /// Opens the packets of a file of a trace.
    pub fn open(file: &StreamFile, uuid: [u8; 16], chunk: usize) -> Result<Packets, Error> {
        let window = Window::open(&file.path, chunk)?;
        Ok(Packets { window, uuid, stream: file.stream, ring: file.ring, next: 0, last: None })
    }

    /// Returns the bytes after the whole packets found so far; at the end, those of an incomplete packet.
    pub fn rest(&self) -> u64 {
        self.window.len - self.next
    }

    /// Returns the next packet's offset and head, or `None` at the end of the file, even if it is within a packet.
    ///
    /// Errors: `Damaged` for data that no writer writes; errors of the file system.
    pub fn next(&mut self) -> Result<Option<(u64, Head)>, Error> {
        let at = self.next;
        if self.rest() < HEAD as u64 {
            return Ok(None);
        }
        let bytes = self.window.at(at, HEAD)?.first_chunk().expect("at least a head was asked for");
        let head = Head::read(bytes).and_then(|head| self.follows(head));
        let head = head.map_err(|message| self.damaged(at, message))?;
        if head.size > self.rest() {
            return Ok(None);
        }
        self.next = at + head.size;
        self.last = Some(head);
        Ok(Some((at, head)))
    }

    /// Makes an error for a position in this file.
    pub fn damaged(&self, at: u64, message: impl Into<String>) -> Error {
        Error::Damaged { path: self.window.path.clone(), at, message: message.into() }
    }

    /// Checks that this packet may follow the previous one.
    fn follows(&self, head: Head) -> Result<Head, &'static str> {
        let number = self.last.map_or(0, |last| last.number + 1);
        if head.uuid != self.uuid {
            return Err("the packet is of another trace");
        }
        if u64::from(head.stream) != self.stream as u64 || head.ring != self.ring {
            return Err("the packet is of another ring than the file's name says");
        }
        if head.number != number {
            return Err("the packet's number does not follow the one before it");
        }
        if self.last.is_some_and(|last| head.begin < last.end) {
            return Err("the packet begins before the one before it ends");
        }
        if self.last.is_some_and(|last| head.discarded < last.discarded) {
            return Err("the packet has lost fewer records than the one before it");
        }
        Ok(head)
    }
}
