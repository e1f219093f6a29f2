//! Malformed and hostile archives: what is said of each, and that nothing of them is left behind.
//!
//! A row is what is wrong, the bytes, and the words its error must have, in this order, `..` standing for anything.

#![expect(clippy::too_many_lines, reason = "tables of cases")]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use totune_fetch::{Unpack, unpack};

/// Unpacks with the rules of a card; the names of the places, or the error without the folder's name.
fn open(rules: &str, bytes: &[u8]) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("archive");
    std::fs::write(&path, bytes).expect("an archive");
    let rules: Unpack = toml::from_str(rules).expect("rules as in a card");
    let staging = folder.path().join("staging");
    let found = unpack(&path, &rules, &staging, &AtomicBool::new(false));
    let beside: Vec<_> = std::fs::read_dir(folder.path())
        .expect("the folder")
        .collect();
    assert_eq!(beside.len(), 2, "{beside:?}");
    let shown = format!("{}/", folder.path().display());
    match found {
        Ok(files) => Ok(files.into_iter().map(|file| file.to.to_string()).collect()),
        Err(error) => Err(error.to_string().replace(&shown, "")),
    }
}

#[track_caller]
fn check(rules: &str, rows: &[(&str, Vec<u8>, &str)]) {
    for (what, bytes, words) in rows {
        let error = match open(rules, bytes) {
            Ok(files) => panic!("{what}: unpacked as {files:?}"),
            Err(error) => error,
        };
        let mut rest = error
            .strip_prefix("archive: ")
            .unwrap_or_else(|| panic!("{what}: {error}"));
        for part in words.split(" .. ") {
            let Some(at) = rest.find(part) else {
                panic!("{what}: no `{part}` at its place in: {error}");
            };
            rest = &rest[at + part.len()..];
        }
        assert!(
            rest.ends_with("nothing of it was put into place"),
            "{what}: {error}"
        );
    }
}

fn seed(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/archive");
    std::fs::read(folder.join(name)).expect("a seed")
}

/// `bytes` with each `from` replaced by `to`.
fn with(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut found = bytes.to_vec();
    let mut at = 0;
    let mut any = false;
    while let Some(next) = found[at..]
        .windows(from.len())
        .position(|window| window == from)
    {
        found.splice(at + next..at + next + from.len(), to.iter().copied());
        at += next + to.len();
        any = true;
    }
    assert!(any, "the bytes to replace");
    found
}

