//! The trace event format of Chrome, which ui.perfetto.dev opens: JSON, an object for each event.
//!
//! - An event is an instant on the track of its thread.
//! - Two events whose names differ only as `roles` says (`..._begin` and `..._end`, `sys_enter_...` and `sys_exit_...`) are a
//!   slice from one to the other, on the same thread. What was lost in between breaks slices: over it nothing is paired.
//! - Events with a field `flow` are joined by an arrow: one whose name ends with `_from` begins it, one with `_to` ends it,
//!   of others the first with a value begins it and the next with the same value ends it.
//! - `sched:sched_switch` makes the tracks of the CPUs, and `sched:sched_waking` arrows to who runs there.
//! - Threads are named by `headwater:thread` (`pid`, `name`), or else by what the kernel's scheduler says of them. A thread of
//!   which nobody knows the process is shown as one.

mod json;
pub(super) mod roles;
mod slices;
mod threads;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::{Choice, Error, Exported, each};
use crate::ctf::{Item, Loss, Reader, Record};
use json::{Args, Events, Text, Track};
use roles::{Role, Roles, Side};
use slices::{Open, Slices};
use threads::Threads;

/// Most arrows that have begun and not ended.
const ARROWS_MAX: usize = 1 << 16;

/// Writes those of the events of these traces that are chosen. Reads them twice: names of threads come late, and the form wants times from 0 on.
///
/// Errors: the traces cannot be opened; what `out` reports.
pub fn export<P: AsRef<Path>>(paths: &[P], choice: &Choice, out: impl Write) -> Result<Exported, Error> {
    let mut first = Reader::open(paths)?;
    let roles = Roles::of(first.schemas().map(|(_, schema)| schema));
    let mut threads = Threads::default();
    let mut origin = None;
    each(&mut first, choice, |item| {
        let (clock, time) = match item {
            Item::Record(record) => (record.clock(), record.time),
            Item::Loss(loss) => (loss.clock, loss.between.0),
        };
        // Items come in the order of time, but losses reach back.
        let time = clock.nanoseconds(time);
        origin = Some(origin.map_or(time, |origin: u128| origin.min(time)));
        if let Item::Record(record) = item {
            threads.learn(record, roles.of_kind(record.kind));
        }
        Ok(())
    })?;

    let events = Events::begin(BufWriter::new(out), origin.unwrap_or(0))?;
    let mut chrome = Chrome {
        events,
        roles,
        threads,
        slices: Slices::default(),
        running: BTreeMap::new(),
        last: 0,
        arrows: HashMap::new(),
    };
    let exported = each(&mut Reader::open(paths)?, choice, |item| match item {
        Item::Record(record) => chrome.record(record),
        Item::Loss(loss) => chrome.loss(loss),
    })?;
    chrome.end()?;
    Ok(exported)
}

struct Chrome<W: Write> {
    events: Events<W>,
    roles: Roles,
    threads: Threads,
    slices: Slices,
    /// By CPU: who runs, since when, and in which stream of which trace that was said.
    running: BTreeMap<u32, (u32, u128, (usize, usize))>,
    /// Time of the last event.
    last: u128,
    /// Where and when arrows have begun, by what joins them. One that never ends is none: it is written when it ends.
    arrows: HashMap<Arrow, (Track, u128)>,
}

/// What joins the two ends of an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Arrow {
    /// The value of a field.
    Flow(u64),
    /// The thread that is woken.
    Wake(u64),
}

impl<W: Write> Chrome<W> {
    fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        let now = record.nanoseconds();
        self.last = now;
        let track = self.threads.track(record.tid);
        let role = self.roles.of_kind(record.kind).clone();
        match &role.side {
            Some((Side::Begin, name)) => {
                let open = Open {
                    name: name.clone(),
                    stream: record.stream.into(),
                    begin: now,
                    args: Args(record).to_string(),
                };
                if let Some(oldest) = self.slices.begin(record.tid, open) {
                    self.instant(record.tid, &oldest)?;
                }
            }
            Some((Side::End, name)) => match self.slices.end(record.tid, name) {
                (Some(open), inner) => {
                    inner.iter().try_for_each(|inner| self.instant(record.tid, inner))?;
                    let begin = open.args.strip_suffix('}').unwrap_or(&open.args);
                    let args = format!("{begin},\"end\":{}}}", Args(record));
                    self.events.slice(track, name, &open.stream, (open.begin, now), &args)?;
                }
                (None, _) => self.plain(record, track, now)?,
            },
            // An arrow needs a slice at its ends, if only one without length.
            None if role.flow.is_some() || role.wakes => {
                let args = Args(record).to_string();
                self.events.slice(track, &record.kind.name, record.stream, (now, now), &args)?;
            }
            None => self.plain(record, track, now)?,
        }
        self.arrows(record, &role, track, now)?;
        if role.switches { self.switch(record, now) } else { Ok(()) }
    }

    fn plain(&mut self, record: &Record<'_>, track: Track, now: u128) -> io::Result<()> {
        self.events.instant(track, &record.kind.name, record.stream, now, &Args(record).to_string())
    }

    /// A beginning without its end.
    fn instant(&mut self, tid: u32, open: &Open) -> io::Result<()> {
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
        // Thread 0 is the CPU's idling.
        if let Some(next) = next.filter(|next| *next != 0) {
            self.running.insert(record.cpu, (next, now, (record.trace, record.stream_id)));
            self.end_arrow(Arrow::Wake(next.into()), Track::of_cpu(record.cpu), now)?;
        }
        Ok(())
    }

    fn end_running(&mut self, cpu: u32, now: u128) -> io::Result<()> {
        self.threads.saw_cpu(cpu);
        let Some((tid, since, _)) = self.running.remove(&cpu) else { return Ok(()) };
        let name = self.threads.name(tid);
        self.events.slice(Track::of_cpu(cpu), &name, "cpu", (since, now), &format!("{{\"tid\":{tid}}}"))
    }

    fn loss(&mut self, loss: &Loss<'_>) -> io::Result<()> {
        for (tid, open) in self.slices.break_off(loss.stream) {
            self.instant(tid, &open)?;
        }
        let now = loss.clock.nanoseconds(loss.between.0);
        // Up to then no switch is missing.
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
        for (track, pid_name, tid_name) in self.threads.named() {
            self.events.name(track, "process_name", &pid_name)?;
            self.events.name(track, "thread_name", &tid_name)?;
        }
        self.events.end()
    }
}

#[cfg(test)]
mod sound;
#[cfg(test)]
mod tests;
