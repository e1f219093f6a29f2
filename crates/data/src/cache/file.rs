//! An entry as bytes, all numbers little-endian:
//!
//! ```text
//! 8    b"totuneE1"
//! 64   the key, in hexadecimal
//! 8    rows
//! 8    ids in all
//! 4    bytes of an id: 2 or 4
//! 4·n  ids of each row
//! 4·n  of those, how many have type 0; the others have type 1
//! …    ids of all rows, one after the other
//! 32   SHA-256 of all before
//! ```

use crate::Encoded;
use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 8] = b"totuneE1";
const KEY: usize = 64;
const HEADER: usize = 8 + KEY + 8 + 8 + 4;
const CHECKSUM: usize = 32;

/// The entry for `encoded`.
pub(super) fn encode(key: &str, encoded: &[Encoded]) -> Vec<u8> {
    let total: usize = encoded.iter().map(|row| row.ids.len()).sum();
    let ids = || encoded.iter().flat_map(|row| &row.ids);
    let width = if ids().all(|&id| id <= u32::from(u16::MAX)) {
        2
    } else {
        4
    };
    let size = HEADER + 8 * encoded.len() + width * total + CHECKSUM;
    let mut bytes = Vec::with_capacity(size);
    bytes.extend_from_slice(MAGIC);
    assert_eq!(key.len(), KEY, "a key is 64 hexadecimal digits");
    bytes.extend_from_slice(key.as_bytes());
    bytes.extend_from_slice(&(encoded.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(total as u64).to_le_bytes());
    bytes.extend_from_slice(&(width as u32).to_le_bytes());
    for row in encoded {
        bytes.extend_from_slice(&(row.ids.len() as u32).to_le_bytes());
    }
    for row in encoded {
        let first = row
            .type_ids
            .iter()
            .take_while(|type_id| **type_id == 0)
            .count();
        debug_assert!(row.type_ids[first..].iter().all(|type_id| *type_id == 1));
        bytes.extend_from_slice(&(first as u32).to_le_bytes());
    }
    for &id in ids() {
        match width {
            2 => bytes.extend_from_slice(&(id as u16).to_le_bytes()),
            _ => bytes.extend_from_slice(&id.to_le_bytes()),
        }
    }
    let checksum = Sha256::digest(&bytes);
    bytes.extend_from_slice(&checksum);
    bytes
}

/// The rows in `bytes`, which must be a whole entry of `rows` rows for `key`.
pub(super) fn decode(bytes: &[u8], key: &str, rows: usize) -> Result<Vec<Encoded>> {
    ensure!(
        bytes.len() >= HEADER + CHECKSUM && bytes.starts_with(MAGIC),
        "not an entry of this version"
    );
    let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
    let number = |at: usize| {
        let field: [u8; 8] = content[at..at + 8].try_into().expect("eight bytes");
        usize::try_from(u64::from_le_bytes(field)).unwrap_or(usize::MAX)
    };
    let (found, total) = (number(8 + KEY), number(8 + KEY + 8));
    let width = word(&content[HEADER - 4..HEADER]);
    ensure!(
        width == 2 || width == 4,
        "ids of {width} bytes; expected 2 or 4"
    );
    let size = found
        .checked_mul(8)
        .zip(total.checked_mul(width))
        .and_then(|(lengths, ids)| lengths.checked_add(ids)?.checked_add(HEADER))
        .context("impossible sizes")?;
    ensure!(
        size == content.len(),
        "{} bytes; expected {}",
        bytes.len(),
        size.saturating_add(CHECKSUM)
    );
    ensure!(
        Sha256::digest(content).as_slice() == checksum,
        "the checksum is wrong"
    );
    ensure!(
        &content[8..8 + KEY] == key.as_bytes() && found == rows,
        "an entry of something else"
    );
    let (lengths, rest) = content[HEADER..].split_at(4 * rows);
    let (firsts, mut ids) = rest.split_at(4 * rows);
    let mut encoded = Vec::with_capacity(rows);
    for (length, first) in lengths.chunks_exact(4).zip(firsts.chunks_exact(4)) {
        let (length, first) = (word(length), word(first));
        ensure!(
            first <= length && length.saturating_mul(width) <= ids.len(),
            "a row of {length} ids does not fit"
        );
        let (own, rest) = ids.split_at(length * width);
        ids = rest;
        let mut type_ids = Vec::with_capacity(length);
        type_ids.resize(first, 0);
        type_ids.resize(length, 1);
        let own = own.chunks_exact(width);
        encoded.push(Encoded {
            ids: match width {
                2 => own
                    .map(|id| u32::from(u16::from_le_bytes([id[0], id[1]])))
                    .collect(),
                _ => own.map(|id| word(id) as u32).collect(),
            },
            type_ids,
            ..Encoded::default()
        });
    }
    ensure!(ids.is_empty(), "{} bytes of no row", ids.len());
    Ok(encoded)
}

fn word(bytes: &[u8]) -> usize {
    u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            rows in prop::collection::vec((prop::collection::vec(0u32..70_000, 0..9), 0usize..9), 0..9)
        ) {
            let encoded: Vec<Encoded> = rows
                .into_iter()
                .map(|(ids, first)| {
                    let type_ids = (0..ids.len()).map(|at| u8::from(at >= first)).collect();
                    Encoded { ids, type_ids, ..Encoded::default() }
                })
                .collect();
            let key = "a".repeat(KEY);
            let bytes = encode(&key, &encoded);
            prop_assert_eq!(decode(&bytes, &key, encoded.len()).expect("an entry"), encoded.clone());
            prop_assert!(decode(&bytes, &"b".repeat(KEY), encoded.len()).is_err());
            prop_assert!(decode(&bytes, &key, encoded.len() + 1).is_err());
        }

        /// Invented sizes are not trusted, whatever the checksum.
        #[test]
        fn invented_sizes_are_refused(numbers in prop::collection::vec(any::<u64>(), 2), width in any::<u32>()) {
            let key = "a".repeat(KEY);
            let mut bytes = encode(&key, &[]);
            bytes[8 + KEY..8 + KEY + 8].copy_from_slice(&numbers[0].to_le_bytes());
            bytes[8 + KEY + 8..HEADER - 4].copy_from_slice(&numbers[1].to_le_bytes());
            bytes[HEADER - 4..HEADER].copy_from_slice(&width.to_le_bytes());
            bytes.truncate(HEADER);
            let checksum = Sha256::digest(&bytes);
            bytes.extend_from_slice(&checksum);
            prop_assume!(numbers != [0, 0]);
            prop_assert!(decode(&bytes, &key, numbers[0] as usize).is_err());
        }
    }
}
