//! Measures the cost of opening and closing a FIFO: as the first process, and while another process has it open. Median
//! of many rounds.

use std::path::Path;
use std::time::Instant;

use headwater_os::child::Child;
use headwater_streams::{Access, Fifo, FifoOptions, Stream};

const ROUNDS: usize = 300;

fn open(path: &Path, access: Access) -> Stream {
    FifoOptions::new().nonblocking(true).open(path, access).expect("it may be opened")
}

fn median_us(mut round: impl FnMut() -> u64) -> f64 {
    let mut times: Vec<u64> = (0..ROUNDS).map(|_| round()).collect();
    times.sort_unstable();
    times[ROUNDS / 2] as f64 / 1000.0
}

fn timed<T>(header: impl FnOnce() -> T) -> (T, u64) {
    let start = Instant::now();
    let done = header();
    (done, start.elapsed().as_nanos() as u64)
}

fn main() {
    let directory = std::env::temp_dir().join(format!("headwater-fifo-cost-{}", std::process::id()));
    std::fs::create_dir(&directory).expect("a new directory");
    for mode in [0o600, 0o644, 0o666] {
        let path = directory.join(format!("{mode:o}"));
        Fifo::create(&path, mode).expect("mkfifo");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).expect("chmod");
        let first = median_us(|| timed(|| open(&path, Access::Read)).1);
        let both = median_us(|| timed(|| (open(&path, Access::Read), open(&path, Access::Write))).1);
        let closed = median_us(|| {
            let pair = (open(&path, Access::Read), open(&path, Access::Write));
            timed(|| drop(pair)).1
        });
        let (ready, told) = std::os::unix::net::UnixStream::pair().expect("pair");
        let mut holder = Child::fork(|| {
            let _pair = (open(&path, Access::Read), open(&path, Access::Write));
            std::io::Write::write_all(&mut &told, b"x").expect("it waits");
            std::thread::sleep(std::time::Duration::from_secs(600));
            0
        })
        .expect("fork");
        std::io::Read::read_exact(&mut &ready, &mut [0]).expect("it says so");
        let other = median_us(|| timed(|| open(&path, Access::Write)).1);
        let other_both = median_us(|| timed(|| drop((open(&path, Access::Read), open(&path, Access::Write)))).1);
        holder.kill();
        holder.wait().expect("wait");
        println!(
            "mode {mode:o}: first open {first:.1} us; both ends {both:.1} us, closing both {closed:.1} us; beside \
             another process: one end {other:.1} us, open and close of both ends {other_both:.1} us"
        );
    }
    std::fs::remove_dir_all(&directory).expect("it is ours");
}
