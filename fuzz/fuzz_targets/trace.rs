//! A trace: its files, each with its length before it.
#![no_main]

use std::sync::LazyLock;

static DIRECTORY: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir_in("/dev/shm").expect("a directory"));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    headwater_fuzz::files_of(bytes, DIRECTORY.path());
    headwater_fuzz::trace(DIRECTORY.path());
});
