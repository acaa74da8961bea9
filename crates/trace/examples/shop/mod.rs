//! The program of `traced` and `untraced`: threads that answer imaginary requests, and report when each request has
//! arrived and when it was answered.

use std::time::{Duration, Instant};

/// Requests between two looks at the clock.
const BURST: u64 = 10;

struct Plan {
    /// Events a second of each thread; 0: as many as it can.
    rate: u64,
    /// None: for ever.
    seconds: Option<f64>,
    /// Events of each thread, after which it ends.
    count: Option<u64>,
    threads: u32,
    /// The work of a request: a number of rounds of arithmetic.
    work: u64,
    /// The exit status.
    status: i32,
}

/// The reports of a request: when it has arrived, and when it has been answered.
pub trait Say: Copy + Send {
    fn begin(self, request: u64, thread: u32);
    fn end(self, request: u64, status: u16, path: &str);
}

/// The program.
pub fn main(say: impl Say) {
    let plan = match plan(std::env::args().skip(1)) {
        Ok(plan) => plan,
        Err(why) => {
            eprintln!(
                "traced: {why}; there are --rate N, --seconds S, --count N, --threads N, --work N, \
                       --exit N, --for-ever"
            );
            std::process::exit(2);
        }
    };
    let emitted: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads)
            .map(|thread| {
                scope.spawn({
                    let plan = &plan;
                    move || serve(plan, thread, say)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).sum()
    });
    println!("{emitted} events");
    std::process::exit(plan.status);
}

fn plan(mut words: impl Iterator<Item = String>) -> Result<Plan, String> {
    let mut plan = Plan { rate: 10_000, seconds: Some(1.0), count: None, threads: 1, work: 0, status: 0 };
    while let Some(word) = words.next() {
        if word == "--for-ever" {
            plan.seconds = None;
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{word} has no value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{value} is not a number"));
        match word.as_str() {
            "--rate" => plan.rate = number()?,
            "--seconds" => plan.seconds = Some(value.parse().map_err(|_| format!("{value} is not a number"))?),
            "--count" => (plan.count, plan.seconds) = (Some(number()?), None),
            "--threads" => plan.threads = number()? as u32,
            "--work" => plan.work = number()?,
            "--exit" => plan.status = number()? as i32,
            _ => return Err(format!("{word} is unknown")),
        }
    }
    Ok(plan)
}

/// One thread's requests; returns the number of their events.
fn serve(plan: &Plan, thread: u32, say: impl Say) -> u64 {
    let begun = Instant::now();
    let mut emitted = 0;
    for request in 0.. {
        if plan.count.is_some_and(|count| emitted >= count) {
            break;
        }
        say.begin(request, thread);
        work(plan.work, request);
        say.end(request, 200, "/cart");
        emitted += 2;
        if request % BURST == BURST - 1 {
            if plan.seconds.is_some_and(|seconds| begun.elapsed().as_secs_f64() >= seconds) {
                break;
            }
            if plan.rate > 0 {
                let due = Duration::from_secs_f64(emitted as f64 / plan.rate as f64);
                std::thread::sleep(due.saturating_sub(begun.elapsed()));
            }
        }
    }
    emitted
}

fn work(rounds: u64, request: u64) {
    let mut sum = request;
    for round in 0..rounds {
        sum = std::hint::black_box(sum.rotate_left(7) ^ round);
    }
}
