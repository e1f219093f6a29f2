//! Archives of the format zip.

use super::*;

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
