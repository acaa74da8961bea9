//! `sockmod`: the calls of sockets over a transport's endpoint. It is pushed in the place of [`timod`](super::timod), whose ioctls it
//! has too; `headwater_xti::Socket` makes the calls from it.
//!
//! What is written goes as data of the connection, or as a datagram to the destination that was set; of what comes over a connection, the
//! data are read. The module keeps what all processes of a socket share: the default destination, an error that no process has
//! fetched yet, which directions were shut down, and whether a connection is being asked for.
//!
//! | ioctl | data | what it does |
//! |---|---|---|
//! | [`CONNECT`] | T_CONN_REQ | asks for a connection, and waits until it is there or refused |
//! | [`START_CONNECT`] | T_CONN_REQ | asks for a connection |
//! | [`FINISH_CONNECT`] | | waits for a connection that was asked for |
//! | [`AWAIT_CONNECT`] | | waits until it is there or refused, and leaves the error |
//! | [`ACCEPT`] | T_CONN_RES | gives a connection that waits (T_CONN_IND) to an endpoint |
//! | [`SHUTDOWN`] | [`Direction`], 32 bits | ends directions |
//! | [`SET_PEER`] | an address, or nothing | sets the default destination of datagrams; only what comes from there is read then |
//! | [`GET_PEER`] | | returns the default destination |
//! | [`GET_ERROR`] | | returns the error that waits, and forgets it (SO_ERROR) |
//!
//! Errors of an ioctl are those of errno. The rest of the provider's messages becomes:
//!
//! | message | at the stream head |
//! |---|---|
//! | T_DATA_IND, T_EXDATA_IND, T_OPTDATA_IND | data; expedited data in band 1 |
//! | T_ORDREL_IND | the end of the data, which every read finds from then on: a message of no bytes, and another one for each M_READ |
//! | T_DISCON_IND | a hang-up; of a connection that is asked for, the error of the ioctl that waits for it |
//! | T_UNITDATA_IND | stays; without its sender, unless that is the default destination, it is not passed on |
//! | T_UDERROR_IND | with a default destination the error of the stream (M_ERROR), otherwise nothing |
//! | T_CONN_IND, T_DISCON_IND of one | stay |
//!
//! ```
//! use headwater_streams::modules::sockmod;
//! use headwater_streams::tpi::Primitive;
//!
//! // A module's stream, whose other end stands in the provider's place.
//! let (user, provider) = headwater_streams::pipe()?;
//! user.push("sockmod")?;
//! provider.putmsg(Some(&Primitive::DataInd { more: false }.encode()), Some(b"data"))?;
//! provider.putmsg(Some(&Primitive::OrdrelInd.encode()), None)?;
//! let mut text = [0; 16];
//! assert_eq!((user.read(&mut text)?, &text[..4]), (4, &b"data"[..]));
//! assert_eq!(user.read(&mut text)?, 0);
//! # Ok::<(), headwater_streams::Error>(())
//! ```

use std::sync::atomic::{Ordering, fence};

use super::transport_request::{self, MEMORY, answered, ask_for, set_waiting, waiting};
use crate::error::{Errno, Result};
use crate::limits::ADDRESS_MAX;
use crate::message::Message;
use crate::message::ioctl::IoctlBlock;
use crate::message::kind::{Kind, MessageHeader};
use crate::options::head::SetOptions;
use crate::plumb::module::{Module, ModuleInfo, Side};
use crate::plumb::queue::Queue;
use crate::tpi::{InternetAddress, Primitive, PrimitiveNumber};

const COMMANDS: u32 = (b's' as u32) << 8;
/// Asks for a connection, and waits until it is there or refused.
pub const CONNECT: u32 = COMMANDS | 1;
/// Asks for a connection.
pub const START_CONNECT: u32 = COMMANDS | 2;
/// Waits for a connection that was asked for. Its error, if it was refused.
pub const FINISH_CONNECT: u32 = COMMANDS | 3;
/// Waits until a connection that was asked for is there or refused. An error stays for [`FINISH_CONNECT`].
pub const AWAIT_CONNECT: u32 = COMMANDS | 9;
/// Gives a connection that waits to an endpoint.
pub const ACCEPT: u32 = COMMANDS | 4;
/// Ends directions.
pub const SHUTDOWN: u32 = COMMANDS | 5;
/// Sets the default destination of datagrams, or removes it.
pub const SET_PEER: u32 = COMMANDS | 6;
/// Returns the default destination of datagrams.
pub const GET_PEER: u32 = COMMANDS | 7;
/// Returns the error that waits, as the value of the ioctl, and forgets it.
pub const GET_ERROR: u32 = COMMANDS | 8;

