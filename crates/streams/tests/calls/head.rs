//! The behaviour of a stream head, call by call: the behaviour that the specification names.

use headwater_streams::{
    ControlMode, Errno, Events, Flush, MessageFilter, Options, Policy, Priority, ReadMode, ReadOptions, Received,
    Stream, WriteOptions, pipe,
};

fn nonblocking() -> (Stream, Stream) {
    with(Options::default())
}

fn with(options: Options) -> (Stream, Stream) {
    let (near, far) = options.pipe().expect("pipe");
    near.set_nonblocking(true).expect("arm");
    far.set_nonblocking(true).expect("arm");
    (near, far)
}

/// The policies under which the behaviour must be the same.
fn policies() -> [Options; 3] {
    let of = |policy| Options::new().policy(policy);
    [of(Policy::DEFAULT), of(Policy::EAGER), of(Policy::DEFAULT.coalescing(false))]
}

fn read(stream: &Stream, len: usize) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; len];
    let count = stream.read(&mut buffer).map_err(|error| error.errno())?;
    buffer.truncate(count);
    Ok(buffer)
}

/// A part of a message, if it has it.
type Bytes = Option<Vec<u8>>;

/// Control and data of the next message.
fn get(stream: &Stream, select: MessageFilter) -> Result<(Bytes, Bytes, Received), Errno> {
    let (mut control, mut data) = (vec![0; 5000], vec![0; 100_000]);
    let got = stream.getpmsg(Some(&mut control), Some(&mut data), select).map_err(|error| error.errno())?;
    let part = |bytes: Vec<u8>, len: Option<usize>| len.map(|len| bytes[..len].to_vec());
    Ok((part(control, got.control), part(data, got.data), got))
}

#[test]
fn bytes_cross_messages_and_come_in_order() {
    for options in policies() {
        let (near, far) = with(options);
        for piece in [&b"one"[..], b"two", b"three"] {
            assert_eq!(near.write(piece).expect("room"), piece.len());
        }
        assert_eq!(read(&far, 4), Ok(b"onet".to_vec()));
        assert_eq!(read(&far, 100), Ok(b"wothree".to_vec()));
        assert_eq!(read(&far, 1), Err(Errno::Again));
    }
}

#[test]
fn both_directions_are_apart() {
    let (near, far) = nonblocking();
    near.write(b"forth").expect("room");
    far.write(b"back").expect("room");
    assert_eq!(read(&near, 9), Ok(b"back".to_vec()));
    assert_eq!(read(&far, 9), Ok(b"forth".to_vec()));
}

#[test]
fn messages_keep_their_parts_and_boundaries() {
    for options in policies() {
        let (near, mut far) = with(options);
        near.putmsg(Some(b"c1"), Some(b"data1")).expect("room");
        near.putmsg(None, Some(b"data2")).expect("room");
        near.putmsg(Some(b"c3"), None).expect("room");
        let parts = |stream: &Stream| get(stream, MessageFilter::Any).map(|(control, data, _)| (control, data));
        assert_eq!(parts(&mut far), Ok((Some(b"c1".to_vec()), Some(b"data1".to_vec()))));
        assert_eq!(parts(&mut far), Ok((None, Some(b"data2".to_vec()))));
        assert_eq!(parts(&mut far), Ok((Some(b"c3".to_vec()), None)));
        assert_eq!(parts(&mut far), Err(Errno::Again));
    }
}

#[test]
fn priority_then_band_then_age() {
    for options in policies() {
        let (near, far) = with(options);
        near.write(b"plain").expect("room");
        near.putpmsg(Some(b"b1"), None, 1).expect("room");
        near.putpmsg(Some(b"b3"), None, 3).expect("room");
        near.putpmsg(Some(b"B1"), None, 1).expect("room");
        near.putpmsg(Some(b"high"), None, Priority::High).expect("always");
        // Only one of high priority waits; a second is discarded.
        near.putpmsg(Some(b"gone"), None, Priority::High).expect("always");
        let order: Vec<Vec<u8>> = (0..5)
            .map(|_| get(&far, MessageFilter::Any).expect("there"))
            .map(|(control, data, _)| control.or(data).expect("one part"))
            .collect();
        assert_eq!(order, [&b"high"[..], b"b3", b"b1", b"B1", b"plain"]);
    }
}

