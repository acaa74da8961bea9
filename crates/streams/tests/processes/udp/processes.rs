//! Endpoints of several processes, some of which are killed.

use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use headwater_os::child::Child;
use headwater_streams::Events;

use super::{PATIENCE, REFUSED, bind, bound, is_empty, open, received, reported, send};
use crate::common::{calm, child, extent, in_own_process, joined, private_directory, within};

/// A process with an endpoint of an address that it says, which waits to be killed.
fn started(directory: &Path) -> (Child, SocketAddr) {
    let (mut told, said) = std::io::pipe().expect("pipe");
    let process = child(|| {
        let (_endpoint, own) = bound(directory, "127.0.0.1:0");
        (&said).write_all(&own.port().to_le_bytes())?;
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    let mut port = [0; 2];
    told.read_exact(&mut port).expect("the process has failed");
    (process, SocketAddr::from(([127, 0, 0, 1], u16::from_le_bytes(port))))
}

fn killed(mut process: Child) {
    process.kill();
    process.wait().expect("wait");
}

#[test]
fn many_processes_send_to_one_and_get_their_answers() {
    in_own_process!();
    within(PATIENCE, "processes and a server".to_owned());
    const CLIENTS: u32 = 6;
    const EACH: u32 = 500;
    let directory = private_directory();
    let (server, at) = bound(directory.path(), "127.0.0.1:0");
    let clients: Vec<Child> = (0..CLIENTS)
        .map(|_| {
            child(|| {
                let (client, _) = bound(directory.path(), "127.0.0.1:0");
                for count in 0..EACH {
                    send(&client, at, &count.to_le_bytes());
                    assert_eq!(received(&client), (count.to_le_bytes().to_vec(), at));
                }
                Ok(())
            })
        })
        .collect();
    for _ in 0..CLIENTS * EACH {
        let (data, from) = received(&server);
        send(&server, from, &data);
    }
    clients.into_iter().for_each(joined);
    calm();
}

#[test]
fn the_port_of_a_killed_process_is_free_at_once() {
    in_own_process!();
    within(PATIENCE, "ports of killed processes".to_owned());
    let directory = private_directory();
    for round in 0..20 {
        // The sender was there before, and has the receiver in memory.
        let (sender, _) = bound(directory.path(), "127.0.0.1:0");
        let (process, at) = started(directory.path());
        send(&sender, at, b"x");
        killed(process);
        if round % 2 == 0 {
            drop(UdpSocket::bind(at).expect("free"));
        }
        let endpoint = open(directory.path());
        assert_eq!(bind(&endpoint, at), Ok(at));
        // The sender finds out, and then the new one.
        let mut lost = 0;
        while endpoint.poll(Events::IN, Some(Duration::ZERO)).expect("poll").is_empty() {
            send(&sender, at, b"y");
            lost += 1;
            assert!(lost <= 65, "{lost} datagrams went to a process that was killed");
        }
    }
    calm();
}

#[test]
fn a_sender_that_waits_for_a_killed_receiver_goes_on() {
    in_own_process!();
    within(PATIENCE, "a receiver is killed while a sender waits".to_owned());
    let directory = private_directory();
    let (sender, _) = bound(directory.path(), "127.0.0.1:0");
    let (other, to_other) = bound(directory.path(), "127.0.0.1:0");
    let (process, at) = started(directory.path());
    let (full, told_full) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let sender = &sender;
        scope.spawn(move || {
            for _ in 0..200 {
                send(sender, at, &[1; 1000]);
                full.send(()).expect("the test waits");
            }
            send(sender, to_other, b"after");
        });
        while told_full.recv_timeout(Duration::from_millis(300)).is_ok() {}
        killed(process);
        assert_eq!(received(&other).0, b"after");
    });
    // What waited for room has gone to the port that none has.
    assert_eq!(reported(&sender, at), REFUSED);
    calm();
}

#[test]
fn a_killed_sender_leaves_whole_datagrams() {
    in_own_process!();
    within(PATIENCE, "senders are killed".to_owned());
    let directory = private_directory();
    let (receiver, at) = bound(directory.path(), "127.0.0.1:0");
    for round in 0..30_u64 {
        let process = child(|| {
            let (sender, _) = bound(directory.path(), "127.0.0.1:0");
            for number in 0_u32.. {
                send(&sender, at, &number.to_le_bytes().repeat(100));
            }
            Ok(())
        });
        for number in 0..200 + 37 * round as u32 {
            let (data, _) = received(&receiver);
            assert_eq!(data, number.to_le_bytes().repeat(100));
        }
        killed(process);
        while !is_empty(&receiver) {
            assert_eq!(received(&receiver).0.len(), 400);
        }
    }
    calm();
}

#[test]
fn many_endpoints_are_open_at_once() {
    in_own_process!();
    const PROCESSES: usize = 10;
    // Two thousand in the long form.
    let each = 20 * extent("HEADWATER_ENDPOINTS", 1).min(10) as usize;
    within(8 * PATIENCE, format!("{PROCESSES} processes of {each} endpoints"));
    let directory = private_directory();
    let (hub, to_hub) = bound(directory.path(), "127.0.0.1:0");
    let mut processes: Vec<Child> = (0..PROCESSES)
        .map(|_| {
            child(|| {
                let endpoints: Vec<_> = (0..each).map(|_| bound(directory.path(), "127.0.0.1:0").0).collect();
                endpoints.iter().for_each(|endpoint| send(endpoint, to_hub, b"here"));
                // All are open when each has an answer.
                endpoints.iter().for_each(|endpoint| assert_eq!(received(endpoint), (b"all".to_vec(), to_hub)));
                Ok(())
            })
        })
        .collect();
    let mut all: Vec<SocketAddr> = (0..PROCESSES * each).map(|_| received(&hub).1).collect();
    all.iter().for_each(|endpoint| send(&hub, *endpoint, b"all"));
    all.sort();
    all.dedup();
    assert_eq!(all.len(), PROCESSES * each);
    processes.drain(..).for_each(joined);
    calm();
}
