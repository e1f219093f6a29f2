//! Long files: windows, interruptions, and what is resumed.

use super::*;
use totune_data::Target as Gold;

/// Runs [`predict`]: to its end, or for a number of windows.
fn run(files: &Files, path: &Path, out: &Path, windows: usize) -> anyhow::Result<Vec<usize>> {
    let mut source = Source::open(path, &ReadOptions::default(), &files.model.manifest, false)?;
    let layout = Layout::of(source.kind(), out, false)?;
    let mut seen = Vec::new();
    let noted = std::cell::Cell::new(0);
    let target = Target::file(out, false)?;
    let resumed = target.resumed();
    let target = (target.when_resuming(|rows| noted.set(rows)), layout);
    let ended = predict(&files.model, &mut source, target, &mut |rows| {
        seen.push(rows);
        if seen.len() == windows {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    // What is refused is not said to be resumed.
    assert_eq!(noted.get(), if ended.is_ok() { resumed } else { 0 });
    ended?;
    Ok(seen)
}

#[test]
fn an_interrupted_file_is_resumed_with_the_same_bytes() {
    let files = Files::new(Task::Regression, &texts());
    let row = |i: usize| format!("{i},{}\n", "kite ".repeat(1 + i * 7 % 5));
    let rows: String = (0..1200).map(row).collect();
    let path = files.write("new.csv", format!("n,text\n{rows}").as_bytes());
    let at = |name: &str| files.folder.path().join(name);
    let (whole, out) = (at("whole.csv"), at("out.csv"));
    assert_eq!(run(&files, &path, &whole, 9).expect("rows"), [1024, 1200]);
    let whole = fs::read(whole).expect("predictions");

    assert_eq!(run(&files, &path, &out, 1).expect("rows"), [1024]);
    assert!(!out.exists(), "half a file looks like a whole one");
    // Killed while writing the next window: bytes that the state does not record.
    let part = at("out.csv.part");
    let mut bytes = fs::read(&part).expect("a part");
    bytes.extend_from_slice(b"1024,kite ki");
    fs::write(&part, bytes).expect("written");
    assert_eq!(run(&files, &path, &out, 9).expect("rows"), [1200]);
    assert!(fs::read(&out).expect("predictions") == whole);
    let left: Vec<_> = fs::read_dir(files.folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name.to_string_lossy().contains(".part"))
        .collect();
    assert!(left.is_empty(), "{left:?}");

    // Killed after the last window, before the file got its name.
    fs::remove_file(&out).expect("removed");
    assert_eq!(run(&files, &path, &out, 2).expect("rows"), [1024, 1200]);
    assert!(run(&files, &path, &out, 9).expect("rows").is_empty());
    assert!(fs::read(&out).expect("predictions") == whole);
}

#[test]
fn a_part_of_something_else_is_not_gone_on_with() {
    let files = Files::new(Task::Regression, &texts());
    let rows = |n: usize| -> String {
        let rows = (0..n).map(|i| format!("kite {i}\n"));
        "text\n".to_string() + &rows.collect::<String>()
    };
    let path = files.write("new.csv", rows(1800).as_bytes());
    let out = files.folder.path().join("out.csv");
    let error = |windows: usize| {
        let error = run(&files, &path, &out, windows).expect_err("another input");
        let error = error.to_string();
        assert!(
            error.contains("out.csv.part: has predictions of an"),
            "{error}"
        );
        assert!(error.contains("--restart discards them"), "{error}");
        error
    };
    assert_eq!(run(&files, &path, &out, 1).expect("rows"), [1024]);
    fs::write(&path, rows(1800).replace("kite 17\n", "kite 18\n")).expect("written");
    assert!(error(9).contains("of another input"));
    fs::write(&path, rows(100)).expect("written");
    assert!(error(9).contains("of another input"));
    fs::write(&path, rows(1800).replace("text", "body")).expect("written");
    assert!(error(9).contains("of another model, other columns"));
    // Rows after the predicted ones may differ.
    fs::write(&path, rows(1500)).expect("written");
    assert_eq!(run(&files, &path, &out, 1).expect("rows"), [1500]);
    fs::write(&path, rows(1600)).expect("written");
    assert!(error(9).contains("of another input"));
    let held = Target::file(&out, false).expect("a part");
    let second = Target::file(&out, false).err().expect("it is held");
    assert!(second.to_string().contains("another process"), "{second}");
    drop(held);
    drop(Target::file(&out, true).expect("discarded"));
    assert_eq!(Target::file(&out, true).expect("a part").resumed(), 0);
}

#[test]
fn a_file_that_is_called_like_a_part_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, part) = (
        folder.path().join("z.csv"),
        folder.path().join("z.csv.part"),
    );
    fs::write(&part, "mine").expect("written");
    let refused = Target::file(&out, false).err().expect("somebody's file");
    assert!(
        refused.to_string().contains("no part of an interrupted"),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(&part).expect("there"), "mine");
    drop(Target::file(&out, true).expect("discarded"));
}

#[test]
#[cfg(unix)]
fn a_device_is_no_place_for_predictions() {
    let refused = Target::file(Path::new("/dev/null"), false).err();
    let expected = "/dev/null: is a device or a pipe, expected the name of a file";
    assert_eq!(refused.expect("a device").to_string(), expected);
}

#[test]
fn a_long_file_takes_several_windows_and_can_be_broken_off() {
    let files = Files::new(Task::Regression, &texts());
    let rows: String = (0..1800).map(|i| format!("kite {i}\n")).collect();
    let mut source = files.source("new.txt", &rows, false).expect("a file");
    let mut seen = Vec::new();
    let mut out = Vec::new();
    let mut progress = |rows| {
        seen.push(rows);
        ControlFlow::Continue(())
    };
    let target = (Target::stream(&mut out), Layout::Jsonl);
    predict(&files.model, &mut source, target, &mut progress).expect("predictions");
    assert_eq!(seen, [1024, 1800]);
    let texts = String::from_utf8(out).expect("UTF-8");
    let last: serde_json::Value =
        serde_json::from_str(texts.lines().last().expect("a row")).expect("JSON");
    assert_eq!(last["text"], "kite 1799");
    let alone = files
        .model
        .predict(vec![Input::Text("kite 1799".into())])
        .expect("a prediction");
    let Gold::Value(alone) = alone[0].predicted else {
        panic!("a number");
    };
    assert!((last["predicted"].as_f64().expect("a number") - alone).abs() < 1e-5);
    let mut source = files.source("new.txt", &rows, false).expect("a file");
    let target = (Target::stream(Vec::new()), Layout::Jsonl);
    let ended = predict(&files.model, &mut source, target, &mut |_| {
        ControlFlow::Break(())
    });
    assert!(!ended.expect("an end").complete);
}

#[test]
fn a_stop_ends_within_a_window() {
    let mut files = Files::new(Task::Regression, &texts());
    let rows: String = (0..300).map(|i| format!("kite {i}\n")).collect();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    files.model = files.model.with_stop(stop);
    let mut source = files.source("new.txt", &rows, false).expect("a file");
    let target = (Target::stream(Vec::new()), Layout::Jsonl);
    let ended = predict(&files.model, &mut source, target, &mut |_| {
        panic!("no window was predicted")
    });
    let ended = ended.expect("an end");
    assert!(!ended.complete && ended.rows == 0, "{ended:?}");
}
