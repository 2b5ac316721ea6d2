//! `cargo +nightly fuzz run http1`: see `bench_fuzz::http1`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bench_fuzz::http1(data));
