//! The checksum that a result table carries in its own metadata.
//!
//! It is the SHA-256 of the whole file, taken with zeros in the place of its digits. So it stands for every byte, and a
//! table is checked before it is decoded. Tables from before there were checksums have none.

use std::fs::File;
use std::io::{self, Read};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

/// Key of the checksum.
pub(crate) const KEY: &str = "totune.sha256";

/// The checksum as long as there is none.
pub(crate) const NONE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Bytes between key and value in a footer: the type of a field, and the length of the value.
const BETWEEN: &[u8] = &[0x18, NONE.len() as u8];

/// Writes a checksum into the end of a file, over [`NONE`]; returns where.
pub(crate) fn seal(end: &mut [u8], digits: &str) -> Result<usize> {
    let at = position(end).context("expected its key in the metadata")?;
    end[at..at + NONE.len()].copy_from_slice(digits.as_bytes());
    Ok(at)
}

/// Refuses a file whose checksum is wrong.
pub(crate) fn check(bytes: &[u8]) -> Result<()> {
    let Some(at) = position(bytes) else {
        return Ok(());
    };
    let found = String::from_utf8_lossy(&bytes[at..at + NONE.len()]);
    ensure!(
        *found == *digits(bytes, at),
        "its checksum is wrong: the file is damaged"
    );
    Ok(())
}

/// Whether a file has these digits at this place, and they are its checksum; without reading all of it at once.
pub(crate) fn is_of(file: &mut File, at: u64, digits: &str) -> io::Result<bool> {
    let mut hash = Sha256::new();
    add(&mut hash, &mut file.take(at))?;
    let mut found = [0; NONE.len()];
    file.read_exact(&mut found)?;
    hash.update(NONE);
    add(&mut hash, file)?;
    Ok(found == digits.as_bytes() && hex(hash) == digits)
}

/// Adds all that is left to read.
fn add(hash: &mut Sha256, from: &mut impl Read) -> io::Result<()> {
    let mut part = vec![0; 1 << 16];
    loop {
        match from.read(&mut part)? {
            0 => return Ok(()),
            length => hash.update(&part[..length]),
        }
    }
}

/// The checksum of a file; none in an earlier one.
pub(crate) fn of(bytes: &[u8]) -> Option<&str> {
    let at = position(bytes)?;
    std::str::from_utf8(&bytes[at..at + NONE.len()]).ok()
}

/// Position of the digits. They are looked for in the bytes, since the decoder trusts what it reads.
fn position(bytes: &[u8]) -> Option<usize> {
    let mark = [KEY.as_bytes(), BETWEEN].concat();
    let last = bytes.windows(mark.len()).rposition(|part| part == mark)?;
    let at = last + mark.len();
    (at + NONE.len() <= bytes.len()).then_some(at)
}

/// SHA-256 of a file with zeros from `at` on in place of the digits.
fn digits(bytes: &[u8], at: usize) -> String {
    let mut hash = Sha256::new();
    hash.update(&bytes[..at]);
    hash.update(NONE);
    hash.update(&bytes[at + NONE.len()..]);
    hex(hash)
}

/// A SHA-256 in digits.
pub(crate) fn hex(hash: Sha256) -> String {
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::EvalRow;
    use crate::parquet::{decode, tests::encode};
    use crate::rows::tests::eval;

    #[test]
    fn no_changed_bit_of_a_table_reaches_its_rows() {
        let rows = [eval()];
        let whole = encode(&rows);
        assert_eq!(of(&whole).unwrap().len(), NONE.len());
        let (mut refused, mut unchanged) = (0, 0);
        for bit in 0..8 * whole.len() {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            match decode::<EvalRow>(bytes, Path::new("evals.parquet")) {
                Ok(found) => {
                    assert_eq!(found, rows, "bit {bit}");
                    unchanged += 1;
                }
                Err(_) => refused += 1,
            }
        }
        // Only the checksum's own key can be changed: then it is one of another program.
        let mark = 8 * (KEY.len() + BETWEEN.len());
        assert!(unchanged <= mark && refused + unchanged == 8 * whole.len());
    }
}
