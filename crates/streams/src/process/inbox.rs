//! The packets in an end's doorbell: when its descriptor is readable, and which packets may be taken out.
//!
//! The descriptor's state must be right for every process that holds the end, whichever of them reads. The rule:
//! **while there is something to read, a packet lies in the doorbell, or the reader's side is armed and a writer that
//! has published is about to ring**. It holds from the beginning, because a stream is made armed. A writer rings first
//! and clears the flag afterwards, so one that is killed in between leaves the flag to the next. A reader takes packets
//! out only after it has armed the side anew and then found nothing to read; packets that were counted as sent before
//! that look belong to messages that have been taken. All of this is under the lock of the side.
//!
//! Uncounted packets are left by processes that died. They are found when the descriptor is readable without a reason a
//! second time, and are distinguished from new ones by their number.

use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_os::doorbell::{Doorbell, Packet, PassedFiles};
use headwater_os::fence::Fence;
use headwater_shm::probe;

use super::sleep::{BELL, ECHO, RINGING, announce};
use crate::error::{Errno, Error, Result};
use crate::layout::{EndWords, Side};

/// The largest number of packets that one call takes. Only a peer that sends for ever causes more.
const PACKETS_MAX: u32 = 256;
/// The most packets that are left while a program leaves messages unread: a small socket has room for few.
const LEFT_MAX: u32 = 8;

/// The doorbell of one end, as a user of one of its sides sees it.
#[derive(Debug)]
pub(crate) struct Inbox<'a> {
    /// The end that receives, and the other one.
    pub end: &'a EndWords,
    pub peer: &'a EndWords,
    /// The side that is notified by its packets: the end's readers.
    pub side: &'a Side,
    pub doorbell: &'a Doorbell,
    /// Of a device: the doorbell that rings at this end.
    pub far: Option<&'a Doorbell>,
    /// Of a device whose driver pairs streams, in a process that has not met the partner: where its cookie comes to stand.
    pub partner: Option<&'a AtomicU64>,
    pub fence: Fence,
}

/// The result of taking packets out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drained {
    /// Only bells that answer earlier armings.
    Stale,
    /// A bell that answers the latest arming.
    Fresh,
}

