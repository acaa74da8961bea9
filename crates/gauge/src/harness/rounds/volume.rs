//! One-way rates: messages over the time from the first send to the last receive, over a volume that is many times what
//! was on the way at its end. Called by the patterns whose sender does not wait for its receiver's answer.
//!
//! A round begins with an empty transport. While it fills, the sender is faster than it can be for long, and while it
//! drains, the receiver is. Both count in the time of the whole volume, so that what they can shift is the share of the
//! volume that was on the way. A volume for which that share is too large is sent again with more messages, and never
//! reported.

use std::time::Instant;

use headwater_results::schema::Standing;

use super::{BATCH_NS_MIN, BATCHES, FIRST_MESSAGES, Rounds, SLOPE_MAX, WARM_UP_STRETCH_MAX};
use crate::harness::conduct::{LaunchError, Measured};
use crate::harness::plausible;
use crate::harness::protocol::{Report, Role};

/// A volume is at least so many times what was on the way when the sender had ended: filling or draining the transport
/// then changes a rate by a sixteenth of the difference between its speed and that of the whole, at most.
pub const ON_THE_WAY_TIMES: f64 = 16.0;

/// Time stamps of the receiver in a volume: so many that one of them, at which the receiver may have stood still, is far less than
/// the share that may be on the way. Eight make a batch.
pub const STAMPS: u64 = 8 * BATCHES;

/// How often a volume is prolonged: the buffers of TCP grow while they are used.
pub const ATTEMPTS: u32 = 8;

/// How much more than what was on the way is expected to be on the way next time: as long as the transport is not full, it is a
/// share of the volume.
pub const MARGIN: f64 = 1.5;

/// How many times as many messages the next volume has at least.
const PROLONGED_TIMES: u64 = 3;

/// The longest volume, s, as far as its time is known before. A transport that holds more than a sixteenth of it has no rate here.
pub const VOLUME_S_MAX: f64 = 20.0;

/// The counter with the bytes that were on the way when the sender had ended, as the receiver's time stamps say.
pub const ON_THE_WAY: &str = "on_the_way_bytes";

/// Sender and receiver of a round, in the order of their reports.
const PAIR: [Role; 2] = [Role::Receiver, Role::Sender];

/// One round of messages.
#[derive(Debug)]
struct Volume {
    messages: u64,
    /// From the first send to the last receive, ns.
    elapsed_ns: f64,
    /// The durations of the batches, which add up to that, ns.
    batches_ns: Vec<f64>,
    /// Messages that were sent and not yet received when the sender had ended.
    on_the_way: f64,
    reports: Vec<Report>,
}

