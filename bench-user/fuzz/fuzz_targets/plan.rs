//! `cargo +nightly fuzz run plan`: see `bench_fuzz::plan`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bench_fuzz::plan(data));