impl Inbox<'_> {
    /// Makes the descriptor readable once `ready` holds, and not before. Returns false if it holds already.
    ///
    /// Errors: `EPROTO` if another program has written to the descriptor.
    pub fn arm(&self, ready: impl Fn() -> bool) -> Result<bool> {
        let was_armed = self.side.sleep.load(Ordering::Acquire) & (BELL | RINGING) == BELL;
        if was_armed && self.counted() == 0 {
            if ready() {
                return Ok(false);
            }
            if matches!(self.doorbell.peek()?, Packet::Nothing | Packet::Gone) {
                return Ok(true);
            }
        }
        let arms = self.end.arms.load(Ordering::Relaxed).wrapping_add(1).max(1);
        self.end.arms.store(arms, Ordering::Relaxed);
        probe::at();
        // A ringer that has turned BELL into RINGING before has published before.
        announce(self.side, BELL, RINGING, self.fence)?;
        // Before the look: the packets counted here belong to messages that were published before it, files too.
        let until = self.end.sent.load(Ordering::Acquire);
        let files_put = self.peer.files_put.load(Ordering::Acquire);
        if ready() {
            return Ok(false);
        }
        if self.doorbell.is_pipe() {
            return self.empty_pipe(until, ready);
        }
        let mut drained = self.take_counted(until, arms, files_put)?;
        if was_armed && drained == Drained::Stale {
            drained = self.take_stale(arms, files_put)?;
        }
        if drained == Drained::Stale {
            return Ok(true);
        }
        self.arm_again()?;
        let is_ready = ready();
        if is_ready {
            // Other users of this end look now; a program without the library is notified when the other end's process
            // rings back.
            self.end.own_events.fetch_add(1, Ordering::Release);
            self.doorbell.nudge_own()?;
            match self.far {
                Some(far) => drop(ring(self.end, far)),
                None => ask_echo(self.side, self.peer, self.doorbell),
            }
        }
        Ok(!is_ready)
    }

    /// The bells of a FIFO have no numbers, so one that answers this arming may be taken with the others.
    fn empty_pipe(&self, until: u32, ready: impl Fn() -> bool) -> Result<bool> {
        self.refuse_foreign(self.doorbell.drain_pipe()?)?;
        probe::at();
        self.end.taken.store(until, Ordering::Relaxed);
        self.arm_again()?;
        let is_ready = ready();
        if is_ready {
            self.doorbell.ring_own();
        }
        Ok(!is_ready)
    }

    /// Makes the descriptor report the next message though there are unread ones: it stays readable. Returns false if `more`
    /// holds already.
    ///
    /// Errors: `EPROTO` if another program has written to the descriptor.
    pub fn await_more(&self, more: impl Fn() -> bool) -> Result<bool> {
        if self.counted() >= LEFT_MAX {
            // Else they would fill the socket, and no more could be reported.
            return self.arm(more);
        }
        self.arm_again()?;
        Ok(!more())
    }

    fn arm_again(&self) -> Result<()> {
        if self.side.sleep.load(Ordering::Acquire) & (BELL | RINGING) != BELL {
            announce(self.side, BELL, RINGING, self.fence)?;
        }
        Ok(())
    }

    /// Takes the packet that keeps the other end's descriptor from being writable, and those before it. A bell lies
    /// behind it. If it is not there, the others stay: nothing else may report the readable data. False if a file
    /// lies before it whose message has not been received.
    pub fn free_room(&self) -> Result<bool> {
        if self.doorbell.is_pipe() {
            self.refuse_foreign(self.doorbell.free_pipe()?)?;
            return Ok(true);
        }
        for _ in 0..PACKETS_MAX {
            if !self.doorbell.may_hold_no_room()? {
                break;
            }
            if self.has_files() && matches!(self.doorbell.peek()?, Packet::File(_)) {
                return Ok(false);
            }
            if matches!(self.take()?, Packet::NoRoom | Packet::Nothing | Packet::Gone) {
                break;
            }
        }
        Ok(true)
    }

    /// Takes the open files of that number, and drops what lies before them. None if they are not there.
    ///
    /// Errors: `EMFILE` without as many free descriptors; the files stay.
    pub fn take_files(&self, number: u32) -> Result<Option<PassedFiles>> {
        for _ in 0..PACKETS_MAX {
            match self.doorbell.peek()? {
                Packet::Nothing | Packet::Gone => break,
                Packet::File(found) if found == number => {
                    let files = self.doorbell.peek_files()?;
                    self.take_keeping(files.as_ref().map_or(&[], |found| &found.files))?;
                    return Ok(files);
                }
                // A later one, whose message is still to come.
                Packet::File(found) if is_after(found, number) => break,
                _ => drop(self.take()?),
            }
        }
        Ok(None)
    }

    /// Of a device: rings at this end.
    pub fn ring_by_driver(&self) {
        if let Some(far) = self.far {
            ring(self.end, far);
        }
    }

    /// Whether the other end has sent files that were not received.
    fn has_files(&self) -> bool {
        self.peer.files.load(Ordering::Relaxed) != self.end.files_taken.load(Ordering::Relaxed)
    }

    /// Packets that are counted as sent and not as taken.
    fn counted(&self) -> u32 {
        left(self.end.sent.load(Ordering::Acquire), self.end.taken.load(Ordering::Relaxed))
    }

    /// Whether a partner has left files that this process has not taken. Looked at after `files_put`, which is stored later.
    fn awaits_partner(&self) -> bool {
        self.partner.is_some_and(|cookie| cookie.load(Ordering::Acquire) != 0)
    }

    /// Takes the first packet, but for a file whose message is still to come, or which `meet_partner` takes: then None. The sender
    /// passes the file first.
    fn take_stale_one(&self, files_put: u32) -> Result<Option<Packet>> {
        if self.peer.files.load(Ordering::Relaxed) != 0 {
            match self.doorbell.peek()? {
                // Not taken: a file may come after this look.
                packet @ (Packet::Nothing | Packet::Gone) => return Ok(Some(packet)),
                // A number that the other end has not assigned comes from a hostile peer.
                Packet::File(number)
                    if is_after(number, files_put) && !is_after(number, self.peer.files.load(Ordering::Relaxed)) =>
                {
                    return Ok(None);
                }
                Packet::File(_) if self.awaits_partner() => return Ok(None),
                _ => {}
            }
        }
        self.take().map(Some)
    }

    fn take_counted(&self, until: u32, arms: u32, files_put: u32) -> Result<Drained> {
        let mut drained = Drained::Stale;
        for _ in 0..left(until, self.end.taken.load(Ordering::Relaxed)) {
            let Some(packet) = self.take_stale_one(files_put)? else { break };
            match packet {
                // Its sender has died before it sent, or sends it at this moment.
                Packet::Nothing | Packet::Gone => {
                    self.end.taken.store(until, Ordering::Relaxed);
                    break;
                }
                Packet::Bell(number) if number == arms => drained = Drained::Fresh,
                _ => {}
            }
        }
        Ok(drained)
    }

    /// Takes out the packets that answer earlier armings.
    fn take_stale(&self, arms: u32, files_put: u32) -> Result<Drained> {
        for _ in 0..PACKETS_MAX {
            match self.doorbell.peek()? {
                Packet::Nothing | Packet::Gone => break,
                Packet::Bell(number) if number == arms => return Ok(Drained::Fresh),
                _ => {
                    let taken = self.end.taken.load(Ordering::Relaxed);
                    if self.take_stale_one(files_put)?.is_none() {
                        break;
                    }
                    // It was counted before, or never.
                    self.end.taken.store(taken, Ordering::Relaxed);
                }
            }
        }
        Ok(Drained::Stale)
    }

    /// Checks the remaining packets when the other end is gone: a program that knows nothing of streams may have
    /// written there.
    ///
    /// Errors: `EPROTO` if one has.
    pub fn refuse_strangers(&self, ready: impl Fn() -> bool) -> Result<()> {
        if self.doorbell.is_pipe() {
            return self.arm(ready).map(drop);
        }
        for _ in 0..PACKETS_MAX {
            // A file is taken with its message. The descriptor stays readable without the bells: the other end is gone.
            if matches!(self.doorbell.peek()?, Packet::Nothing | Packet::Gone | Packet::File(_)) {
                break;
            }
            self.take()?;
        }
        Ok(())
    }

    /// Fails if a FIFO's pipe has `len` bytes, more than 0, that this library has not written.
    fn refuse_foreign(&self, len: usize) -> Result<()> {
        if len == 0 { Ok(()) } else { Err(self.foreign(len)) }
    }

    /// The other end's descriptor is used by a program that knows nothing of streams, and wrote `len` bytes.
    #[cold]
    fn foreign(&self, len: usize) -> Error {
        refuse_program(self.end, self.doorbell);
        let why = format!(
            "{len} bytes were written to the descriptor of this stream's other end by a program that does not use \
             headwater, its standard output perhaps: give such a program a kernel pipe and copy between the two"
        );
        Error::broken(Errno::Proto, why)
    }

    /// Takes one packet, and handles a request in it.
    fn take(&self) -> Result<Packet> {
        self.take_keeping(&[])
    }

    /// As [`Inbox::take`], of a packet whose files are kept.
    fn take_keeping(&self, kept: &[OwnedFd]) -> Result<Packet> {
        let taken = self.end.taken.load(Ordering::Relaxed);
        let packet = self.doorbell.take_keeping(kept)?;
        probe::at();
        match packet {
            Packet::Nothing | Packet::Gone => return Ok(packet),
            Packet::Echo => {
                ring(self.peer, self.doorbell);
            }
            Packet::Foreign(len) => return Err(self.foreign(len)),
            Packet::File(number) => self.end.files_taken.store(number, Ordering::Relaxed),
            Packet::Bell(_) | Packet::NoRoom => {}
        }
        self.end.taken.store(taken.wrapping_add(1), Ordering::Relaxed);
        Ok(packet)
    }
}

