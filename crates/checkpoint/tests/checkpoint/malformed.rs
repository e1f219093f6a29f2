//! Malformed files of weights, and the error for each.
//!
//! A row is the fault, the bytes, and the words its error must have, in this order, with `..` for anything. Numbers in
//! them are sizes and offsets of the bytes next to them.

#![expect(clippy::too_many_lines, reason = "tables of cases")]

use totune_checkpoint::{Checkpoint, Format};

/// Opens, and reads every tensor; the first error.
fn open(format: Format, bytes: Vec<u8>) -> Result<(), String> {
    let read = || {
        let checkpoint = Checkpoint::read("file", format, bytes)?;
        let names: Vec<String> = checkpoint
            .tensors()
            .map(|info| info.name.to_string())
            .collect();
        names
            .iter()
            .try_for_each(|name| checkpoint.tensor(name).map(|_| ()))
    };
    read().map_err(|error: anyhow::Error| format!("{error:#}"))
}

#[track_caller]
fn check(what: &str, format: Format, bytes: Vec<u8>, words: &str) {
    let shown = bytes.escape_ascii().to_string();
    let Err(error) = open(format, bytes) else {
        panic!("{what}: read without an error: {shown}");
    };
    let mut rest = error
        .strip_prefix("file: ")
        .unwrap_or_else(|| panic!("{what}: no file in: {error}"));
    for part in words.split(" .. ") {
        let Some(at) = rest.find(part) else {
            panic!("{what}: no `{part}` at its place in: {error}");
        };
        rest = &rest[at + part.len()..];
    }
}

/// A safetensors file: the length of the header, the header, `n` bytes.
fn safetensors(header: &str, n: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(vec![0; n]);
    bytes
}