#[test]
fn a_quick_reader_sees_a_message_of_high_priority_at_once() {
    let (near, far) = nonblocking();
    near.write(&[1; 100]).expect("room");
    assert_eq!(read(&far, 10).map(|bytes| bytes.len()), Ok(10));
    near.putpmsg(Some(b"now"), None, Priority::High).expect("always");
    assert_eq!(read(&far, 10), Err(Errno::Badmsg));
    assert_eq!(get(&far, MessageFilter::HighPriority).expect("there").0, Some(b"now".to_vec()));
    assert_eq!(read(&far, 100).map(|bytes| bytes.len()), Ok(90));
}

#[test]
fn getpmsg_takes_only_what_is_wanted() {
    let (near, far) = nonblocking();
    near.putpmsg(Some(b"x"), None, 1).expect("room");
    assert_eq!(get(&far, MessageFilter::HighPriority).map(|_| ()), Err(Errno::Again));
    assert_eq!(get(&far, MessageFilter::Band(2)).map(|_| ()), Err(Errno::Again));
    assert_eq!(get(&far, MessageFilter::Band(1)).expect("there").2.priority, Priority::Band(1));
}

#[test]
fn what_has_no_room_stays_with_its_type() {
    for options in policies() {
        let (near, far) = with(options);
        near.putmsg(Some(b"control"), Some(b"data")).expect("room");
        let (mut control, mut data) = ([0; 3], [0; 1]);
        let got = far.getmsg(Some(&mut control), None).expect("there");
        assert_eq!((&control, got.more_control, got.more_data, got.data), (b"con", true, true, None));
        let got = far.getmsg(None, Some(&mut data)).expect("there");
        assert_eq!((&data, got.control, got.more_control, got.more_data), (b"d", None, true, true));
        let (control, data, got) = get(&far, MessageFilter::Any).expect("there");
        assert_eq!((control, data), (Some(b"trol".to_vec()), Some(b"ata".to_vec())));
        assert!(!got.more_control && !got.more_data);
        assert_eq!(get(&far, MessageFilter::Any).map(|_| ()), Err(Errno::Again));
    }
}

#[test]
fn putmsg_refuses_what_the_limits_forbid() {
    let (near, far) = nonblocking();
    let errno = |done: headwater_streams::Result<()>| done.expect_err("refused").errno();
    assert_eq!(errno(near.putmsg(Some(&[0; 4097]), None)), Errno::Range);
    assert_eq!(errno(near.putmsg(Some(&[0]), Some(&vec![0; 65_537]))), Errno::Range);
    assert_eq!(errno(near.putpmsg(None, Some(&[0]), Priority::High)), Errno::Inval);
    near.putmsg(None, None).expect("nothing is sent");
    near.putmsg(None, Some(&[])).expect("dropped without SNDZERO");
    assert_eq!(read(&far, 1), Err(Errno::Again));
    // Data alone beyond maxpsz is cut.
    near.putmsg(None, Some(&vec![7; 65_537])).expect("room");
    assert_eq!(get(&far, MessageFilter::Any).expect("there").1.map(|data| data.len()), Some(65_536));
    assert_eq!(get(&far, MessageFilter::Any).expect("there").1.map(|data| data.len()), Some(1));
}

#[test]
fn a_message_without_bytes_ends_a_read() {
    for options in policies() {
        let (near, far) = with(options);
        near.settings().set_write_options(WriteOptions::PIPE.zero(true)).expect("fine");
        near.write(b"ab").expect("room");
        near.write(b"").expect("room");
        near.write(b"cd").expect("room");
        assert_eq!(read(&far, 10), Ok(b"ab".to_vec()));
        assert_eq!(read(&far, 10), Ok(vec![]));
        assert_eq!(read(&far, 10), Ok(b"cd".to_vec()));
    }
}

#[test]
fn a_delimited_write_ends_a_read() {
    for options in policies() {
        let (near, far) = with(options);
        near.settings().set_write_options(WriteOptions::PIPE.delimit(true)).expect("fine");
        near.write(b"record").expect("room");
        near.write(b"next").expect("room");
        assert_eq!(read(&far, 20), Ok(b"record".to_vec()));
        assert_eq!(read(&far, 20), Ok(b"next".to_vec()));
    }
}

