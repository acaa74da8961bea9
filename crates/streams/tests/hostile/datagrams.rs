//! A hostile receiver of datagrams: senders append to its memory while it writes anything there. Each send returns, and datagrams to
//! others still arrive.

use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use headwater_streams::tpi::Primitive;
use headwater_streams::{DeviceOptions, Errno, Options, Result, Stream};

use crate::common::{self, Random, extent, in_own_process, setting};
use crate::{PATIENCE, memory_of_stream, scribble};

fn bound(directory: &Path, address: &[u8]) -> Result<Stream> {
    let endpoint = DeviceOptions::new().directory(directory.join("devices")).open("ticlts")?;
    endpoint.putmsg(Some(&Primitive::BindReq { address, waiting: 0 }.encode()), None)?;
    endpoint.receive()?;
    Ok(endpoint)
}

#[test]
fn a_hostile_receiver_makes_errors_of_its_senders_and_nothing_worse() {
    in_own_process!();
    let until = Instant::now() + Duration::from_secs(extent("HEADWATER_SECONDS", 1));
    let first = setting("HEADWATER_SEED", 1);
    let (mut seed, mut short_sends) = (first, 0);
    while Instant::now() < until {
        common::within(PATIENCE, format!("sending to a hostile receiver with seed {seed}"));
        short_sends += std::panic::catch_unwind(|| case(seed)).unwrap_or_else(|_| panic!("failed with seed {seed}"));
        seed += 1;
    }
    common::calm();
    assert!(short_sends > 10 * (seed - first), "{short_sends} sends went the short way");
}

/// Returns how many datagrams went the short way.
fn case(seed: u64) -> u64 {
    let mut random = Random(seed);
    let directory = tempfile::tempdir().expect("a directory");
    let (ready, told) = std::io::pipe().expect("pipe");
    let mut ready = Some(ready);
    let mut hostile = common::child(|| {
        drop(ready.take());
        let mut random = Random(seed ^ 1);
        let endpoint = bound(directory.path(), b"hostile")?;
        endpoint.set_nonblocking(true)?;
        let memory = memory_of_stream();
        let len = memory.metadata()?.len();
        (&told).write_all(b"x")?;
        // What a receiver does between its deeds.
        let mut data = [0; 64];
        loop {
            for _ in 0..random.below(100) {
                let _ = endpoint.recv_from(&mut [0; 32], &mut [], &mut data);
            }
            if random.one_in(20) {
                scribble(&memory, len, &Options::default(), &mut random);
            }
        }
    });
    drop(told);
    assert_eq!(ready.expect("here").read(&mut [0]).expect("read"), 1, "the process has failed");
    let sender = bound(directory.path(), b"sender").expect("bound");
    let receiver = bound(directory.path(), b"receiver").expect("bound");
    sender.set_nonblocking(true).expect("set");
    for _ in 0..2000 {
        let len = random.one_of(&[0, 1, 64, 3000]);
        // Any error, but within the time of the case.
        let _ = sender.send_to(b"hostile", &[], &[1; 3000][..len]);
        if random.one_in(50) {
            let _ = sender.receive();
        }
    }
    hostile.kill();
    hostile.wait().expect("wait");
    receiver.set_nonblocking(true).expect("set");
    loop {
        if let Err(error) = sender.send_to(b"receiver", &[], b"arrives") {
            assert_eq!(error.errno(), Errno::Again, "a datagram waits for the dead receiver: {error}");
        }
        let mut data = [0; 16];
        if let Ok(Some(received)) = receiver.recv_from(&mut [0; 32], &mut [], &mut data) {
            assert_eq!(&data[..received.data], b"arrives");
            return sender.counters().short_sends;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
