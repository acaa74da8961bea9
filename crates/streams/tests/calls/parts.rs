//! Parts of messages in read, getmsg and poll: present parts, parts that were taken, parts of no bytes.

use std::sync::Once;
use std::time::Duration;

use headwater_streams::{
    ControlMode, Errno, Events, FifoOptions, Message, Module, ModuleInfo, Options, Policy, Priority, Queue, ReadMode,
    ReadOptions, Result, Side, Stream, WriteOptions, register,
};

/// The policies under which the behaviour must be the same.
const POLICIES: [Policy; 3] = [Policy::DEFAULT, Policy::EAGER, Policy::DEFAULT.coalescing(false)];

fn with(policy: Policy) -> (Stream, Stream) {
    let (near, far) = Options::new().policy(policy).pipe().expect("pipe");
    near.set_nonblocking(true).expect("arm");
    far.set_nonblocking(true).expect("arm");
    near.settings().set_write_options(WriteOptions::PIPE.zero(true)).expect("fine");
    (near, far)
}

fn read(stream: &Stream, len: usize) -> std::result::Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; len];
    let count = stream.read(&mut buffer).map_err(|error| error.errno())?;
    buffer.truncate(count);
    Ok(buffer)
}

fn set(stream: &Stream, mode: ReadMode, control: ControlMode) {
    stream.settings().set_read_options(ReadOptions::new().mode(mode).control(control).fill(false)).expect("fine");
}

/// The lengths of the parts that getmsg reports, with buffers of these lengths.
fn get(stream: &Stream, control: Option<usize>, data: Option<usize>) -> (Option<usize>, Option<usize>, bool, bool) {
    let (mut control, mut data) = (control.map(|len| vec![0; len]), data.map(|len| vec![0; len]));
    let got = stream.getmsg(control.as_deref_mut(), data.as_deref_mut()).expect("there");
    (got.control, got.data, got.more_control, got.more_data)
}

#[test]
fn data_can_be_read_once_its_control_part_was_taken() {
    for policy in POLICIES {
        for priority in [Priority::NORMAL, Priority::High] {
            let (near, far) = with(policy);
            near.putpmsg(Some(b"ctl"), Some(b"data"), priority).expect("room");
            assert_eq!(get(&far, Some(9), None), (Some(3), None, false, true));
            assert_eq!(read(&far, 9), Ok(b"data".to_vec()), "{policy:?}");
            assert_eq!(read(&far, 9), Err(Errno::Again));
        }
    }
}

#[test]
fn a_part_that_was_taken_is_not_there_any_more() {
    for policy in POLICIES {
        let (near, far) = with(policy);
        near.putmsg(Some(b"ctl"), Some(b"data")).expect("room");
        assert_eq!(get(&far, Some(9), Some(1)), (Some(3), Some(1), false, true));
        assert_eq!(get(&far, Some(9), Some(1)), (None, Some(1), false, true), "-1 and not 0");
        assert_eq!(far.receive().expect("there"), Some(Message::data_of(b"ta")));
        near.putmsg(Some(b"ctl"), Some(b"data")).expect("room");
        assert_eq!(get(&far, Some(1), Some(9)), (Some(1), Some(4), true, false));
        assert_eq!(get(&far, Some(9), Some(9)), (Some(2), None, false, false));
    }
}

#[test]
fn a_part_without_bytes_stays_until_it_is_asked_for() {
    for policy in POLICIES {
        let (near, far) = with(policy);
        near.putmsg(Some(b""), Some(b"data")).expect("room");
        assert_eq!(get(&far, None, Some(9)), (None, Some(4), true, false), "MORECTL");
        assert_eq!(get(&far, Some(0), Some(9)), (Some(0), None, false, false));
        near.putmsg(Some(b"c"), Some(b"")).expect("room");
        assert_eq!(get(&far, Some(9), None), (Some(1), None, false, true), "MOREDATA");
        assert_eq!(get(&far, None, Some(0)), (None, Some(0), false, false));
        // It keeps its place when all bytes of the other part are taken, bit by bit.
        near.putmsg(Some(b""), Some(b"data")).expect("room");
        assert_eq!(get(&far, None, Some(1)), (None, Some(1), true, true));
        assert_eq!(get(&far, None, Some(9)), (None, Some(3), true, false));
        near.write(b"behind").expect("room");
        assert_eq!(far.nread().expect("fine"), (0, 2));
        assert_eq!(get(&far, Some(0), Some(9)), (Some(0), None, false, false));
        assert_eq!(read(&far, 9), Ok(b"behind".to_vec()));
        // Taken alone, it does not come back.
        near.putmsg(Some(b""), Some(b"data")).expect("room");
        assert_eq!(get(&far, Some(0), None), (Some(0), None, false, true));
        assert_eq!(get(&far, Some(9), Some(2)), (None, Some(2), false, true));
        assert_eq!(read(&far, 9), Ok(b"ta".to_vec()));
        assert_eq!(read(&far, 9), Err(Errno::Again));
    }
}

