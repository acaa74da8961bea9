//! Measures the cost of an event for each arm of `cargo experiment trace-cost`: each line of the input is the name of an arm
//! and how many batches; the output is a line with the ns per event of each. With a path it makes a session there.

use std::hint::black_box;
use std::io::{self, BufRead};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use headwater_trace::WhenFull;
use headwater_trace::region::{Layout, Region};
use headwater_trace::schema::Clock;
use tracing_subscriber::layer::SubscriberExt;

headwater_trace::events! {
    off("off:event") { first: u64, second: u32, third: u32 }
    on("cost:event") { first: u64, second: u32, third: u32 }
    with_stack("cost:stack") { first: u64, second: u32, third: u32 }
}

const BATCH: u64 = 20_000;
const WORDS: usize = 1 << 15;

/// The minimal work for a record of 32 bytes: a time stamp and four stores.
struct Bare {
    ring: Box<[u64; WORDS]>,
    head: usize,
}

impl Bare {
    #[inline(always)]
    fn store(&mut self, number: u64) {
        let place = &mut self.ring[self.head & (WORDS - 4)..][..4];
        place[0] = headwater_os::ticks::now();
        place[1] = 1;
        place[2] = number;
        place[3] = number ^ 5;
        self.head += 4;
    }
}

fn batch(mut event: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    for number in 0..BATCH {
        event(black_box(number));
    }
    start.elapsed().as_nanos() as f64 / BATCH as f64
}

/// How much longer than a batch two threads run at once, so that what they do alone at its beginning and end does not count.
const TIMES: u64 = 10;

/// As [`batch`], in two threads at once, each on a CPU of its own: the mean of both.
fn pair<F: FnMut(u64)>(make: impl Fn() -> F + Sync) -> io::Result<f64> {
    let cpus = headwater_os::cpu::allowed()?;
    let &[one, other, ..] = &cpus[..] else { return Err(io::Error::other("two CPUs are needed")) };
    let ready = AtomicU32::new(0);
    let run = |cpu| -> io::Result<f64> {
        headwater_os::cpu::bind(cpu)?;
        let mut event = make();
        event(0);
        ready.fetch_add(1, Ordering::AcqRel);
        while ready.load(Ordering::Acquire) < 2 {
            std::hint::spin_loop();
        }
        Ok((0..TIMES).map(|_| batch(&mut event)).sum::<f64>() / TIMES as f64)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(other));
        let one = scope.spawn(|| run(one));
        let [one, other] = [one, other].map(|thread| thread.join().expect("it does not panic"));
        Ok((one? + other?) / 2.0)
    })
}

fn make(path: &Path) -> io::Result<()> {
    let clock = Clock { name: "tsc".into(), frequency_hz: 1_000_000_000, offset_s: 0, offset_ticks: 0 };
    let patterns = vec!["cost:*".to_owned()];
    let region = Region::create(path, &Layout { patterns, when_full: WhenFull::Overwrite, cpu_bytes: 1 << 18, clock })?;
    // With a second argument as copies.
    region.set_stacks(&["cost:stack".to_owned()], std::env::args_os().nth(2).is_some())
}

fn main() -> io::Result<()> {
    if let Some(path) = std::env::args_os().nth(1) {
        return make(Path::new(&path));
    }
    let subscriber = tracing_subscriber::registry().with(headwater_trace::tracing::layer());
    tracing::subscriber::set_global_default(subscriber).map_err(io::Error::other)?;
    let mut bare = Bare { ring: Box::new([0; WORDS]), head: 0 };
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (arm, count) = line.split_once(' ').ok_or(io::ErrorKind::InvalidInput)?;
        let mut batches = Vec::new();
        for _ in 0..count.parse().map_err(io::Error::other)? {
            let ns = match arm {
                "loop" => batch(|number| {
                    black_box(number);
                }),
                "off" => batch(|number| off(number, 1, 2)),
                "bare" => batch(|number| bare.store(number)),
                "event" => batch(|number| on(number, 1, 2)),
                "stack" => batch(|number| with_stack(number, 1, 2)),
                "event-pair" => pair(|| |number| on(number, 1, 2))?,
                "bare-pair" => pair(|| {
                    let mut bare = Bare { ring: Box::new([0; WORDS]), head: 0 };
                    move |number| bare.store(number)
                })?,
                "tracing" => batch(
                    |number| tracing::info!(name: "event", target: "cost", first = number, second = 1_u64, third = 2_u64),
                ),
                "tracing-off" => batch(
                    |number| tracing::info!(name: "event", target: "off", first = number, second = 1_u64, third = 2_u64),
                ),
                other => return Err(io::Error::other(format!("there is no arm {other}"))),
            };
            batches.push(format!("{ns:.4}"));
        }
        println!("{}", batches.join(" "));
    }
    Ok(())
}
