//! Files of the Hub: in its cache's layout, verified against what it says of them, and without a token elsewhere.
#![cfg(feature = "net")]
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use support::server::{Answer, Server};
use support::{COMMIT, MIB, bytes, fetch, git_blob, job, settings, sha256};
use tempfile::TempDir;
use totune_fetch::{Fetcher, Job, Kind, State};

/// A Hub with a small file in git and a large one in LFS, whose bytes come from another server.
struct Hub {
    hub: Server,
    storage: Server,
    root: TempDir,
    large: Vec<u8>,
}

const SMALL: &[u8] = b"[PAD]\n[UNK]\n";

impl Hub {
    fn new() -> Self {
        let (hub, storage, large) = (Server::start(), Server::start(), bytes(2 * MIB, 3));
        hub.hub_file("own/er", "vocab.txt", SMALL, None);
        hub.hub_file("own/er", "sub/model.bin", &large, Some(&storage));
        Self {
            hub,
            storage,
            root: tempfile::tempdir().unwrap(),
            large,
        }
    }

    fn fetcher(&self, more: &[(&str, &str)]) -> Fetcher {
        let endpoint = self.hub.at("");
        Fetcher::new(settings(
            &[&[("HF_ENDPOINT", endpoint.as_str())], more].concat(),
        ))
    }

    fn job(&self, file: &str) -> Job {
        let card = format!(
            "[[fetch]]\nkind = 'hub-model'\nrepo = 'own/er'\nrevision = '{COMMIT}'\nfiles = [{{ {file} }}]"
        );
        job(&card, self.root.path())
    }

    fn cache(&self, path: &str) -> PathBuf {
        self.root.path().join("hub/models--own--er").join(path)
    }

    fn large(&self) -> Job {
        self.job("path = 'sub/model.bin'")
    }

    fn small(&self) -> Job {
        self.job("path = 'vocab.txt'")
    }
}

fn blobs(hub: &Hub) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(hub.cache("blobs"))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn files_lie_where_python_looks() {
    let hub = Hub::new();
    let fetched = fetch(&hub.fetcher(&[]), &hub.large()).unwrap();
    fetch(&hub.fetcher(&[]), &hub.small()).unwrap();
    let pointer = hub.cache(&format!("snapshots/{COMMIT}/sub/model.bin"));
    assert_eq!(
        (fetched.files, fetched.bytes),
        (vec![pointer.clone()], 2 * MIB as u64)
    );
    let blob = sha256(&hub.large);
    assert_eq!(
        fs::read_link(&pointer).unwrap(),
        Path::new("../../../blobs").join(&blob)
    );
    assert!(fs::read(&pointer).unwrap() == hub.large);
    let small = hub.cache(&format!("snapshots/{COMMIT}/vocab.txt"));
    assert_eq!(
        fs::read_link(&small).unwrap(),
        Path::new("../../blobs").join(git_blob(SMALL))
    );
    let mut expected = vec![blob.clone(), git_blob(SMALL)];
    expected.sort();
    assert_eq!(blobs(&hub), expected);
    assert!(
        hub.root
            .path()
            .join(format!("hub/.locks/models--own--er/{blob}.lock"))
            .is_file()
    );
    // From now on nobody is asked.
    let before = hub.hub.accepted() + hub.storage.accepted();
    let offline = hub.fetcher(&[("HF_HUB_OFFLINE", "1")]);
    for job in [hub.large(), hub.small()] {
        assert_eq!(fetch(&offline, &job).unwrap().from, None);
        assert!(matches!(offline.look(&job).unwrap(), State::Verified(_)));
    }
    assert_eq!(hub.hub.accepted() + hub.storage.accepted(), before);
}

#[test]
fn the_token_goes_to_the_hub_and_nowhere_else() {
    let hub = Hub::new();
    let plain = Server::start();
    plain.put("/x", b"x");
    let fetcher = hub.fetcher(&[("HF_TOKEN", "hf_secret")]);
    fetch(&fetcher, &hub.large()).unwrap();
    let card = format!(
        "[[fetch]]\nkind = 'url'\nurl = '{}'\nto = 'x'\nsha256 = '{}'",
        plain.at("/x"),
        sha256(b"x")
    );
    fetch(&fetcher, &job(&card, hub.root.path())).unwrap();
    let tokens = |server: &Server| {
        let asked = server.asked();
        asked
            .iter()
            .filter_map(|asked| asked.headers.get("authorization").cloned())
            .collect::<Vec<_>>()
    };
    assert_eq!(tokens(&hub.hub), ["Bearer hf_secret", "Bearer hf_secret"]);
    assert_eq!(
        (hub.storage.asked().len(), tokens(&hub.storage).len()),
        (1, 0)
    );
    assert_eq!((plain.asked().len(), tokens(&plain).len()), (1, 0));
}

