//! Ids of texts, words and pairs, and errors.

use std::ops::Range;

use super::*;
use crate::{Example, Target};
use serde_json::json;

const PIECES: [&str; 12] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fire", "##s", "Re", "e", "r", "re", "##my",
];

fn folder(pieces: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(dir.path().join("vocab.txt"), pieces.join("\n")).expect("a vocabulary");
    dir
}

fn ids(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    tokenizer
        .encode(&Input::Text(text.into()), 16)
        .expect("ids")
        .ids
}

#[test]
fn texts_lie_between_the_special_tokens_however_a_pair_is_read() {
    let dir = folder(&PIECES);
    let tokenizer = Tokenizer::open(dir.path(), false).expect("a tokenizer");
    let pair = Input::Pair("fire".into(), "Re e".into());
    let joint = tokenizer.encode(&pair, 16).expect("ids");
    assert_eq!(joint.ids, [2, 5, 3, 7, 8, 3]);
    assert_eq!(joint.texts(), [1..2, 3..5]);
    let apart = tokenizer.separate(joint);
    assert_eq!(apart.ids, [2, 5, 3, 2, 7, 8, 3]);
    assert_eq!(apart.type_ids, [0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(apart.texts(), [1..2, 4..6]);
    let single = tokenizer
        .encode(&Input::Text("fire".into()), 16)
        .expect("ids");
    assert_eq!(tokenizer.separate(single.clone()), single);
    assert_eq!(single.texts(), [Range { start: 1, end: 2 }]);
}

#[test]
fn lowering_letters_strips_accents_and_keeping_them_keeps_both() {
    let dir = folder(&PIECES);
    let open = |lowercase| Tokenizer::open(dir.path(), lowercase).expect("a vocabulary");
    assert_eq!(ids(&open(true), "Rémy fires"), [2, 10, 11, 5, 6, 3]);
    assert_eq!(ids(&open(false), "Remy fires é"), [2, 7, 11, 5, 6, 1, 3]);
    assert_ne!(open(true).hash(), open(false).hash());
    assert_eq!(open(true).vocab_size(), 12);
}

/// Regression test: such vocabularies were read as BERT's, with other ids than in transformers.
#[test]
fn a_vocabulary_that_its_config_reads_in_another_way_is_refused() {
    let dir = folder(&PIECES);
    let open = |lowercase, config: &str| {
        let path = dir.path().join("tokenizer_config.json");
        std::fs::write(path, config).expect("a file");
        let opened = Tokenizer::open(dir.path(), lowercase).map(|_| ());
        opened.map_err(|error| format!("{error:#}"))
    };
    for (lowercase, config) in [
        (true, "{}"),
        (
            true,
            r#"{ "strip_accents": null, "tokenize_chinese_chars": true }"#,
        ),
        (true, r#"{ "strip_accents": true }"#),
        (false, r#"{ "strip_accents": false }"#),
        (false, r#"{ "do_lower_case": false }"#),
    ] {
        assert_eq!(open(lowercase, config), Ok(()), "{config}");
    }
    for (lowercase, config, expected) in [
        (
            true,
            r#"{ "strip_accents": false }"#,
            "strip_accents: found false, expected true: a bare `vocab.txt`",
        ),
        (
            true,
            r#"{ "do_lower_case": false }"#,
            "do_lower_case: false; the encoder's card declares `lowercase = true`",
        ),
        (
            false,
            r#"{ "strip_accents": true }"#,
            "strip_accents: found true, expected false: a bare `vocab.txt`",
        ),
        (
            false,
            r#"{ "tokenize_chinese_chars": false }"#,
            "tokenize_chinese_chars: found false, expected true: a bare `vocab.txt`",
        ),
    ] {
        let error = open(lowercase, config).expect_err(config);
        assert!(error.contains("tokenizer_config.json: "), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

/// A `tokenizer.json` of the same pieces that truncates to 3, pads to 9 and adds its own special tokens.
fn json_of(pieces: &[&str]) -> serde_json::Value {
    let vocab: serde_json::Map<String, serde_json::Value> = pieces
        .iter()
        .enumerate()
        .map(|(id, piece)| (piece.to_string(), json!(id)))
        .collect();
    let special = |id: usize| {
        json!({ "id": id, "content": pieces[id], "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": true })
    };
    json!({
        "version": "1.0",
        "truncation": { "direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0 },
        "padding": { "strategy": { "Fixed": 9 }, "direction": "Right", "pad_to_multiple_of": null,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]" },
        "added_tokens": (0..5).map(special).collect::<Vec<_>>(),
        "normalizer": { "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": { "type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2] },
        "decoder": null,
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocab },
    })
}

#[test]
fn a_tokenizer_json_is_preferred_and_its_truncation_and_padding_are_ignored() {
    let dir = folder(&["[UNK]"]);
    std::fs::write(
        dir.path().join("tokenizer.json"),
        json_of(&PIECES).to_string(),
    )
    .expect("a file");
    let tokenizer = Tokenizer::open(dir.path(), true).expect("a tokenizer");
    assert_eq!(ids(&tokenizer, "Fires fire fire"), [2, 5, 6, 5, 5, 3]);
    let error = Tokenizer::open(dir.path(), false)
        .expect_err("the card says cased")
        .to_string();
    assert!(
        error.ends_with("normalizer.lowercase: true; the encoder's card declares false"),
        "{error}"
    );
}

#[test]
fn a_folder_that_is_not_a_known_tokenizer_is_refused() {
    let empty = tempfile::tempdir().expect("a temporary folder");
    let cut = folder(&[]);
    std::fs::write(cut.path().join("tokenizer.json"), "{\n\"model\": ").expect("a file");
    let other = folder(&[]);
    std::fs::write(
        other.path().join("tokenizer.json"),
        r#"{ "model": { "type": "WordLevel" } }"#,
    )
    .expect("a file");
    let bytes = folder(&[]);
    std::fs::write(bytes.path().join("vocab.txt"), b"[PAD]\n\xff\n").expect("a file");
    for (dir, says) in [
        (
            &empty,
            "no `tokenizer.json` and no `vocab.txt`; expected one of them",
        ),
        (&cut, "line 2"),
        (
            &other,
            "model.type: `WordLevel`; expected `WordPiece` or `BPE` or `Unigram`",
        ),
        (&bytes, "line 2: not UTF-8; expected one wordpiece per line"),
        (
            &folder(&["[PAD]", "[UNK]", "[SEP]"]),
            "no `[CLS]`; expected it in the vocabulary",
        ),
        (
            &folder(&["[PAD]", "a", "b", "a"]),
            "line 4: `a` is already on line 2; expected it once",
        ),
    ] {
        let error = Tokenizer::open(dir.path(), true)
            .expect_err(says)
            .to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_length_without_room_for_the_special_tokens_is_an_error() {
    let dir = folder(&PIECES);
    let tokenizer = Tokenizer::open(dir.path(), true).expect("a vocabulary");
    let pair = Input::Pair("fire".into(), "fire".into());
    let error = tokenizer.encode(&pair, 2).expect_err("no room").to_string();
    assert_eq!(
        error,
        "max_length: 2; expected at least 3, one per special token"
    );
    assert_eq!(tokenizer.encode(&pair, 3).expect("room").ids, [2, 3, 3]);
}

#[test]
fn the_longer_text_of_a_pair_is_shortened_first_and_then_the_second() {
    // One piece at a time, as BERT's released code does it.
    let by_hand = |mut first: usize, mut second: usize, room: usize| {
        while first + second > room {
            if first > second {
                first -= 1;
            } else {
                second -= 1;
            }
        }
        (first, second)
    };
    for first in 0..12 {
        for second in 0..12 {
            for room in 0..26 {
                let expected = by_hand(first, second, room);
                assert_eq!(
                    shorten(first, second, room),
                    expected,
                    "{first} {second} {room}"
                );
            }
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let dir = folder(&PIECES);
    let tokenizer = Tokenizer::open(dir.path(), true).expect("a vocabulary");
    let examples: Vec<Example> = (0..500)
        .map(|index| Example {
            id: index.to_string(),
            input: Input::Text("fires re ".repeat(index % 17)),
            target: Target::Class(0),
            group: None,
        })
        .collect();
    let one = tokenizer.encode_all(&examples, 20, 1).expect("ids");
    assert_eq!(one.len(), 500);
    assert_eq!(one, tokenizer.encode_all(&examples, 20, 2).expect("ids"));
    assert_eq!(one, tokenizer.encode_all(&examples, 20, 7).expect("ids"));
}

#[test]
fn a_prefix_stands_before_each_text_and_not_before_words() {
    let dir = folder(&PIECES);
    let open = || Tokenizer::open(dir.path(), true).expect("a vocabulary");
    let (plain, prefixed) = (open(), open().with_prefix("fire "));
    assert_eq!(open().with_prefix("").hash(), plain.hash());
    assert_ne!(prefixed.hash(), plain.hash());
    let pair = |prefix: &str| Input::Pair(format!("{prefix}fires"), format!("{prefix}fire"));
    let text = |prefix: &str| Input::Text(format!("{prefix}fires"));
    for (bare, whole) in [(pair(""), pair("fire ")), (text(""), text("fire "))] {
        let expected = plain.encode(&whole, 16).expect("ids");
        assert_eq!(prefixed.encode(&bare, 16).expect("ids"), expected);
        let example = Example {
            id: String::new(),
            input: bare,
            target: Target::Unknown,
            group: None,
        };
        let all = prefixed.encode_all(&[example], 16, 1).expect("ids");
        assert_eq!(all, [expected]);
    }
    let words = Input::Words(vec!["fires".into()]);
    let [found, expected] = [&prefixed, &plain].map(|each| each.encode(&words, 16).expect("ids"));
    assert_eq!(found, expected);
}