#[test]
fn message_modes_keep_or_throw_away_the_rest() {
    for options in policies() {
        for (mode, rest) in [(ReadMode::MessageKeep, &b"llo"[..]), (ReadMode::MessageDiscard, b"world")] {
            let (near, far) = with(options);
            far.settings().set_read_options(ReadOptions::new().mode(mode)).expect("fine");
            near.write(b"hello").expect("room");
            near.write(b"world").expect("room");
            assert_eq!(read(&far, 2), Ok(b"he".to_vec()));
            assert_eq!(read(&far, 10), Ok(rest.to_vec()));
        }
    }
}

#[test]
fn control_parts_are_refused_read_or_thrown_away() {
    for options in policies() {
        for (control, expected) in [
            (ControlMode::Refuse, Err(Errno::Badmsg)),
            (ControlMode::AsData, Ok(b"ctldata".to_vec())),
            (ControlMode::Discard, Ok(b"data".to_vec())),
        ] {
            let (near, far) = with(options);
            far.settings().set_read_options(ReadOptions::new().control(control)).expect("fine");
            near.putmsg(Some(b"ctl"), Some(b"data")).expect("room");
            assert_eq!(read(&far, 20), expected, "{control:?}");
        }
    }
}

#[test]
fn full_is_above_hiwat_and_open_again_below_lowat() {
    for options in policies() {
        let hysteresis = options.policy.hysteresis;
        let (near, far) = with(options.hiwat(100).lowat(40));
        // Exactly hiwat is not full: one more message goes in.
        near.write(&[1; 100]).expect("room");
        near.write(&[2; 10]).expect("not above hiwat");
        assert_eq!(near.write(&[3]).expect_err("full").errno(), Errno::Again);
        // 50 are left: below hiwat, not below lowat.
        assert_eq!(read(&far, 60).map(|bytes| bytes.len()), Ok(60));
        assert_eq!(near.can_put(0).expect("fine"), !hysteresis);
        assert_eq!(read(&far, 11).map(|bytes| bytes.len()), Ok(11));
        assert!(near.can_put(0).expect("fine"), "39 are below lowat");
    }
}

#[test]
fn bands_are_controlled_apart() {
    for options in policies() {
        let (near, _far) = with(options.hiwat(10).lowat(5));
        near.putpmsg(Some(b"x"), Some(&[0; 20]), 2).expect("room");
        assert_eq!(near.putpmsg(Some(b"x"), None, 2).expect_err("full").errno(), Errno::Again);
        assert!(!near.can_put(2).expect("fine") && near.can_put(1).expect("fine") && near.can_put(0).expect("fine"));
        near.putpmsg(Some(b"high"), None, Priority::High).expect("never waits");
    }
}

#[test]
fn the_end_comes_after_the_data() {
    for options in policies() {
        let (near, far) = with(options);
        near.write(b"last").expect("room");
        drop(near);
        assert_eq!(read(&far, 2), Ok(b"la".to_vec()));
        assert_eq!(read(&far, 2), Ok(b"st".to_vec()));
        assert_eq!(read(&far, 2), Ok(vec![]));
        let (control, data, _) = get(&far, MessageFilter::Any).expect("the end");
        assert_eq!((control, data), (Some(vec![]), Some(vec![])));
        assert_eq!(far.write(b"x").expect_err("nobody").errno(), Errno::Pipe);
    }
}

#[test]
fn a_writer_hears_at_once_that_the_reader_is_gone() {
    let (near, far) = nonblocking();
    for _ in 0..3 {
        near.write(b"x").expect("room");
    }
    assert_eq!(read(&far, 3).map(|bytes| bytes.len()), Ok(3));
    drop(far);
    assert_eq!(near.write(b"x").expect_err("nobody").errno(), Errno::Pipe);
}

#[test]
fn a_second_handle_keeps_the_end_open() {
    let (near, far) = nonblocking();
    let other = far.clone();
    near.write(b"a").expect("room");
    drop(far);
    near.write(b"b").expect("somebody is there");
    assert_eq!(read(&other, 9), Ok(b"ab".to_vec()));
    drop(other);
    assert_eq!(near.write(b"x").expect_err("nobody").errno(), Errno::Pipe);
}

