//! A process that uses a transport's endpoint is killed at any place of a request: the endpoint is then as before the request, or as after it, for
//! the other processes that have it, and the other ends learn what has become of their connections.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use headwater_shm::probe;
use headwater_streams::tpi::{InternetAddress, ManagementFlags, Primitive, PrimitiveNumber, State};
use headwater_streams::{Device, DeviceOptions, Events, Result, Stream};

use crate::common::{self, Random, alone, setting};
use crate::endpoints::{acceptor, ask, ask_with, asked, next, told};

const PATIENCE: Duration = Duration::from_secs(20);
/// How long other processes may need to learn what has become of a connection.
const BOUND: Duration = Duration::from_secs(5);

/// A provider, and the directory of those that are found by name.
struct Provider<'d> {
    name: &'static str,
    directory: &'d std::path::Path,
}

impl Provider<'_> {
    fn is_of_internet(&self) -> bool {
        !self.name.starts_with("tic")
    }

    fn open(&self) -> Stream {
        let opened = if self.name.starts_with("inet") {
            Device::open_private(self.name)
        } else {
            DeviceOptions::new().directory(self.directory).open(self.name)
        };
        opened.expect("known")
    }

    /// An address that is to be asked for.
    fn wanted(&self) -> Vec<u8> {
        let loopback: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        if self.is_of_internet() { InternetAddress::from(loopback).bytes().to_vec() } else { Vec::new() }
    }

    /// Binds an endpoint; its address.
    fn bind(&self, endpoint: &Stream, waiting: u32) -> Vec<u8> {
        ask(endpoint, Primitive::BindReq { address: &self.wanted(), waiting });
        let answer = next(endpoint);
        match Primitive::decode(answer.control().expect("an answer")) {
            Ok(Primitive::BindAck { address, .. }) => address.to_vec(),
            other => panic!("{other:?}"),
        }
    }

    fn bound(&self, waiting: u32) -> (Stream, Vec<u8>) {
        let endpoint = self.open();
        let address = self.bind(&endpoint, waiting);
        (endpoint, address)
    }

    /// Two that are connected: the one that has asked, and the one that has accepted.
    fn connected(&self) -> (Stream, Stream) {
        let ((listener, address), (caller, _), called) = (self.bound(1), self.bound(0), self.open());
        call(&caller, &address);
        let (sequence, _) = asked(&listener);
        accept(&listener, &called, sequence);
        assert!(matches!(decoded(&next(&caller)), Primitive::ConnCon { .. }));
        (caller, called)
    }

    /// The endpoint does all that one that is new does. `waiting` are connections that it may have.
    fn is_whole(&self, endpoint: &Stream, waiting: &[u32]) {
        let mut waiting: Vec<u32> = waiting.to_vec();
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < BOUND, "{:?} cannot be left", state(endpoint));
            drain(endpoint, |told| {
                if let Primitive::ConnInd { sequence, .. } = told {
                    waiting.push(sequence);
                }
            });
            let request = match state(endpoint) {
                State::Unbound => break,
                State::Idle => Primitive::UnbindReq,
                State::AwaitResponse => match waiting.pop() {
                    Some(sequence) => Primitive::DisconReq { sequence },
                    // The caller gives it up, or a look finds that it has gone.
                    None => {
                        std::thread::sleep(Duration::from_millis(5));
                        continue;
                    }
                },
                State::AwaitConfirm | State::Connected | State::AwaitRelease | State::Releasing => {
                    Primitive::DisconReq { sequence: Primitive::NO_SEQUENCE }
                }
                other => panic!("{other:?} waits for an answer"),
            };
            ask(endpoint, request);
            // Answered, whatever it is: the state tells.
            let answer = next(endpoint);
            assert!(matches!(decoded(&answer), Primitive::OkAck { .. } | Primitive::ErrorAck { .. }), "{answer:?}");
        }
        let own = self.bind(endpoint, 0);
        if is_of_datagrams(self.name) {
            let (other, address) = self.bound(0);
            send(&other, &own, b"in");
            got(endpoint, b"in");
            send(endpoint, &address, b"out");
            got(&other, b"out");
        } else {
            let ((listener, address), called) = (self.bound(1), self.open());
            call(endpoint, &address);
            let (sequence, _) = asked(&listener);
            accept(&listener, &called, sequence);
            assert!(matches!(decoded(&next(endpoint)), Primitive::ConnCon { .. }));
            ask_with(&called, Primitive::DataReq { more: false }, Some(b"in"));
            assert_eq!(next(endpoint).data(), Some(&b"in"[..]));
        }
    }
}

