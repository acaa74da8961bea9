//! A process that makes a known number of system calls, and what a session recorded of it.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use headwater_os::child::Child;
use headwater_trace_tools::kernel::{Capture, Mode, Settings, Support, Totals};
use headwater_trace_tools::record::records;

pub const EVENTS: [&str; 1] = ["raw_syscalls"];

/// Whether kernel sessions are possible; prints the reason if not.
pub fn usable() -> bool {
    let support = Support::look();
    match support.obstacle() {
        Some(why) => println!("skipped: {why}"),
        None => return true,
    }
    false
}

/// A child that waits for a signal to start, and then runs `body`.
pub struct Waiting {
    pub child: Child,
    line: OwnedFd,
}

impl Waiting {
    /// Forks the child. `body` must not allocate: other threads of the test may hold locks at the fork.
    pub fn fork(body: impl FnOnce()) -> Waiting {
        let (told, line) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
        let child = Child::fork(|| {
            let read = rustix::io::read(&told, &mut [0; 1]);
            body();
            i32::from(read != Ok(1))
        });
        Waiting { child: child.expect("fork"), line }
    }

    pub fn calling(calls: u32) -> Waiting {
        Waiting::fork(move || call(calls))
    }

    pub fn run(mut self) {
        rustix::io::write(&self.line, b"g").expect("it waits");
        assert!(self.child.wait().expect("wait").success());
    }
}

/// Makes a number of calls that nothing else makes.
pub fn call(calls: u32) {
    for _ in 0..calls {
        std::hint::black_box(rustix::process::getppid());
    }
}

pub fn only(waiting: &[&Waiting], mode: Mode) -> Settings {
    let processes = waiting.iter().map(|waiting| waiting.child.id()).collect();
    Settings { processes: Some(processes), ..Settings::new(&EVENTS, mode) }
}

/// The contents of a capture.
#[derive(Debug)]
pub struct Seen {
    /// By thread: entries to and exits from getppid.
    pub calls: HashMap<u32, (u32, u32)>,
    /// By CPU: `discarded` of all packets.
    pub discarded: HashMap<u32, Vec<u64>>,
    pub threads: HashMap<u32, u32>,
    pub totals: Vec<Totals>,
}

/// Converts a capture, and checks what must hold for every capture.
pub fn seen(mut capture: Capture) -> Seen {
    let stream = capture.stream();
    let id = |name: &str| stream.events.iter().find(|kind| kind.name == name).expect("asked for").id;
    let exit = id("raw_syscalls:sys_exit");
    let mut enters = vec![id("raw_syscalls:sys_enter")];
    let mut seen =
        Seen { calls: HashMap::new(), discarded: HashMap::new(), threads: HashMap::new(), totals: Vec::new() };
    let (mut count, mut ends) = (HashMap::<u32, u64>::new(), HashMap::<u32, u64>::new());
    let stats: Vec<_> = capture.stats().collect();
    let errors = capture.errors().count();
    seen.totals = capture
        .convert(&mut |packet| {
            // Only this event has types of its own for calls.
            enters.extend(packet.kinds.iter().map(|kind| kind.id));
            let said = seen.discarded.entry(packet.ring).or_default();
            assert!(packet.begin <= packet.end && said.last().is_none_or(|before| *before <= packet.discarded));
            said.push(packet.discarded);
            let mut now = *ends.get(&packet.ring).unwrap_or(&0);
            let mut bytes = 0;
            for (head, fields) in records(packet.records) {
                assert!(now <= head.time && (packet.begin..=packet.end).contains(&head.time));
                now = head.time;
                bytes += usize::from(head.len);
                *count.entry(packet.ring).or_default() += 1;
                *seen.threads.entry(head.thread).or_default() += 1;
                let number = i32::from_le_bytes(fields[..4].try_into().expect("a call's number"));
                if i64::from(number) == libc::SYS_getppid {
                    let calls = seen.calls.entry(head.thread).or_default();
                    calls.0 += u32::from(enters.contains(&head.event));
                    calls.1 += u32::from(head.event == exit);
                }
            }
            assert_eq!(bytes, packet.records.len(), "whole records and nothing else");
            ends.insert(packet.ring, now);
            Ok(())
        })
        .expect("the file can be read and the sink does not fail");
    assert_eq!(errors, 0);
    for (totals, (cpu, stats)) in seen.totals.iter().zip(stats) {
        assert_eq!(totals.cpu, cpu);
        assert_eq!(totals.records, *count.get(&cpu).unwrap_or(&0));
        assert_eq!(totals.records + totals.lost.older, stats.read, "{totals:?}");
        assert_eq!(totals.records + totals.lost.all(), stats.happened(), "{totals:?}");
        assert_eq!((totals.lost.unsaved, totals.lost.unknown, totals.backward), (0, 0, 0), "{totals:?}");
        let last = seen.discarded.get(&cpu).and_then(|said| said.last()).copied().unwrap_or(0);
        assert_eq!(last, totals.lost.all(), "the last packet says all that was lost");
    }
    seen
}
