//! Permissions, prohibitions and stops by the user.

use super::*;

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
    let scene = Scene::new(&[ServerReply::Slow(50_000)]);
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
