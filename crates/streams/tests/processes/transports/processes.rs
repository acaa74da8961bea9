//! Endpoints of several processes, some of which are killed.

use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use headwater_os::child::Child;
use headwater_streams::tpi::{Primitive, PrimitiveNumber, State};
use headwater_streams::{Events, Result, Stream};

use super::{PATIENCE, accept, ask, ask_with, bind, bound, call, is, next, open, state, told};
use crate::common::{child, in_own_process, joined, private_directory, within};

/// A process that runs `prepare`, says so, and then waits to be killed.
pub(super) fn started<T>(prepare: impl FnOnce() -> T) -> Child {
    let (ready, told) = std::io::pipe().expect("pipe");
    let mut ready = Some(ready);
    let process = child(|| {
        drop(ready.take());
        let _kept = prepare();
        (&told).write_all(b"x")?;
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    drop(told);
    assert_eq!(ready.as_ref().expect("here").read(&mut [0]).expect("read"), 1, "the process has failed");
    process
}

pub(super) fn killed(mut process: Child) {
    process.kill();
    process.wait().expect("wait");
}

pub(super) fn send(from: &Stream, destination: &[u8], data: &[u8]) {
    ask_with(from, Primitive::UnitdataReq { destination, options: b"" }, Some(data));
}

#[test]
fn many_processes_send_to_one_and_get_their_answers() {
    in_own_process!();
    within(PATIENCE, "eight processes and a server".to_owned());
    const CLIENTS: u8 = 8;
    const EACH: u32 = 500;
    let directory = private_directory();
    let server = bound(directory.path(), "ticlts", b"server", 0);
    let clients: Vec<Child> = (0..CLIENTS)
        .map(|number| {
            child(|| {
                let client = bound(directory.path(), "ticlts", &[number], 0);
                for count in 0..EACH {
                    send(&client, b"server", &count.to_le_bytes());
                    let answer = next(&client);
                    is(&answer, Primitive::UnitdataInd { source: b"server", options: b"" });
                    assert_eq!(answer.data(), Some(&count.to_le_bytes()[..]));
                }
                Ok(())
            })
        })
        .collect();
    for _ in 0..u32::from(CLIENTS) * EACH {
        let question = next(&server);
        let Ok(Primitive::UnitdataInd { source, .. }) = Primitive::decode(question.control().expect("one")) else {
            panic!("{question:?}")
        };
        send(&server, source, question.data().expect("data"));
    }
    clients.into_iter().for_each(joined);
}

#[test]
fn the_address_of_a_killed_process_is_taken_over_and_that_of_a_live_one_is_not() {
    in_own_process!();
    within(PATIENCE, "addresses of killed processes".to_owned());
    let directory = private_directory();
    let sender = bound(directory.path(), "ticlts", b"sender", 0);
    let process = started(|| bound(directory.path(), "ticlts", b"name", 0));
    send(&sender, b"name", b"x");
    let endpoint = open(directory.path(), "ticlts");
    ask(&endpoint, Primitive::BindReq { address: b"name", waiting: 0 });
    super::refused(&endpoint, PrimitiveNumber::BindReq, headwater_streams::tpi::TransportError::AddressBusy);
    killed(process);
    bind(&endpoint, b"name", 0);
    // The sender finds out that its receiver was killed, and then finds the new one.
    let mut lost = 0;
    endpoint.set_nonblocking(true).expect("set");
    while endpoint.receive().is_err() {
        send(&sender, b"name", b"y");
        lost += 1;
        assert!(lost <= 65, "{lost} datagrams went to a process that was killed");
    }
}

#[test]
fn a_sender_that_waits_for_a_killed_receiver_goes_on() {
    in_own_process!();
    within(PATIENCE, "a receiver is killed while a sender waits".to_owned());
    let directory = private_directory();
    let sender = bound(directory.path(), "ticlts", b"sender", 0);
    let other = bound(directory.path(), "ticlts", b"other", 0);
    let process = started(|| bound(directory.path(), "ticlts", b"name", 0));
    let (full, told_full) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let sender = &sender;
        scope.spawn(move || {
            for _ in 0..200 {
                send(sender, b"name", &[1; 1000]);
                full.send(()).expect("the test waits");
            }
            send(sender, b"other", b"after");
        });
        while told_full.recv_timeout(Duration::from_millis(300)).is_ok() {}
        killed(process);
        assert_eq!(next(&other).data(), Some(&b"after"[..]));
    });
    told(&sender, Primitive::UderrorInd { destination: b"name", options: b"", error: 111 });
}

