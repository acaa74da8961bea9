//! `log`: takes messages of modules, drivers and processes, and sends them to the loggers that ask for them, as log(7) of SVR4.
//!
//! Each open is a stream of its own (clone open). By an I_STR ioctl it becomes a logger: [`TRCLOG`] or [`ERRLOG`]. A logger gets
//! M_PROTO messages, whose control part is a [`LogControl`] and whose data part is the text. Messages are submitted by
//! [`strlog`](crate::strlog), by a [`LogSubmitter`](crate::LogSubmitter), or by putmsg on any stream of the device.
//!
//! A submitter puts a message into the mailbox of each logger, a FIFO that is one of the stream's files. A process that waits at the
//! logger's stream takes it out and sends it up ([`Driver::ready`]).
//!
//! ```
//! use headwater_streams::drivers::log::{LogControl, LogFlags, TRCLOG, TraceId};
//! use headwater_streams::{DeviceOptions, IoctlTimeout};
//!
//! # let path = std::env::temp_dir().join(format!("headwater-tracer-{}", std::process::id()));
//! let options = DeviceOptions::new().directory(&path);
//! let tracer = options.open("log")?;
//! // All messages up to level 2.
//! let ids = TraceId { level: Some(2), ..TraceId::ALL };
//! tracer.ioctl(TRCLOG, &mut TraceId::list(&[ids]), IoctlTimeout::Usual)?;
//!
//! let process = options.open("log")?;
//! process.putmsg(Some(&LogControl::new(3, LogFlags::TRACE).bytes()), Some(b"too fine"))?;
//! process.putmsg(Some(&LogControl::new(2, LogFlags::TRACE).bytes()), Some(b"started"))?;
//!
//! let message = tracer.receive()?.expect("one was sent");
//! assert_eq!(message.data(), Some(&b"started"[..]));
//! # std::fs::remove_dir_all(path).ok();
//! # Ok::<(), headwater_streams::Error>(())
//! ```

use std::os::fd::BorrowedFd;

use headwater_os::{mailbox, own_numbers};
use headwater_shm::probe;

use crate::error::{Errno, Result, fixed};
use crate::message::Message;
use crate::message::ioctl::IoctlBlock;
use crate::message::kind::Kind;
use crate::options::events::Events;
use crate::plumb::driver::{Driver, DriverInfo, Opening};
use crate::plumb::module::Side;
use crate::plumb::queue::Queue;
use crate::process::file_kind::FileKind;

mod control;
pub(crate) mod loggers;

pub use control::{LogControl, LogFlags, TraceId};
use loggers::Loggers;

/// Commands of the log driver.
const COMMANDS: u32 = (b'L' as u32) << 8;
/// The ioctl that makes a stream a trace logger, or changes what it asks for; its data are 1 to [`IDS_MAX`] [`TraceId`]s.
///
/// It fails with `ENXIO` for none, `EINVAL` for more or for another length, `EBUSY` on the error logger's stream, and `ENOSR` when
/// there are [`LOGGERS_MAX`] - 1 trace loggers.
#[doc(alias = "I_TRCLOG")]
pub const TRCLOG: u32 = COMMANDS | 1;
/// The ioctl that makes a stream the error logger. It fails with `EBUSY` if there is another, or on a trace logger's stream.
#[doc(alias = "I_ERRLOG")]
pub const ERRLOG: u32 = COMMANDS | 2;
/// The ioctl that returns how many messages the logger has lost since it became one, because its mailbox was full. SVR4 does not
/// have it. It fails with `ENXIO` on a stream that is no logger.
pub const LOST: u32 = COMMANDS | 0x80;

/// The `mid` of messages that processes submit by putmsg. Their `sid` is the minor number.
pub const MID: i16 = 44;
/// Loggers of one directory at most: the error logger, and trace loggers. Each is a bit of one word.
pub const LOGGERS_MAX: usize = 48;
/// What one trace logger asks for at most. A submitter compares a message with each.
pub const IDS_MAX: usize = 64;
/// Longest text in bytes, so that the kernel writes the message all or not at all.
pub const TEXT_MAX: usize = mailbox::PACKET_MAX - LogControl::LEN;

/// The stream's files. The lock of the logger's place is of the second one's open file description.
const MAILBOX: usize = 0;
const TABLE: usize = 1;
const FILES: &[FileKind] = &[FileKind::Pipe, FileKind::Plain];

/// Messages that one call of the driver takes out of a mailbox: more can only come of submitters that are faster for ever.
const MESSAGES_MAX: usize = 1024;

/// The driver.
#[derive(Debug)]
pub struct Log;

impl Driver for Log {
    fn info(&self) -> DriverInfo {
        DriverInfo::new("log").service(Side::Read).with_files(FILES)
    }

    fn open(&self, _opening: &Opening, _queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        Err(fixed!(Inval, "`log` is opened by name: nobody finds the loggers of a private stream"))
    }

