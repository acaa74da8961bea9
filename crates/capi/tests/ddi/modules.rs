//! Tests in one process: procedures, flow control, ioctls, timeouts and flushing.

use std::time::{Duration, Instant};

use headwater_streams::{Errno, Flush, Kind, MemoryAt, Message, MessageFilter, Options, Priority, Stream, pipe};

use super::common::*;

fn pipe_with(name: &str) -> (Stream, Stream) {
    let (near, far) = pipe().expect("pipe");
    near.push(name).unwrap_or_else(|error| panic!("push {name}: {error}"));
    (near, far)
}

#[test]
fn upper_converts_written_bytes() {
    let _alone = prepare();
    let (near, far) = pipe_with("upper");
    near.write(b"hello, 1").expect("room");
    let mut text = [0; 16];
    assert_eq!(far.read(&mut text).expect("there"), 8);
    assert_eq!(&text[..8], b"HELLO, 1");
    far.write(b"not back").expect("room");
    assert_eq!(near.read(&mut text).expect("there"), 8);
    assert_eq!(&text[..8], b"not back");
    assert_eq!(
        (near.modules().look().expect("pushed"), near.modules().list().expect("it")),
        ("upper".into(), vec!["upper".into()])
    );
}

#[test]
fn parts_bands_priorities_and_boundaries_pass_a_module() {
    let _alone = prepare();
    for module in ["upper", "ctest"] {
        let (near, far) = pipe_with(module);
        let changed = |text: &str| if module == "upper" { text.to_uppercase() } else { text.to_owned() };
        near.putmsg(Some(b"control"), Some(b"data")).expect("room");
        near.putmsg(Some(b"alone"), None).expect("room");
        near.putmsg(Some(b""), Some(b"")).expect("room");
        near.putmsg(None, Some(b"bytes")).expect("room");
        near.putpmsg(Some(b"banded"), Some(b"seven"), 7).expect("room");
        near.putpmsg(None, Some(b"three"), 3).expect("room");
        near.putpmsg(Some(b"high"), Some(b"now"), Priority::High).expect("room");
        let expected: [(Option<&str>, Option<&str>, Priority, Kind); 7] = [
            (Some("high"), Some("now"), Priority::High, Kind::PcProto),
            (Some("banded"), Some("seven"), Priority::Band(7), Kind::Proto),
            (None, Some("three"), Priority::Band(3), Kind::Data),
            (Some("control"), Some("data"), Priority::NORMAL, Kind::Proto),
            (Some("alone"), None, Priority::NORMAL, Kind::Proto),
            (Some(""), Some(""), Priority::NORMAL, Kind::Proto),
            (None, Some("bytes"), Priority::NORMAL, Kind::Data),
        ];
        for (control, data, priority, kind) in expected {
            let got = far.receive().expect("no error").expect("it was sent");
            let data = data.map(changed);
            assert_eq!(
                (got.control(), got.data(), got.priority(), got.header.kind),
                (control.map(str::as_bytes), data.as_deref().map(str::as_bytes), priority, kind),
                "{module}"
            );
        }
    }
}

/// Returns a message that begins with a number of 8 bytes, on which its length depends: 0 to 300 further bytes.
fn numbered(number: u64) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend((0..number % 300).map(|at| (number + at) as u8));
    bytes
}

