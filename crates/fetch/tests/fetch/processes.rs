//! Several processes, killed processes, processes without a network, and a full disk.
//!
//! The processes are this test program again, with `child` as its only test.
#![cfg(all(feature = "net", target_os = "linux"))]
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::server::{Server, ServerReply};
use crate::support::{MIB, bytes, fetch, files, job, settings, sha256};
use totune_fetch::Fetcher;

/// Variables with the input of a child process: the card, the root, and whether it is offline.
const CARD: &str = "TOTUNE_TEST_CARD";
const ROOT: &str = "TOTUNE_TEST_ROOT";
const OFFLINE: &str = "TOTUNE_TEST_OFFLINE";

#[test]
#[ignore = "what the tests here run as a process of its own"]
fn child() {
    let (Ok(card), Ok(root)) = (std::env::var(CARD), std::env::var(ROOT)) else {
        return; // `-- --ignored` by hand: no other test started this process
    };
    let offline = std::env::var(OFFLINE).unwrap_or_default();
    let fetcher = Fetcher::new(settings(&[("HF_HUB_OFFLINE", &offline)]));
    match fetch(&fetcher, &job(&card, Path::new(&root))) {
        Ok(fetched) => eprintln!("child: {} bytes", fetched.bytes),
        Err(error) => panic!("child: {:?}: {error}", error.kind),
    }
}

