//! Exports a time line for a terminal: a column for each thread, a line for each event, time downwards. A line that
//! ends a slice shows its duration. A line of a woken thread shows which thread woke it, and how long before.
//!
//! ```text
//!      time us  reader 1235                      writer 1234
//!        0.000  block_begin stream=7 writes=0
//!       12.410                                   write stream=7 len=64
//!       12.904                                   wake_from stream=7
//!       18.331  block_end, 18.3 us
//!       18.502  wake_to, woken by writer 1234 5.6 us ago
//! ```

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::chrome::roles::{Role, Roles, Side};
use super::{Choice, Error, Exported, each};
use crate::ctf::{Reader, Record, TraceItem};
use crate::stacks;
use crate::value::Value;

/// Threads with a column of their own. The events of the others share the last column, with their names.
const COLUMNS: usize = 5;

/// Width of a column in characters, except the last one.
const WIDTH: usize = 40;

/// Writes the time line of the selected events of these traces.
///
/// Errors: the traces cannot be opened; errors of `out`.
pub fn export<P: AsRef<Path>>(paths: &[P], choice: &Choice, out: impl Write) -> Result<Exported, Error> {
    let mut out = BufWriter::new(out);
    let threads = Threads::of(&mut Reader::open(paths)?, choice)?;
    let mut reader = Reader::open(paths)?;
    let roles = Roles::of(reader.schemas().map(|(_, schema)| schema));
    writeln!(out, "{:>12}  {}", "time us", threads.head())?;
    let mut first = None;
    let mut memory = OpenIntervals::default();
    let exported = each(&mut reader, choice, |item| match item {
        TraceItem::Record(record) => {
            let text = memory.describe(record, roles.of_kind(record.kind), &threads);
            let now = record.nanoseconds();
            let since = now.saturating_sub(*first.get_or_insert(now)) as f64 / 1e3;
            let (column, text) = threads.column(record.tid, text);
            writeln!(out, "{since:12.3}  {}{text}", " ".repeat(column * WIDTH))
        }
        TraceItem::Loss(loss) => {
            writeln!(out, "{:>12}  {} records of {}-{} lost", "", loss.count, loss.stream, loss.ring)
        }
    })?;
    out.flush()?;
    Ok(exported)
}

/// The threads that have records, in the order of their first record.
#[derive(Debug, Default)]
struct Threads {
    order: Vec<u32>,
    names: BTreeMap<u32, String>,
}

impl Threads {
    fn of(reader: &mut Reader, choice: &Choice) -> Result<Threads, Error> {
        let mut threads = Threads::default();
        let mut left = choice.limit.unwrap_or(u64::MAX);
        // Read all events: a thread's name may precede the selected ones.
        each(reader, &Choice::default(), |item| {
            if let TraceItem::Record(record) = item {
                if left > 0 && choice.wants(record) {
                    if !threads.order.contains(&record.tid) {
                        threads.order.push(record.tid);
                    }
                    left -= 1;
                }
                if record.kind.name == "headwater:thread"
                    && let Some(name) = record.field("name").and_then(|name| name.as_text())
                {
                    threads.names.insert(record.tid, stacks::printable(&name));
                }
            }
            Ok(())
        })?;
        Ok(threads)
    }

    fn name(&self, tid: u32) -> String {
        self.names.get(&tid).map_or_else(|| format!("thread {tid}"), |name| format!("{name} {tid}"))
    }

    fn head(&self) -> String {
        let mut names: Vec<String> = self.order.iter().take(COLUMNS).map(|tid| self.name(*tid)).collect();
        if self.order.len() > COLUMNS {
            names.push("others".to_owned());
        }
        let last = names.len().saturating_sub(1);
        let padded = names.iter().enumerate().map(|(at, name)| if at < last { pad(name) } else { name.clone() });
        padded.collect()
    }