#[test]
fn zip_files() {
    let zip = seed("stored.zip");
    assert_eq!(
        open("format = 'zip'\nto = 'x'", &zip),
        Ok(vec!["x/a.txt".into(), "x/folder/b.txt".into()])
    );
    let named = |name: &[u8]| with(&zip, b"a.txt", name);
    // Offsets in the central directory: host and mode of `a.txt` come before its name.
    let central = zip
        .windows(4)
        .position(|w| w == b"PK\x01\x02")
        .expect("a directory");
    let changed = |offset: usize, bytes: &[u8]| {
        let mut found = zip.clone();
        found[central + offset..central + offset + bytes.len()].copy_from_slice(bytes);
        found
    };
    check(
        "format = 'zip'\nto = 'x'",
        &[
            ("nothing", vec![], "the archive is damaged"),
            ("text", b"hello".to_vec(), "the archive is damaged"),
            (
                "a page of HTML",
                b"<!DOCTYPE html><html></html>".repeat(9),
                "the archive is damaged",
            ),
            (
                "cut in half",
                zip[..zip.len() / 2].to_vec(),
                "the archive is damaged",
            ),
            (
                "without its last byte",
                zip[..zip.len() - 1].to_vec(),
                "the archive is damaged",
            ),
            (
                "a folder above",
                named(b"../ab"),
                "entry `../ab`: it has the part `..`",
            ),
            (
                "a file at the root",
                named(b"/a.tx"),
                "entry `/a.tx`: it starts at the root of the file system",
            ),
            ("a drive", named(b"C:a.t"), "entry `C:a.t`: it has a colon"),
            (
                "a folder of Windows",
                named(b"..\\ab"),
                "entry `..\\\\ab`: it has a backslash",
            ),
            (
                "a control character",
                named(b"a\x1b.tx"),
                "entry `a\\u{1b}.tx`: it has a control character",
            ),
            (
                "an empty part",
                named(b"a//tx"),
                "entry `a//tx`: it has an empty part",
            ),
            (
                "the folder itself",
                named(b"a/./t"),
                "entry `a/./t`: it has the part `.`",
            ),
            (
                "a name that is no text",
                named(b"a\xff\xfftx"),
                "its name is not UTF-8",
            ),
            (
                "content that is not what the checksum says",
                with(&zip, b"made up ", b"made uq "),
                "entry `a.txt`: the archive is damaged",
            ),
            (
                "a link",
                changed(41, &[0xa1]),
                "entry `a.txt`: it is a link or a device; expected a file",
            ),
            (
                "an unknown compression",
                changed(10, &[99]),
                "entry `a.txt`: the archive is damaged",
            ),
            (
                "a size that is not its own",
                changed(24, &[41]),
                "entry `a.txt`",
            ),
            (
                "an offset beyond the file",
                changed(42, &[0xff, 0xff]),
                "the archive is damaged",
            ),
        ],
    );
    check(
        "format = 'zip'\nmembers = [{ path = 'c.txt', to = 'c.txt' }]",
        &[(
            "a member that is not there",
            zip.clone(),
            "entry `c.txt`: it is not in the archive, and the card lists it",
        )],
    );
    check(
        "format = 'zip'\nmembers = [{ path = 'a.txt', to = 'c.txt', size = 39 }]",
        &[(
            "a member of another size",
            zip.clone(),
            "entry `a.txt`: 40 bytes; expected 39",
        )],
    );
    check(
        "format = 'zip'\nto = 'x'\nmax-files = 1",
        &[(
            "too many files",
            zip.clone(),
            "more than 1 entries; expected at most that many",
        )],
    );
    check(
        "format = 'zip'\nto = 'x'\nmax-bytes = 40",
        &[(
            "too many bytes",
            zip,
            "entry `folder/b.txt`: the archive unpacks to more than 40 bytes; expected at most 40",
        )],
    );
}

