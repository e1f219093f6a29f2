//! The formats of weights that `totune-checkpoint` reads.

#[path = "refusal.rs"]
mod refusal;

use totune_checkpoint::{Checkpoint, Format};

type Target = fn(&[u8]);

/// The targets of this file, by the names of their folders of seeds.
pub const TARGETS: &[(&str, Target)] = &[
    ("hdf5", hdf5),
    ("safetensors", safetensors),
    ("tensorflow", tensorflow),
    ("torch", torch),
];

/// safetensors.
pub fn safetensors(bytes: &[u8]) {
    let found = Checkpoint::read("file", Format::Safetensors, bytes.to_vec());
    every_tensor(found, bytes);
}

/// A pickle of `torch.save`, in a zip archive or in the older form.
pub fn torch(bytes: &[u8]) {
    every_tensor(
        Checkpoint::read("file", Format::Pytorch, bytes.to_vec()),
        bytes,
    );
}

/// HDF5.
pub fn hdf5(bytes: &[u8]) {
    every_tensor(
        Checkpoint::read("file", Format::Hdf5, bytes.to_vec()),
        bytes,
    );
}

/// A TensorFlow index, and a table made of one block of it: its checksums are put right, which would otherwise stop
/// nearly all mutations at the door.
pub fn tensorflow(bytes: &[u8]) {
    for index in [bytes.to_vec(), table_of(bytes)] {
        let data = vec![vec![0; 64]];
        every_tensor(
            Checkpoint::read_tensorflow("file", index.clone(), data),
            &index,
        );
    }
}

/// Reads all tensors: none is larger than the file it is from, or thirty-two times that where it was compressed.
fn every_tensor(opened: anyhow::Result<Checkpoint>, bytes: &[u8]) {
    let checkpoint = match opened {
        Ok(checkpoint) => checkpoint,
        Err(error) => return refusal::check(&format!("{error:#}"), "file", bytes),
    };
    let infos: Vec<_> = checkpoint.tensors().collect();
    for info in infos {
        match checkpoint.tensor(info.name) {
            Ok(tensor) => {
                let n: usize = info.shape.iter().product();
                assert_eq!(
                    (tensor.shape.as_slice(), tensor.values.len()),
                    (info.shape, n)
                );
                assert!(
                    n <= 64 + 32 * bytes.len(),
                    "{n} values of {} bytes",
                    bytes.len()
                );
            }
            Err(error) => refusal::check(&format!("{error:#}"), "file", bytes),
        }
    }
}

/// A table with the one block `contents`.
fn table_of(contents: &[u8]) -> Vec<u8> {
    let mut table = Vec::new();
    let block = add_block(&mut table, contents);
    // One entry: nothing shared, a key of one byte, a value that says where the block is. Then one restart.
    let mut index = vec![0, 1, block.len() as u8, b'~'];
    index.extend(&block);
    index.extend([0, 0, 0, 0, 1, 0, 0, 0]);
    let index = add_block(&mut table, &index);
    let mut footer = [&block[..], &index[..]].concat();
    footer.resize(40, 0);
    table.extend(footer);
    table.extend(0xdb47_7524_8b80_fb57_u64.to_le_bytes());
    table
}

/// Adds an uncompressed block with its checksum; its handle.
fn add_block(table: &mut Vec<u8>, contents: &[u8]) -> Vec<u8> {
    let mut handle = Vec::new();
    varint(table.len(), &mut handle);
    varint(contents.len(), &mut handle);
    let start = table.len();
    table.extend(contents);
    table.push(0);
    let sum = crc32c::crc32c(&table[start..]);
    table.extend(sum.rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes());
    handle
}

fn varint(mut number: usize, bytes: &mut Vec<u8>) {
    while number > 127 {
        bytes.push((number & 127) as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}
