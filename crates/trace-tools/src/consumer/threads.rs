//! Writes the session's lists of threads and of modules as records of a trace, each list into a ring of its own.

use headwater_trace::event::{MODULE, THREAD};

use super::{Consumer, STREAM};
use crate::ctf::{Error, Packet};
use crate::record::{HEAD, Head};

/// An entry of a list, as it is written.
struct Listed {
    time: u64,
    thread: u32,
    fields: Vec<u8>,
}

/// The names of an event's fields, and their sizes unless they are texts.
type Fields<'a> = &'a [(&'a str, Option<usize>)];

impl Consumer {
    /// Writes ids and names of the session's threads.
    pub(super) fn write_threads(&mut self) -> Result<(), Error> {
        let (places, greetings) = complete(self.region.greetings(self.threads_written), self.closed);
        let listed = greetings.into_iter().map(|entry| Listed {
            time: entry.time,
            thread: entry.thread,
            fields: [&entry.pid.to_le_bytes()[..], &entry.name, &[0]].concat(),
        });
        let fields = &[("pid", Some(4)), ("name", None)];
        let position = self.threads_written + places;
        if self.write_list(self.rings.len() as u32, position, (THREAD, fields), listed.collect())? {
            self.threads_written = position;
        }
        Ok(())
    }

    /// Writes where the session's programs have mapped their executable files. A record has the time when the program stored it.
    pub(super) fn write_modules(&mut self) -> Result<(), Error> {
        let (places, modules) = complete(self.region.modules(self.modules_written), self.closed);
        let listed = modules.into_iter().map(|module| {
            let numbers = [module.base, module.start, module.end, module.changed].map(u64::to_le_bytes).concat();
            let build_id: String = module.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
            let pid = module.pid.to_le_bytes();
            let fields = [&pid[..], &numbers, build_id.as_bytes(), &[0], &module.path, &[0]].concat();
            Listed { time: module.time, thread: module.pid, fields }
        });
        let numbers = [("base", Some(8)), ("start", Some(8)), ("end", Some(8)), ("changed", Some(8))];
        let fields = &[&[("pid", Some(4))], &numbers[..], &[("build_id", None), ("path", None)]].concat();
        let position = self.modules_written + places;
        if self.write_list(self.rings.len() as u32 + 1, position, (MODULE, fields), listed.collect())? {
            self.modules_written = position;
        }
        Ok(())
    }

    /// Writes entries of a list into a ring, numbered after those of the logs. Entries that were made before the first record of the
    /// trace get its time, because the trace begins there. Returns whether the list's places up to `position` need not be looked at
    /// again.
    fn write_list(
        &mut self,
        ring: u32,
        position: u32,
        (name, fields): (&str, Fields<'_>),
        mut entries: Vec<Listed>,
    ) -> Result<bool, Error> {
        if entries.is_empty() {
            return Ok(false);
        }
        // Programs can overwrite the table: the event type is used only if it is exactly what our library defines.
        let is_ours = |id: &usize| {
            self.region.kind(*id).is_some_and(|kind| {
                let of_kind = kind.fields.iter().map(|field| (field.name.as_str(), field.kind.size()));
                kind.name == name && of_kind.eq(fields.iter().copied())
            })
        };
        let Some(id) = (0..self.region.kinds_end(0)).find(is_ours) else { return Ok(false) };
        self.add_event_types()?;
        // Two programs that make an entry at the same time may have them in either order.
        entries.sort_by_key(|entry| entry.time);
        // Strictly before the record with the first time.
        let (first, last) = self.span.map_or((0, u64::MAX), |(first, last)| (first.saturating_sub(1), last));
        // A program that was slow to complete its entry may have an earlier time than one that was already written; its
        // first record is later still.
        let first = first.max(self.writer.last_time(STREAM, ring));
        let last = last.max(first);
        let mut bytes = Vec::new();
        for entry in &mut entries {
            // A program may have damaged the time.
            entry.time = entry.time.clamp(first, last);
            let len = Head::len_with(entry.fields.len());
            let head = Head { time: entry.time, event: id as u16, len: len as u16, thread: entry.thread };
            let start = bytes.len();
            bytes.extend_from_slice(&head.to_bytes());
            bytes.extend_from_slice(&entry.fields);
            bytes.resize(start + len.max(HEAD), 0);
        }
        let (begin, end) = (entries[0].time, entries[entries.len() - 1].time);
        let (parts, at) = (&[&bytes[..]], u64::from(position));
        let packet = Packet { stream: STREAM, ring, cpu: u32::MAX, begin, end, discarded: 0, position: at, parts };
        match self.writer.packet(packet) {
            // A program has damaged the entries.
            Err(Error::Unsound { .. }) => {}
            written => {
                self.totals.bytes += written?;
                self.totals.written += entries.len() as u64;
            }
        }
        Ok(true)
    }
}

/// Returns the number of places of a list that can be written, and their entries. While programs are running, stops at the first place
/// that is reserved but not yet complete.
fn complete<T>(places: impl Iterator<Item = Option<T>>, closed: bool) -> (u32, Vec<T>) {
    let places: Vec<Option<T>> = if closed { places.collect() } else { places.take_while(Option::is_some).collect() };
    (places.len() as u32, places.into_iter().flatten().collect())
}
