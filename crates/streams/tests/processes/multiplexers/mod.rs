//! Streams that are linked below a multiplexer: what goes down and comes up, flow control both ways, who may do what, and what is
//! left when processes end or are killed.

mod processes;
mod routes;

use crate::common;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{calm, in_own_process, within};
use headwater_streams::{
    Access, Device, Driver, DriverInfo, Errno, Fifo, FifoOptions, LinkRequest, Message, MuxId, Options, Priority,
    Queue, Result, Stream, pipe, register_driver,
};

const PATIENCE: Duration = Duration::from_secs(20);

fn mux() -> Stream {
    Device::open_private("mux").expect("known")
}

fn echo() -> Stream {
    Device::open_private("echo").expect("known")
}

fn ends() -> (Stream, Stream) {
    let (near, far) = pipe().expect("pipe");
    (near, far)
}

fn send(upper: &Stream, lower: MuxId, text: &[u8]) -> Result<()> {
    upper.putmsg(Some(&lower.bytes()), Some(text))
}

/// The lower stream that a message has come from, and its data; None for the end of that stream.
fn get(upper: &Stream) -> (MuxId, Option<String>) {
    let message = upper.receive().expect("no error").expect("not the end");
    let (id, rest) = MuxId::split_from(message.control().expect("an id")).expect("an id");
    assert!(rest.is_empty());
    (id, message.data().map(|data| String::from_utf8(data.to_vec()).expect("text")))
}

