//! A hostile process that has the same FIFO open: it corrupts the pipe, the memory and the node's locks, poses as a
//! broker, and sends arbitrary files. The calls of this process return in time, also its opens, and when the hostile
//! process is gone the FIFO works as a new one.

use std::cell::RefCell;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use headwater_os::abstract_socket::{self, Listener};
use headwater_os::child::Child;
use headwater_os::descriptors::{self, Found};
use headwater_os::files::OFlags;
use headwater_os::ofd_lock::{self, Right};
use headwater_streams::{Access, FifoOptions, Options, Policy, Stream};

use crate::common::{self, Random, extent, fifo, in_own_process, setting};
use crate::peer::{self, Peer};
use crate::rage::{Deeds, rage};
use crate::{Done, PATIENCE};

/// No call and no open that does not wait lasts longer.
const CALL_MAX: Duration = Duration::from_secs(5);

/// An open may wait some time for the answers of processes that have the FIFO open. This many fill a case.
const REFUSED_MAX: u64 = 3;

/// As in `fifo/broker.rs` and `fifo/marks.rs`.
const CLAIMS: [u64; 2] = [1 << 40, 2 << 40];
const MARKS: u64 = 1 << 60;

#[test]
fn abused_descriptors_of_fifos_make_errors_and_nothing_worse() {
    in_own_process!();
    let until = Instant::now() + Duration::from_secs(extent("HEADWATER_SECONDS", 1));
    let first = setting("HEADWATER_SEED", 1);
    let (mut seed, mut calls, mut errors, mut broken, mut refused) = (first, 0, 0, 0, 0);
    let mut longest = Duration::ZERO;
    let before = common::open_things();
    while Instant::now() < until {
        common::within(PATIENCE, format!("abusing a FIFO with seed {seed}"));
        let found = std::panic::catch_unwind(|| case(seed)).unwrap_or_else(|_| panic!("failed with seed {seed}"));
        calls += found.done.calls;
        errors += found.done.errors;
        broken += u64::from(found.done.broken);
        refused += found.refused;
        longest = longest.max(found.longest);
        seed += 1;
    }
    common::calm();
    common::expect_nothing_left(before);
    println!(
        "seeds {first} to {}: {calls} calls, {errors} errors, {broken} FIFOs found broken, {refused} opens refused, longest \
         call {longest:.1?}",
        seed - 1
    );
    // Otherwise the fuzzer has hit nothing. One FIFO of twenty is, about.
    assert!((broken > 0 || seed - first < 40) && calls > errors);
}

#[derive(Debug, Default)]
struct Shown {
    done: Done,
    refused: u64,
    longest: Duration,
}

impl Shown {
    /// Runs a call that must not last long.
    fn timed<T>(&mut self, header: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = header();
        let elapsed = start.elapsed();
        self.longest = self.longest.max(elapsed);
        assert!(elapsed < CALL_MAX, "it lasted {elapsed:?}");
        done
    }
}

fn case(seed: u64) -> Shown {
    let mut random = Random(seed ^ 0xf1f0 << 32);
    let (_directory, path) = fifo();
    // With permissions for other users there are brokers.
    let mode = random.one_of(&[0o600, 0o666, 0o622]);
    std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("chmod");
    let policy = random.one_of(&[Policy::DEFAULT, Policy::DEFAULT, Policy::EAGER]);
    let hiwat = random.one_of(&[100, 5000, 65536]);
    let options = Options::new().hiwat(hiwat).lowat(hiwat / 2).policy(policy);
    let open = |access| FifoOptions::new().nonblocking(true).stream(options).open(&path, access);
    let ways = random.one_of(&[[Access::Read, Access::Write], [Access::Write, Access::Read]]);
    let reader = open(Access::Read).expect("it is ours");
    let writer = open(Access::Write).expect("it is ours");
    let (own, theirs) = if ways[0] == Access::Read { (reader, writer) } else { (writer, reader) };
    let theirs = RefCell::new(Some(theirs));
    let victim = own.as_fd().as_raw_fd();
    let mut hostile = Child::fork(|| {
        std::panic::set_hook(Box::new(|_| {}));
        let mut end = theirs.borrow_mut();
        Rival::new(seed, &path, end.as_mut().expect("open"), victim, options).rage()
    })
    .expect("fork");
    // Sometimes only the hostile process has that end.
    if random.one_in(2) {
        theirs.take();
    }
    let mut found = Shown::default();
    let (mut own, mut refused) = (Some(own), 0);
    let steps = random.one_of(&[20, 80, 200]);
    for step in 0..steps {
        if random.one_in(40) {
            // SAFETY: it is our own child, and not reaped.
            unsafe { libc::kill(hostile.id() as i32, libc::SIGSTOP) };
        } else if random.one_in(10) {
            // SAFETY: as above.
            unsafe { libc::kill(hostile.id() as i32, libc::SIGCONT) };
        }
        if step * 10 / steps == 9 {
            hostile.kill();
        }
        if refused < REFUSED_MAX && (random.one_in(20) || own.is_none()) {
            if random.one_in(2) {
                own = None;
            }
            match found.timed(|| open(ways[0])) {
                Ok(stream) => own = Some(stream),
                Err(_) => refused += 1,
            }
        }
        let Some(end) = &mut own else {
            if refused == REFUSED_MAX {
                break;
            }
            continue;
        };
        let done = found.timed(|| peer::call(end, &mut random, false));
        found.done.note(done);
        if random.one_in(4) {
            std::thread::sleep(Duration::from_micros(random.next() % 200));
        }
    }
    hostile.kill();
    hostile.wait().expect("wait");
    found.refused = refused;
    drop((own, theirs));
    let [reader, writer] = [Access::Read, Access::Write].map(|access| found.timed(|| open(access)).expect("as new"));
    writer.write(b"x").expect("room");
    assert_eq!(reader.read(&mut [0; 8]).expect("there"), 1);
    found
}

