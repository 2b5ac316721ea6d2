//! `cargo +nightly fuzz run links`: see `bench_fuzz::links`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bench_fuzz::links(data));
