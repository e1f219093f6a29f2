//! Rows of parquet, next to the same rows as JSON.

use super::*;
use crate::support::{repository, sentences};
use totune_keep::{Columns, Kind};

const REVIEWS: &str = "fixtures/data/own/reviews.parquet";

fn reading(text: &str, label: Option<&str>) -> ReadOptions {
    ReadOptions {
        columns: Columns {
            text: vec![text.into()],
            label: label.map(String::from),
            ..Columns::default()
        },
        ..ReadOptions::default()
    }
}

/// The predictions for a file, in the format that `out` names.
fn predicted(files: &Files, file: &str, text: &str, out: &str) -> String {
    let reading = reading(text, None);
    let manifest = &files.model.manifest;
    let mut source = Source::open(&repository(file), &reading, manifest, false).expect("a file");
    let layout = Layout::of(source.kind(), Path::new(out), false).expect("a layout");
    let mut bytes = Vec::new();
    let target = (Target::stream(&mut bytes), layout);
    let ended = predict(&files.model, &mut source, target, &mut |_| {
        ControlFlow::Continue(())
    });
    assert!(ended.expect("predictions").complete);
    String::from_utf8(bytes).expect("UTF-8")
}

fn objects(lines: &str) -> Vec<serde_json::Value> {
    let lines = lines.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn rows_have_the_predictions_of_the_same_rows_as_json() {
    let files = Files::new(Task::Classification, &texts());
    let parquet = objects(&predicted(&files, REVIEWS, "review", "-"));
    let json = "fixtures/data/own/reviews.jsonl";
    let json = objects(&predicted(&files, json, "review", "-"));
    assert!(!json.is_empty());
    for (mut parquet, json) in parquet.into_iter().zip(json) {
        parquet["tags"] = json["tags"].clone();
        assert_eq!(parquet, json);
    }
}

#[test]
fn rows_come_out_as_fields_where_the_name_says_so() {
    let files = Files::new(Task::Classification, &texts());
    let out = predicted(&files, REVIEWS, "review", "p.csv");
    let mut reader = csv::Reader::from_reader(out.as_bytes());
    let header: Vec<_> = reader.headers().expect("a header").iter().collect();
    let own = ["key", "review", "stars", "verdict", "shop", "tags"];
    assert_eq!(header[..6], own);
    assert_eq!((header[6], header.len()), ("predicted", 10));
    let first = reader.records().next().expect("a row").expect("a row");
    let own: Vec<_> = first.iter().take(6).collect();
    let review = "The twins hid two lanterns near the mill.";
    assert_eq!(own, ["r0", review, "1", "false", "north", r#"["x"]"#]);
}

#[test]
fn lists_of_words_get_their_tags() {
    let files = Files::new(Task::Tagging, &sentences());
    let ner = "fixtures/data/ner/hub/test.parquet";
    let rows = objects(&predicted(&files, ner, "tokens", "-"));
    for row in &rows {
        let n = |key: &str| row[key].as_array().expect("a list").len();
        assert_eq!(n("predicted"), n("tokens"));
    }
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let files = Files::new(Task::Classification, &texts());
    let manifest = &files.model.manifest;
    let error = |path: &Path, reading: &ReadOptions, labelled| {
        let run = || {
            let mut source = Source::open(path, reading, manifest, labelled)?;
            evaluate(
                &files.model,
                &mut source,
                &mut |_| ControlFlow::Continue(()),
            )
        };
        format!("{:#}", run().expect_err("an error"))
    };
    let reviews = repository(REVIEWS);
    let other = error(&reviews, &reading("reviews", None), false);
    assert!(
        other.contains("no column `reviews`; did you mean `review`?"),
        "{other}"
    );
    let label = error(&reviews, &reading("review", Some("shop")), true);
    let named = "reviews.parquet: row 1: `north` is no label of the model";
    assert!(label.contains(named), "{label}");
    let bytes = fs::read(&reviews).expect("a file");
    let cut = files.write("cut.parquet", &bytes[..bytes.len() / 2]);
    let cut = error(&cut, &reading("review", None), false);
    assert!(cut.contains("cut.parquet: "), "{cut}");
    assert!(cut.ends_with("; expected parquet"), "{cut}");
    let piped = ReadOptions {
        kind: Some(Kind::Parquet),
        ..reading("review", None)
    };
    let piped = error(Path::new("-"), &piped, false);
    assert!(piped.starts_with("standard input: parquet"), "{piped}");
}
