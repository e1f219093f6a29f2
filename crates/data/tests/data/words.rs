//! Words to wordpieces and windows: ids against transformers' `BertTokenizerFast`, and that no word is lost.

use proptest::prelude::*;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use totune_data::{
    Alignment, Example, Input, SubwordChoice, Target, Tokenizer, Window, WordContext,
};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data")
}

static CASED: LazyLock<Tokenizer> =
    LazyLock::new(|| Tokenizer::open(&fixtures(), false).expect("the fixture vocabulary"));
static UNCASED: LazyLock<Tokenizer> =
    LazyLock::new(|| Tokenizer::open(&fixtures(), true).expect("the fixture vocabulary"));

fn example(words: &[String], document: Option<&str>) -> Example {
    Example {
        id: String::new(),
        input: Input::Words(words.to_vec()),
        target: Target::Unknown,
        group: document.map(String::from),
    }
}

fn alignment(piece: SubwordChoice, context: WordContext, max_length: usize) -> Alignment {
    Alignment {
        piece,
        context,
        max_length,
    }
}

/// The output of `fixtures/make/words.py`.
#[derive(Deserialize)]
struct Witness {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    lowercase: bool,
    words: Vec<String>,
    ids: Vec<u32>,
    /// The word each id is of.
    of: Vec<usize>,
}

#[test]
fn ids_and_places_of_words_are_those_of_transformers() {
    let path = fixtures().join("ner/pieces.json");
    let text = std::fs::read_to_string(path).expect("a file written by words.py");
    let witness: Witness = serde_json::from_str(&text).expect("what words.py writes");
    assert_eq!(witness.cases.len(), 32);
    let mut without = 0;
    for case in witness.cases {
        let tokenizer = if case.lowercase { &UNCASED } else { &CASED };
        // Theirs, but that a word without a piece is an [UNK].
        let mut ids = vec![2];
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for word in 0..case.words.len() {
            let before = ids.len();
            let pieces = case.of.iter().zip(&case.ids);
            ids.extend(pieces.filter(|(of, _)| **of == word).map(|(_, id)| *id));
            if ids.len() == before {
                without += 1;
                ids.push(1);
            }
            first.push(before as u32);
            last.push(ids.len() as u32 - 1);
        }
        ids.push(3);
        for (piece, positions) in [(SubwordChoice::First, first), (SubwordChoice::Last, last)] {
            let examples = [example(&case.words, None)];
            let alignment = alignment(piece, WordContext::Sentence, 10_000);
            let windows = tokenizer
                .windows(&examples, &alignment, 1)
                .expect("windows");
            assert_eq!(windows.len(), 1);
            assert_eq!(windows[0].encoded.ids, ids, "{:?}", case.words);
            assert_eq!(
                windows[0].positions, positions,
                "{:?} {piece:?}",
                case.words
            );
            assert_eq!(windows[0].words, 0..case.words.len());
        }
    }
    assert_eq!(without, 26);
}

#[test]
fn a_word_too_long_for_a_window_keeps_the_end_that_stands_for_it() {
    // Eight pieces of one letter.
    let examples = [example(&["zqzqzqzx".into(), "fire".into()], None)];
    let pieces = |ids: &[u32]| -> Vec<String> { ids.iter().map(|&id| UNCASED.piece(id)).collect() };
    for (piece, expected) in [
        (SubwordChoice::First, ["z", "##q", "##z"]),
        (SubwordChoice::Last, ["##q", "##z", "##x"]),
    ] {
        let alignment = alignment(piece, WordContext::Sentence, 5);
        let windows = UNCASED.windows(&examples, &alignment, 1).expect("windows");
        assert_eq!(windows.len(), 2);
        assert_eq!(pieces(&windows[0].encoded.ids)[1..4], expected);
        let place = if piece == SubwordChoice::First { 1 } else { 3 };
        assert_eq!(windows[0].positions, [place]);
        assert_eq!(
            (windows[1].words.clone(), windows[1].positions.as_slice()),
            (1..2, &[1][..])
        );
    }
}

#[test]
fn context_is_the_document_around_a_sentence() {
    let words = |text: &str| -> Vec<String> { text.split(' ').map(String::from).collect() };
    let examples = [
        example(&words("a b c"), Some("1")),
        example(&words("d e"), Some("1")),
        example(&words("f g h"), Some("1")),
        example(&words("i j"), Some("2")),
        example(&words("k"), None),
        example(&words("l"), None),
    ];
    let alignment = alignment(SubwordChoice::First, WordContext::Document, 8);
    let windows = UNCASED.windows(&examples, &alignment, 2).expect("windows");
    let shown: Vec<String> = windows
        .iter()
        .map(|window| {
            let ids = &window.encoded.ids;
            let ids = ids[1..ids.len() - 1].iter().map(|&id| UNCASED.piece(id));
            let places: Vec<String> = window.positions.iter().map(u32::to_string).collect();
            format!("{} {}", ids.collect::<Vec<_>>().join(""), places.join(","))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "abcdef 1,2,3",
            "bcdefg 3,4",
            "cdefgh 4,5,6",
            "ij 1,2",
            "k 1",
            "l 1"
        ]
    );
    let rows = Window::rows(&[&windows[0], &windows[1]], 8);
    assert_eq!(rows, [1, 2, 3, 11, 12]);
}

