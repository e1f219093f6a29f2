//! The parquet files as a user meets them: whole, cut short, on a full disk.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use totune_record::{EvalRow, PredictionRow, RunRow, Tables, TimingRow, read_timing, write_timing};

#[test]
fn tables_read_back_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = some_tables();
    tables.write(folder.path()).unwrap();
    tables.sort();
    assert_eq!(Tables::read(folder.path()).unwrap(), tables);
    assert_eq!(
        names(folder.path()),
        ["evals.parquet", "predictions.parquet", "runs.parquet"]
    );
}

#[test]
fn empty_tables_are_files_too() {
    let folder = tempfile::tempdir().unwrap();
    Tables::default().write(folder.path()).unwrap();
    assert_eq!(Tables::read(folder.path()).unwrap(), Tables::default());
}

#[test]
fn the_same_rows_in_any_order_give_the_same_bytes() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut tables = some_tables();
    tables.write(one.path()).unwrap();
    tables.runs.reverse();
    tables.evals.reverse();
    tables.predictions.reverse();
    tables.write(two.path()).unwrap();
    for name in names(one.path()) {
        assert!(
            fs::read(one.path().join(&name)).unwrap() == fs::read(two.path().join(&name)).unwrap(),
            "{name} differs"
        );
    }
}

#[test]
fn a_score_that_is_not_a_number_survives() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = some_tables();
    tables.evals[0].value = f64::NAN;
    tables.write(folder.path()).unwrap();
    let read = Tables::read(folder.path()).unwrap();
    assert_eq!(
        read.evals.iter().filter(|row| row.value.is_nan()).count(),
        1
    );
}

#[test]
fn a_file_cut_short_anywhere_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    some_tables().write(folder.path()).unwrap();
    for name in ["runs.parquet", "evals.parquet", "predictions.parquet"] {
        let path = folder.path().join(name);
        let whole = fs::read(&path).unwrap();
        // Every place near the two ends, and every 17th between.
        let near_an_end = |length: usize| length < 64 || length + 64 > whole.len();
        for length in (0..whole.len()).filter(|&length| near_an_end(length) || length % 17 == 0) {
            fs::write(&path, &whole[..length]).unwrap();
            let error = Tables::read(folder.path())
                .expect_err(&format!("{name} cut to {length} bytes was read"));
            assert!(format!("{error:#}").contains(name), "{error:#}");
        }
        fs::write(&path, &whole).unwrap();
    }
    Tables::read(folder.path()).unwrap();
}

#[test]
fn a_file_cut_in_its_middle_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    some_tables().write(folder.path()).unwrap();
    let path = folder.path().join("evals.parquet");
    let whole = fs::read(&path).unwrap();
    for length in (4..whole.len() - 8).step_by(7) {
        // The end is whole, so only the decoder can notice.
        let cut = [&whole[..length], &whole[whole.len() - 8..]].concat();
        fs::write(&path, cut).unwrap();
        let error = Tables::read(folder.path()).expect_err(&format!("cut at {length} was read"));
        assert!(format!("{error:#}").contains("evals.parquet"), "{error:#}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    some_tables().write(folder.path()).unwrap();
    fs::remove_file(folder.path().join("evals.parquet")).unwrap();
    let error = Tables::read(folder.path()).unwrap_err();
    assert!(format!("{error:#}").contains("evals.parquet"), "{error:#}");
}

#[test]
fn scores_of_an_unknown_run_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = some_tables();
    tables.runs.pop();
    tables.write(folder.path()).unwrap();
    let error = Tables::read(folder.path()).unwrap_err();
    assert!(error.to_string().contains("written together"), "{error:#}");
}

#[test]
fn a_run_listed_twice_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = some_tables();
    tables.runs.push(tables.runs[0].clone());
    tables.write(folder.path()).unwrap();
    let error = Tables::read(folder.path()).unwrap_err();
    assert!(error.to_string().contains("twice"), "{error:#}");
}

/// A real failing write, on any Unix and without root: the shell forbids files of more than a few kilobytes.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_tables_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut old = some_tables();
    old.write(folder.path()).unwrap();
    old.sort();

    let limited = Command::new("sh")
        .args(["-c", r#"trap "" XFSZ; ulimit -f 8; exec "$0" "$@""#])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "write_more_than_fits",
            "--ignored",
            "--nocapture",
        ])
        .env("TOTUNE_TEST_FOLDER", folder.path())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&limited.stdout).into_owned()
        + &String::from_utf8_lossy(&limited.stderr);
    assert!(limited.status.success(), "{output}");
    assert!(
        output.contains("predictions.parquet: could not be written"),
        "{output}"
    );

    assert_eq!(
        names(folder.path()),
        ["evals.parquet", "predictions.parquet", "runs.parquet"]
    );
    assert_eq!(Tables::read(folder.path()).unwrap(), old);
}

