//! Submitters and loggers in several processes: asleep, behind, stopped, killed, or breaking the protocol.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_streams::drivers::log::LogControl;
use headwater_streams::drivers::log::TraceId;
use headwater_streams::{
    DeviceOptions, Errno, LogSubmitter, Message, Module, ModuleInfo, Options, Queue, Result, register, strlog,
};

use super::{
    ERROR, PATIENCE, TRACE, at, at_least, come, error_logger, lost, next, open, submitter, texts, trace, tracer,
};
use crate::common::{Random, calm, child, extent, in_own_process, joined, polled, private_directory, within};

/// A process that says when it is ready, and then waits to be killed or told to go on.
pub struct Waiting {
    child: Child,
    go: Option<std::io::PipeWriter>,
}

impl Waiting {
    pub fn start<T>(prepare: impl FnOnce() -> T, then: impl FnOnce(T)) -> Waiting {
        let (ready, told) = std::io::pipe().expect("pipe");
        let (waits, go) = std::io::pipe().expect("pipe");
        let mut ends = Some((ready, go));
        let process = child(|| {
            drop(ends.take());
            let prepared = prepare();
            std::io::Write::write_all(&mut &told, b"x")?;
            let _ = (&waits).read(&mut [0]);
            then(prepared);
            Ok(())
        });
        drop((told, waits));
        let (ready, go) = ends.take().expect("the child has a copy");
        assert_eq!((&ready).read(&mut [0]).expect("read"), 1, "the process has failed");
        Waiting { child: process, go: Some(go) }
    }

    pub fn go(&mut self) {
        drop(self.go.take());
    }

    pub fn kill(mut self) {
        self.child.kill();
        self.child.wait().expect("wait");
    }
}

/// Logs what passes.
#[derive(Debug)]
struct Logging;

impl Module for Logging {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("logging")
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        strlog(99, 0, 1, TRACE, format_args!("{:?} of {} bytes", message.header.kind, message.len()));
        queue.put_next(message)
    }
}

#[test]
fn modules_of_unrelated_processes_log_and_a_sleeping_logger_is_woken() {
    in_own_process!();
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| register(Logging).expect("new"));
    let directory = private_directory();
    within(PATIENCE, "a logger sleeps, and modules of other processes log".into());
    let tracer = tracer(directory.path());
    const PROCESSES: usize = 3;
    let children: Vec<_> = (0..PROCESSES)
        .map(|number| {
            child(|| {
                std::thread::sleep(Duration::from_millis(50));
                // SAFETY: a forked child has no other thread that reads the environment.
                unsafe { std::env::set_var("HEADWATER_RUNTIME_DIR", directory.path()) };
                let (near, far) = headwater_streams::pipe()?;
                near.push("logging")?;
                near.write(&vec![0; number + 1])?;
                assert_eq!(far.read(&mut [0; 80])?, number + 1);
                Ok(())
            })
        })
        .collect();
    let come: Vec<_> = (0..PROCESSES).map(|_| next(&tracer)).collect();
    let texts: BTreeSet<_> = come.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, BTreeSet::from(["Data of 1 bytes", "Data of 2 bytes", "Data of 3 bytes"]));
    let numbers: BTreeSet<_> = come.iter().map(|(control, _)| (control.mid(), control.seq_no())).collect();
    assert_eq!(numbers, BTreeSet::from([(99, 1), (99, 2), (99, 3)]));
    children.into_iter().for_each(joined);
    calm();
}

#[test]
fn a_process_that_got_its_streams_over_a_socket_logs_and_submits() {
    in_own_process!();
    let directory = private_directory();
    within(PATIENCE, "a process that has no name for its streams".into());
    let (here, there) = UnixStream::pair().expect("sockets");
    let other = child(|| {
        let options = DeviceOptions::new().directory(directory.path());
        let (logger, process) = (options.receive_over("log", &there)?, options.receive_over("log", &there)?);
        trace(&logger, &[TraceId { level: Some(7), ..TraceId::ALL }]);
        for level in [8, 7] {
            process.putmsg(Some(&LogControl::new(level, TRACE).bytes()), Some(b"from there"))?;
        }
        let (control, text) = next(&logger);
        assert_eq!((control.level(), control.seq_no(), text.as_str()), (7, 1, "from there"));
        Ok(())
    });
    let (logger, process) = (open(directory.path()), open(directory.path()));
    logger.send_over(&here).expect("it is there");
    process.send_over(&here).expect("it is there");
    joined(other);
    // It is a logger here too.
    assert!(submitter(directory.path()).submit(1, 1, 7, TRACE, "from here"));
    assert_eq!(next(&logger).1, "from here");
    calm();
}