/// The actions of the hostile process; a case has some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    /// Bells, and fillings.
    Ring,
    Fill,
    /// Bytes of another program.
    Foreign,
    /// Takes bytes out of the pipe that are not its own.
    Steal,
    Resize,
    Flags,
    /// Calls of the library.
    Call,
    Scribble,
    Memory,
    /// Opens and closes the FIFO.
    Open,
    /// Opens and closes the node, as the kernel's FIFO, writes and reads there.
    Node,
    /// Marks that name anything, and locks of all kinds.
    Mark,
    Lock,
    Claim,
    /// Poses as a broker, and sends arbitrary files.
    Keep,
    /// Asks brokers and does not take their answers.
    Ask,
}

const MILD: [Deed; 14] = [
    Deed::Ring,
    Deed::Fill,
    Deed::Steal,
    Deed::Resize,
    Deed::Flags,
    Deed::Call,
    Deed::Call,
    Deed::Memory,
    Deed::Open,
    Deed::Node,
    Deed::Mark,
    Deed::Claim,
    Deed::Keep,
    Deed::Ask,
];
const HARSH: [Deed; 3] = [Deed::Foreign, Deed::Scribble, Deed::Lock];

struct Rival<'s> {
    random: Random,
    path: PathBuf,
    peer: Peer<'s>,
    options: Options,
    /// The pipe, for reading and writing.
    pipe: File,
    node: File,
    listeners: Vec<Listener>,
    sockets: Vec<OwnedFd>,
    handles: Vec<Stream>,
}