impl Rounds<'_> {
    /// Runs the whole course of a launch: the full check, calibration, warm-up and one volume. `metric` is the name of the
    /// rate. The pattern has a receiver, which marks the batches, and a sender.
    ///
    /// # Errors
    /// As [`Team::round`](crate::harness::conduct::Team::round); if the transport holds too much; if the figure contradicts itself.
    pub fn rate(&mut self, metric: &str) -> Result<Measured, LaunchError> {
        self.check_every_byte()?;
        let volume_ns = (self.job.time_s * 1e9).max(BATCHES as f64 * BATCH_NS_MIN);
        self.calibrate(FIRST_MESSAGES, volume_ns / BATCHES as f64)?;
        let started = Instant::now();
        let (on_the_way, steady) = self.warm_up_volumes(volume_ns)?;
        let warm_up_s = started.elapsed().as_secs_f64();

        let mut wanted = (on_the_way * ON_THE_WAY_TIMES) as u64;
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            let messages = self.operations_in(volume_ns).max(wanted).min(self.operations_in(VOLUME_S_MAX * 1e9));
            let volume = self.send(messages)?;
            self.operation_ns = volume.elapsed_ns / volume.messages as f64;
            // Half of the time, because the speed varies.
            if volume.elapsed_ns * 2.0 >= volume_ns && volume.messages as f64 >= volume.on_the_way * ON_THE_WAY_TIMES {
                let mut measured = self.measured(volume, metric)?;
                (measured.warm_up_s, measured.steady) = (warm_up_s, steady);
                return Ok(measured);
            }
            let Volume { messages: sent, elapsed_ns, on_the_way, .. } = volume;
            wanted = (messages * PROLONGED_TIMES).max((on_the_way * ON_THE_WAY_TIMES * MARGIN) as u64);
            last = format!("{sent} messages in {:.3} s, {on_the_way:.0} of them", elapsed_ns / 1e9);
        }
        Err(LaunchError::Failed(format!(
            "the last of {ATTEMPTS} volumes had {last} on the way when the sender had ended: a volume of less than {ON_THE_WAY_TIMES} \
             times as many shows how fast the transport fills and drains, and none may take more than {VOLUME_S_MAX} s"
        )))
    }

    /// Sends volumes until the minimum time is over and two of them agree. Returns the most that was on the way, messages,
    /// and whether they agreed.
    fn warm_up_volumes(&mut self, volume_ns: f64) -> Result<(f64, bool), LaunchError> {
        let started = Instant::now();
        let least_s = self.job.warm_up_s;
        let piece_ns = (least_s * 1e9 / 4.0).clamp(BATCHES as f64 * BATCH_NS_MIN, volume_ns);
        let mut on_the_way = 0.0_f64;
        loop {
            let earlier_ns = self.operation_ns;
            let volume = self.send(self.operations_in(piece_ns))?;
            on_the_way = on_the_way.max(volume.on_the_way);
            self.operation_ns = volume.elapsed_ns / volume.messages as f64;
            let steady = (self.operation_ns / earlier_ns - 1.0).abs() <= SLOPE_MAX;
            let elapsed_s = started.elapsed().as_secs_f64();
            if elapsed_s >= least_s && (steady || elapsed_s >= least_s * WARM_UP_STRETCH_MAX) {
                return Ok((on_the_way, steady));
            }
        }
    }

    /// Sends at least `messages` messages.
    fn send(&mut self, messages: u64) -> Result<Volume, LaunchError> {
        let piece = messages.div_ceil(STAMPS);
        let reports = self.run(piece, STAMPS, |_| ())?;
        let stamps_ns = self.stamps(&reports, STAMPS)?;
        let volume = Volume::of(piece, stamps_ns, &reports[1]).map_err(|what| self.wrong(what))?;
        // Over a transport that moves nothing, nothing is on the way, and its ends do not wait for each other.
        let on_the_way = if self.job.row.standing == Standing::Null { 0.0 } else { volume.on_the_way };
        Ok(Volume { reports, on_the_way, ..volume })
    }

    fn measured(&self, volume: Volume, metric: &str) -> Result<Measured, LaunchError> {
        let batch = volume.messages / BATCHES;
        let mut measured = Measured { batch_operations: batch, ..Measured::default() };
        for (&role, report) in PAIR.iter().zip(&volume.reports) {
            measured.add_cost(role, report);
        }
        let batch_ns = volume.elapsed_ns / BATCHES as f64;
        plausible::check(self.job, &volume.reports, volume.messages as f64, volume.elapsed_ns, batch_ns)
            .map_err(LaunchError::Failed)?;
        let rates = volume.batches_ns.iter().map(|&ns| batch as f64 * 1e9 / ns.max(1.0)).collect();
        measured.series.insert(metric.to_owned(), rates);
        measured.figures.insert(metric.to_owned(), volume.messages as f64 * 1e9 / volume.elapsed_ns);
        measured.counters.insert("operations".into(), volume.messages as f64);
        measured.counters.insert(ON_THE_WAY.into(), (volume.on_the_way * self.job.size() as f64).round());
        Ok(measured)
    }
}

