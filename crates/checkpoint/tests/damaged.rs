//! Damaged files of every format, cut short and with bytes changed: an error or a result, never a panic, and never more
//! memory than the file could fill.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

use anyhow::Result;
use totune_checkpoint::{Checkpoint, Format};

/// An allocator that notes the largest piece of memory that a thread requested.
struct Noting;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn note(size: usize) {
    // A thread that ends may free and allocate once more.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(size)));
}

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Noting = Noting;

/// Asserts that no request since the last time was for much more memory than a file of at most 40 kB can fill.
#[track_caller]
fn check_memory(format: Format) {
    let most = match format {
        // Its reader sets aside room for as many messages as a header of an object says, at most 65,535.
        Format::Hdf5 => 10 << 20,
        _ => 1 << 18,
    };
    let largest = LARGEST.take();
    assert!(largest < most, "{format}: {largest} bytes at once");
}

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/checkpoint")
        .join(name);
    std::fs::read(path).expect("a committed file")
}

/// Opens the bytes and reads all that is in them.
fn read(format: Format, bytes: Vec<u8>) -> Result<()> {
    read_all(&Checkpoint::read("weights", format, bytes)?)
}

fn read_all(checkpoint: &Checkpoint) -> Result<()> {
    let names: Vec<String> = checkpoint
        .tensors()
        .filter(|info| info.dtype.is_float())
        .map(|info| info.name.to_string())
        .collect();
    names
        .iter()
        .try_for_each(|name| checkpoint.tensor(name).map(drop))
}

fn read_tensorflow(index: Vec<u8>, data: Vec<u8>) -> Result<()> {
    read_all(&Checkpoint::read_tensorflow("weights", index, vec![data])?)
}

const SINGLE: [(Format, &str); 6] = [
    (Format::Safetensors, "safetensors/model.safetensors"),
    (Format::Pytorch, "pytorch/pytorch_model.bin"),
    (Format::Pytorch, "views.bin"),
    (Format::Pytorch, "pytorch-legacy/pytorch_model.bin"),
    (Format::Pytorch, "views-legacy.bin"),
    (Format::Hdf5, "elmo/tiny_weights.hdf5"),
];

/// Lengths to cut a file at: its ends byte by byte, its middle in steps.
fn cuts(len: usize) -> impl Iterator<Item = usize> {
    (0..len).filter(move |&at| at < 100 || at + 100 >= len || at.is_multiple_of(97))
}

#[test]
fn a_file_cut_short_anywhere_is_an_error() {
    for (format, name) in SINGLE {
        let bytes = fixture(name);
        read(format, bytes.clone()).expect("a whole file");
        for n in cuts(bytes.len()) {
            assert!(
                read(format, bytes[..n].to_vec()).is_err(),
                "{name} cut at {n}"
            );
        }
        check_memory(format);
    }
    let index = fixture("tensorflow/bert_model.ckpt.index");
    let data = fixture("tensorflow/bert_model.ckpt.data-00000-of-00001");
    read_tensorflow(index.clone(), data.clone()).expect("a whole checkpoint");
    for n in cuts(index.len()) {
        assert!(read_tensorflow(index[..n].to_vec(), data.clone()).is_err());
    }
    for n in cuts(data.len() - 8) {
        // The last eight bytes may be the step, which is no tensor of floats.
        assert!(read_tensorflow(index.clone(), data[..n].to_vec()).is_err());
    }
    check_memory(Format::Tensorflow);
}

/// About `n` places, evenly spread, and the first and last 100 bytes one by one.
fn places(len: usize, n: usize) -> impl Iterator<Item = usize> {
    let step = (len / n).max(1) | 1; // odd, so that it meets every part of fields of 2, 4 and 8 bytes
    (0..len).filter(move |&at| at < 100 || at + 100 >= len || at.is_multiple_of(step))
}

#[test]
fn a_changed_byte_is_an_error_or_an_answer() {
    for (format, name) in SINGLE {
        let bytes = fixture(name);
        for at in places(bytes.len(), 300) {
            for change in [0xff, 0x01] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                let _either = read(format, changed);
            }
        }
        check_memory(format);
    }
}

#[test]
fn numbers_made_huge_anywhere_are_an_error_or_an_answer() {
    for (format, name) in SINGLE {
        let bytes = fixture(name);
        for at in places(bytes.len() - 8, 100) {
            for width in [4, 8] {
                let mut changed = bytes.clone();
                changed[at..at + width].fill(0xff);
                let _either = read(format, changed.clone());
                changed[at + width - 1] = 0x7f;
                let _either = read(format, changed);
            }
        }
        check_memory(format);
    }
}

#[test]
fn checksums_find_every_change_in_a_tensorflow_checkpoint() {
    let index = fixture("tensorflow/bert_model.ckpt.index");
    let data = fixture("tensorflow/bert_model.ckpt.data-00000-of-00001");
    let footer = index.len() - 48;
    for at in 0..index.len() {
        let mut changed = index.clone();
        changed[at] ^= 0x40;
        let found = read_tensorflow(changed, data.clone());
        // The footer has no checksum, and bytes that nothing points to.
        assert!(
            at >= footer || found.is_err() || is_slack(&index, at),
            "byte {at}"
        );
    }
    for at in (0..data.len() - 8).step_by(3) {
        let mut changed = data.clone();
        changed[at] ^= 0x01;
        let error = read_tensorflow(index.clone(), changed).expect_err("a checksum");
        assert!(
            format!("{error:#}").contains("the file is damaged"),
            "byte {at}"
        );
    }
}

/// The metaindex block, which lists nothing and is not read: the 13 bytes before the index block.
fn is_slack(index: &[u8], at: usize) -> bool {
    let footer = &index[index.len() - 48..];
    let varint = |bytes: &[u8]| -> (usize, usize) {
        let n = bytes.iter().position(|byte| *byte < 0x80).expect("an end") + 1;
        let value = bytes[..n]
            .iter()
            .rev()
            .fold(0, |value, byte| value << 7 | usize::from(byte & 0x7f));
        (value, n)
    };
    let (offset, n) = varint(footer);
    let (size, _) = varint(&footer[n..]);
    (offset..offset + size + 5).contains(&at)
}

#[test]
fn a_checksum_finds_a_changed_element_in_a_zip_archive() {
    let bytes = fixture("pytorch/pytorch_model.bin");
    let safetensors = fixture("safetensors/model.safetensors");
    // The end of the other file's last tensor, which this file contains too.
    let tail = &safetensors[safetensors.len() - 32..];
    let at = bytes
        .windows(tail.len())
        .position(|window| window == tail)
        .expect("the same numbers");
    let mut changed = bytes;
    changed[at] ^= 1;
    let error = read(Format::Pytorch, changed).expect_err("a checksum");
    assert!(
        format!("{error:#}").contains("the file is damaged"),
        "{error:#}"
    );
}