#[test]
fn a_sender_whose_receiver_is_killed_while_it_reads_is_told() {
    in_own_process!();
    for round in 0..12 {
        within(PATIENCE, format!("a receiver that reads is killed, round {round}"));
        let directory = private_directory();
        let sender = bound(directory.path(), "ticlts", b"sender", 0);
        let (mut ready, said) = std::io::pipe().expect("pipe");
        let mut receiver = child(|| {
            let endpoint = bound(directory.path(), "ticlts", b"name", 0);
            (&said).write_all(b"x")?;
            loop {
                next(&endpoint);
                // The sender is faster, and waits for the room that comes.
                let until = std::time::Instant::now() + Duration::from_micros(round % 4);
                while std::time::Instant::now() < until {}
            }
        });
        ready.read_exact(&mut [0]).expect("it is bound");
        // It is killed while messages go the short way.
        while sender.counters().short_sends == 0 {
            send(&sender, b"name", &[1; 1000]);
        }
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(777 * round));
            receiver.kill();
            receiver.wait().expect("wait");
        });
        let is_told = || !sender.poll(Events::IN, Some(Duration::ZERO)).expect("poll").is_empty();
        while !is_told() {
            for _ in 0..16 {
                send(&sender, b"name", &[1; 1000]);
            }
        }
        told(&sender, Primitive::UderrorInd { destination: b"name", options: b"", error: 111 });
        killer.join().expect("no panic");
    }
}

/// A process that listens, accepts one connection, and sends back what comes.
fn echo_server(directory: &Path, driver: &str) -> Result<()> {
    let listener = bound(directory, driver, b"server", 1);
    let endpoint = bound(directory, driver, b"of server", 0);
    accept(&listener, &endpoint);
    loop {
        let message = next(&endpoint);
        match Primitive::decode(message.control().expect("one")) {
            Ok(Primitive::DataInd { more }) => ask_with(&endpoint, Primitive::DataReq { more }, message.data()),
            Ok(Primitive::OrdrelInd) => break ask(&endpoint, Primitive::OrdrelReq),
            other => panic!("{other:?}"),
        }
    }
    // The end is sent before this process goes.
    while state(&endpoint) != State::Idle {}
    Ok(())
}

