//! Lines of `headwater-archive`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    headwater_fuzz::lines_of_archive(bytes);
});
