//! Output of netperf or lmbench, as `headwater import` reads it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    headwater_fuzz::output_of_others(bytes);
});
