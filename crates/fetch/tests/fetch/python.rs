//! Sharing of the Hub's cache with Python: each finds without a network what the other has written.
//!
//! Needs a Python with huggingface_hub, named by `TOTUNE_PYTHON`, else `python3`.
#![cfg(feature = "net")]
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use crate::support::server::{Server, ServerReply};
use crate::support::{COMMIT, MIB, bytes, fetch, job, settings, sha256};
use totune_fetch::{Fetcher, Job, Kind, State};

const SMALL: &[u8] = b"{\"hidden_size\": 8}\n";

/// Runs a Python program and returns its output. Its environment has no settings of the Hub but `variables`.
fn python(program: &str, variables: &[(&str, &str)]) -> String {
    let name = std::env::var("TOTUNE_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(&name);
    for (known, _) in std::env::vars()
        .filter(|(known, _)| known.starts_with("HF_") || known.to_lowercase().ends_with("_proxy"))
    {
        command.env_remove(known);
    }
    let output = command
        .env("HF_HUB_DISABLE_XET", "1")
        .envs(variables.iter().copied())
        .args(["-c", program])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn jobs(root: &Path) -> Vec<Job> {
    ["config.json", "onnx/model.bin"]
        .iter()
        .map(|path| {
            let card = format!("[[fetch]]\nkind = 'hub-model'\nrepo = 'own/er'\nrevision = '{COMMIT}'\nfiles = [{{ path = '{path}' }}]");
            job(&card, root)
        })
        .collect()
}

fn hub(large: &[u8]) -> (Server, Server) {
    let (hub, storage) = (Server::start(), Server::start());
    hub.hub_file("own/er", "config.json", SMALL, None);
    hub.hub_file("own/er", "onnx/model.bin", large, Some(&storage));
    let headers = [("X-Error-Code", "EntryNotFound"), ("X-Repo-Commit", COMMIT)];
    let headers = headers
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .to_vec();
    hub.answer(
        &format!("/own/er/resolve/{COMMIT}/none.txt"),
        &vec![ServerReply::Status(404, headers); 9],
    );
    (hub, storage)
}

#[test]
#[ignore = "needs a Python with huggingface_hub"]
fn python_finds_what_we_wrote() {
    let large = bytes(MIB, 4);
    let (hub, storage) = hub(&large);
    let root = tempfile::tempdir().unwrap();
    let endpoint = hub.at("");
    let fetcher = Fetcher::new(settings(&[("HF_ENDPOINT", &endpoint)]));
    for job in jobs(root.path()) {
        fetch(&fetcher, &job).unwrap();
    }
    let mut none = jobs(root.path()).remove(0);
    let totune_fetch::Source::Hub { path, .. } = &mut none.download.source else {
        panic!("a file of the Hub")
    };
    *path = totune_fetch::Below::try_from("none.txt".to_string()).unwrap();
    assert_eq!(fetch(&fetcher, &none).unwrap_err().kind, Kind::NotFound);
    let before = (hub.asked().len(), storage.asked().len());
    let program = format!(
        r#"
import hashlib, huggingface_hub as h
from huggingface_hub.file_download import _CACHED_NO_EXIST
for name in ["config.json", "onnx/model.bin"]:
    path = h.hf_hub_download("own/er", name, revision="{COMMIT}", local_files_only=True)
    print(hashlib.sha256(open(path, "rb").read()).hexdigest())
print(h.snapshot_download("own/er", revision="{COMMIT}", local_files_only=True).endswith("{COMMIT}"))
print(h.try_to_load_from_cache("own/er", "none.txt", revision="{COMMIT}") is _CACHED_NO_EXIST)
info = h.scan_cache_dir()
print([str(w) for w in info.warnings], info.size_on_disk)
"#
    );
    let cache = root.path().join("hub");
    let variables = [
        ("HF_HUB_CACHE", cache.to_str().unwrap()),
        ("HF_ENDPOINT", &endpoint),
        // Otherwise the library asks for a list of its own once a day.
        ("HF_HUB_OFFLINE", "1"),
    ];
    let said = python(&program, &variables);
    let size = large.len() + SMALL.len();
    assert_eq!(
        said,
        format!(
            "{}\n{}\nTrue\nTrue\n[] {size}\n",
            sha256(SMALL),
            sha256(&large)
        )
    );
    let asked = hub
        .asked()
        .into_iter()
        .skip(before.0)
        .chain(storage.asked().into_iter().skip(before.1));
    let asked: Vec<String> = asked.map(|asked| asked.path).collect();
    assert_eq!(asked, [""; 0], "Python asked for files that are there");
}

#[test]
#[ignore = "needs a Python with huggingface_hub"]
fn we_find_what_python_wrote() {
    let large = bytes(MIB, 4);
    let (hub, storage) = hub(&large);
    let root = tempfile::tempdir().unwrap();
    let program = format!(
        r#"
import huggingface_hub as h
for name in ["config.json", "onnx/model.bin"]:
    h.hf_hub_download("own/er", name, revision="{COMMIT}")
try:
    h.hf_hub_download("own/er", "none.txt", revision="{COMMIT}")
except h.errors.EntryNotFoundError:
    print("none")
"#
    );
    let cache = root.path().join("hub");
    let endpoint = hub.at("");
    let variables = [
        ("HF_HUB_CACHE", cache.to_str().unwrap()),
        ("HF_ENDPOINT", endpoint.as_str()),
    ];
    let said = python(&program, &variables);
    assert_eq!(said, "none\n");
    let before = hub.accepted() + storage.accepted();
    let offline = Fetcher::new(settings(&[
        ("HF_ENDPOINT", &endpoint),
        ("HF_HUB_OFFLINE", "1"),
    ]));
    for job in jobs(root.path()) {
        assert!(
            matches!(offline.look(&job).unwrap(), State::Verified(_)),
            "{}",
            job.name()
        );
        assert_eq!(fetch(&offline, &job).unwrap().from, None);
    }
    // That a file does not exist is known as well, without asking.
    let online = Fetcher::new(settings(&[("HF_ENDPOINT", &endpoint)]));
    let mut none = jobs(root.path()).remove(0);
    let totune_fetch::Source::Hub { path, .. } = &mut none.download.source else {
        panic!("a file of the Hub")
    };
    *path = totune_fetch::Below::try_from("none.txt".to_string()).unwrap();
    assert_eq!(fetch(&online, &none).unwrap_err().kind, Kind::NotFound);
    assert_eq!(
        hub.accepted() + storage.accepted(),
        before,
        "a socket was opened"
    );
}
