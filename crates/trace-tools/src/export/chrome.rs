//! The trace event format of Chrome, which ui.perfetto.dev opens: JSON, an object for each event.
//!
//! - An event is an instant on the track of its thread.
//! - Two events of a thread whose names form a pair in `roles` (`..._begin` and `..._end`, `sys_enter_...` and
//!   `sys_exit_...`) are a slice. A loss in between ends all open slices: no pair is formed across it.
//! - Events with a field `flow` are joined by an arrow. It begins at an event whose name ends with `_from` and ends at one
//!   with `_to`; with other names it begins at the first event with a value and ends at the next with the same value.
//! - `sched:sched_switch` makes the tracks of the CPUs, and `sched:sched_waking` makes arrows to the woken thread there.
//! - An event with a number in a field `counter` is also a sample of the counter of its process that has its name.
//! - Threads are named by `headwater:thread` (`pid`, `name`), or else by events of the kernel's scheduler. A thread whose
//!   process is unknown is shown as a process.

mod json;
pub(super) mod roles;
pub(super) mod sink;
mod slices;
mod threads;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::{Choice, Error, Exported, each};
use crate::ctf::{Loss, Reader, Record, TraceItem};
use crate::stacks::Modules;
use json::{Args, Events, Text};
use roles::{Role, Roles, Side};
use sink::{Sink, Track};
use slices::{OpenSlice, OpenSlices};
use threads::Threads;

/// The most arrows that have begun and not ended.
const ARROWS_MAX: usize = 1 << 16;

/// Writes the selected events of these traces. Reads the traces twice: thread names may come late, and the format
/// requires times from 0 on.
///
/// Errors: the traces cannot be opened; errors of `out`.
pub fn export<P: AsRef<Path>>(paths: &[P], choice: &Choice, out: impl Write) -> Result<Exported, Error> {
    draw(paths, choice, |origin| Events::begin(BufWriter::new(out), origin))
}

/// Does the same in the form of the sink that `begin` makes; its argument is the time of the first event.
pub(super) fn draw<P: AsRef<Path>, S: Sink>(
    paths: &[P],
    choice: &Choice,
    begin: impl FnOnce(u128) -> io::Result<S>,
) -> Result<Exported, Error> {
    let mut first = Reader::open(paths)?;
    let roles = Roles::of(first.schemas().map(|(_, schema)| schema));
    let mut threads = Threads::default();
    let mut origin = None;
    each(&mut first, choice, |item| {
        let (clock, time) = match item {
            TraceItem::Record(record) => (record.clock(), record.time),
            TraceItem::Loss(loss) => (loss.clock, loss.between.0),
        };
        // Items are in the order of time, but a loss begins before its position.
        let time = clock.nanoseconds(time);
        origin = Some(origin.map_or(time, |origin: u128| origin.min(time)));
        if let TraceItem::Record(record) = item {
            let role = roles.of_kind(record.kind);
            threads.record(record, role);
            if role.switches {
                threads.saw_cpu(record.cpu);
            }
        }
        Ok(())
    })?;

    let mut sink = begin(origin.unwrap_or(0))?;
    threads.named().iter().try_for_each(|(track, process, thread)| sink.name(*track, process, thread))?;
    let mut picture = Picture {
        events: sink,
        roles,
        threads,
        modules: Modules::of(paths, choice.stacks)?,
        slices: OpenSlices::default(),
        running: BTreeMap::new(),
        last: 0,
        arrows: HashMap::new(),
    };
    let mut exported = each(&mut Reader::open(paths)?, choice, |item| match item {
        TraceItem::Record(record) => picture.record(record),
        TraceItem::Loss(loss) => picture.loss(loss),
    })?;
    exported.replaced = picture.modules.replaced();
    picture.end()?;
    Ok(exported)
}

struct Picture<S: Sink> {
    events: S,
    roles: Roles,
    threads: Threads,
    modules: Modules,
    slices: OpenSlices,
    /// By CPU: the running thread, the time since when it runs, and the stream and trace that reported it.
    running: BTreeMap<u32, (u32, u128, (usize, usize))>,
    /// Time of the last event.
    last: u128,
    /// Where and when arrows have begun. An arrow is written when it ends; one without an end is not written.
    arrows: HashMap<Arrow, (Track, u128)>,
}

/// The key that joins the two ends of an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Arrow {
    /// The value of a field.
    Flow(u64),
    /// The woken thread.
    Wake(u64),
}

