//! Files that the Hub's cache has already, and files next to it.

use super::*;

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
