//! Modules' operations on their queues beyond passing messages on: rmvq, insq, noenable, bufcall, the other queue, and
//! messages of several blocks.

mod common;

use std::sync::Once;
use std::time::{Duration, Instant};

use common::{Interruptible, calm, in_own_process, within};
use headwater_streams::{
    Errno, Error, Kind, Message, MessageHeader, Module, ModuleInfo, Options, Policy, Priority, Queue, Result, Side,
    Stream, pipe, register,
};

/// Queues arriving messages, and runs the queue operation that a message of one control part, a word, requests.
#[derive(Debug)]
struct Desk;

impl Module for Desk {
    fn info(&self) -> ModuleInfo {
        ModuleInfo::new("desk").service(Side::Read).service(Side::Write).water_marks(300, 100)
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        if queue.side() == Side::Read {
            return queue.put_next(message);
        }
        let request = message.control().map(String::from_utf8_lossy).unwrap_or_default().into_owned();
        let (verb, rest) = request.split_once(' ').unwrap_or((&request, ""));
        let number = || rest.parse::<usize>().unwrap_or(0);
        match verb {
            "passive" => queue.set_passive(),
            "active" => queue.set_active(),
            "enable" => queue.enable(),
            "marks" => queue.set_water_marks(number() as u32, 0)?,
            "remove" => {
                let removed =
                    queue.remove(number())?.ok_or_else(|| Error::new(Errno::Nodata, "no message is there"))?;
                queue.put_next(removed)?;
            }
            "insert" => {
                let inserted = Message::data_of(message.data().unwrap_or_default()).into_owned();
                queue.insert(number(), &inserted)?;
            }
            "size" => {
                let count = queue.messages()?.len();
                assert_eq!(count, queue.size(0).0);
                let said = format!("{count} {} {:?}", queue.can_put(0)?, queue.water_marks());
                answer(queue, said)?;
            }
            "other" => queue.put_other_queue(&Message::data_of(rest.as_bytes()).into_owned())?,
            "twice" => {
                let mut message = Message::data_of(message.data().unwrap_or_default()).into_owned();
                let duplicate = message.duplicate();
                message.link(duplicate);
                message.link(Message::data_of(b"!").into_owned());
                assert_eq!(message.data_blocks().count(), 3);
                queue.put_next(message)?;
            }
            "memory" => {
                // Takes nearly all memory, keeps it, and asks for a notification.
                while queue.has_memory() {
                    queue.put_queue(Message::data_of(b"x").into_owned())?;
                }
                queue.enable_for_memory();
            }
            _ => return queue.put_queue(message),
        }
        Ok(())
    }

    fn service(&self, queue: &mut Queue<'_, '_, '_>) -> Result<()> {
        queue.forward_all()
    }
}

fn answer(queue: &mut Queue<'_, '_, '_>, text: String) -> Result<()> {
    queue.reply(Message::new(MessageHeader::of(Kind::Proto), Some(text.as_bytes()), None))
}

fn ends(policy: Policy) -> (Stream, Stream) {
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| register(Desk).expect("a free name"));
    let options = Options::new().hiwat(1000).lowat(500).policy(policy);
    let (near, far) = options.pipe().expect("pipe");
    near.push("desk").expect("known");
    near.set_nonblocking(true).expect("arm");
    far.set_nonblocking(true).expect("arm");
    (near, far)
}

/// A request goes ahead of waiting messages.
fn ask(near: &Stream, request: &str) -> std::result::Result<(), Errno> {
    near.putpmsg(Some(request.as_bytes()), None, Priority::High).map_err(|error| error.errno())
}

/// The arrived messages.
fn received(stream: &Stream) -> Vec<String> {
    let part = |part: Option<&[u8]>| part.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
    std::iter::from_fn(|| {
        stream.receive().ok().flatten().map(|message| part(message.control()) + &part(message.data()))
    })
    .collect()
}

fn size(near: &Stream) -> String {
    ask(near, "size").expect("fine");
    received(near).join("|")
}

const POLICIES: [Policy; 2] = [Policy::DEFAULT, Policy::EAGER];

#[test]
fn a_passive_queue_keeps_what_comes_until_it_is_enabled() {
    for policy in POLICIES {
        let (near, far) = ends(policy);
        ask(&near, "passive").expect("fine");
        for text in ["a", "b", "c"] {
            near.putmsg(None, Some(text.as_bytes())).expect("room");
        }
        assert_eq!((received(&far), size(&near)), (vec![], "3 true (300, 100)".into()));
        ask(&near, "enable").expect("fine");
        assert_eq!(received(&far).concat(), "abc");
        near.putmsg(None, Some(b"d")).expect("room");
        assert_eq!(received(&far), Vec::<String>::new(), "it is passive still");
        // High priority enables it.
        near.putpmsg(Some(b"high"), None, Priority::High).expect("always");
        assert_eq!(received(&far), ["high", "d"]);
        ask(&near, "active").expect("fine");
        near.putmsg(None, Some(b"e")).expect("room");
        assert_eq!(received(&far), ["e"]);
    }
}

