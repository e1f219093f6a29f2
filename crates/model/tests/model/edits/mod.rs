//! Edits of an encoder's modules, compared with the libraries that people use for them.

mod adapters;
mod lora;
mod prefixes;
mod reference;
