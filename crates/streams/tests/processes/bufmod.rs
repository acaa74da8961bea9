//! `bufmod`: what is gathered, when a chunk is passed on, what is dropped, and what stays in order.

use std::time::{Duration, Instant};

use crate::common::{calm, child, in_own_process, joined, within};
use headwater_streams::modules::bufmod::{
    BufferFlags, CHUNK, CHUNK_MAX, CLEAR_TIME, GET_CHUNK, GET_FLAGS, GET_SNAP, GET_TIME, PacketHeader, SET_CHUNK,
    SET_FLAGS, SET_SNAP, SET_TIME, timeval,
};
use headwater_streams::{
    Device, Driver, DriverInfo, Errno, Flush, IoctlTimeout, Kind, MemoryAt, Message, Options, Queue, Result, Stream,
    register_driver,
};

const PATIENCE: Duration = Duration::from_secs(30);
const LONG: Duration = Duration::from_secs(3600);

fn set(stream: &Stream, command: u32, data: &[u8]) -> Result<Vec<u8>> {
    let mut data = data.to_vec();
    stream.ioctl(command, &mut data, IoctlTimeout::Usual)?;
    Ok(data)
}

fn set_word(stream: &Stream, command: u32, word: u32) {
    set(stream, command, &word.to_ne_bytes()).expect("valid");
}

/// A pipe; the near end has the module, with these flags and length of chunks and no time.
fn buffered(options: Options, flags: BufferFlags, chunk: u32) -> (Stream, Stream) {
    let (near, far) = options.pipe().expect("pipe");
    near.push("bufmod").expect("known");
    set_word(&near, SET_FLAGS, flags.bits());
    set_word(&near, SET_CHUNK, chunk);
    near.set_nonblocking(true).expect("arm");
    far.set_nonblocking(true).expect("arm");
    (near, far)
}

/// The data of all messages that are there, as text.
fn chunks(stream: &Stream) -> Vec<String> {
    let mut chunks = Vec::new();
    loop {
        match stream.receive() {
            Ok(Some(message)) => {
                let control = String::from_utf8_lossy(message.control().unwrap_or_default()).into_owned();
                chunks.push(control + &String::from_utf8_lossy(message.data().unwrap_or_default()));
            }
            Ok(None) => break,
            Err(error) if error.errno() == Errno::Again => break,
            Err(error) => panic!("{error}"),
        }
    }
    chunks
}

/// The same without headers, `|` between two.
fn arrived(stream: &Stream) -> String {
    chunks(stream).join("|")
}

fn send(stream: &Stream, texts: &[&str]) {
    for text in texts {
        stream.send_message(&Message::data_of(text.as_bytes())).expect("room");
    }
}

const PLAIN: BufferFlags = BufferFlags::NO_HEADER;

#[test]
fn a_chunk_is_passed_on_when_the_next_message_does_not_fit() {
    in_own_process!();
    for (chunk, sent, expected) in [
        (10, &["12345", "1234", "1"][..], ""),
        (10, &["12345", "1234", "12"], "123451234"),
        (10, &["12345", "12345", "1"], "1234512345"),
        (10, &["12345678901"], "12345678901"),
        (10, &["1", "12345678901", "2"], "1|12345678901"),
        (0, &["1", "2"], "1|2"),
    ] {
        let (near, far) = buffered(Options::new(), PLAIN, chunk);
        send(&far, sent);
        assert_eq!(arrived(&near), expected, "{sent:?} in chunks of {chunk}");
    }
}

#[test]
fn headers_tell_what_a_message_was_and_where_the_next_one_is() {
    in_own_process!();
    let (near, far) = buffered(Options::new(), BufferFlags::empty(), 100);
    set_word(&near, SET_SNAP, 5);
    send(&far, &["abc", "0123456789"]);
    far.putmsg(Some(b"ctl"), Some(b"data")).expect("room");
    set(&near, CLEAR_TIME, &[]).expect("which passes the chunk on");
    let mut bytes = [0; 200];
    let count = near.read(&mut bytes).expect("a chunk");
    let (mut at, mut got) = (0, Vec::new());
    while at < count {
        let header = PacketHeader::of(&bytes[at..count]).expect("a header");
        let text = &bytes[at + PacketHeader::LEN..][..header.message_len as usize];
        got.push((header.original_len, String::from_utf8_lossy(text).into_owned(), header.total_len, header.drops));
        let now_s = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("later").as_secs();
        assert!(now_s as u32 - header.seconds < 60 && header.microseconds < 1_000_000, "{header:?}");
        at += header.total_len as usize;
    }
    let expected = [(3, "abc", 32, 0), (10, "01234", 32, 0), (7, "ctlda", 32, 0)];
    assert_eq!(got, expected.map(|(len, text, total, drops)| (len, text.to_owned(), total, drops)));
    assert_eq!(at, count);
}

