//! A server with every conceivable fault: nothing wrong gets into place, and received bytes are kept.
#![cfg(feature = "net")]
#![allow(clippy::unwrap_used)]

mod addresses;
mod consent;

use std::sync::atomic::AtomicBool;

use crate::support::server::{Server, ServerReply};
use crate::support::{MIB, bytes, fetch, files, job, settings, sha256};
use tempfile::TempDir;
use totune_fetch::{Allow, Fetcher, Job, Kind, Silent};

/// A server with `/file` of 3 MiB, and a job for it.
struct Scene {
    server: Server,
    root: TempDir,
    file: Vec<u8>,
    fetcher: Fetcher,
}

impl Scene {
    fn new(answers: &[ServerReply]) -> Self {
        let server = Server::start();
        let file = bytes(3 * MIB, 1);
        server.put("/file", &file);
        server.answer("/file", answers);
        Self {
            server,
            root: tempfile::tempdir().unwrap(),
            file,
            fetcher: Fetcher::new(settings(&[])),
        }
    }

    /// A card's entry with further lines.
    fn job(&self, lines: &str) -> Job {
        let url = self.server.at("/file");
        job(
            &format!("[[fetch]]\nkind = 'url'\nurl = '{url}'\nto = 'a/file'\n{lines}"),
            self.root.path(),
        )
    }

    /// With the hash and the size.
    fn exact(&self) -> Job {
        self.job(&format!(
            "sha256 = '{}'\nsize = {}",
            sha256(&self.file),
            self.file.len()
        ))
    }

    /// A job with only the hash.
    fn hashed(&self) -> Job {
        self.job(&format!("sha256 = '{}'", sha256(&self.file)))
    }

    #[track_caller]
    fn check_right(&self) {
        assert_eq!(files(self.root.path()), ["a/file"]);
        assert!(
            std::fs::read(self.root.path().join("a/file")).unwrap() == self.file,
            "other bytes"
        );
    }

    #[track_caller]
    fn check_nothing(&self) {
        assert_eq!(files(self.root.path()), [""; 0]);
    }
}

#[test]
fn what_broke_off_is_gone_on_with_and_no_byte_is_asked_twice() {
    for answers in [
        vec![
            ServerReply::Broken(MIB),
            ServerReply::Broken(MIB),
            ServerReply::Broken(10),
        ],
        vec![ServerReply::Stalled(MIB), ServerReply::Broken(MIB / 2)],
        vec![
            ServerReply::Broken(0),
            ServerReply::Mute,
            ServerReply::Broken(2 * MIB),
        ],
    ] {
        let scene = Scene::new(&answers);
        let fetched = fetch(&scene.fetcher, &scene.exact()).unwrap();
        scene.check_right();
        assert_eq!(fetched.bytes, scene.file.len() as u64, "{answers:?}");
        assert_eq!(scene.server.asked().len(), answers.len() + 1);
    }
}

#[test]
fn another_process_goes_on_where_the_first_one_gave_up() {
    let scene = Scene::new(&[
        ServerReply::Broken(2 * MIB),
        ServerReply::Broken(0),
        ServerReply::Broken(0),
        ServerReply::Broken(0),
    ]);
    let error = fetch(&scene.fetcher, &scene.exact()).unwrap_err();
    assert_eq!(error.kind, Kind::Network, "{error}");
    scene.check_nothing();
    let fetched = fetch(&Fetcher::new(settings(&[])), &scene.exact()).unwrap();
    scene.check_right();
    assert!(fetched.bytes <= MIB as u64, "{} bytes again", fetched.bytes);
    assert_eq!(scene.server.sent(), scene.file.len());
}

#[test]
fn faults_that_pass_are_overcome() {
    let wrong = bytes(3 * MIB, 2);
    for answers in [
        vec![ServerReply::Broken(MIB), ServerReply::Whole],
        vec![ServerReply::Broken(MIB), ServerReply::RangeFrom(5)],
        vec![
            ServerReply::Broken(MIB),
            ServerReply::Status(416, vec![("Content-Range".into(), "bytes */1000".into())]),
        ],
        vec![ServerReply::Broken(MIB), ServerReply::Status(416, vec![])],
        vec![
            ServerReply::Status(503, vec![]),
            ServerReply::Status(429, vec![("Retry-After".into(), "1".into())]),
        ],
        vec![ServerReply::Chunks { ended: true }],
        vec![ServerReply::Chunks { ended: false }],
        vec![ServerReply::Other(wrong)],
        vec![ServerReply::Length(4 * MIB as u64)],
        vec![ServerReply::Length(2 * MIB as u64)],
        vec![ServerReply::Slow(100_000)],
    ] {
        let scene = Scene::new(&answers);
        fetch(&scene.fetcher, &scene.hashed())
            .unwrap_or_else(|error| panic!("{answers:?}: {error}"));
        scene.check_right();
    }
}

