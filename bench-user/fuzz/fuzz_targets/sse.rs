//! `cargo +nightly fuzz run sse`: see `bench_fuzz::sse`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bench_fuzz::sse(data));
