//! `cargo +nightly fuzz run claims`: see `bench_fuzz::claims`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bench_fuzz::claims(data));