#[test]
fn a_message_waits_no_longer_than_the_time_and_no_shorter() {
    in_own_process!();
    within(PATIENCE, "the time".to_owned());
    let (near, far) = buffered(Options::new(), PLAIN, 100);
    let time = Duration::from_millis(60);
    set(&near, SET_TIME, &timeval(time)).expect("valid");
    near.set_nonblocking(false).expect("arm");
    for round in 0..3 {
        let started = Instant::now();
        send(&far, &["a", "b"]);
        assert_eq!(near.read(&mut [0; 100]).expect("in time"), 2, "round {round}");
        assert!(started.elapsed() >= time, "{:?} is too early", started.elapsed());
    }
    calm();
}

#[test]
fn other_messages_pass_behind_the_chunk_and_those_of_high_priority_at_once() {
    in_own_process!();
    let (near, far) = buffered(Options::new(), PLAIN | BufferFlags::NO_PROTO_CONVERSION, 100);
    send(&far, &["a", "b"]);
    far.putmsg(Some(b"proto"), None).expect("room");
    send(&far, &["c"]);
    assert_eq!(arrived(&near), "ab|proto");
    far.send_message(&Message::proto_of(b"pc", b"").with_priority(headwater_streams::Priority::High)).expect("room");
    assert_eq!(arrived(&near), "pc");
    set(&near, CLEAR_TIME, &[]).expect("valid");
    assert_eq!(arrived(&near), "c");
    // Without the flag it is data.
    set_word(&near, SET_FLAGS, PLAIN.bits());
    send(&far, &["a"]);
    far.putmsg(Some(b"proto"), Some(b"data")).expect("room");
    assert_eq!(arrived(&near), "");
    set(&near, CLEAR_TIME, &[]).expect("valid");
    assert_eq!(arrived(&near), "aprotodata");
}

#[test]
fn the_first_message_of_an_interval_is_not_gathered_if_asked_for() {
    in_own_process!();
    within(PATIENCE, "intervals".to_owned());
    let (near, far) = buffered(Options::new(), PLAIN | BufferFlags::DEFER_CHUNK, 100);
    send(&far, &["a", "b", "c"]);
    assert_eq!(arrived(&near), "a");
    let time = Duration::from_millis(40);
    set(&near, SET_TIME, &timeval(time)).expect("valid, and passes the rest on");
    assert_eq!(arrived(&near), "bc");
    for _ in 0..2 {
        send(&far, &["d", "e", "f"]);
        assert_eq!(arrived(&near), "d");
        near.set_nonblocking(false).expect("arm");
        let mut text = [0; 8];
        assert_eq!((near.read(&mut text).expect("in time"), &text[..2]), (2, &b"ef"[..]));
        near.set_nonblocking(true).expect("arm");
    }
    calm();
}

#[test]
fn a_message_on_the_write_side_passes_the_chunk_on_if_asked_for() {
    in_own_process!();
    for (flags, expected) in [(PLAIN, ""), (PLAIN | BufferFlags::SEND_ON_WRITE, "ab")] {
        let (near, far) = buffered(Options::new(), flags, 100);
        send(&far, &["a", "b"]);
        near.write(b"request").expect("room");
        assert_eq!(arrived(&near), expected, "{flags:?}");
        assert_eq!(arrived(&far), "request");
    }
}

/// Answers each message twice, within the write.
#[derive(Debug)]
struct Twice;

impl Driver for Twice {
    fn info(&self) -> DriverInfo {
        DriverInfo::new("twice")
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match message.header.kind {
            Kind::Data => {
                queue.reply(Message::data_of(b"first"))?;
                queue.reply(Message::data_of(b"second"))
            }
            Kind::Ioctl => queue.refuse(&message, Errno::Inval),
            _ => Ok(()),
        }
    }
}

#[test]
fn answers_that_come_within_the_write_wait_for_nothing() {
    in_own_process!();
    register_driver(Twice).expect("new");
    let near = Device::open_private("twice").expect("known");
    near.push("bufmod").expect("known");
    let flags = PLAIN | BufferFlags::SEND_ON_WRITE | BufferFlags::DEFER_CHUNK;
    set_word(&near, SET_FLAGS, flags.bits());
    near.set_nonblocking(true).expect("arm");
    for _ in 0..3 {
        send(&near, &["question"]);
        // The request's own run of the service procedure comes after the answers.
        assert_eq!(arrived(&near), "first|second");
    }
}

