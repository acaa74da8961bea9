//! A table of autopush, and a request to the driver `sad`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    headwater_fuzz::autopush_lines(bytes);
});