fn text(handle: &Stream) -> String {
    let mut bytes = [0; 64];
    let count = handle.read(&mut bytes).expect("no error");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

fn errno<T: std::fmt::Debug>(done: Result<T>) -> Errno {
    done.expect_err("refused").errno()
}

#[test]
fn what_is_sent_above_goes_to_the_lower_stream_that_it_names_and_comes_back() {
    in_own_process!();
    within(PATIENCE, "messages through a multiplexer".to_owned());
    let (upper, echo, (near, far)) = (mux(), echo(), ends());
    let one = upper.links().link(&echo).expect("linked");
    let two = upper.links().link(&near).expect("linked");
    assert_ne!(one, two);
    for round in 0..100 {
        let words = format!("round {round}");
        send(&upper, one, words.as_bytes()).expect("room");
        assert_eq!(get(&upper), (one, Some(words.clone())));
        send(&upper, two, words.as_bytes()).expect("room");
        assert_eq!(text(&far), words);
        far.write(words.as_bytes()).expect("room");
        assert_eq!(get(&upper), (two, Some(words)));
    }
    // Bands, control parts and priority go along.
    far.putpmsg(Some(b"control"), Some(b"data"), 3).expect("room");
    let message = upper.receive().expect("no error").expect("there");
    assert_eq!(message.priority(), Priority::Band(3));
    assert_eq!(message.control(), Some(&[&two.bytes()[..], b"control"].concat()[..]));
    upper.putpmsg(Some(&[&two.bytes()[..], b"now"].concat()), None, Priority::High).expect("waits for nobody");
    let message = far.receive().expect("no error").expect("there");
    assert_eq!((message.control(), message.priority()), (Some(&b"now"[..]), Priority::High));
    assert_eq!(errno(upper.write(b"for whom?")), Errno::Inval);
    assert_eq!(errno(send(&upper, MuxId::new(77).expect("a number"), b"x")), Errno::Nxio);
    drop(far);
    assert_eq!(get(&upper), (two, None), "its end is told");
    assert_eq!(errno(send(&upper, two, b"x")), Errno::Nxio);
    calm();
}

#[test]
fn the_lower_end_is_nobody_else_s_until_it_is_unlinked() {
    in_own_process!();
    within(PATIENCE, "calls on a linked stream".to_owned());
    let (upper, (near, far)) = (mux(), ends());
    far.write(b"from before").expect("room");
    let reader = near.clone();
    let (sleeps, slept) = std::sync::mpsc::channel();
    let sleeper = std::thread::spawn(move || {
        let reader = reader;
        assert_eq!(text(&reader), "from before");
        sleeps.send(()).expect("the test waits");
        errno(reader.read(&mut [0; 8]))
    });
    slept.recv().expect("it reads");
    std::thread::sleep(Duration::from_millis(50));
    let id = upper.links().link(&near).expect("linked");
    assert_eq!(sleeper.join().expect("no panic"), Errno::Inval, "who sleeps is told");
    assert_eq!(errno(near.write(b"x")), Errno::Inval);
    assert_eq!(errno(near.read(&mut [0; 8])), Errno::Inval);
    assert_eq!(errno(near.getmsg(None, None)), Errno::Inval);
    assert_eq!(errno(near.push("nullmod")), Errno::Inval);
    assert_eq!(errno(near.nread()), Errno::Inval);
    assert_eq!(errno(near.poll(headwater_streams::Events::IN, Some(Duration::ZERO))), Errno::Inval);
    far.write(b"up").expect("room");
    assert_eq!(get(&upper), (id, Some("up".to_owned())));
    assert_eq!(errno(upper.links().unlink(MuxId::new(99))), Errno::Inval);
    assert_eq!(errno(upper.links().unlink_persistent(Some(id))), Errno::Inval);
    upper.links().unlink(Some(id)).expect("acknowledged");
    assert_eq!(errno(upper.links().unlink(Some(id))), Errno::Inval);
    far.write(b"ours").expect("room");
    assert_eq!(text(&near), "ours");
    near.write(b"again").expect("room");
    assert_eq!(text(&far), "again");
    calm();
}

#[test]
fn messages_of_bytes_alone_come_up_one_by_one() {
    in_own_process!();
    within(PATIENCE, "boundaries below a multiplexer".to_owned());
    let (upper, echo, (near, far)) = (mux(), echo(), ends());
    far.write(b"one, ").expect("room");
    far.write(b"run").expect("room");
    let (pipe, echo) = (upper.links().link(&near).expect("linked"), upper.links().link(&echo).expect("linked"));
    assert_eq!(get(&upper), (pipe, Some("one, run".to_owned())), "it was written to a pipe that nobody had linked");
    // More at once than the server takes before the next one is written.
    let (from_pipe, from_echo): (Vec<_>, Vec<_>) = (0..200).map(|at| (format!("p{at}"), format!("e{at}"))).unzip();
    from_pipe.iter().for_each(|words| assert_eq!(far.write(words.as_bytes()).expect("room"), words.len()));
    from_echo.iter().for_each(|words| send(&upper, echo, words.as_bytes()).expect("room"));
    let (mut of_pipe, mut of_echo) = (Vec::new(), Vec::new());
    while of_pipe.len() + of_echo.len() < 400 {
        let (from, words) = get(&upper);
        if from == pipe { &mut of_pipe } else { &mut of_echo }.push(words.expect("not the end"));
    }
    assert_eq!((of_pipe, of_echo), (from_pipe, from_echo));
    upper.links().unlink(Some(pipe)).expect("acknowledged");
    let near = near;
    far.write(b"one, ").expect("room");
    far.write(b"run").expect("room");
    assert_eq!(text(&near), "one, run", "it is a pipe again");
    calm();
}

/// A multiplexer that takes its time with what comes up.
#[derive(Debug)]
struct Slow;

static TAKES: AtomicBool = AtomicBool::new(false);
/// It has acknowledged an unlink, and waits in its put procedure for one more message from below.
static LATE: AtomicBool = AtomicBool::new(false);

impl Driver for Slow {
    fn info(&self) -> DriverInfo {
        DriverInfo::new("slowmux").multiplexes()
    }

    fn put<'m>(&self, message: Message<'m>, queue: &mut Queue<'_, '_, 'm>) -> Result<()> {
        let Some(request) = LinkRequest::of(&message)? else { return Ok(()) };
        queue.acknowledge(&message, 0, None)?;
        if matches!(request, LinkRequest::Unlink(_)) {
            LATE.store(true, Ordering::SeqCst);
            until("a late message", || TAKES.load(Ordering::SeqCst));
        }
        Ok(())
    }

    fn lower_put<'m>(&self, _: MuxId, _: Message<'m>, _: &mut Queue<'_, '_, 'm>) -> Result<bool> {
        TAKES.store(true, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(100));
        TAKES.store(false, Ordering::SeqCst);
        Ok(true)
    }
}

#[test]
fn after_an_unlink_the_driver_takes_nothing_more_from_below() {
    in_own_process!();
    within(PATIENCE, "unlinking beside the server".to_owned());
    register_driver(Slow).expect("a new name");
    let upper = Device::open_private("slowmux").expect("known");
    for _ in 0..3 {
        let (near, far) = ends();
        let id = upper.links().link(&near).expect("linked");
        LATE.store(false, Ordering::SeqCst);
        let mut writer = far.direct();
        let late = std::thread::spawn(move || {
            until("the unlink", || LATE.load(Ordering::SeqCst));
            writer.write(b"late").expect("room");
        });
        upper.links().unlink(Some(id)).expect("acknowledged");
        assert!(!TAKES.load(Ordering::SeqCst), "it takes still");
        late.join().expect("no panic");
        far.write(b"ours").expect("room");
        assert_eq!(text(&near), "ours");
    }
    calm();
}

