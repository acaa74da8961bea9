//! A program with events of its own, to try `headwater trace` with, and to see how a program gets them:
//!
//! ```text
//! headwater trace record -o trace -- target/debug/examples/traced --rate 100000 --seconds 2 --threads 2
//! ```
//!
//! Each thread answers imaginary requests. At the end it says how many events it has emitted; without a session that records
//! them they cost next to nothing.

use std::time::{Duration, Instant};

headwater_trace::events! {
    /// A request has come.
    asked_begin("shop:ask_begin") { request: u64, thread: u32 }
    /// It has been answered.
    asked_end("shop:ask_end") { request: u64, status: u16, path: &str }
}

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
    /// The exit status.
    status: i32,
}

fn main() {
    let plan = match plan(std::env::args().skip(1)) {
        Ok(plan) => plan,
        Err(why) => {
            eprintln!("traced: {why}; there are --rate N, --seconds S, --count N, --threads N, --exit N, --for-ever");
            std::process::exit(2);
        }
    };
    let emitted: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads)
            .map(|thread| {
                scope.spawn({
                    let plan = &plan;
                    move || serve(plan, thread)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).sum()
    });
    println!("{emitted} events");
    std::process::exit(plan.status);
}

fn plan(mut words: impl Iterator<Item = String>) -> Result<Plan, String> {
    let mut plan = Plan { rate: 10_000, seconds: Some(1.0), count: None, threads: 1, status: 0 };
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
            "--exit" => plan.status = number()? as i32,
            _ => return Err(format!("{word} is unknown")),
        }
    }
    Ok(plan)
}

/// One thread's requests; gives back how many events they were.
fn serve(plan: &Plan, thread: u32) -> u64 {
    let begun = Instant::now();
    let mut emitted = 0;
    for request in 0.. {
        if plan.count.is_some_and(|count| emitted >= count) {
            break;
        }
        asked_begin(request, thread);
        asked_end(request, 200, "/cart");
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