fn is_of_datagrams(name: &str) -> bool {
    matches!(name, "inet-udp" | "udp" | "ticlts")
}

fn decoded<'m>(message: &'m headwater_streams::Message<'_>) -> Primitive<'m> {
    Primitive::decode(message.control().expect("a primitive")).expect("of a provider")
}

fn call(endpoint: &Stream, destination: &[u8]) {
    ask(endpoint, Primitive::ConnReq { destination, options: b"" });
    told(endpoint, Primitive::OkAck { of: PrimitiveNumber::ConnReq });
}

fn accept(listener: &Stream, on: &Stream, sequence: u32) {
    ask(listener, Primitive::ConnRes { acceptor: acceptor(on), options: b"", sequence });
    told(listener, Primitive::OkAck { of: PrimitiveNumber::ConnRes });
}

/// The state of an endpoint. What the killed process has asked for may be answered before: the answer is not taken then.
fn state(endpoint: &Stream) -> State {
    ask(endpoint, Primitive::InfoReq);
    loop {
        match decoded(&next(endpoint)) {
            Primitive::InfoAck(info) => return info.state,
            Primitive::OkAck { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

fn send(endpoint: &Stream, destination: &[u8], data: &[u8]) {
    ask_with(endpoint, Primitive::UnitdataReq { destination, options: b"" }, Some(data));
}

/// The next datagrams are others, and then this one.
fn got(endpoint: &Stream, data: &[u8]) {
    while next(endpoint).data() != Some(data) {}
}

/// Takes all that is there.
fn drain(endpoint: &Stream, mut take: impl FnMut(Primitive<'_>)) {
    while !endpoint.poll(Events::IN | Events::PRI, Some(Duration::ZERO)).expect("no error").is_empty() {
        let Some(message) = endpoint.receive().expect("no error") else { break };
        if message.control().is_some() {
            take(decoded(&message));
        }
    }
}

/// Waits, at all of these endpoints, until `is_so`.
#[track_caller]
fn until(endpoints: &[&Stream], is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < BOUND, "{:?}", endpoints.iter().map(|endpoint| state(endpoint)).collect::<Vec<_>>());
        for endpoint in endpoints {
            let _ = endpoint.poll(Events::IN | Events::PRI, Some(Duration::from_millis(3)));
            drain(endpoint, |_| ());
        }
    }
}

/// Has `play` kill a process at ever later places, until that comes through. It returns whether one was killed.
fn at_every_place(what: &str, play: impl Fn(u64) -> bool) -> u64 {
    let whole = std::env::var_os("HEADWATER_ROUNDS").is_some();
    let mut random = Random(setting("HEADWATER_SEED", 1) << 32 | what.len() as u64);
    let (mut place, mut kills) = (setting("HEADWATER_PLACE", 0), 0);
    loop {
        common::within(PATIENCE, format!("{what}, killed at place {place}"));
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(place)));
        if !killed.unwrap_or_else(|_| panic!("{what}, killed at place {place}")) {
            break;
        }
        kills += 1;
        place += if whole { 1 } else { 1 + random.next() % 5 };
    }
    common::calm();
    println!("{what}: {kills} kills, {place} places");
    assert!(place > 5, "{what}: only {place} places were passed");
    kills
}

/// Runs `body` in a process that is killed at a place. Whether it was.
fn killed(place: u64, body: impl FnOnce() -> Result<()>) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let mut victim = common::child(|| {
        probe::arm(place, None);
        let done = body();
        probe::arm(u64::MAX, None);
        done
    });
    let status = victim.wait().expect("wait");
    let killed = status.signal() == Some(9);
    assert!(killed || status.success(), "the victim failed by itself: {status}");
    killed
}

/// A request and its answer, in the victim.
fn answered(endpoint: &Stream, request: Primitive<'_>) -> Result<()> {
    endpoint.putmsg(Some(&request.encode()), None)?;
    endpoint.receive().map(drop)
}

fn with_providers(names: &[&'static str], test: impl Fn(&Provider<'_>)) {
    let _alone = alone();
    let wanted = std::env::var("HEADWATER_CASE").unwrap_or_default();
    for name in names.iter().filter(|name| name.contains(&wanted)) {
        let directory = common::private_directory();
        test(&Provider { name, directory: directory.path() });
    }
}