#[test]
fn messages_are_taken_from_and_put_to_any_place_that_their_rank_allows() {
    for policy in POLICIES {
        let (mut near, far) = ends(policy);
        ask(&near, "passive").expect("fine");
        near.putpmsg(None, Some(b"band"), 2).expect("room");
        for text in ["a", "b", "c"] {
            near.putmsg(None, Some(text.as_bytes())).expect("room");
        }
        let insert = |near: &Stream, place: usize, text: &str| {
            let request = format!("insert {place}");
            near.putpmsg(Some(request.as_bytes()), Some(text.as_bytes()), Priority::High).map_err(|error| error.errno())
        };
        insert(&mut near, 2, "x").expect("between a and b");
        insert(&mut near, 5, "z").expect("at the end");
        assert_eq!(insert(&mut near, 0, "y"), Err(Errno::Inval), "before a higher band");
        assert_eq!(insert(&mut near, 7, "y"), Err(Errno::Inval), "behind the end");
        ask(&near, "remove 3").expect("it is there");
        assert_eq!(received(&far), ["b"]);
        assert_eq!(ask(&near, "remove 9"), Err(Errno::Nodata));
        assert_eq!(size(&near), "5 true (300, 100)");
        ask(&near, "enable").expect("fine");
        assert_eq!(received(&far).join(" "), "band a x c z".to_owned());
    }
}

#[test]
fn water_marks_are_the_queue_s_own() {
    let (near, far) = ends(Policy::DEFAULT);
    ask(&near, "passive").expect("fine");
    ask(&near, "marks 50").expect("fine");
    near.putmsg(None, Some(&[b'a'; 50])).expect("room");
    assert_eq!(size(&near), "1 true (50, 0)");
    near.putmsg(None, Some(b"b")).expect("room");
    assert_eq!(size(&near), "2 false (50, 0)");
    assert_eq!(near.putmsg(None, Some(b"c")).expect_err("full").errno(), Errno::Again);
    ask(&near, "enable").expect("fine");
    assert_eq!(received(&far).concat().len(), 51);
    near.putmsg(None, Some(b"c")).expect("room");
}

#[test]
fn what_goes_to_the_other_queue_is_served_there() {
    for policy in POLICIES {
        let (near, far) = ends(policy);
        ask(&near, "other way").expect("fine");
        assert_eq!((received(&near), received(&far)), (vec!["way".to_owned()], vec![]));
    }
}

#[test]
fn linked_and_shared_blocks_arrive_in_their_order() {
    for policy in POLICIES {
        let (near, far) = ends(policy);
        for len in [1, 200, 5000] {
            let data: String = (0..len).map(|at| char::from(b'a' + (at % 26) as u8)).collect();
            near.putpmsg(Some(b"twice"), Some(data.as_bytes()), Priority::High).expect("always");
            assert_eq!(received(&far).concat(), format!("{data}{data}!"));
        }
    }
}

/// A queue that waits for memory is enabled when there is some, although it is empty.
#[test]
fn a_queue_that_asked_for_memory_is_enabled_when_there_is_some() {
    let (near, far) = ends(Policy::DEFAULT);
    ask(&near, "passive").expect("fine");
    ask(&near, "memory").expect("it is used up");
    let count = received(&far).len();
    assert_eq!(count, 0);
    // Bands above 0 share the memory; their messages were sent before.
    ask(&near, "remove 0").expect("there");
    let mut all = 0;
    for _ in 0..10 {
        all += received(&far).concat().len();
    }
    assert!(all > 900, "{all}");
}

