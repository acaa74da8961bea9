//! Refuses figures that contradict themselves: more CPU time than there was, calls cheaper than a null call, batches that the
//! clock cannot measure. Called before a rate leaves the conductor.

use std::hint::black_box;
use std::thread;

use headwater_os::clock::now_ns;
use headwater_results::schema::Standing;

use super::conduct::Job;
use super::protocol::Report;

/// A timed batch lasts at least so many readings of the clock.
const CLOCK_READS: f64 = 1000.0;

/// CPU time that a worker may report beyond what there was: what surrounds a round is in it, s and share of the round.
const SLACK_S: f64 = 0.01;
const SLACK: f64 = 0.1;

/// A message may take this share of a null call: the processor may have been so much slower when the call was timed.
const CALL_SHARE_MIN: f64 = 0.4;

/// Checks the rate of `messages` messages in `elapsed_ns`, with the workers' reports of the round and its shortest batch.
///
/// # Errors
/// The contradiction in words.
pub fn check(job: &Job, reports: &[Report], messages: f64, elapsed_ns: f64, batch_ns: f64) -> Result<(), String> {
    let cpus = match job.cpus {
        Some((first, second)) if first == second => 1,
        Some(_) => 2,
        None => thread::available_parallelism().map_or(1, usize::from),
    };
    let costs = reports.iter().filter_map(|report| report.cost);
    let cpu_s: f64 = costs.map(|cost| cost.user_s + cost.system_s).sum();
    // A runtime needs no system call for each message.
    let is_called = job.row.standing == Standing::Candidate && !job.row.is_of_runtime();
    let call_ns = if is_called { cost_ns(null_call) } else { 0.0 };
    Bounds { cpus: cpus as f64, cpu_s, call_ns, clock_read_ns: cost_ns(clock_read) }
        .check(messages, elapsed_ns, batch_ns)
}

/// What a rate is held against.
struct Bounds {
    cpus: f64,
    cpu_s: f64,
    /// Time of a null call, for transports with a call for each message; else 0.
    call_ns: f64,
    clock_read_ns: f64,
}

impl Bounds {
    fn check(&self, messages: f64, elapsed_ns: f64, batch_ns: f64) -> Result<(), String> {
        let Bounds { cpus, cpu_s, call_ns, clock_read_ns } = *self;
        let (elapsed_s, message_ns) = (elapsed_ns / 1e9, elapsed_ns / messages);
        let what = if cpu_s > elapsed_s * cpus * (1.0 + SLACK) + SLACK_S {
            format!("the processes used {cpu_s:.3} s of CPU time in {elapsed_s:.3} s on {cpus} CPUs")
        } else if message_ns < call_ns * CALL_SHARE_MIN {
            format!("a message took {message_ns:.1} ns, and a null system call takes {call_ns:.1} ns here")
        } else if batch_ns < CLOCK_READS * clock_read_ns {
            format!("a batch took {batch_ns:.0} ns, less than {CLOCK_READS} readings of the clock")
        } else {
            return Ok(());
        };
        Err(format!("the rate contradicts itself and is not reported: {what}"))
    }
}

/// Returns the time of a call, ns: the least of several short loops.
fn cost_ns(mut call: impl FnMut()) -> f64 {
    const CALLS: u32 = 200;
    let time = |_| {
        let start_ns = now_ns();
        (0..CALLS).for_each(|_| call());
        now_ns() - start_ns
    };
    (0..5).map(time).min().unwrap_or_default() as f64 / f64::from(CALLS)
}

fn null_call() {
    black_box(rustix::process::getppid());
}

fn clock_read() {
    black_box(now_ns());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_contradict_themselves_are_refused() {
        let bounds = || Bounds { cpus: 1.0, cpu_s: 0.035, call_ns: 80.0, clock_read_ns: 30.0 };
        // 50,000 messages in 35 ms on one CPU.
        bounds().check(5e4, 35e6, 1.7e6).expect("it is possible");
        let of = |bounds: Bounds, messages, batch_ns| bounds.check(messages, 35e6, batch_ns).expect_err("impossible");
        assert!(
            of(Bounds { cpu_s: 0.07, ..bounds() }, 5e4, 1.7e6).contains("0.070 s of CPU time in 0.035 s on 1 CPUs")
        );
        Bounds { cpu_s: 0.07, cpus: 2.0, ..bounds() }.check(5e4, 35e6, 1.7e6).expect("two CPUs have it");
        assert!(of(bounds(), 3.5e6, 1.7e6).contains("a message took 10.0 ns"));
        Bounds { call_ns: 0.0, ..bounds() }.check(3.5e6, 35e6, 1.7e6).expect("it makes no call");
        assert!(of(bounds(), 5e4, 29_999.0).contains("less than 1000 readings"));
        assert!(cost_ns(null_call) > 1.0);
    }
}
