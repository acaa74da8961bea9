//! A process that has a multiplexer open is killed at any place, and the others go on: those that have the multiplexer open too, and
//! those that use the streams below it.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use headwater_os::child::Child;
use headwater_streams::{Device, Errno, MuxId, Result, Stream, pipe};

use crate::common::{self, Random, in_own_process, setting};

const BOUND: Duration = Duration::from_secs(10);
/// What the victim sends on each way.
const MESSAGES: u8 = 5;
/// After so many victims in a row that came through there is no place behind: how far one comes is chance.
const ESCAPES: u32 = 8;

/// What a victim does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Sends,
    Receives,
    Links,
    Unlinks,
    Ends,
}

/// Runs `play` with a victim that is killed at ever later places, until it comes through. Returns how many were killed.
fn at_every_place(part: Part, play: impl Fn(u64) -> bool) -> u32 {
    let whole = std::env::var_os("HEADWATER_ROUNDS").is_some();
    let mut random = Random(setting("HEADWATER_SEED", 1) << 32 | part as u64);
    let (mut place, mut kills, mut escapes) = (setting("HEADWATER_PLACE", 0), 0, 0);
    while escapes < ESCAPES {
        common::within(BOUND, format!("{part:?}, killed at place {place}"));
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(place)))
            .unwrap_or_else(|_| panic!("{part:?} {place}"))
        {
            (kills, escapes) = (kills + 1, 0);
        } else {
            escapes += 1;
        }
        place += if whole { 1 } else { 1 + random.next() % 23 };
    }
    common::calm();
    kills
}

fn victim(place: u64, body: impl FnOnce() -> Result<()>) -> Child {
    let body = std::cell::Cell::new(Some(body));
    Child::fork(|| {
        headwater_shm::probe::arm(place, None);
        match body.take().expect("once")() {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("victim: {error}");
                1
            }
        }
    })
    .expect("fork")
}

/// Whether it was killed.
fn ended(mut victim: Child) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let status = victim.wait().expect("wait");
    let killed = status.signal() == Some(9);
    assert!(killed || status.success(), "the victim failed by itself: {status}");
    killed
}

/// A multiplexer over a pipe and an echo.
struct Linked {
    upper: Stream,
    /// The end of the pipe that is linked.
    near: Stream,
    far: Stream,
    pipe: MuxId,
    echo: MuxId,
}

impl Linked {
    fn new() -> Linked {
        let upper = Device::open_private("mux").expect("known");
        let (near, far) = pipe().expect("pipe");
        let near = near;
        let pipe = upper.links().link(&near).expect("linked");
        let echo = upper.links().link(&Device::open_private("echo").expect("known")).expect("linked");
        Linked { upper, near, far, pipe, echo }
    }

    fn send(&mut self, lower: MuxId, number: u8) -> Result<()> {
        self.upper.putmsg(Some(&lower.bytes()), Some(&[number]))
    }

    /// From where, and the number.
    fn receive(&mut self) -> Result<(MuxId, u8)> {
        let message = self.upper.receive()?.expect("not the end");
        let (from, _) = MuxId::split_from(message.control().expect("an id")).expect("an id");
        Ok((from, message.data().expect("a number")[0]))
    }

    /// Messages go round both ways.
    fn is_whole(&mut self, mark: u8) -> Vec<(MuxId, u8)> {
        let mut before = Vec::new();
        self.send(self.echo, mark).expect("it goes on");
        self.far.write(&[mark]).expect("it goes on");
        let mut marks = 0;
        while marks < 2 {
            match self.receive().expect("it goes on") {
                (_, number) if number == mark => marks += 1,
                other => before.push(other),
            }
        }
        before
    }
}

/// Every number up to `returned` is there, in order, and none twice but the last.
fn check(numbers: &[u8], returned: u8) {
    let mut distinct = numbers.to_vec();
    distinct.dedup();
    assert!(distinct.is_sorted() && numbers.len() <= distinct.len() + 1, "{numbers:?}");
    assert!(distinct.len() >= returned.into(), "{returned} were sent, and came {numbers:?}");
}

#[test]
fn a_sender_killed_at_any_place_leaves_the_multiplexer_to_the_others() {
    in_own_process!();
    let kills = at_every_place(Part::Sends, |place| {
        let mut linked = Linked::new();
        let (mut progress, told) = std::io::pipe().expect("pipe");
        let child = victim(place, || {
            for number in 1..=MESSAGES {
                linked.send(linked.echo, number)?;
                linked.send(linked.pipe, number)?;
                (&told).write_all(&[number]).expect("the survivor reads");
            }
            Ok(())
        });
        drop(told);
        let killed = ended(child);
        let mut returned = Vec::new();
        progress.read_to_end(&mut returned).expect("pipe");
        let echoed: Vec<u8> = linked.is_whole(100).into_iter().map(|(_, number)| number).collect();
        check(&echoed, returned.len() as u8);
        linked.send(linked.pipe, 100).expect("it goes on");
        let (mut numbers, mut byte) = (Vec::new(), [0]);
        while numbers.last() != Some(&100) {
            assert_eq!(linked.far.read(&mut byte).expect("it goes on"), 1);
            numbers.push(byte[0]);
        }
        numbers.pop();
        check(&numbers, returned.len() as u8);
        killed
    });
    println!("{kills} senders killed");
    assert!(kills > 5);
}

