//! Behaviour at the limits of a stream: sizes of messages, room for them, memory that bands share.

use std::sync::Mutex;
use std::time::Duration;

use headwater_streams::{
    ControlMode, Errno, Kind, Message, MessageFilter, Module, ModuleInfo, Options, Policy, Priority, Queue, ReadMode,
    ReadOptions, Result, Stream, register,
};

fn with(options: Options) -> (Stream, Stream) {
    let (near, far) = options.pipe().expect("pipe");
    near.set_nonblocking(true).expect("arm");
    far.set_nonblocking(true).expect("arm");
    (near, far)
}

/// Sizes as SVR4 had them.
fn svr4(policy: Policy) -> Options {
    Options::new().hiwat(5120).lowat(1024).maxpsz(4096).policy(policy)
}

/// Lengths of the available messages of data.
fn lengths(stream: &Stream) -> Vec<usize> {
    let mut data = vec![0; 300_000];
    std::iter::from_fn(|| stream.getmsg(None, Some(&mut data)).ok()?.data).collect()
}

#[test]
fn data_alone_is_cut_and_sent_as_a_whole_or_not_at_all() {
    for policy in [Policy::DEFAULT, Policy::EAGER] {
        for (band, modules) in [(0, &[][..]), (3, &[]), (0, &["nullmod"]), (0, &["srvmod"]), (3, &["srvmod"])] {
            let (near, far) = with(svr4(policy));
            modules.iter().for_each(|name| near.push(name).expect("known"));
            near.putpmsg(None, Some(&vec![7; 20_000]), band).expect("the queue was empty");
            while near.can_put(band).expect("fine") {
                near.putpmsg(None, Some(&[7; 4096]), band).expect("room");
            }
            let error = near.putpmsg(None, Some(&vec![8; 20_000]), band).expect_err("full");
            assert_eq!(error.errno(), Errno::Again);
            let lengths = lengths(&far);
            assert_eq!(lengths[..5], [4096, 4096, 4096, 4096, 20_000 - 4 * 4096], "{policy:?} {band} {modules:?}");
            assert!(lengths[5..].iter().all(|len| *len == 4096), "a part was sent: {lengths:?}");
        }
    }
}

#[test]
fn data_alone_beyond_strmsgsz_or_in_too_many_pieces_is_refused() {
    let (near, far) = with(Options::new().strmsgsz(10_000).maxpsz(100));
    let errno = |done: Result<()>| done.expect_err("refused").errno();
    assert_eq!(errno(near.putmsg(None, Some(&vec![0; 10_001]))), Errno::Range);
    assert_eq!(errno(near.putmsg(None, Some(&vec![0; 6401]))), Errno::Range, "65 pieces");
    assert_eq!(far.nread().expect("fine"), (0, 0));
    near.putmsg(None, Some(&vec![0; 6400])).expect("64 pieces");
    assert_eq!(lengths(&far), [100; 64]);
}

#[test]
fn what_can_put_says_holds_for_the_largest_call() {
    for policy in [Policy::DEFAULT, Policy::EAGER] {
        for (band, maxpsz, strmsgsz) in [(0, 5000, 262_144), (1, 5000, 262_144), (1, 100, 6400), (1, 300, 19_200)] {
            let options = Options::new().maxpsz(maxpsz).strmsgsz(strmsgsz).hiwat(1 << 20).lowat(1 << 19).policy(policy);
            let (near, _far) = with(options);
            let (mut calls, len) = (0, (64 * maxpsz).min(strmsgsz) as usize);
            // Small messages use up the blocks, large ones the pages.
            while near.can_put(band).expect("fine") {
                near.putpmsg(None, Some(&vec![1; if calls % 2 == 0 { len } else { 1 }]), band).expect("room was said");
                calls += 1;
            }
            assert!(calls >= 4, "{policy:?} {band} {maxpsz}");
        }
    }
}

/// Stores the lengths of its messages, and sends each message several times.
#[derive(Debug)]
struct Noting {
    name: &'static str,
    times: usize,
    lengths: &'static Mutex<Vec<usize>>,
}

impl Module for Noting {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new(self.name)
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if message.header.kind == Kind::Data {
            self.lengths.lock().expect("no panic").push(message.len());
        }
        (0..self.times).try_for_each(|_| queue.put_next(message.clone()))
    }
}

#[test]
fn a_write_is_cut_at_maxpsz_however_short_it_is() {
    static LENGTHS: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    register(Noting { name: "noting", times: 1, lengths: &LENGTHS }).expect("new");
    let (near, far) = with(svr4(Policy::DEFAULT).hiwat(100_000));
    near.push("noting").expect("known");
    for _ in 0..2 {
        // The second uses the fast path.
        assert_eq!(near.write(&[1; 8192]).expect("room"), 8192);
        assert_eq!(near.write(&[1; 4096]).expect("room"), 4096);
    }
    assert_eq!(*LENGTHS.lock().expect("no panic"), [4096; 6]);
    far.settings().set_read_options(ReadOptions::new().mode(ReadMode::MessageKeep)).expect("fine");
    assert_eq!(lengths(&far), [6 * 4096], "coalesced");
    near.pop().expect("pushed");
    near.write(&[1; 8000]).expect("room");
    assert_eq!(lengths(&far), [4096, 8000 - 4096]);
}