#[test]
fn peek_takes_nothing() {
    for options in policies() {
        let (near, far) = with(options);
        assert_eq!(far.peek(None, None, MessageFilter::Any).expect("fine"), None);
        near.putmsg(Some(b"c"), Some(b"data")).expect("room");
        let mut data = [0; 2];
        assert_eq!(far.peek(None, Some(&mut data), MessageFilter::HighPriority).expect("fine"), None);
        let got = far.peek(None, Some(&mut data), MessageFilter::Any).expect("fine").expect("there");
        assert_eq!((&data, got.data), (b"da", Some(2)));
        assert_eq!(far.nread().expect("fine"), (4, 1));
        assert_eq!(get(&far, MessageFilter::Any).expect("there").1, Some(b"data".to_vec()));
        assert_eq!(far.nread().expect("fine"), (0, 0));
    }
}

#[test]
fn nread_counts_messages() {
    let (near, far) = nonblocking();
    near.write(b"ab").expect("room");
    near.write(b"cd").expect("room");
    near.putmsg(None, Some(b"efg")).expect("room");
    near.write(b"h").expect("room");
    near.putpmsg(Some(b"c"), Some(b"ij"), 5).expect("room");
    // The band comes first; the two writes are one message, since the second was appended.
    assert_eq!(far.nread().expect("fine"), (2, 4));
    assert_eq!(far.band().expect("there"), 5);
    assert!(far.has_band(5).expect("fine") && far.has_band(0).expect("fine") && !far.has_band(1).expect("fine"));
}

#[test]
fn modules_are_pushed_popped_and_listed() {
    let (near, far) = nonblocking();
    assert_eq!(near.modules().look().expect_err("bare").errno(), Errno::Inval);
    near.push("nullmod").expect("known");
    near.push("srvmod").expect("known");
    far.push("nullmod").expect("known");
    assert_eq!(near.modules().list().expect("fine"), ["srvmod", "nullmod"]);
    assert_eq!(near.modules().look().expect("one"), "srvmod");
    assert!(near.modules().find("nullmod").expect("known") && !far.modules().find("srvmod").expect("known"));
    assert_eq!(near.push("nothing").expect_err("unknown").errno(), Errno::Inval);
    assert_eq!(near.modules().find("nothing").expect_err("unknown").errno(), Errno::Inval);
    for text in [&b"forth"[..], b"again"] {
        near.write(text).expect("room");
        assert_eq!(read(&far, 9), Ok(text.to_vec()));
        far.write(text).expect("room");
        assert_eq!(read(&near, 9), Ok(text.to_vec()));
    }
    near.pop().expect("two are there");
    near.pop().expect("one is there");
    assert_eq!(near.pop().expect_err("none is").errno(), Errno::Inval);
    assert!(near.counters().service_runs > 0);
}

#[test]
fn an_end_takes_so_many_modules() {
    let (near, _far) = with(Options::new().nstrpush(2));
    near.push("nullmod").expect("one");
    near.push("nullmod").expect("two");
    let error = near.push("nullmod").expect_err("three");
    assert_eq!(error.errno(), Errno::Inval);
    assert!(error.to_string().contains("nstrpush"), "{error}");
}

#[test]
fn a_service_queue_holds_what_the_head_does_not_take() {
    for options in policies() {
        let (near, far) = with(options.hiwat(100).lowat(50));
        near.push("srvmod").expect("known");
        let mut sent = 0u32;
        while near.write(&[sent as u8; 10]).is_ok() {
            sent += 1;
        }
        // 110 bytes at the head, and above 5120 in the module's queue.
        assert_eq!(sent, 11 + 513);
        let mut got = Vec::new();
        while got.len() < sent as usize * 10 {
            let bytes = read(&far, 64).expect("nothing is lost");
            got.extend(bytes);
        }
        let expected: Vec<u8> = (0..sent).flat_map(|number| [number as u8; 10]).collect();
        assert!(got == expected);
        assert_eq!(read(&far, 1), Err(Errno::Again));
        near.write(b"x").expect("back-enabled");
    }
}

#[test]
fn what_modules_hold_comes_before_the_end() {
    let (near, far) = with(Options::new().hiwat(100).lowat(50));
    near.push("srvmod").expect("known");
    let mut sent = 0;
    while near.write(&[5; 10]).is_ok() {
        sent += 10;
    }
    drop(near);
    let mut got = 0;
    loop {
        match read(&far, 64).expect("no error").len() {
            0 => break,
            count => got += count,
        }
    }
    assert_eq!(got, sent);
}

