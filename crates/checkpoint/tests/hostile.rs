//! Files made to do harm: each is refused, and the message says what was found.

#![expect(clippy::too_many_lines, reason = "tables of cases")]

use std::fs;
use std::path::{Path, PathBuf};

use totune_checkpoint::{Checkpoint, Format};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/checkpoint")
        .join(name)
}

/// What is said of bytes when they are opened and all is read.
fn error(format: Format, bytes: Vec<u8>) -> String {
    let read = || -> anyhow::Result<()> {
        let checkpoint = Checkpoint::read("weights", format, bytes)?;
        let names: Vec<String> = checkpoint
            .tensors()
            .map(|info| info.name.to_string())
            .collect();
        names
            .iter()
            .try_for_each(|name| checkpoint.tensor(name).map(drop))
    };
    format!("{:#}", read().expect_err("a hostile file"))
}

#[track_caller]
fn check(format: Format, bytes: Vec<u8>, expected: &str) {
    let found = error(format, bytes);
    assert!(found.contains(expected), "`{expected}` is not in: {found}");
}

#[test]
fn a_pickle_that_would_run_a_command_is_refused_by_the_commands_name() {
    for name in ["hostile.bin", "hostile-legacy.bin"] {
        let bytes = fs::read(fixture(name)).expect("a file");
        check(
            Format::Pytorch,
            bytes,
            "the pickle names `posix.system`, which no state dict needs: refused",
        );
    }
}

/// A file of PyTorch's older format with this pickle for its state dict, and no storages.
fn legacy(pickle: &[u8]) -> Vec<u8> {
    let magic: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
    let version: &[u8] = b"\x80\x02M\xe9\x03.";
    let system: &[u8] = b"\x80\x02}X\x0d\x00\x00\x00little_endian\x88s.";
    let keys: &[u8] = b"\x80\x02].";
    [magic, version, system, pickle, keys].concat()
}

/// A state dict of one tensor `a`: a view with these numbers of a storage `0` of `n` floats, which follow.
fn view(offset: &[u8], size: &[u8], stride: &[u8], n: u32, floats: &[f32]) -> Vec<u8> {
    let n = n.to_le_bytes();
    let pickle = [
        &b"\x80\x02}X\x01\x00\x00\x00actorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"[..],
        b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuJ",
        &n,
        b"NtQ",
        offset,
        size,
        stride,
        b"\x89}tRs.",
    ]
    .concat();
    let mut bytes = legacy(&pickle);
    bytes.truncate(bytes.len() - 4); // the empty list of storages
    bytes.extend(b"\x80\x02]X\x01\x00\x00\x000a.");
    bytes.extend((floats.len() as u64).to_le_bytes());
    bytes.extend(floats.iter().flat_map(|float| float.to_le_bytes()));
    bytes
}

#[test]
fn a_view_is_read_and_one_that_reaches_too_far_is_not() {
    let four = [1.0, 2.0, 3.0, 4.0];
    let good = view(b"K\x01", b"K\x03\x85", b"K\x01\x85", 4, &four);
    let checkpoint = Checkpoint::read("weights", Format::Pytorch, good).expect("a state dict");
    assert_eq!(checkpoint.tensor("a").expect("a tensor").values, four[1..]);

    let long = |n: i64| [&[0x8a, 8][..], &n.to_le_bytes()].concat();
    let tuple = |n: i64| [long(n), b"\x85".to_vec()].concat();
    for (offset, size, stride, n, expected) in [
        (
            long(2),
            tuple(3),
            tuple(1),
            4,
            "reach outside the 4 elements",
        ),
        (
            long(0),
            tuple(5),
            tuple(1),
            4,
            "larger than the 16 bytes it is a view of",
        ),
        (
            long(0),
            tuple(1 << 40),
            tuple(0),
            4,
            "larger than the 16 bytes it is a view of",
        ),
        (
            long(0),
            tuple(i64::MAX),
            tuple(0),
            4,
            "more elements than memory",
        ),
        (
            long(0),
            tuple(2),
            tuple(i64::MAX),
            4,
            "reach outside the 4 elements",
        ),
        (
            long(i64::MAX),
            tuple(2),
            tuple(1),
            4,
            "reach outside the 4 elements",
        ),
        (long(-1), tuple(2), tuple(1), 4, "offset is -1"),
        (long(0), tuple(-2), tuple(1), 4, "size is -2"),
        (long(0), tuple(2), tuple(-1), 4, "stride is -1"),
        (long(0), tuple(2), b")".to_vec(), 4, "do not fit shape [2]"),
        (
            long(0),
            tuple(2),
            tuple(1),
            400,
            "should hold 400 elements of F32, found 16 bytes",
        ),
        (
            long(0),
            tuple(2),
            tuple(1),
            u32::MAX,
            "number of elements is -1",
        ),
        (
            long(0),
            b"N".to_vec(),
            tuple(1),
            4,
            "found None, expected a tuple",
        ),
    ] {
        check(
            Format::Pytorch,
            view(&offset, &size, &stride, n, &four),
            expected,
        );
    }
}