#[test]
fn marks_and_bands_are_told() {
    #[derive(Debug)]
    struct Marker;
    impl Module for Marker {
        fn info(&self) -> ModuleInfo {
            ModuleInfo::new("marker")
        }
        fn put<'m>(&self, mut message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
            message.header.marked = message.data() == Some(b"mark");
            queue.put_next(message)
        }
    }
    register(Marker).expect("a free name");
    for policy in POLICIES {
        let options = Options::new().policy(policy).hiwat(300).lowat(100);
        let (mut near, far) = options.pipe().expect("pipe");
        near.push("marker").expect("known");
        near.set_nonblocking(true).expect("arm");
        assert!(!far.is_at_mark().expect("fine") && !far.is_at_last_mark().expect("fine"));
        for text in ["mark", "text", "mark", "text"] {
            near.putmsg(None, Some(text.as_bytes())).expect("room");
        }
        let mut at = Vec::new();
        for _ in 0..4 {
            at.push((far.is_at_mark().expect("fine"), far.is_at_last_mark().expect("fine")));
            far.receive().expect("there");
        }
        assert_eq!(at, [(true, false), (false, false), (true, true), (false, false)], "{policy:?}");
        let fill = |near: &Stream, band| while near.putpmsg(None, Some(&[0; 50]), band).is_ok() {};
        assert!(near.can_put_in_any_band().expect("fine"));
        fill(&mut near, 0);
        assert!(!near.can_put(0).expect("fine") && !near.can_put_in_any_band().expect("fine"));
        near.putpmsg(None, Some(b"x"), 1).expect("room");
        assert!(near.can_put_in_any_band().expect("fine"));
        fill(&mut near, 1);
        assert!(!near.can_put_in_any_band().expect("fine"));
    }
}

#[test]
fn a_name_goes_where_it_is_put() {
    let (near, far) = pipe().expect("pipe");
    let (other, peer) = pipe().expect("pipe");
    let names = [near.id(), far.id(), other.id(), peer.id()];
    assert!((0..4).all(|one| (0..one).all(|two| names[one] != names[two])));
    assert_eq!(other.clone().id(), other.id());
    for (offset, len) in [(0, 3), (4, 7), (8, 11), (16, 16), (usize::MAX - 3, 16), (1, 16), (2, 16)] {
        let error = near.putmsg_naming(&vec![0; len], None, Priority::NORMAL, &other, offset).expect_err("no place");
        assert_eq!(error.errno(), Errno::Inval, "{offset} of {len}");
    }
    near.putmsg_naming(&[7; 16], Some(b"data"), Priority::NORMAL, &other, 8).expect("room");
    let mut control = [0; 16];
    far.getmsg(Some(&mut control), None).expect("there");
    assert_eq!((&control[..8], &control[12..]), (&[7; 8][..], &[7; 4][..]));
    assert_eq!(control[8..12], (other.id() as u32).to_ne_bytes());
    let error = near.putmsg_naming(&[0; 8], None, Priority::NORMAL, &near.clone(), 0).expect_err("its own name");
    assert_eq!(error.errno(), Errno::Inval);
    let (hung, _far) = pipe().expect("pipe");
    hung.push("testmod").expect("known");
    hung.putmsg(Some(b"hangup"), None).expect("room");
    assert_eq!(
        near.putmsg_naming(&[0; 8], None, Priority::NORMAL, &hung, 0).expect_err("hung up").errno(),
        Errno::Nxio
    );
}

#[test]
fn a_close_waits_for_its_own_modules_and_no_longer_than_its_time() {
    in_own_process!();
    within(Duration::from_secs(30), "a close".into());
    let filled = |time_ms: u64| {
        let (near, far) = ends(Policy::DEFAULT);
        near.settings().set_close_time(Duration::from_millis(time_ms)).expect("short");
        while near.write(&[1; 100]).is_ok() {}
        near.set_nonblocking(false).expect("set");
        (near, far)
    };
    let timed = |near: Stream| {
        let start = Instant::now();
        near.drain();
        start.elapsed()
    };
    let (near, _far) = filled(80);
    assert!((80..2000).contains(&timed(near).as_millis()));
    let (near, _far) = filled(10_000);
    near.set_nonblocking(true).expect("set");
    assert!(timed(near) < Duration::from_secs(1), "it is not to wait");
    let (near, far) = filled(10_000);
    drop(far);
    assert!(timed(near) < Duration::from_secs(1), "nobody reads");
    let (near, far) = filled(10_000);
    let closing = std::thread::spawn(move || timed(near));
    std::thread::sleep(Duration::from_millis(50));
    assert!(!closing.is_finished());
    let mut read = 0;
    while let Ok(count) = far.read(&mut [0; 500]) {
        read += count;
        if count == 0 {
            break;
        }
    }
    assert!(closing.join().expect("no panic") < Duration::from_secs(5));
    assert!(read > 1000, "{read}");
    let (near, _far) = filled(20_000);
    let closing = Interruptible::start(move || timed(near));
    assert!(closing.end(Duration::from_millis(20)) < Duration::from_secs(5), "a signal ends it");
    let (near, _far) = pipe().expect("pipe");
    assert_eq!(near.settings().close_time(), Duration::from_secs(15), "unless it was told otherwise");
    calm();
}