/// 100,000 messages pass service procedures with low water marks: putq, canputnext, putbq and back-enabling.
#[test]
fn service_procedures_lose_none_of_100_000_messages() {
    const COUNT: u64 = 100_000;
    let _alone = prepare();
    let (near, far) = Options::new().hiwat(4096).lowat(1024).pipe().expect("pipe");
    near.push("ctest").expect("push");
    far.push("ctest").expect("push");
    let writer = near.clone();
    let write = std::thread::spawn(move || {
        for number in 0..COUNT {
            let control = (number % 3 == 0).then_some(&b"c"[..]);
            writer.putmsg(control, Some(&numbered(number))).expect("no error");
        }
        assert!(writer.counters().service_runs > 0);
    });
    for number in 0..COUNT {
        let got = far.receive().expect("no error").expect("more are to come");
        assert_eq!(got.data(), Some(&numbered(number)[..]), "message {number}");
        assert_eq!(got.control().is_some(), number % 3 == 0);
        if number % 5000 == 0 {
            // The reader pauses, so that the queues fill.
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    write.join().expect("no panic");
}

#[test]
fn writer_waits_while_c_queues_are_full() {
    let _alone = prepare();
    let (near, far) = Options::new().hiwat(1000).lowat(200).pipe().expect("pipe");
    near.push("ctest").expect("push");
    near.set_nonblocking(true).expect("arm");
    let mut written = 0;
    let refused = loop {
        match near.putmsg(None, Some(&[written as u8; 100])) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 10_000, "nothing stops the writer");
    };
    assert_eq!(refused.errno(), Errno::Again);
    // The head's queue and the module's take 8192 bytes and one message.
    assert!((90..=110).contains(&written), "{written} messages");
    for number in 0..written {
        let got = far.receive().expect("no error").expect("it was sent");
        assert_eq!(got.data(), Some(&[number as u8; 100][..]));
    }
    near.putmsg(None, Some(b"again")).expect("there is room");
}

#[test]
fn c_module_answers_and_refuses_ioctls() {
    let _alone = prepare();
    let (near, _far) = pipe_with("ctest");
    assert_eq!(ask(&near, REVERSE, b"abcdef").expect("acknowledged"), (6, b"fedcba".to_vec()));
    let long: Vec<u8> = (0..60_000).map(|at| at as u8).collect();
    let reversed: Vec<u8> = long.iter().rev().copied().collect();
    assert_eq!(ask(&near, REVERSE, &long).expect("acknowledged"), (60_000, reversed));
    assert_eq!(ask(&near, REFUSE, &[19]).expect_err("refused").errno(), Errno::new(19));
    assert_eq!(ask(&near, REFUSE, &[]).expect_err("refused").errno(), Errno::Inval);
    // The module does not know the request and passes it on; the far head refuses it.
    assert_eq!(ask(&near, 0x9999, b"x").expect_err("refused").errno(), Errno::Inval);
    assert_eq!(ask(&near, CHECK, b"").expect("acknowledged").0, 0, "the number of what is wrong in ctest.c");
}

#[test]
fn a_transparent_ioctl_copies_in_and_out() {
    let _alone = prepare();
    let (near, _far) = pipe_with("ctest");
    for round in 0..3 {
        let mut words = [2000u64, 2004, 4].map(u64::to_ne_bytes).concat();
        let mut text = *b"abcd----";
        let mut memory = vec![MemoryAt::new(1000, &mut words), MemoryAt::new(2000, &mut text)];
        assert_eq!(near.transparent_ioctl(COPY, 1000, &mut memory).expect("done"), 4, "round {round}");
        drop(memory);
        assert_eq!(&text, b"abcddcba");
        // There is no memory at the address: the module gets an error, and the ioctl fails.
        let mut nothing = Vec::new();
        let failed = near.transparent_ioctl(COPY, 1000, &mut nothing).expect_err("no memory");
        assert_eq!(failed.errno(), Errno::Fault);
    }
}

#[test]
fn timeouts_and_bufcalls_call_back() {
    let _alone = prepare();
    let (near, _far) = pipe_with("ctest");
    let begun = Instant::now();
    assert_eq!(ask(&near, TIMEOUT, &[20]).expect("acknowledged").0, 1);
    assert_eq!(read_within(&near, PATIENCE), "tick");
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(195) && took < Duration::from_secs(5), "20 ticks took {took:?}");
    assert_eq!(ask(&near, QTIMEOUT, &[1]).expect("acknowledged").0, 1);
    assert_eq!(read_within(&near, PATIENCE), "qtick");
    assert_eq!(ask(&near, BUFCALL, &[]).expect("acknowledged").0, 1);
    assert_eq!(read_within(&near, PATIENCE), "memory");
    assert_eq!(ask(&near, UNTIMEOUT, &[]).expect("acknowledged").0, 1);
    assert_eq!(read_within(&near, Duration::from_millis(200)), "");
}

#[test]
fn flush_discards_messages_in_c_queues() {
    let _alone = prepare();
    let (near, far) = pipe_with("ctest");
    ask(&near, HOLD, b"").expect("held");
    for (band, text) in [(0, "a"), (0, "b"), (5, "c"), (0, "d")] {
        near.putpmsg(None, Some(text.as_bytes()), band).expect("room");
    }
    near.flush_queues(Flush::WRITE.in_band(5)).expect("flushed");
    assert_eq!(ask(&near, GO, b"").expect("goes on").0, 3);
    let text: Vec<u8> =
        (0..3).flat_map(|_| far.receive().expect("no error").expect("sent").into_parts().1.unwrap()).collect();
    assert_eq!(text, b"abd");
    ask(&near, HOLD, b"").expect("held");
    near.putmsg(None, Some(b"gone")).expect("room");
    near.flush_queues(Flush::WRITE).expect("flushed");
    assert_eq!(ask(&near, GO, b"").expect("goes on").0, 0);
    near.putmsg(None, Some(b"there")).expect("room");
    assert_eq!(far.receive().expect("no error").expect("sent").data(), Some(&b"there"[..]));
}

