//! Every order in which waiters and publishers use a word of flags, with the orderings of the language: a wake-up
//! that is lost leaves a reader asleep for ever, which loom reports.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p headwater-streams --release --lib loom_flags`
//!
//! The barrier is modelled as what membarrier(2) is: the other side passes a full fence somewhere between two of its
//! steps, and passes none by itself. The descriptor is a queue of packets, of which a reader takes only what was
//! counted as sent before a look that found nothing, as `inbox` does.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use headwater_shm::sync::AtomicU32;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use super::*;

/// Runs the model over all orders with at most `preemptions` forced switches.
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(model);
}

/// One direction: a counter for the lane, the reading side's word, its doorbell, and the barrier.
struct Room {
    /// How much was published.
    tail: AtomicU32,
    side: Side,
    arms: AtomicU32,
    sent: AtomicU32,
    taken: AtomicU32,
    /// The reader's lock, and how much was read.
    head: Mutex<u32>,
    doorbell: Mutex<Doorbell>,
    arrived: Condvar,
    /// Barriers that were asked for, and those that the writer has passed.
    asked: AtomicU32,
    passed: AtomicU32,
}

#[derive(Default)]
struct Doorbell {
    /// For each packet the arming that it answers.
    packets: VecDeque<u32>,
    /// How often the end's own readers were told to look.
    nudges: u32,
}

/// The writer has ended: all of its stores are visible.
const ENDED: u32 = 1 << 16;

impl Room {
    fn new(armed: u32) -> Arc<Room> {
        let word = AtomicU32::new;
        Arc::new(Room {
            tail: word(0),
            side: Side { sleep: word(armed), wanted: word(0) },
            arms: word(0),
            sent: word(0),
            taken: word(0),
            head: Mutex::new(0),
            doorbell: Mutex::new(Doorbell::default()),
            arrived: Condvar::new(),
            asked: word(0),
            passed: word(0),
        })
    }

    /// In the writer: a place between two steps, at which a barrier may reach it.
    fn step(&self) {
        let asked = self.asked.load(Ordering::Acquire);
        if asked != self.passed.load(Ordering::Relaxed) {
            fence(Ordering::SeqCst);
            self.passed.store(asked, Ordering::Release);
        }
    }

    fn end(&self) {
        fence(Ordering::SeqCst);
        self.passed.store(ENDED, Ordering::Release);
    }

    fn ring(&self) {
        self.sent.fetch_add(1, Ordering::AcqRel);
        let number = self.arms.load(Ordering::Acquire);
        self.doorbell.lock().expect("no holder panics").packets.push_back(number);
        self.arrived.notify_all();
    }

    fn publish(&self, quiet: &mut u32, tell: impl FnOnce()) {
        let tail = self.tail.load(Ordering::Relaxed);
        self.tail.store(tail + 1, Ordering::Release);
        self.step();
        if self.side.sleep.load(Ordering::Relaxed) == 0 {
            return;
        }
        self.step();
        if look_at(&self.side, quiet) & (BELL | RINGING) != 0 {
            tell_by_descriptor(&self.side, tell);
        }
        self.step();
    }

    /// Takes published messages until `count` were read.
    fn read(&self, count: u32) {
        let mut left = count;
        while left > 0 {
            let nudges = self.nudges();
            left -= self.take_at_most(left);
            if left > 0 {
                self.sleep(nudges);
            }
        }
    }

    fn nudges(&self) -> u32 {
        self.doorbell.lock().expect("no holder panics").nudges
    }

    /// Sleeps until the doorbell is readable, or the end's readers were told to look.
    fn sleep(&self, nudges: u32) {
        let mut doorbell = self.doorbell.lock().expect("no holder panics");
        while doorbell.packets.is_empty() && doorbell.nudges == nudges {
            doorbell = self.arrived.wait(doorbell).expect("no holder panics");
        }
    }

    /// Takes what was published since, and at most `most`; if there is less, the doorbell reports the next message.
    fn take_at_most(&self, most: u32) -> u32 {
        let mut head = self.head.lock().expect("no holder panics");
        let before = *head;
        while *head - before < most && !self.arm(|| self.tail.load(Ordering::Acquire) != *head) {
            *head = self.tail.load(Ordering::Acquire).min(before + most);
        }
        *head - before
    }

