//! The head's handling of an arriving message (strrput). It runs in the process that sends.

use std::sync::atomic::Ordering;

use headwater_os::signal::SIGPOLL;
use headwater_shm::probe;

use crate::error::Result;
use crate::layout::EndWords;
use crate::message::kind::{Flush, Kind, MessageHeader};
use crate::message::{Message, NO_ERROR};
use crate::options::head::{ReadOptions, SetOptions, WriteOptions};
use crate::plumb::direction::{CHANGED, WriteSide};
use crate::process::end_state::{HUNG_UP, READ_ERROR, WRITE_ERROR};
use crate::process::inbox::{file_number, note_delivered};
use crate::process::listeners::SignalEvents;
use crate::queue::store::{HEAD, StoreGuard, Which};
use crate::sched::{Reply, Run, answer};

/// A notice to the reader: the store has something for it.
pub(crate) const URGENT: u8 = 1;

impl<'m> Run<'_, 'm> {
    /// Delivers a message to the head at the end of this direction.
    #[inline]
    pub fn deliver(&mut self, message: Message<'m>) -> Result<()> {
        if message.is_plain() && self.region.policy.lane && message.len() > 0 {
            self.effects.delivered = true;
            self.happens(SignalEvents::INPUT | SignalEvents::RDNORM);
            let data = message.data().unwrap_or_default();
            // A message from a module's queue arrives whole or not at all; see `Store::recover_transfer`.
            let done =
                if self.store.is_transferring() { self.lane.append_whole(data) } else { self.lane.append_plain(data) };
            self.act();
            return done;
        }
        let done = self.deliver_slowly(message);
        if done.is_ok() {
            self.act();
        }
        done
    }

    #[inline(never)]
    fn deliver_slowly(&mut self, message: Message<'m>) -> Result<()> {
        let reader = &self.region.fixed.ends[1 - self.direction].0;
        match message.header.kind {
            Kind::PassFile => {
                if message.header.band == 0 && self.region.policy.lane {
                    self.lane.append(message.header, None, message.data())?;
                    self.happens(SignalEvents::of_arrival(message.header));
                    self.effects.delivered = true;
                } else {
                    self.queue_at_head(&message)?;
                }
                note_delivered(
                    &self.region.fixed.ends[self.direction].0,
                    file_number(message.data().unwrap_or_default()),
                );
                Ok(())
            }
            Kind::Data | Kind::Proto if message.header.band == 0 && self.region.policy.lane => {
                self.effects.delivered = true;
                self.happens(SignalEvents::of_arrival(message.header));
                self.lane.append(message.header, message.control(), message.data())
            }
            Kind::PcProto => {
                // Only one waits at a head; a second is discarded.
                let waits = |store: &mut StoreGuard<'_>| store.find(HEAD, |stored| stored.header.kind == Kind::PcProto);
                if self.with_store(waits)?.is_some() { Ok(()) } else { self.queue_at_head(&message) }
            }
            Kind::Data | Kind::Proto => self.queue_at_head(&message),
            Kind::IocAck | Kind::IocNak | Kind::CopyIn | Kind::CopyOut => self.deliver_answer(&message),
            // It keeps its place behind the waiting messages, and is raised when it comes to the front.
            Kind::Signal if self.lane.count_now() > 0 && self.region.policy.lane => {
                self.effects.delivered = true;
                let header = MessageHeader { band: 0, ..message.header };
                self.lane.append(header, None, message.data())
            }
            Kind::Signal if !self.store.is_empty(HEAD) => self.queue_at_head(&message),
            Kind::Signal | Kind::PcSignal => {
                let number = message.data().and_then(|data| data.first()).copied().unwrap_or(0);
                self.happens(raise(reader, number));
                self.announce();
                Ok(())
            }
            Kind::Flush => self.flush(message),
            Kind::Hangup => {
                reader.state.fetch_or(HUNG_UP, Ordering::Release);
                self.happens(SignalEvents::HANGUP);
                self.announce();
                Ok(())
            }
            Kind::Unhangup => {
                reader.state.fetch_and(!HUNG_UP, Ordering::Release);
                self.announce();
                Ok(())
            }
            Kind::Error => {
                set_error(reader, &message);
                self.happens(SignalEvents::ERROR);
                self.announce();
                Ok(())
            }
            Kind::SetOptions => {
                self.set_options(reader, SetOptions::of(&message));
                Ok(())
            }
            Kind::Read => {
                // The reader at the other side of our lane waits for this many bytes.
                let words = message.data().and_then(|data| data.first_chunk::<4>());
                let wanted = words.map_or(1, |bytes| u32::from_le_bytes(*bytes));
                self.region.fixed.lanes[1 - self.direction].reader.0.wanted.store(wanted, Ordering::Relaxed);
                Ok(())
            }
            Kind::Ioctl | Kind::IocData => {
                self.refuse_ioctl(message);
                Ok(())
            }
            // For drivers, of which a pipe has none, and for neighbouring modules.
            Kind::Break | Kind::Delay | Kind::Control | Kind::Stop | Kind::Start => Ok(()),
            Kind::StopInput | Kind::StartInput | Kind::Event | Kind::Reserved | Kind::PcReserved => Ok(()),
        }
    }

    /// Queues a message in the store for the head.
    fn queue_at_head(&mut self, message: &Message<'_>) -> Result<()> {
        self.store_message(HEAD, message, |store, queue, message| store.put(queue, message))?;
        probe::at();
        if message.header.kind != Kind::Signal {
            self.happens(SignalEvents::of_arrival(message.header));
        }
        self.effects.delivered = true;
        if self.region.policy.lane {
            self.effects.urgent = true;
            self.far.notify(URGENT);
        }
        Ok(())
    }

    /// Notes events at the reading end, for which signals are sent after the lock is released.
    #[inline]
    fn happens(&mut self, events: SignalEvents) {
        self.effects.happened |= events;
    }

    /// Makes the reading end's members check its state again, also those that sleep.
    fn announce(&mut self) {
        self.far.notify(CHANGED | URGENT);
        self.effects.changed = true;
        answer::tell(&self.region.fixed.ends[1 - self.direction].0);
    }

    /// Something has changed that quick writes do not look at: the next one takes the way by which it does.
    pub fn close_quick_ways(&mut self) {
        self.lane.notify(CHANGED);
    }

    fn flush(&mut self, mut message: Message<'m>) -> Result<()> {
        let flush = Flush::of(&message);
        if flush.read {
            self.flush_head(flush.band.map_or(Which::All, Which::Band))?;
        }
        if flush.write && !message.header.turned {
            message.header.turned = true;
            *message.data_mut() = Flush { read: false, ..flush }.bytes().to_vec();
            self.effects.replies.push(Reply { from: None, message: message.into_owned() });
        }
        Ok(())
    }

    /// Discards the messages at the head.
    fn flush_head(&mut self, which: Which) -> Result<()> {
        self.set_limit();
        let WriteSide { far, store, .. } = &mut self.side;
        // It comes after the reader's.
        store.unlock();
        // Under the reader's lock: a reader in the middle of a call relies on the message that it has found at the
        // front.
        let flushed = far.hold_apart(self.me).and_then(|mut far| {
            store.lock()?.flush(HEAD, which)?;
            store.unlock();
            if matches!(which, Which::All | Which::Band(0)) { far.flush() } else { Ok(()) }
        });
        self.note(flushed)?;
        self.enable_last();
        Ok(())
    }

    fn set_options(&mut self, reader: &EndWords, options: SetOptions) {
        let flow = &self.region.fixed.lanes[self.direction].flow.0;
        let marks = (flow.hiwat.load(Ordering::Relaxed), flow.lowat.load(Ordering::Relaxed));
        if let Some(read) = options.read.and_then(|bits| ReadOptions::from_bits(bits).ok()) {
            read.set(reader);
        }
        let hiwat = options.hiwat.unwrap_or(marks.0).clamp(1, self.region.hiwat_max() as u32);
        self.region.set_water_marks(self.direction, hiwat, options.lowat.unwrap_or(marks.1).min(hiwat));
        if let Some(maxpsz) = options.maxpsz {
            flow.maxpsz.store(maxpsz.clamp(1, self.region.strmsgsz), Ordering::Relaxed);
        }
        if let Some(minpsz) = options.minpsz {
            flow.minpsz.store(minpsz.min(self.region.strmsgsz), Ordering::Relaxed);
        }
        if let Some(notify) = options.notify {
            WriteOptions::set_notify(reader, notify != 0);
        }
        self.lane.notify(CHANGED);
        self.announce();
        if options.hiwat.is_some() || options.lowat.is_some() {
            // The queue may be below its low-water mark now.
            self.enable_last();
        }
    }
}

/// Notes a signal for the end's processes to take. Returns the event for processes that are registered for signals.
pub(crate) fn raise(end: &EndWords, number: u8) -> SignalEvents {
    if (1..64).contains(&number) {
        end.signals.fetch_or(1 << number, Ordering::Release);
    }
    if i32::from(number) == SIGPOLL { SignalEvents::MSG } else { SignalEvents::default() }
}

fn set_error(end: &EndWords, message: &Message<'_>) {
    let (read, write) = match message.data() {
        // One byte: both sides.
        Some([both]) => (*both, *both),
        Some([read, write, ..]) => (*read, *write),
        _ => return,
    };
    for (errno, word, bit) in [(read, &end.read_error, READ_ERROR), (write, &end.write_error, WRITE_ERROR)] {
        match errno {
            NO_ERROR => {}
            0 => {
                end.state.fetch_and(!bit, Ordering::Release);
            }
            errno => {
                word.store(u32::from(errno), Ordering::Relaxed);
                end.state.fetch_or(bit, Ordering::Release);
            }
        }
    }
}
