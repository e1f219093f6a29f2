//! Archives that mean harm, and some that do not.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{Cursor, Write};

use ::tar::{Builder, EntryType, Header};
use ::zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};
use flate2::{Compression, write::GzEncoder};
use tempfile::TempDir;

use super::*;

/// A folder with an archive in it, and a file next to the staging folder that must stay as it is.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("archive"), bytes).unwrap();
        fs::write(folder.path().join("victim"), "untouched").unwrap();
        Self { folder }
    }

    fn unpack(&self, rules: &str) -> Result<Vec<(String, Vec<u8>)>> {
        let staging = self.folder.path().join("staging");
        let unpacked = unpack(
            &self.folder.path().join("archive"),
            &self::rules(rules),
            &staging,
            &AtomicBool::new(false),
        );
        let victim = fs::read_to_string(self.folder.path().join("victim")).unwrap();
        assert_eq!(victim, "untouched");
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            let name = entry.unwrap().file_name();
            assert!(
                ["archive", "victim", "staging"]
                    .iter()
                    .any(|known| name == *known),
                "{name:?} was written"
            );
        }
        for entry in fs::read_dir(&staging).unwrap() {
            assert!(
                entry.unwrap().file_type().unwrap().is_file(),
                "a link or a folder in the staging folder"
            );
        }
        Ok(unpacked?
            .into_iter()
            .map(|file| (file.to.to_string(), fs::read(file.staged).unwrap()))
            .collect())
    }
}

fn rules(text: &str) -> Unpack {
    #[derive(serde::Deserialize)]
    struct Card {
        unpack: Unpack,
    }
    let card: Card = toml::from_str(&format!("unpack = {{ {text} }}")).unwrap();
    card.unpack
}