    /// As `Inbox::arm`.
    fn arm(&self, ready: impl Fn() -> bool) -> bool {
        let was_armed = self.side.sleep.load(Ordering::Acquire) & (BELL | RINGING) == BELL;
        let arms = self.arms.load(Ordering::Relaxed) + 1;
        self.arms.store(arms, Ordering::Relaxed);
        announce(&self.side, BELL, RINGING, self).expect("it reaches the writer");
        let until = self.sent.load(Ordering::Acquire);
        if ready() {
            return false;
        }
        if !self.take(until, arms, was_armed) {
            return true;
        }
        if self.side.sleep.load(Ordering::Acquire) & (BELL | RINGING) != BELL {
            announce(&self.side, BELL, RINGING, self).expect("it reaches the writer");
        }
        let is_ready = ready();
        if is_ready {
            // The packets may have answered another reader.
            self.doorbell.lock().expect("no holder panics").nudges += 1;
            self.arrived.notify_all();
        }
        !is_ready
    }

    /// Takes packets out that were counted, and those that were not counted. Returns whether one answers the latest
    /// arming.
    fn take(&self, until: u32, arms: u32, was_armed: bool) -> bool {
        let packets = &mut self.doorbell.lock().expect("no holder panics").packets;
        let mut fresh = false;
        while self.taken.load(Ordering::Relaxed) < until {
            let Some(number) = packets.pop_front() else {
                self.taken.store(until, Ordering::Relaxed);
                break;
            };
            fresh |= number == arms;
            self.taken.fetch_add(1, Ordering::Relaxed);
        }
        while was_armed && !fresh && packets.front().is_some_and(|number| *number != arms) {
            packets.pop_front();
        }
        fresh
    }
}

impl Barrier for &Room {
    fn is_asymmetric(&self) -> bool {
        true
    }

    fn heavy(&self) -> Result<()> {
        fence(Ordering::SeqCst);
        let number = self.asked.fetch_add(1, Ordering::AcqRel) + 1;
        while self.passed.load(Ordering::Acquire) < number {
            thread::yield_now();
        }
        fence(Ordering::SeqCst);
        Ok(())
    }
}

/// A writer in a thread, which has found no reader `quiet` times.
fn publish_two(room: &Arc<Room>, mut quiet: u32) -> thread::JoinHandle<()> {
    let room = room.clone();
    thread::spawn(move || {
        (0..2).for_each(|_| room.publish(&mut quiet, || room.ring()));
        room.end();
    })
}

/// A reader arms again and again while a writer publishes, asks for fences, and gives them up.
#[test]
fn loom_flags_lose_no_wake_up_of_one_reader() {
    explore(2, || {
        let room = Room::new(0);
        let writer = publish_two(&room, 0);
        room.read(2);
        writer.join().expect("writer");
    });
}

/// Two readers of one side, which take turns by its lock, wait for a message each. Neither takes the other's signal.
#[test]
fn loom_flags_lose_no_wake_up_of_two_readers() {
    explore(2, || {
        let room = Room::new(0);
        let reader = {
            let room = room.clone();
            thread::spawn(move || room.read(1))
        };
        let writer = publish_two(&room, 0);
        room.read(1);
        reader.join().expect("reader");
        writer.join().expect("writer");
    });
}

/// The writer asks for no fence any more when none has waited for long, and a reader comes at that moment.
#[test]
fn loom_flags_lose_no_reader_that_comes_when_fences_are_given_up() {
    explore(2, || {
        let room = Room::new(FENCING | FENCED);
        let writer = publish_two(&room, QUIET - 1);
        room.read(2);
        writer.join().expect("writer");
    });
}

/// One that rings dies before it has rung; the next publication is told all the same.
#[test]
fn loom_flags_are_told_by_the_next_one_when_the_ringer_dies() {
    for rung in [false, true] {
        explore(2, move || {
            let room = Room::new(BELL);
            let writer = {
                let room = room.clone();
                thread::spawn(move || {
                    let mut quiet = 0;
                    let dies = || {
                        if rung {
                            room.ring();
                        }
                        resume_unwind(Box::new("killed"))
                    };
                    let _ = catch_unwind(AssertUnwindSafe(|| room.publish(&mut quiet, dies)));
                    room.publish(&mut quiet, || room.ring());
                    room.end();
                })
            };
            room.read(2);
            writer.join().expect("writer");
        });
    }
}