/// What [`SHUTDOWN`] ends; its numbers are those of shutdown(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "there are two directions")]
pub enum Direction {
    /// What comes is discarded (SHUT_RD).
    Read = 0,
    /// Nothing is sent any more, and the other end is told (SHUT_WR).
    Write = 1,
    /// Both (SHUT_RDWR).
    Both = 2,
}

impl Direction {
    fn of(data: Option<&[u8]>) -> Option<Direction> {
        match u32::from_ne_bytes(data?.try_into().ok()?) {
            0 => Some(Direction::Read),
            1 => Some(Direction::Write),
            2 => Some(Direction::Both),
            _ => None,
        }
    }

    const fn reads(self) -> bool {
        !matches!(self, Direction::Write)
    }

    const fn writes(self) -> bool {
        !matches!(self, Direction::Read)
    }
}

/// The memory behind that of `transport_request`: one byte for each flag, the error that waits, and the default destination with its
/// length.
const ASKED: usize = MEMORY;
const ENDED: usize = ASKED + 1;
const READ_SHUT: usize = ASKED + 2;
const WRITE_SHUT: usize = ASKED + 3;
const ERROR: usize = ASKED + 4;
const PEER_LEN: usize = ASKED + 8;
const PEER: usize = PEER_LEN + 1;

/// The module.
#[derive(Debug)]
pub struct SocketModule;

impl Module for SocketModule {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("sockmod").instance(PEER + ADDRESS_MAX)
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match (message.header.kind, queue.side()) {
            (Kind::Ioctl, Side::Write) => ioctl(message, queue),
            (Kind::Data, Side::Write) => send(message, queue),
            (Kind::Proto, Side::Write) if is(queue, WRITE_SHUT)? => error_of_writing(queue),
            // A reader has found nothing: it reads the end once more.
            (Kind::Read, Side::Write) if is(queue, ENDED)? || is(queue, READ_SHUT)? => queue.reply(end_of_data()),
            (Kind::PcProto, Side::Read) => acknowledged(message, queue),
            (Kind::Proto, Side::Read) => arrive(message, queue),
            (Kind::Data, Side::Read) => put_data(message, queue),
            _ => queue.put_next(message),
        }
    }
}

/// An ioctl of the user.
fn ioctl<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    let block = IoctlBlock::of(&message)?;
    match block.command {
        command if transport_request::is_one(command) => transport_request::ask(&message, block, queue),
        CONNECT | START_CONNECT if is(queue, ASKED)? => queue.refuse(&message, ALREADY),
        CONNECT | START_CONNECT => {
            if matches!(Primitive::decode(message.data().unwrap_or_default()), Ok(Primitive::ConnReq { .. })) {
                // Before the provider can answer.
                set(queue, ASKED, true)?;
            }
            ask_for(Some(PrimitiveNumber::ConnReq), &message, block, queue)
        }
        FINISH_CONNECT | AWAIT_CONNECT => finish(&message, block, queue),
        ACCEPT => ask_for(Some(PrimitiveNumber::ConnRes), &message, block, queue),
        SHUTDOWN => shut_down(&message, queue),
        SET_PEER => {
            let address = message.data().unwrap_or_default();
            if address.len() > ADDRESS_MAX {
                return queue.refuse(&message, Errno::Inval);
            }
            queue.write_instance(PEER, address)?;
            queue.write_instance(PEER_LEN, &[address.len() as u8])?;
            queue.acknowledge(&message, 0, None)
        }
        GET_PEER => match peer(queue)? {
            Some(peer) => queue.acknowledge(&message, 0, Some(peer)),
            None => queue.refuse(&message, NOT_CONNECTED),
        },
        GET_ERROR => {
            let error = take_error(queue)?.map_or(0, Errno::number);
            queue.acknowledge(&message, error, None)
        }
        _ => queue.put_next(message),
    }
}

