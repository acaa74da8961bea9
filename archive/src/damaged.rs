//! Archives of SQLite with random changes are read, added to and emptied: each call succeeds or fails with a message, in time.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use crate::archive::{self, Adder};
use crate::place::Place;
use crate::query::{Query, heads, labels};
use crate::record::{Form, Record};

use self::mutate::{Random, mutate};
use self::sample::Sample;

#[path = "../../crates/headwater/tests/readers/mutate.rs"]
mod mutate;
#[allow(dead_code, reason = "other tests use all of it")]
#[path = "../tests/archive/support/sample.rs"]
mod sample;

/// No case lasts longer, also on a busy machine: SQLite itself may walk over a damaged tree more than once.
const LONGEST: Duration = Duration::from_secs(30);

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

fn record(name: &str) -> Record {
    let sample = Sample { labels: vec![("rack".to_owned(), "3".to_owned())], ..Sample::named(name) };
    Record::of(Form::Events, sample.lines().into_bytes()).expect("a run")
}

/// Everything that commands do with an archive. Whether a run was read.
fn use_it(path: &Path) -> anyhow::Result<bool> {
    let place = Place::File(path.to_owned());
    let mut database = archive::open(&place, false)?;
    let database = database.as_mut();
    let query = Query::parse("", SystemTime::now())?;
    let found = heads(database, &query)?;
    labels(database, &query)?;
    let mut read = 0;
    for head in &found {
        read += usize::from(archive::read(database, head.id, head.form, &head.digest).is_ok());
    }
    let added = Adder::new(place).add(&record("new"));
    let removed = archive::remove(database, &found.iter().map(|head| head.id).collect());
    for error in [added.err(), removed.err()].into_iter().flatten() {
        assert!(!format!("{error:#}").is_empty());
    }
    Ok(read > 0)
}

#[test]
fn changed_archives_are_used_or_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("archive.sqlite");
    let mut adder = Adder::new(Place::File(path.clone()));
    for name in ["one", "two", "three"] {
        adder.add(&record(name)).expect("added");
    }
    drop(adder);
    let sound = fs::read(&path).expect("a file");
    let time = Duration::from_secs(setting("HEADWATER_SECONDS", setting("HEADWATER_TIMES", 1)));
    let (start, first) = (Instant::now(), setting("HEADWATER_SEED", 1));
    let (mut seed, mut read) = (first, 0);
    while start.elapsed() < time {
        let (mut random, mut bytes) = (Random(seed), sound.clone());
        mutate(&mut bytes, &[], &mut random);
        // A journal of the case before would be of another archive.
        for entry in fs::read_dir(directory.path()).expect("own").flatten() {
            fs::remove_file(entry.path()).expect("own");
        }
        fs::write(&path, bytes).expect("room");
        let begun = Instant::now();
        let used = catch_unwind(AssertUnwindSafe(|| use_it(&path)));
        let used = used.unwrap_or_else(|_| panic!("failed with seed {seed}"));
        assert!(begun.elapsed() < LONGEST, "seed {seed} took {:?}", begun.elapsed());
        match used {
            Ok(one) => read += u64::from(one),
            Err(error) => assert!(!format!("{error:#}").is_empty()),
        }
        seed += 1;
    }
    println!("seeds {first} to {}: {} archives, of {read} a run was read", seed - 1, seed - first);
    assert!(seed - first < 100 || read > 0);
}
