//! The `log` driver: who gets which message.

mod processes;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use crate::common::{calm, in_own_process, private_directory, within};
use headwater_streams::drivers::log::{
    ERRLOG, IDS_MAX, LOGGERS_MAX, LOST, LogControl, LogFlags, MID, TEXT_MAX, TRCLOG, TraceId,
};
use headwater_streams::{Device, DeviceOptions, Errno, IoctlTimeout, LogSubmitter, Message, Result, Stream};
use processes::Waiting;

const PATIENCE: Duration = Duration::from_secs(30);
const TRACE: LogFlags = LogFlags::TRACE;
const ERROR: LogFlags = LogFlags::ERROR;

fn at(directory: &Path) -> DeviceOptions {
    DeviceOptions::new().directory(directory)
}

fn open(directory: &Path) -> Stream {
    at(directory).open("log").expect("open")
}

fn submitter(directory: &Path) -> LogSubmitter {
    LogSubmitter::open(&at(directory)).expect("own")
}

fn ioctl(stream: &Stream, command: u32, data: &[u8]) -> Result<i32> {
    stream.ioctl(command, &mut data.to_vec(), IoctlTimeout::Usual)
}

fn trace(stream: &Stream, ids: &[TraceId]) {
    ioctl(stream, TRCLOG, &TraceId::list(ids)).expect("a place is free");
}

/// A trace logger of all messages.
fn tracer(directory: &Path) -> Stream {
    let stream = open(directory);
    trace(&stream, &[TraceId::ALL]);
    stream
}

fn error_logger(directory: &Path) -> Stream {
    let stream = open(directory);
    ioctl(&stream, ERRLOG, b"").expect("there is none");
    stream
}

fn lost(stream: &Stream) -> u32 {
    ioctl(stream, LOST, b"").expect("a logger") as u32
}

/// The next message, which is waited for.
fn next(stream: &Stream) -> (LogControl, String) {
    parts(stream.receive().expect("no error").expect("no hang-up"))
}

fn parts(message: Message<'_>) -> (LogControl, String) {
    let control = LogControl::of(message.control().expect("an M_PROTO")).expect("a log_ctl");
    (control, String::from_utf8_lossy(message.data().expect("text")).into_owned())
}

/// So many messages, which are waited for, and what else has come by now.
fn at_least(stream: &Stream, count: usize) -> Vec<(LogControl, String)> {
    within(PATIENCE, format!("{count} messages are waited for"));
    let mut all: Vec<_> = (0..count).map(|_| next(stream)).collect();
    calm();
    all.extend(come(stream));
    all
}

/// What has come by now. From then on a thread of the library sends up what comes, and what it is about to send has not come yet.
fn come(stream: &Stream) -> Vec<(LogControl, String)> {
    let stream = stream.clone();
    stream.set_nonblocking(true).expect("open");
    let all = std::iter::from_fn(|| match stream.receive() {
        Err(error) if error.errno() == Errno::Again => None,
        message => message.expect("no error").map(parts),
    });
    let all = all.collect();
    stream.set_nonblocking(false).expect("open");
    all
}