#[test]
fn a_raw_poll_is_told_of_a_message() {
    in_own_process!();
    let directory = private_directory();
    within(PATIENCE, "poll(2) at a logger".into());
    let tracer = tracer(directory.path());
    assert_eq!(come(&tracer), []);
    assert_eq!(polled(&tracer, libc::POLLIN, Duration::ZERO), 0);
    let submits = child(|| {
        std::thread::sleep(Duration::from_millis(50));
        assert!(submitter(directory.path()).submit(1, 1, 1, TRACE, "polled"));
        Ok(())
    });
    assert_eq!(polled(&tracer, libc::POLLIN, Duration::MAX), libc::POLLIN);
    assert_eq!(texts(&tracer), ["polled"]);
    joined(submits);
    calm();
}

#[test]
fn a_full_logger_loses_messages_and_the_numbers_and_the_count_say_so() {
    in_own_process!();
    let directory = private_directory();
    const HIWAT: u32 = 2000;
    let stream = at(directory.path()).stream(Options::new().hiwat(HIWAT).lowat(1000)).open("log").expect("open");
    trace(&stream, &[TraceId::ALL]);
    // From here on the library's thread sends up what comes, as long as there is room.
    assert_eq!(come(&stream), []);
    let log = submitter(directory.path());
    const ALL: u32 = 1000;
    let got = (1..=ALL).filter(|number| {
        if number % 50 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        log.submit(1, 1, 1, TRACE, format_args!("message {number}"))
    });
    let got: Vec<u32> = got.collect();
    let most = 256 + HIWAT as usize / LogControl::LEN + 1;
    assert!((50..=most).contains(&got.len()), "{}", got.len());
    assert_eq!(lost(&stream), ALL - got.len() as u32);
    let come = at_least(&stream, got.len());
    assert_eq!(come.iter().map(|(control, _)| control.seq_no()).collect::<Vec<_>>(), got);
    assert!(come.iter().all(|(control, text)| *text == format!("message {}", control.seq_no())));
    // Then it continues.
    assert!(log.submit(1, 1, 1, TRACE, "again"));
    let (control, text) = next(&stream);
    assert_eq!((control.seq_no(), text.as_str()), (ALL + 1, "again"));
}

