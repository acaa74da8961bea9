//! Readers of one FIFO, some of which poll: what one of them takes out of the doorbell, the others must not miss.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use headwater_streams::{Access, Errno, FifoOptions, Options, Stream};

use crate::common::{Random, extent, fifo, polled};

const TOTAL: usize = 30_000;

/// Reads by turns as a blocking and as a non-blocking handle that polls its descriptor first.
fn read_by_turns(stream: Stream, mut random: Random, got: &AtomicUsize) {
    let mut buffer = [0; 3000];
    while got.load(Ordering::Relaxed) < TOTAL {
        let polls = random.one_in(2);
        stream.set_nonblocking(polls).expect("set");
        let wanted = 1 + random.below(buffer.len());
        if polls && polled(stream.as_fd(), libc::POLLIN, Duration::from_secs(4)) == 0 {
            panic!("{} bytes were read, and no more are shown", got.load(Ordering::Relaxed));
        }
        match stream.read(&mut buffer[..wanted]) {
            Ok(0) => return,
            Ok(count) => {
                got.fetch_add(count, Ordering::Relaxed);
            }
            Err(error) => assert_eq!(error.errno(), Errno::Again),
        }
    }
}

#[test]
fn readers_of_a_fifo_that_poll_by_turns_are_told_of_everything() {
    for round in 0..extent("HEADWATER_FIFO_ROUNDS", 10) {
        let (_directory, path) = fifo();
        let options = Options::new().hiwat(100).lowat(50);
        let first = FifoOptions::new().nonblocking(true).stream(options).open(&path, Access::Read).expect("open");
        let writer = FifoOptions::new().nonblocking(true).stream(options).open(&path, Access::Write).expect("open");
        writer.set_nonblocking(false).expect("set");
        let second = first.clone();
        let got = Arc::new(AtomicUsize::new(0));
        let readers: Vec<_> = [first, second]
            .into_iter()
            .enumerate()
            .map(|(number, stream)| {
                let (got, random) = (got.clone(), Random(round * 2 + number as u64));
                std::thread::spawn(move || read_by_turns(stream, random, &got))
            })
            .collect();
        let mut random = Random(round);
        let mut left = TOTAL;
        while left > 0 {
            let len = (1 + random.below(300)).min(left);
            left -= writer.write(&[1; 300][..len]).expect("readers live");
            if random.one_in(50) {
                std::thread::sleep(Duration::from_micros(random.below(200) as u64));
            }
        }
        drop(writer);
        readers.into_iter().for_each(|reader| reader.join().expect("no panic"));
        assert_eq!(got.load(Ordering::Relaxed), TOTAL);
    }
}
