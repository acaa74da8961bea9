//! write: bytes without boundaries.

use std::sync::atomic::Ordering;

use super::stream::Stream;
use crate::error::{Errno, Error, Result};
use crate::process::end::post;
use crate::process::sleep::{LOOK, Waited};
use crate::queue::lane::writer::Quick;

impl Stream {
    /// Writes bytes.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if let Some(me) = self.end.member() {
            match self.out.quick(me, bytes) {
                Quick::Done => return Ok(bytes.len()),
                Quick::Attend => {
                    self.attend_reader()?;
                    return Ok(bytes.len());
                }
                Quick::Refused => {}
            }
        }
        self.write_slowly(bytes)
    }

    #[cold]
    #[inline(never)]
    fn attend_reader(&mut self) -> Result<()> {
        self.end.look_for_peer()?;
        if self.end.peer_gone {
            self.out.close();
            return Err(Error::new(Errno::Pipe, "the other end of the stream is gone"));
        }
        self.end.wake(true);
        Ok(())
    }

    #[inline(never)]
    fn write_slowly(&mut self, bytes: &[u8]) -> Result<usize> {
        self.attach()?;
        let mut written = 0;
        while written < bytes.len() {
            if self.end.peer_gone {
                return Err(Error::new(Errno::Pipe, "the other end of the stream is gone"));
            }
            let me = self.end.member().expect("attached");
            self.out.hold(me)?;
            self.out.set_flow(self.end.region.policy.coalescing);
            if self.out.has_room()? {
                let piece = (bytes.len() - written).min(65536);
                self.out.append_plain(&bytes[written..written + piece])?;
                written += piece;
                let asleep = self.out.reader_sleeps();
                self.out.release(me, true);
                if asleep {
                    self.attend_reader()?;
                }
                continue;
            }
            self.out.release(me, false);
            if self.nonblocking {
                return if written > 0 { Ok(written) } else { Err(Error::again("the stream is full")) };
            }
            let end = &mut self.end;
            let lane = &end.region.fixed.lanes[end.side];
            let words = &end.region.fixed.ends[end.side].0;
            let post = post(lane, words, end.doorbell.as_ref().expect("open"), &end.region, true);
            let out = &self.out;
            let ready = || out.may_go_on() || lane.reader.0.sleep.load(Ordering::Relaxed) & LOOK != 0;
            let waited = post.sleep(&mut end.stages, &mut end.counters, &mut end.files, None, ready)?;
            match waited {
                Waited::Gone => self.end.peer_gone = true,
                Waited::Interrupted => return Err(Error::new(Errno::Intr, "interrupted")),
                _ => self.end.look_for_peer()?,
            }
        }
        Ok(written)
    }
}
