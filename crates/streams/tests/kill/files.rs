//! A process that uses a driver's socket, or a time that a module has asked for, is killed at any place on its way: the other
//! processes of the stream go on with them.

use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use headwater_shm::probe;
use headwater_streams::{Errno, Events, ReadMode, ReadOptions, Result, Stream, register};

use crate::common::{alone, calm, child, in_own_process, within};
use crate::datagrams::{Delay, HOLD, Line, line, paths};

const PATIENCE: Duration = Duration::from_secs(30);
/// A datagram comes at once to the waiting process; a look every second would be another.
const SOON: Duration = Duration::from_millis(700);

fn text(stream: &Stream) -> String {
    let mut bytes = [0; 2000];
    let count = stream.read(&mut bytes).expect("no error");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

/// Has `victim` killed at each place, each time with a new device, and the parent then use it.
fn at_each_place(
    what: &str,
    places: u64,
    is_open: bool,
    victim: impl Fn(&Line) -> Result<()>,
    then: impl Fn(&Line, u64),
) {
    let _alone = alone();
    for place in 0.. {
        within(PATIENCE, format!("{what} killed at place {place}"));
        let mut line = line(4000);
        line.stream.settings().set_read_options(ReadOptions::new().mode(ReadMode::MessageDiscard)).expect("known");
        if !is_open {
            line.stream.putmsg(Some(b""), None).expect("room");
            let path = |name: &str| line._directory.path().join(name);
            ["own", "peer"].iter().for_each(|name| std::fs::remove_file(path(name)).expect("it was bound"));
            let peer = UnixDatagram::bind(path("peer")).expect("bind");
            peer.set_read_timeout(Some(PATIENCE)).expect("a socket");
            line.peer = peer;
        }
        let mut process = child(|| {
            line.stream.attach()?;
            probe::arm(place, None);
            victim(&line)
        });
        let came_through = process.wait().expect("wait").success();
        then(&line, place);
        if came_through {
            assert!(place > places, "{what}: only {place} places were passed");
            break;
        }
    }
    calm();
}

/// What is sent is read by the waiting process, and what is written goes out.
fn is_whole(line: &Line, place: u64) {
    let Line { stream, peer, .. } = line;
    for round in 0..3 {
        let begun = Instant::now();
        let sender = peer.try_clone().expect("dup");
        let number = format!("after the kill {round}");
        let sent = number.clone();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(2 * round));
            sender.send(sent.as_bytes()).expect("connected");
        });
        // What was on its way when the victim was killed comes first.
        while text(stream) != number {}
        assert!(begun.elapsed() < SOON, "killed at place {place}: {:?}", begun.elapsed());
        thread.join().expect("sent");
    }
    stream.write(b"last").expect("room");
    let mut bytes = [0; 16];
    while peer.recv(&mut bytes).expect("sent") != 4 {}
    stream.set_nonblocking(true).expect("arm");
    assert_eq!(stream.read(&mut bytes).expect_err("empty").errno(), Errno::Again);
}

#[test]
fn one_that_opens_the_socket_killed_at_any_place_leaves_it_to_others() {
    let where_to = |line: &Line| {
        let (own, other) = (line._directory.path().join("own"), line._directory.path().join("peer"));
        paths(&own, &other)
    };
    at_each_place(
        "one that opens the socket",
        10,
        false,
        |line| line.stream.putmsg(Some(where_to(line).as_bytes()), None),
        |line, place| {
            let own = line._directory.path().join("own");
            // Whatever it has left, another one opens it anew.
            line.stream.putmsg(Some(b""), None).expect("room");
            let _ = std::fs::remove_file(&own);
            line.stream.putmsg(Some(where_to(line).as_bytes()), None).expect("room");
            line.peer.connect(&own).expect("it is bound");
            is_whole(line, place);
        },
    );
}

#[test]
fn one_that_waits_at_the_socket_killed_at_any_place_leaves_it_to_others() {
    at_each_place(
        "one that waits at the socket",
        15,
        true,
        |line| {
            line.peer.send(b"one")?;
            text(&line.stream);
            let sender = line.peer.try_clone()?;
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(5));
                sender.send(b"two").expect("connected");
            });
            line.stream.poll(Events::IN, None)?;
            text(&line.stream);
            line.stream.write(b"out")?;
            Ok(())
        },
        is_whole,
    );
}

#[test]
fn one_that_is_refused_at_the_socket_killed_at_any_place_leaves_it_to_others() {
    at_each_place(
        "one that is refused at the socket",
        10,
        true,
        |line| {
            // It has a thread from then on, which is killed too.
            line.stream.set_nonblocking(true)?;
            assert_eq!(line.stream.read(&mut [0; 8]).expect_err("empty").errno(), Errno::Again);
            line.peer.send(b"one")?;
            std::thread::sleep(Duration::from_millis(2));
            while line.stream.read(&mut [0; 8]).is_err() {}
            Ok(())
        },
        is_whole,
    );
}

#[test]
fn one_that_asks_for_a_time_or_serves_it_killed_at_any_place_leaves_it_to_others() {
    in_own_process!();
    register(Delay).expect("new");
    for serves in [false, true] {
        for place in 0.. {
            within(PATIENCE, format!("one that has a time, and serves it: {serves}, killed at place {place}"));
            let (near, far) = headwater_streams::pipe().expect("pipe");
            near.push("delay").expect("known");
            if serves {
                near.write(b"before ").expect("room");
            }
            let mut process = child(|| {
                near.attach()?;
                if serves {
                    std::thread::sleep(HOLD);
                }
                probe::arm(place, None);
                if !serves {
                    near.write(b"held")?;
                } else {
                    // The time is over: it is called by this one.
                    near.attach()?;
                }
                Ok(())
            });
            let came_through = process.wait().expect("wait").success();
            let begun = Instant::now();
            near.write(b"after").expect("room");
            let mut read = String::new();
            while !read.ends_with("after") {
                read += &text(&far);
            }
            assert!(begun.elapsed() < HOLD + SOON, "killed at place {place}: {:?}", begun.elapsed());
            let expected: &[&str] = if serves { &["before after"] } else { &["heldafter", "after"] };
            assert!(expected.contains(&read.as_str()), "killed at place {place}: {read:?}");
            if came_through {
                assert!(place > 5, "only {place} places were passed");
                break;
            }
        }
    }
    calm();
}
