//! A process is killed at any place while its datagrams go the short way into another stream, or while it receives them: the others
//! go on, and what was sent arrives once.

use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use headwater_shm::probe;
use headwater_streams::tpi::Primitive;
use headwater_streams::{DeviceOptions, Result, Stream};

use crate::common::{calm, child, in_own_process, within};

/// Datagrams of the victim.
const COUNT: u8 = 4;
/// The last datagram.
const END: u8 = 100;
/// So many go before: the way is known, and the locks are biased.
const BEFORE: usize = 300;

fn bound(directory: &Path, address: &[u8]) -> Result<Stream> {
    let endpoint = DeviceOptions::new().directory(directory.join("devices")).open("ticlts")?;
    endpoint.putmsg(Some(&Primitive::BindReq { address, waiting: 0 }.encode()), None)?;
    endpoint.receive()?;
    Ok(endpoint)
}

fn receive(endpoint: &Stream) -> Result<u8> {
    let (mut source, mut data) = ([0; 16], [0; 16]);
    let received = endpoint.recv_from(&mut source, &mut [], &mut data)?.expect("no end");
    assert_eq!((received.data, received.more), (16, false));
    assert!(data.iter().all(|byte| *byte == data[0]), "a datagram arrives whole: {data:?}");
    Ok(data[0])
}

fn send(from: &Stream, number: u8) -> Result<()> {
    from.send_to(b"receiver", &[], &[number; 16])
}

/// Every number once and in order; all that were reported, and at most one more.
fn check(numbers: &[u8], returned: usize) {
    let expected: Vec<u8> = (1..=numbers.len() as u8).collect();
    assert_eq!(numbers, expected);
    assert!((returned..=returned + 1).contains(&numbers.len()), "{returned} were sent, and came {numbers:?}");
}

#[test]
fn a_sender_killed_on_the_short_way_leaves_the_receiver_to_the_others() {
    in_own_process!();
    for place in 0.. {
        within(Duration::from_secs(30), format!("a sender killed at place {place}"));
        let directory = tempfile::tempdir().expect("a directory");
        let receiver = bound(directory.path(), b"receiver").expect("bound");
        let (progress, told) = std::io::pipe().expect("pipe");
        let mut progress = Some(progress);
        let mut victim = child(|| {
            drop(progress.take());
            let sender = bound(directory.path(), b"victim")?;
            for _ in 0..BEFORE {
                send(&sender, 0)?;
            }
            let before = sender.counters().short_sends;
            probe::arm(place, None);
            for number in 1..=COUNT {
                send(&sender, number)?;
                (&told).write_all(&[number])?;
            }
            probe::arm(u64::MAX, None);
            assert_eq!(sender.counters().short_sends - before, COUNT.into(), "the short way is tested");
            Ok(())
        });
        drop(told);
        let status = victim.wait().expect("wait");
        let mut returned = Vec::new();
        progress.expect("here").read_to_end(&mut returned).expect("pipe");
        // Another sender finds the locks free and the lane whole.
        let other = bound(directory.path(), b"other").expect("bound");
        send(&other, END).expect("sent");
        let mut numbers = Vec::new();
        loop {
            match receive(&receiver).expect("received") {
                0 => {}
                END => break,
                number => numbers.push(number),
            }
        }
        check(&numbers, returned.len());
        if status.success() {
            assert!(place > 20, "only {place} places were passed");
            break;
        }
    }
    calm();
}

#[test]
fn a_receiver_killed_among_messages_leaves_the_rest_to_another() {
    in_own_process!();
    for place in 0.. {
        within(Duration::from_secs(30), format!("a receiver killed at place {place}"));
        let directory = tempfile::tempdir().expect("a directory");
        let receiver = bound(directory.path(), b"receiver").expect("bound");
        let sender = bound(directory.path(), b"sender").expect("bound");
        for number in 1..=2 * COUNT {
            send(&sender, number).expect("sent");
        }
        let (progress, told) = std::io::pipe().expect("pipe");
        let mut progress = Some(progress);
        let mut victim = child(|| {
            drop(progress.take());
            probe::arm(place, None);
            for _ in 0..COUNT {
                let number = receive(&receiver)?;
                (&told).write_all(&[number])?;
            }
            probe::arm(u64::MAX, None);
            Ok(())
        });
        drop(told);
        let status = victim.wait().expect("wait");
        let mut numbers = Vec::new();
        progress.expect("here").read_to_end(&mut numbers).expect("pipe");
        let by_victim = numbers.len();
        send(&sender, END).expect("sent");
        loop {
            match receive(&receiver).expect("received") {
                END => break,
                number => numbers.push(number),
            }
        }
        // The datagram that the victim had in its hands may be gone with it.
        let mut expected: Vec<u8> = (1..=2 * COUNT).collect();
        if numbers.len() < expected.len() {
            expected.remove(by_victim);
        }
        assert_eq!(numbers, expected, "the victim had {by_victim}");
        if status.success() {
            assert!(place > 20, "only {place} places were passed");
            break;
        }
    }
    calm();
}