/// EALREADY, ENOTCONN.
const ALREADY: Errno = Errno::new(114);
const NOT_CONNECTED: Errno = Errno::new(107);

/// Waits for a connection that was asked for.
fn finish(message: &Message<'_>, block: IoctlBlock, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    set_waiting(queue, Some(block))?;
    // The answer of the provider is noted before it looks for a waiter: one of both sees the other.
    fence(Ordering::SeqCst);
    if is(queue, ASKED)? {
        return Ok(());
    }
    set_waiting(queue, None)?;
    let error = if block.command == AWAIT_CONNECT { None } else { take_error(queue)? };
    match error {
        Some(error) => queue.refuse(message, error),
        None => queue.acknowledge(message, 0, None),
    }
}

fn shut_down(message: &Message<'_>, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let Some(direction) = Direction::of(message.data()) else { return queue.refuse(message, Errno::Inval) };
    if is(queue, ASKED)? {
        return queue.refuse(message, NOT_CONNECTED);
    }
    if direction.writes() && !is(queue, WRITE_SHUT)? {
        set(queue, WRITE_SHUT, true)?;
        let header = MessageHeader { whole: true, ..MessageHeader::of(Kind::Proto) };
        queue.put_next(Message::from_parts(header, Some(Primitive::OrdrelReq.encode()), None))?;
        error_of_writing(queue)?;
    }
    if direction.reads() && !is(queue, READ_SHUT)? {
        set(queue, READ_SHUT, true)?;
        queue.reply(tell_of_readers())?;
        queue.reply(end_of_data())?;
    }
    queue.acknowledge(message, 0, None)
}

/// Data of the user: of the connection, or a datagram to the default destination.
fn send<'m>(mut message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    if is(queue, WRITE_SHUT)? {
        return error_of_writing(queue);
    }
    if let Some(peer) = peer(queue)? {
        message.header.kind = Kind::Proto;
        message.set_control(Primitive::UnitdataReq { destination: &peer, options: &[] }.encode());
    }
    queue.put_next(message)
}

/// An acknowledgement of the provider.
fn acknowledged<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    if let Some(answer) = answered(&message, queue)? {
        return queue.put_next(answer);
    }
    let result = match Primitive::decode(message.control().unwrap_or_default()) {
        Ok(Primitive::OkAck { of }) => (of, Ok(())),
        Ok(Primitive::ErrorAck { of, error, errno }) => (of, Err(error.errno_of_sockets(errno))),
        _ => return queue.put_next(message),
    };
    match (result, waiting(queue)?) {
        ((PrimitiveNumber::ConnReq, Ok(())), Some(block)) if block.command == CONNECT => Ok(()),
        ((PrimitiveNumber::ConnReq, result), block) if is(queue, ASKED)? => {
            if result.is_err() {
                set(queue, ASKED, false)?;
            }
            match block.filter(|block| matches!(block.command, CONNECT | START_CONNECT)) {
                Some(block) => answer(queue, block, result),
                None => Ok(()),
            }
        }
        ((PrimitiveNumber::ConnRes, result), Some(block)) if block.command == ACCEPT => answer(queue, block, result),
        _ => queue.put_next(message),
    }
}

/// Answers the ioctl that waits. On the read side.
fn answer(queue: &mut Queue<'_, '_, '_>, block: IoctlBlock, result: std::result::Result<(), Errno>) -> Result<()> {
    set_waiting(queue, None)?;
    let (kind, error) = match result {
        Ok(()) => (Kind::IocAck, 0),
        Err(error) => (Kind::IocNak, error.number()),
    };
    queue.put_next(IoctlBlock { value: 0, error, count: Some(0), ..block }.message(kind, None))
}

