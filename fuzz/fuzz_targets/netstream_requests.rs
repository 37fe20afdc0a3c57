#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rookery_fuzzing::run("netstream_requests", bytes));
