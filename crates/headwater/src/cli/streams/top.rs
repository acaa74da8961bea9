//! `headwater streams top`: how fast the streams are, live or as a number of tables.

use std::io::{IsTerminal, Stdout, Write, stdout};
use std::time::{Duration, Instant, SystemTime};

use anyhow::bail;
use clap::Args;
use headwater_gauge::plan::duration::Seconds;
use headwater_os_tools::signal::StopSignals;
use headwater_streams::inspect::Snapshot;
use serde_json::json;

use super::columns::{Column, lines};
use super::filter::FilterArguments;
use super::rates::{Flow, Order, flows, sort};
use super::screen::{INTERVAL_MIN, Screen, Woken, wait};
use super::{json, words};
use crate::cli::output;
use crate::cli::status;
use crate::cli::trace::size;

/// Show the streams of running processes with their rates, live
///
/// A row is one direction of a stream. On a terminal the page is drawn anew at each interval, until `q` is pressed.
/// Elsewhere, and with --count, every interval prints a table.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Keys:
  q        quit
  s        sort by the next column
  i        hide or show idle directions
  space    look again now

Columns:
  B/S      bytes that came to the reading head in each second of the last interval
  MSG/S    messages with boundaries that came to it; plain bytes are no messages
  QUEUED   bytes that wait there, of HIWAT
  WRITTEN  bytes so far
  FROM     the processes with the writing end
  TO       the processes with the reading end

Examples:
  headwater streams top
  headwater streams top --interval 5s --sort queued --hide-idle
  headwater streams top --count 10 --pid 4711     ten tables, a second apart
  headwater streams top --json --count 60 > rates.jsonl

Exit status: 0 all done, also after SIGINT; 2 wrong usage.")]
pub(super) struct TopArguments {
    #[command(flatten)]
    filter: FilterArguments,

    /// Time between two looks
    #[arg(short, long, value_name = "TIME", default_value = "1s", help_heading = "How")]
    interval: Seconds,

    /// Print this many tables and stop [default: until `q` or a signal]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..), help_heading = "How")]
    count: Option<u64>,

    /// What the rows are sorted by
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t, help_heading = "Output")]
    sort: Order,

    /// Leave out directions in which nothing has come in the last interval and nothing waits
    #[arg(long, help_heading = "Output")]
    hide_idle: bool,

    /// Print one JSON object per direction and interval
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// A look at all streams.
struct Look {
    at: Instant,
    streams: Vec<Snapshot>,
}

impl Look {
    fn take(filter: &FilterArguments) -> anyhow::Result<Look> {
        Ok(Look { at: Instant::now(), streams: filter.streams()? })
    }
}

pub(super) fn top(arguments: &TopArguments) -> anyhow::Result<u8> {
    let interval = Duration::from_secs_f64(arguments.interval.0);
    if interval < INTERVAL_MIN {
        bail!(
            "the interval is {} ms, and at least {} ms: a look at all processes takes some",
            interval.as_millis(),
            INTERVAL_MIN.as_millis()
        );
    }
    let stop = StopSignals::watch()?;
    let out = stdout();
    if out.is_terminal() && arguments.count.is_none() && !arguments.json {
        live(arguments, interval, &stop, out)
    } else {
        tables(arguments, interval, &stop)
    }
}

fn live(arguments: &TopArguments, interval: Duration, stop: &StopSignals, out: Stdout) -> anyhow::Result<u8> {
    let (mut order, mut hide_idle) = (arguments.sort, arguments.hide_idle);
    let mut last = Look::take(&arguments.filter)?;
    let mut now = Look { at: last.at, streams: last.streams.clone() };
    let mut screen = Screen::enter(out)?;
    loop {
        screen.draw(&page(arguments, &last, &now, order, hide_idle))?;
        let keyboard: Vec<_> = screen.keyboard().into_iter().collect();
        let mut is_asked = false;
        match wait(stop, Some(now.at + interval), &keyboard)? {
            Woken::Stop => return Ok(status::OK),
            Woken::Time => is_asked = true,
            Woken::Ready => {
                let keys = screen.pressed();
                // The terminal has gone.
                if keys.is_empty() {
                    return Ok(status::OK);
                }
                for key in keys {
                    match key {
                        b'q' | b'Q' => return Ok(status::OK),
                        b's' => order = order.next(),
                        b'i' => hide_idle = !hide_idle,
                        b' ' => is_asked = true,
                        _ => {}
                    }
                }
            }
        }
        if is_asked && now.at.elapsed() >= INTERVAL_MIN {
            last = std::mem::replace(&mut now, Look::take(&arguments.filter)?);
        }
    }
}

