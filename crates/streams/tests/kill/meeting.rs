//! How the processes of a case get their ends: of a pipe that was made beforehand, or of a FIFO that each opens by its
//! name while other processes open, use and leave it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use headwater_streams::{Access, ControlMode, Errno, Fifo, FifoOptions, Options, ReadOptions, Result, Stream};
use tempfile::TempDir;

use crate::board::FILLER;
use crate::case::{Case, Part};
use crate::script;

/// Much longer than any periodic check.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Meeting {
    fifo: Option<Node>,
    /// The victim's end, or one that its fellow uses; and the survivor's. For a FIFO they are open already if there is
    /// a fellow, which may otherwise have come and gone before the others meet.
    near: Option<Stream>,
    far: std::sync::Mutex<Option<Stream>>,
    fellow: bool,
}

/// A FIFO's node, and how it is opened.
#[derive(Debug)]
struct Node {
    directory: TempDir,
    path: PathBuf,
    options: Options,
    victim: Access,
    survivor: Access,
    /// The survivor has met a peer.
    met: AtomicBool,
}

impl Node {
    fn new(case: &Case) -> Node {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("fifo");
        Fifo::create(&path, 0o600).expect("mkfifo");
        let (victim, survivor) =
            if case.part == Part::Reads { (Access::Read, Access::Write) } else { (Access::Write, Access::Read) };
        Node { directory, path, options: case.options(), victim, survivor, met: AtomicBool::new(false) }
    }

    fn open(&self, access: Access, nonblocking: bool) -> Result<Stream> {
        FifoOptions::new().nonblocking(nonblocking).stream(self.options).open(&self.path, access).map(prepared)
    }

    /// Opened without waiting, for a process that waits from then on.
    fn open_at_once(&self, access: Access) -> Result<Stream> {
        let stream = self.open(access, true)?;
        stream.set_nonblocking(false)?;
        Ok(stream)
    }
}

/// Reads take all parts.
fn prepared(stream: Stream) -> Stream {
    let options = ReadOptions::new().control(ControlMode::AsData);
    stream.settings().set_read_options(options).expect("no error");
    stream
}

impl Meeting {
    pub fn of(case: &Case) -> Meeting {
        let fellow = case.fellow;
        if case.fifo {
            let node = Node::new(case);
            let (mut near, mut far) = (None, None);
            if fellow {
                // A reader comes first: a writer without one would have to wait.
                for access in [Access::Read, Access::Write] {
                    let stream = node.open_at_once(access).expect("opened");
                    *(if access == node.victim { &mut near } else { &mut far }) = Some(stream);
                }
            }
            return Meeting { fifo: Some(node), near, far: far.into(), fellow };
        }
        let (near, far) = case.options().pipe().expect("pipe");
        let (mut near, mut far) = (prepared(near), prepared(far));
        for (stream, module) in [(&mut near, case.modules[0]), (&mut far, case.modules[1])] {
            module.into_iter().for_each(|name| stream.push(name).expect("known"));
        }
        Meeting { fifo: None, near: Some(near), far: Some(far).into(), fellow }
    }

    /// In the victim, before it may be killed: closes the ends of the other processes.
    pub fn leave_to_victim(&mut self) {
        drop(self.far.get_mut().expect("one thread").take());
        if self.fifo.is_some() {
            drop(self.near.take());
        }
    }

    /// The victim's end.
    pub fn victim(&mut self) -> Result<Stream> {
        match &self.fifo {
            // A process that shares its end may come when the others have left.
            Some(node) if self.fellow && node.victim == Access::Read => node.open_at_once(node.victim),
            Some(node) => node.open(node.victim, false),
            None => Ok(self.near.take().expect("there")),
        }
    }

    /// The end of the victim's fellow, if it has one. After the fork.
    pub fn fellow(&mut self) -> Option<Stream> {
        self.near.take().filter(|_| self.fellow)
    }

    /// The survivor's end. It waits for the victim.
    pub fn survivor(&self) -> Result<Stream> {
        if let Some(far) = self.far.lock().expect("nobody panics").take() {
            return Ok(far);
        }
        let node = self.fifo.as_ref().expect("a pipe's is there");
        let stream = node.open(node.survivor, false)?;
        node.met.store(true, Ordering::Release);
        Ok(stream)
    }

    /// No other process comes any more: the survivor that still waits for a peer meets one here, for a moment.
    pub fn victim_has_ended(&self) {
        let Some(node) = self.fifo.as_ref().filter(|_| !self.fellow) else { return };
        while !node.met.load(Ordering::Acquire) {
            match node.open(node.victim, true) {
                // A writer is let in only if the reader waits, for which a short visit is enough.
                Ok(stream) if node.victim == Access::Write => {
                    drop(stream);
                    let start = Instant::now();
                    while !node.met.load(Ordering::Acquire) {
                        assert!(start.elapsed() < PATIENCE, "a reader waits for one who came and went");
                        std::thread::sleep(Duration::from_micros(50));
                    }
                }
                Ok(_) => {}
                Err(error) => assert_eq!(error.errno(), Errno::Nxio, "{error}"),
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Every holder of the other end is gone, or will be at once: writes fail, and reads find the end. Processes that
    /// open a FIFO next can use it normally, with the survivor and without.
    pub fn is_over(&self, mut far: Stream) {
        let mut buffer = [0; 4096];
        let node = self.fifo.as_ref();
        if node.is_none_or(|node| node.survivor == Access::Read) {
            while far.read(&mut buffer).expect("no error") > 0 {}
        }
        if node.is_none_or(|node| node.survivor == Access::Write) {
            let failed = (0..1_000_000).find_map(|_| far.write(&FILLER).err()).expect("nobody reads it");
            assert!(script::is_gone(&failed), "{failed}");
        }
        let Some(node) = node else { return };
        let mut next = node.open(node.victim, true).expect("the survivor is there");
        let (reader, writer) = if node.victim == Access::Read { (&mut next, &mut far) } else { (&mut far, &mut next) };
        reader.set_nonblocking(true).expect("no error");
        // Unread messages wait for the next reader.
        while reader.read(&mut buffer).is_ok() {}
        writer.write(b"next").expect("somebody reads");
        assert_eq!(reader.read(&mut buffer).expect("there"), 4);
        writer.write(b"last").expect("somebody reads");
    }

    /// All processes are gone: a process that opens the FIFO now finds no trace of them, and the file system has only
    /// its node.
    pub fn leaves_nothing(&self) {
        let Some(node) = &self.fifo else { return };
        let reader = node.open(Access::Read, true).expect("opens at once");
        let writer = node.open(Access::Write, true).expect("somebody reads");
        assert_eq!(reader.read(&mut [0; 8]).expect_err("what was unread is gone").errno(), Errno::Again);
        writer.write(b"fresh").expect("room");
        assert_eq!(reader.read(&mut [0; 8]).expect("there"), 5);
        let names: Vec<_> = std::fs::read_dir(node.directory.path()).expect("a directory").collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }
}
