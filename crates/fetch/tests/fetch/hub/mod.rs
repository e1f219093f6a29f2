//! Files of the Hub: in its cache's layout, verified against its hashes, and without a token for other hosts.
#![cfg(feature = "net")]
#![allow(clippy::unwrap_used)]

mod cache;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::support::server::{Server, ServerReply};
use crate::support::{COMMIT, MIB, bytes, fetch, git_blob, job, settings, sha256};
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
    // From now on no server is contacted.
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
            &vec![ServerReply::Status(status, headers); 3],
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
        &[ServerReply::Status(404, headers)],
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
        (true, ServerReply::Other(bytes(2 * MIB, 8))),
        (true, ServerReply::Page),
        (true, ServerReply::Length(5)),
        (false, ServerReply::Other(b"[PAD]\n[UNK]!".to_vec())),
    ] {
        let hub = Hub::new();
        let job = if large { hub.large() } else { hub.small() };
        let (server, path) = if large {
            (&hub.storage, format!("/storage/{}", sha256(&hub.large)))
        } else {
            (&hub.hub, format!("/own/er/resolve/{COMMIT}/vocab.txt"))
        };
        // The first answer of the Hub describes the file, those after it are of the file.
        let mut answers = vec![answer.clone(); 4];
        if !large {
            answers.insert(0, ServerReply::Well);
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
            ServerReply::Broken(MIB),
            ServerReply::Broken(0),
            ServerReply::Broken(0),
            ServerReply::Broken(0),
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
fn a_login_of_the_endpoint_is_sent_and_never_shown() {
    let hub = Hub::new();
    let endpoint = hub.hub.at("").replace("://", "://bob:S3CRET@");
    let fetcher = Fetcher::new(settings(&[("HF_ENDPOINT", &endpoint)]));
    let fetched = fetch(&fetcher, &hub.small()).unwrap();
    let from = fetched.from.unwrap();
    assert!(from.starts_with(&hub.hub.at("")), "{from}");
    // The words of RFC 7617 for bob:S3CRET.
    for asked in hub.hub.asked() {
        let sent = asked.headers.get("authorization").map(String::as_str);
        assert_eq!(sent, Some("Basic Ym9iOlMzQ1JFVA=="));
    }
    let job = hub.job("path = 'none.txt'");
    assert!(!job.origin(&fetcher.settings().endpoint).contains("S3CRET"));
    let error = fetch(&fetcher, &job).unwrap_err().to_string();
    assert!(
        error.contains("none.txt") && !error.contains("S3CRET"),
        "{error}"
    );
}