/// The page that is drawn.
fn page(arguments: &TopArguments, last: &Look, now: &Look, order: Order, hide_idle: bool) -> Vec<String> {
    let mut flows = flows(&last.streams, &now.streams, now.at - last.at);
    let (count, idle) = (flows.len(), flows.iter().filter(|flow| flow.is_idle()).count());
    sort(&mut flows, order);
    flows.retain(|flow| !hide_idle || !flow.is_idle());
    let [bytes, messages] = totals(&flows);
    let streams = now.streams.len();
    let mut page = vec![format!(
        "By {}: {streams} stream{}, {idle} of {count} directions idle{}; {}/s, {messages:.0} messages/s",
        order.name(),
        if streams == 1 { "" } else { "s" },
        if hide_idle { ", hidden" } else { "" },
        size(bytes as u64),
    )];
    if streams == 0 {
        page.push(arguments.filter.nothing());
    } else {
        page.push(String::new());
        page.extend(table(&flows));
    }
    page
}

fn totals(flows: &[Flow<'_>]) -> [f64; 2] {
    // Not `sum`, which is -0 for none.
    [0, 1].map(|at| flows.iter().filter_map(|flow| flow.rate).map(|rate| rate[at]).fold(0.0, |sum, rate| sum + rate))
}

const COLUMNS: [Column; 11] = [
    ("STREAM", true),
    ("WHAT", false),
    ("TO END", false),
    ("B/S", true),
    ("MSG/S", true),
    ("QUEUED", true),
    ("HIWAT", true),
    ("WRITTEN", true),
    ("STATE", false),
    ("FROM", false),
    ("TO", false),
];

fn table(flows: &[Flow<'_>]) -> Vec<String> {
    lines(&COLUMNS, &flows.iter().filter_map(row).collect::<Vec<_>>())
}

fn row(flow: &Flow<'_>) -> Option<Vec<String>> {
    let Flow { stream, direction, rate } = flow;
    let state = stream.state()?;
    let (to, found) = (1 - direction, &state.directions[*direction]);
    let mut states = words::state(stream, state, to);
    if found.writer.is_asleep {
        states.push("writer sleeps".to_owned());
    }
    states.dedup();
    let rate = |at: usize, show: fn(f64) -> String| rate.map_or_else(|| "-".to_owned(), |rate| show(rate[at]));
    Some(vec![
        stream.id.to_string(),
        words::name(stream),
        words::end(stream, to).to_owned(),
        rate(0, |bytes| size(bytes as u64)),
        rate(1, |messages| format!("{messages:.0}")),
        size(found.queued()),
        size(found.hiwat.into()),
        size(found.written()),
        words::joined(&states),
        words::processes(stream.holders(*direction), false),
        words::processes(stream.holders(to), false),
    ])
}

fn tables(arguments: &TopArguments, interval: Duration, stop: &StopSignals) -> anyhow::Result<u8> {
    let mut last = Look::take(&arguments.filter)?;
    let mut printed = 0;
    while arguments.count.is_none_or(|count| printed < count) {
        match wait(stop, Some(last.at + interval), &[])? {
            Woken::Stop => return Ok(status::OK),
            Woken::Time | Woken::Ready => {}
        }
        let now = Look::take(&arguments.filter)?;
        let mut out = output::out();
        if arguments.json {
            print_json(arguments, &last, &now, &mut out)?;
        } else {
            if printed > 0 {
                writeln!(out)?;
            }
            for line in page(arguments, &last, &now, arguments.sort, arguments.hide_idle) {
                writeln!(out, "{line}")?;
            }
        }
        out.flush()?;
        (last, printed) = (now, printed + 1);
    }
    Ok(status::OK)
}

fn print_json(arguments: &TopArguments, last: &Look, now: &Look, out: &mut impl Write) -> anyhow::Result<()> {
    let mut flows = flows(&last.streams, &now.streams, now.at - last.at);
    sort(&mut flows, arguments.sort);
    let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    for flow in flows.iter().filter(|flow| !arguments.hide_idle || !flow.is_idle()) {
        let Flow { stream, direction, rate } = flow;
        let Some(state) = stream.state() else { continue };
        let found = &state.directions[*direction];
        let line = json!({
            "time": time,
            "stream": stream.id,
            "what": words::name(stream),
            "direction": direction,
            "bytes_per_s": rate.map(|rate| rate[0]),
            "messages_per_s": rate.map(|rate| rate[1]),
            "figures": json::direction(found),
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}
