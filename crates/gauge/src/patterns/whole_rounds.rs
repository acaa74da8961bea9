//! Conducts launches whose samples are whole rounds, from the first start to the last end. It is for patterns whose
//! processes end at different times, or stall for a while: the median of short batches would hide that.

use std::time::Instant;

use super::cpu;
use crate::harness::conduct::{Job, LaunchError, Measured, Team};
use crate::harness::protocol::{Report, Role, Round};
use crate::harness::rounds::{
    ATTEMPTS, FULL_CHECK_BYTES, FULL_CHECK_MESSAGES, MARGIN, ON_THE_WAY_TIMES, STAMPS, VOLUME_S_MAX, on_the_way,
};

/// Measured rounds of a launch.
const ROUNDS: u32 = 5;

/// The minimum duration of a measured round: several turns of the scheduler, and far more than the start of 16
/// processes.
const ROUND_NS_MIN: f64 = 10_000_000.0;

/// Messages per stream of the first round of calibration.
const FIRST_MESSAGES: u64 = 16;

/// Leads a team of receivers and senders, which alternate, through the rounds of a launch. `streams` streams of
/// messages run at once. `figure` computes the sample of a round from its messages per stream and its reports.
pub(super) fn conduct_rounds(
    team: &mut Team,
    job: &Job,
    streams: usize,
    metric: &str,
    figure: impl Fn(u64, &[Report]) -> f64,
) -> Result<Measured, LaunchError> {
    let streams = streams as u64;
    let mut next = 0;
    let mut run = |messages: u64, full_check: bool| {
        // The receivers' time stamps say what was on the way.
        let batches = if messages.is_multiple_of(STAMPS) { STAMPS } else { 1 };
        let round = Round { first: next, batch: messages / batches, batches, full_check, ..Round::default() };
        next += messages;
        team.round(&round)
    };
    run((FULL_CHECK_BYTES / job.size() as u64 / streams).clamp(1, FULL_CHECK_MESSAGES), true)?;
    let round_ns = (job.time_s * 1e9 / f64::from(ROUNDS)).max(ROUND_NS_MIN);
    let mut messages = FIRST_MESSAGES;
    let message_ns = loop {
        let round_took_ns = elapsed_ns(&run(messages, false)?);
        if round_took_ns >= round_ns / 4.0 || messages >= 1 << 40 {
            break round_took_ns / messages as f64;
        }
        // A short round consists mostly of its start.
        messages = (messages as f64 * (round_ns / 4.0 / round_took_ns).clamp(2.0, 16.0)) as u64;
    };
    let messages_in = |ns: f64| ((ns / message_ns).ceil() as u64).max(1);
    let started = Instant::now();
    run(messages_in((job.warm_up_s * 1e9).min(round_ns)), false)?;

    let messages = messages_in(round_ns).next_multiple_of(STAMPS);
    let (messages, first) = prolonged(messages, &mut |messages| run(messages, false))?;
    let mut measured = Measured {
        batch_operations: streams * messages,
        warm_up_s: started.elapsed().as_secs_f64(),
        // One round of warm-up after the calibration: there are too few rounds to detect a trend.
        steady: true,
        ..Measured::default()
    };
    let mut first = Some(first);
    for _ in 0..ROUNDS {
        let reports = first.take().map_or_else(|| run(messages, false), Ok)?;
        measured.series.entry(metric.to_owned()).or_default().push(figure(messages, &reports));
        for (index, report) in reports.iter().enumerate() {
            measured.add_cost(if index % 2 == 0 { Role::Receiver } else { Role::Sender }, report);
        }
    }
    measured.counters.insert("operations".into(), (streams * messages * u64::from(ROUNDS)) as f64);
    cpu::add(&mut measured);
    Ok(measured)
}

/// Sends so many messages per stream that few of them are on the way when the senders have ended, at least `messages`. Returns how many,
/// and the reports of that round.
fn prolonged(
    mut messages: u64,
    run: &mut impl FnMut(u64) -> Result<Vec<Report>, LaunchError>,
) -> Result<(u64, Vec<Report>), LaunchError> {
    for _ in 0..ATTEMPTS {
        let reports = run(messages)?;
        let factor = on_the_way_share(&reports) * ON_THE_WAY_TIMES;
        if factor <= 1.0 {
            return Ok((messages, reports));
        }
        let longest = VOLUME_S_MAX * 1e9 / elapsed_ns(&reports);
        messages = ((messages as f64 * (factor * MARGIN).min(longest)) as u64).max(1).next_multiple_of(STAMPS);
    }
    Err(LaunchError::Failed(format!(
        "more than 1/{ON_THE_WAY_TIMES} of {messages} messages were on the way when the senders had ended: the round shows how fast \
         the transport fills and drains"
    )))
}

/// Returns which share of the messages of all streams was on the way when their senders had ended; 0 where receivers have no time
/// stamps, because each sender waits for answers.
fn on_the_way_share(reports: &[Report]) -> f64 {
    let of = |pair: &[Report]| match pair {
        [receiver, sender] if !receiver.stamps_ns.is_empty() => {
            on_the_way(1, &receiver.stamps_ns, sender) / receiver.stamps_ns.len() as f64
        }
        _ => 0.0,
    };
    let pairs = reports.chunks(2);
    (pairs.len().max(1) as f64).recip() * pairs.map(of).sum::<f64>()
}

/// Returns the time from the first start to the last end, ns; at least 1.
pub(super) fn elapsed_ns(reports: &[Report]) -> f64 {
    let start_ns = reports.iter().map(|report| report.start_ns).min().unwrap_or_default();
    let end_ns = reports.iter().map(|report| report.end_ns).max().unwrap_or_default();
    end_ns.saturating_sub(start_ns).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_prolonged_until_few_messages_are_on_the_way() {
        // Each end takes 1 us a message, and the receiver begins `late` messages behind the sender.
        let reports = |messages: u64, late: u64| {
            let stamps_ns = (1..=STAMPS).map(|stamp| (messages * stamp / STAMPS + late) * 1000).collect();
            let sender = Report { end_ns: messages * 1000, ..Report::default() };
            vec![Report { stamps_ns, end_ns: (messages + late) * 1000, ..Report::default() }, sender]
        };
        let (messages, last) = prolonged(2_000, &mut |messages| Ok(reports(messages, 1000))).expect("it suffices");
        assert!(messages >= 16_000 && on_the_way_share(&last) <= 1.0 / 16.0, "{messages}");
        // However many are sent, half of them are on the way.
        let never = prolonged(1_000, &mut |messages| Ok(reports(messages, messages / 2)));
        let LaunchError::Failed(why) = never.expect_err("there is no rate") else { panic!("the machine can run it") };
        assert!(why.contains("fills and drains"), "{why}");
        assert_eq!(on_the_way_share(&[Report::default(), Report { end_ns: 7, ..Report::default() }]), 0.0);
    }

    #[test]
    fn a_round_lasts_until_the_last_pair_is_done() {
        let report = |start_ns, end_ns| Report { start_ns, end_ns, ..Report::default() };
        assert_eq!(elapsed_ns(&[report(5, 10), report(3, 7), report(4, 19)]), 16.0);
    }
}
