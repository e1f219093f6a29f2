#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| totune_fuzz::data::conll(bytes));
