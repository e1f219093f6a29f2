//! Archives of the format tar.

use super::*;

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
    let good = tar(b"a.txt", b'0', b"synthetic");
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