#[test]
fn a_refusal_comes_with_advice_and_never_with_the_token() {
    for (status, code, token, kind, words) in [
        (
            401,
            "GatedRepo",
            None,
            Kind::Denied,
            "set HF_TOKEN or run `hf auth login`",
        ),
        (
            403,
            "GatedRepo",
            Some("hf_secret"),
            Kind::Denied,
            "agree to its terms on its page with the account of the token",
        ),
        (
            401,
            "RepoNotFound",
            None,
            Kind::NotFound,
            "private and needs HF_TOKEN",
        ),
        (
            404,
            "RepoNotFound",
            Some("hf_secret"),
            Kind::NotFound,
            "the token may not see it",
        ),
        (
            404,
            "RevisionNotFound",
            None,
            Kind::NotFound,
            "no such commit",
        ),
        (
            401,
            "",
            Some("hf_secret"),
            Kind::Denied,
            "the token is not accepted",
        ),
    ] {
        let hub = Hub::new();
        let headers = vec![("X-Error-Code".to_string(), code.to_string())];
        hub.hub.answer(
            &format!("/own/er/resolve/{COMMIT}/vocab.txt"),
            &vec![Answer::Status(status, headers); 3],
        );
        let variables: Vec<_> = token.into_iter().map(|token| ("HF_TOKEN", token)).collect();
        let error = fetch(&hub.fetcher(&variables), &hub.small()).unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(!format!("{error:?}").contains("secret"));
        assert_eq!(hub.hub.asked().len(), 1);
    }
}

#[test]
fn what_a_commit_lacks_is_noted_and_not_asked_again() {
    let hub = Hub::new();
    let headers = [("X-Error-Code", "EntryNotFound"), ("X-Repo-Commit", COMMIT)];
    let headers = headers
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .to_vec();
    hub.hub.answer(
        &format!("/own/er/resolve/{COMMIT}/no/such.txt"),
        &[Answer::Status(404, headers)],
    );
    let job = hub.job("path = 'no/such.txt'");
    for _ in 0..2 {
        let error = fetch(&hub.fetcher(&[]), &job).unwrap_err();
        assert_eq!(error.kind, Kind::NotFound, "{error}");
    }
    assert_eq!(hub.hub.asked().len(), 1);
    assert!(
        hub.cache(&format!(".no_exist/{COMMIT}/no/such.txt"))
            .is_file()
    );
}

#[test]
fn bytes_that_are_not_the_hubs_get_no_name() {
    for (large, answer) in [
        (true, Answer::Other(bytes(2 * MIB, 8))),
        (true, Answer::Page),
        (true, Answer::Length(5)),
        (false, Answer::Other(b"[PAD]\n[UNK]!".to_vec())),
    ] {
        let hub = Hub::new();
        let job = if large { hub.large() } else { hub.small() };
        let (server, path) = match large {
            true => (&hub.storage, format!("/storage/{}", sha256(&hub.large))),
            false => (&hub.hub, format!("/own/er/resolve/{COMMIT}/vocab.txt")),
        };
        // The first answer of the Hub describes the file, those after it are of the file.
        let mut answers = vec![answer.clone(); 4];
        if !large {
            answers.insert(0, Answer::Well);
        }
        server.answer(&path, &answers);
        let error = fetch(&hub.fetcher(&[]), &job).unwrap_err();
        assert_eq!(error.kind, Kind::Wrong, "{error}");
        assert_eq!(blobs(&hub), [""; 0], "{answer:?}");
        assert!(!hub.cache("snapshots").exists());
    }
}

#[test]
fn a_hub_file_is_gone_on_with_at_its_storage() {
    let hub = Hub::new();
    let blob = format!("/storage/{}", sha256(&hub.large));
    hub.storage.answer(
        &blob,
        &[
            Answer::Broken(MIB),
            Answer::Broken(0),
            Answer::Broken(0),
            Answer::Broken(0),
        ],
    );
    assert_eq!(
        fetch(&hub.fetcher(&[]), &hub.large()).unwrap_err().kind,
        Kind::Network
    );
    let partial = format!("{}.totune.incomplete", sha256(&hub.large));
    assert_eq!(blobs(&hub), [partial.clone(), format!("{partial}.json")]);
    assert_eq!(
        fetch(&hub.fetcher(&[]), &hub.large()).unwrap().bytes,
        MIB as u64
    );
    assert_eq!(blobs(&hub), [sha256(&hub.large)]);
    assert_eq!(hub.storage.sent(), hub.large.len());
}