fn texts(stream: &Stream) -> Vec<String> {
    come(stream).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn a_trace_logger_gets_what_it_asks_for_by_module_number_and_level() {
    in_own_process!();
    let directory = private_directory();
    let stream = open(directory.path());
    let log = submitter(directory.path());
    let id = |mid, sid, level| TraceId { mid, sid, level };
    let sent: Vec<(i16, i16, i8)> = [1, 2, 3]
        .into_iter()
        .flat_map(|mid| [0, 7].map(|sid| (mid, sid)))
        .flat_map(|(m, s)| [0, 5, 9].map(|l| (m, s, l)))
        .collect();
    type Takes = fn((i16, i16, i8)) -> bool;
    let cases: [(Vec<TraceId>, Takes); 7] = [
        (vec![TraceId::ALL], |_| true),
        (vec![id(Some(2), None, None)], |(mid, ..)| mid == 2),
        (vec![id(None, Some(7), None)], |(_, sid, _)| sid == 7),
        (vec![id(None, None, Some(5))], |(.., level)| level <= 5),
        (vec![id(Some(1), Some(7), Some(5))], |(mid, sid, level)| mid == 1 && sid == 7 && level <= 5),
        (vec![id(Some(1), None, Some(0)), id(Some(3), Some(0), None)], |(mid, sid, level)| {
            mid == 1 && level <= 0 || mid == 3 && sid == 0
        }),
        (vec![id(Some(4), None, None); IDS_MAX], |_| false),
    ];
    for (ids, takes) in cases {
        // Another I_TRCLOG takes the place of the one before.
        trace(&stream, &ids);
        for (mid, sid, level) in &sent {
            assert!(log.submit(*mid, *sid, *level, TRACE, format_args!("{mid} {sid} {level}")));
            // Nothing but traces is for a trace logger.
            assert!(log.submit(*mid, *sid, *level, ERROR | LogFlags::CONSOLE, "an error"));
        }
        let expected: Vec<_> = sent.iter().copied().filter(|message| takes(*message)).collect();
        let come = at_least(&stream, expected.len());
        let come: Vec<_> = come.iter().map(|(control, _)| (control.mid(), control.sid(), control.level())).collect();
        assert_eq!(come, expected, "{ids:?}");
    }
}

#[test]
fn each_kind_of_logger_gets_its_own_messages_with_numbers_of_their_own() {
    in_own_process!();
    let directory = private_directory();
    let (one, two, errors) = (tracer(directory.path()), open(directory.path()), error_logger(directory.path()));
    trace(&two, &[TraceId { level: Some(3), ..TraceId::ALL }]);
    let log = submitter(directory.path());
    let start =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs() as u32;
    for level in 1..=5 {
        assert!(log.submit(10, 20, level, TRACE, level));
    }
    assert!(log.submit(11, 0, 1, ERROR | LogFlags::FATAL, "fatal"));
    assert!(log.submit(12, 0, 2, ERROR | TRACE | LogFlags::WARN, "both"));
    assert!(log.submit(13, 0, 2, LogFlags::CONSOLE, "nobody"));
    let numbers = |all: &[(LogControl, String)]| -> Vec<(u32, String)> {
        all.iter().map(|(control, text)| (control.seq_no(), text.clone())).collect()
    };
    let list =
        |all: &[(u32, &str)]| -> Vec<(u32, String)> { all.iter().map(|(n, text)| (*n, (*text).into())).collect() };
    let first = come(&one);
    assert_eq!(numbers(&first), list(&[(1, "1"), (2, "2"), (3, "3"), (4, "4"), (5, "5"), (6, "both")]));
    assert_eq!(numbers(&come(&two)), list(&[(1, "1"), (2, "2"), (3, "3"), (6, "both")]));
    let errors = come(&errors);
    assert_eq!(numbers(&errors), list(&[(1, "fatal"), (2, "both")]));
    let (control, _) = &first[0];
    assert_eq!((control.mid(), control.sid(), control.level(), control.flags(), control.pri()), (10, 20, 1, TRACE, 7));
    assert!((start..start + 30).contains(&control.ttime()), "{control:?}");
    let ticks = (headwater_os::clock::now_ns() / 10_000_000) as u32;
    assert!((ticks.wrapping_sub(3000)..=ticks).contains(&control.ltime()), "{control:?} {ticks}");
    let priorities: Vec<_> = errors.iter().map(|(control, _)| (control.flags(), control.pri())).collect();
    assert_eq!(priorities, [(ERROR | LogFlags::FATAL, 2), (ERROR | TRACE | LogFlags::WARN, 4)]);
    assert_eq!(lost(&one), 0);
}

#[test]
fn there_is_one_error_logger_until_its_stream_is_closed_or_its_process_killed() {
    in_own_process!();
    let directory = private_directory();
    let busy = |stream: &Stream| ioctl(stream, ERRLOG, b"").expect_err("there is one").errno() == Errno::Busy;
    let waits = open(directory.path());
    let first = error_logger(directory.path());
    assert!(busy(&waits));
    // It may say so again, and is no trace logger.
    assert_eq!(ioctl(&first, ERRLOG, b"").expect("it is"), 0);
    assert_eq!(ioctl(&first, TRCLOG, &TraceId::ALL.bytes()).expect_err("no").errno(), Errno::Busy);
    drop(first);
    let killed = Waiting::start(|| error_logger(directory.path()), drop);
    assert!(busy(&waits));
    killed.kill();
    within(PATIENCE, "the kernel gives up the lock of a process that was killed".into());
    while let Err(error) = ioctl(&waits, ERRLOG, b"") {
        assert_eq!(error.errno(), Errno::Busy, "{error}");
        std::thread::sleep(Duration::from_millis(1));
    }
    calm();
    assert!(submitter(directory.path()).submit(1, 1, 1, ERROR, "to the new one"));
    assert_eq!(texts(&waits), ["to the new one"]);
    // A trace logger is no error logger.
    assert!(busy(&tracer(directory.path())));
}

#[test]
fn ioctls_fail_as_specified() {
    in_own_process!();
    let directory = private_directory();
    let stream = open(directory.path());
    let refused = |command, data: &[u8]| ioctl(&stream, command, data).expect_err("refused").errno();
    assert_eq!(refused(TRCLOG, b""), Errno::Nxio);
    assert_eq!(refused(TRCLOG, &[0; 5]), Errno::Inval);
    assert_eq!(refused(TRCLOG, &[0; (IDS_MAX + 1) * TraceId::LEN]), Errno::Inval);
    assert_eq!(refused(LOST, b""), Errno::Nxio);
    assert_eq!(refused(0x1234, b""), Errno::Nxio);
    assert_eq!(Device::open_private("log").expect_err("by name").errno(), Errno::Inval);
    let group = tempfile::tempdir().expect("a directory");
    fs::set_permissions(group.path(), fs::Permissions::from_mode(0o770)).expect("own");
    assert_eq!(at(group.path()).open("log").expect_err("a group's").errno(), Errno::Acces);
    assert_eq!(LogSubmitter::open(&at(group.path())).expect_err("a group's").errno(), Errno::Acces);
    let tracers: Vec<_> = (1..LOGGERS_MAX).map(|_| tracer(directory.path())).collect();
    assert_eq!(refused(TRCLOG, &TraceId::ALL.bytes()), Errno::Nosr);
    assert!(submitter(directory.path()).submit(1, 1, 1, TRACE, "to all"));
    assert!(tracers.iter().all(|tracer| texts(tracer) == ["to all"]));
}

#[test]
fn a_process_submits_by_putmsg_and_the_driver_fills_in_the_rest() {
    in_own_process!();
    let directory = private_directory();
    let (tracer, process) = (tracer(directory.path()), open(directory.path()));
    let sent = LogControl::new(3, TRACE | LogFlags::NOTE).with_priority(8 | 5);
    process.putmsg(Some(&sent.bytes()), Some(b"%d is not looked at\0")).expect("room");
    let (control, text) = next(&tracer);
    assert_eq!(text, "%d is not looked at\0");
    assert_eq!((control.level(), control.flags(), control.pri()), (3, TRACE | LogFlags::NOTE, 13));
    let minor = process.minor().expect("a device") as i16;
    assert_eq!((control.mid(), control.sid(), control.seq_no()), (MID, minor, 1));
    assert!(control.ttime() != 0 && control.ltime() != 0);
    // What is no message is ignored; a text that is too long is cut.
    process.putmsg(Some(&sent.bytes()[1..]), Some(b"short")).expect("room");
    process.write(b"no message").expect("room");
    process.putmsg(Some(&sent.bytes()), Some(&[b'x'; TEXT_MAX + 1])).expect("room");
    assert_eq!(next(&tracer).1.len(), TEXT_MAX);
    assert!(submitter(directory.path()).submit(1, 1, 1, TRACE, format_args!("x{}", "ä".repeat(TEXT_MAX))));
    let (_, text) = next(&tracer);
    assert!(text.len() == TEXT_MAX - 1 && text.ends_with("ää"), "cut within a character: {}", text.len());
    // A logger submits too, and gets what it has submitted itself.
    tracer.putmsg(Some(&sent.bytes()), Some(b"own")).expect("room");
    assert_eq!(texts(&tracer), ["own"]);
    assert_eq!(come(&process), []);
}