const ALL: &[&str] = &["inet-udp", "udp", "ticlts", "inet-tcp", "ticots", "ticotsord"];
const OF_DATAGRAMS: &[&str] = &["inet-udp", "udp", "ticlts"];
const OF_CONNECTIONS: &[&str] = &["inet-tcp", "ticots", "ticotsord"];

#[test]
fn a_process_killed_in_a_bind_an_unbind_or_a_question_about_options_leaves_a_whole_endpoint() {
    with_providers(ALL, |provider| {
        at_every_place(&format!("{}: bind", provider.name), |place| {
            let endpoint = provider.open();
            let (wanted, waiting) = (provider.wanted(), u32::from(place % 2 == 0));
            let is_killed = killed(place, || answered(&endpoint, Primitive::BindReq { address: &wanted, waiting }));
            drain(&endpoint, |_| ());
            assert!(matches!(state(&endpoint), State::Unbound | State::Idle));
            provider.is_whole(&endpoint, &[]);
            is_killed
        });
        at_every_place(&format!("{}: unbind", provider.name), |place| {
            let (endpoint, _) = provider.bound((place % 2) as u32);
            let is_killed = killed(place, || answered(&endpoint, Primitive::UnbindReq));
            drain(&endpoint, |_| ());
            assert!(matches!(state(&endpoint), State::Unbound | State::Idle));
            provider.is_whole(&endpoint, &[]);
            is_killed
        });
        at_every_place(&format!("{}: options", provider.name), |place| {
            let (endpoint, _) = provider.bound(0);
            let ask = Primitive::OptmgmtReq { options: b"", flags: ManagementFlags::CURRENT };
            let is_killed = killed(place, || answered(&endpoint, ask));
            drain(&endpoint, |_| ());
            assert_eq!(state(&endpoint), State::Idle);
            provider.is_whole(&endpoint, &[]);
            is_killed
        });
    });
}

#[test]
fn a_process_killed_while_it_sends_or_receives_datagrams_leaves_a_whole_endpoint() {
    with_providers(OF_DATAGRAMS, |provider| {
        at_every_place(&format!("{}: send", provider.name), |place| {
            let ((endpoint, _), (other, address)) = (provider.bound(0), provider.bound(0));
            let is_killed = killed(place, || {
                (0..3).for_each(|_| send(&endpoint, &address, b"victim"));
                Ok(())
            });
            send(&endpoint, &address, b"survivor");
            got(&other, b"survivor");
            provider.is_whole(&endpoint, &[]);
            is_killed
        });
        at_every_place(&format!("{}: receive", provider.name), |place| {
            let ((endpoint, own), (other, _)) = (provider.bound(0), provider.bound(0));
            (0..3).for_each(|_| send(&other, &own, b"victim"));
            let is_killed = killed(place, || (0..3).try_for_each(|_| endpoint.receive().map(drop)));
            send(&other, &own, b"survivor");
            got(&endpoint, b"survivor");
            provider.is_whole(&endpoint, &[]);
            is_killed
        });
    });
}

#[test]
fn a_process_killed_while_it_asks_for_a_connection_leaves_an_endpoint_that_is_answered() {
    with_providers(OF_CONNECTIONS, |provider| {
        at_every_place(&format!("{}: connect", provider.name), |place| {
            let ((listener, address), (endpoint, _)) = (provider.bound(1), provider.bound(0));
            let ask = Primitive::ConnReq { destination: &address, options: b"" };
            let is_killed = killed(place, || answered(&endpoint, ask));
            // A waiter is told: that it is refused, or by the process that looks after what the killed one has begun.
            let is_answered = || {
                drain(&listener, |told| {
                    if let Primitive::ConnInd { sequence, .. } = told {
                        ask_refusal(&listener, sequence);
                    }
                });
                drain(&endpoint, |_| ());
                state(&endpoint) != State::AwaitConfirm
            };
            until(&[&endpoint], is_answered);
            provider.is_whole(&endpoint, &[]);
            provider.is_whole(&listener, &[]);
            is_killed
        });
    });
}

fn ask_refusal(listener: &Stream, sequence: u32) {
    ask(listener, Primitive::DisconReq { sequence });
    next(listener);
}

