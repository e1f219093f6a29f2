//! TensorFlow's index: a table of LevelDB with entries of protocol buffers.

use super::*;

/// LevelDB's table with these entries in one block, and its index block; `pack` compresses both.
fn table(entries: &[(&str, Vec<u8>)], pack: impl Fn(&[u8]) -> (u8, Vec<u8>)) -> Vec<u8> {
    let masked = |bytes: &[u8]| {
        crc32c::crc32c(bytes)
            .rotate_right(15)
            .wrapping_add(0xa282_ead8)
    };
    let mut file = Vec::new();
    let mut add = |entries: &[(&str, Vec<u8>)]| -> Vec<u8> {
        let mut block = Vec::new();
        for (key, value) in entries {
            block.push(0);
            block.extend(varint(key.len()));
            block.extend(varint(value.len()));
            block.extend(key.as_bytes());
            block.extend(value);
        }
        block.extend(0u32.to_le_bytes());
        block.extend(1u32.to_le_bytes());
        let (kind, mut packed) = pack(&block);
        let handle = [varint(file.len()), varint(packed.len())].concat();
        packed.push(kind);
        file.extend(&packed);
        file.extend(masked(&packed).to_le_bytes());
        handle
    };
    let block = add(entries);
    let index = add(&[("~", block.clone())]);
    let mut footer = [block, index].concat();
    footer.resize(40, 0);
    footer.extend(0xdb47_7524_8b80_fb57u64.to_le_bytes());
    file.extend(footer);
    file
}

fn varint(mut n: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while n >= 0x80 {
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
    bytes
}

/// An entry of the index: F32, with these fields.
fn entry(shape: &[usize], shard: usize, offset: usize, size: usize, crc: u32) -> Vec<u8> {
    let mut dims = Vec::new();
    for &dim in shape {
        let dim = [vec![0x08], varint(dim)].concat();
        dims.extend([vec![0x12], varint(dim.len()), dim].concat());
    }
    [
        vec![0x08, 1, 0x12],
        varint(dims.len()),
        dims,
        vec![0x18],
        varint(shard),
        vec![0x20],
        varint(offset),
        vec![0x28],
        varint(size),
        vec![0x35],
        crc.to_le_bytes().to_vec(),
    ]
    .concat()
}

const HEADER: &[u8] = &[0x08, 1]; // one data file

fn stored(block: &[u8]) -> (u8, Vec<u8>) {
    (0, block.to_vec())
}

#[test]
fn a_compressed_index_is_read_and_a_lying_one_is_not() {
    let data: Vec<u8> = [1.5f32, -2.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let sum = crc32c::crc32c(&data)
        .rotate_right(15)
        .wrapping_add(0xa282_ead8);
    let good = [("", HEADER.to_vec()), ("a", entry(&[2], 0, 0, 8, sum))];
    let snappy = |block: &[u8]| {
        let packed = snap::raw::Encoder::new()
            .compress_vec(block)
            .expect("packed");
        (1, packed)
    };
    for index in [table(&good, stored), table(&good, snappy)] {
        let checkpoint = Checkpoint::read_tensorflow("weights", index, vec![data.clone()])
            .expect("a checkpoint");
        assert_eq!(
            checkpoint.tensor("a").expect("a tensor").values,
            [1.5, -2.0]
        );
    }

    let with = |value: Vec<u8>| table(&[("", HEADER.to_vec()), ("a", value)], stored);
    // A block of snappy that says it unpacks to four gigabytes.
    let bomb = |_: &[u8]| (1, vec![0xff, 0xff, 0xff, 0xff, 0x0f, 0x00]);
    let mut no_magic = table(&good, stored);
    *no_magic.last_mut().expect("a byte") ^= 1;
    for (index, expected) in [
        (with(entry(&[2], 0, 0, 8, sum ^ 1)), "masked crc-32c"),
        (with(entry(&[3], 0, 0, 8, sum)), "takes 12 bytes, found 8"),
        (
            with(entry(&[2], 0, 1, 8, sum)),
            "outside the file of 8 bytes",
        ),
        (
            with(entry(&[2], 0, usize::MAX, 8, sum)),
            "outside the file of 8 bytes",
        ),
        (
            with(entry(&[1 << 62], 0, 0, 8, sum)),
            "more elements than memory",
        ),
        (
            with(entry(&[1 << 32, 1 << 32], 0, 0, 8, sum)),
            "more elements than memory",
        ),
        (
            with(entry(&[1; 17], 0, 0, 4, sum)),
            "more than 16 dimensions",
        ),
        (with(entry(&[2], 1, 0, 8, sum)), "lies in data file 1 of 1"),
        (with(vec![0x0b]), "wire type 3"),
        (with(vec![0x12, 0x7f]), "127 bytes announced, 0 left"),
        (
            with([vec![0x08], vec![0x80; 11]].concat()),
            "an integer of more than 64 bits",
        ),
        (with(vec![0x08, 0xff]), "an integer does not end"),
        (
            with([entry(&[2], 0, 0, 8, sum), vec![0x3a, 0]].concat()),
            "is stored in slices",
        ),
        (table(&good[1..], stored), "the index has no header"),
        (table(&[("", vec![0x08, 0])], stored), "0 data files"),
        (
            table(&[("", vec![0x08, 2])], stored),
            "1 data files, but the index names 2",
        ),
        (
            table(&[("", [&[0x08][..], &varint(usize::MAX)].concat())], stored),
            "data files",
        ),
        (table(&[("", vec![0x08, 1, 0x10, 1])], stored), "big-endian"),
        (table(&good, |block| (7, block.to_vec())), "compression 7"),
        (table(&good, bomb), "a block of 4294967295 bytes"),
        (
            table(&good, |_| (0, vec![0xff; 4])),
            "restarts in a block of 4 bytes",
        ),
        (table(&good, |_| (0, Vec::new())), "a block without its end"),
        (
            table(&good, |_| (0, vec![9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
            "a key shares 9 bytes",
        ),
        (no_magic, "the table ends in"),
        (vec![0; 47], "the table has no footer"),
    ] {
        let read =
            || Checkpoint::read_tensorflow("weights", index, vec![data.clone()])?.tensor("a");
        let found = format!("{:#}", read().expect_err("a lying index"));
        assert!(found.contains(expected), "`{expected}` is not in: {found}");
    }
}
