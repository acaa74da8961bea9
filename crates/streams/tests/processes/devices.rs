//! Streams that end in a driver, in one process and in those that it forks: written messages reach the driver, its
//! answers reach the reader, both are flow controlled, and the driver is opened and closed once.

use crate::common;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::common::{Random, calm, child, in_own_process, joined, polled, within};
use headwater_streams::{
    Device, DeviceOptions, Driver, DriverInfo, Errno, Events, Flush, Kind, Message, MessageFilter, MessageHeader,
    Opening, Options, Priority, Queue, ReadMode, ReadOptions, Result, Side, Stream, WriteOptions, register,
    register_driver,
};

const PATIENCE: Duration = Duration::from_secs(20);

fn open(driver: &str) -> Stream {
    Device::open_private(driver).expect("known")
}

fn small(driver: &str, hiwat: u32, nonblocking: bool) -> Stream {
    let stream = Options::new().hiwat(hiwat).lowat(hiwat / 4).maxpsz(512);
    let options = DeviceOptions::new().stream(stream).nonblocking(nonblocking);
    options.open_private(driver).expect("known")
}

/// Counts its opens and closes, refuses to be opened if it is told so, and keeps a total in its own memory.
#[derive(Debug)]
struct Tester;

static OPENS: AtomicU32 = AtomicU32::new(0);
static CLOSES: AtomicU32 = AtomicU32::new(0);
static REFUSES: AtomicU32 = AtomicU32::new(0);
/// The total that it found at its close.
static TOTAL: AtomicU64 = AtomicU64::new(0);

const INSTANCE: usize = 100_000;

impl Driver for Tester {
    fn info(&self) -> DriverInfo {
        DriverInfo::new("tester").instance(INSTANCE)
    }

    fn open(&self, opening: &Opening, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        assert_eq!((queue.side(), queue.minor()), (Side::Write, Some(opening.minor)));
        if REFUSES.load(Ordering::Relaxed) != 0 {
            return Err(headwater_streams::Error::from(std::io::Error::from_raw_os_error(libc::ENODEV)));
        }
        OPENS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn close(&self, queue: &mut Queue<'_, '_, '_>) {
        CLOSES.fetch_add(1, Ordering::Relaxed);
        TOTAL.store(total(queue), Ordering::Relaxed);
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        match (message.header.kind, message.data()) {
            (Kind::Data, Some(b"hangup")) => queue.reply(Message::new(MessageHeader::of(Kind::Hangup), None, None)),
            (Kind::Data, Some(b"error")) => {
                queue.reply(Message::new(MessageHeader::of(Kind::Error), None, Some(&[5, 5])))
            }
            (Kind::Data, Some(b"below")) => {
                assert_eq!(queue.put_next(message).expect_err("nothing is there").errno(), Errno::Inval);
                Ok(())
            }
            (Kind::Data, Some(data)) => {
                let sum = total(queue) + data.len() as u64;
                queue.write_instance(INSTANCE - 8, &sum.to_le_bytes())
            }
            _ => Ok(()),
        }
    }
}

fn total(queue: &Queue<'_, '_, '_>) -> u64 {
    let mut bytes = [0; 8];
    queue.read_instance(INSTANCE - 8, &mut bytes).expect("inside");
    assert!(queue.read_instance(queue.instance_len() - 7, &mut bytes).is_err());
    u64::from_le_bytes(bytes)
}

fn know() {
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| register_driver(Tester).expect("new"));
}

#[test]
fn what_is_written_to_echo_comes_back_with_its_boundaries() {
    in_own_process!();
    let stream = open("echo");
    stream.write(b"plain").expect("room");
    let mut bytes = [0; 16];
    assert_eq!(stream.read(&mut bytes).expect("there"), 5);
    assert_eq!(&bytes[..5], b"plain");
    stream.putmsg(Some(b"control"), Some(b"data")).expect("room");
    stream.putpmsg(Some(b"c"), Some(b"in band 7"), 7).expect("room");
    stream.putpmsg(Some(b"first"), None, Priority::High).expect("high priority waits for nobody");
    let got: Vec<_> = (0..3).map(|_| stream.receive().expect("no error").expect("there")).collect();
    assert_eq!(got[0].control(), Some(&b"first"[..]));
    assert_eq!(got[0].priority(), Priority::High);
    assert_eq!((got[1].priority(), got[1].data()), (Priority::Band(7), Some(&b"in band 7"[..])));
    assert_eq!(got[2].control(), Some(&b"control"[..]));
    // A device sends messages of no bytes (SNDZERO), a pipe does not.
    assert_eq!(stream.settings().write_options(), WriteOptions::DEVICE);
    stream.write(b"").expect("room");
    assert_eq!(stream.read(&mut bytes).expect("a message of no bytes"), 0);
}

