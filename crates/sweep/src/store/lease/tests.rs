use std::time::Instant;

use super::*;

/// A lease in `folder` as the owner on another machine would have left it.
fn put(folder: &Path, owner: Owner, stale: f64, renewed: u64) -> Record {
    let leases = folder.join(LEASES);
    fs::create_dir_all(&leases).expect("folder");
    let record = Record {
        owner,
        file: "owner-elsewhere".to_string(),
        stale,
        renewed,
        released: false,
    };
    record.write(&leases).expect("a lease");
    let _ = fs::hard_link(leases.join(&record.file), leases.join("1"));
    record
}

fn elsewhere() -> Owner {
    Owner {
        host: "elsewhere".to_string(),
        ..Owner::this()
    }
}

fn hold(folder: &Path) -> Hold {
    Holder::of(folder).expect("a lease").hold
}

#[test]
fn a_lease_has_one_holder_at_a_time() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    let first = Lease::take(folder).expect("lease").expect("free");
    assert!(Lease::take(folder).expect("lease").is_none());
    assert_eq!(Holder::of(folder).expect("a lease").owner, Owner::this());
    assert!(first.is_ours().expect("readable"));
    drop(first);
    assert_eq!(hold(folder), Hold::Free);
    assert!(Lease::take(folder).expect("lease").is_some());
}

#[test]
fn the_lease_of_a_dead_process_is_taken_over_at_once() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let dead = Owner {
        start: "an earlier boot".to_string(),
        ..Owner::this()
    };
    put(folder.path(), dead, 300.0, 0);
    assert!(Lease::take(folder.path()).expect("lease").is_some());
}

#[test]
fn an_owner_elsewhere_is_silent_until_it_renews() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    put(folder, elsewhere(), 300.0, 0);
    assert_eq!(hold(folder), Hold::Silent);
    put(folder, elsewhere(), 300.0, 1);
    assert_eq!(hold(folder), Hold::Alive);
    assert!(Lease::take(folder).expect("lease").is_none());
}

#[test]
fn a_silent_lease_is_taken_over_and_its_owner_can_tell() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    put(folder, elsewhere(), 1.0, 0);
    let begun = Instant::now();
    let late = Lease {
        leases: folder.join(LEASES),
        number: 1,
        record: put(folder, elsewhere(), 1.0, 0),
        renewal: None,
    };
    assert!(late.is_ours().expect("readable"));
    let next = Lease::wait(folder).expect("lease").expect("free");
    assert!(
        begun.elapsed() >= Duration::from_secs(1),
        "not before it is stale"
    );
    assert!(!late.is_ours().expect("readable"));
    // What the late owner writes, it writes into its own file.
    drop(late);
    assert!(next.is_ours().expect("readable"));
    assert_ne!(hold(folder), Hold::Free);
}

#[test]
fn what_is_done_needs_no_lease() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path();
    assert!(
        Lease::take_unless(folder, || true)
            .expect("lease")
            .is_none()
    );
    let first = Lease::take_unless(folder, || false)
        .expect("lease")
        .expect("free");
    let looks = std::cell::Cell::new(0);
    let done_at_the_second = || looks.replace(looks.get() + 1) > 0;
    assert!(
        Lease::take_unless(folder, done_at_the_second)
            .expect("lease")
            .is_none()
    );
    drop(first);
    assert!(
        Lease::take_unless(folder, || false)
            .expect("lease")
            .is_some()
    );
}

/// Clocks of nodes that differ: dates of files say nothing, in either direction.
#[test]
fn dates_of_files_decide_nothing() {
    let day = Duration::from_secs(86_400);
    for date in [
        std::time::SystemTime::now() - day,
        std::time::SystemTime::now() + day,
    ] {
        let folder = tempfile::tempdir().expect("temporary folder");
        let folder = folder.path();
        put(folder, elsewhere(), 300.0, 0);
        for file in ["1", "owner-elsewhere"] {
            let path = folder.join(LEASES).join(file);
            let file = fs::File::options().write(true).open(path).expect("a file");
            file.set_modified(date).expect("a date");
        }
        assert_eq!(hold(folder), Hold::Silent);
        assert!(Lease::take(folder).expect("lease").is_none());
    }
}

#[test]
fn a_link_whose_confirmation_is_lost_counts() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let [own, other, shared] = ["own", "other", "shared"].map(|name| folder.path().join(name));
    fs::write(&own, "own").expect("a file");
    fs::write(&other, "other").expect("a file");
    fs::hard_link(&own, &shared).expect("a link");
    // Made before, and reported as an error: EEXIST, with two links.
    assert!(link_once(&own, &shared).expect("linked"));
    assert!(!link_once(&other, &shared).expect("compared"));
    fs::remove_file(&own).expect("removed");
    assert!(
        link_once(&own, &folder.path().join("new")).is_err(),
        "an error that is none of ours"
    );
}

#[test]
fn ten_thousand_races_have_one_winner_each() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let races = if cfg!(unix) { 10_000 } else { 100 };
    let numbers: Vec<usize> = (0..races).collect();
    let own: Vec<PathBuf> = (0..4)
        .map(|racer| folder.path().join(format!("racer-{racer}")))
        .collect();
    let won = std::sync::Mutex::new(vec![0; races]);
    std::thread::scope(|scope| {
        for own in &own {
            let (numbers, won, folder) = (&numbers, &won, folder.path());
            scope.spawn(move || {
                for number in numbers {
                    let _ = fs::remove_file(own);
                    fs::write(own, "mine").expect("a file");
                    let shared = folder.join(number.to_string());
                    if link_once(own, &shared).expect("linked or not") {
                        won.lock().expect("no panic")[*number] += 1;
                    }
                }
            });
        }
    });
    assert!(
        won.into_inner()
            .expect("no panic")
            .iter()
            .all(|winners| *winners == 1)
    );
}

/// A lease may be taken and given back between any two steps of another one's attempt.
#[test]
fn of_many_takers_at_once_one_holds_the_lease() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    let folder = tempfile::tempdir().expect("temporary folder");
    let (holders, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while taken.load(Ordering::SeqCst) < 300 {
                    if let Some(lease) = Lease::take(folder.path()).expect("lease") {
                        let others = holders.fetch_add(1, Ordering::SeqCst);
                        assert_eq!(others, 0, "somebody else holds it");
                        taken.fetch_add(1, Ordering::SeqCst);
                        std::thread::yield_now();
                        holders.fetch_sub(1, Ordering::SeqCst);
                        drop(lease);
                    }
                }
            });
        }
    });
}