/// Rings at the end that `end` describes, whose doorbell's other end is `doorbell`.
/// Returns false if every copy of that end is closed.
pub(crate) fn ring(end: &EndWords, doorbell: &Doorbell) -> bool {
    // AcqRel: counted after the publication, and before the packet is sent.
    end.sent.fetch_add(1, Ordering::AcqRel);
    probe::at();
    // Acquire pairs with the Release in `Inbox::arm`: the number is that of the arming that was seen, or later.
    let heard = doorbell.ring(end.arms.load(Ordering::Acquire));
    probe::at();
    heard
}

/// A program that knows nothing of streams uses the other end's descriptor. All users of our own end get `EPROTO`, and
/// the program by an error of its next write and the end of the file: the sockets are shut down. A FIFO's pipe cannot be.
#[cold]
pub(crate) fn refuse_program(own: &EndWords, doorbell: &Doorbell) {
    own.raise_error(Errno::Proto);
    if !doorbell.is_pipe() {
        // If it fails the program notices when this end is closed.
        let _ = doorbell.shutdown(Shutdown::Both);
    }
}

/// Asks the other end's processes to ring back, because readers of our own end wait for an event that this end itself
/// has caused. Once, until they do.
pub(crate) fn ask_echo(own: &Side, peer: &EndWords, doorbell: &Doorbell) {
    if own.sleep.fetch_or(ECHO, Ordering::Relaxed) & ECHO == 0 {
        peer.sent.fetch_add(1, Ordering::AcqRel);
        doorbell.ask_echo();
    }
}