impl<'s> Rival<'s> {
    fn new(seed: u64, path: &Path, end: &'s mut Stream, victim: RawFd, options: Options) -> Rival<'s> {
        let pipe = Found::own(end.as_fd()).open(OFlags::RDWR | OFlags::NONBLOCK).expect("all may open it");
        let memory = crate::memory_of_stream();
        let peer = Peer { random: Random(seed), end, theirs: Some(victim), memory, options, modules: false };
        Rival {
            random: Random(seed ^ 0xbad),
            path: path.to_owned(),
            peer,
            options,
            pipe: pipe.into(),
            node: open_node(path),
            listeners: Vec::new(),
            sockets: Vec::new(),
            handles: Vec::new(),
        }
    }

    /// Until it is killed.
    fn rage(&mut self) -> ! {
        let deeds = Deeds {
            mild: &MILD,
            harsh: &HARSH,
            often: 50,
            random: |rival: &mut Self| &mut rival.random,
            commit: |rival, deed| rival.commit(deed),
            after: |rival| rival.serve(),
        };
        rage(self, deeds)
    }

    fn commit(&mut self, deed: Deed) {
        let pipe = self.pipe.as_raw_fd();
        match deed {
            Deed::Ring => drop(self.pipe.write(b"\n")),
            Deed::Fill => drop(self.pipe.write(&vec![b'\n'; self.random.one_of(&[100, 4096, 16 << 10, 70_000])])),
            Deed::Foreign => drop(self.pipe.write(&self.random.next().to_le_bytes())),
            Deed::Steal => drop(self.pipe.read(&mut vec![0; self.random.one_of(&[1, 100, 70_000])])),
            Deed::Resize => {
                let bytes = self.random.one_of(&[1, 4096, 8192, 16 << 10, 32 << 10, 1 << 20]);
                // SAFETY: touches no memory.
                unsafe { libc::fcntl(pipe, libc::F_SETPIPE_SZ, bytes) };
            }
            Deed::Flags => {
                let theirs = self.peer.theirs.expect("the victim's");
                let flags = self.random.one_of(&[0, libc::O_NONBLOCK, libc::O_DIRECT | libc::O_NONBLOCK]);
                // SAFETY: touches no memory. The victim's open file alone is made to wait.
                unsafe { libc::fcntl(self.random.one_of(&[pipe, theirs]), libc::F_SETFL, flags | libc::O_NONBLOCK) };
            }
            Deed::Call => drop(peer::call(self.peer.end, &mut self.random, false)),
            Deed::Scribble => self.peer.scribble(),
            Deed::Memory => self.peer.spoil_memory(),
            Deed::Open => {
                let access = self.random.one_of(&[Access::Read, Access::Write]);
                self.handles
                    .extend(FifoOptions::new().nonblocking(true).stream(self.options).open(&self.path, access).ok());
                if self.handles.len() > 4 {
                    self.handles.swap_remove(self.random.below(4));
                }
            }
            Deed::Node => {
                let mut node = open_node(&self.path);
                let _ = node.write(&[7; 100][..self.random.below(100)]);
                let _ = node.read(&mut [0; 50]);
                if self.random.one_in(4) {
                    self.node = node;
                }
            }
            Deed::Mark => {
                let pids = [std::process::id(), 1, std::os::unix::process::parent_id(), self.random.next() as u32];
                let inode = self.peer.memory.metadata().map_or(0, |memory| memory.ino());
                let tag = self.random.one_of(&[inode, inode ^ 1, self.random.clone().next()]) & 0x3fff;
                let number = self.random.one_of(&[0, 3, 4, 5, 6, 7, 8, pipe as u64, (1 << 20) - 1]);
                let pid = u64::from(self.random.one_of(&pids)) & ((1 << 22) - 1);
                let _ = ofd_lock::mark(
                    &self.node,
                    MARKS + (tag << 46 | pid << 24 | number << 4),
                    self.random.one_of(&[1, 1, 7]),
                );
            }
            Deed::Lock => {
                let kind = self.random.one_of(&[libc::F_RDLCK, libc::F_WRLCK, libc::F_UNLCK]);
                let mut all = libc::flock {
                    l_type: kind as i16,
                    l_whence: 0,
                    l_start: self.random.one_of(&[0, 1 << 60]),
                    l_len: 0,
                    l_pid: 0,
                };
                // SAFETY: reads a valid flock; the other call takes numbers.
                unsafe {
                    libc::fcntl(self.node.as_raw_fd(), libc::F_OFD_SETLK, &mut all);
                    libc::flock(
                        self.node.as_raw_fd(),
                        libc::LOCK_NB | self.random.one_of(&[libc::LOCK_EX, libc::LOCK_UN]),
                    );
                }
            }
            Deed::Claim => {
                let pid = self.random.one_of(&[std::process::id(), std::os::unix::process::parent_id()]);
                let at = self.random.one_of(&CLAIMS) + u64::from(pid);
                let _ = ofd_lock::claim(&self.node, self.random.one_of(&[Right::Read, Right::Write]), at);
            }
            Deed::Keep => {
                let node = std::fs::metadata(&self.path).expect("stat");
                let pid = self.random.one_of(&[std::process::id(), std::os::unix::process::parent_id()]);
                let number = self.random.below(100);
                let name = format!("headwater-fifo-{}-{}-{pid}-{number}", node.dev(), node.ino());
                self.listeners.extend(Listener::bind(&name).ok());
                if self.listeners.len() > 8 {
                    self.listeners.swap_remove(self.random.below(8));
                }
            }
            Deed::Ask => {
                let node = std::fs::metadata(&self.path).expect("stat");
                let names = abstract_socket::names(&format!("headwater-fifo-{}-{}-", node.dev(), node.ino()))
                    .unwrap_or_default();
                for name in names.iter().take(4) {
                    self.sockets
                        .extend(abstract_socket::connect(name, Duration::from_millis(1)).ok().map(OwnedFd::from));
                }
                if self.sockets.len() > 8 {
                    self.sockets.drain(..4);
                }
            }
        }
    }

    /// As a broker: to every process that has connected.
    fn serve(&mut self) {
        for listener in &self.listeners {
            let Ok(Some(socket)) = listener.accept() else { continue };
            let own = u64::from(std::process::id());
            if self.random.one_in(2) {
                let _ = ofd_lock::claim(&self.node, Right::Read, CLAIMS[0] + own);
                let _ = ofd_lock::claim(&self.node, Right::Write, CLAIMS[1] + own);
            }
            let all =
                [self.peer.memory.as_fd(), self.pipe.as_fd(), self.node.as_fd(), socket.as_fd(), self.peer.end.as_fd()];
            let mut files: Vec<BorrowedFd<'_>> = vec![all[0], all[1]];
            for _ in 0..self.random.below(4) {
                files[self.random.below(2)] = self.random.one_of(&all);
            }
            files.extend((0..self.random.one_of(&[0, 0, 1, 6])).map(|at| all[at % all.len()]));
            let _ = descriptors::send(socket.as_fd(), &files);
            if self.random.one_in(3) {
                self.sockets.push(socket.into());
            }
        }
    }
}

fn open_node(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path).expect("it is ours")
}
