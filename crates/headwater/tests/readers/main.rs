//! Readers of files take any bytes: files of each kind with random changes are read, and what is understood of them is shown. No
//! reader panics, takes more than some seconds, or more memory than a multiple of the file.
//!
//! `cargo xtask fuzz --part readers` runs the long form. A failure names its seed; `HEADWATER_SEED` repeats it. The folder `fuzz`
//! has the same readers with inputs that a search for new paths in the code finds.

mod feed;
mod limits;
mod mutate;
mod samples;

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use limits::limited;
use mutate::{Random, mutate};

#[global_allocator]
static ALLOCATOR: limits::Counting = limits::Counting;

/// A number from the environment, or the default.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Changes samples again and again and reads them. Some are still understood: else the changes are too wild.
fn campaign(samples: &[Vec<u8>], read: impl Fn(&[u8]) -> bool) {
    // The memory is that of the process.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (number, sample) in samples.iter().enumerate() {
        assert!(limited(|| format!("sample {number}"), || read(sample)), "sample {number} is not understood");
    }
    let time = Duration::from_secs(setting("HEADWATER_SECONDS", setting("HEADWATER_TIMES", 1)));
    let (start, first) = (Instant::now(), setting("HEADWATER_SEED", 1));
    let (mut seed, mut understood) = (first, 0);
    while start.elapsed() < time {
        let mut random = Random(seed);
        let mut bytes = random.one_of(samples).clone();
        mutate(&mut bytes, samples, &mut random);
        let case = || limited(|| format!("seed {seed}"), || read(&bytes));
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(case));
        understood += u64::from(done.unwrap_or_else(|_| panic!("failed with seed {seed}")));
        seed += 1;
    }
    let cases = seed - first;
    println!("seeds {first} to {}: {cases} files, {understood} of them understood", seed - 1);
    assert!(cases < 200 || understood * 500 >= cases, "{understood} of {cases} are understood");
}

#[test]
fn changed_documents_of_runs_are_read_or_refused() {
    campaign(&samples::documents(), feed::run_document);
}

#[test]
fn changed_events_of_runs_are_read_or_refused() {
    campaign(&samples::events(), feed::run_events);
}

#[test]
fn changed_output_of_other_programs_is_read_or_refused() {
    campaign(&samples::outputs(), feed::output_of_others);
}

#[test]
fn changed_lines_of_an_archive_are_read_or_refused() {
    campaign(&[samples::lines_of_archive()], feed::lines_of_archive);
}

#[test]
fn changed_tables_of_autopush_are_read_or_refused() {
    campaign(&samples::autopush_lines(), feed::autopush_lines);
    let directory = private_directory();
    campaign(&[samples::autopush_table()], |bytes| feed::autopush_table(directory.path(), bytes));
}

#[test]
fn changed_descriptions_of_traces_are_read_or_refused() {
    campaign(&[samples::metadata()], feed::metadata);
}

#[test]
fn changed_traces_are_read_or_refused_and_repaired() {
    let directory = private_directory();
    campaign(&[samples::trace()], |bytes| {
        feed::files_of(bytes, directory.path());
        feed::trace(directory.path())
    });
}

#[test]
fn changed_primitives_are_decoded_or_refused() {
    campaign(&samples::primitives(), feed::primitive);
}

/// Inputs that the targets in the folder `fuzz` have found.
#[test]
fn inputs_that_once_failed_are_read_or_refused() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers/found");
    let directory = private_directory();
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let bytes = std::fs::read(entry.path()).expect("a file");
        let name = entry.file_name().to_string_lossy().into_owned();
        limited(
            || name.clone(),
            || match name.split('.').next().expect("a name") {
                "document" => feed::run_document(&bytes),
                "events" => feed::run_events(&bytes),
                "output" => feed::output_of_others(&bytes),
                "lines" => feed::lines_of_archive(&bytes),
                "autopush" => feed::autopush_lines(&bytes),
                "metadata" => feed::metadata(&bytes),
                "primitive" => feed::primitive(&bytes),
                "trace" => {
                    feed::files_of(&bytes, directory.path());
                    feed::trace(directory.path())
                }
                other => panic!("{other}: no reader of that name"),
            },
        );
    }
}

/// A directory of this user alone, as a directory of devices must be.
fn private_directory() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o700)).expect("own");
    directory
}

/// The first inputs of the targets in the folder `fuzz`: without them a search takes hours to find the form of a file.
#[test]
#[ignore = "writes files into the repository's folder fuzz/corpus"]
fn samples_are_written_for_the_targets_of_fuzz() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let all = [
        ("document", samples::documents()),
        ("events", samples::events()),
        ("output", samples::outputs()),
        ("lines", vec![samples::lines_of_archive()]),
        ("autopush", samples::autopush_lines()),
        ("metadata", vec![samples::metadata()]),
        ("primitive", samples::primitives()),
        ("trace", vec![samples::trace()]),
    ];
    for (target, samples) in all {
        std::fs::create_dir_all(place.join(target)).expect("a directory");
        for (number, sample) in samples.iter().enumerate() {
            std::fs::write(place.join(target).join(format!("sample-{number}")), sample).expect("room");
        }
    }
}