#[test]
fn an_answer_to_a_request_is_passed_on_at_once_and_what_follows_is_gathered() {
    in_own_process!();
    let flags = PLAIN | BufferFlags::SEND_ON_WRITE | BufferFlags::DEFER_CHUNK;
    // A driver that answers within the write.
    let near = Device::open_private("echo").expect("known");
    near.push("bufmod").expect("known");
    set_word(&near, SET_FLAGS, flags.bits());
    near.set_nonblocking(true).expect("arm");
    for _ in 0..3 {
        send(&near, &["question"]);
        assert_eq!(arrived(&near), "question");
    }
    let (near, far) = buffered(Options::new(), flags, 100);
    for _ in 0..2 {
        send(&near, &["question"]);
        send(&far, &["answer", "more", "and more"]);
        assert_eq!(arrived(&near), "answer");
        send(&near, &["question"]);
        assert_eq!(arrived(&near), "moreand more");
    }
}

#[test]
fn a_reader_that_is_behind_stops_the_writer_or_loses_counted_messages() {
    in_own_process!();
    let text = "x".repeat(76);
    let options = || Options::new().hiwat(300).lowat(100);
    let (near, far) = buffered(options(), BufferFlags::empty(), 200);
    // Each takes 104 bytes with its header, so that a chunk has one. The head takes 3 and is full; 6 are dropped, and the last one is
    // in the chunk, which is passed on when there is room.
    send(&far, &[text.as_str(); 10]);
    assert_eq!(chunks(&near).len(), 4);
    send(&far, &[text.as_str(); 2]);
    let later = near.receive().expect("there").expect("no end");
    assert_eq!(PacketHeader::of(later.data().expect("data")).expect("a header").drops, 6);

    let (near, far) = buffered(options(), PLAIN | BufferFlags::NO_DROPS, 200);
    let (mut sent, mut read) = (Vec::new(), Vec::new());
    let mut refused = 0;
    for number in 0..2000_u32 {
        let bytes = number.to_ne_bytes().repeat(5);
        while let Err(error) = far.send_message(&Message::data_of(&bytes)) {
            assert_eq!(error.errno(), Errno::Again, "{error}");
            refused += 1;
            let mut some = [0; 77];
            let count = near.read(&mut some).expect("there is something");
            read.extend_from_slice(&some[..count]);
        }
        sent.extend_from_slice(&bytes);
    }
    drop(far);
    let mut some = [0; 500];
    while let count @ 1.. = near.read(&mut some).expect("no error") {
        read.extend_from_slice(&some[..count]);
    }
    assert!(refused > 10, "the writer was stopped {refused} times");
    assert!(read == sent, "{} of {} bytes", read.len(), sent.len());
}

#[test]
fn what_is_gathered_comes_before_the_end_of_the_stream() {
    in_own_process!();
    within(PATIENCE, "the end".to_owned());
    let (near, far) = buffered(Options::new(), PLAIN, 100);
    near.set_nonblocking(false).expect("arm");
    set(&near, SET_TIME, &timeval(LONG)).expect("valid");
    joined(child(|| {
        send(&far, &["a", "b"]);
        Ok(())
    }));
    drop(far);
    let mut text = [0; 8];
    assert_eq!(near.read(&mut text).expect("no error"), 2);
    assert_eq!(&text[..2], b"ab");
    assert_eq!(near.read(&mut text).expect("no error"), 0);

    // A hang-up is a message, which passes everything that is queued.
    let near = Device::open_private("echo").expect("known");
    near.push("testmod").expect("known");
    near.push("bufmod").expect("known");
    set_word(&near, SET_FLAGS, PLAIN.bits());
    near.write(b"ab").expect("room");
    assert_eq!(near.nread().expect("no error"), (0, 0));
    near.putmsg(Some(b"hangup"), None).expect("room");
    assert_ne!(near.nread().expect("no error"), (0, 0), "it comes before the hang-up");
    assert_eq!(near.read(&mut text).expect("no error"), 2);
    assert_eq!(near.read(&mut text).expect("no error"), 0);
    calm();
}

