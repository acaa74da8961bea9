//! Writes the session's lists of threads and of modules as records of a trace.

use headwater_trace::event::{MODULE, THREAD};

use super::{Consumer, STREAM};
use crate::ctf::{Error, Packet};
use crate::record::{HEAD, Head};

impl Consumer {
    /// Writes ids and names of the session's threads into a ring of its own, numbered after those of the logs. Threads
    /// that registered before the first record of the trace get its time, because the trace begins there. While
    /// programs are running, stops at the first entry that is reserved but not yet complete.
    pub(super) fn write_threads(&mut self) -> Result<(), Error> {
        // Programs can overwrite the table: the event type is used only if it is exactly what our library defines.
        let is_ours = |id: &usize| {
            let kind = self.region.kind(*id);
            kind.is_some_and(|kind| {
                let fields = kind.fields.iter().map(|field| (field.name.as_str(), field.kind.size()));
                kind.name == THREAD && fields.eq([("pid", Some(4)), ("name", None)])
            })
        };
        let Some(id) = (0..self.region.kinds_end(0)).find(is_ours) else { return Ok(()) };
        let listed = self.region.greetings(self.threads_written);
        let listed: Vec<_> = if self.closed { listed.collect() } else { listed.take_while(Option::is_some).collect() };
        let position = self.threads_written + listed.len() as u32;
        let mut entries: Vec<_> = listed.into_iter().flatten().collect();
        if entries.is_empty() {
            return Ok(());
        }
        self.add_event_types()?;
        // Two threads that register at the same time may have their entries in either order.
        entries.sort_by_key(|entry| entry.time);
        // Strictly before the record with the first time.
        let (first, last) = self.span.map_or((0, u64::MAX), |(first, last)| (first.saturating_sub(1), last));
        let ring = self.rings.len() as u32;
        // A thread that was slow to complete its entry may have an earlier time than one that was already written; its
        // first record is later still.
        let first = first.max(self.writer.last_time(STREAM, ring));
        let last = last.max(first);
        let mut bytes = Vec::new();
        for entry in &mut entries {
            // A program may have damaged the time.
            entry.time = entry.time.clamp(first, last);
            let fields = [&entry.pid.to_le_bytes()[..], &entry.name, &[0]].concat();
            let len = Head::len_with(fields.len());
            let head = Head { time: entry.time, event: id as u16, len: len as u16, thread: entry.thread };
            let start = bytes.len();
            bytes.extend_from_slice(&head.to_bytes());
            bytes.extend_from_slice(&fields);
            bytes.resize(start + len.max(HEAD), 0);
        }
        let (begin, end) = (entries[0].time, entries[entries.len() - 1].time);
        let parts = &[&bytes[..]];
        let at = u64::from(position);
        let packet = Packet { stream: STREAM, ring, cpu: u32::MAX, begin, end, discarded: 0, position: at, parts };
        match self.writer.packet(packet) {
            // A program has damaged the entries.
            Err(Error::Unsound { .. }) => {}
            written => {
                self.totals.bytes += written?;
                self.totals.written += entries.len() as u64;
            }
        }
        self.threads_written = position;
        Ok(())
    }

    /// Writes where the session's programs have mapped their executable files into a ring of its own, numbered after that
    /// of the threads. The records have the time of the trace's first record.
    pub(super) fn write_modules(&mut self) -> Result<(), Error> {
        let listed = self.region.modules(self.modules_written);
        let listed: Vec<_> = if self.closed { listed.collect() } else { listed.take_while(Option::is_some).collect() };
        let position = self.modules_written + listed.len() as u32;
        let modules: Vec<_> = listed.into_iter().flatten().collect();
        let is_ours = |id: &usize| {
            self.region.kind(*id).is_some_and(|kind| {
                let sizes = kind.fields.iter().map(|field| field.kind.size());
                kind.name == MODULE && sizes.eq([Some(4), Some(8), Some(8), Some(8), None])
            })
        };
        if modules.is_empty() {
            return Ok(());
        }
        let Some(id) = (0..self.region.kinds_end(0)).find(is_ours) else { return Ok(()) };
        self.add_event_types()?;
        let ring = self.rings.len() as u32 + 1;
        let first = self.span.map_or(0, |(first, _)| first.saturating_sub(1));
        let time = first.max(self.writer.last_time(STREAM, ring));
        let mut bytes = Vec::new();
        for module in &modules {
            let numbers = [module.base, module.start, module.end].map(u64::to_le_bytes).concat();
            let fields = [&module.pid.to_le_bytes()[..], &numbers, &module.path, &[0]].concat();
            let len = Head::len_with(fields.len());
            let start = bytes.len();
            bytes.extend_from_slice(&Head { time, event: id as u16, len: len as u16, thread: module.pid }.to_bytes());
            bytes.extend_from_slice(&fields);
            bytes.resize(start + len, 0);
        }
        let (parts, at) = (&[&bytes[..]], u64::from(position));
        let packet =
            Packet { stream: STREAM, ring, cpu: u32::MAX, begin: time, end: time, discarded: 0, position: at, parts };
        self.totals.bytes += self.writer.packet(packet)?;
        self.totals.written += modules.len() as u64;
        self.modules_written = position;
        Ok(())
    }
}
