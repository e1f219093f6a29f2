//! CoNLL-2003 itself, where it is there.

use std::path::PathBuf;

use totune_data::{Alignment, Catalogue, Dataset, SubwordChoice, Tokenizer, WordContext};

use super::project;

/// The real files below `TOTUNE_DATA`.
fn real(split: &str) -> Dataset {
    let catalogue = Catalogue::read(&project().join("datasets")).expect("valid cards");
    let card = catalogue.find("conll2003").expect("its card");
    let root = PathBuf::from(std::env::var_os("TOTUNE_DATA").expect("TOTUNE_DATA"));
    card.load_split(&root, split)
        .expect("files as the card says")
}

#[test]
#[ignore = "needs conll2003 under TOTUNE_DATA"]
fn the_real_files_are_what_their_card_says() {
    for (split, documents, sentences) in [
        ("train", 946, 14041),
        ("dev", 216, 3250),
        ("test", 231, 3453),
    ] {
        let dataset = real(split);
        assert_eq!(dataset.examples.len(), sentences);
        let last = dataset
            .examples
            .last()
            .and_then(|example| example.group.clone());
        assert_eq!(last, Some(documents.to_string()));
    }
}

#[test]
#[ignore = "needs conll2003, and BERT's vocabulary in vocab/, under TOTUNE_DATA"]
fn no_word_of_the_real_files_is_lost_with_or_without_their_documents() {
    let dataset = real("dev");
    let root = PathBuf::from(std::env::var_os("TOTUNE_DATA").expect("TOTUNE_DATA"));
    let vocabulary = root.join("vocab/bert-base-cased-vocab.txt");
    let tokenizer = Tokenizer::from_vocabulary(&vocabulary, false).expect("a vocabulary");
    for (context, max_length) in [
        (WordContext::Sentence, 32),
        (WordContext::Sentence, 512),
        (WordContext::Document, 512),
    ] {
        let alignment = Alignment {
            piece: SubwordChoice::First,
            context,
            max_length,
        };
        let start = std::time::Instant::now();
        let windows = tokenizer
            .windows(&dataset.examples, &alignment, 2)
            .expect("windows");
        let scored: usize = windows.iter().map(|window| window.positions.len()).sum();
        let ids: usize = windows.iter().map(|window| window.encoded.ids.len()).sum();
        println!(
            "{context:?} at {max_length}: {} windows, {ids} ids, {:.2} s",
            windows.len(),
            start.elapsed().as_secs_f64()
        );
        assert_eq!(scored, 51362);
        assert!(
            windows
                .iter()
                .all(|window| window.encoded.ids.len() <= max_length)
        );
    }
}