#[test]
fn pickles_that_misuse_the_machine_are_refused() {
    let deep = [&b"\x80\x02)"[..], &vec![0x85; 1_000_000], b"."].concat();
    let endless = [&b"\x80\x02"[..], &b"N0".repeat(2_100_000), b"}."].concat();
    for (pickle, expected) in [
        (&b"\x80\x02cos\nsystem\n."[..], "`os.system`"),
        (b"\x80\x04\x8c\x02nt\x8c\x06system\x93.", "`nt.system`"),
        (b"\x80\x02cbuiltins\neval\n.", "`builtins.eval`"),
        (
            b"\x80\x02ctorch.serialization\nload\n.",
            "`torch.serialization.load`",
        ),
        (
            b"\x80\x02ctorch._utils\n_rebuild_sparse_tensor\n.",
            "`torch._utils._rebuild_sparse_tensor`",
        ),
        (b"\x80\x02c\x1b[2J\nx\n.", r"`\u{1b}[2J.x`"),
        (b"\x80\x02cos", "a name does not end"),
        (b"\x80\x09N.", "protocol 9"),
        (b"\x80\x02}", "found a list, expected a dictionary"), // runs on into the next
        (
            b"\x80\x02X\xff\xff\xff\xffabc.",
            "the pickle ends in the middle",
        ),
        (
            b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xffabc.",
            "the pickle ends in the middle",
        ),
        (b"\x80\x02h\x07.", "value 7 was never remembered"),
        (
            b"\x80\x02j\xff\xff\xff\xff.",
            "value 4294967295 was never remembered",
        ),
        (b"\x80\x020.", "nothing on the stack"),
        (b"\x80\x02q\x00.", "nothing on the stack"),
        (b"\x80\x02e.", "no mark on the stack"),
        (b"\x80\x02NR.", "nothing on the stack"),
        (b"\x80\x02NNR.", "None is called, expected a class"),
        (b"\x80\x02NNs.", "nothing on the stack"),
        (b"\x80\x02NNNs.", "None on the stack, expected a dictionary"),
        (b"\x80\x02N(Ne.", "None on the stack, expected a list"),
        (b"\x80\x02}(Nu.", "a key without a value"),
        (b"\x80\x02NQ.", "found None, expected a tuple"),
        (b"\x80\x02)Q.", "it has 0 fields"),
        (b"\x80\x02\x85.", "fewer than 1 values"),
        (b"\x80\x02NNb.", "None is given a state"),
        (b"\x80\x02\x8a\x09123456789.", "an integer of 9 bytes"),
        (b"\x80\x02\x81.", "not an operation that state dicts use"),
        (b"\x80\x02i.", "not an operation that state dicts use"),
        (b"\x80\x02\xff.", "not an operation that state dicts use"),
        (
            b"\x80\x02N.",
            "found None, expected a dictionary of tensors",
        ),
        (
            b"\x80\x02}q\x00h\x00h\x00s.",
            "name of a tensor is a dictionary",
        ),
        (
            b"\x80\x02}X\x01\x00\x00\x00aK\x01s.",
            "entry `a` is an integer, expected a tensor",
        ),
        (b"\x80\x02}X\x01\x00\x00\x00\xffNs.", "text is not UTF-8"),
        (
            b"\x80\x02ccollections\nOrderedDict\nK\x01\x85R.",
            "OrderedDict is called with (an integer)",
        ),
        (
            b"\x80\x02ccollections\nOrderedDict\n]q\x00h\x00a\x85R.",
            "a key without a value",
        ),
        (
            b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.",
            "RebuildTensor is called with ()",
        ),
        (&deep, "found a tuple, expected a dictionary"),
        (&endless, "more than 4000000 steps"),
    ] {
        check(Format::Pytorch, legacy(pickle), expected);
    }
}

