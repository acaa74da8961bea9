//! Measures one write and one read in one process, without waiting: the minimum of many runs. For a quick check after a
//! change; `headwater run why` is the one that measures with statistics.
//!
//! `cargo bench -p headwater-streams --bench op_cost`

use std::hint::black_box;
use std::time::Instant;

use headwater_ring::{Wait, pair};
use headwater_streams::{Options, Policy};

fn main() {
    let ways: [(&str, &[&str], Policy); 5] = [
        ("bare", &[], Policy::DEFAULT),
        ("nullmod", &["nullmod"], Policy::DEFAULT),
        ("4 nullmod", &["nullmod"; 4], Policy::DEFAULT),
        ("srvmod", &["srvmod"], Policy::DEFAULT),
        ("eager", &[], Policy::EAGER),
    ];
    print!("{:>6}  {:^13}", "bytes", "ring");
    ways.iter().for_each(|(name, ..)| print!("  {name:^13}"));
    println!("  {:^13}  {:^13}   (write + read, of messages putmsg + getmsg, ns)", "shared", "messages");
    for size in [1, 8, 64, 256, 1024, 4096] {
        let message = vec![1; size];
        let mut buffer = vec![0; size];
        let (mut ring_in, mut ring_out) = pair(1 << 20, Wait::Sleep).expect("ring");
        let ring = least(
            || ring_in.write_all(black_box(&message)).expect("room"),
            || ring_out.read_exact(black_box(&mut buffer)).expect("there"),
        );
        print!("{size:>6}  {:>5.1} + {:>5.1}", ring.0, ring.1);
        for (_, modules, policy) in ways {
            let options = Options::new().hiwat(1 << 18).policy(policy);
            let (near, far) = options.pipe().expect("pipe");
            modules.iter().for_each(|name| near.push(name).expect("known"));
            let (mut near, mut far) = (near.direct(), far.direct());
            let cost = least(
                || assert_eq!(near.write(black_box(&message)).expect("room"), size),
                || assert_eq!(far.read(black_box(&mut buffer)).expect("there"), size),
            );
            print!("  {:>5.1} + {:>5.1}", cost.0, cost.1);
        }
        let (near, far) = Options::new().hiwat(1 << 18).pipe().expect("pipe");
        let cost = least(
            || assert_eq!(near.write(black_box(&message)).expect("room"), size),
            || assert_eq!(far.read(black_box(&mut buffer)).expect("there"), size),
        );
        print!("  {:>5.1} + {:>5.1}", cost.0, cost.1);
        let mut control = [0; 4];
        let cost = least(
            || near.putmsg(Some(b"head"), Some(black_box(&message))).expect("room"),
            || {
                assert_eq!(
                    far.getmsg(Some(&mut control), Some(black_box(&mut buffer))).expect("there").data,
                    Some(size)
                )
            },
        );
        println!("  {:>5.1} + {:>5.1}", cost.0, cost.1);
    }
}

/// The minimal cost of a write and of a read, in runs of 48.
fn least(mut write: impl FnMut(), mut read: impl FnMut()) -> (f64, f64) {
    const CALLS: u32 = 48;
    let mut best = (f64::MAX, f64::MAX);
    for _ in 0..3000 {
        let start = Instant::now();
        (0..CALLS).for_each(|_| write());
        let middle = Instant::now();
        (0..CALLS).for_each(|_| read());
        let end = Instant::now();
        let per = |from: Instant, to: Instant| (to - from).as_nanos() as f64 / f64::from(CALLS);
        best = (best.0.min(per(start, middle)), best.1.min(per(middle, end)));
    }
    best
}