/// A message of the provider.
fn arrive<'m>(mut message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    match Primitive::decode(message.control().unwrap_or_default()) {
        Ok(Primitive::DataInd { .. } | Primitive::ExdataInd { .. } | Primitive::OptdataInd { .. }) => {
            message.drop_control();
            put_data(message, queue)
        }
        Ok(Primitive::OrdrelInd) => {
            set(queue, ENDED, true)?;
            queue.put_next(tell_of_readers())?;
            queue.put_next(end_of_data())
        }
        Ok(Primitive::ConnCon { .. }) if is(queue, ASKED)? => connected(queue, Ok(())),
        Ok(Primitive::DisconInd { reason, sequence: Primitive::NO_SEQUENCE }) => {
            if is(queue, ASKED)? {
                return connected(queue, Err(Errno::new(reason.cast_signed())));
            }
            queue.put_next(Message::new(MessageHeader::of(Kind::Hangup), None, None))
        }
        Ok(Primitive::UnitdataInd { source, .. }) => match peer(queue)? {
            _ if is(queue, READ_SHUT)? => Ok(()),
            Some(peer) if !is_same(&peer, source) => Ok(()),
            _ => queue.put_next(message),
        },
        Ok(Primitive::UderrorInd { destination, error, .. }) => match peer(queue)? {
            Some(peer) if is_same(&peer, destination) => {
                let error = Some(Errno::new(error.cast_signed()));
                queue.put_next(Message::of_errors(error, error))
            }
            _ => Ok(()),
        },
        _ => queue.put_next(message),
    }
}

/// Data of the connection. A message of no bytes would be their end.
fn put_data<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    if message.len() == 0 || is(queue, READ_SHUT)? { Ok(()) } else { queue.put_next(message) }
}

/// The connection that was asked for is there, or was refused. On the read side.
fn connected(queue: &mut Queue<'_, '_, '_>, result: std::result::Result<(), Errno>) -> Result<()> {
    if let Err(error) = result {
        note_error(queue, error)?;
    }
    set(queue, ASKED, false)?;
    fence(Ordering::SeqCst);
    match waiting(queue)? {
        Some(block) if matches!(block.command, CONNECT | FINISH_CONNECT) => {
            take_error(queue)?;
            answer(queue, block, result)
        }
        Some(block) if block.command == AWAIT_CONNECT => answer(queue, block, Ok(())),
        _ => Ok(()),
    }
}

fn end_of_data() -> Message<'static> {
    Message::new(MessageHeader::of(Kind::Data), None, Some(&[]))
}

/// From now on a reader that finds nothing sends M_READ.
fn tell_of_readers() -> Message<'static> {
    SetOptions::new().notify(true).message()
}

/// Writes fail with EPIPE from now on. On the write side.
fn error_of_writing(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    queue.reply(Message::of_errors(None, Some(Errno::Pipe)))
}

fn is(queue: &Queue<'_, '_, '_>, flag: usize) -> Result<bool> {
    let mut byte = [0];
    queue.read_instance(flag, &mut byte)?;
    Ok(byte != [0])
}

fn set(queue: &mut Queue<'_, '_, '_>, flag: usize, value: bool) -> Result<()> {
    queue.write_instance(flag, &[u8::from(value)])
}

/// The default destination.
fn peer(queue: &Queue<'_, '_, '_>) -> Result<Option<Vec<u8>>> {
    let mut len = [0];
    queue.read_instance(PEER_LEN, &mut len)?;
    if len == [0] {
        return Ok(None);
    }
    let mut address = vec![0; usize::from(len[0]).min(ADDRESS_MAX)];
    queue.read_instance(PEER, &mut address)?;
    Ok(Some(address))
}

/// Whether two addresses are one. That of an internet socket has bytes that say nothing.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one == other || InternetAddress::decode(one).is_some_and(|address| InternetAddress::decode(other) == Some(address))
}

fn note_error(queue: &mut Queue<'_, '_, '_>, error: Errno) -> Result<()> {
    queue.write_instance(ERROR, &error.number().to_ne_bytes())
}

fn take_error(queue: &mut Queue<'_, '_, '_>) -> Result<Option<Errno>> {
    let mut number = [0; 4];
    queue.read_instance(ERROR, &mut number)?;
    queue.write_instance(ERROR, &[0; 4])?;
    let number = i32::from_ne_bytes(number);
    Ok((number != 0).then(|| Errno::new(number)))
}
