//! Inputs of an encoder, made from texts.

mod encoding;
mod reader;
mod rows;

pub use encoding::InputEncoding;
pub use reader::Reader;
pub use rows::Rows;
