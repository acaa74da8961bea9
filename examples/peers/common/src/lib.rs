//! The line protocol of Headwater's external transports: everything that a program needs apart from its library.
//!
//! It does not depend on Headwater; it was written from docs/external-transports.md only. A program implements [`End`]
//! and calls [`serve`].

use std::io::{self, BufRead, Write};
use std::process::exit;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use serde::Serialize;

pub mod durations;
pub mod message;
pub mod payload;
mod system;

use durations::Durations;
use message::{Cost, Order, Pattern, Reply, Report, Request, Role, Round};
use payload::Payload;
use system::{cost, now_ns};

/// How long a round may continue after the input has ended.
const GRACE: Duration = Duration::from_millis(300);

/// The reason why an operation of an end failed.
#[derive(Debug)]
pub enum Failure {
    /// The machine does not support it.
    Skipped(String),
    /// An error.
    Broken(String),
}

impl Failure {
    /// Makes an error from the call that failed.
    pub fn of(call: &str, error: impl std::fmt::Display) -> Failure {
        Failure::Broken(format!("{call}: {error}"))
    }
}

/// The description of the program.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// The name in row ids.
    pub name: &'static str,
    /// The version of the library.
    pub version: String,
    /// A description in one line.
    pub summary: &'static str,
    /// How an end waits.
    pub blocking: &'static str,
}

/// One end of the transport.
pub trait End: Sized {
    /// Opens the end. The receiver is opened first and must not wait for the sender.
    ///
    /// # Errors
    /// [`Failure`].
    fn open(order: &Order) -> Result<Self, Failure>;

    /// Prepares for the first round. Both ends are open now.
    ///
    /// # Errors
    /// [`Failure`].
    fn connected(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Sends a message, which must be copied.
    ///
    /// # Errors
    /// [`Failure`].
    fn send(&mut self, message: &[u8]) -> Result<(), Failure>;

    /// Waits for a message and copies it to `buffer`, which has its length.
    ///
    /// # Errors
    /// [`Failure`].
    fn receive(&mut self, buffer: &mut [u8]) -> Result<(), Failure>;

    /// Removes named objects that would outlive the process. Called after the end was dropped, or if there is no time
    /// for that. The other end may do the same.
    fn remove(order: &Order);
}

/// Answers requests until the input ends, then ends the process.
pub fn serve<E: End>(description: Description) -> ! {
    let (sender, requests) = mpsc::channel();
    let order: Arc<Mutex<Option<Order>>> = Arc::default();
    let shared = Arc::clone(&order);
    thread::spawn(move || {
        // On a thread of its own, so that the end of the input ends the process even if a round is stuck.
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
        drop(sender);
        thread::sleep(GRACE);
        if let Some(order) = &*shared.lock().unwrap_or_else(PoisonError::into_inner) {
            E::remove(order);
        }
        exit(0);
    });
    let mut seat: Option<Worker<E>> = None;
    for line in requests {
        let reply = match serde_json::from_str(&line) {
            Ok(Request::Describe) => {
                Ok(Reply::Description { protocol: 1, patterns: &["stream", "rtt"], description: description.clone() })
            }
            Ok(Request::Prepare(wanted)) => {
                *order.lock().unwrap_or_else(PoisonError::into_inner) = Some(wanted.clone());
                Worker::open(wanted).map(|opened| {
                    seat = Some(opened);
                    Reply::Ready
                })
            }
            Ok(Request::Run(round)) => match &mut seat {
                Some(seat) => seat.run(&round).map(Reply::Result),
                None => Err(Failure::Broken("run came before prepare".into())),
            },
            Ok(Request::Finish) => break,
            Err(error) => Err(Failure::of("request", error)),
        };
        send_reply(&reply.unwrap_or_else(|failure| match failure {
            Failure::Skipped(reason) => Reply::Skipped { reason },
            Failure::Broken(message) => Reply::Error { message },
        }));
    }
    drop(seat);
    if let Some(order) = &*order.lock().unwrap_or_else(PoisonError::into_inner) {
        E::remove(order);
    }
    exit(0)
}

fn send_reply(reply: &Reply) {
    let mut out = io::stdout().lock();
    let line = serde_json::to_string(reply).expect("a reply has nothing that JSON has not");
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        // The reader has closed the pipe; the end of the input follows.
        exit(1);
    }
}

/// An end with its role in the pattern.
struct Worker<E> {
    order: Order,
    end: E,
    payload: Payload,
    connected: bool,
}

impl<E: End> Worker<E> {
    fn open(order: Order) -> Result<Worker<E>, Failure> {
        let (end, payload) = (E::open(&order)?, Payload::new(order.size));
        Ok(Worker { order, end, payload, connected: false })
    }

    fn run(&mut self, round: &Round) -> Result<Report, Failure> {
        if !self.connected {
            self.end.connected()?;
            self.connected = true;
        }
        let mut report = Report { stamps_ns: Vec::with_capacity(round.batches as usize), ..Report::default() };
        let mut durations = Durations::default();
        let before = cost();
        report.start_ns = now_ns();
        let (mut sequence, mut last_ns) = (round.first, report.start_ns);
        for _ in 0..round.batches {
            for _ in 0..round.batch {
                self.step(sequence, round.full_check)?;
                if round.histogram && self.order.role == Role::Sender {
                    let this_ns = now_ns();
                    durations.record(this_ns - last_ns);
                    last_ns = this_ns;
                }
                sequence += 1;
            }
            report.stamps_ns.push(now_ns());
        }
        report.end_ns = now_ns();
        report.histogram = durations.pairs();
        report.cost = cost().since(&before);
        Ok(report)
    }

    /// Runs one message, or one exchange.
    #[inline]
    fn step(&mut self, sequence: u64, full: bool) -> Result<(), Failure> {
        let Worker { order, end, payload, .. } = self;
        match (order.role, order.pattern) {
            (Role::Sender, pattern) => {
                end.send(payload.message(sequence))?;
                if pattern == Pattern::Rtt { receive(end, payload, sequence, full) } else { Ok(()) }
            }
            (Role::Receiver, pattern) => {
                receive(end, payload, sequence, full)?;
                if pattern == Pattern::Rtt { end.send(payload.space()) } else { Ok(()) }
            }
        }
    }
}

#[inline]
fn receive<E: End>(end: &mut E, payload: &mut Payload, sequence: u64, full: bool) -> Result<(), Failure> {
    if full {
        payload.poison();
    }
    end.receive(payload.space())?;
    payload.verify(sequence, full).map_err(Failure::Broken)
}

impl Cost {
    /// Returns the difference to `before`.
    fn since(self, before: &Cost) -> Cost {
        Cost {
            user_s: self.user_s - before.user_s,
            system_s: self.system_s - before.system_s,
            voluntary_switches: self.voluntary_switches - before.voluntary_switches,
            involuntary_switches: self.involuntary_switches - before.involuntary_switches,
        }
    }
}