#[test]
fn card_and_hub_must_mean_the_same_file() {
    let hub = Hub::new();
    for (file, words) in [
        (
            format!("path = 'sub/model.bin', sha256 = '{}'", sha256(b"x")),
            "the Hub has sha-256",
        ),
        (
            "path = 'sub/model.bin', size = 5".to_string(),
            "the Hub has 2097152 bytes",
        ),
        (
            format!("path = 'vocab.txt', sha256 = '{}'", sha256(b"x")),
            "expected sha-256",
        ),
    ] {
        let error = fetch(&hub.fetcher(&[]), &hub.job(&file)).unwrap_err();
        assert_eq!(error.kind, Kind::Wrong, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(blobs(&hub), [""; 0]);
    }
    let elsewhere = "f".repeat(40);
    hub.hub.put_with(
        &format!("/own/er/resolve/{COMMIT}/vocab.txt"),
        SMALL,
        &[("ETag", "\"x\""), ("X-Repo-Commit", &elsewhere)],
    );
    let error = fetch(&hub.fetcher(&[]), &hub.small()).unwrap_err();
    assert!(
        error.to_string().contains("is HF_ENDPOINT a Hub?"),
        "{error}"
    );
}

#[test]
fn a_damaged_blob_is_noticed_and_mended() {
    let hub = Hub::new();
    fetch(&hub.fetcher(&[]), &hub.large()).unwrap();
    let blob = hub.cache("blobs").join(sha256(&hub.large));
    let mut damaged = hub.large.clone();
    damaged[MIB] ^= 1;
    fs::write(&blob, &damaged).unwrap();
    let fetcher = hub.fetcher(&[]);
    assert!(matches!(
        fetcher.look(&hub.large()).unwrap(),
        State::Wrong { .. }
    ));
    let offline = hub.fetcher(&[("HF_HUB_OFFLINE", "1")]);
    assert_eq!(
        fetch(&offline, &hub.large()).unwrap_err().kind,
        Kind::Offline
    );
    fetch(&fetcher, &hub.large()).unwrap();
    assert!(fs::read(&blob).unwrap() == hub.large);
}

#[test]
fn the_same_bytes_of_another_commit_are_not_fetched_again() {
    let hub = Hub::new();
    let exact = hub.job(&format!(
        "path = 'sub/model.bin', sha256 = '{}'",
        sha256(&hub.large)
    ));
    fetch(&hub.fetcher(&[]), &exact).unwrap();
    let other = "a".repeat(40);
    fs::rename(
        hub.cache("snapshots").join(COMMIT),
        hub.cache("snapshots").join(&other),
    )
    .unwrap();
    let before = hub.hub.accepted();
    assert_eq!(fetch(&hub.fetcher(&[]), &exact).unwrap().from, None);
    assert_eq!(hub.hub.accepted(), before);
    assert!(
        fs::read(hub.cache(&format!("snapshots/{COMMIT}/sub/model.bin"))).unwrap() == hub.large
    );
}

#[test]
fn a_dataset_is_copied_to_its_place_and_the_copy_is_its_own() {
    let hub = Hub::new();
    hub.hub
        .hub_file("datasets/own/data", "a b/train.csv", SMALL, None);
    hub.hub.put_with(
        &format!("/datasets/own/data/resolve/{COMMIT}/a%20b/train.csv"),
        SMALL,
        &[
            ("ETag", &format!("\"{}\"", git_blob(SMALL))),
            ("X-Repo-Commit", COMMIT),
        ],
    );
    let card = format!(
        "[[fetch]]\nkind = 'hub-dataset'\nrepo = 'own/data'\nrevision = '{COMMIT}'\nfiles = [{{ path = 'a b/train.csv', to = 'x/train.csv' }}]"
    );
    let job = job(&card, hub.root.path());
    fetch(&hub.fetcher(&[]), &job).unwrap();
    let place = hub.root.path().join("x/train.csv");
    assert!(!place.is_symlink());
    assert_eq!(fs::read(&place).unwrap(), SMALL);
    assert!(matches!(
        hub.fetcher(&[]).look(&job).unwrap(),
        State::Verified(_)
    ));
    fs::write(&place, "edited").unwrap();
    assert_eq!(
        fetch(&hub.fetcher(&[]), &job).unwrap_err().kind,
        Kind::InTheWay
    );
    let blob = hub
        .root
        .path()
        .join("hub/datasets--own--data/blobs")
        .join(git_blob(SMALL));
    assert_eq!(fs::read(blob).unwrap(), SMALL);
}

#[test]
fn files_in_a_plain_folder_count_when_they_are_right() {
    let hub = Hub::new();
    let folder = hub.root.path().join("er");
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::write(folder.join("sub/model.bin"), &hub.large).unwrap();
    let mut job = hub.job(&format!(
        "path = 'sub/model.bin', sha256 = '{}'",
        sha256(&hub.large)
    ));
    job.folders = vec![folder.clone()];
    assert_eq!(fetch(&hub.fetcher(&[]), &job).unwrap().from, None);
    fs::write(folder.join("sub/model.bin"), "another model").unwrap();
    assert!(fetch(&hub.fetcher(&[]), &job).unwrap().from.is_some());
    assert_eq!(
        fs::read(folder.join("sub/model.bin")).unwrap(),
        b"another model"
    );
}

#[test]
fn a_dry_look_knows_the_size() {
    let hub = Hub::new();
    let stop = AtomicBool::new(false);
    assert_eq!(
        hub.fetcher(&[]).size(&hub.large(), &stop),
        Some(2 * MIB as u64)
    );
    assert_eq!(
        hub.fetcher(&[]).size(&hub.small(), &stop),
        Some(SMALL.len() as u64)
    );
    assert_eq!(hub.hub.count("GET") + hub.storage.count("GET"), 0);
}
