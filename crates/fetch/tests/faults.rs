//! A server with every fault that can be thought of: nothing wrong gets into place, and what was got is kept.
#![cfg(feature = "net")]
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::atomic::AtomicBool;

use support::server::{Answer, Server};
use support::{MIB, bytes, fetch, files, job, settings, sha256};
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
    fn new(answers: &[Answer]) -> Self {
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

    /// With the hash alone.
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
        vec![Answer::Broken(MIB), Answer::Broken(MIB), Answer::Broken(10)],
        vec![Answer::Stalled(MIB), Answer::Broken(MIB / 2)],
        vec![Answer::Broken(0), Answer::Mute, Answer::Broken(2 * MIB)],
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
        Answer::Broken(2 * MIB),
        Answer::Broken(0),
        Answer::Broken(0),
        Answer::Broken(0),
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
        vec![Answer::Broken(MIB), Answer::Whole],
        vec![Answer::Broken(MIB), Answer::RangeFrom(5)],
        vec![
            Answer::Broken(MIB),
            Answer::Status(416, vec![("Content-Range".into(), "bytes */1000".into())]),
        ],
        vec![Answer::Broken(MIB), Answer::Status(416, vec![])],
        vec![
            Answer::Status(503, vec![]),
            Answer::Status(429, vec![("Retry-After".into(), "1".into())]),
        ],
        vec![Answer::Chunks { ended: true }],
        vec![Answer::Chunks { ended: false }],
        vec![Answer::Other(wrong)],
        vec![Answer::Length(4 * MIB as u64)],
        vec![Answer::Length(2 * MIB as u64)],
        vec![Answer::Slow(100_000)],
    ] {
        let scene = Scene::new(&answers);
        fetch(&scene.fetcher, &scene.hashed())
            .unwrap_or_else(|error| panic!("{answers:?}: {error}"));
        scene.check_right();
    }
}

