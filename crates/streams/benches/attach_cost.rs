//! What names for streams cost: `cargo bench -p headwater-streams --bench attach_cost`.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Instant;

use headwater_streams::attach::{detach, is_attached, is_attached_file};
use headwater_streams::{Listener, Result, Stream, pipe};

const ROUNDS: u32 = 15;

/// The median time of a call in these rounds.
fn time(what: &str, calls: u32, mut call: impl FnMut() -> Result<()>) -> Result<()> {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        rounds.push(begin.elapsed() / calls);
    }
    rounds.sort_unstable();
    println!("{what:60} {:>9.2} us", rounds[7].as_secs_f64() * 1e6);
    Ok(())
}

fn main() -> Result<()> {
    let path = std::env::temp_dir().join(format!("headwater-attach-cost-{}", std::process::id()));
    fs::write(&path, "")?;
    let file = File::open(&path)?;
    time("open(2) and close(2) of a plain file", 10_000, || {
        black_box(File::open(&path)?);
        Ok(())
    })?;
    time("is_attached_file, nothing is attached", 100_000, || {
        assert!(!is_attached_file(&file));
        Ok(())
    })?;
    time("is_attached, nothing is attached", 10_000, || {
        assert!(!is_attached(&path));
        Ok(())
    })?;
    time("open_attached, nothing is attached", 10_000, || {
        assert!(Stream::open_attached(&path)?.is_none());
        Ok(())
    })?;
    time("attach_to and detach", 200, || {
        let (_near, far) = pipe()?;
        far.attach_to(&path)?;
        detach(&path)
    })?;
    let (_near, far) = pipe()?;
    far.attach_to(&path)?;
    time("is_attached_file, a stream is attached", 100_000, || {
        assert!(is_attached_file(&file));
        Ok(())
    })?;
    time("open_attached and close", 500, || Stream::open_attached(&path).map(drop))?;
    detach(&path)?;
    fs::remove_file(&path)?;
    const CALLS: u32 = 200;
    let accepted = (ROUNDS * CALLS) as usize;
    let listener = Listener::bind(&path)?;
    let server = std::thread::spawn(move || listener.incoming().take(accepted).for_each(drop));
    time("Stream::connect, until it is accepted, and close", CALLS, || Stream::connect(&path).map(drop))?;
    server.join().expect("no panic");
    let listener = UnixListener::bind(&path)?;
    let server = std::thread::spawn(move || listener.incoming().take(accepted).for_each(drop));
    time("UnixStream::connect, until the server has closed, and close", CALLS, || {
        UnixStream::connect(&path)?.read_exact(&mut [0; 1]).expect_err("closed");
        Ok(())
    })?;
    server.join().expect("no panic");
    fs::remove_file(path)?;
    Ok(())
}
