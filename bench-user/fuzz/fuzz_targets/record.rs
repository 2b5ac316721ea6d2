//! `cargo +nightly fuzz run record`: see `bench_fuzz::record`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bench_fuzz::record(data));