#[test]
fn a_writer_that_outruns_its_reader_is_stopped_and_goes_on_and_nothing_is_lost() {
    in_own_process!();
    for (seed, modules) in [&[][..], &["srvmod"], &["nullmod", "srvmod"], &["nullmod"]].into_iter().enumerate() {
        for band in [0, 3] {
            within(PATIENCE, format!("echo below {modules:?}, band {band}"));
            let mut random = Random(seed as u64);
            let stream = small("echo", 2000, true);
            modules.iter().for_each(|name| stream.push(name).expect("known"));
            let (mut sent, mut got, mut refused) = (0u32, 0u32, 0);
            for _ in 0..5000 {
                if random.one_in(2) {
                    match stream.putpmsg(Some(&sent.to_le_bytes()), Some(&vec![1; random.below(400)]), band) {
                        Ok(()) => sent += 1,
                        Err(error) => {
                            assert_eq!(error.errno(), Errno::Again, "{error}");
                            refused += 1;
                            // As much as the queues may hold.
                            while random.one_in(20)
                                && let Some(number) = number(&stream)
                            {
                                assert_eq!(number, got);
                                got += 1;
                            }
                        }
                    }
                } else if random.one_in(3)
                    && let Some(number) = number(&stream)
                {
                    assert_eq!(number, got, "{modules:?} band {band}");
                    got += 1;
                }
            }
            assert!(refused > 10, "the writer was never stopped: {modules:?}");
            let held = sent - got;
            assert!(held < 2 * (2000 + 5120) / 4, "{held} messages are held");
            while let Some(number) = number(&stream) {
                assert_eq!(number, got);
                got += 1;
            }
            assert_eq!(got, sent, "{modules:?} band {band}");
            stream.putpmsg(Some(b"room"), None, band).expect("all is read");
        }
    }
    calm();
}

/// The number of the next message; None if there is none.
fn number(stream: &Stream) -> Option<u32> {
    let (mut control, mut data) = ([0; 4], [0; 512]);
    match stream.getpmsg(Some(&mut control), Some(&mut data), MessageFilter::Any) {
        Ok(_) => Some(u32::from_le_bytes(control)),
        Err(error) => {
            assert_eq!(error.errno(), Errno::Again, "{error}");
            None
        }
    }
}

#[test]
fn a_writer_that_waits_for_room_is_woken_by_the_reader() {
    in_own_process!();
    const BYTES: usize = 400_000;
    for reads_in_child in [false, true] {
        within(PATIENCE, format!("a writer waits; the reader is a child: {reads_in_child}"));
        let stream: Stream = small("echo", 3000, false);
        let read = |stream: &Stream| {
            let (mut read, mut buffer) = (0, [0; 700]);
            while read < BYTES {
                let count = stream.read(&mut buffer).expect("no error");
                assert!(buffer[..count].iter().enumerate().all(|(at, byte)| *byte == ((read + at) % 251) as u8));
                read += count;
            }
        };
        let bytes: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8).collect();
        if reads_in_child {
            let reader = child(|| {
                read(&stream);
                Ok(())
            });
            assert_eq!(stream.write(&bytes).expect("no error"), BYTES);
            joined(reader);
        } else {
            std::thread::scope(|scope| {
                scope.spawn(|| read(&stream));
                assert_eq!(stream.write(&bytes).expect("no error"), BYTES);
            });
        }
    }
    calm();
}

#[test]
fn the_descriptor_tells_of_what_the_driver_has_sent_and_of_room() {
    use rustix_poll::{IN, OUT, poll};
    in_own_process!();
    let stream = small("echo", 2000, true);
    assert_eq!(stream.read(&mut [0; 8]).expect_err("empty").errno(), Errno::Again);
    assert_eq!(poll(&stream), OUT);
    for _ in 0..3 {
        stream.write(b"x").expect("room");
        assert_eq!(poll(&stream), IN | OUT);
        assert_eq!(stream.poll(Events::IN | Events::OUT, Some(Duration::ZERO)).expect("poll") & Events::IN, Events::IN);
        assert_eq!(stream.read(&mut [0; 8]).expect("there"), 1);
        assert_eq!(stream.read(&mut [0; 8]).expect_err("empty").errno(), Errno::Again);
        assert_eq!(poll(&stream), OUT);
        // Full, until the reader has made room.
        while stream.write(&[1; 300]).is_ok() {}
        assert_eq!(poll(&stream) & OUT, 0);
        let mut buffer = [0; 100];
        while poll(&stream) & OUT == 0 {
            stream.read(&mut buffer).expect("that is why it was full");
        }
        stream.write(b"y").expect("the descriptor has told of room");
        while stream.read(&mut buffer).is_ok() {}
    }
}