/// A tar file with one entry of the given name, kind and content.
fn tar(name: &[u8], kind: u8, content: &[u8]) -> Vec<u8> {
    let mut header = [0u8; 512];
    header[..name.len()].copy_from_slice(name);
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    header[136..148].copy_from_slice(b"00000000000\0");
    header[156] = kind;
    header[157..160].copy_from_slice(b"../");
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut bytes = header.to_vec();
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

#[test]
fn tar_files() {
    let end = [0u8; 1024];
    let whole = |entries: &[Vec<u8>]| [&entries.concat()[..], &end].concat();
    let good = tar(b"a.txt", b'0', b"made up");
    let rules = "format = 'tar'\nto = 'x'";
    assert_eq!(
        open(rules, &whole(std::slice::from_ref(&good))),
        Ok(vec!["x/a.txt".into()])
    );
    let mut sum = good.clone();
    sum[0] = b'b';
    let mut size = good.clone();
    size[124..136].copy_from_slice(b"9xyz9999999\0");
    check(
        rules,
        &[
            ("text", b"hello".to_vec(), "the archive is damaged"),
            (
                "a block of text",
                b"hello wo".repeat(64),
                "the archive is damaged",
            ),
            (
                "cut within a header",
                good[..300].to_vec(),
                "the archive is damaged",
            ),
            ("cut within a file", good[..515].to_vec(), "entry `a.txt`"),
            (
                "a header that is not what its checksum says",
                whole(&[sum]),
                "the archive is damaged",
            ),
            (
                "a size that is no number",
                whole(&[size]),
                "the archive is damaged",
            ),
            (
                "a folder above",
                whole(&[tar(b"../a", b'0', b"x")]),
                "entry `../a`: it has the part `..`",
            ),
            (
                "a folder above, further in",
                whole(&[tar(b"a/../../b", b'0', b"x")]),
                "entry `a/../../b`: it has the part `..`",
            ),
            (
                "a file at the root",
                whole(&[tar(b"/etc/a", b'0', b"x")]),
                "entry `/etc/a`: it starts at the root",
            ),
            (
                "a soft link",
                whole(&[tar(b"a", b'2', b"")]),
                "entry `a`: it is a link or a device",
            ),
            (
                "a hard link",
                whole(&[tar(b"a", b'1', b"")]),
                "entry `a`: it is a link or a device",
            ),
            (
                "a device",
                whole(&[tar(b"a", b'3', b"")]),
                "entry `a`: it is a link or a device",
            ),
            (
                "a pipe",
                whole(&[tar(b"a", b'6', b"")]),
                "entry `a`: it is a link or a device",
            ),
            (
                "an unknown kind",
                whole(&[tar(b"a", b'Z', b"")]),
                "entry `a`: it is a link or a device",
            ),
            (
                "a name twice",
                whole(&[good.clone(), good.clone()]),
                "entry `a.txt`: it is there twice; expected once",
            ),
            (
                "a name in two cases",
                whole(&[good.clone(), tar(b"A.TXT", b'0', b"x")]),
                "entry `A.TXT`: it is there twice",
            ),
            ("gzip", seed("a.tar.gz"), "the archive is damaged"),
            ("zip", seed("stored.zip"), "the archive is damaged"),
        ],
    );
    check(
        "format = 'tar'\nmembers = [{ path = 'a', to = 'b' }]",
        &[
            (
                "a member that is a folder",
                whole(&[tar(b"a/", b'5', b"")]),
                "entry `a/`: it is a folder; expected a file",
            ),
            (
                "a member that is a link",
                whole(&[tar(b"a", b'2', b"")]),
                "entry `a`: it is a link or a device",
            ),
            (
                "nothing at all",
                vec![],
                "entry `a`: it is not in the archive, and the card lists it",
            ),
        ],
    );
}

#[test]
fn gzip_files() {
    let packed = seed("one.gz");
    assert_eq!(
        open("format = 'gz'\nto = 'one'", &packed),
        Ok(vec!["one".into()])
    );
    let flipped = |at: usize| {
        let mut bytes = packed.clone();
        bytes[at] ^= 0xff;
        bytes
    };
    check(
        "format = 'gz'\nto = 'one'",
        &[
            (
                "text",
                b"hello, this is text".to_vec(),
                "entry `one`: the archive is damaged",
            ),
            (
                "cut within the header",
                packed[..5].to_vec(),
                "entry `one`: the archive is damaged",
            ),
            (
                "cut within the content",
                packed[..15].to_vec(),
                "entry `one`: the archive is damaged",
            ),
            (
                "without its last byte",
                packed[..packed.len() - 1].to_vec(),
                "entry `one`: the archive is damaged",
            ),
            (
                "another method than deflate",
                flipped(2),
                "entry `one`: the archive is damaged",
            ),
            (
                "a content that is not deflated",
                flipped(10),
                "entry `one`: the archive is damaged",
            ),
            (
                "another checksum",
                flipped(packed.len() - 6),
                "entry `one`: the archive is damaged",
            ),
            (
                "another length",
                flipped(packed.len() - 2),
                "entry `one`: the archive is damaged",
            ),
            (
                "text after the last member",
                [&packed[..], b"text"].concat(),
                "entry `one`: the archive is damaged",
            ),
        ],
    );
    check(
        "format = 'tar-gz'\nto = 'x'",
        &[
            (
                "gzip around no tar",
                packed.clone(),
                "the archive is damaged",
            ),
            (
                "no gzip",
                b"hello, this is text".to_vec(),
                "the archive is damaged",
            ),
        ],
    );
    check(
        "format = 'gz'\nto = 'one'\nmax-bytes = 30",
        &[(
            "more than the card allows",
            packed,
            "entry `one`: the archive unpacks to more than 30 bytes",
        )],
    );
}
