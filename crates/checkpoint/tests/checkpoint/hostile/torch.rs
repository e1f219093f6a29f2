//! PyTorch's pickles and archives.

use super::*;

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
            "a list of 1 values, expected a key and its value",
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