/// poll(2), as any event loop calls it.
mod rustix_poll {
    use super::*;

    pub const IN: i16 = libc::POLLIN;
    pub const OUT: i16 = libc::POLLOUT;

    pub fn poll(stream: &impl AsFd) -> i16 {
        polled(stream, IN | OUT, Duration::ZERO)
    }
}

#[test]
fn a_sleeping_reader_and_a_program_that_polls_are_told_by_another_process() {
    in_own_process!();
    within(PATIENCE, "readers of an echo device, told by a child".to_owned());
    let stream = Device::open_private("echo").expect("known");
    let writer = child(|| {
        std::thread::sleep(Duration::from_millis(100));
        stream.write(b"one").map(drop)
    });
    let mut buffer = [0; 8];
    assert_eq!(stream.read(&mut buffer).expect("woken"), 3);
    joined(writer);
    stream.set_nonblocking(true).expect("arm");
    assert_eq!(stream.read(&mut buffer).expect_err("empty").errno(), Errno::Again);
    let writer = child(|| stream.write(b"two").map(drop));
    joined(writer);
    assert_eq!(rustix_poll::poll(&stream) & rustix_poll::IN, rustix_poll::IN);
    assert_eq!(stream.read(&mut buffer).expect("there"), 3);
    calm();
}

#[test]
fn nuls_takes_everything_and_reads_as_empty() {
    in_own_process!();
    for nonblocking in [false, true] {
        let stream = small("nuls", 2000, nonblocking);
        let mut buffer = [0; 8];
        for _ in 0..3 {
            assert_eq!(stream.read(&mut buffer).expect("the end of the file"), 0);
            assert_eq!(stream.write(&[0; 100_000]).expect("always room"), 100_000);
        }
        stream.putpmsg(Some(b"control"), None, Priority::High).expect("taken");
        stream.putpmsg(Some(b"control"), Some(b"data"), 9).expect("taken");
        assert_eq!(stream.nread().expect("no error"), (0, 0));
    }
}

#[test]
fn the_driver_is_listed_and_found_and_is_no_module() {
    in_own_process!();
    let stream = open("echo");
    assert_eq!(stream.modules().look().expect("the driver"), "echo");
    assert_eq!(stream.modules().list().expect("list"), ["echo"]);
    assert_eq!(stream.pop().expect_err("no module").errno(), Errno::Inval);
    for name in ["echo", "nuls", "", "a-name-that-is-much-too-long", "unknown"] {
        let refused = stream.push(name).expect_err("no module");
        assert_eq!(refused.errno(), Errno::Inval, "{name}: {refused}");
    }
    stream.push("srvmod").expect("known");
    assert_eq!(stream.modules().look().expect("the module"), "srvmod");
    assert_eq!(stream.modules().list().expect("list"), ["srvmod", "echo"]);
    assert!(stream.modules().find("echo").expect("known") && stream.modules().find("srvmod").expect("known"));
    assert!(!stream.modules().find("nuls").expect("known") && !stream.modules().find("nullmod").expect("known"));
    assert_eq!(stream.modules().find("unknown").expect_err("unknown").errno(), Errno::Inval);
    stream.write(b"through").expect("room");
    assert_eq!(stream.read(&mut [0; 16]).expect("there"), 7);
    stream.pop().expect("the module");
    assert_eq!(stream.modules().look().expect("the driver"), "echo");
    assert!(Device::open_private("srvmod").is_err_and(|error| error.errno() == Errno::Inval));
    assert!(register_driver(headwater_streams::drivers::echo::Echo).is_err_and(|error| error.errno() == Errno::Busy));
    assert!(register(headwater_streams::modules::nullmod::NullModule).is_err());
}