#[test]
fn a_flush_of_the_read_side_discards_the_chunk() {
    in_own_process!();
    for (flush, expected) in [
        (Flush::ALL, "c"),
        (Flush::READ.in_band(0), "c"),
        (Flush::READ.in_band(1), "abc"),
        (Flush::WRITE.in_band(0), "abc"),
    ] {
        let near = Device::open_private("echo").expect("known");
        near.push("bufmod").expect("known");
        set_word(&near, SET_FLAGS, PLAIN.bits());
        near.set_nonblocking(true).expect("arm");
        send(&near, &["a", "b"]);
        near.flush_queues(flush).expect("fine");
        send(&near, &["c"]);
        set(&near, CLEAR_TIME, &[]).expect("valid");
        // Room that a flush makes passes a chunk on, too.
        assert_eq!(arrived(&near).replace('|', ""), expected, "{flush:?}");
    }
}

#[test]
fn ioctls_take_and_return_their_data_in_both_ways() {
    in_own_process!();
    let (near, _far) = pipe_with_module();
    let by_address = |command: u32, data: &mut [u8]| {
        let mut memory = vec![MemoryAt::new(4096, data)];
        near.transparent_ioctl(command, 4096, &mut memory)
    };
    assert_eq!(set(&near, GET_CHUNK, &[]).expect("known"), CHUNK.to_ne_bytes());
    assert_eq!(set(&near, GET_TIME, &[]).expect_err("none is set").errno(), Errno::Range);
    for (get, set_it, value) in
        [(GET_CHUNK, SET_CHUNK, 1000_u32), (GET_SNAP, SET_SNAP, 1001), (GET_FLAGS, SET_FLAGS, 0x1f)]
    {
        let mut word = value.to_ne_bytes();
        assert_eq!(by_address(set_it, &mut word).expect("valid"), 0);
        assert_eq!(set(&near, get, &[]).expect("known"), word, "{get:#x}");
        let mut returned = [0; 4];
        assert_eq!(by_address(get, &mut returned).expect("valid"), 0);
        assert_eq!(returned, word, "{get:#x}");
        // A structure that is cut off, an address without memory.
        assert_eq!(set(&near, set_it, &[0; 3]).expect_err("short").errno(), Errno::Inval);
        for command in [get, set_it] {
            let lost = near.transparent_ioctl(command, 8, &mut Vec::new()).expect_err("no memory");
            assert_eq!(lost.errno(), Errno::Fault, "{command:#x}");
        }
        assert_eq!(set(&near, get, &[]).expect("known"), word, "{get:#x} after errors");
    }
    let time = timeval(Duration::from_millis(1234));
    set(&near, SET_TIME, &time).expect("valid");
    assert_eq!(set(&near, GET_TIME, &[]).expect("set"), time);
    for (command, data, errno) in [
        (SET_TIME, [[0xff; 8], [0; 8]].concat(), Errno::Inval),
        (SET_TIME, time[..15].to_vec(), Errno::Inval),
        (SET_CHUNK, (CHUNK_MAX + 1).to_ne_bytes().to_vec(), Errno::Inval),
        (SET_FLAGS, 0x20_u32.to_ne_bytes().to_vec(), Errno::Inval),
        (GET_FLAGS + 1, Vec::new(), Errno::Inval),
    ] {
        assert_eq!(set(&near, command, &data).expect_err("refused").errno(), errno, "{command:#x} {data:?}");
    }
    set(&near, SET_TIME, &timeval(Duration::ZERO)).expect("valid");
    assert_eq!(set(&near, GET_CHUNK, &[]).expect("known"), [0; 4], "a time of 0 gathers nothing");
}

fn pipe_with_module() -> (Stream, Stream) {
    let (near, far) = headwater_streams::pipe().expect("pipe");
    near.push("bufmod").expect("known");
    (near, far)
}

#[test]
fn two_modules_of_a_stream_have_settings_and_chunks_of_their_own() {
    in_own_process!();
    let (near, far) = pipe_with_module();
    set_word(&near, SET_CHUNK, 11);
    near.push("bufmod").expect("known");
    far.push("bufmod").expect("known");
    set_word(&near, SET_CHUNK, 22);
    set_word(&far, SET_CHUNK, 33);
    let chunk =
        |stream: &Stream| u32::from_ne_bytes(set(stream, GET_CHUNK, &[]).expect("known").try_into().expect("4"));
    assert_eq!((chunk(&near), chunk(&far)), (22, 33));
    near.pop().expect("pushed");
    assert_eq!((chunk(&near), chunk(&far)), (11, 33));
}