impl Volume {
    /// Returns the volume of a round with pieces of `piece` messages, whose receiver ended them at `stamps_ns`, without its
    /// reports.
    ///
    /// # Errors
    /// What of the times is impossible.
    fn of(piece: u64, stamps_ns: &[u64], sender: &Report) -> Result<Volume, &'static str> {
        let (start_ns, end_ns) = (sender.start_ns, sender.end_ns);
        let last_ns = stamps_ns.last().copied().unwrap_or_default();
        // The last call of the sender may return after its message was received; over a transport that moves nothing the
        // receiver may even have ended before.
        let elapsed_ns = last_ns.max(end_ns).saturating_sub(start_ns);
        if end_ns < start_ns || elapsed_ns == 0 {
            return Err("the sender's end_ns is not later than its start_ns");
        }
        let each = (stamps_ns.len() / BATCHES as usize).max(1);
        let batches = || stamps_ns.iter().skip(each - 1).step_by(each).map(|&stamp_ns| stamp_ns.max(start_ns));
        let batches_ns = std::iter::once(start_ns).chain(batches()).zip(batches());
        Ok(Volume {
            messages: piece * stamps_ns.len() as u64,
            elapsed_ns: elapsed_ns as f64,
            batches_ns: batches_ns.map(|(from, to)| to.saturating_sub(from) as f64).collect(),
            on_the_way: on_the_way(piece, stamps_ns, sender),
            reports: Vec::new(),
        })
    }
}

/// Returns how many messages were sent and not yet received when the sender had ended. The receiver ended pieces of `piece`
/// messages at `stamps_ns`.
pub fn on_the_way(piece: u64, stamps_ns: &[u64], sender: &Report) -> f64 {
    let received = stamps_ns.iter().filter(|&&stamp_ns| stamp_ns <= sender.end_ns).count();
    let Some(&next_ns) = stamps_ns.get(received) else { return 0.0 };
    let from_ns = received.checked_sub(1).map_or(sender.start_ns, |last| stamps_ns[last].max(sender.start_ns));
    // How much of the piece that was being received.
    let within = sender.end_ns.saturating_sub(from_ns) as f64 / next_ns.saturating_sub(from_ns).max(1) as f64;
    ((stamps_ns.len() - received) as f64 - within) * piece as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(start_ns: u64, end_ns: u64) -> Report {
        Report { start_ns, end_ns, ..Report::default() }
    }

    #[test]
    fn rate_counts_from_the_first_send_to_the_last_receive() {
        let volume = Volume::of(10, &[300, 500, 700], &sender(100, 650)).expect("it is possible");
        assert_eq!((volume.messages, volume.elapsed_ns), (30, 600.0));
        assert_eq!(volume.batches_ns, [200.0, 200.0, 200.0]);
        // A quarter of the last batch.
        assert!((volume.on_the_way - 2.5).abs() < 1e-9, "{}", volume.on_the_way);
    }

    #[test]
    fn volume_that_fits_into_the_buffers_is_on_the_way_as_a_whole() {
        let volume = Volume::of(100, &[2_000, 2_100, 2_200], &sender(0, 100)).expect("it is possible");
        assert!(volume.on_the_way > 290.0, "{}", volume.on_the_way);
        assert_eq!(volume.elapsed_ns, 2_200.0);
    }

    #[test]
    fn receiver_that_has_everything_leaves_nothing_on_the_way() {
        let volume = Volume::of(10, &[300, 500], &sender(100, 501)).expect("it is possible");
        assert_eq!((volume.on_the_way, volume.elapsed_ns), (0.0, 401.0));
        // Over a transport that moves nothing.
        assert_eq!(Volume::of(10, &[3, 5], &sender(10, 50)).expect("it is possible").elapsed_ns, 40.0);
    }

    #[test]
    fn times_that_go_back_are_refused() {
        assert!(Volume::of(1, &[3, 4], &sender(10, 9)).is_err());
        assert!(Volume::of(1, &[10], &sender(10, 10)).is_err());
    }
}