#[test]
fn faults_that_stay_leave_nothing_behind() {
    let status = |status| ServerReply::Status(status, vec![]);
    let long = bytes(4 * MIB, 1);
    for (answer, kind, words) in [
        (
            ServerReply::Page,
            Kind::Wrong,
            "a web page instead of the file",
        ),
        (
            ServerReply::Length(1000),
            Kind::Wrong,
            "the server has 1000 bytes; expected 3145728",
        ),
        (
            ServerReply::Other(bytes(3 * MIB, 2)),
            Kind::Wrong,
            "sha-256",
        ),
        (
            ServerReply::Other(long),
            Kind::Wrong,
            "the server has 4194304 bytes; expected 3145728",
        ),
        (
            ServerReply::Broken(0),
            Kind::Network,
            "given up after 3 attempts without progress",
        ),
        (ServerReply::Mute, Kind::Network, "no answer in time"),
        (status(401), Kind::Denied, "set HF_TOKEN"),
        (status(403), Kind::Denied, "access is refused"),
        (status(404), Kind::NotFound, "nothing at this address"),
        (status(410), Kind::NotFound, "nothing at this address"),
        (status(418), Kind::Protocol, "418"),
        (
            status(429),
            Kind::Network,
            "the server says 429; given up after 3 attempts",
        ),
        (status(500), Kind::Network, "the server says 500"),
        (ServerReply::RangeFrom(7), Kind::Protocol, "206"),
    ] {
        let scene = Scene::new(&vec![answer.clone(); 9]);
        let error = fetch(&scene.fetcher, &scene.exact()).unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        scene.check_nothing();
        assert!(
            scene.server.asked().len() <= 3,
            "{answer:?}: {} requests",
            scene.server.asked().len()
        );
    }
}

#[test]
fn more_bytes_than_expected_are_not_written_to_the_end() {
    let scene = Scene::new(&vec![ServerReply::Chunks { ended: true }; 9]);
    scene.server.put("/file", &bytes(4 * MIB, 1));
    let error = fetch(&scene.fetcher, &scene.exact()).unwrap_err();
    assert_eq!(error.kind, Kind::Wrong, "{error}");
    scene.check_nothing();
}

#[test]
fn a_web_page_does_not_cost_what_was_got() {
    let scene = Scene::new(&[ServerReply::Broken(2 * MIB), ServerReply::Page]);
    assert_eq!(
        fetch(&scene.fetcher, &scene.exact()).unwrap_err().kind,
        Kind::Wrong
    );
    assert_eq!(
        fetch(&scene.fetcher, &scene.exact()).unwrap().bytes,
        MIB as u64
    );
    scene.check_right();
}

#[test]
fn two_versions_of_a_file_are_never_put_together() {
    for rest in [ServerReply::Well, ServerReply::RangeAnyway] {
        let scene = Scene::new(&[
            ServerReply::Broken(MIB),
            ServerReply::Broken(0),
            ServerReply::Broken(0),
            ServerReply::Broken(0),
        ]);
        let allow = Allow {
            unverified: true,
            ..Allow::default()
        };
        let stop = AtomicBool::new(false);
        let get = |job: &Job| scene.fetcher.fetch(job, allow, &Silent, &stop);
        get(&scene.job("")).unwrap_err();
        // The same length, so that nothing but the ETag tells.
        let changed = bytes(3 * MIB, 9);
        scene.server.put("/file", &changed);
        scene.server.answer("/file", &[rest]);
        let fetched = get(&scene.job("")).unwrap();
        assert!(
            std::fs::read(scene.root.path().join("a/file")).unwrap() == changed,
            "a mixture"
        );
        assert_eq!(fetched.sha256, Some(sha256(&changed)));
    }
}

#[test]
fn a_whole_file_of_unknown_length_is_known_by_the_answer_416() {
    let scene = Scene::new(&[ServerReply::Chunks { ended: false }]);
    fetch(&scene.fetcher, &scene.hashed()).unwrap();
    scene.check_right();
    assert_eq!(scene.server.sent(), scene.file.len());
    assert_eq!(scene.server.asked().len(), 2);
}