/// Makes the end's own descriptor not writable until `peer`'s readers have made room. Returns false if it was so already.
pub(crate) fn block_room(peer: &EndWords, doorbell: &Doorbell) -> Result<bool> {
    if !doorbell.is_room_open()? {
        return Ok(false);
    }
    if doorbell.is_pipe() {
        let filled = doorbell.block_room(0)?;
        probe::at();
        return Ok(filled);
    }
    // The packet, and the bell behind it: there is still something to read when the packet is taken. As in `ring`.
    peer.sent.fetch_add(2, Ordering::AcqRel);
    probe::at();
    doorbell.block_room(peer.arms.load(Ordering::Acquire))?;
    probe::at();
    Ok(true)
}

/// Whether one number of a file was given after another.
pub(crate) fn is_after(number: u32, other: u32) -> bool {
    number.wrapping_sub(other) as i32 > 0
}

/// The number of an open file that a message's data name.
pub(crate) fn file_number(data: &[u8]) -> u32 {
    data.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// No message of a file of that number, or of one before it, is on its way any more. Under the writer's lock.
pub(crate) fn note_delivered(sender: &EndWords, number: u32) {
    if is_after(number, sender.files_put.load(Ordering::Relaxed)) {
        // Release pairs with the Acquire in `Inbox::arm`: a process that sees the number finds the message.
        sender.files_put.store(number, Ordering::Release);
    }
}

/// How far one counter is behind another; a number from a hostile peer is bounded.
fn left(sent: u32, taken: u32) -> u32 {
    match sent.wrapping_sub(taken) {
        ahead if ahead as i32 <= 0 => 0,
        left => left.min(PACKETS_MAX),
    }
}
