//! The file `metadata` of a trace.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    headwater_fuzz::metadata(bytes);
});