#[test]
fn a_process_killed_while_it_accepts_or_refuses_leaves_no_other_end_in_doubt() {
    with_providers(OF_CONNECTIONS, |provider| {
        for on in ["another", "itself", "refuses"] {
            at_every_place(&format!("{}: a listener accepts: {on}", provider.name), |place| {
                let ((listener, address), (caller, _), other) = (provider.bound(1), provider.bound(0), provider.open());
                call(&caller, &address);
                let (sequence, _) = asked(&listener);
                let on_number = acceptor(if on == "itself" { &listener } else { &other });
                let is_killed = killed(place, || match on {
                    "refuses" => answered(&listener, Primitive::DisconReq { sequence }),
                    _ => answered(&listener, Primitive::ConnRes { acceptor: on_number, options: b"", sequence }),
                });
                provider.is_whole(&listener, &[sequence]);
                provider.is_whole(&other, &[]);
                // Whichever had the connection has given it up now, and the caller learns it.
                until(&[&caller, &listener, &other], || state(&caller) == State::Idle || is_over(&caller));
                provider.is_whole(&caller, &[]);
                is_killed
            });
        }
    });
}

/// An orderly end is one of the other end's direction.
fn is_over(endpoint: &Stream) -> bool {
    matches!(state(endpoint), State::Releasing)
}

#[test]
fn a_process_killed_while_it_ends_a_connection_leaves_both_ends_with_the_same_idea() {
    with_providers(OF_CONNECTIONS, |provider| {
        for request in [Primitive::DisconReq { sequence: Primitive::NO_SEQUENCE }, Primitive::OrdrelReq] {
            if request == Primitive::OrdrelReq && provider.name == "ticots" {
                continue;
            }
            at_every_place(&format!("{}: {:?}", provider.name, request.number()), |place| {
                let (endpoint, other) = provider.connected();
                let is_killed = killed(place, || match request {
                    Primitive::OrdrelReq => endpoint.putmsg(Some(&request.encode()), None),
                    request => answered(&endpoint, request),
                });
                drain(&endpoint, |_| ());
                match state(&endpoint) {
                    State::Connected => {}
                    State::Idle => until(&[&endpoint, &other], || state(&other) == State::Idle),
                    State::AwaitRelease => until(&[&endpoint, &other], || state(&other) == State::Releasing),
                    state => panic!("{state:?}"),
                }
                provider.is_whole(&endpoint, &[]);
                until(&[&endpoint, &other], || state(&other) != State::Connected);
                provider.is_whole(&other, &[]);
                is_killed
            });
        }
    });
}

#[test]
fn a_process_killed_while_it_sends_or_receives_on_a_connection_leaves_no_hole_in_it() {
    with_providers(OF_CONNECTIONS, |provider| {
        at_every_place(&format!("{}: receives", provider.name), |place| {
            let (endpoint, other) = provider.connected();
            // Each is another one.
            let bytes: Vec<u8> = (0..250).collect();
            let (before, after) = bytes.split_at(225);
            let send = |piece: &[u8]| ask_with(&other, Primitive::DataReq { more: false }, Some(piece));
            before.chunks(25).for_each(send);
            let is_killed = killed(place, || {
                let mut count = 0;
                while count < 75 {
                    count += endpoint.receive()?.and_then(|message| Some(message.data()?.len())).unwrap_or(0);
                }
                Ok(())
            });
            send(after);
            // What the victim has not taken, without a hole; or the connection is over.
            let (mut last, mut is_lost) = (None::<u8>, false);
            while !is_lost && last != after.last().copied() {
                let message = next(&endpoint);
                is_lost = matches!(decoded(&message), Primitive::DisconInd { .. });
                for byte in message.data().unwrap_or_default() {
                    assert!(last.is_none_or(|last| last + 1 == *byte), "{byte} after {last:?}");
                    last = Some(*byte);
                }
            }
            provider.is_whole(&endpoint, &[]);
            is_killed
        });
        at_every_place(&format!("{}: sends", provider.name), |place| {
            let (endpoint, other) = provider.connected();
            let is_killed = killed(place, || {
                let request = Primitive::DataReq { more: false }.encode();
                (0..3).try_for_each(|_| endpoint.putmsg(Some(&request), Some(b"victim")))
            });
            provider.is_whole(&endpoint, &[]);
            until(&[&other], || state(&other) != State::Connected);
            is_killed
        });
    });
}
