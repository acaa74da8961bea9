//! Passing open files (I_SENDFD, I_RECVFD): the file waits in the doorbell, under a number, and an M_PASSFP that carries
//! the number keeps its place in the stream.
//!
//! The file stays in the kernel until it is received, also if its sender ends or other messages are read meanwhile. One
//! whose message was flushed is dropped with the next file that is received, or when the queue is empty.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use headwater_os::descriptors::Sender;
use headwater_os::doorbell::{Doorbell, PassedFiles};
use headwater_os::futex;

use super::get::Taken;
use super::handle::Handle;
use super::peeked::ReadSide;
use super::state::{self, Call};
use crate::error::{Result, fixed};
use crate::message::Message;
use crate::message::kind::{Kind, MessageHeader};
use crate::plumb::direction::WriteSide;
use crate::process::end::{Access, End};
use crate::process::inbox::{file_number, is_after, note_delivered, ring};
use crate::process::region::Region;

/// An open file that was received, and its sender.
#[derive(Debug)]
#[non_exhaustive]
#[doc(alias = "strrecvfd")]
pub struct ReceivedFile {
    /// The file.
    pub file: OwnedFd,
    /// Effective user of the process that sent it, as the kernel reports it; None if the kernel does not. For a connection of the module
    /// `connld`: of the process that opened the name.
    pub user: Option<u32>,
    /// Its effective group.
    pub group: Option<u32>,
    /// The other descriptors of an end of a stream whose first one `file` is.
    pub(crate) others: Vec<OwnedFd>,
}

impl ReceivedFile {
    fn of(PassedFiles { mut files, sender }: PassedFiles) -> ReceivedFile {
        let others = files.split_off(1);
        let file = files.pop().expect("the first one, of which there is always one");
        let received =
            ReceivedFile { file, user: sender.map(|from| from.user), group: sender.map(|from| from.group), others };
        // If it fails, the process that waits for it learns of it by the end's first call.
        let _ = received.tell_received();
        received
    }

    /// Tells a process that waits until an end that it has sent is received.
    fn tell_received(&self) -> Result<()> {
        let Some(memory) = self.others.first() else { return Ok(()) };
        let doorbell = Doorbell::from_fd(self.file.try_clone()?)?;
        let region = Region::open(memory.try_clone()?)?;
        let Some(side) = region.side_of(doorbell.cookie()?) else { return Ok(()) };
        let opened = &region.fixed.ends[side].0.opened;
        opened.fetch_add(1, Ordering::AcqRel);
        futex::wake(opened, u32::MAX)?;
        Ok(())
    }
}

impl Handle {
    pub(crate) fn send_file(&mut self, file: BorrowedFd<'_>) -> Result<()> {
        self.send_files(&[file], None)
    }

    pub(crate) fn send_stream(&mut self, end: &Handle) -> Result<()> {
        end.end.check_open()?;
        let files: Vec<BorrowedFd<'_>> = end.end.endpoint.descriptors().collect();
        self.send_files(&files, None)
    }

