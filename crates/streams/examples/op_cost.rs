//! What one write and one read cost in one process, with nobody waiting: the least of many runs.
use std::hint::black_box;
use std::time::Instant;

use headwater_shm::{Wait, pair};
use headwater_streams::pipe;

fn main() {
    let (mut ring_in, mut ring_out) = pair(64 << 10, Wait::Sleep).expect("ring");
    let (mut near, mut far) = pipe().expect("pipe");
    for size in [1, 8, 64, 256, 1024] {
        let message = vec![1; size];
        let mut buffer = vec![0; size];
        let ring = least(
            || ring_in.write_all(black_box(&message)).expect("room"),
            || {
                ring_out.read_exact(black_box(&mut buffer)).expect("there");
            },
        );
        let mut buffer = vec![0; size];
        let stream = least(
            || {
                near.write(black_box(&message)).expect("room");
            },
            || {
                far.read(black_box(&mut buffer)).expect("there");
            },
        );
        println!("{size:>5} B: ring {:.1} + {:.1} ns, stream {:.1} + {:.1} ns", ring.0, ring.1, stream.0, stream.1);
    }
}

fn least(mut write: impl FnMut(), mut read: impl FnMut()) -> (f64, f64) {
    const CALLS: u32 = 48;
    let mut best = (f64::MAX, f64::MAX);
    for _ in 0..5000 {
        let start = Instant::now();
        for _ in 0..CALLS {
            write()
        }
        let middle = Instant::now();
        for _ in 0..CALLS {
            read()
        }
        let end = Instant::now();
        let per = |from: Instant, to: Instant| (to - from).as_nanos() as f64 / f64::from(CALLS);
        best = (best.0.min(per(start, middle)), best.1.min(per(middle, end)));
    }
    best
}
