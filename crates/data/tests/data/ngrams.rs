//! Overlap of evaluation data and texts, against sets of tuples in Python (`fixtures/make/ngrams.py`).

use serde::Deserialize;
use std::path::{Path, PathBuf};
use totune_data::ngrams::{Overlap, WORDS, overlap_markdown, overlap_table};
use totune_data::{Card, Dataset, Example, Input, TextCard, TextCatalogue};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn prose() -> TextCard {
    let texts = TextCatalogue::read(&root().join("datasets/texts")).expect("valid cards");
    texts.find("fixture-prose").expect("a fixture").clone()
}

fn tweets() -> Dataset {
    let card = Card::read(&root().join("datasets/fixture-tweets.toml")).expect("a valid card");
    let dataset = card.load_split(Path::new("nowhere"), "train");
    dataset.expect("a fixture")
}

/// A dataset of these inputs.
fn of_inputs(inputs: impl Iterator<Item = Input>) -> Dataset {
    let dataset = tweets();
    let like = &dataset.examples[0];
    let example = |input| Example {
        input,
        ..like.clone()
    };
    Dataset {
        examples: inputs.map(example).collect(),
        ..dataset.clone()
    }
}

#[derive(Debug, Deserialize)]
struct Case {
    n: usize,
    dataset: String,
    rows: usize,
    long_enough: usize,
    shared: usize,
    ngrams: usize,
    paragraphs: usize,
}

#[test]
fn shared_ngrams_are_those_that_python_finds() {
    let cases = std::fs::read_to_string(root().join("fixtures/data/ngrams.json"));
    let cases: Vec<Case> =
        serde_json::from_str(&cases.expect("reference values")).expect("reference values");
    let card = prose();
    let held_out = card.held_out(Path::new("nowhere")).expect("documents");
    let held_out: Vec<&str> = held_out
        .iter()
        .flat_map(|document| &document.paragraphs)
        .map(String::as_str)
        .collect();
    for case in cases {
        let mut overlap = Overlap::new(case.n);
        match case.dataset.as_str() {
            "tweets" => overlap.add("train", &tweets()),
            _ => {
                let pair = |texts: &[&str]| Input::Pair(texts[0].into(), texts[1].into());
                overlap.add("", &of_inputs(held_out.chunks_exact(2).map(pair)));
            }
        }
        let report = overlap
            .report(&[prose()], Path::new("nowhere"))
            .expect("a text");
        let found = &report.splits[0];
        assert_eq!(
            (
                found.rows,
                found.long_enough,
                found.shared[0],
                found.shared_with_any
            ),
            (case.rows, case.long_enough, case.shared, case.shared),
            "{case:?}"
        );
        assert_eq!(
            (overlap.len(), report.texts[0].shared),
            (case.ngrams, case.paragraphs),
            "{case:?}"
        );
        let documents = card.documents(Path::new("nowhere")).expect("documents");
        let paragraphs = documents.iter().flat_map(|document| &document.paragraphs);
        let dropped = paragraphs.filter(|text| overlap.paragraph(text));
        assert_eq!(dropped.count(), case.paragraphs, "{case:?}");
    }
}

#[test]
fn a_paragraph_with_thirteen_words_of_an_evaluation_text_is_found() {
    let mut dataset = tweets();
    dataset.examples.truncate(1);
    let text = "One two three, four five six seven. Eight nine ten eleven twelve THIRTEEN";
    dataset.examples[0].input = totune_data::Input::Text(text.into());
    let overlap = Overlap::of([&dataset]);
    assert_eq!((overlap.len(), WORDS), (1, 13));
    assert!(overlap.paragraph(&format!("zero {} fourteen", text.to_uppercase())));
    assert!(!overlap.paragraph(&text.replace("nine", "9")));
    assert!(!overlap.paragraph(&text.replace(" THIRTEEN", "")));
    assert!(Overlap::of([]).is_empty());
}

#[test]
fn words_are_compared_without_case_and_punctuation() {
    let texts = ["The cat sat on the mat.", "Too short"].map(|text| Input::Text(text.into()));
    let mut overlap = Overlap::new(3);
    overlap.add("test", &of_inputs(texts.into_iter()));
    assert!(overlap.paragraph("There, the CAT sat."));
    assert!(!overlap.paragraph("The cat never sat."));
}

#[test]
fn a_sentence_of_words_is_one_text_and_a_pair_two() {
    let words = ["Port", "Hallow", "'s", "mill"].map(String::from).into();
    let inputs = [
        Input::Words(words),
        Input::Pair("a b c".into(), "d e".into()),
    ];
    let mut overlap = Overlap::new(4);
    overlap.add("test", &of_inputs(inputs.into_iter()));
    assert_eq!(overlap.len(), 1);
    assert!(overlap.paragraph("Port Hallow's mill"));
}

#[test]
fn splits_of_a_dataset_are_one_line_and_the_page_names_its_command() {
    let mut overlap = Overlap::new(3);
    overlap.add("train", &tweets());
    overlap.add("test", &tweets());
    let report = overlap.report(&[prose(), prose()], Path::new("nowhere"));
    let report = report.expect("a text");
    let datasets = report.datasets();
    assert_eq!((report.splits.len(), datasets.len()), (2, 1));
    assert_eq!(datasets[0].rows, 480);
    let table = overlap_table(&report);
    assert!(
        table.starts_with("dataset         splits       rows  of 3+ words  fixture-prose"),
        "{table}"
    );
    let page = overlap_markdown(&[report], "totune data overlap fixture-prose");
    assert!(
        page.contains("Generated by `totune data overlap fixture-prose`."),
        "{page}"
    );
    assert!(
        page.contains("| fixture-tweets | train, test | 480 | "),
        "{page}"
    );
}
