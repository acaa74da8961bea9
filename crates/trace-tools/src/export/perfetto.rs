//! Perfetto's own format, which ui.perfetto.dev and its trace processor open: a `perfetto.protos.Trace` of protocol buffers. The
//! picture is that of [`super::chrome`]; here times have nanoseconds since 1970, and integers are not rounded.
//!
//! Source: `trace_packet.proto`, `track_event.proto`, `track_descriptor.proto` of Perfetto; the numbers of fields are theirs.

mod message;

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::chrome::draw;
use super::chrome::sink::{Sink, Track};
use super::{Choice, Error, Exported};
use message::Message;

/// Writes the selected events of these traces.
///
/// Errors: the traces cannot be opened; errors of `out`.
pub fn export<P: AsRef<Path>>(paths: &[P], choice: &Choice, out: impl Write) -> Result<Exported, Error> {
    draw(paths, choice, |_| Packets::begin(BufWriter::new(out)))
}

/// Values of `TrackEvent.Type`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// The only sequence of packets, and the flag of its first one: no packet before it is missing.
const SEQUENCE: u64 = 1;
const STATE_CLEARED: u64 = 1;

/// The track of losses.
const GLOBAL: u64 = 1;

/// The number of a thread's track: one that no process and no counter has.
fn uuid_of(track: Track) -> u64 {
    1 << 63 | u64::from(track.pid) << 31 | u64::from(track.tid) & 0x7fff_ffff
}

/// Writes packets.
struct Packets<W: Write> {
    out: W,
    arrows: u64,
    /// By process and name.
    counters: HashMap<(u32, String), u64>,
}

impl<W: Write> Packets<W> {
    fn begin(out: W) -> io::Result<Packets<W>> {
        let mut packets = Packets { out, arrows: 0, counters: HashMap::new() };
        let mut track = Message::new();
        track.number(1, GLOBAL).text(2, "lost events");
        packets.packet(Message::new().number(13, STATE_CLEARED).message(60, &track))?;
        Ok(packets)
    }

    /// Writes a packet with this content.
    fn packet(&mut self, content: &mut Message) -> io::Result<()> {
        content.number(10, SEQUENCE);
        let mut packet = Message::new();
        packet.message(1, content);
        self.out.write_all(packet.bytes())
    }

    /// Writes an event of a track.
    fn event(&mut self, at: u128, track: u64, kind: u64, event: &mut Message) -> io::Result<()> {
        event.number(9, kind).number(11, track);
        self.packet(Message::new().number(8, u64::try_from(at).unwrap_or(u64::MAX)).message(11, event))
    }

    fn named(name: &str, stream: &str, args: &str) -> Message {
        let (mut event, mut note) = (Message::new(), Message::new());
        note.text(10, "event").text(9, args);
        event.text(23, name).text(22, stream).message(4, &note);
        event
    }
}

impl<W: Write> Sink for Packets<W> {
    fn name(&mut self, track: Track, process: &str, thread: &str) -> io::Result<()> {
        let (mut of_process, mut of_thread) = (Message::new(), Message::new());
        of_process.number(1, track.pid.into()).text(6, process);
        of_thread.number(1, track.pid.into()).number(2, track.tid.into()).text(5, thread);
        // A process has the number of its id plus 2^32.
        let parent = 1 << 32 | u64::from(track.pid);
        let (mut above, mut own) = (Message::new(), Message::new());
        above.number(1, parent).message(3, &of_process);
        own.number(1, uuid_of(track)).number(5, parent).message(4, &of_thread);
        self.packet(Message::new().message(60, &above))?;
        self.packet(Message::new().message(60, &own))
    }

    fn instant(&mut self, track: Track, name: &str, stream: &str, at: u128, args: &str) -> io::Result<()> {
        self.event(at, uuid_of(track), INSTANT, &mut Packets::<W>::named(name, stream, args))
    }

    fn global(&mut self, name: &str, stream: &str, at: u128, args: &str) -> io::Result<()> {
        self.event(at, GLOBAL, INSTANT, &mut Packets::<W>::named(name, stream, args))
    }

    fn slice(
        &mut self,
        track: Track,
        name: &str,
        stream: &str,
        (from, to): (u128, u128),
        args: &str,
    ) -> io::Result<()> {
        self.event(from, uuid_of(track), SLICE_BEGIN, &mut Packets::<W>::named(name, stream, args))?;
        self.event(to.max(from), uuid_of(track), SLICE_END, &mut Message::new())
    }

    fn counter(&mut self, pid: u32, name: &str, at: u128, value: f64) -> io::Result<()> {
        let next = (1 << 33) + self.counters.len() as u64;
        let key = (pid, name.to_owned());
        let known = self.counters.get(&key).copied();
        let uuid = known.unwrap_or(next);
        if known.is_none() {
            self.counters.insert(key, uuid);
            let mut track = Message::new();
            track.number(1, uuid).text(2, name).number(5, 1 << 32 | u64::from(pid)).message(8, &Message::new());
            self.packet(Message::new().message(60, &track))?;
        }
        self.event(at, uuid, COUNTER, Message::new().double(44, value))
    }

    /// An arrow joins two instants, because an event that was written cannot get an end of it.
    fn arrow(&mut self, from: (Track, u128), to: (Track, u128)) -> io::Result<()> {
        self.arrows += 1;
        for ((track, at), field) in [(from, 47), (to, 48)] {
            let mut event = Message::new();
            event.text(23, "wakes").text(22, "flow").fixed(field, self.arrows);
            self.event(at, uuid_of(track), INSTANT, &mut event)?;
        }
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests;
