//! A process that logs, or is a logger, is killed at any place: the others go on, and at most one message is lost.

use std::time::Duration;

use headwater_shm::probe;
use headwater_streams::drivers::log::{ERRLOG, LOST, LogControl, LogFlags, TRCLOG, TraceId};
use headwater_streams::{DeviceOptions, Errno, IoctlTimeout, LogSubmitter, Result, Stream};

use crate::common::{alone, calm, child, within};

fn register(stream: &Stream, command: u32) -> Result<i32> {
    let mut data = if command == TRCLOG { TraceId::ALL.bytes().to_vec() } else { Vec::new() };
    stream.ioctl(command, &mut data, IoctlTimeout::Usual)
}

/// Makes a stream the error logger after another was killed: the kernel may give its lock up a moment after its end.
fn become_error_logger(stream: &Stream) {
    while let Err(error) = register(stream, ERRLOG) {
        assert_eq!(error.errno(), Errno::Busy, "{error}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The next message, which is waited for.
fn next(stream: &Stream) -> (u32, String) {
    let message = stream.receive().expect("no error").expect("no hang-up");
    let control = LogControl::of(message.control().expect("an M_PROTO")).expect("a log_ctl");
    (control.seq_no(), String::from_utf8_lossy(message.data().expect("text")).into_owned())
}

/// Has a process killed at each place that it comes to in `dies`, and then calls `after`. Both get
/// a stream; there is a trace logger beside it.
fn killed_at_any_place(
    what: &str,
    dies: impl Fn(&DeviceOptions, &Stream) -> Result<()>,
    after: impl Fn(&DeviceOptions, &Stream, Stream, bool),
) {
    let _alone = alone();
    for place in 0.. {
        within(Duration::from_secs(30), format!("{what} killed at place {place}"));
        let directory = tempfile::tempdir().expect("a directory");
        // Not yet there, so it is made for this user alone.
        let options = DeviceOptions::new().directory(directory.path().join("devices"));
        let (tracer, stream) = (options.open("log").expect("open"), options.open("log").expect("open"));
        register(&tracer, TRCLOG).expect("a place is free");
        let mut killed = child(|| {
            probe::arm(place, None);
            dies(&options, &stream)
        });
        let came_through = killed.wait().expect("wait").success();
        after(&options, &stream, tracer, came_through);
        if came_through {
            assert!(place > 5, "only {place} places were passed");
            break;
        }
    }
    calm();
}

#[test]
fn a_process_killed_while_it_makes_its_stream_a_logger_leaves_that_to_another() {
    for command in [TRCLOG, ERRLOG] {
        killed_at_any_place(
            "a new logger",
            |_, stream| register(stream, command).map(drop),
            |options, stream, tracer, _| {
                // Its place, the first one, is free again, and is not the one that the killed process had taken.
                drop(tracer);
                register(stream, command).expect("it is not too late");
                let log = LogSubmitter::open(options).expect("own");
                assert!(log.submit(1, 1, 1, LogFlags::TRACE | LogFlags::ERROR, "hello"));
                assert_eq!(next(stream).1, "hello");
            },
        );
    }
}

#[test]
fn a_logger_killed_while_it_opens_and_registers_leaves_its_place() {
    killed_at_any_place(
        "an error logger",
        |options, _| register(&options.open("log")?, ERRLOG).map(drop),
        |options, stream, _, _| {
            assert!(LogSubmitter::open(options).expect("own").submit(1, 1, 1, LogFlags::ERROR, "to nobody"));
            become_error_logger(stream);
            assert!(LogSubmitter::open(options).expect("own").submit(1, 1, 1, LogFlags::ERROR, "hello"));
            assert_eq!(next(stream).1, "hello");
        },
    );
}

#[test]
fn a_killed_submitter_leaves_at_most_one_number_without_a_message() {
    killed_at_any_place(
        "a submitter",
        |options, _| {
            let log = LogSubmitter::open(options)?;
            assert!((0..3).all(|number| log.submit(1, 1, 1, LogFlags::TRACE, number)));
            Ok(())
        },
        |options, _, tracer, _| {
            assert!(LogSubmitter::open(options).expect("own").submit(1, 1, 1, LogFlags::TRACE, "last"));
            let mut count = 0;
            loop {
                let (number, text) = next(&tracer);
                count += 1;
                if text == "last" {
                    assert!((count..=count + 1).contains(&number), "{number} for message {count}");
                    break;
                }
                assert_eq!((number, text), (count, (count - 1).to_string()));
            }
        },
    );
}

#[test]
fn a_reader_of_a_logger_killed_at_any_place_leaves_the_rest_to_the_other() {
    killed_at_any_place(
        "a reader",
        |options, stream| {
            // Registered and filled here, so that what is killed in between is seen too.
            register(stream, TRCLOG)?;
            let log = LogSubmitter::open(options)?;
            assert!((0..3).all(|number| log.submit(1, 1, 1, LogFlags::TRACE, number)));
            assert_eq!((next(stream).0, next(stream).0), (1, 2));
            Ok(())
        },
        |options, stream, _, came_through| {
            register(stream, TRCLOG).expect("it is not too late");
            let log = LogSubmitter::open(options).expect("own");
            assert!(log.submit(2, 1, 1, LogFlags::TRACE, "last"));
            let mut numbers = Vec::new();
            loop {
                let (number, text) = next(stream);
                numbers.push(number);
                if text == "last" {
                    break;
                }
            }
            assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
            let last = numbers.last().copied().expect("one");
            assert!(last <= 4 && (!came_through || numbers == [3, 4]), "{numbers:?}");
            assert_eq!(stream.ioctl(LOST, &mut Vec::new(), IoctlTimeout::Usual).expect("a logger"), 0);
        },
    );
}