#[test]
fn archives_with_tricks_are_refused() {
    let whole = fs::read(fixture("pytorch/pytorch_model.bin")).expect("a file");
    let replaced = |from: &[u8], to: &[u8]| {
        let mut bytes = whole.clone();
        let mut at = 0;
        while let Some(found) = bytes[at..]
            .windows(from.len())
            .position(|window| window == from)
        {
            bytes[at + found..at + found + to.len()].copy_from_slice(to);
            at += found + to.len();
        }
        bytes
    };
    // The entry `data.pkl` in the directory: method at 10, size at 24 before its name at 46.
    let name = b"/data.pkl";
    let ends: Vec<usize> = whole
        .windows(name.len())
        .enumerate()
        .filter(|(_, window)| window == name)
        .map(|(at, _)| at)
        .collect();
    let folder = whole[..ends[1]]
        .windows(4)
        .rposition(|window| window == b"PK\x01\x02")
        .expect("an entry");
    let patched = |at: usize, to: &[u8]| {
        let mut bytes = whole.clone();
        bytes[folder + at..folder + at + to.len()].copy_from_slice(to);
        bytes
    };
    check(
        Format::Pytorch,
        replaced(b"/data.pkl", b"/data.pkx"),
        "no entry `data.pkl`: not what `torch.save` writes",
    );
    check(
        Format::Pytorch,
        replaced(b"/data/1", b"/data/0"),
        "two entries",
    );
    check(Format::Pytorch, patched(10, &[8, 0]), "compressed");
    check(
        Format::Pytorch,
        patched(24, &[0xf0, 0xff, 0xff, 0x7f]),
        "bytes",
    );
    check(
        Format::Pytorch,
        patched(20, &[0xf0, 0xff, 0xff, 0x7f, 0xf0, 0xff, 0xff, 0x7f]),
        "outside the file",
    );
    check(
        Format::Pytorch,
        b"PK\x03\x04 and no more".to_vec(),
        "not a whole PyTorch archive",
    );
    check(
        Format::Pytorch,
        b"<!doctype html>".to_vec(),
        "not a PyTorch file (15 bytes)",
    );
}

/// A safetensors file with this header, and `n` bytes of data.
fn safetensors(header: &str, n: usize) -> Vec<u8> {
    [
        &(header.len() as u64).to_le_bytes(),
        header.as_bytes(),
        &vec![0; n],
    ]
    .concat()
}

#[test]
fn safetensors_headers_that_lie_are_refused() {
    let nested = "[".repeat(100_000);
    for (header, n) in [
        ("", 0),
        ("{", 0),
        ("null", 0),
        ("[]", 0),
        (nested.as_str(), 0),
        (
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#,
            3,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#,
            5,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}"#,
            4,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}"#,
            5,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}"#,
            4,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}"#,
            4,
        ),
        (
            r#"{"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}}"#,
            4,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}}"#,
            4,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[4294967296,4294967296,1],"data_offsets":[0,0]}}"#,
            0,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]}}"#,
            4,
        ),
        (
            r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}}"#,
            6,
        ),
    ] {
        check(
            Format::Safetensors,
            safetensors(header, n),
            "not a whole safetensors file",
        );
    }
    for start in [u64::MAX, 1 << 40, 100_000_001] {
        let bytes = [&start.to_le_bytes()[..], b"{}"].concat();
        check(
            Format::Safetensors,
            bytes,
            "not a whole safetensors file (10 bytes)",
        );
    }
    let text = safetensors(
        r#"{"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}"#,
        8,
    );
    check(
        Format::Safetensors,
        text,
        "has type I64, expected F32, F16, BF16 or F64",
    );
}

