//! A message of TPI.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    headwater_fuzz::primitive(bytes);
});
