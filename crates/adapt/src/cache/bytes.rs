//! Storage of cached activations: in memory or in a mapped file.

use memmap2::Mmap;

/// Storage of the numbers.
#[derive(Debug)]
pub(super) enum Bytes {
    /// Memory of this process.
    Memory(Vec<u8>),
    /// A mapped file, from the given byte on.
    File(Mmap, usize),
}

impl Bytes {
    /// Returns all bytes.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::File(map, from) => &map[*from..],
        }
    }
}
