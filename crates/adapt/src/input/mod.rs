//! From texts to the rows that an encoder reads.

mod encoding;
mod reader;
mod rows;

pub use encoding::InputEncoding;
pub use reader::Reader;
pub use rows::Rows;
