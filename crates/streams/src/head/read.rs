//! read: bytes.

use std::sync::atomic::Ordering;

use super::stream::Stream;
use crate::error::{Errno, Error, Result};
use crate::process::end::post;
use crate::process::sleep::{BELL, FUTEX, LOOK, Waited};
use crate::queue::lane::reader::Front;
use crate::queue::lane::writer::Quick;

impl Stream {
    /// Reads bytes.
    #[inline]
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if let Some(me) = self.end.member() {
            match self.incoming.quick(me, buffer) {
                Quick::Done => return Ok(buffer.len()),
                Quick::Attend => {
                    self.attend_writer()?;
                    return Ok(buffer.len());
                }
                Quick::Refused => {}
            }
        }
        self.read_slowly(buffer)
    }

    #[cold]
    #[inline(never)]
    fn attend_writer(&mut self) -> Result<()> {
        let lane = &self.end.region.fixed.lanes[1 - self.end.side];
        if lane.writer.0.sleep.load(Ordering::Relaxed) & (FUTEX | BELL) != 0 && self.incoming.is_low() {
            self.end.counters.back_enables += 1;
            self.end.wake(false);
        }
        Ok(())
    }

    #[inline(never)]
    fn read_slowly(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.attach()?;
        loop {
            let me = self.end.member().expect("attached");
            self.incoming.hold(me)?;
            let front = self.incoming.front()?;
            if let Some(Front::Plain(_)) = front {
                let n = self.incoming.take_plain(buffer);
                let asleep = self.incoming.writer_sleeps();
                self.incoming.release(me, true);
                if asleep {
                    self.attend_writer()?;
                }
                return Ok(n);
            }
            self.incoming.release(me, false);
            if self.end.peer_gone {
                return Ok(0);
            }
            if self.nonblocking {
                return Err(Error::again("nothing there"));
            }
            let end = &mut self.end;
            let lane = &end.region.fixed.lanes[1 - end.side];
            let words = &end.region.fixed.ends[end.side].0;
            let post = post(lane, words, end.doorbell.as_ref().expect("open"), &end.region, false);
            let incoming = &self.incoming;
            let ready = || incoming.bytes_there() != 0 || lane.writer.0.sleep.load(Ordering::Relaxed) & LOOK != 0;
            let waited = post.sleep(&mut end.stages, &mut end.counters, &mut end.files, None, ready)?;
            match waited {
                Waited::Gone => self.end.peer_gone = true,
                Waited::Interrupted => return Err(Error::new(Errno::Intr, "interrupted")),
                _ => self.end.look_for_peer()?,
            }
        }
    }
}
