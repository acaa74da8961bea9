//! `ptm` and `pts`: the two sides of a pseudo-terminal, as two streams that are partners. What is written to one is read from the
//! other; `ptem` and `ldterm`, pushed on the slave's side, make a terminal of it.
//!
//! - The master's side is opened by clone open and has the number of its slave. It is locked until [`UNLOCK`].
//! - When the master has gone the slave is hung up (M_HANGUP). When the last process that has the slave has gone, a message of no
//!   bytes arrives at the master, and then the end of the stream.
//!
//! Written from ptm(7), pts(7), grantpt(3), unlockpt(3) and ptsname(3) of SVR4's manuals; the ioctls of Linux are those of pty(7)
//! and ioctl_tty(2).

use std::mem;

use headwater_streams::{
    Driver, DriverInfo, Errno, Error, Flush, IoctlBlock, Kind, Message, MessageHeader, Opening, Queue, Result, Side,
};

/// The ioctl that tells whether a stream is a master's side, and of which number (ISPTM); its value is the number.
#[doc(alias = "ISPTM")]
pub const NUMBER: u32 = (b'P' as u32) << 8 | 1;
/// The ioctl that lets the slave's side be opened (UNLKPT, of unlockpt(3)).
#[doc(alias = "UNLKPT")]
pub const UNLOCK: u32 = (b'P' as u32) << 8 | 2;
/// The ioctls that give the slave's side to a user (PT_OWNER and OWNERPT, of grantpt(3)). They change nothing: who may open it is
/// decided by the directory of devices.
#[doc(alias = "PT_OWNER")]
#[doc(alias = "OWNERPT")]
pub const GRANT: [u32; 2] = [(b'P' as u32) << 8 | 5, (b'P' as u32) << 8 | 6];
/// The ioctl of zones, which this system does not have: it changes nothing (ZONEPT).
#[doc(alias = "ZONEPT")]
pub const ZONE: u32 = (b'P' as u32) << 8 | 4;
/// Linux's ioctl for the number of the slave's side: an `unsigned int` (TIOCGPTN).
#[doc(alias = "TIOCGPTN")]
pub const GET_NUMBER: u32 = 0x8004_5430;
/// Linux's ioctl that locks the slave's side, or unlocks it: an `int` (TIOCSPTLCK).
#[doc(alias = "TIOCSPTLCK")]
pub const SET_LOCK: u32 = 0x4004_5431;
/// Linux's ioctl that tells whether the slave's side is locked: an `int` (TIOCGPTLCK).
#[doc(alias = "TIOCGPTLCK")]
pub const GET_LOCK: u32 = 0x8004_5439;

/// The byte of the master's memory that says whether its slave may be opened.
const UNLOCKED: usize = 0;
/// The byte of the slave's memory that says that it was closed, and that the master is still to get the end.
const CLOSED: usize = 1;

/// The driver.
#[derive(Debug)]
pub struct Pty;

impl Driver for Pty {
    fn info(&self) -> DriverInfo {
        DriverInfo::new("ptm").pairs_with("pts").service(Side::Read).service(Side::Write).instance(2)
    }

    fn open(&self, opening: &Opening, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        if is_master(queue) && !opening.is_first {
            return Err(Error::new(Errno::Busy, "the master's side of a pseudo-terminal is opened once"));
        }
        Ok(())
    }

    fn admit(&self, _opening: &Opening, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        let mut unlocked = [0];
        queue.read_instance(UNLOCKED, &mut unlocked)?;
        if unlocked == [0] {
            return Err(Error::new(
                Errno::Acces,
                "the pseudo-terminal is locked: its master has not unlocked it (unlockpt)",
            ));
        }
        Ok(())
    }

