//! MurmurHash3 for x86, 32 bits (Austin Appleby, public domain), which scikit-learn's hashing uses.

/// The hash of `bytes`, as a signed number like scikit-learn's.
pub(crate) fn murmur3_32(bytes: &[u8], seed: u32) -> i32 {
    const C1: u32 = 0xcc9e_2d51;
    const C2: u32 = 0x1b87_3593;
    let mix = |k: u32| k.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2);
    let mut hash = seed;
    let (words, tail) = bytes.as_chunks::<4>();
    for word in words {
        hash ^= mix(u32::from_le_bytes(*word));
        hash = hash
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xe654_6b64);
    }
    let mut last = [0; 4];
    last[..tail.len()].copy_from_slice(tail);
    hash ^= mix(u32::from_le_bytes(last));
    hash ^= bytes.len() as u32;
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85eb_ca6b);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xc2b2_ae35);
    (hash ^ (hash >> 16)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hashes_to_zero() {
        assert_eq!(murmur3_32(b"", 0), 0);
    }

    #[test]
    fn every_length_of_tail_agrees_with_scikit_learn() {
        // sklearn.utils.murmurhash3_32(word, seed=0), version 1.9.1.
        for (word, expected) in TABLE {
            assert_eq!(murmur3_32(word.as_bytes(), 0), *expected, "{word}");
        }
    }

    const TABLE: &[(&str, i32)] = &[
        ("a", 1009084850),
        ("ab", -1681926305),
        ("abc", -1277324294),
        ("abcd", 1139631978),
        ("abcde", -392455434),
        ("fire", 925822997),
        ("wildfires", 1252330851),
        ("ångström", 367074754),
        ("東京", -1765863102),
        ("earthquake2015", 856693546),
    ];
}