#[test]
fn a_flush_throws_away_the_far_queue() {
    for options in policies() {
        let (near, far) = with(options);
        near.write(b"gone").expect("room");
        near.putpmsg(Some(b"x"), None, 3).expect("room");
        near.flush_queues(Flush::READ).expect("fine");
        assert_eq!(read(&far, 9), Err(Errno::Again));
        near.write(b"here").expect("room");
        assert_eq!(read(&far, 9), Ok(b"here".to_vec()));
        // One band only.
        near.putpmsg(Some(b"3"), None, 3).expect("room");
        near.putpmsg(Some(b"4"), None, 4).expect("room");
        near.flush_queues(Flush::READ.in_band(4)).expect("fine");
        assert_eq!(get(&far, MessageFilter::Any).expect("there").2.priority, Priority::Band(3));
    }
}

#[test]
fn pipemod_turns_a_flush() {
    let (near, far) = nonblocking();
    near.push("pipemod").expect("known");
    far.write(b"kept or gone").expect("room");
    near.write(b"unread").expect("room");
    // The messages that near has not read: turned by the module, FLUSHR becomes FLUSHW at the far head, which turns it
    // back.
    near.flush_queues(Flush::READ).expect("fine");
    assert_eq!(read(&near, 20), Err(Errno::Again));
    assert_eq!(read(&far, 20), Ok(b"unread".to_vec()));
}

#[test]
fn a_module_hangs_up_and_raises_errors() {
    let (mut near, far) = nonblocking();
    near.push("testmod").expect("known");
    let ask = |stream: &Stream, request: &str| stream.putmsg(Some(request.as_bytes()), None);
    far.write(b"data").expect("room");
    ask(&mut near, "error 71 0").expect("fine");
    assert_eq!(read(&near, 9), Err(Errno::Proto));
    assert_eq!(near.push("nullmod").expect_err("error").errno(), Errno::Io);
    near.write(b"x").expect("writing is not concerned");
    assert!(near.poll(Events::OUT, Some(std::time::Duration::ZERO)).expect("fine").intersects(Events::ERR));
    ask(&mut near, "error 0 0").expect("fine");
    ask(&mut near, "hangup").expect("fine");
    assert_eq!(read(&near, 9), Ok(b"data".to_vec()));
    assert_eq!(read(&near, 9), Ok(vec![]));
    assert_eq!(near.write(b"x").expect_err("hung up").errno(), Errno::Nxio);
    assert_eq!(near.push("nullmod").expect_err("hung up").errno(), Errno::Nxio);
    assert_eq!(near.band().expect_err("hung up").errno(), Errno::Nodata);
}

#[test]
fn a_module_raises_signals_and_sets_options() {
    let (mut near, far) = nonblocking();
    near.push("testmod").expect("known");
    let ask = |stream: &Stream, request: &str| stream.putmsg(Some(request.as_bytes()), None).expect("fine");
    ask(&mut near, "pcsignal 10");
    assert_eq!(near.signals().take_raised(), 1 << 10);
    far.write(b"before").expect("room");
    ask(&mut near, "signal 12");
    ask(&mut near, "hiwat 7");
    assert_eq!(near.settings().water_marks().0, 7);
    assert_eq!(read(&near, 20), Ok(b"before".to_vec()));
    assert_eq!(near.signals().take_raised(), 1 << 12);
}

#[test]
fn poll_says_what_can_be_done() {
    let (mut near, mut far) = with(Options::new().hiwat(10).lowat(5));
    let all = Events::IN | Events::PRI | Events::OUT | Events::RDNORM | Events::RDBAND | Events::WRNORM;
    let now = |stream: &Stream| stream.poll(all, Some(std::time::Duration::ZERO)).expect("fine");
    assert_eq!(now(&mut far), Events::OUT | Events::WRNORM);
    near.write(&[0; 11]).expect("room");
    assert_eq!(now(&mut near), Events::default());
    assert_eq!(now(&mut far), Events::IN | Events::RDNORM | Events::OUT | Events::WRNORM);
    near.putpmsg(Some(b"x"), None, 1).expect("room");
    assert!(now(&mut far).intersects(Events::RDBAND));
    near.putpmsg(Some(b"x"), None, Priority::High).expect("always");
    assert!(now(&mut far).intersects(Events::PRI));
    drop(near);
    assert!(now(&mut far).intersects(Events::HUP));
}

