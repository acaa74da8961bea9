//! What names for streams cost: `cargo bench -p headwater-streams --bench attach_cost`.

use std::fs::{self, File};
use std::hint::black_box;
use std::time::{Duration, Instant};

use headwater_streams::attach::{detach, is_attached, is_attached_file};
use headwater_streams::{Result, Stream, pipe};

/// The median time of a call in 15 rounds.
fn time(what: &str, calls: u32, mut call: impl FnMut() -> Result<()>) -> Result<()> {
    let mut rounds = Vec::new();
    for _ in 0..15 {
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
    let (server, named) = pipe()?;
    named.push("connld")?;
    named.attach_to(&path)?;
    let serving = std::thread::spawn(move || while server.receive_file_from().is_ok() {});
    drop(named);
    time("open_attached of connld, until the server has received", 200, || Stream::open_attached(&path).map(drop))?;
    detach(&path)?;
    serving.join().expect("no panic");
    std::thread::sleep(Duration::from_millis(1));
    fs::remove_file(path)?;
    Ok(())
}
