//! How fast each direction of a stream is: the difference of two looks. It reads no clock.

use headwater_results::sorting::Arrange;
use std::cmp::{Ordering, Reverse};
use std::time::Duration;

use clap::ValueEnum;
use headwater_streams::inspect::{Snapshot, StreamKind};

/// A direction of a stream between two looks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flow<'a> {
    pub stream: &'a Snapshot,
    /// Leads from the end of this number to the other.
    pub direction: usize,
    /// Bytes and messages with boundaries a second; None: the stream was not there before.
    pub rate: Option<[f64; 2]>,
}

/// What the directions are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Order {
    /// Bytes a second, the fastest first
    #[default]
    Bytes,
    /// Messages with boundaries a second
    Messages,
    /// Bytes that wait to be read
    Queued,
    /// The share of hiwat that waits to be read
    Fill,
    /// Bytes that were ever written
    Written,
    /// The number of the stream
    Stream,
}

impl Order {
    /// The next one.
    pub(super) fn next(self) -> Order {
        let all = Order::value_variants();
        let at = all.iter().position(|order| *order == self).unwrap_or(0);
        all[(at + 1) % all.len()]
    }

    /// Its name, as the option has it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Order::Bytes => "bytes",
            Order::Messages => "messages",
            Order::Queued => "queued",
            Order::Fill => "fill",
            Order::Written => "written",
            Order::Stream => "stream",
        }
    }
}

/// The directions of all streams now, given the look before and the time in between.
pub(super) fn flows<'a>(before: &[Snapshot], now: &'a [Snapshot], between: Duration) -> Vec<Flow<'a>> {
    let of_stream = |stream: &'a Snapshot| {
        let old = before.iter().find(|old| old.id == stream.id && old.kind == stream.kind);
        // A FIFO has one direction.
        let directions = if matches!(stream.kind, StreamKind::Fifo { .. }) { 1 } else { 2 };
        (0..directions).map(move |direction| Flow { stream, direction, rate: rate(old, stream, direction, between) })
    };
    now.iter().filter(|stream| stream.state().is_some()).flat_map(of_stream).collect()
}

fn rate(old: Option<&Snapshot>, stream: &Snapshot, direction: usize, between: Duration) -> Option<[f64; 2]> {
    let counts = |stream: &Snapshot| {
        let direction = &stream.state()?.directions[direction];
        Some([direction.written(), direction.messages_written()])
    };
    let (old, now) = (counts(old?)?, counts(stream)?);
    let seconds = between.as_secs_f64();
    // Less than before: another stream, whose memory has got the number.
    let rate = |at: usize| Some(now[at].checked_sub(old[at])? as f64 / seconds);
    if seconds > 0.0 { Some([rate(0)?, rate(1)?]) } else { None }
}

impl Flow<'_> {
    /// Whether nothing has come since the last look, and nothing waits.
    pub(super) fn is_idle(&self) -> bool {
        let moves = self.rate.is_some_and(|[bytes, messages]| bytes > 0.0 || messages > 0.0);
        !moves && self.queued() == 0
    }

    fn queued(&self) -> u64 {
        self.stream.state().map_or(0, |state| state.directions[self.direction].queued())
    }

    fn written(&self) -> u64 {
        self.stream.state().map_or(0, |state| state.directions[self.direction].written())
    }

    /// The share of hiwat that waits to be read.
    fn fill(&self) -> f64 {
        let hiwat = self.stream.state().map_or(0, |state| state.directions[self.direction].hiwat);
        self.queued() as f64 / f64::from(hiwat.max(1))
    }
}

/// Sorts directions; those that are equal stay in the order of their streams.
pub(super) fn sort(flows: &mut [Flow<'_>], order: Order) {
    let rate = |flow: &Flow<'_>, at: usize| flow.rate.map_or(-1.0, |rate| rate[at]);
    let by_rate =
        |at: usize| move |one: &Flow<'_>, other: &Flow<'_>| -> Ordering { rate(other, at).total_cmp(&rate(one, at)) };
    match order {
        Order::Bytes => flows.arrange_by(by_rate(0)),
        Order::Messages => flows.arrange_by(by_rate(1)),
        Order::Queued => flows.arrange_by_key(|flow| Reverse(flow.queued())),
        Order::Fill => flows.arrange_by(|one, other| other.fill().total_cmp(&one.fill())),
        Order::Written => flows.arrange_by_key(|flow| Reverse(flow.written())),
        Order::Stream => flows.arrange_by_key(|flow| (flow.stream.id, flow.direction)),
    }
}

#[cfg(test)]
mod tests {
    use headwater_streams::{Options, inspect};

    use super::*;

    /// The option by which a test finds its own streams: other tests make some in this process too.
    const STRMSGSZ: u32 = 100_321;

    /// The streams of this process that have the option.
    fn own() -> Vec<Snapshot> {
        let is_own = |stream: &Snapshot| {
            stream.processes.iter().any(|process| process.pid == std::process::id())
                && stream.state().is_some_and(|state| state.strmsgsz == STRMSGSZ)
        };
        inspect::streams().expect("/proc").into_iter().filter(is_own).collect()
    }

    #[test]
    fn rates_are_differences_and_the_fastest_stands_first() {
        let pipe = || Options::new().strmsgsz(STRMSGSZ).pipe().expect("pipe");
        let ((fast, reader), (slow, _other)) = (pipe(), pipe());
        let before = own();
        fast.write(&[0; 4000]).expect("room");
        slow.putmsg(Some(b"head"), Some(b"body")).expect("room");
        reader.write(&[0; 10]).expect("room");
        let now = own();
        let mut flows = flows(&before, &now, Duration::from_secs(2));
        assert_eq!(flows.len(), 4);
        sort(&mut flows, Order::Bytes);
        let rates = |flows: &[Flow<'_>]| flows.iter().map(|flow| flow.rate.expect("it was there")).collect::<Vec<_>>();
        assert_eq!(rates(&flows), [[2000.0, 0.0], [5.0, 0.0], [4.0, 0.5], [0.0, 0.0]]);
        sort(&mut flows, Order::Messages);
        assert_eq!(rates(&flows)[0], [4.0, 0.5]);
        sort(&mut flows, Order::Queued);
        assert_eq!(flows.iter().map(Flow::queued).collect::<Vec<_>>(), [4000, 10, 8, 0]);
        assert_eq!(flows.iter().map(Flow::is_idle).collect::<Vec<_>>(), [false, false, false, true]);
        // A stream that was not there, and one that has got the number of another.
        assert!(self::flows(&[], &now, Duration::from_secs(2)).iter().all(|flow| flow.rate.is_none()));
        let backwards = self::flows(&now, &before, Duration::from_secs(2));
        assert_eq!(backwards.iter().filter(|flow| flow.rate.is_none()).count(), 3);
    }

    #[test]
    fn every_order_follows_another() {
        let mut order = Order::default();
        let mut names = Vec::new();
        for _ in Order::value_variants() {
            names.push(order.name());
            order = order.next();
        }
        assert_eq!(order, Order::default());
        let values: Vec<_> = Order::value_variants()
            .iter()
            .filter_map(|order| Some(order.to_possible_value()?.get_name().to_owned()))
            .collect();
        assert_eq!(names, values);
    }
}