#[test]
fn a_read_without_room_takes_nothing_and_waits_for_nothing() {
    for policy in POLICIES {
        let (near, far) = with(policy);
        far.set_nonblocking(false).expect("fine");
        assert_eq!(read(&far, 0), Ok(vec![]), "nothing is there");
        assert_eq!(far.readv(&mut []).expect("no room"), 0);
        set(&far, ReadMode::MessageDiscard, ControlMode::Refuse);
        near.write(b"").expect("room");
        near.putmsg(None, Some(b"data")).expect("room");
        assert_eq!(read(&far, 0), Ok(vec![]));
        assert_eq!(read(&far, 9), Ok(vec![]), "the message without bytes is still there");
        assert_eq!(read(&far, 0), Ok(vec![]));
        assert_eq!(read(&far, 9), Ok(b"data".to_vec()));
    }
}

#[test]
fn a_control_part_read_as_data_ends_a_read_when_it_has_no_bytes() {
    for policy in POLICIES {
        let (near, far) = with(policy);
        set(&far, ReadMode::Bytes, ControlMode::AsData);
        near.putmsg(Some(b""), None).expect("room");
        near.putmsg(Some(b"c"), Some(b"d")).expect("room");
        assert_eq!(read(&far, 9), Ok(vec![]));
        assert_eq!(read(&far, 9), Ok(b"cd".to_vec()));
    }
}

#[test]
fn a_control_part_that_is_thrown_away_goes_with_the_first_byte_of_data() {
    for policy in POLICIES {
        let (near, far) = with(policy);
        set(&far, ReadMode::Bytes, ControlMode::Discard);
        near.putmsg(Some(b"ctl"), Some(b"data")).expect("room");
        near.putmsg(Some(b"alone"), None).expect("room");
        near.putmsg(Some(b"ctl"), Some(b"")).expect("room");
        near.putmsg(Some(b"ctl"), Some(b"end")).expect("room");
        assert_eq!(read(&far, 2), Ok(b"da".to_vec()));
        set(&far, ReadMode::Bytes, ControlMode::Refuse);
        assert_eq!(read(&far, 9), Ok(b"ta".to_vec()), "data alone is left");
        set(&far, ReadMode::Bytes, ControlMode::Discard);
        assert_eq!(read(&far, 9), Ok(vec![]), "data without bytes is a message");
        assert_eq!(read(&far, 9), Ok(b"end".to_vec()));
    }
}

#[test]
fn what_was_written_before_the_mode_was_set_is_one_message() {
    let (near, far) = with(Policy::DEFAULT);
    near.write(b"hello").expect("room");
    near.write(b"world").expect("room");
    set(&far, ReadMode::MessageDiscard, ControlMode::Refuse);
    assert_eq!(read(&far, 3), Ok(b"hel".to_vec()));
    assert_eq!(read(&far, 3), Err(Errno::Again), "the rest is discarded");
    near.write(b"next").expect("room");
    assert_eq!(read(&far, 3), Ok(b"nex".to_vec()));
    assert_eq!(read(&far, 3), Err(Errno::Again));
}

#[test]
fn signals_keep_their_place_and_are_no_messages() {
    for policy in POLICIES {
        let (mut near, far) = with(policy);
        near.push("testmod").expect("known");
        let ask = |near: &Stream, header: &[u8]| near.putmsg(Some(header), None).expect("fine");
        far.write(b"before").expect("room");
        ask(&mut near, b"signal 12");
        assert_eq!(near.signals().take_raised(), 0, "{policy:?}");
        assert_eq!(near.nread().expect("fine"), (6, 1));
        assert_eq!(near.getmsg(None, Some(&mut [0; 6])).expect("there").data, Some(6));
        assert_eq!(near.poll(Events::IN, Some(Duration::ZERO)).expect("fine"), Events::default());
        assert_eq!(near.nread().expect("fine"), (0, 0));
        assert_eq!(near.signals().take_raised(), 1 << 12);
        ask(&mut near, b"signal 13");
        assert_eq!(near.signals().take_raised(), 1 << 13, "at once in an empty queue");
    }
}

