//! The threads that are noted apart from the logs, as records of a trace.

use headwater_trace::event::THREAD;
use headwater_trace::region::EVENTS_MAX;

use super::{Consumer, STREAM};
use crate::ctf::{Error, Packet};
use crate::record::{HEAD, Head};

impl Consumer {
    /// Writes who the session's threads are, into a ring of its own behind those of the logs. Who has said so before the first
    /// record of the trace says it there: the trace begins with what it holds. While threads still come, it stops at the first
    /// that has taken its place and not said who it is.
    pub(super) fn write_who(&mut self) -> Result<(), Error> {
        // What any program may have spoiled is believed only if it is what we write.
        let is_ours = |id: &usize| {
            let kind = self.region.kind(*id);
            kind.is_some_and(|kind| {
                let fields = kind.fields.iter().map(|field| (field.name.as_str(), field.kind.size()));
                kind.name == THREAD && fields.eq([("pid", Some(4)), ("name", None)])
            })
        };
        let Some(id) = (0..EVENTS_MAX).find(is_ours) else { return Ok(()) };
        let noted = self.region.greetings(self.greeted);
        let noted: Vec<_> = if self.closed { noted.collect() } else { noted.take_while(Option::is_some).collect() };
        let position = self.greeted + noted.len() as u32;
        let mut greetings: Vec<_> = noted.into_iter().flatten().collect();
        if greetings.is_empty() {
            return Ok(());
        }
        self.learn_kinds()?;
        // Two that came at once may stand in each other's place.
        greetings.sort_by_key(|greeting| greeting.time);
        // Before the record that has the first time, not beside it.
        let (first, last) = self.span.map_or((0, u64::MAX), |(first, last)| (first.saturating_sub(1), last));
        let ring = self.rings.len() as u32;
        // One that was slow to take its place has an earlier time than one that was carried; its first record comes later yet.
        let first = first.max(self.writer.last_time(STREAM, ring));
        let last = last.max(first);
        let mut bytes = Vec::new();
        for greeting in &mut greetings {
            // Never later than it can be, whatever a program has put there.
            greeting.time = greeting.time.clamp(first, last);
            let fields = [&greeting.pid.to_le_bytes()[..], &greeting.name, &[0]].concat();
            let len = Head::len_with(fields.len());
            let head = Head { time: greeting.time, event: id as u16, len: len as u16, thread: greeting.thread };
            let start = bytes.len();
            bytes.extend_from_slice(&head.to_bytes());
            bytes.extend_from_slice(&fields);
            bytes.resize(start + len.max(HEAD), 0);
        }
        let (begin, end) = (greetings[0].time, greetings[greetings.len() - 1].time);
        let parts = &[&bytes[..]];
        let at = u64::from(position);
        let packet = Packet { stream: STREAM, ring, cpu: u32::MAX, begin, end, discarded: 0, position: at, parts };
        match self.writer.packet(packet) {
            // Somebody has spoiled them.
            Err(Error::Unsound { .. }) => {}
            written => {
                self.totals.bytes += written?;
                self.totals.written += greetings.len() as u64;
            }
        }
        self.greeted = position;
        Ok(())
    }
}