#[test]
fn a_receiver_killed_at_any_place_leaves_the_multiplexer_to_the_others() {
    in_own_process!();
    let kills = at_every_place(Part::Receives, |place| {
        let mut linked = Linked::new();
        let child = victim(place, || {
            for _ in 0..2 * MESSAGES {
                linked.receive()?;
            }
            Ok(())
        });
        for number in 1..=MESSAGES {
            linked.send(linked.echo, number).expect("it goes on");
            linked.far.write(&[number]).expect("it goes on");
        }
        let killed = ended(child);
        for (from, numbers) in [(linked.echo, linked.is_whole(100))].iter().flat_map(|(_, all)| {
            let of =
                |id: MuxId| all.iter().filter(|(from, _)| *from == id).map(|(_, number)| *number).collect::<Vec<_>>();
            [(linked.echo, of(linked.echo)), (linked.pipe, of(linked.pipe))]
        }) {
            assert!(numbers.is_sorted(), "from {from:?} came {numbers:?}");
        }
        killed
    });
    println!("{kills} receivers killed");
    assert!(kills > 2, "how far it comes depends on the other processes");
}

#[test]
fn one_that_links_killed_at_any_place_gives_the_lower_stream_back() {
    in_own_process!();
    let kills = at_every_place(Part::Links, |place| {
        let (near, far) = pipe().expect("pipe");
        let (near, far) = (near, far);
        let child = victim(place, || {
            let upper = Device::open_private("mux")?;
            let id = upper.links().link(&near)?;
            upper.putmsg(Some(&id.bytes()), Some(b"x"))?;
            upper.links().unlink(Some(id))?;
            near.write(b"y")?;
            upper.links().link(&near).map(drop)
        });
        let killed = ended(child);
        let start = Instant::now();
        near.write(b"z").expect("it is free");
        let (mut bytes, mut seen) = ([0; 8], Vec::new());
        while seen.last() != Some(&b'z') {
            let count = far.read(&mut bytes).expect("it goes on");
            seen.extend_from_slice(&bytes[..count]);
        }
        assert!([&b"z"[..], b"xz", b"xyz"].contains(&&seen[..]), "{seen:?}");
        far.write(b"up").expect("it goes on");
        assert_eq!(near.read(&mut bytes).expect("it is free"), 2);
        let upper = Device::open_private("mux").expect("known");
        upper.links().link(&near).expect("it is free");
        assert_eq!(near.write(b"x").expect_err("linked").errno(), Errno::Inval);
        assert!(start.elapsed() < Duration::from_secs(2));
        killed
    });
    println!("{kills} killed that link");
    assert!(kills > 5);
}

#[test]
fn one_that_unlinks_killed_at_any_place_leaves_a_link_or_a_free_stream() {
    in_own_process!();
    let kills = at_every_place(Part::Unlinks, |place| {
        let mut linked = Linked::new();
        let child = victim(place, || linked.upper.links().unlink(Some(linked.pipe)));
        let killed = ended(child);
        match linked.upper.links().unlink(Some(linked.pipe)) {
            Err(error) if error.errno() == Errno::Inval => {}
            unlinked => unlinked.expect("it is there or not"),
        }
        // This process gives back what the victim has not.
        while let Err(error) = linked.near.write(b"ours") {
            assert_eq!(error.errno(), Errno::Inval);
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut bytes = [0; 8];
        assert_eq!(linked.far.read(&mut bytes).expect("it goes on"), 4);
        linked.far.write(b"ours").expect("it goes on");
        assert_eq!(linked.near.read(&mut bytes).expect("it is free"), 4);
        linked.send(linked.echo, 1).expect("the other link stays");
        assert_eq!(linked.receive().expect("it stays"), (linked.echo, 1));
        killed
    });
    println!("{kills} killed that unlink");
    assert!(kills > 5);
}

#[test]
fn one_killed_at_any_place_beside_the_end_of_a_lower_stream_leaves_its_end_to_the_others() {
    in_own_process!();
    let kills = at_every_place(Part::Ends, |place| {
        let Linked { upper, near, far, pipe, echo } = Linked::new();
        drop(near);
        let mut far = Some(far);
        let child = victim(place, || {
            far.as_ref().expect("open").write(b"last")?;
            // Here it may be the last one: what it serves then is the end.
            drop(far.take());
            upper.putmsg(Some(&echo.bytes()), Some(b"x"))
        });
        drop(far.take());
        let killed = ended(child);
        let (mut last, mut is_at_end) = (0, false);
        while !is_at_end {
            let message = upper.receive().expect("it goes on").expect("not the end");
            let (from, _) = MuxId::split_from(message.control().expect("an id")).expect("an id");
            if from == pipe {
                is_at_end = message.data().is_none();
                last += u32::from(message.data() == Some(b"last"));
            }
        }
        assert!(last <= 2 && (killed || last == 1), "{last} came");
        killed
    });
    println!("{kills} killed beside an end");
    assert!(kills > 5);
}