/// An endpoint that is connected to a listener which another process opens.
fn calling(directory: &Path, driver: &str, address: &[u8]) -> Stream {
    let caller = bound(directory, driver, b"client", 0);
    loop {
        call(&caller, address);
        let answer = next(&caller);
        match Primitive::decode(answer.control().expect("one")) {
            Ok(Primitive::ConnCon { .. }) => return caller,
            Ok(Primitive::DisconInd { .. }) => std::thread::sleep(Duration::from_millis(2)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn two_processes_have_a_connection_and_release_it_in_order() {
    in_own_process!();
    within(PATIENCE, "a connection of two processes".to_owned());
    let directory = private_directory();
    let server = child(|| echo_server(directory.path(), "ticotsord"));
    let client = calling(directory.path(), "ticotsord", b"server");
    for count in 0u32..2000 {
        ask_with(&client, Primitive::DataReq { more: false }, Some(&count.to_le_bytes()));
        assert_eq!(next(&client).data(), Some(&count.to_le_bytes()[..]));
    }
    ask(&client, Primitive::OrdrelReq);
    told(&client, Primitive::OrdrelInd);
    assert_eq!(state(&client), State::Idle);
    joined(server);
}

#[test]
fn the_survivor_of_a_killed_connection_is_told_whether_it_reads_writes_or_polls() {
    in_own_process!();
    within(PATIENCE, "connections whose other end is killed".to_owned());
    let reset = Primitive::DisconInd { reason: 104, sequence: Primitive::NO_SEQUENCE };
    for does in ["reads", "writes", "polls"] {
        let directory = private_directory();
        let (mut ready, said) = std::io::pipe().expect("pipe");
        let server = child(|| {
            let listener = bound(directory.path(), "ticots", b"server", 1);
            let endpoint = bound(directory.path(), "ticots", b"of server", 0);
            accept(&listener, &endpoint);
            (&said).write_all(b"x")?;
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        });
        let client = calling(directory.path(), "ticots", b"server");
        ready.read_exact(&mut [0]).expect("the server has accepted");
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            killed(server);
        });
        match does {
            "writes" => {
                while state(&client) == State::Connected {
                    ask_with(&client, Primitive::DataReq { more: false }, Some(&[3; 3000]));
                }
            }
            "polls" => assert_ne!(crate::common::polled(&client, libc::POLLIN, PATIENCE), 0),
            _ => {}
        }
        told(&client, reset);
        killer.join().expect("no panic");
        assert_eq!(state(&client), State::Idle, "{does}");
    }
}

#[test]
fn the_caller_of_a_killed_listener_is_told() {
    in_own_process!();
    within(PATIENCE, "a listener is killed before it accepts".to_owned());
    let directory = private_directory();
    let listener = started(|| bound(directory.path(), "ticots", b"server", 1));
    let client = bound(directory.path(), "ticots", b"client", 0);
    call(&client, b"server");
    killed(listener);
    told(&client, Primitive::DisconInd { reason: 111, sequence: Primitive::NO_SEQUENCE });
    assert_eq!(state(&client), State::Idle);
}

#[test]
fn a_caller_that_is_killed_before_it_is_accepted_leaves_a_connection_that_ends() {
    in_own_process!();
    within(PATIENCE, "a caller is killed before it is accepted".to_owned());
    let directory = private_directory();
    let listener = bound(directory.path(), "ticots", b"server", 1);
    let endpoint = bound(directory.path(), "ticots", b"of server", 0);
    let client = started(|| {
        let client = bound(directory.path(), "ticots", b"client", 0);
        call(&client, b"server");
        client
    });
    killed(client);
    accept(&listener, &endpoint);
    told(&endpoint, Primitive::DisconInd { reason: 104, sequence: Primitive::NO_SEQUENCE });
    assert_eq!([state(&listener), state(&endpoint)], [State::Idle; 2]);
}

#[test]
fn processes_that_are_killed_at_any_moment_hold_no_other_up() {
    in_own_process!();
    within(2 * PATIENCE, "senders are killed while they send".to_owned());
    let directory = private_directory();
    let server = bound(directory.path(), "ticlts", b"server", 0);
    server.set_nonblocking(true).expect("set");
    let mut got = 0u64;
    for round in 0..crate::common::extent("HEADWATER_ROUNDS", 15) {
        let mut process = child(|| {
            let client = bound(directory.path(), "ticlts", &round.to_le_bytes(), 0);
            loop {
                send(&client, b"server", &[5; 200]);
            }
        });
        let until = std::time::Instant::now() + Duration::from_micros(3000 + 700 * (round % 20));
        let mut drain = |until: std::time::Instant| {
            while std::time::Instant::now() < until {
                if let Ok(Some(datagram)) = server.receive() {
                    assert_eq!(datagram.data(), Some(&[5; 200][..]));
                    got += 1;
                }
            }
        };
        drain(until);
        process.kill();
        process.wait().expect("wait");
        drain(std::time::Instant::now() + Duration::from_millis(2));
    }
    assert!(got > 0);
    // Another one still gets through.
    let client = bound(directory.path(), "ticlts", b"last", 0);
    send(&client, b"server", b"end");
    server.set_nonblocking(false).expect("set");
    while next(&server).data() != Some(b"end") {}
}

#[test]
fn two_thousand_endpoints_are_open_at_once() {
    in_own_process!();
    within(8 * PATIENCE, "two thousand endpoints".to_owned());
    const PROCESSES: u32 = 10;
    const PAIRS: u32 = 100;
    let directory = private_directory();
    let (mut ready, told) = std::io::pipe().expect("pipe");
    let (go, gone) = std::io::pipe().expect("pipe");
    let mut gone = Some(gone);
    let processes: Vec<Child> = (0..PROCESSES)
        .map(|process| {
            child(|| {
                drop(gone.take());
                let endpoints: Vec<_> = (0..PAIRS)
                    .flat_map(|pair| {
                        let address = (process * PAIRS + pair).to_le_bytes();
                        ["ticlts", "ticots"].map(|driver| bound(directory.path(), driver, &address, 0))
                    })
                    .collect();
                (&told).write_all(b"x")?;
                // All are open: each sends one to the process after it.
                (&go).read_exact(&mut [0]).expect_err("the end");
                for (pair, endpoint) in (0..PAIRS).zip(endpoints.iter().step_by(2)) {
                    let next = ((process + 1) % PROCESSES * PAIRS + pair).to_le_bytes();
                    send(endpoint, &next, b"x");
                }
                for endpoint in endpoints.iter().step_by(2) {
                    assert_eq!(next(endpoint).data(), Some(&b"x"[..]));
                }
                (&told).write_all(b"x")?;
                std::thread::sleep(Duration::from_millis(500));
                Ok(())
            })
        })
        .collect();
    drop(go);
    let mut wait = || (0..PROCESSES).for_each(|_| ready.read_exact(&mut [0]).expect("a process has failed"));
    wait();
    drop(gone.take());
    wait();
    processes.into_iter().for_each(joined);
}
