//! Exports one line for each event, for a terminal:
//!
//! ```text
//! 12:34:56.123456789 +0.000001234 cpu 0 tid 42 headwater:put len=64
//! ```
//!
//! The first time is the time of day in UTC, the second the seconds since the previous line. Losses have a line too.

use std::fmt::{self, Write as _};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::{Choice, Error, Exported, each, each_until};
use crate::ctf::{Loss, Reader, Record, TraceItem};
use crate::schema::Clock;
use crate::stacks::{self, Modules};

/// Writes the selected events of these traces in the order of time.
///
/// Errors: the traces cannot be opened; errors of `out`.
pub fn export<P: AsRef<Path>>(paths: &[P], choice: &Choice, out: impl Write) -> Result<Exported, Error> {
    let mut lines = Lines::new(out, Modules::of(paths, choice.stacks)?);
    let mut exported = each(&mut Reader::open(paths)?, choice, |item| lines.item(item))?;
    lines.out.flush()?;
    exported.replaced = lines.modules.replaced();
    Ok(exported)
}

/// Writes the selected events of traces that are being written, as they arrive: those up to the time that `wait` returns,
/// in ticks of the traces' clock. `wait` is called whenever these have been written; with `None` there will be no more,
/// and the rest is written. Events that arrive after later ones of other rings were written follow them.
///
/// Errors: as those of [`export`].
pub fn follow<P: AsRef<Path>>(
    paths: &[P],
    choice: &Choice,
    out: impl Write,
    mut wait: impl FnMut(&Clock) -> Option<u64>,
) -> Result<Exported, Error> {
    let mut lines = Lines::new(out, Modules::of(paths, choice.stacks)?);
    let (mut reader, mut exported) = (Reader::open(paths)?, Exported::default());
    loop {
        let until = reader.clock().and_then(&mut wait);
        reader.look_again()?;
        let is_full =
            each_until(&mut reader, choice, until.unwrap_or(u64::MAX), &mut exported, |item| lines.item(item))?;
        lines.out.flush()?;
        if is_full || until.is_none() {
            exported.replaced = lines.modules.replaced();
            return Ok(exported);
        }
    }
}

/// The lines of events, and what the next one needs.
struct Lines<W: Write> {
    out: BufWriter<W>,
    /// The time of the last event.
    before: Option<u128>,
    /// Kept for its memory.
    line: String,
    modules: Modules,
}

impl<W: Write> Lines<W> {
    fn new(out: W, modules: Modules) -> Lines<W> {
        Lines { out: BufWriter::new(out), before: None, line: String::new(), modules }
    }

    fn item(&mut self, item: &TraceItem<'_>) -> io::Result<()> {
        let record = match item {
            TraceItem::Record(record) => record,
            TraceItem::Loss(loss) => return write_loss(&mut self.out, loss),
        };
        // Of a trace that is being written, modules may come later.
        self.modules.learn(record);
        let now = record.nanoseconds();
        let since = now.saturating_sub(self.before.replace(now).unwrap_or(now));
        let since = u64::try_from(since).unwrap_or(u64::MAX);
        self.line.clear();
        writeln!(self.line, "{} +{} {}", TimeOfDay(now), Seconds(since), Line(record, &self.modules))
            .map_err(io::Error::other)?;
        self.out.write_all(self.line.as_bytes())
    }
}

fn write_loss(out: &mut impl Write, loss: &Loss<'_>) -> io::Result<()> {
    let [from, to] = [loss.between.0, loss.between.1].map(|ticks| TimeOfDay(loss.clock.nanoseconds(ticks)));
    let (stream, ring, cpu, count) = (loss.stream, loss.ring, loss.cpu, loss.count);
    writeln!(out, "{from} to {to} cpu {cpu} {stream}-{ring}: {count} records lost")
}

/// Formats a record without its time.
struct Line<'a>(&'a Record<'a>, &'a Modules);

impl fmt::Display for Line<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line(record, modules) = self;
        match record.cpu {
            // The record comes from a log of its thread.
            u32::MAX => write!(formatter, "cpu ?")?,
            cpu => write!(formatter, "cpu {cpu}")?,
        }
        write!(formatter, " tid {} {}", record.tid, record.kind.name)?;
        let mut stack = None;
        for (name, value) in record.fields() {
            match name {
                _ if stacks::is_stack(name, &value) => stack = Some((name, value)),
                _ => write!(formatter, " {name}={value}")?,
            }
        }
        // The longest comes last.
        stack.map_or(Ok(()), |stack| {
            write!(formatter, " {}=", stacks::FIELD)?;
            modules.write(record, stack, formatter)
        })
    }
}