/// `before` is a program that runs the child, such as `strace` and its arguments.
fn command(before: &[&str], card: &str, root: &Path, offline: &str) -> Command {
    let own = std::env::current_exe().unwrap();
    let mut words: Vec<std::ffi::OsString> = before.iter().map(Into::into).collect();
    words.push(own.into());
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .args(["--ignored", "--exact", "processes::child", "--nocapture"]);
    command
        .env(CARD, card)
        .env(ROOT, root)
        .env(OFFLINE, offline);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn start(card: &str, root: &Path) -> Child {
    command(&[], card, root, "").spawn().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn card(server: &Server, file: &[u8]) -> String {
    let (url, sha256) = (server.at("/file"), sha256(file));
    format!(
        "[[fetch]]\nkind = 'url'\nurl = '{url}'\nto = 'a/file'\nsha256 = '{sha256}'\nsize = {}",
        file.len()
    )
}

#[test]
fn two_processes_fetch_a_file_once() {
    let (server, file) = (Server::start(), bytes(2 * MIB, 5));
    server.put("/file", &file);
    server.answer("/file", &[ServerReply::Slow(20_000)]);
    let root = tempfile::tempdir().unwrap();
    let card = card(&server, &file);
    let children: Vec<Child> = (0..4).map(|_| start(&card, root.path())).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }
    assert!(std::fs::read(root.path().join("a/file")).unwrap() == file);
    assert_eq!((server.count("GET"), server.sent()), (1, file.len()));
}

#[test]
fn a_process_killed_at_any_moment_leaves_nothing_wrong_and_the_next_one_finishes() {
    let file = bytes(MIB, 6);
    let (mut asked, mut rounds) = (0, 0);
    for round in 0..40 {
        let server = Server::start();
        server.put("/file", &file);
        server.answer(
            "/file",
            &[ServerReply::Slow(8_000), ServerReply::Slow(8_000)],
        );
        let root = tempfile::tempdir().unwrap();
        let card = card(&server, &file);
        let mut child = start(&card, root.path());
        // From before the first request to after the last byte.
        thread::sleep(Duration::from_millis(5 + 7 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        for name in files(root.path()) {
            assert_eq!(name, "a/file");
            assert!(
                std::fs::read(root.path().join(&name)).unwrap() == file,
                "a wrong file after {round} rounds"
            );
        }
        let partial = || -> Option<u64> {
            let own = std::fs::read_dir(root.path().join(".fetch"))
                .ok()?
                .flatten();
            let found = own
                .map(|entry| entry.path())
                .find(|path| path.extension().is_some_and(|end| end == "incomplete"));
            Some(std::fs::metadata(found?).ok()?.len())
        };
        let kept = partial().unwrap_or(0);
        let fetched = fetch(&Fetcher::new(settings(&[])), &job(&card, root.path())).unwrap();
        assert_eq!(files(root.path()), ["a/file"]);
        assert!(std::fs::read(root.path().join("a/file")).unwrap() == file);
        if fetched.from.is_some() {
            assert_eq!(
                fetched.bytes,
                file.len() as u64 - kept,
                "what was got was asked for again"
            );
            (asked, rounds) = (asked + fetched.bytes, rounds + 1);
        }
    }
    eprintln!(
        "{rounds} of 40 processes were killed before the end; {asked} bytes were left to fetch"
    );
    assert!(rounds > 0, "no process was killed in time");
}

#[test]
#[ignore = "needs strace"]
fn offline_makes_no_system_call_for_a_network() {
    let (server, file) = (Server::start(), bytes(1000, 7));
    server.put("/file", &file);
    let root = tempfile::tempdir().unwrap();
    let card = card(&server, &file);
    let strace = [
        "strace",
        "-f",
        "-qq",
        "-e",
        "trace=socket,connect,sendto,recvfrom",
    ];
    let online = command(&strace, &card, root.path(), "0").output().unwrap();
    assert!(
        said(&online).contains("connect("),
        "strace sees nothing: {}",
        said(&online)
    );
    std::fs::remove_dir_all(root.path()).unwrap();
    for (offline, expected) in [("1", "Offline"), ("on", "Offline")] {
        let output = command(&strace, &card, root.path(), offline)
            .output()
            .unwrap();
        assert!(said(&output).contains(expected), "{}", said(&output));
        for call in ["socket(", "connect(", "sendto(", "recvfrom("] {
            assert!(!said(&output).contains(call), "{}", said(&output));
        }
    }
    assert_eq!(server.accepted(), 1);
}

#[test]
#[ignore = "needs a network namespace (unshare -r -n)"]
fn what_is_there_needs_no_network() {
    let (server, file) = (Server::start(), bytes(1000, 7));
    server.put("/file", &file);
    let root = tempfile::tempdir().unwrap();
    let card = card(&server, &file);
    let namespace = ["unshare", "-r", "-n"];
    let output = command(&namespace, &card, root.path(), "")
        .output()
        .unwrap();
    assert!(
        said(&output).contains("Network"),
        "not even the loop is up: {}",
        said(&output)
    );
    assert_eq!(server.accepted(), 0);
    fetch(&Fetcher::new(settings(&[])), &job(&card, root.path())).unwrap();
    for offline in ["", "1"] {
        let output = command(&namespace, &card, root.path(), offline)
            .output()
            .unwrap();
        assert!(
            output.status.success() && said(&output).contains("child: 0 bytes"),
            "{}",
            said(&output)
        );
    }
}

#[test]
#[ignore = "needs a mount namespace (unshare -r -m)"]
fn a_full_disk_is_said_and_names_the_path() {
    let (server, file) = (Server::start(), bytes(2 * MIB, 8));
    server.put("/file", &file);
    let root = tempfile::tempdir().unwrap();
    // Without a size nothing can tell beforehand.
    let sizeless = card(&server, &file).replace(&format!("size = {}", file.len()), "");
    server.answer(
        "/file",
        &[ServerReply::Well, ServerReply::Chunks { ended: true }],
    );
    for (card, words) in [
        (card(&server, &file), "bytes are needed"),
        (sizeless, "cannot be written: No space left"),
    ] {
        let mount = format!(
            "mount -t tmpfs -o size=1m tmpfs {} && exec \"$0\" \"$@\"",
            root.path().display()
        );
        let own_mounts = ["unshare", "-r", "-m", "sh", "-c", &mount];
        let output = command(&own_mounts, &card, root.path(), "")
            .output()
            .unwrap();
        let said = said(&output);
        assert!(said.contains("DiskFull") && said.contains(words), "{said}");
        assert!(said.contains(root.path().to_str().unwrap()), "{said}");
    }
}