#[test]
fn faults_that_stay_leave_nothing_behind() {
    let status = |status| Answer::Status(status, vec![]);
    let long = bytes(4 * MIB, 1);
    for (answer, kind, words) in [
        (Answer::Page, Kind::Wrong, "a web page instead of the file"),
        (
            Answer::Length(1000),
            Kind::Wrong,
            "the server has 1000 bytes; expected 3145728",
        ),
        (Answer::Other(bytes(3 * MIB, 2)), Kind::Wrong, "sha-256"),
        (
            Answer::Other(long),
            Kind::Wrong,
            "the server has 4194304 bytes; expected 3145728",
        ),
        (
            Answer::Broken(0),
            Kind::Network,
            "given up after 3 attempts without progress",
        ),
        (Answer::Mute, Kind::Network, "no answer in time"),
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
        (Answer::RangeFrom(7), Kind::Protocol, "206"),
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
    let scene = Scene::new(&vec![Answer::Chunks { ended: true }; 9]);
    scene.server.put("/file", &bytes(4 * MIB, 1));
    let error = fetch(&scene.fetcher, &scene.exact()).unwrap_err();
    assert_eq!(error.kind, Kind::Wrong, "{error}");
    scene.check_nothing();
}

#[test]
fn a_web_page_does_not_cost_what_was_got() {
    let scene = Scene::new(&[Answer::Broken(2 * MIB), Answer::Page]);
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
    for rest in [Answer::Well, Answer::RangeAnyway] {
        let scene = Scene::new(&[
            Answer::Broken(MIB),
            Answer::Broken(0),
            Answer::Broken(0),
            Answer::Broken(0),
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
    let scene = Scene::new(&[Answer::Chunks { ended: false }]);
    fetch(&scene.fetcher, &scene.hashed()).unwrap();
    scene.check_right();
    assert_eq!(scene.server.sent(), scene.file.len());
    assert_eq!(scene.server.asked().len(), 2);
}

#[test]
fn mirrors_are_tried_in_order_and_go_on_where_the_first_broke_off() {
    let mut answers = vec![Answer::Broken(MIB)];
    answers.extend(vec![Answer::Broken(0); 3]);
    let scene = Scene::new(&answers);
    let (second, third) = (Server::start(), Server::start());
    second.put("/copy", &scene.file);
    second.answer("/copy", &[Answer::Page]);
    third.put("/copy", &scene.file);
    let mirrors = format!(
        "mirrors = ['{}', '{}']\n",
        second.at("/copy"),
        third.at("/copy")
    );
    let job = scene.job(&format!("sha256 = '{}'\n{mirrors}", sha256(&scene.file)));
    let fetched = fetch(&scene.fetcher, &job).unwrap();
    scene.check_right();
    assert_eq!(fetched.from, Some(third.at("/copy")));
    assert_eq!((second.asked().len(), third.sent()), (1, 2 * MIB));
}

#[test]
fn when_no_address_has_it_each_one_is_named() {
    let scene = Scene::new(&[Answer::Status(404, vec![])]);
    let job = scene.job(&format!(
        "sha256 = '{}'\nmirrors = ['http://127.0.0.1:9/x']",
        sha256(&scene.file)
    ));
    let error = fetch(&scene.fetcher, &job).unwrap_err().to_string();
    assert!(
        error.contains("none of 2 addresses") && error.contains("/file") && error.contains(":9/x"),
        "{error}"
    );
}

#[test]
fn redirects_are_followed_and_end() {
    let scene = Scene::new(&[]);
    let other = Server::start();
    other.put("/real", &scene.file);
    for status in [301, 302, 303, 307, 308] {
        scene.server.redirect("/a/start", status, "../b/next");
        scene.server.redirect("/b/next", status, &other.at("/real"));
        let root = tempfile::tempdir().unwrap();
        let url = scene.server.at("/a/start");
        let card = format!(
            "[[fetch]]\nkind = 'url'\nurl = '{url}'\nto = 'x'\nsha256 = '{}'",
            sha256(&scene.file)
        );
        fetch(&scene.fetcher, &job(&card, root.path())).unwrap();
        assert!(std::fs::read(root.path().join("x")).unwrap() == scene.file);
    }
    scene.server.redirect("/to-itself", 302, "/to-itself");
    scene.server.redirect("/ping", 302, "/pong");
    scene.server.redirect("/pong", 302, "/ping");
    scene
        .server
        .redirect("/to-a-file", 302, "file:///etc/passwd");
    scene
        .server
        .answer("/to-nowhere", &[Answer::Status(302, vec![])]);
    for number in 0..20 {
        scene
            .server
            .redirect(&format!("/long/{number}"), 302, &format!("{}", number + 1));
    }
    for (path, words) in [
        ("/to-itself", "redirects without end"),
        ("/ping", "redirects without end"),
        ("/long/0", "redirects without end"),
        ("/to-a-file", "which is no address"),
        ("/to-nowhere", "a redirect (302) to nowhere"),
    ] {
        let card = format!(
            "[[fetch]]\nkind = 'url'\nurl = '{}'\nto = 'x'\nsha256 = '{}'",
            scene.server.at(path),
            sha256(b"x")
        );
        let error = fetch(&scene.fetcher, &job(&card, scene.root.path())).unwrap_err();
        assert_eq!(error.kind, Kind::Protocol, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    scene.check_nothing();
}

#[test]
fn a_file_that_was_packed_on_the_way_is_refused() {
    let scene = Scene::new(&[]);
    scene
        .server
        .put_with("/file", &scene.file, &[("Content-Encoding", "gzip")]);
    let error = fetch(&scene.fetcher, &scene.hashed()).unwrap_err();
    assert!(error.to_string().contains("encoded as `gzip`"), "{error}");
    scene.check_nothing();
}

#[test]
fn without_a_hash_nothing_is_fetched_unless_it_is_allowed() {
    let scene = Scene::new(&[]);
    let error = fetch(&scene.fetcher, &scene.job("")).unwrap_err();
    assert_eq!(error.kind, Kind::Unverified, "{error}");
    assert_eq!(scene.server.accepted(), 0);
    let allow = Allow {
        unverified: true,
        ..Allow::default()
    };
    let fetched = scene
        .fetcher
        .fetch(&scene.job(""), allow, &Silent, &AtomicBool::new(false))
        .unwrap();
    assert_eq!(fetched.sha256, Some(sha256(&scene.file)));
    scene.check_right();
    // What it was is noted, so that the next time something can tell.
    let before = scene.server.accepted();
    assert_eq!(fetch(&scene.fetcher, &scene.job("")).unwrap().bytes, 0);
    std::fs::write(scene.root.path().join("a/file"), "edited").unwrap();
    assert_eq!(
        fetch(&scene.fetcher, &scene.job("")).unwrap_err().kind,
        Kind::InTheWay
    );
    assert_eq!(scene.server.accepted(), before);
}

#[test]
fn what_is_there_and_right_opens_no_socket_and_what_is_another_file_stays() {
    let scene = Scene::new(&[]);
    let path = scene.root.path().join("a/file");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "mine").unwrap();
    let error = fetch(&scene.fetcher, &scene.exact()).unwrap_err();
    assert_eq!(error.kind, Kind::InTheWay, "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    std::fs::write(&path, &scene.file).unwrap();
    assert_eq!(fetch(&scene.fetcher, &scene.exact()).unwrap().from, None);
    assert_eq!(scene.server.accepted(), 0);
    std::fs::write(&path, "mine").unwrap();
    let allow = Allow {
        replacing: true,
        ..Allow::default()
    };
    scene
        .fetcher
        .fetch(&scene.exact(), allow, &Silent, &AtomicBool::new(false))
        .unwrap();
    scene.check_right();
}

#[test]
fn offline_opens_no_socket() {
    let scene = Scene::new(&[]);
    let offline = Fetcher::new(settings(&[("HF_HUB_OFFLINE", "1")]));
    let error = fetch(&offline, &scene.exact()).unwrap_err();
    assert_eq!(error.kind, Kind::Offline, "{error}");
    assert_eq!(offline.size(&scene.hashed(), &AtomicBool::new(false)), None);
    assert_eq!(scene.server.accepted(), 0);
    assert_eq!(
        fetch(&scene.fetcher, &scene.exact()).unwrap().bytes,
        3 * MIB as u64
    );
    assert_eq!(fetch(&offline, &scene.exact()).unwrap().bytes, 0);
}

#[test]
fn someone_can_stop_it_and_go_on_later() {
    let scene = Scene::new(&[Answer::Slow(50_000)]);
    let stop = AtomicBool::new(false);
    let progress = |event: &totune_fetch::Event<'_>| {
        if matches!(event, totune_fetch::Event::Bytes { done, .. } if *done > MIB as u64) {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let error = scene
        .fetcher
        .fetch(&scene.exact(), Allow::default(), &progress, &stop)
        .unwrap_err();
    assert_eq!(error.kind, Kind::Stopped, "{error}");
    scene.check_nothing();
    let again = fetch(&scene.fetcher, &scene.exact()).unwrap();
    assert!(again.bytes < 2 * MIB as u64, "{} bytes again", again.bytes);
    scene.check_right();
}