impl<S: Sink> Picture<S> {
    fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        let now = record.nanoseconds();
        self.last = now;
        let track = self.threads.track(record.tid);
        let mut role = self.roles.of_kind(record.kind).clone();
        if let (true, Some((_, name)), Some(call)) = (role.is_call, &mut role.side, record.field("id")) {
            *name = call.to_string();
        }
        match &role.side {
            Some((Side::Begin, name)) => {
                let open = OpenSlice {
                    name: name.clone(),
                    stream: record.stream.into(),
                    begin: now,
                    args: Args(record, &self.modules).to_string(),
                };
                if let Some(oldest) = self.slices.begin(record.tid, open) {
                    self.instant(record.tid, &oldest)?;
                }
            }
            Some((Side::End, name)) => match self.slices.end(record.tid, name) {
                (Some(open), inner) => {
                    inner.iter().try_for_each(|inner| self.instant(record.tid, inner))?;
                    let begin = open.args.strip_suffix('}').unwrap_or(&open.args);
                    let args = format!("{begin},\"end\":{}}}", Args(record, &self.modules));
                    self.events.slice(track, name, &open.stream, (open.begin, now), &args)?;
                }
                (None, _) => self.plain(record, track, now)?,
            },
            // An arrow needs slices at its ends, which may have length 0.
            None if role.flow.is_some() || role.wakes => {
                let args = Args(record, &self.modules).to_string();
                self.events.slice(track, &record.kind.name, record.stream, (now, now), &args)?;
            }
            None => self.plain(record, track, now)?,
        }
        if let Some(value) = role.counts.then(|| record.field("counter")).flatten().and_then(|value| value.as_f64()) {
            self.events.counter(track.pid, &record.kind.name, now, value)?;
        }
        self.arrows(record, &role, track, now)?;
        if role.switches { self.switch(record, now) } else { Ok(()) }
    }

    fn plain(&mut self, record: &Record<'_>, track: Track, now: u128) -> io::Result<()> {
        self.events.instant(track, &record.kind.name, record.stream, now, &Args(record, &self.modules).to_string())
    }

    /// Writes a beginning without an end as an instant.
    fn instant(&mut self, tid: u32, open: &OpenSlice) -> io::Result<()> {
        self.events.instant(self.threads.track(tid), &open.name, &open.stream, open.begin, &open.args)
    }

    fn arrows(&mut self, record: &Record<'_>, role: &Role, track: Track, now: u128) -> io::Result<()> {
        let number = |name| record.field(name).and_then(|value| value.as_u64());
        if role.wakes
            && let Some(woken) = number("pid")
        {
            self.begin_arrow(Arrow::Wake(woken), track, now);
        }
        let (Some(side), Some(value)) = (role.flow, number("flow")) else { return Ok(()) };
        let arrow = Arrow::Flow(value);
        let begins = match side {
            Some(side) => side == Side::Begin,
            None => !self.arrows.contains_key(&arrow),
        };
        if begins {
            self.begin_arrow(arrow, track, now);
            return Ok(());
        }
        self.end_arrow(arrow, track, now)
    }

    fn begin_arrow(&mut self, arrow: Arrow, track: Track, now: u128) {
        if self.arrows.len() >= ARROWS_MAX {
            self.arrows.clear();
        }
        self.arrows.insert(arrow, (track, now));
    }

    fn end_arrow(&mut self, arrow: Arrow, track: Track, now: u128) -> io::Result<()> {
        match self.arrows.remove(&arrow) {
            Some(begin) => self.events.arrow(begin, (track, now)),
            None => Ok(()),
        }
    }

    fn switch(&mut self, record: &Record<'_>, now: u128) -> io::Result<()> {
        self.end_running(record.cpu, now)?;
        let next = record.field("next_pid").and_then(|value| value.as_u64()).and_then(|next| u32::try_from(next).ok());
        // Thread 0 is the idle task.
        if let Some(next) = next.filter(|next| *next != 0) {
            self.running.insert(record.cpu, (next, now, (record.trace, record.stream_id)));
            self.end_arrow(Arrow::Wake(next.into()), Track::of_cpu(record.cpu), now)?;
        }
        Ok(())
    }

    fn end_running(&mut self, cpu: u32, now: u128) -> io::Result<()> {
        let Some((tid, since, _)) = self.running.remove(&cpu) else { return Ok(()) };
        let name = self.threads.name(tid);
        self.events.slice(Track::of_cpu(cpu), &name, "cpu", (since, now), &format!("{{\"tid\":{tid}}}"))
    }

    fn loss(&mut self, loss: &Loss<'_>) -> io::Result<()> {
        for (tid, open) in self.slices.break_off(loss.stream) {
            self.instant(tid, &open)?;
        }
        let now = loss.clock.nanoseconds(loss.between.0);
        // No switch is missing before the loss.
        let running = self.running.get(&loss.cpu).filter(|(_, _, stream)| *stream == (loss.trace, loss.stream_id));
        if let Some((_, since, _)) = running {
            self.end_running(loss.cpu, now.max(*since))?;
        }
        let name = format!("{} records lost", loss.count);
        let (stream, ring) = (Text(loss.stream), loss.ring);
        let args = format!("{{\"stream\":{stream},\"ring\":{ring},\"cpu\":{}}}", loss.cpu);
        self.events.global(&name, loss.stream, now, &args)
    }

    fn end(mut self) -> io::Result<()> {
        for cpu in self.running.keys().copied().collect::<Vec<_>>() {
            self.end_running(cpu, self.last)?;
        }
        for (tid, open) in self.slices.all() {
            self.instant(tid, &open)?;
        }
        self.events.end()
    }
}

#[cfg(test)]
mod sound;
#[cfg(test)]
mod tests;
