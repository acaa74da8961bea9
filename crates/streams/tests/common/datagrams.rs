//! A driver over a datagram socket, and a module that holds messages back for a time.

#![allow(dead_code, reason = "each test program uses its part")]

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use headwater_streams::{
    DeviceOptions, Driver, DriverInfo, Errno, Events, FileKind, Kind, Message, MessageHeader, Module, ModuleInfo,
    Opening, Options, Queue, Result, Side, Stream, register_driver,
};

const PATIENCE: Duration = Duration::from_secs(20);

/// Sends each message as a datagram, and each datagram up as a message. Its socket is bound and connected when the first message
/// says where: two paths.
#[derive(Debug)]
struct Datagrams;

const SOCKET: usize = 2;

pub static READS: AtomicU32 = AtomicU32::new(0);

impl Datagrams {
    /// Sends what waits in the write queue.
    fn send(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        while let Some(message) = queue.get()? {
            if !Self::send_one(&message, queue)? {
                return queue.put_back(&message);
            }
        }
        Ok(())
    }

    /// False if the socket takes no more; then it is watched.
    fn send_one(message: &Message<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<bool> {
        let Some(socket) = socket(queue)? else { return Ok(true) };
        match socket.send(message.data().unwrap_or_default()) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                queue.watch(SOCKET, Events::OUT)?;
                Ok(false)
            }
            // No socket receives it: the datagram is lost.
            _ => Ok(true),
        }
    }
}

fn socket(queue: &Queue<'_, '_, '_>) -> Result<Option<UnixDatagram>> {
    let file = queue.file(SOCKET)?;
    // Its own copy, since the socket's type owns its descriptor.
    Ok(file.map(|file| file.try_clone()).transpose()?.map(UnixDatagram::from))
}

fn open_socket(paths: &str) -> std::io::Result<UnixDatagram> {
    let (own, peer) = paths.split_once(' ').expect("two paths");
    let socket = UnixDatagram::bind(own)?;
    socket.set_nonblocking(true)?;
    socket.connect(peer)?;
    Ok(socket)
}

const LOCAL: FileKind = FileKind::Socket { domain: libc::AF_UNIX, kind: libc::SOCK_DGRAM, protocol: 0 };

impl Driver for Datagrams {
    fn info(&self) -> DriverInfo {
        DriverInfo::new("datagrams").service(Side::Read).service(Side::Write).with_files(&[LOCAL; 3])
    }

    fn open(&self, opening: &Opening, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        assert_eq!(queue.file(SOCKET)?.is_none(), opening.is_first);
        assert_eq!(queue.file(99).expect_err("no place").errno(), Errno::Inval);
        Ok(())
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match message.header.kind {
            Kind::Flush => queue.flush_as_driver(message),
            Kind::Ioctl => queue.refuse(&message, Errno::Inval),
            Kind::Proto => {
                let paths = String::from_utf8_lossy(message.control().unwrap_or_default()).into_owned();
                let file = if paths.is_empty() { None } else { Some(OwnedFd::from(open_socket(&paths)?)) };
                let is_open = file.is_some();
                queue.set_file(SOCKET, file)?;
                if is_open {
                    queue.watch(SOCKET, Events::IN)?;
                }
                queue.enable();
                Ok(())
            }
            Kind::Data if queue.size(0).0 == 0 && Self::send_one(&message, queue)? => Ok(()),
            Kind::Data => queue.put_queue(message),
            _ => Ok(()),
        }
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        match queue.side() {
            Side::Write => Self::send(queue),
            // There is room above.
            Side::Read => queue.watch(SOCKET, Events::IN),
        }
    }

    fn ready(&self, place: usize, events: Events, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        assert_eq!((place, queue.side()), (SOCKET, Side::Read));
        assert_eq!(queue.set_file(SOCKET, None).expect_err("the write side's").errno(), Errno::Inval);
        if events.intersects(Events::OUT) {
            queue.unwatch(SOCKET, Events::OUT)?;
            queue.enable_other();
        }
        let Some(socket) = socket(queue)? else { return queue.unwatch(place, events) };
        let mut bytes = [0; 2000];
        while events.intersects(Events::IN) {
            if !queue.can_put_next(0)? {
                return queue.unwatch(SOCKET, Events::IN);
            }
            READS.fetch_add(1, Ordering::Relaxed);
            let Ok(count) = socket.recv(&mut bytes) else { break };
            queue.put_next(Message::new(MessageHeader::of(Kind::Data), None, Some(&bytes[..count])).into_owned())?;
        }
        Ok(())
    }
}

pub fn know() {
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| register_driver(Datagrams).expect("new"));
}

/// A device whose socket is connected to one of the test's own.
pub struct Line {
    pub _directory: tempfile::TempDir,
    pub stream: Stream,
    pub peer: UnixDatagram,
}

pub fn line(hiwat: u32) -> Line {
    know();
    let directory = tempfile::tempdir().expect("a directory");
    let (own, other) = (directory.path().join("own"), directory.path().join("peer"));
    let peer = UnixDatagram::bind(&other).expect("bind");
    let options = Options::new().hiwat(hiwat).lowat(hiwat / 4).maxpsz(1000);
    let stream = DeviceOptions::new().stream(options).open_private("datagrams").expect("known");
    stream.putmsg(Some(paths(&own, &other).as_bytes()), None).expect("room");
    peer.connect(&own).expect("connect");
    peer.set_read_timeout(Some(PATIENCE)).expect("a socket");
    Line { _directory: directory, stream, peer }
}

pub fn paths(own: &Path, other: &Path) -> String {
    format!("{} {}", own.display(), other.display())
}

/// Holds back what is written for [`HOLD`], counted from the first message.
#[derive(Debug)]
pub struct Delay;

pub const HOLD: Duration = Duration::from_millis(60);

impl Module for Delay {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("delay").service(Side::Write)
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if queue.side() == Side::Read {
            return queue.put_next(message);
        }
        if queue.size(0).0 == 0 {
            queue.set_passive();
            queue.enable_after(HOLD);
        }
        queue.put_queue(message)
    }

    fn timeout(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        queue.forward_all()
    }
}