/// The part of `a_full_disk_leaves_the_old_tables_and_nothing_else` that runs under its limit; not a test by itself.
#[test]
#[ignore = "runs only under the file size limit that another test sets"]
fn write_more_than_fits() {
    let Some(folder) = std::env::var_os("TOTUNE_TEST_FOLDER") else {
        return;
    };
    let mut tables = some_tables();
    tables.predictions = (0..20_000u32)
        .map(|number| PredictionRow {
            example_id: number.to_string(),
            // Digits that do not compress away.
            scores: vec![(number.wrapping_mul(2_654_435_761) as f32).sqrt(); 2],
            ..tables.predictions[0].clone()
        })
        .collect();
    let error = tables
        .write(Path::new(&folder))
        .expect_err("the limit was not reached");
    eprintln!("{error:#}");
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn timings_read_back_sorted_and_a_folder_without_them_has_none() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(read_timing(folder.path()).unwrap(), []);
    let row = |arm: &str, phase: u32, cpu_seconds: Option<f64>| TimingRow {
        paper: "synthetic".into(),
        experiment: "table-9".into(),
        arm: arm.into(),
        dataset: "letters".into(),
        encoder: "tiny".into(),
        settings: "0f".into(),
        phase,
        epochs: 3,
        batches: cpu_seconds.map(|_| 50),
        epoch_seconds: 2.0,
        fastest: 1.5,
        slowest: 2.5,
        cpu_seconds,
        cache_seconds: 0.25,
        tensor_memory: cpu_seconds.map(|_| 1 << 30),
        others: None,
        quiet: true,
        load_average: Some(0.125),
        threads: 4,
        device: "cpu (flex)".into(),
        machine: "a processor, 4 cores".into(),
        code_commit: "c0ffee".into(),
        code_dirty: false,
        started: 1_700_000_000,
    };
    let rows = [
        row("b", 0, Some(6.0)),
        row("a", 1, None),
        row("a", 0, Some(8.0)),
    ];
    write_timing(folder.path(), &rows).unwrap();
    let [b, a1, a0] = rows;
    let read = read_timing(folder.path()).unwrap();
    assert_eq!(read, [a0, a1, b]);
    let shares: Vec<Option<f64>> = read.iter().map(TimingRow::cpu_share).collect();
    assert_eq!(shares, [Some(1.0), None, Some(0.75)]);
}

/// Two runs, unsorted; every field differs from its neighbours so that swapped columns would show.
fn some_tables() -> Tables {
    let run = |run_id: &str, seed: u64| RunRow {
        run_id: run_id.into(),
        paper: "synthetic".into(),
        experiment: "table-9".into(),
        profile: "fixture".into(),
        spec: format!(r#"{{"seed":{seed}}}"#),
        code_commit: "c0ffee".into(),
        code_dirty: true,
        dataset: "letters".into(),
        dataset_hash: "d1".into(),
        encoder: "tiny".into(),
        checkpoint_hash: "e2".into(),
        tokenizer_hash: "f3".into(),
        seed,
        device: "cpu (flex)".into(),
        dtype: "f32".into(),
        threads: 2,
        params_total: 1_000,
        params_trainable: 10,
        epochs: 3,
        steps: 12,
        stop_reason: "epochs".into(),
        train_seconds: 1.5,
        eval_seconds: 0.25,
        cache_seconds: 0.125,
        cpu_seconds: Some(2.75),
        load_average: Some(0.5),
        peak_memory: 1 << 40,
        started: 1_700_000_000,
        status: "ok".into(),
        error: String::new(),
    };
    let eval = |run_id: &str, step: u64, value: f64| EvalRow {
        run_id: run_id.into(),
        phase: 0,
        epoch: 1,
        step,
        split: "test".into(),
        metric: "accuracy".into(),
        value,
        n: 4,
        train_seconds: 0.5,
        is_final: step == 12,
    };
    let prediction = |run_id: &str, example_id: &str, scores: Vec<f32>| PredictionRow {
        run_id: run_id.into(),
        split: "test".into(),
        example_id: example_id.into(),
        position: 0,
        gold: "vowel".into(),
        predicted: "consonant, \"perhaps\"\n".into(),
        scores,
    };
    Tables {
        runs: vec![run("b2", 2), run("a1", 1)],
        evals: vec![
            eval("b2", 12, 0.75),
            eval("a1", 12, 0.1 + 0.2),
            eval("a1", 6, 0.5),
        ],
        predictions: vec![
            prediction("b2", "10", vec![0.25, 0.75]),
            prediction("b2", "9", vec![]),
            prediction("a1", "1", vec![1.0]),
        ],
    }
}