#[test]
fn the_band_of_whatever_is_at_the_front_is_told() {
    use std::os::fd::AsFd;
    let (near, far) = with(Policy::DEFAULT);
    assert_eq!(far.band().expect_err("nothing").errno(), Errno::Nodata);
    near.files().send(std::fs::File::open("/dev/null").expect("open").as_fd()).expect("room");
    assert_eq!(far.band().expect("a file"), 0);
}

#[test]
fn poll_tells_of_the_message_at_the_front_alone() {
    let all = Events::all();
    for policy in POLICIES {
        let (mut near, mut far) = with(policy);
        let now = |stream: &Stream| stream.poll(all, Some(Duration::ZERO)).expect("fine");
        let out = Events::OUT | Events::WRNORM;
        near.write(b"plain").expect("room");
        assert_eq!(now(&mut far), Events::IN | Events::RDNORM | out);
        near.putpmsg(Some(b"b"), None, 4).expect("room");
        assert_eq!(now(&mut far), Events::IN | Events::RDBAND | out, "{policy:?}");
        near.putpmsg(Some(b"high"), None, Priority::High).expect("always");
        assert_eq!(now(&mut far), Events::PRI | out, "{policy:?}");
        assert_eq!(now(&mut near), out | Events::WRBAND, "a band was used");
    }
}

#[test]
fn poll_tells_of_room_in_bands_that_were_used() {
    let (near, _far) = Options::new().hiwat(10).lowat(5).pipe().expect("pipe");
    let mut near = near;
    let now = |stream: &Stream| stream.poll(Events::WRBAND, Some(Duration::ZERO)).expect("fine");
    assert_eq!(now(&mut near), Events::default());
    near.putpmsg(Some(b"bytes"), None, 3).expect("room");
    assert_eq!(now(&mut near), Events::WRBAND);
    for band in 1..=3 {
        near.putpmsg(Some(&[0; 20]), None, band).expect("room");
    }
    assert_eq!(now(&mut near), Events::default(), "bands 1 to 3 exist, and are full");
    near.putpmsg(Some(b"bytes"), None, 200).expect("room");
    assert_eq!(now(&mut near), Events::WRBAND);
}

#[test]
fn a_fifo_is_ready_for_what_it_was_opened_for() {
    use headwater_streams::{Access, Fifo};
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("fifo");
    Fifo::create(&path, 0o600).expect("mkfifo");
    let open = |access| FifoOptions::new().nonblocking(true).open(&path, access).expect("open");
    let mut reader = open(Access::Read);
    let mut writer = open(Access::Write);
    let now = |stream: &Stream| stream.poll(Events::all(), Some(Duration::ZERO)).expect("fine");
    assert_eq!(now(&mut reader), Events::default());
    assert_eq!(now(&mut writer), Events::OUT | Events::WRNORM);
    writer.write(b"x").expect("room");
    assert_eq!(now(&mut reader), Events::IN | Events::RDNORM);
}

/// Marks messages whose first byte is an 'm'.
#[derive(Debug)]
struct Marker;

impl Module for Marker {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("marker")
    }

    fn put<'m>(&self, mut message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        let first = message.data().and_then(|data| data.first());
        message.header.marked = queue.side() == Side::Write && first == Some(&b'm');
        queue.put_next(message)
    }
}

#[test]
fn a_read_ends_before_a_mark_also_when_it_fills() {
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| register(Marker).expect("new"));
    for policy in POLICIES {
        for fill in [false, true] {
            let (near, far) = with(policy);
            far.set_nonblocking(false).expect("fine");
            far.settings().set_read_options(ReadOptions::new().fill(fill)).expect("fine");
            near.push("marker").expect("known");
            for text in [&b"ab"[..], b"cd", b"mark", b"ef", b"gh"] {
                near.write(text).expect("room");
            }
            assert!(!far.is_at_mark().expect("fine"));
            assert_eq!(read(&far, 20), Ok(b"abcd".to_vec()), "{policy:?} {fill}");
            assert!(far.is_at_mark().expect("fine"));
            assert_eq!(read(&far, 8), Ok(b"markefgh".to_vec()));
        }
    }
}
