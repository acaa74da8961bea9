//! The process that uses its streams while a member writes into their memory: it has streams of each kind, and makes every call. It
//! keeps some files open that are no streams, which no call may use.

use std::fs::File;
use std::io::{IoSliceMut, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use headwater_streams::attach::{AttachedOptions, detach, is_attached};
use headwater_streams::autopush::{self, Autopush, Minors};
use headwater_streams::drivers::log::{ERRLOG, LogFlags, TRCLOG, TraceId};
use headwater_streams::tpi::{InternetAddress, Primitive};
use headwater_streams::{
    Access, DeviceOptions, Events, FifoOptions, IoctlTimeout, LogSubmitter, MemoryAt, Message, MuxId, Options, Policy,
    Result, SignalEvents, Stream, inspect,
};
use headwater_terminals::pty;

use super::board::{Board, Cell};
use super::places::Places;
use crate::common::Random;
use crate::{CALLS, Stop, call_by_number, interrupt};

/// The largest allowed memory of the process, in pages.
const PAGES_MAX: u64 = 60_000;

/// What a victim has.
pub struct Victim<'p> {
    random: Random,
    places: &'p Places,
    ends: Vec<Stream>,
    submitter: Option<LogSubmitter>,
    kept: Kept,
}

/// Files that are no streams: the library closes none of them, and neither reads nor writes them.
struct Kept {
    file: File,
    sockets: [UnixStream; 2],
    inodes: [u64; 3],
}

impl Kept {
    fn new() -> Kept {
        let file = File::open("/proc/self/exe").expect("a file");
        let sockets: [UnixStream; 2] = UnixStream::pair().expect("sockets").into();
        sockets[0].write_all_to_other(b"kept");
        let inodes = [inode(&file), inode(&sockets[0]), inode(&sockets[1])];
        Kept { file, sockets, inodes }
    }

    fn check(&self) {
        let now = [inode(&self.file), inode(&self.sockets[0]), inode(&self.sockets[1])];
        assert_eq!(now, self.inodes, "descriptors that are no streams");
        for (socket, expected) in self.sockets.iter().zip([&b""[..], b"kept"]) {
            socket.set_nonblocking(true).expect("a socket");
            let mut bytes = [0; 16];
            let count = { socket }.read(&mut bytes).unwrap_or(0);
            assert_eq!(&bytes[..count], expected, "bytes of a socket that is no stream");
        }
    }
}

trait Filled {
    fn write_all_to_other(&self, bytes: &[u8]);
}

impl Filled for UnixStream {
    fn write_all_to_other(&self, bytes: &[u8]) {
        { self }.write_all(bytes).expect("room");
    }
}

fn inode(file: &impl AsFd) -> u64 {
    headwater_os::descriptors::inode(file.as_fd()).expect("it is open")
}