#[test]
fn what_cannot_be_linked_is_refused_and_left_alone() {
    in_own_process!();
    within(PATIENCE, "links that are refused".to_owned());
    let (upper, other, echo, (near, far)) = (mux(), mux(), echo(), ends());
    assert_eq!(errno(near.links().link(&echo)), Errno::Inval, "a pipe is no multiplexer");
    assert_eq!(errno(echo.links().link(&near)), Errno::Inval, "a driver that knows no links");
    let itself = upper.clone();
    assert_eq!(errno(upper.links().link(&itself)), Errno::Inval);
    upper.links().link(&near).expect("linked");
    assert_eq!(errno(upper.links().link(&near)), Errno::Inval, "twice");
    assert_eq!(errno(other.links().link(&near)), Errno::Inval, "below two");
    // One below the other, and then the other way round.
    let middle = upper.links().link(&other).expect("linked");
    let third = mux();
    assert_eq!(errno(other.links().link(&echo)), Errno::Inval, "it is linked itself");
    assert_eq!(errno(upper.links().link(&itself)), Errno::Inval);
    third.links().link(&upper).expect("linked");
    upper.links().unlink(Some(middle)).expect_err("it is linked itself");
    third.links().unlink(None).expect("acknowledged");
    upper.links().unlink(Some(middle)).expect("acknowledged");
    let below = other.links().link(&upper).expect("linked");
    assert_eq!(errno(upper.links().link(&other)), Errno::Inval);
    other.links().unlink(Some(below)).expect("acknowledged");
    far.write(b"still linked").expect("room");
    assert_eq!(get(&upper).1.as_deref(), Some("still linked"));
    let fifos = tempfile::tempdir().expect("a directory");
    let path = fifos.path().join("fifo");
    Fifo::create(&path, 0o600).expect("mkfifo");
    let fifo = FifoOptions::new().nonblocking(true).open(&path, Access::Read).expect("open");
    assert_eq!(errno(upper.links().link(&fifo)), Errno::Inval);
    echo.write(b"alone").expect("room");
    assert_eq!(text(&echo), "alone");
    calm();
}

#[test]
fn a_full_lower_stream_stops_the_writer_and_a_full_upper_one_the_lower() {
    in_own_process!();
    let options = Options::new().hiwat(4000).lowat(1000).maxpsz(1000);
    for round in 0..3 {
        within(PATIENCE, format!("flow control through a multiplexer, round {round}"));
        let (near, far) = options.pipe().expect("pipe");
        let (upper, far) = (mux(), far);
        let id = upper.links().link(&near).expect("linked");
        // Down: there is no reader below.
        upper.set_nonblocking(true).expect("set");
        let mut sent = 0;
        while send(&upper, id, &[sent as u8; 500]).is_ok() {
            sent += 1;
            assert!(sent < 1000, "nothing stops the writer");
        }
        upper.set_nonblocking(false).expect("set");
        let writer = std::thread::spawn(move || {
            for number in sent..sent + 100 {
                send(&upper, id, &[number as u8; 500]).expect("there will be room");
            }
            upper
        });
        for number in 0..sent + 100 {
            let mut bytes = [0; 500];
            let mut got = 0;
            while got < 500 {
                got += far.read(&mut bytes[got..]).expect("no error");
            }
            assert_eq!(bytes, [number as u8; 500], "message {number}");
        }
        let upper = writer.join().expect("no panic");
        // Up: there is no reader above.
        far.set_nonblocking(true).expect("set");
        let (mut sent, give_up) = (0, Instant::now() + Duration::from_secs(5));
        let mut refused = 0;
        while refused < 20 {
            match far.putmsg(Some(b""), Some(&[sent as u8; 500])) {
                Ok(()) => (sent, refused) = (sent + 1, 0),
                Err(_) => {
                    refused += 1;
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
            assert!(sent < 2000 && Instant::now() < give_up, "nothing stops the writer below");
        }
        far.set_nonblocking(false).expect("set");
        let writer = std::thread::spawn(move || {
            for number in sent..sent + 100 {
                far.putmsg(Some(b""), Some(&[number as u8; 500])).expect("there will be room");
            }
            far
        });
        for number in 0..sent + 100 {
            let message = upper.receive().expect("no error").expect("there");
            assert_eq!(message.data(), Some(&[number as u8; 500][..]), "message {number}");
        }
        drop(writer.join().expect("no panic"));
    }
    calm();
}

/// Asks again and again until it is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < give_up, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn nothing_of_a_multiplexer_is_left_open() {
    in_own_process!();
    within(PATIENCE, "opening and closing".to_owned());
    let before = common::open_things();
    for _ in 0..20 {
        let (upper, (near, far)) = (mux(), ends());
        let (one, two) = (upper.links().link(&near).expect("linked"), upper.links().link(&echo()).expect("linked"));
        send(&upper, two, b"x").expect("room");
        get(&upper);
        upper.links().unlink(Some(one)).expect("acknowledged");
        drop((near, far));
    }
    common::expect_nothing_left(before);
    calm();
}
