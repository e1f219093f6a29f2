//! Tagging datasets: the committed cards, the schemes and layouts they are read in, and errors in files.

mod files;
mod real;

use std::path::{Path, PathBuf};
use totune_data::tags::Scheme;
use totune_data::{Alignment, Catalogue, Dataset, SubwordChoice, Tokenizer, WordContext};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn fixture(split: &str, layout: &str) -> Dataset {
    let catalogue = Catalogue::read(&project().join("datasets")).expect("valid cards");
    let card = catalogue.find("fixture-ner").expect("the fixture");
    let dataset = card.load_layout(Path::new("nowhere"), split, layout);
    dataset.unwrap_or_else(|error| panic!("{split} {layout}: {error:#}"))
}

const LAYOUTS: [&str; 4] = ["eng", "txt", "hub", "lists"];

#[test]
fn every_layout_of_the_fixture_has_the_same_sentences_and_spans() {
    for split in ["train", "dev", "test"] {
        let first = fixture(split, LAYOUTS[0]);
        assert_eq!(first.labels[..3], ["O", "B-PER", "I-PER"]);
        for layout in &LAYOUTS[1..] {
            let other = fixture(split, layout);
            assert_eq!(first.labels, other.labels);
            assert_eq!(first.examples.len(), other.examples.len());
            for (a, b) in first.examples.iter().zip(&other.examples) {
                assert_eq!(
                    (&a.input, &a.target),
                    (&b.input, &b.target),
                    "{split} {layout}"
                );
                let group = (*layout != "hub").then_some(a.group.as_ref()).flatten();
                assert_eq!(group, b.group.as_ref(), "{split} {layout} {}", b.id);
            }
        }
        // Columns number their sentences and their documents alike.
        assert_eq!(first.hash, fixture(split, "txt").hash);
    }
}

#[test]
fn the_scheme_of_a_file_is_found_and_its_ill_formed_tags_are_counted() {
    let read = |split, layout| {
        let tagging = fixture(split, layout).tagging.expect("a tagging dataset");
        (tagging.file, tagging.ill_formed)
    };
    assert_eq!(read("train", "eng"), (Scheme::Iob1, 2));
    assert_eq!(read("dev", "eng"), (Scheme::Iob1, 0));
    assert_eq!(read("train", "txt"), (Scheme::Bio, 0));
    assert_eq!(read("train", "hub"), (Scheme::Bio, 0));
    assert_eq!(read("train", "lists"), (Scheme::Bioul, 0));
}

#[test]
fn words_spans_and_documents_are_counted() {
    let dataset = fixture("train", "eng");
    assert_eq!((dataset.examples.len(), dataset.n_words()), (102, 1108));
    assert_eq!(dataset.span_counts(), [64, 68, 75, 39]);
    let tagging = dataset.tagging.as_ref().expect("a tagging dataset");
    assert_eq!((tagging.file, tagging.ill_formed), (Scheme::Iob1, 2));
    let documents = dataset
        .examples
        .iter()
        .filter_map(|example| example.group.as_deref());
    assert_eq!(
        documents.collect::<std::collections::HashSet<_>>().len(),
        24
    );
}

#[test]
fn the_fixture_has_sentences_that_are_too_long_and_words_without_a_piece() {
    let dataset = fixture("test", "eng");
    let tokenizer =
        Tokenizer::open(&project().join("fixtures/data"), false).expect("the fixture vocabulary");
    for context in [WordContext::Sentence, WordContext::Document] {
        let alignment = Alignment {
            piece: SubwordChoice::First,
            context,
            max_length: 128,
        };
        let windows = tokenizer
            .windows(&dataset.examples, &alignment, 2)
            .expect("windows");
        let scored: usize = windows.iter().map(|window| window.positions.len()).sum();
        assert_eq!(scored, 449);
        assert!(windows.len() > dataset.examples.len());
    }
}