    fn close(&self, queue: &mut Queue<'_, '_, '_>) {
        if !queue.has_partner() {
            return;
        }
        // If it cannot be sent, the kernel's hang-up alone says that this side has gone.
        let _ = if is_master(queue) {
            queue.put_partner(Message::new(MessageHeader::of(Kind::Hangup), None, None))
        } else {
            queue.write_instance(CLOSED, &[1]).and_then(|()| end_behind_all(queue))
        };
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        let band = message.header.band;
        match message.header.kind {
            Kind::Data | Kind::Proto if queue.size(band).0 == 0 && queue.can_put_partner(band)? => {
                queue.put_partner(message)?;
                end_behind_all(queue)
            }
            Kind::PcProto if queue.has_partner() => queue.put_partner(message),
            Kind::Data | Kind::Proto | Kind::PcProto => queue.put_queue(message),
            Kind::Flush => flush(message, queue),
            Kind::Ioctl | Kind::IocData if is_master(queue) => master_ioctl(message, queue),
            // The slave's side has none of its own: `ptem` answers the terminal's.
            Kind::Ioctl => queue.refuse(&message, Errno::Inval),
            // What a module of the slave's side answers to an ioctl of the master's, and what one side tells the other's modules.
            Kind::IocAck | Kind::IocNak | Kind::CopyIn | Kind::CopyOut if !is_master(queue) => tell(message, queue),
            Kind::Break | Kind::Control | Kind::Stop | Kind::Start | Kind::StopInput | Kind::StartInput => {
                tell(message, queue)
            }
            _ => Ok(()),
        }
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        if queue.serve_partner()? { end_behind_all(queue) } else { Ok(()) }
    }
}

/// Of a slave's side that was closed: sends the message of no bytes, once what was written before has been sent. The master's
/// processes send what still waits here, as there is room.
fn end_behind_all(queue: &mut Queue<'_, '_, '_>) -> Result<()> {
    let mut closed = [0];
    queue.read_instance(CLOSED, &mut closed)?;
    if closed == [0] || !queue.has_partner() || !queue.is_chain_empty() {
        return Ok(());
    }
    queue.put_partner(Message::new(MessageHeader::of(Kind::Data), None, Some(&[])))?;
    queue.write_instance(CLOSED, &[0])
}

fn is_master(queue: &Queue<'_, '_, '_>) -> bool {
    queue.minor().is_some_and(|minor| minor.is_multiple_of(2))
}

/// Sends the partner a message that does not wait; without a partner it is gone.
fn tell<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    if queue.has_partner() { queue.put_partner(message) } else { Ok(()) }
}

/// The write side of one stream is the read side of the other: the flags of a flush change places where they meet.
fn flush<'m>(mut message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    if !queue.has_partner() {
        return queue.flush_as_driver(message);
    }
    queue.flush_as(&message)?;
    let mut flush = Flush::of(&message);
    mem::swap(&mut flush.read, &mut flush.write);
    *message.data_mut() = flush.bytes().to_vec();
    queue.put_partner(message)
}

/// An ioctl of the master's side: one of the driver's own, or one for the terminal, which the slave's modules answer.
fn master_ioctl<'m>(message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
    let block = IoctlBlock::of(&message)?;
    let number = queue.minor().unwrap_or(0) / 2;
    match block.command {
        NUMBER => queue.acknowledge(&message, number as i32, None),
        UNLOCK => {
            queue.write_instance(UNLOCKED, &[1])?;
            queue.acknowledge(&message, 0, None)
        }
        command if GRANT.contains(&command) || command == ZONE => queue.acknowledge(&message, 0, None),
        GET_NUMBER => queue.give(&message, &number.to_ne_bytes()),
        GET_LOCK => {
            let mut unlocked = [0];
            queue.read_instance(UNLOCKED, &mut unlocked)?;
            queue.give(&message, &u32::from(unlocked == [0]).to_ne_bytes())
        }
        SET_LOCK => {
            let Some(locks) = queue.take(&message, 4)? else { return Ok(()) };
            queue.write_instance(UNLOCKED, &[u8::from(locks == [0; 4])])?;
            queue.acknowledge(&message, 0, None)
        }
        _ if queue.has_partner() => queue.put_partner(message),
        _ if message.header.kind == Kind::IocData => Ok(()),
        _ => queue.refuse(&message, Errno::Inval),
    }
}