#[test]
fn an_index_of_shards_stays_in_its_folder_and_agrees_with_the_shards() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for i in 1..3 {
        let name = format!("model-0000{i}-of-00002.safetensors");
        fs::copy(
            fixture("safetensors-sharded").join(&name),
            dir.path().join(&name),
        )
        .expect("a copy");
    }
    let path = dir.path().join("model.safetensors.index.json");
    let whole = fs::read_to_string(fixture("safetensors-sharded/model.safetensors.index.json"))
        .expect("an index");
    let first = "model-00001-of-00002.safetensors";
    for (index, expected) in [
        ("{".to_string(), "not an index of shards"),
        (r#"{"metadata":{}}"#.to_string(), "not an index of shards"),
        (
            r#"{"weight_map":{"a":"../b"}}"#.to_string(),
            "shard `../b` is not the name of a file",
        ),
        (
            r#"{"weight_map":{"a":"/etc/passwd"}}"#.to_string(),
            "is not the name of a file",
        ),
        (
            r#"{"weight_map":{"a":".."}}"#.to_string(),
            "is not the name of a file",
        ),
        (
            r#"{"weight_map":{"a":""}}"#.to_string(),
            "is not the name of a file",
        ),
        (
            whole.replace(first, "model-00003-of-00002.safetensors"),
            "cannot be read",
        ),
        (
            whole.replacen(first, "model-00002-of-00002.safetensors", 1),
            "that the index does not expect there",
        ),
        (
            whole.replacen("pooler.dense.bias", "pooler.dense.bjas", 1),
            "has",
        ),
        (
            format!(r#"{{"weight_map":{{"embeddings.LayerNorm.bias":"{first}"}}}}"#),
            "has",
        ),
    ] {
        fs::write(&path, index).expect("an index");
        let found = format!("{:#}", Checkpoint::open(&path).expect_err("a lying index"));
        assert!(found.contains(expected), "`{expected}` is not in: {found}");
    }
    fs::write(&path, whole).expect("an index");
    Checkpoint::open(dir.path()).expect("the index as it was");
}

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

#[test]
fn elmos_options_are_held_against_reason() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let whole = fs::read_to_string(fixture("elmo/tiny_options.json")).expect("options");
    let path = dir.path().join("options.json");
    for (from, to, expected) in [
        (
            "\"n_characters\": 262",
            "\"n_characters\": 500",
            "found 500, expected 261 or 262",
        ),
        (
            "\"relu\"",
            "\"gelu\"",
            "found `gelu`, expected `relu` or `tanh`",
        ),
        ("\"dim\": 6", "\"dim\": 0", "lstm.dim: found 0"),
        ("\"dim\": 6", "\"dim\": 1e9", "not ELMo's options"),
        (
            "\"dim\": 6",
            "\"dim\": 18446744073709551615",
            "lstm.dim: found 18446744073709551615",
        ),
        (
            "\"n_layers\": 2",
            "\"n_layers\": 1000000000",
            "lstm.n_layers: found 1000000000",
        ),
        (
            "\"n_highway\": 2",
            "\"n_highway\": -1",
            "not ELMo's options",
        ),
        ("\"proj_clip\": 3,", "", "missing field `proj_clip`"),
    ] {
        assert!(whole.contains(from), "{from}");
        fs::write(&path, whole.replace(from, to)).expect("a file");
        let found = totune_checkpoint::ElmoOptions::read(&path).expect_err("no such ELMo");
        let found = format!("{found:#}");
        assert!(found.contains(expected), "`{expected}` is not in: {found}");
    }
}
