//! What the fuzz targets do, apart from libFuzzer, so that `cargo test` can do the same with a few fixed inputs.
//!
//! A target is a function of bytes that ends with a panic where a reader breaks a promise. Those of one crate are in one
//! file, which knows no other crate of the project: the crate's own test includes it by its path.

pub mod checkpoint;
pub mod data;
pub mod fetch;
