//! Measures the cost of opening and closing a pipe, with and without a byte through it.
use headwater_os::clock::now_ns;
fn main() {
    for byte in [false, true] {
        let mut best = u64::MAX;
        let mut all = Vec::new();
        for _ in 0..2000 {
            let start = now_ns();
            let (near, far) = headwater_streams::pipe().expect("pipe");
            if byte {
                near.write(b"x").expect("room");
                far.read(&mut [0]).expect("there");
            }
            drop((near, far));
            let took = now_ns() - start;
            best = best.min(took);
            all.push(took);
        }
        all.sort_unstable();
        println!("byte {byte}: least {best} ns, median {} ns", all[1000]);
    }
}