#[test]
fn frozen_queue_allows_removal_and_insertion() {
    let _alone = prepare();
    let (near, far) = pipe_with("ctest");
    ask(&near, HOLD, b"").expect("held");
    for text in ["one", "two", "three", "four"] {
        near.putmsg(Some(b"c"), Some(text.as_bytes())).expect("room");
    }
    assert_eq!(ask(&near, REORDER, b"").expect("done").0, 4, "a negative number is an error of ctest.c");
    assert_eq!(ask(&near, GO, b"").expect("goes on").0, 4);
    for text in ["four", "three", "two", "one"] {
        let got = far.receive().expect("no error").expect("sent");
        assert_eq!((got.control(), got.data()), (Some(&b"c"[..]), Some(text.as_bytes())));
    }
}

#[test]
fn message_of_unknown_type_fails_only_its_call() {
    let _alone = prepare();
    let (near, far) = pipe_with("ctest");
    let error = ask(&near, BADTYPE, b"").expect_err("refused");
    assert!(error.errno() == Errno::Inval && error.to_string().contains("0x42"), "{error}");
    near.write(b"on").expect("room");
    assert_eq!(read_within(&far, PATIENCE), "on");
    ask(&near, HIWAT, b"").expect("set");
    assert_eq!(near.settings().water_marks(), (700, 70));
}

#[test]
fn open_and_close_run_once_and_failed_open_pushes_nothing() {
    let _alone = prepare();
    let (near, _far) = pipe_with("ctest");
    let (opens, closes) = (variable("ctest.so", "ctest_opens"), variable("ctest.so", "ctest_closes"));
    assert_eq!(variable("ctest.so", "ctest_sflag"), 1);
    near.push("ctest").expect("pushed twice");
    near.write(b"x").expect("room");
    assert_eq!(variable("ctest.so", "ctest_opens"), opens + 1);
    near.pop().expect("popped");
    assert_eq!(variable("ctest.so", "ctest_closes"), closes + 1);
    // SAFETY: no other test runs meanwhile, and only the module reads the environment.
    unsafe { std::env::set_var("CTEST_REFUSE", "1") };
    let refused = near.push("ctest");
    // SAFETY: no other test runs meanwhile, and only the module reads the environment.
    unsafe { std::env::remove_var("CTEST_REFUSE") };
    assert_eq!(refused.expect_err("refused").errno(), Errno::Busy);
    assert_eq!(near.modules().list().expect("one").len(), 1);
    assert_eq!(variable("ctest.so", "ctest_closes"), closes + 1);
    drop((near, _far));
    assert_eq!(variable("ctest.so", "ctest_closes"), closes + 2, "the end of the stream closes the first one");
    let before = variable("ctest.so", "ctest_opens");
    let (near, _far) = pipe_with("ctest");
    (0..20).for_each(|_| {
        near.pop().expect("popped");
        near.push("ctest").expect("pushed");
    });
    assert_eq!(variable("ctest.so", "ctest_opens"), before + 21);
    assert_eq!(variable("ctest.so", "ctest_closes"), closes + 22);
}

#[test]
fn c_and_rust_modules_share_a_stream() {
    let _alone = prepare();
    let (near, far) = pipe().expect("pipe");
    for module in ["upper", "srvmod", "ctest", "nullmod", "upper"] {
        near.push(module).expect("push");
    }
    far.push("pipemod").expect("push");
    for number in 0..2000 {
        near.send_message(&Message::proto_of(b"c", format!("text {number}").as_bytes())).expect("room");
        let mut data = [0; 32];
        let got = far.getpmsg(None, Some(&mut data), MessageFilter::Any);
        let got = got.map(|got| got.data).expect("there");
        assert_eq!(&data[..got.expect("data")], format!("TEXT {number}").as_bytes());
        let _ = far.getmsg(Some(&mut [0; 8]), None).expect("the control part");
    }
}