/// A tar file of entries: raw name, type, content, and the target of a link.
fn tar(entries: &[(&[u8], EntryType, &[u8], &str)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, kind, content, target) in entries {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Replaces a name by one of the same length, in both places where a zip file has it.
fn rename(mut zip: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut found = 0;
    for at in 0..=zip.len() - from.len() {
        if &zip[at..at + from.len()] == from {
            zip[at..at + from.len()].copy_from_slice(to);
            found += 1;
        }
    }
    assert_eq!(found, 2);
    zip
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const FILE: EntryType = EntryType::Regular;
/// Names that leave their folder, or would on some system.
const LEAVING: [&[u8]; 10] = [
    b"../victim",
    b"a/../../victim",
    b"/etc/victim",
    b"..",
    b"a//b",
    b"C:/victim",
    b"C:victim",
    b"..\\victim",
    b"a/./b",
    b"a\x01b",
];

#[test]
fn every_format_gives_what_is_in_it() {
    let tar = tar(&[
        (b"./", EntryType::Directory, b"", ""),
        (b"./d/", EntryType::Directory, b"", ""),
        (b"./d/a.txt", FILE, b"alpha", ""),
        (b"b.txt", FILE, b"", ""),
    ]);
    let expected = vec![
        ("x/d/a.txt".to_string(), b"alpha".to_vec()),
        ("x/b.txt".to_string(), vec![]),
    ];
    for (bytes, format) in [
        (tar.clone(), "tar"),
        (gz(&tar), "tar-gz"),
        (zip(&[("d/a.txt", b"alpha"), ("b.txt", b"")]), "zip"),
    ] {
        assert_eq!(
            Scene::new(&bytes)
                .unpack(&format!("format = '{format}', to = 'x'"))
                .unwrap(),
            expected,
            "{format}"
        );
        let one = format!("format = '{format}', members = [{{ path = 'd/a.txt', to = 'y.txt' }}]");
        assert_eq!(
            Scene::new(&bytes).unpack(&one).unwrap(),
            [("y.txt".to_string(), b"alpha".to_vec())],
            "{format}"
        );
    }
    let single = Scene::new(&gz(b"alpha"))
        .unpack("format = 'gz', to = 'x/y.txt'")
        .unwrap();
    assert_eq!(single, [("x/y.txt".to_string(), b"alpha".to_vec())]);
}

#[test]
fn no_name_leads_out_of_the_target() {
    for name in LEAVING {
        for bytes in [
            tar(&[(name, FILE, b"evil", "")]),
            gz(&tar(&[(b"good", FILE, b"", ""), (name, FILE, b"evil", "")])),
        ] {
            let format = if bytes.starts_with(b"\x1f\x8b") {
                "tar-gz"
            } else {
                "tar"
            };
            let error = Scene::new(&bytes)
                .unpack(&format!("format = '{format}', to = 'x'"))
                .unwrap_err();
            assert_eq!(error.kind, Kind::Archive, "{name:?}: {error}");
        }
        let from = "x".repeat(name.len());
        let bytes = rename(zip(&[(&from, b"evil")]), from.as_bytes(), name);
        let error = Scene::new(&bytes)
            .unpack("format = 'zip', to = 'x'")
            .unwrap_err();
        assert_eq!(error.kind, Kind::Archive, "{name:?}: {error}");
    }
    let nul = rename(zip(&[("abcd", b"evil")]), b"abcd", b"a\0cd");
    assert!(Scene::new(&nul).unpack("format = 'zip', to = 'x'").is_err());
    let not_utf8 = tar(&[(b"\xff\xfe", FILE, b"evil", "")]);
    assert!(
        Scene::new(&not_utf8)
            .unpack("format = 'tar', to = 'x'")
            .is_err()
    );
}

#[test]
fn links_and_devices_are_refused() {
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
    ] {
        let bytes = tar(&[(b"a", kind, b"", "../victim"), (b"a", FILE, b"evil", "")]);
        let error = Scene::new(&bytes)
            .unpack("format = 'tar', to = 'x'")
            .unwrap_err();
        assert!(error.to_string().contains("a link or a device"), "{error}");
        let member = "format = 'tar', members = [{ path = 'a', to = 'b' }]";
        assert_eq!(
            Scene::new(&bytes).unpack(member).unwrap_err().kind,
            Kind::Archive
        );
    }
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer
        .add_symlink("a", "../victim", SimpleFileOptions::default())
        .unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    let error = Scene::new(&bytes)
        .unpack("format = 'zip', to = 'x'")
        .unwrap_err();
    assert!(error.to_string().contains("a link or a device"), "{error}");
}

#[test]
fn a_name_is_there_once() {
    for (first, second) in [(b"a.txt", b"a.txt"), (b"a.txt", b"A.TXT")] {
        let bytes = tar(&[(first, FILE, b"1", ""), (second, FILE, b"2", "")]);
        let error = Scene::new(&bytes)
            .unpack("format = 'tar', to = 'x'")
            .unwrap_err();
        assert!(error.to_string().contains("there twice"), "{error}");
    }
    let bytes = rename(zip(&[("a.txt", b"1"), ("b.txt", b"2")]), b"b.txt", b"a.txt");
    let error = Scene::new(&bytes)
        .unpack("format = 'zip', to = 'x'")
        .unwrap_err();
    assert!(error.to_string().contains("there twice"), "{error}");
}

#[test]
fn bombs_are_stopped() {
    let zeros = vec![0; 8 << 20];
    let many: Vec<(String, &[u8])> = (0..30).map(|n| (format!("{n}"), &b""[..])).collect();
    let many: Vec<(&str, &[u8])> = many
        .iter()
        .map(|(name, content)| (name.as_str(), *content))
        .collect();
    for (bytes, rules, words) in [
        (
            zip(&[("a", &zeros)]),
            "format = 'zip', to = 'x'",
            "more than 1",
        ),
        (gz(&zeros), "format = 'gz', to = 'x'", "more than 1"),
        (
            gz(&tar(&[(b"a", FILE, &zeros, "")])),
            "format = 'tar-gz', to = 'x'",
            "more than 1",
        ),
        // Skipped entries are unpacked, too.
        (
            gz(&tar(&[
                (b"skipped", FILE, &vec![0; 64 << 20], ""),
                (b"a", FILE, b"1", ""),
            ])),
            "format = 'tar-gz', members = [{ path = 'a', to = 'a' }], max-files = 2",
            "unpacks to more",
        ),
        (
            zip(&[("a", &zeros[..5000])]),
            "format = 'zip', to = 'x', max-bytes = 4999",
            "more than 4999 bytes",
        ),
        (
            zip(&many),
            "format = 'zip', to = 'x', max-files = 29",
            "more than 29 entries",
        ),
    ] {
        let error = Scene::new(&bytes).unpack(rules).unwrap_err();
        assert_eq!(error.kind, Kind::Archive, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn damage_is_noticed_wherever_it_is() {
    let tar = tar(&[
        (b"a.txt", FILE, &[7; 700], ""),
        (b"b.txt", FILE, b"beta", ""),
    ]);
    let whole = "members = [{ path = 'a.txt', to = 'a' }, { path = 'b.txt', to = 'b' }]";
    for (bytes, format) in [
        (tar.clone(), "tar"),
        (gz(&tar), "tar-gz"),
        (zip(&[("a.txt", &[7; 700]), ("b.txt", b"beta")]), "zip"),
    ] {
        let rules = format!("format = '{format}', {whole}");
        let right = Scene::new(&bytes).unpack(&rules).unwrap();
        for length in (0..bytes.len()).step_by(7) {
            // A tar file may lack its two empty blocks at the end, a gzip file's reader notices.
            if let Ok(files) = Scene::new(&bytes[..length]).unpack(&rules) {
                assert_eq!(files, right, "{format} cut after {length} bytes");
            }
        }
        for at in (0..bytes.len()).step_by(3) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            // Names of users and times may change and nothing comes of it; nothing may panic or escape.
            let _ = Scene::new(&flipped).unpack(&rules);
        }
    }
}

#[test]
fn members_are_what_the_card_says() {
    let bytes = zip(&[("a", b"alpha"), ("extra", b"")]);
    let sha = "0".repeat(64);
    for (member, words) in [
        ("path = 'b', to = 'b'", "it is not in the archive"),
        ("path = 'a', to = 'b', size = 4", "5 bytes; expected 4"),
        (
            &*format!("path = 'a', to = 'b', sha256 = '{sha}'"),
            "expected 000",
        ),
    ] {
        let error = Scene::new(&bytes)
            .unpack(&format!("format = 'zip', members = [{{ {member} }}]"))
            .unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}
