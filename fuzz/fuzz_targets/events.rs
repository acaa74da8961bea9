//! A `run.jsonl`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    headwater_fuzz::run_events(bytes);
});