type Call = fn(&mut Victim<'_>, usize) -> Result<()>;

/// The calls beside those of `call_by_number`.
const OTHERS: &[(&str, Call)] = &[
    ("set_signals", |victim, at| {
        let events = SignalEvents::from_bits_truncate(victim.random.next() as u32);
        victim.ends[at].signals().set(events)
    }),
    ("set_signals_of", |victim, at| {
        let own = std::process::id() as i32;
        let of = victim.random.one_of(&[own, -own]);
        victim.ends[at].signals().set_for(of, SignalEvents::all())
    }),
    ("signals", |victim, at| {
        let own = std::process::id() as i32;
        victim.ends[at].signals().get()?;
        victim.ends[at].signals().get_for(-own).map(drop)
    }),
    ("ioctl", |victim, at| {
        let command = victim.random.one_of(&[pty::UNLOCK, pty::NUMBER, TRCLOG, ERRLOG, 0x5301, 7]);
        let mut data = TraceId::list(&[TraceId::ALL]);
        victim.ends[at].ioctl(command, &mut data, IoctlTimeout::After(Duration::from_millis(20))).map(drop)
    }),
    ("transparent_ioctl", |victim, at| {
        let mut bytes = [0; 64];
        let command = victim.random.one_of(&[pty::SET_LOCK, pty::GET_NUMBER, 0x5401, 0x5413]);
        victim.ends[at].set_nonblocking(true)?;
        victim.ends[at].transparent_ioctl(command, 4096, &mut vec![MemoryAt::new(4096, &mut bytes)]).map(drop)
    }),
    ("link", |victim, at| {
        let lower = victim.any();
        if lower == at {
            return Ok(());
        }
        let lower = victim.ends[lower].clone();
        victim.ends[at].links().link(&lower).map(drop)
    }),
    ("unlink", |victim, at| {
        let id = victim.random.one_of(&[None, MuxId::new(1), MuxId::new(2)]);
        victim.ends[at].links().unlink(id)
    }),
    ("send to a lower stream", |victim, at| {
        let id = victim.random.one_of(&[1, 2, 3, 70_000]);
        let id = MuxId::new(id).expect("not 0");
        victim.ends[at].putmsg(Some(&id.bytes()), Some(b"down"))
    }),
    ("readv", |victim, at| {
        let (mut one, mut two) = ([0; 10], [0; 5000]);
        let parts = &mut [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
        victim.ends[at].readv(parts).map(drop)
    }),
    ("receive", |victim, at| victim.ends[at].receive().map(drop)),
    ("send_message", |victim, at| {
        let message = Message::proto_of(b"control", b"data").into_owned();
        victim.ends[at].send_message(&message)
    }),
    ("receive_file", |victim, at| victim.ends[at].files().receive().map(drop)),
    ("receive_file_from", |victim, at| victim.ends[at].files().receive_from().map(drop)),
    ("send_stream", |victim, at| {
        let sent = victim.any();
        let sent = victim.ends[sent].clone();
        victim.ends[at].files().send_stream(&sent)
    }),
    ("poll", |victim, at| {
        let wanted = victim.random.one_of(&[Events::IN, Events::OUT, Events::PRI, Events::all()]);
        let time = Duration::from_millis(victim.random.next() % 4);
        victim.ends[at].poll(wanted, Some(time)).map(drop)
    }),
    ("prepare_poll", |victim, at| victim.ends[at].prepare_poll(Events::IN | Events::OUT).map(drop)),
    ("marks", |victim, at| {
        victim.ends[at].is_at_mark()?;
        victim.ends[at].is_at_last_mark().map(drop)
    }),
    ("bands", |victim, at| {
        victim.ends[at].can_put_in_any_band()?;
        victim.ends[at].has_band(3).map(drop)
    }),
    ("anchor", |victim, at| victim.ends[at].modules().anchor()),
    ("push", |victim, at| {
        let module = victim.random.one_of(&MODULES);
        victim.ends[at].push(module)
    }),
    ("close_time", |victim, at| {
        victim.ends[at].settings().set_close_time(Duration::from_millis(10))?;
        victim.ends[at].settings().close_time();
        Ok(())
    }),
    ("send_to", |victim, at| {
        let address = victim.random.one_of(&[&b"first"[..], b"second"]);
        victim.ends[at].send_to(address, &[], b"datagram")
    }),
    ("recv_from", |victim, at| victim.ends[at].recv_from(&mut [0; 32], &mut [0; 32], &mut [0; 64]).map(drop)),
    ("request", |victim, at| {
        let loopback = InternetAddress::from(std::net::SocketAddr::from(([127, 0, 0, 1], 0)));
        let request = match victim.random.below(8) {
            0 => Primitive::InfoReq,
            1 => Primitive::AddrReq,
            2 => Primitive::UnbindReq,
            3 => Primitive::BindReq { address: loopback.bytes(), waiting: 0 },
            4 => Primitive::BindReq { address: b"", waiting: 1 },
            5 => Primitive::ConnReq { destination: b"first", options: b"" },
            6 => Primitive::UnitdataReq { destination: b"second", options: b"" },
            _ => Primitive::DataReq { more: false },
        };
        victim.ends[at].putmsg(Some(&request.encode()), Some(b"data"))
    }),
    ("bundle", |victim, at| {
        let bundle = victim.ends[at].to_bundle()?;
        Stream::from_bundle(bundle).map(drop)
    }),
    ("send_over", |victim, at| {
        let (one, other) = UnixStream::pair()?;
        victim.ends[at].send_over(&one)?;
        Stream::receive_over(&other).map(drop)
    }),
    ("from_fd", |victim, at| Stream::from_fd(victim.ends[at].as_fd().try_clone_to_owned()?).map(drop)),
    ("another and close", |victim, at| {
        let another = victim.ends[at].clone();
        let end = std::mem::replace(&mut victim.ends[at], another);
        drop(end);
        Ok(())
    }),
    ("attach_to", |victim, at| {
        let stream = victim.ends[at].clone();
        stream.attach_to(victim.places.node())
    }),
    ("open attached", |victim, _| {
        let opened = AttachedOptions::new().nonblocking(true).open(victim.places.node())?;
        opened.map_or(Ok(()), |stream| victim.add(stream))
    }),
    ("detach", |victim, _| {
        is_attached(victim.places.node());
        detach(victim.places.node())
    }),
    ("open a FIFO", |victim, _| {
        let access = victim.random.one_of(&[Access::Read, Access::Write, Access::Both]);
        let fifo = FifoOptions::new().nonblocking(true).open(victim.places.fifo(), access)?;
        victim.add(fifo)
    }),
    ("open a device", |victim, _| {
        let driver = victim.random.one_of(&["echo", "mux", "ticlts", "log", "ptm", "nuls", "sad"]);
        let device = victim.devices().open(driver)?;
        victim.add(device)
    }),
    ("open a minor", |victim, at| {
        let Some(minor) = victim.ends[at].minor() else { return Ok(()) };
        // Of the driver that it has: a number that was written there is another process's stream.
        if minor <= victim.places.foreign_minor {
            return Ok(());
        }
        let driver = victim.random.one_of(&["echo", "ticlts", "pts"]);
        let device = victim.devices().minor(minor).open(driver)?;
        victim.add(device)
    }),
    ("autopush", |victim, _| {
        let entry = Autopush::new("echo", Minors::All, ["nullmod"]);
        autopush::configure(&victim.devices(), entry)?;
        autopush::list(&victim.devices())?;
        autopush::clear(&victim.devices(), "echo", 0).map(drop)
    }),
    ("submit", |victim, _| {
        if let Some(submitter) = &victim.submitter {
            submitter.submit(1, 2, 3, LogFlags::TRACE, "text");
        }
        Ok(())
    }),
    // It looks at every process of the machine, with a supervised call for each descriptor.
    ("inspect", |victim, _| if victim.random.one_in(500) { inspect::streams().map(drop) } else { Ok(()) }),
];

const MODULES: [&str; 8] = ["bufmod", "srvmod", "nullmod", "pipemod", "testmod", "connld", "ldterm", "timod"];

/// The number of different calls.
pub const ALL: usize = CALLS + OTHERS.len();

/// The name of a call.
pub fn name(call: usize) -> String {
    match call.checked_sub(CALLS) {
        None => format!("call {call}"),
        Some(other) => OTHERS.get(other).map_or("close", |(name, _)| name).to_owned(),
    }
}

impl<'p> Victim<'p> {
    /// Opens streams of some kinds.
    pub fn new(seed: u64, places: &'p Places) -> Result<Victim<'p>> {
        headwater_terminals::register()?;
        let kept = Kept::new();
        let mut victim = Victim { random: Random(seed), places, ends: Vec::new(), submitter: None, kept };
        let kinds = 2 + victim.random.below(3);
        for _ in 0..kinds {
            // A second stream of a kind may be refused: its name is taken.
            let opened = victim.open();
            if victim.ends.is_empty() {
                opened?;
            }
        }
        for at in 0..victim.ends.len() {
            // A stream below a multiplexer refuses all of this.
            let _ = victim.ends[at].set_nonblocking(true);
            if victim.random.one_in(2) {
                let module = victim.random.one_of(&MODULES);
                let _ = victim.ends[at].push(module);
            }
            if victim.random.one_in(2) {
                let own = std::process::id() as i32;
                let _ = victim.ends[at].signals().set(SignalEvents::all());
                if victim.random.one_in(2) {
                    let _ = victim.ends[at].signals().set_for(-own, SignalEvents::all());
                }
            }
        }
        Ok(victim)
    }

    fn devices(&self) -> DeviceOptions {
        DeviceOptions::new().directory(self.places.devices()).nonblocking(true)
    }

    /// A stream that calls may use.
    fn add(&mut self, stream: Stream) -> Result<()> {
        stream.set_nonblocking(true)?;
        let handle = stream;
        if self.ends.len() < 12 {
            self.ends.push(handle);
        } else {
            let at = self.any();
            self.ends[at] = handle;
        }
        Ok(())
    }

    fn any(&mut self) -> usize {
        self.random.below(self.ends.len())
    }

    fn open(&mut self) -> Result<()> {
        let hiwat = self.random.one_of(&[100, 5000, 65536]);
        let policy = self.random.one_of(&[Policy::DEFAULT, Policy::DEFAULT, Policy::EAGER]);
        let options = Options::new().hiwat(hiwat).lowat(hiwat / 2).policy(policy);
        let devices = self.devices().stream(options);
        match self.random.below(9) {
            0 => self.ends.extend(<[Stream; 2]>::from(options.pipe()?)),
            1 => {
                let fifo = FifoOptions::new().nonblocking(true).stream(options);
                for access in [Access::Read, Access::Write] {
                    self.ends.push(fifo.open(self.places.fifo(), access)?);
                }
            }
            2 => self.ends.push(devices.open("echo")?),
            3 => {
                let (upper, lower) = (devices.open("mux")?, devices.open_private("echo")?);
                upper.links().link(&lower.clone())?;
                self.ends.push(upper);
                self.ends.push(lower);
            }
            4 => {
                for address in [b"first".as_slice(), b"second"] {
                    let end = devices.open("ticlts")?;
                    end.putmsg(Some(&Primitive::BindReq { address, waiting: 0 }.encode()), None)?;
                    self.ends.push(end);
                }
            }
            5 => {
                let end = devices.open_private(self.random.one_of(&["inet-udp", "inet-tcp"]))?;
                let loopback = InternetAddress::from(std::net::SocketAddr::from(([127, 0, 0, 1], 0)));
                let request = Primitive::BindReq { address: loopback.bytes(), waiting: self.random.below(2) as u32 };
                end.putmsg(Some(&request.encode()), None)?;
                self.ends.push(end);
            }
            6 => {
                let log = devices.open("log")?;
                log.ioctl(TRCLOG, &mut TraceId::list(&[TraceId::ALL]), IoctlTimeout::Usual)?;
                self.submitter = Some(LogSubmitter::open(&self.devices())?);
                self.ends.push(log);
            }
            7 => {
                let master = devices.open("ptm")?;
                master.ioctl(pty::UNLOCK, &mut Vec::new(), IoctlTimeout::Usual)?;
                let minor = master.minor().expect("a device");
                self.ends.push(devices.minor(minor).open("pts")?);
                self.ends.push(master);
            }
            _ => {
                let (near, far) = options.pipe()?;
                let far = far;
                // Another victim's, which was killed, is no more.
                far.attach_to(self.places.node())?;
                self.ends.extend([near, far]);
            }
        }
        Ok(())
    }

    /// Makes calls, and then closes everything. A call that waits for a lock which a living process seems to hold is interrupted.
    pub fn run(self, count: usize, board: &Board) {
        // SAFETY: no arguments, always succeeds.
        let caller = unsafe { libc::pthread_self() };
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| interrupt(caller, &over));
            let _over = Stop(&over);
            self.call(count, board);
        });
        board.set(Cell::Finished, 1);
    }

    fn call(mut self, count: usize, board: &Board) {
        for _ in 0..count {
            let (at, number) = (self.any(), self.random.below(ALL + CALLS / 2) % ALL);
            board.begin(number);
            let done = match number.checked_sub(CALLS) {
                None => call_by_number(number, &self.ends[at], &mut self.random),
                Some(other) => OTHERS[other].1(&mut self, at),
            };
            board.end(done.as_ref().err());
            if let Err(error) = done {
                assert!(!error.to_string().is_empty());
            }
        }
        board.begin(ALL);
        self.ends.clear();
        board.end(None);
        self.kept.check();
        let pages = pages();
        assert!(pages < PAGES_MAX, "{pages} pages are resident");
    }
}

/// Pages of this process that are in memory.
fn pages() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("/proc");
    text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number")
}