#[test]
fn safetensors_files() {
    let one = |dtype: &str, shape: &str, offsets: &str| {
        format!(r#"{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    let whole = one("F32", "[2]", "[0,8]");
    assert_eq!(open(Format::Safetensors, safetensors(&whole, 8)), Ok(()));
    let announced = |n: u64| [&n.to_le_bytes()[..], b"{}"].concat();
    let not_whole = "not a whole safetensors file (";
    for (what, bytes) in [
        ("nothing", vec![]),
        ("half a length", vec![2, 0, 0, 0]),
        ("a length alone", 2u64.to_le_bytes().to_vec()),
        ("a header of no bytes", 0u64.to_le_bytes().to_vec()),
        ("a header longer than the file", announced(3)),
        ("a header longer than memory", announced(u64::MAX)),
        ("a header of half the memory", announced(u64::MAX >> 1)),
        ("a header of a gigabyte", announced(1 << 30)),
        ("a header that is no JSON", safetensors("{a}", 0)),
        ("a header that is a list", safetensors("[]", 0)),
        ("a header that ends early", safetensors(&whole[..20], 8)),
        (
            "a header of Latin-1",
            [&3u64.to_le_bytes()[..], b"\"\xe9\""].concat(),
        ),
        ("two headers", safetensors("{}{}", 0)),
        ("a tensor that is a number", safetensors(r#"{"a":1}"#, 0)),
        (
            "an unknown type",
            safetensors(&one("F33", "[2]", "[0,8]"), 8),
        ),
        (
            "a shape of a fraction",
            safetensors(&one("F32", "[2.5]", "[0,8]"), 8),
        ),
        (
            "a shape below zero",
            safetensors(&one("F32", "[-2]", "[0,8]"), 8),
        ),
        (
            "a shape beyond 64 bits",
            safetensors(&one("F32", "[18446744073709551616]", "[0,8]"), 8),
        ),
        (
            "a shape whose product overflows",
            safetensors(&one("F32", "[4294967296,4294967296]", "[0,8]"), 8),
        ),
        (
            "a shape larger than its bytes",
            safetensors(&one("F32", "[3]", "[0,8]"), 8),
        ),
        (
            "a shape smaller than its bytes",
            safetensors(&one("F32", "[1]", "[0,8]"), 8),
        ),
        (
            "offsets the wrong way round",
            safetensors(&one("F32", "[2]", "[8,0]"), 8),
        ),
        (
            "offsets that begin late",
            safetensors(&one("F32", "[1]", "[4,8]"), 8),
        ),
        (
            "offsets beyond the file",
            safetensors(&one("F32", "[2]", "[0,8]"), 4),
        ),
        (
            "bytes that belong to nobody",
            safetensors(&one("F32", "[2]", "[0,8]"), 9),
        ),
        ("one offset", safetensors(&one("F32", "[2]", "[0]"), 8)),
        (
            "metadata that is no text",
            safetensors(r#"{"__metadata__":{"a":1}}"#, 0),
        ),
        (
            "two tensors that overlap",
            safetensors(
                r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#,
                3,
            ),
        ),
        (
            "a page of HTML",
            b"<!DOCTYPE html><html><body>404</body></html>".to_vec(),
        ),
        (
            "a Git LFS pointer",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n".to_vec(),
        ),
    ] {
        let n = bytes.len();
        check(
            what,
            Format::Safetensors,
            bytes,
            &format!("{not_whole}{n} bytes)"),
        );
    }
    check(
        "elements that are no numbers",
        Format::Safetensors,
        safetensors(&one("BOOL", "[2]", "[0,2]"), 2),
        "tensor `a` .. Bool, expected F32, F16, BF16 or F64",
    );
}

/// The bytes of a fixture.
fn fixture(name: &str) -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    std::fs::read(folder.join(name)).expect("a seed")
}

/// `bytes` with the first `from` replaced by `to`.
#[track_caller]
fn with(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|window| window == from);
    let at = at.expect("the bytes to replace");
    bytes.splice(at..at + from.len(), to.iter().copied());
    bytes
}

#[test]
fn files_of_pytorch() {
    let legacy = fixture("torch/plain-legacy.bin");
    let zip = fixture("torch/plain.bin");
    assert_eq!(open(Format::Pytorch, fixture("torch/views.bin")), Ok(()));
    let global = |name: &[u8]| with(legacy.clone(), b"ctorch._utils\n_rebuild_tensor_v2\n", name);
    for (what, bytes, words) in [
        ("nothing", vec![], "not a PyTorch file (0 bytes)"),
        (
            "text",
            b"hello".to_vec(),
            "not a PyTorch file (5 bytes): neither a zip archive nor the older format",
        ),
        (
            "safetensors",
            safetensors("{}", 0),
            "not a PyTorch file (10 bytes)",
        ),
        (
            "a zip archive cut after its first bytes",
            zip[..4].to_vec(),
            "not a whole PyTorch archive (4 bytes)",
        ),
        (
            "a zip archive without its directory",
            zip[..zip.len() / 2].to_vec(),
            "not a whole PyTorch archive (",
        ),
        (
            "a zip archive without its last byte",
            zip[..zip.len() - 1].to_vec(),
            "not a whole PyTorch archive (",
        ),
        (
            "a zip archive of something else",
            fixture("archive/stored.zip"),
            "no entry `data.pkl`: not what `torch.save` writes",
        ),
        (
            "another order of bytes",
            with(zip.clone(), b"little", b"big\0\0\0"),
            "entry `byteorder` .. the file is damaged",
        ),
        (
            "the older format cut after its number",
            legacy[..15].to_vec(),
            "the version",
        ),
        (
            "the older format cut in the pickle",
            legacy[..legacy.len() / 2].to_vec(),
            "the state dict",
        ),
        (
            "a storage cut short",
            legacy[..legacy.len() - 1].to_vec(),
            "storage `",
        ),
        (
            "bytes after the last storage",
            [&legacy[..], b"x"].concat(),
            "1 bytes follow the last storage, expected none",
        ),
        (
            "another version",
            with(legacy.clone(), b"M\xe9\x03.", b"M\xe8\x03."),
            "version of the format is 1000, expected 1001",
        ),
        (
            "a call of the system",
            global(b"cposix\nsystem\n"),
            "the state dict: .. posix",
        ),
        (
            "an evaluation",
            global(b"cbuiltins\neval\n"),
            "the state dict: .. builtins",
        ),
        (
            "a name of the same module",
            global(b"ctorch._utils\n_rebuild_sparse_tensor\n"),
            "the state dict: .. _rebuild_sparse_tensor",
        ),
        (
            "a name that does not end",
            global(b"ctorch._utils\n_rebuild"),
            "the state dict",
        ),
        ("an unknown instruction", global(b"\xff"), "the state dict"),
        (
            "an empty stack",
            with(legacy.clone(), b"ccollections\nOrderedDict\n", b"RRRR"),
            "the state dict",
        ),
    ] {
        check(what, Format::Pytorch, bytes, words);
    }
}

#[test]
fn hdf5_files() {
    let whole = fixture("hdf5/plain.hdf5");
    assert_eq!(open(Format::Hdf5, whole.clone()), Ok(()));
    for (what, bytes, words) in [
        ("nothing", vec![], "not a whole HDF5 file (0 bytes)"),
        ("text", b"hello".to_vec(), "not a whole HDF5 file (5 bytes)"),
        (
            "a signature alone",
            whole[..8].to_vec(),
            "not a whole HDF5 file (8 bytes)",
        ),
        (
            "half of a superblock",
            whole[..40].to_vec(),
            "not a whole HDF5 file (40 bytes)",
        ),
        (
            "a superblock of another version",
            [&whole[..8], &[9], &whole[9..]].concat(),
            "not a whole HDF5 file (",
        ),
        (
            "a signature with a line end converted",
            with(whole.clone(), b"\r\n\x1a\n", b"\n\x1a\n"),
            "not a whole HDF5 file (",
        ),
        (
            "the root's table missing",
            with(whole.clone(), b"TREE", b"TRE!"),
            "",
        ),
        (
            "the root's names missing",
            with(whole.clone(), b"HEAP", b"HEA!"),
            "",
        ),
        (
            "a node of names missing",
            with(whole.clone(), b"SNOD", b"SNO!"),
            "",
        ),
    ] {
        check(what, Format::Hdf5, bytes, words);
    }
}

#[test]
fn tensorflow_files() {
    let magic = 0xdb47_7524_8b80_fb57_u64.to_le_bytes();
    let footer = |handles: &[u8]| {
        let mut footer = handles.to_vec();
        footer.resize(40, 0);
        [&footer[..], &magic].concat()
    };
    let check = |what, index: Vec<u8>, words: &str| {
        let found = Checkpoint::read_tensorflow("file", index, vec![vec![0; 8]]);
        let error = format!(
            "{:#}",
            found.err().unwrap_or_else(|| panic!("{what}: read"))
        );
        assert!(
            error.starts_with("file: ") && error.contains(words),
            "{what}: no `{words}` in: {error}"
        );
    };
    for (what, bytes, words) in [
        ("nothing", vec![], "the table has no footer"),
        ("47 bytes", vec![0; 47], "the table has no footer"),
        (
            "48 bytes of nothing",
            vec![0; 48],
            "the table ends in 0000000000000000, expected db4775248b80fb57",
        ),
        (
            "a handle that does not end",
            footer(&[0xff; 40]),
            "an integer",
        ),
        (
            "an index beyond the file",
            footer(&[0, 0, 100, 1]),
            "100 bytes announced, 0 left",
        ),
        (
            "an index beyond memory",
            footer(&[0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 1]),
            "bytes announced, 0 left",
        ),
        (
            "an index without its checksum",
            footer(&[0, 0, 0, 0]),
            "5 bytes announced, 0 left",
        ),
        (
            "an index with a wrong checksum",
            [
                &[0, 0, 0, 0, 1, 0, 0, 0, 0, 9, 9, 9, 9][..],
                &footer(&[0, 0, 0, 8]),
            ]
            .concat(),
            "expected 09090909: the file is damaged",
        ),
    ] {
        check(what, bytes, words);
    }
}