#[test]
fn a_write_goes_on_only_while_the_queue_is_not_above_hiwat() {
    let (near, far) = with(svr4(Policy::DEFAULT));
    for _ in 0..3 {
        // The fast path is open, from the second round on.
        assert_eq!(near.write(&[1; 2000]).expect("room"), 2000);
        // 2000 and 4096 are above 5120.
        assert_eq!(near.write(&[1; 8192]).expect("room for a piece"), 4096);
        assert_eq!(near.write(&[1; 1]).expect_err("full").errno(), Errno::Again);
        assert_eq!(lengths(&far), [6096]);
    }
}

#[test]
fn a_module_that_makes_too_many_messages_is_told_and_spoils_nothing() {
    static LENGTHS: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    register(Noting { name: "many", times: 3000, lengths: &LENGTHS }).expect("new");
    let (near, far) = with(Options::default());
    near.push("many").expect("known");
    for _ in 0..2 {
        let error = near.putmsg(Some(b"c"), None).expect_err("3000 messages");
        assert_eq!(error.errno(), Errno::Nosr, "{error}");
        let mut got = 0;
        while far.getmsg(Some(&mut [0; 1]), None).is_ok() {
            got += 1;
        }
        assert_eq!(got, 2048);
        // A message without boundaries, of any length, is passed on.
        near.write(b"12345678").expect("3000 pieces of plain data are no messages");
        assert_eq!(lengths(&far), [24_000]);
    }
}

#[test]
fn high_priority_finds_room_whatever_bands_hold() {
    for len in [1, 60_000] {
        for policy in [Policy::DEFAULT, Policy::EAGER] {
            let (near, far) = with(Options::new().policy(policy));
            let mut sent = 0;
            for band in [1, 2, 255] {
                while near.putpmsg(Some(b"c"), Some(&vec![0; len]), band).is_ok() {
                    sent += 1;
                }
            }
            assert!(sent > 5);
            near.putpmsg(Some(&[1; 4096]), Some(&[2; 65_536]), Priority::High).expect("never waits");
            let got = far.getpmsg(Some(&mut [0; 4096]), Some(&mut vec![0; 65_536]), MessageFilter::HighPriority);
            assert_eq!(got.expect("there").data, Some(65_536));
        }
    }
}

#[test]
fn a_writer_waits_for_memory_that_another_band_holds_and_is_woken() {
    let pair = || {
        let (near, far) = Options::new().hiwat(5000).lowat(1000).pipe().expect("pipe");
        let mut first = near.direct();
        first.set_nonblocking(true).expect("arm");
        (first, near, far)
    };
    // How many messages there is memory for.
    let (mut first, _near, _far) = pair();
    let mut sent = 0;
    while first.putpmsg(Some(b"1"), None, 1).is_ok() {
        sent += 1;
    }
    // Band 0 is full and stays so; band 1 holds all blocks, and none of its writers was refused.
    let (mut first, second, far) = pair();
    // A newcomer wakes all waiters, so it comes before.
    assert_eq!(far.nread().expect("fine"), (0, 0));
    while first.write(&[0; 1000]).is_ok() {}
    (0..sent).for_each(|_| first.putpmsg(Some(b"1"), None, 1).expect("room"));
    assert!(!second.can_put(0).expect("fine") && sent > 800);
    let writer = std::thread::spawn(move || {
        second.putpmsg(Some(b"2"), None, 2).expect("room at last");
        second
    });
    // Longer than the interval at which a sleeper looks by itself.
    std::thread::sleep(Duration::from_millis(60));
    let start = std::time::Instant::now();
    for _ in 0..sent {
        assert!(far.getmsg(Some(&mut [0; 1]), None).expect("there").priority.band() > 0);
        if writer.is_finished() {
            break;
        }
    }
    let second = writer.join().expect("no error");
    assert!(start.elapsed() < Duration::from_millis(500), "woken late, after {:?}", start.elapsed());
    drop((first, second));
}

#[test]
fn a_partly_taken_control_part_gives_its_room_back() {
    for policy in [Policy::DEFAULT, Policy::EAGER] {
        let (near, far) = with(Options::new().hiwat(1000).lowat(500).policy(policy));
        near.putmsg(Some(&[1; 1100]), Some(&[2; 100])).expect("room");
        assert!(!near.can_put(0).expect("fine"));
        let got = far.getmsg(Some(&mut [0; 800]), None).expect("there");
        assert!(got.more_control);
        assert!(near.can_put(0).expect("fine"), "400 bytes are left, below lowat");
        let mut control = [0; 400];
        assert_eq!(far.getmsg(Some(&mut control), None).expect("there").control, Some(300));
        assert!(control[..300].iter().all(|byte| *byte == 1));
        let mut data = [0; 200];
        assert_eq!(far.getmsg(None, Some(&mut data)).expect("there").data, Some(100));
        assert!(data[..100].iter().all(|byte| *byte == 2));
    }
}

#[test]
fn a_stream_of_one_byte_messages_ends_nowhere_without_memory() {
    let (near, far) = with(Options::new().policy(Policy::EAGER));
    far.settings().set_read_options(ReadOptions::new().control(ControlMode::AsData)).expect("fine");
    for _ in 0..3 {
        let mut sent = 0;
        while near.write(b"x").is_ok() {
            sent += 1;
        }
        assert!(sent > 800);
        assert_eq!(far.read(&mut vec![0; 5000]).expect("there"), sent);
    }
}