#[test]
fn what_cannot_be_meant_is_an_error() {
    let sentence = example(&["a".into()], None);
    let text = Example {
        id: "7".into(),
        input: Input::Text("a".into()),
        ..sentence.clone()
    };
    for (examples, context, max_length, expected) in [
        (
            [sentence.clone()],
            WordContext::Sentence,
            2,
            "max_length: 2; expected at least 3: two special tokens and a piece",
        ),
        (
            [sentence],
            WordContext::Document,
            8,
            "context: `document`, but no sentence belongs to a document; expected a layout with document boundaries",
        ),
        (
            [text],
            WordContext::Sentence,
            8,
            "example `7`: a text; expected words",
        ),
    ] {
        let alignment = alignment(SubwordChoice::First, context, max_length);
        let error = UNCASED
            .windows(&examples, &alignment, 1)
            .expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
}

/// Sentences of words of one to nine pieces, or none, in documents.
fn sentences() -> impl Strategy<Value = Vec<(Vec<String>, Option<u8>)>> {
    let word = prop::sample::select(vec![
        "a",
        "fire",
        "zq",
        "zqzqzq",
        "a.b.c.d.e",
        "\u{200b}",
        "水火",
        "zqzqzqzq!",
    ]);
    let words = prop::collection::vec(word.prop_map(String::from), 1..30);
    let document = prop::option::weighted(0.8, 0..3u8);
    prop::collection::vec((words, document), 1..12)
}

proptest! {
    /// Every word of every sentence is scored once, at the place of its own piece; no window is longer than the
    /// maximum; the context around it is of the same document.
    #[test]
    fn no_word_is_lost(
        sentences in sentences(),
        max_length in 3..60usize,
        first in any::<bool>(),
        document in any::<bool>(),
    ) {
        let piece = if first { SubwordChoice::First } else { SubwordChoice::Last };
        let context = if document { WordContext::Document } else { WordContext::Sentence };
        let examples: Vec<Example> = sentences
            .iter()
            .map(|(words, group)| example(words, group.map(|group| group.to_string()).as_deref()))
            .collect();
        prop_assume!(!document || sentences.iter().any(|(_, group)| group.is_some()));
        let alignment = alignment(piece, context, max_length);
        let windows = UNCASED.windows(&examples, &alignment, 1).expect("windows");
        prop_assert_eq!(&windows, &UNCASED.windows(&examples, &alignment, 3).expect("windows"));

        let scored: Vec<(usize, usize)> = windows
            .iter()
            .flat_map(|window| window.words.clone().map(|word| (window.example, word)))
            .collect();
        let all: Vec<(usize, usize)> = sentences
            .iter()
            .enumerate()
            .flat_map(|(sentence, (words, _))| (0..words.len()).map(move |word| (sentence, word)))
            .collect();
        prop_assert_eq!(scored, all);

        // The pieces of each word on its own, as the witness has them, cut to the length of a window.
        let room = max_length - 2;
        let pieces = |word: &String| -> Vec<u32> {
            let alone = UNCASED.encode(&Input::Text(word.clone()), 64).expect("ids").ids;
            let alone = &alone[1..alone.len() - 1];
            let surplus = alone.len().saturating_sub(room);
            match piece {
                _ if alone.is_empty() => vec![1],
                SubwordChoice::First => alone[..alone.len() - surplus].to_vec(),
                SubwordChoice::Last => alone[surplus..].to_vec(),
            }
        };
        let together = |a: usize, b: usize| {
            let group = sentences[a].1;
            a == b || document && group.is_some() && sentences[a.min(b)..=a.max(b)].iter().all(|(_, of)| *of == group)
        };
        for window in &windows {
            let ids = &window.encoded.ids;
            prop_assert!(ids.len() <= max_length && ids.len() == window.encoded.type_ids.len());
            prop_assert_eq!((ids[0], ids[ids.len() - 1]), (2, 3));
            prop_assert_eq!(window.words.len(), window.positions.len());
            for (word, &place) in window.words.clone().zip(&window.positions) {
                let pieces = pieces(&sentences[window.example].0[word]);
                let from = match piece {
                    SubwordChoice::First => place as usize,
                    SubwordChoice::Last => place as usize + 1 - pieces.len(),
                };
                prop_assert_eq!(&ids[from..from + pieces.len()], &pieces[..]);
            }
            // The words seen are a run of those that may be seen.
            let run: Vec<u32> = (0..sentences.len())
                .filter(|&other| together(window.example, other))
                .flat_map(|other| sentences[other].0.iter().flat_map(pieces))
                .collect();
            let seen = &ids[1..ids.len() - 1];
            prop_assert!(run.windows(seen.len()).any(|part| part == seen));
            // At least as much as fits: all that there is, or about as much as there is room.
            let own = sentences[window.example].0.iter().map(|word| pieces(word).len()).sum::<usize>();
            if document && own <= room {
                prop_assert!(seen.len() == run.len() || seen.len() + 9 > room, "{} of {}", seen.len(), room);
            }
        }
    }
}
