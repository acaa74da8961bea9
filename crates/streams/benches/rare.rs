//! Measures rare messages on one CPU: the delay of each, by the clock that both processes share.
use headwater_os::{child::Child, clock::now_ns, cpu};
use std::time::Duration;
fn main() {
    let kernel = std::env::args().nth(1).as_deref() == Some("pipe");
    let (near, far) = headwater_streams::pipe().expect("pipe");
    let (mut source, mut sink) = std::io::pipe().expect("pipe");
    let (near, far) = (near, far);
    cpu::bind(1).expect("cpu");
    let mut child = Child::fork(|| {
        let mut delays = Vec::new();
        for _ in 0..3000 {
            let mut stamp = [0; 64];
            if kernel {
                std::io::Read::read_exact(&mut source, &mut stamp).expect("read");
            } else {
                far.read(&mut stamp).expect("read");
            }
            delays.push(now_ns() - u64::from_le_bytes(stamp[..8].try_into().expect("8")));
        }
        delays.sort_unstable();
        println!("p10 {} p50 {} p90 {}", delays[300], delays[1500], delays[2700]);
        if !kernel {
            println!("{:?}", far.counters());
        }
        0
    })
    .expect("fork");
    let mut took = Vec::new();
    for _ in 0..3000 {
        std::thread::sleep(Duration::from_micros(100));
        let mut stamp = [0; 64];
        let start = now_ns();
        stamp[..8].copy_from_slice(&start.to_le_bytes());
        if kernel {
            std::io::Write::write_all(&mut sink, &stamp).expect("write");
        } else {
            near.write(&stamp).expect("write");
        }
        took.push(now_ns() - start);
    }
    took.sort_unstable();
    println!("write p50 {}", took[1500]);
    child.wait().expect("wait");
}
