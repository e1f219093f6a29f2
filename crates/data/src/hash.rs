//! SHA-256 as the hexadecimal text that cards and result rows carry.

use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The SHA-256 of `bytes` in lower-case hexadecimal, as `sha256sum` prints it.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to a string does not fail");
            text
        })
}

/// A hash over a sequence of fields in which no two different sequences look alike: each field is preceded by its
/// length.
pub(crate) struct FieldHash(Sha256);

impl FieldHash {
    pub(crate) fn new() -> Self {
        Self(Sha256::new())
    }

    pub(crate) fn add(&mut self, field: &str) {
        self.0.update((field.len() as u64).to_le_bytes());
        self.0.update(field);
    }

    pub(crate) fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_what_sha256sum_prints() {
        // printf abc | sha256sum
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(b"abc"), expected);
    }

    #[test]
    fn fields_do_not_run_into_each_other() {
        let hash = |fields: &[&str]| {
            let mut hash = FieldHash::new();
            fields.iter().for_each(|field| hash.add(field));
            hash.finish()
        };
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_ne!(hash(&["ab"]), hash(&["ab", ""]));
    }
}