#[test]
fn a_reader_that_is_behind_gets_all_that_was_not_lost() {
    in_own_process!();
    let directory = private_directory();
    within(PATIENCE, "a small queue, and a reader that is behind".into());
    let stream = at(directory.path()).stream(Options::new().hiwat(300).lowat(100)).open("log").expect("open");
    trace(&stream, &[TraceId::ALL]);
    const ALL: u32 = 3000;
    let submits = child(|| {
        let log = submitter(directory.path());
        let failed = (1..=ALL).filter(|number| {
            if number % 100 == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            !log.submit(1, 1, 1, TRACE, number)
        });
        failed.for_each(drop);
        // The last one arrives.
        while !log.submit(2, 1, 1, TRACE, "last") {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    });
    let mut count = 0;
    let mut last = 0;
    loop {
        let (control, text) = next(&stream);
        assert!(control.seq_no() > last, "{control:?} after {last}");
        last = control.seq_no();
        if control.mid() == 2 {
            break;
        }
        assert_eq!(text, last.to_string());
        count += 1;
    }
    // Submitter and reader agree on what was lost.
    assert_eq!(last - 1 - count, lost(&stream));
    joined(submits);
    calm();
}

#[test]
fn a_stopped_logger_holds_nobody_up_and_goes_on_afterwards() {
    in_own_process!();
    let directory = private_directory();
    within(PATIENCE, "a logger is stopped".into());
    let (result, tell) = std::io::pipe().expect("pipe");
    let mut stopped = Waiting::start(
        || tracer(directory.path()),
        |stream| {
            let (mut count, mut last) = (0, LogControl::default());
            while last.mid() != 2 {
                last = next(&stream).0;
                count += 1;
            }
            let told = format!("{count} {} {}", last.seq_no(), lost(&stream));
            std::io::Write::write_all(&mut &tell, told.as_bytes()).expect("pipe");
        },
    );
    drop(tell);
    let other = tracer(directory.path());
    stopped.child.stop().expect("our own child");
    let log = submitter(directory.path());
    let mut longest = Duration::ZERO;
    let mut refused = 0;
    const ALL: u32 = 2000;
    for number in 1..=ALL {
        let start = Instant::now();
        refused += u32::from(!log.submit(1, 1, 1, TRACE, number));
        longest = longest.max(start.elapsed());
        // The other one is not stopped, and gets them all.
        assert_eq!(next(&other).0.seq_no(), number);
    }
    assert!(refused > 0 && longest < Duration::from_secs(2), "{refused} {longest:?}");
    stopped.child.resume();
    stopped.go();
    let mut submitted = ALL;
    loop {
        submitted += 1;
        if log.submit(2, 1, 1, TRACE, "last") {
            break;
        }
        refused += 1;
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut told = String::new();
    (&result).read_to_string(&mut told).expect("pipe");
    assert_eq!(told, format!("{} {submitted} {refused}", submitted - refused));
    joined(stopped.child);
    assert_eq!(lost(&other), 0);
    calm();
}

#[test]
fn a_stopped_submitter_holds_nobody_up() {
    in_own_process!();
    let directory = private_directory();
    let stream = tracer(directory.path());
    let rounds = extent("HEADWATER_ROUNDS", 10);
    let mut random = Random(7);
    for round in 0..rounds {
        within(PATIENCE, format!("round {round} with a stopped submitter"));
        let mut stopped = Waiting::start(
            || submitter(directory.path()),
            |log| loop {
                log.submit(1, 1, 1, TRACE, "one of many");
            },
        );
        stopped.go();
        std::thread::sleep(Duration::from_micros(random.next() % 5000));
        stopped.child.stop().expect("our own child");
        let log = submitter(directory.path());
        while !log.submit(2, 1, 1, TRACE, round) {
            come(&stream);
        }
        while next(&stream).1 != round.to_string() {}
        drop(error_logger(directory.path()));
        stopped.kill();
    }
    calm();
}

#[test]
fn several_submitters_at_once_lose_and_mix_nothing() {
    in_own_process!();
    let directory = private_directory();
    within(PATIENCE, "four submitters and a logger".into());
    let stream = tracer(directory.path());
    const PROCESSES: usize = 4;
    const EACH: usize = 500;
    let children: Vec<_> = (0..PROCESSES)
        .map(|process| {
            child(|| {
                let log = submitter(directory.path());
                for number in 0..EACH {
                    let text = format!("{number} {}", "x".repeat((number * 37 + process) % 1500));
                    while !log.submit(process as i16, 0, 1, TRACE, &text) {
                        std::thread::sleep(Duration::from_micros(100));
                    }
                }
                Ok(())
            })
        })
        .collect();
    let mut next_of = [0; PROCESSES];
    let mut numbers = BTreeSet::new();
    while next_of != [EACH; PROCESSES] {
        let (control, text) = next(&stream);
        let process = control.mid() as usize;
        let number = next_of[process];
        assert_eq!(text, format!("{number} {}", "x".repeat((number * 37 + process) % 1500)));
        next_of[process] += 1;
        assert!(numbers.insert(control.seq_no()), "{control:?} has come before");
    }
    children.into_iter().for_each(joined);
    let missing = *numbers.last().expect("some") as usize - numbers.len();
    assert_eq!(missing, lost(&stream) as usize);
    calm();
}

/// Whether a message is formatted, because some logger seems to ask for it.
fn is_formatted(log: &LogSubmitter) -> bool {
    let formatted = AtomicBool::new(false);
    let text = std::fmt::from_fn(|_| {
        formatted.store(true, Ordering::Relaxed);
        Ok(())
    });
    assert!(log.submit(1, 1, 1, TRACE, text));
    formatted.load(Ordering::Relaxed)
}

#[test]
fn a_killed_logger_is_forgotten_and_its_place_is_used_again() {
    in_own_process!();
    let directory = private_directory();
    let log = submitter(directory.path());
    for round in 0..3 {
        let killed = Waiting::start(|| tracer(directory.path()), drop);
        assert!(log.submit(1, 1, 1, TRACE, "to the one that will be killed"));
        killed.kill();
        // A message finds that out, and from then on none is formatted.
        within(PATIENCE, "a killed logger is forgotten".into());
        while is_formatted(&log) {}
        // What the dead one had in its mailbox is not the new one's.
        let stream = tracer(directory.path());
        assert!(log.submit(1, 1, 1, TRACE, round));
        assert_eq!(texts(&stream), [round.to_string()]);
        assert!(directory.path().join(".log.1").exists() && !directory.path().join(".log.2").exists());
        drop(stream);
        within(PATIENCE, "the close procedure, perhaps by the thread that serves poll(2)".into());
        while directory.path().join(".log.1").exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        calm();
        assert!(!is_formatted(&log), "the close procedure forgets it");
    }
}

#[test]
fn a_logger_lives_as_long_as_one_of_its_processes() {
    in_own_process!();
    let directory = private_directory();
    within(PATIENCE, "a logger of two processes".into());
    let stream = open(directory.path());
    let log = submitter(directory.path());
    // The process that makes it a logger is killed while it sleeps there.
    let mut killed = Waiting::start(
        || trace(&stream, &[TraceId::ALL]),
        |()| {
            next(&stream);
            next(&stream);
        },
    );
    killed.go();
    assert!(log.submit(1, 1, 1, TRACE, "first"));
    std::thread::sleep(Duration::from_millis(20));
    killed.kill();
    assert!(log.submit(1, 1, 1, TRACE, "second"));
    assert_eq!(texts(&stream).last().map(String::as_str), Some("second"));
    calm();
}

/// A process submits, and is killed after a random time; the numbers of what arrives have no gap but one for each.
#[test]
fn killed_submitters_leave_whole_messages() {
    in_own_process!();
    let directory = private_directory();
    let stream = tracer(directory.path());
    let mut random = Random(3);
    let (mut last, mut seen, mut kills) = (0, 0, 0);
    for round in 0..extent("HEADWATER_ROUNDS", 10) {
        within(PATIENCE, format!("round {round} with a killed submitter"));
        let mut killed = Waiting::start(
            || submitter(directory.path()),
            |log| loop {
                log.submit(1, 1, 1, TRACE, format_args!("{}", "x".repeat(2000)));
            },
        );
        killed.go();
        let end = Instant::now() + Duration::from_micros(random.next() % 3000);
        while Instant::now() < end {
            for (control, text) in come(&stream) {
                assert!(control.seq_no() > last && text.len() == 2000);
                (last, seen) = (control.seq_no(), seen + 1);
            }
        }
        killed.kill();
        kills += 1;
    }
    within(PATIENCE, "the last message of a submitter that is not killed".into());
    while !submitter(directory.path()).submit(2, 1, 1, TRACE, "last") {
        seen += come(&stream).len() as u32;
    }
    let last = loop {
        let (control, _) = next(&stream);
        seen += 1;
        if control.mid() == 2 {
            break control.seq_no();
        }
    };
    let missing = last - seen;
    let lost = lost(&stream);
    assert!((lost..=lost + kills).contains(&missing), "{missing} are missing, {lost} were lost, {kills} killed");
    calm();
}

#[test]
fn a_scribbled_table_spoils_messages_and_nothing_else() {
    in_own_process!();
    let directory = private_directory();
    let runtime = at(directory.path()).open_directory().expect("own");
    let (one, errors) = (tracer(directory.path()), error_logger(directory.path()));
    let table = fs::OpenOptions::new().read(true).write(true).open(directory.path().join(".log")).expect("it is there");
    let len = table.metadata().expect("fstat").len();
    let mut random = Random(5);
    let log = submitter(directory.path());
    for round in 0..extent("HEADWATER_ROUNDS", 60) {
        within(PATIENCE, format!("round {round} of a scribbled table"));
        for _ in 0..64 {
            // Not the first word: with another one no process opens it.
            let at = 8 + random.next() % (len - 16);
            table.write_all_at(&random.next().to_ne_bytes(), at).expect("write");
        }
        if random.one_in(2) {
            table.write_all_at(&u64::MAX.to_ne_bytes(), 128).expect("write");
        }
        log.submit(random.next() as i16, 0, 1, TRACE | ERROR, "hello");
        let mut packet = vec![0; 1 + random.below(4096)];
        packet.iter_mut().for_each(|byte| *byte = random.next() as u8);
        headwater_os::mailbox::send_at(&runtime, ".log.1", &packet).expect("it is there");
        for stream in [&one, &errors] {
            come(stream);
            lost(stream);
        }
    }
    // Zeros are an empty table, and loggers register anew.
    table.write_all_at(&vec![0; len as usize - 8], 8).expect("write");
    trace(&one, &[TraceId::ALL]);
    assert!(log.submit(1, 1, 1, TRACE, "well again"));
    // Garbage may still come before it.
    while next(&one).1 != "well again" {}
    // Another version is refused, and strlog says no more than that.
    table.write_all_at(&[9; 8], 0).expect("write");
    assert_eq!(at(directory.path()).open("log").expect_err("another version").errno(), Errno::Proto);
    let refused = child(|| {
        // SAFETY: a forked child has no other thread that reads the environment.
        unsafe { std::env::set_var("HEADWATER_RUNTIME_DIR", directory.path()) };
        assert!(!strlog(1, 1, 1, TRACE, "unheard"));
        Ok(())
    });
    joined(refused);
    calm();
}