    fn open_named(&self, opening: &Opening, directory: BorrowedFd<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        if !opening.is_first {
            return Ok(());
        }
        let file = loggers::open_file(directory)?;
        // Says now if it is of another version.
        Loggers::of(own_numbers::copy(directory)?, file.try_clone()?)?;
        queue.set_file(TABLE, Some(file))
    }

    fn close(&self, queue: &mut Queue<'_, '_, '_>) {
        if let (Some(place), Ok(loggers)) = (place(queue), loggers(queue)) {
            loggers.close(place);
        }
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match message.header.kind {
            Kind::Flush => queue.flush_as_driver(message),
            Kind::Ioctl => match command(&message, queue) {
                Ok(value) => queue.acknowledge(&message, value, None),
                Err(error) if error.is_held() => Err(error),
                Err(error) => queue.refuse(&message, error.errno()),
            },
            Kind::Proto => {
                let control = message.control().and_then(LogControl::of);
                // log(7): the driver silently ignores a message that is none.
                let Some(sent) = control else { return Ok(()) };
                let sid = queue.minor().unwrap_or(0) as i16;
                let control = LogControl::new(sent.level, sent.flags).with_priority(sent.pri).of_module(MID, sid);
                loggers(queue)?.submit_bytes(place(queue), control, message.data().unwrap_or_default());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        // There is room above.
        if queue.side() == Side::Read { queue.watch(MAILBOX, Events::IN) } else { Ok(()) }
    }

    fn ready(&self, _place: usize, _events: Events, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        let Some(mailbox) = queue.file(MAILBOX)? else { return queue.unwatch(MAILBOX, Events::IN) };
        let mut packet = [0; mailbox::PACKET_MAX];
        for _ in 0..MESSAGES_MAX {
            if !queue.can_put_next(0)? {
                return queue.unwatch(MAILBOX, Events::IN);
            }
            let Some(len) = mailbox::receive(&*mailbox, &mut packet)? else { break };
            probe::at();
            // What is shorter is of a process that breaks the protocol.
            if let Some((control, text)) = loggers::parts(&packet[..len]) {
                let sent = queue.put_next(Message::proto_of(control, text).into_owned());
                if sent.is_err()
                    && let Some(place) = place(queue)
                {
                    // It has left the mailbox.
                    loggers(queue)?.note_lost(place);
                }
                sent?;
            }
            probe::at();
        }
        Ok(())
    }
}

/// The loggers of the directory in which the stream is found. Its file is mapped only if it is the one that this process finds there.
fn loggers(queue: &Queue<'_, '_, '_>) -> Result<Loggers> {
    let directory = queue.device_directory()?;
    let file = queue.file(TABLE)?.ok_or_else(|| fixed!(Proto, "a stream of `log` has lost its files"))?;
    loggers::check_file(directory, &file)?;
    Loggers::of(own_numbers::copy(directory)?, file.try_clone()?)
}

/// The logger that the stream is.
fn place(queue: &Queue<'_, '_, '_>) -> Option<usize> {
    (queue.state()[0] as usize).checked_sub(1).filter(|place| *place < LOGGERS_MAX)
}

/// Does what an ioctl asks for. Returns its value.
fn command(message: &Message<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<i32> {
    match IoctlBlock::of(message)?.command {
        TRCLOG => register(Some(&TraceId::of_list(message.data().unwrap_or_default())?), queue),
        ERRLOG => register(None, queue),
        LOST => {
            let place = place(queue).ok_or_else(|| fixed!(Nxio, "the stream is no logger"))?;
            Ok(i32::try_from(loggers(queue)?.lost(place)).unwrap_or(i32::MAX))
        }
        _ => Err(crate::Error::new(Errno::Nxio, "`log` does not know the ioctl")),
    }
}

/// Makes the stream a logger: of traces, if `ids` says of which. If the process is killed in here, another process of the stream can
/// do it again.
fn register(ids: Option<&[TraceId]>, queue: &mut Queue<'_, '_, '_>) -> Result<i32> {
    let loggers = loggers(queue)?;
    let place = match place(queue) {
        Some(place) if (place == loggers::ERROR) != ids.is_none() => {
            return Err(fixed!(Busy, "the stream is a logger of the other kind"));
        }
        Some(place) => place,
        None => {
            let place = if ids.is_some() { loggers.take_traces()? } else { loggers.take_errors()? };
            probe::at();
            // A process that was killed in here may have left the mailbox of another place.
            let mailbox = loggers.make_mailbox(place);
            let is_set = mailbox.and_then(|mailbox| queue.set_file(MAILBOX, Some(mailbox)));
            probe::at();
            if let Err(error) = is_set.and_then(|()| queue.watch(MAILBOX, Events::IN)) {
                loggers.give_up(place);
                return Err(error);
            }
            // Last, so that the stream has all that belongs to a place.
            let mut state = queue.state();
            state[0] = place as u64 + 1;
            queue.set_state(state);
            place
        }
    };
    probe::at();
    loggers.register(place, ids.unwrap_or_default());
    probe::at();
    Ok(0)
}