#[test]
fn opened_once_closed_by_the_last_of_all_processes() {
    in_own_process!();
    know();
    let before = common::open_things();
    let (opens, closes) = (OPENS.load(Ordering::Relaxed), CLOSES.load(Ordering::Relaxed));
    let counted = || (OPENS.load(Ordering::Relaxed) - opens, CLOSES.load(Ordering::Relaxed) - closes);
    let stream = Device::open_private("tester").expect("known");
    let (clone, handle) = (stream.clone(), stream.clone());
    stream.write(b"12345").expect("room");
    drop((stream, clone));
    assert_eq!(counted(), (1, 0), "a handle is left");
    // The child's copy is the last one.
    let (waits, gives) = std::io::pipe().expect("pipe");
    let last = child(|| {
        drop(gives.try_clone().expect("clone"));
        let mut byte = [0];
        let _ = std::io::Read::read(&mut &waits, &mut byte);
        let handle = Stream::from_fd(handle.as_fd().try_clone_to_owned().expect("clone"))?;
        handle.write(b"678")?;
        Ok(())
    });
    drop(handle);
    assert_eq!(counted(), (1, 0), "the child has it");
    std::io::Write::write_all(&mut &gives, b"x").expect("the child reads");
    joined(last);
    drop((waits, gives));
    let stream = Device::open_private("tester").expect("known");
    stream.write(b"1234").expect("room");
    drop(stream);
    assert_eq!(counted(), (2, 1));
    assert_eq!(TOTAL.load(Ordering::Relaxed), 4);
    common::expect_nothing_left(before);
}

#[test]
fn an_open_that_the_driver_refuses_fails_with_its_errno_and_leaves_nothing() {
    in_own_process!();
    know();
    let (before, closes) = (common::open_things(), CLOSES.load(Ordering::Relaxed));
    REFUSES.store(1, Ordering::Relaxed);
    let refused = Device::open_private("tester");
    REFUSES.store(0, Ordering::Relaxed);
    assert_eq!(refused.expect_err("refused").errno(), Errno::new(libc::ENODEV));
    assert_eq!(CLOSES.load(Ordering::Relaxed), closes, "what was not opened is not closed");
    common::expect_nothing_left(before);
}

#[test]
fn a_driver_hangs_up_and_raises_errors() {
    in_own_process!();
    know();
    let stream = open("tester");
    stream.write(b"below").expect("the driver finds that out");
    stream.write(b"hangup").expect("room");
    assert_eq!(stream.read(&mut [0; 8]).expect("the end"), 0);
    assert_eq!(stream.write(b"x").expect_err("hung up").errno(), Errno::Nxio);
    assert_eq!(stream.push("nullmod").expect_err("hung up").errno(), Errno::Nxio);
    assert!(stream.poll(Events::IN, Some(Duration::ZERO)).expect("poll").intersects(Events::HUP));
    let stream = open("tester");
    stream.write(b"error").expect("room");
    assert_eq!(stream.write(b"x").expect_err("an error").errno(), Errno::new(5));
    assert_eq!(stream.read(&mut [0; 8]).expect_err("an error").errno(), Errno::new(5));
    assert_eq!(stream.modules().look().expect("that is no concern of it"), "tester");
}

#[test]
fn a_flush_reaches_the_drivers_queues_and_comes_back() {
    in_own_process!();
    let stream = small("echo", 1000, true);
    while stream.write(&[1; 300]).is_ok() {}
    stream.flush_queues(Flush::WRITE).expect("flush");
    // Messages in the driver's write queue are gone, messages at the head are not.
    let mut count = 0;
    let mut buffer = [0; 64];
    while let Ok(bytes) = stream.read(&mut buffer) {
        count += bytes;
    }
    assert!((700..2000).contains(&count), "{count}");
    while stream.write(&[1; 300]).is_ok() {}
    stream.flush_queues(Flush::ALL).expect("flush");
    assert_eq!(stream.read(&mut buffer).expect_err("all is gone").errno(), Errno::Again);
    stream.write(b"again").expect("room");
    assert_eq!(stream.read(&mut buffer).expect("there"), 5);
}

#[test]
fn a_device_goes_to_another_process_with_its_descriptors() {
    in_own_process!();
    within(PATIENCE, "a device goes over a socket".to_owned());
    let (near, far) = UnixStream::pair().expect("pair");
    let stream = open("echo");
    stream.send_over(&near).expect("send");
    drop(stream);
    let stream = Device::receive_over("echo", &far).expect("a device").clone();
    stream.write(b"over").expect("room");
    assert_eq!(stream.read(&mut [0; 8]).expect("there"), 4);
    let again = Stream::from_fd(stream.as_fd().try_clone_to_owned().expect("dup")).expect("all three are there");
    again.settings().set_read_options(ReadOptions::new().mode(ReadMode::MessageKeep)).expect("known");
    assert_eq!(stream.settings().read_options().mode, ReadMode::MessageKeep);
    assert_eq!(stream.modules().look().expect("the driver"), "echo");
    // Calls for pipes only.
    assert_eq!(stream.shutdown(std::net::Shutdown::Write).expect_err("no pipe").errno(), Errno::Inval);
    assert_eq!(stream.files().send(near.as_fd()).expect_err("no pipe").errno(), Errno::Inval);
    calm();
}