#[test]
fn a_file_is_passed_in_its_place() {
    use std::io::Read;
    use std::os::fd::AsFd;
    let (near, far) = nonblocking();
    near.write(b"before").expect("room");
    near.files().send(std::fs::File::open("/proc/self/comm").expect("open").as_fd()).expect("room");
    near.write(b"after").expect("room");
    assert_eq!(far.files().receive().expect_err("bytes first").errno(), Errno::Badmsg);
    assert_eq!(read(&far, 20), Ok(b"before".to_vec()));
    assert_eq!(read(&far, 20), Err(Errno::Badmsg));
    assert_eq!(get(&far, MessageFilter::Any).map(|_| ()), Err(Errno::Badmsg));
    let mut text = String::new();
    std::fs::File::from(far.files().receive().expect("there")).read_to_string(&mut text).expect("read");
    assert!(!text.is_empty());
    assert_eq!(read(&far, 20), Ok(b"after".to_vec()));
}

#[test]
fn places_are_filled_and_read_without_a_copy() {
    use std::sync::atomic::Ordering;
    let (near, far) = nonblocking();
    let (mut sender, mut receiver) = (near.direct(), far.direct());
    drop(sender.reserve(10).expect("room"));
    let mut place = sender.reserve(6).expect("room");
    place.fill(0, b"abc");
    for (byte, value) in place.bytes().into_iter().flatten().skip(3).zip(b"def") {
        byte.store(*value, Ordering::Relaxed);
    }
    place.commit().expect("somebody is there");
    near.write(b"plain").expect("room");
    let message = receiver.borrow().expect("fine").expect("there");
    assert_eq!(message.to_vec(), b"abcdef");
    drop(message);
    receiver.borrow().expect("fine").expect("still there").consume(4).expect("fine");
    assert_eq!(receiver.borrow().expect("fine").expect("the rest").to_vec(), b"ef");
    assert_eq!(read(&far, 20), Ok(b"efplain".to_vec()));
    assert_eq!(receiver.borrow().expect_err("nothing").errno(), Errno::Again);
}

#[test]
fn a_read_that_fills_waits_for_its_count() {
    let (near, far) = pipe().expect("pipe");
    far.settings().set_read_options(ReadOptions::new().fill(true)).expect("fine");
    let writer = std::thread::spawn(move || {
        for _ in 0..10 {
            near.write(b"x").expect("room");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        near
    });
    assert_eq!(read(&far, 10).map(|bytes| bytes.len()), Ok(10));
    drop(writer.join());
    assert_eq!(read(&far, 10).map(|bytes| bytes.len()), Ok(0));
}

#[test]
fn bad_sizes_are_refused_by_name() {
    for (options, name) in [
        (Options::new().hiwat(0), "hiwat"),
        (Options::new().lowat(70_000), "lowat"),
        (Options::new().maxpsz(0), "maxpsz"),
        (Options::new().maxpsz(1 << 20), "maxpsz"),
        (Options::new().nstrpush(65), "nstrpush"),
        (Options::new().strmsgsz(1 << 30), "strmsgsz"),
    ] {
        let error = options.pipe().expect_err("refused");
        assert_eq!(error.errno(), Errno::Inval);
        assert!(error.to_string().starts_with(name), "{error}");
    }
}

#[test]
fn messages_that_arrive_behind_a_known_one_are_counted_and_marked() {
    let (near, far) = pipe().expect("pipe");
    near.putmsg(Some(b"control"), Some(b"one")).expect("sent");
    assert!(far.peek(Some(&mut [0; 8]), None, MessageFilter::Any).expect("peeked").is_some());
    for _ in 0..2 {
        near.putmsg(Some(b"control"), Some(b"more")).expect("sent");
    }
    assert_eq!(far.nread().expect("counted"), (3, 3));
    assert!(far.has_band(0).expect("looked"));
    for expected in [3, 4, 4] {
        let got = far.getmsg(Some(&mut [0; 8]), Some(&mut [0; 8])).expect("received");
        assert_eq!(got.data, Some(expected));
    }
    assert_eq!(far.nread().expect("counted"), (0, 0));
}