/// Formats nanoseconds since 1970 as hours, minutes and seconds of their day.
struct TimeOfDay(u128);

impl fmt::Display for TimeOfDay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAY: u128 = 86_400_000_000_000;
        // 64 bits suffice, and their division is faster.
        let of_day = (self.0 % DAY) as u64;
        let (seconds, nanoseconds) = (of_day / 1_000_000_000, of_day % 1_000_000_000);
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        write!(formatter, "{hours:02}:{minutes:02}:{:02}.{nanoseconds:09}", seconds % 60)
    }
}

/// Formats nanoseconds as seconds.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::testing;

    #[test]
    fn an_event_is_a_line() {
        let dir = testing::exported_sample();
        let mut text = Vec::new();
        let exported = export(&[dir.path()], &Choice::default(), &mut text).expect("it is a trace");
        assert_eq!((exported.records, exported.lost, exported.damaged.len()), (12, 5, 0));
        expect![[r#"
            22:13:20.000001000 +0.000000000 cpu 0 tid 42 headwater:thread pid=40 name="the \"worker\""
            22:13:20.000002000 +0.000001000 cpu 0 tid 42 app:work_begin
            22:13:20.000002500 +0.000000500 cpu 0 tid 42 headwater:put len=18446744073709551615 share=NaN
            22:13:20.000003000 +0.000000500 cpu 0 tid 42 app:work_end
            22:13:20.000003100 +0.000000100 cpu 0 tid 42 app:wake_from flow=9
            22:13:20.000003200 +0.000000100 cpu 0 tid 42 sched:sched_waking comm="other" pid=43
            22:13:20.000003300 +0.000000100 cpu 1 tid 0 sched:sched_switch next_comm="other" next_pid=43
            22:13:20.000003500 +0.000000200 cpu 1 tid 43 app:wake_to flow=9
            22:13:20.000003500 to 22:13:20.000005000 cpu 1 user-1: 5 records lost
            22:13:20.000005000 +0.000001500 cpu 1 tid 43 headwater:put len=64 share=0.5
            22:13:20.000006000 +0.000001000 cpu 1 tid 43 sched:sched_switch next_comm="idle" next_pid=0
            22:13:20.000006500 +0.000000500 cpu 1 tid 0 sched:sched_switch next_comm="other" next_pid=43
            22:13:20.000007000 +0.000000500 cpu 1 tid 43 sched:sched_switch next_comm="last" next_pid=44
        "#]]
        .assert_eq(&String::from_utf8(text).expect("escaped"));
    }

    #[test]
    fn events_are_selected_by_name_and_number() {
        let dir = testing::exported_sample();
        let export_some = |events: &[&str], limit| {
            let choice =
                Choice { events: events.iter().map(|name| (*name).to_owned()).collect(), limit, ..Choice::default() };
            let mut text = Vec::new();
            let exported = export(&[dir.path()], &choice, &mut text).expect("it is a trace");
            let text = String::from_utf8(text).expect("escaped");
            assert_eq!(text.lines().filter(|line| line.contains(" tid ")).count() as u64, exported.records);
            assert!(text.lines().all(|line| line.contains("app:w") || line.contains("put") || line.contains(" lost")));
            (exported.records, exported.lost, exported.is_cut)
        };
        assert_eq!(export_some(&["app:*", "headwater:put"], None), (6, 5, false));
        assert_eq!(export_some(&["app:w*"], Some(2)), (2, 0, true));
        assert_eq!(export_some(&["app:wake_?rom"], Some(1)), (1, 0, true));
        assert_eq!(export_some(&["headwater:put"], Some(100)), (2, 5, false));
    }

    #[test]
    fn a_failing_output_is_an_error() {
        let dir = testing::exported_sample();
        let full: &mut [u8] = &mut [0; 100];
        let error = export(&[dir.path()], &Choice::default(), full).expect_err("there is no room").to_string();
        assert!(error.starts_with("cannot write the export: "), "{error}");
    }
}
