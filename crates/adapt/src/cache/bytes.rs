//! Where the numbers of cached activations lie.

use memmap2::Mmap;

/// Where the numbers lie.
#[derive(Debug)]
pub(super) enum Bytes {
    /// In this process.
    Memory(Vec<u8>),
    /// In a mapped file, from the given byte on.
    File(Mmap, usize),
}

impl Bytes {
    /// All of them.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::File(map, from) => &map[*from..],
        }
    }
}