    /// Sends files that belong together, for a sender that this process states.
    pub(crate) fn send_files(&mut self, files: &[BorrowedFd<'_>], sender: Option<Sender>) -> Result<()> {
        self.attach()?;
        self.may_write()?;
        if self.end.endpoint.access != Access::Both {
            return Err(fixed!(Inval, "a file is passed through a pipe, and not through a FIFO"));
        }
        if self.end.region.driver.is_some() {
            return Err(fixed!(Inval, "a file is passed through a pipe, and not to a driver"));
        }
        let (region, side) = (self.end.region.clone(), self.end.side);
        let endpoint = self.end.endpoint.clone();
        let doorbell = endpoint.doorbell();
        let (own, peer) = (&region.fixed.ends[side].0, &region.fixed.ends[1 - side].0);
        loop {
            let sent = self.run(true, |run| {
                if !run.can_put_from(0, 0)? {
                    return Ok(false);
                }
                // Under the writer's lock, so that files and messages have one order.
                let number = own.files.load(Ordering::Relaxed).wrapping_add(1);
                own.files.store(number, Ordering::Relaxed);
                peer.sent.fetch_add(1, Ordering::AcqRel);
                doorbell.pass_all(files, number, sender)?;
                run.act();
                // The descriptor stays readable when the file has been received.
                ring(peer, doorbell);
                run.put(
                    0,
                    Message::new(MessageHeader::of(Kind::PassFile), None, Some(&number.to_le_bytes())).into_owned(),
                )?;
                Ok(true)
            });
            if self.remember_failure(sent)? {
                return Ok(());
            }
            // The descriptor reports room from now on.
            if self.arm_to_write(0)? {
                return Err(fixed!(Again, "the stream is full (its queue is above hiwat)"));
            }
        }
    }

    pub(crate) fn receive_file(&mut self) -> Result<OwnedFd> {
        Ok(self.receive_file_from()?.file)
    }

    pub(crate) fn receive_file_from(&mut self) -> Result<ReceivedFile> {
        self.attach()?;
        loop {
            state::check(self.end.words(), Call::Read)?;
            let taken = self.take_file();
            if let Some(files) = self.remember_failure(taken)? {
                return Ok(ReceivedFile::of(files));
            }
            if !self.wait_for_more(1)? {
                return Err(fixed!(Nxio, "the stream has ended, and no file is there"));
            }
        }
    }

    /// Takes the file of the message at the front, then the message. None if there is no message.
    fn take_file(&mut self) -> Result<Option<PassedFiles>> {
        let options = self.read_options();
        let Handle { back, end, .. } = self;
        let mut side = back.begin_reading(end, options)?;
        let taken = side.take_file(end);
        let room = side.end();
        self.after_taking(room);
        taken
    }
}

impl ReadSide<'_> {
    /// The file of the message at the front.
    fn take_file(&mut self, end: &End) -> Result<Option<PassedFiles>> {
        self.lane.look()?;
        let Some(item) = self.front_but_signals()? else { return Ok(None) };
        if item.header.kind != Kind::PassFile {
            return Err(fixed!(Badmsg, "the message at the front is no open file"));
        }
        let mut number = [0; 4];
        self.copy_data(&item, &mut number)?;
        let files = end.inbox().take_files(file_number(&number))?;
        self.take(&item, Taken::ALL)?;
        let lost = || fixed!(Io, "the file is not there: its receiver was killed, or its sender is no friend");
        files.ok_or_else(lost).map(Some)
    }
}

impl WriteSide<'_> {
    /// Finds the number up to which the files of the other end have no message any more that is still to be delivered,
    /// for the next check of the descriptor: their sender died on the way, or a module has dropped them. For the
    /// direction that `end` reads, while no process is about to deliver one.
    pub(super) fn find_files_lost(&mut self, end: &End) -> Result<()> {
        let waiting = self.first_file_waiting()?;
        let peer = end.peer_words();
        let known = peer.files.load(Ordering::Relaxed);
        note_delivered(peer, waiting.map_or(known, |number| number.wrapping_sub(1)));
        Ok(())
    }

    /// The number of the oldest open file whose message waits in a module's queue.
    fn first_file_waiting(&mut self) -> Result<Option<u32>> {
        let mut first: Option<u32> = None;
        for link in self.chain.iter().filter(|link| link.service) {
            let store = self.store.lock()?;
            let Some(stored) = store.find(link.queue, |stored| stored.header.kind == Kind::PassFile)? else { continue };
            let mut bytes = [0; 4];
            store.copy_data(&stored, &mut bytes)?;
            let number = file_number(&bytes);
            if first.is_none_or(|first| is_after(first, number)) {
                first = Some(number);
            }
        }
        Ok(first)
    }
}