    /// Returns the column for a thread's text, and the text.
    fn column(&self, tid: u32, text: String) -> (usize, String) {
        match self.order.iter().position(|known| *known == tid) {
            Some(column) if column < COLUMNS => (column, text),
            _ => (COLUMNS, format!("{}: {text}", self.name(tid))),
        }
    }
}

fn pad(text: &str) -> String {
    let cut: String = text.chars().take(WIDTH - 2).collect();
    format!("{cut:WIDTH$}")
}

/// Slices that have begun and not ended, and threads that were woken and have not continued.
#[derive(Debug, Default)]
struct OpenIntervals {
    /// By thread and name: when it began, in ns.
    begun: HashMap<(u32, String), u128>,
    /// By flow: the thread that began it, and when.
    flows: HashMap<u64, (u32, u128)>,
}

impl OpenIntervals {
    fn describe(&mut self, record: &Record<'_>, role: &Role, threads: &Threads) -> String {
        let now = record.nanoseconds();
        let us = |since: u128| format!("{:.1} us", now.saturating_sub(since) as f64 / 1e3);
        let name = &record.kind.name;
        let mut text = name.strip_prefix("headwater:").unwrap_or(name).to_owned();
        // A stack has no room in a column.
        let is_shown = |(name, value): &(&str, Value<'_>)| *name != "flow" && !stacks::is_stack(name, value);
        let fields = record.fields().filter(is_shown);
        fields.for_each(|(name, value)| write!(text, " {name}={value}").expect("a text takes everything"));
        match &role.side {
            Some((Side::Begin, name)) => {
                self.begun.insert((record.tid, name.clone()), now);
            }
            Some((Side::End, name)) => {
                if let Some(since) = self.begun.remove(&(record.tid, name.clone())) {
                    write!(text, ", {}", us(since)).expect("as above");
                }
            }
            None => {}
        }
        let flow = record.field("flow").and_then(|flow| flow.as_u64());
        match (role.flow, flow) {
            (Some(Some(Side::Begin)), Some(flow)) => {
                self.flows.insert(flow, (record.tid, now));
            }
            (Some(Some(Side::End)), Some(flow)) => {
                if let Some((waker, since)) = self.flows.remove(&flow) {
                    write!(text, ", woken by {} {} ago", threads.name(waker), us(since)).expect("as above");
                }
            }
            _ => {}
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn exported(limit: Option<u64>) -> String {
        let dir = testing::exported_sample();
        let mut text = Vec::new();
        let choice = Choice { limit, ..Choice::default() };
        let exported = export(&[dir.path()], &choice, &mut text).expect("it is a trace");
        assert!(exported.records == limit.unwrap_or(12), "{exported:?}");
        String::from_utf8(text).expect("a text")
    }

    #[test]
    fn a_line_says_who_and_how_long() {
        let text = exported(None);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("     time us  the \"worker\" 42  "), "{text}");
        assert_eq!(lines[4], "       2.000  app:work_end, 1.0 us");
        let third = " ".repeat(2 * WIDTH);
        assert_eq!(lines[8], format!("       2.500  {third}app:wake_to, woken by the \"worker\" 42 0.4 us ago"));
        assert_eq!(lines[9], "              5 records of user-1 lost");
        assert_eq!(lines.len(), 14, "{text}");
    }

    #[test]
    fn a_thread_s_name_is_one_line_of_text() {
        let dir = testing::sample_of("a\u{1b}[2J\u{9b}b\nc\u{202e}");
        let mut text = Vec::new();
        export(&[dir.path()], &Choice::default(), &mut text).expect("it is a trace");
        let text = String::from_utf8(text).expect("a text");
        assert!(text.starts_with("     time us  a?[2J?b?c? 42"), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']) && text.lines().count() == 14, "{text}");
    }

    #[test]
    fn a_limit_leaves_the_first() {
        assert_eq!(exported(Some(3)).lines().count(), 4);
        assert!(exported(None).starts_with(&exported(Some(0))[..12]));
    }
}
