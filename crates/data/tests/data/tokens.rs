//! Ids compared with transformers' tokenizers; `fixtures/make/tokens.py` (BERT), `roberta.py`, `modernbert.py` and
//! `xlm_roberta.py`, `deberta.py` and `albert.py` wrote the expected ones.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use totune_data::{
    Alignment, Catalogue, Example, Input, SubwordChoice, Target, Template, Tokenizer, WordContext,
};

/// The output of `tokens.py`.
#[derive(Deserialize)]
struct Witness {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    lowercase: bool,
    a: String,
    b: Option<String>,
    max_length: usize,
    ids: Vec<u32>,
    type_ids: Option<Vec<u8>>,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data")
}

#[test]
fn ids_and_types_are_those_of_transformers() {
    let text = std::fs::read_to_string(fixtures().join("tokens.json"))
        .expect("a file written by tokens.py");
    let witness: Witness = serde_json::from_str(&text).expect("what tokens.py writes");
    let open = |lowercase| Tokenizer::open(&fixtures(), lowercase).expect("the fixture vocabulary");
    let (uncased, cased) = (open(true), open(false));
    assert_eq!(witness.cases.len(), 700);
    for case in witness.cases {
        let tokenizer = if case.lowercase { &uncased } else { &cased };
        let input = match case.b.clone() {
            Some(b) => Input::Pair(case.a.clone(), b),
            None => Input::Text(case.a.clone()),
        };
        let encoded = tokenizer.encode(&input, case.max_length).expect("ids");
        let type_ids = case.type_ids.unwrap_or_else(|| vec![0; case.ids.len()]);
        let what = format!(
            "{:?} {:?} at {}, lowercase {}",
            case.a, case.b, case.max_length, case.lowercase
        );
        assert_eq!(encoded.ids, case.ids, "{what}");
        assert_eq!(encoded.type_ids, type_ids, "{what}");
    }
}

/// The output of `roberta.py`, `modernbert.py`, `xlm_roberta.py`, `deberta.py` and `albert.py`.
#[derive(Deserialize)]
struct TokenizerWitness {
    cases: Vec<WitnessCase>,
    words: Vec<WordsCase>,
}

#[derive(Deserialize)]
struct WitnessCase {
    a: String,
    b: Option<String>,
    max_length: usize,
    ids: Vec<u32>,
}

/// A sentence as a list of words, and the ids of each.
#[derive(Deserialize)]
struct WordsCase {
    words: Vec<String>,
    pieces: Vec<Vec<u32>>,
}

/// The tokenizer of `<name>-tiny`, and the ids of transformers.
fn witness(name: &str) -> (Tokenizer, TokenizerWitness) {
    let folder = fixtures().join(format!("../encoders/{name}-tiny"));
    let text = std::fs::read_to_string(fixtures().join(format!("tokens-{name}.json")))
        .expect("a file written by its script");
    (
        Tokenizer::open(&folder, false).expect("the fixture's tokenizer.json"),
        serde_json::from_str(&text).expect("what the script writes"),
    )
}

#[test]
fn robertas_ids_are_those_of_transformers_and_texts_lie_between_its_special_tokens() {
    check_texts("roberta", Template::ROBERTA, 112);
}

#[test]
fn xlm_robertas_ids_are_those_of_transformers_and_texts_lie_between_its_special_tokens() {
    check_texts("xlm-roberta", Template::XLM_ROBERTA, 124);
}

fn check_texts(name: &str, template: Template, n: usize) {
    let (tokenizer, witness) = witness(name);
    assert_eq!(tokenizer.template(), template);
    assert_eq!((tokenizer.pad_id(), tokenizer.unknown_id()), (1, 3));
    assert_eq!(witness.cases.len(), n);
    for case in witness.cases {
        let input = match case.b.clone() {
            Some(b) => Input::Pair(case.a.clone(), b),
            None => Input::Text(case.a.clone()),
        };
        let encoded = tokenizer.encode(&input, case.max_length).expect("ids");
        let what = format!("{:?} {:?} at {}", case.a, case.b, case.max_length);
        assert_eq!(encoded.ids, case.ids, "{what}");
        let n = encoded.ids.len();
        let texts = encoded.texts();
        let apart = tokenizer.separate(encoded.clone());
        match (&texts[..], case.b) {
            ([only], None) => assert_eq!(*only, 1..n - 1, "{what}"),
            ([first, second], Some(_)) => {
                assert_eq!((first.start, second.end), (1, n - 1), "{what}");
                assert_eq!(second.start, first.end + 2, "{what}"); // `</s></s>`
                assert_eq!(encoded.ids[first.end..second.start], [2, 2], "{what}");
                assert_eq!(apart.ids[first.end..second.start], [2, 0], "{what}");
                assert_eq!(apart.ids.len(), n, "{what}");
                assert_eq!(apart.texts(), texts, "{what}");
            }
            (found, _) => panic!("{what}: {found:?}"),
        }
    }
}

#[test]
fn modernberts_ids_are_those_of_transformers() {
    let (tokenizer, witness) = witness("modernbert");
    assert_eq!(tokenizer.template(), Template::MODERNBERT);
    assert_eq!((tokenizer.pad_id(), tokenizer.unknown_id()), (325, 322));
    check_cases(&tokenizer, witness.cases);
}

#[test]
fn debertas_ids_are_those_of_transformers() {
    let (tokenizer, witness) = witness("deberta");
    assert_eq!(tokenizer.template(), Template::DEBERTA);
    assert_eq!((tokenizer.pad_id(), tokenizer.unknown_id()), (0, 3));
    check_cases(&tokenizer, witness.cases);
}

#[test]
fn alberts_ids_are_those_of_transformers() {
    let (tokenizer, witness) = witness("albert");
    assert_eq!(tokenizer.template(), Template::ALBERT);
    assert_eq!((tokenizer.pad_id(), tokenizer.unknown_id()), (0, 1));
    check_cases(&tokenizer, witness.cases);
}

#[track_caller]
fn check_cases(tokenizer: &Tokenizer, cases: Vec<WitnessCase>) {
    assert_eq!(cases.len(), 122);
    for case in cases {
        let input = match case.b.clone() {
            Some(b) => Input::Pair(case.a.clone(), b),
            None => Input::Text(case.a.clone()),
        };
        let encoded = tokenizer.encode(&input, case.max_length).expect("ids");
        let what = format!("{:?} {:?} at {}", case.a, case.b, case.max_length);
        assert_eq!(encoded.ids, case.ids, "{what}");
    }
}

#[test]
fn words_have_the_ids_of_transformers_with_a_space_before_each() {
    for (name, specials) in [
        ("roberta", [0, 2]),
        ("xlm-roberta", [0, 2]),
        ("modernbert", [323, 324]),
        ("deberta", [1, 2]),
        ("albert", [2, 3]),
    ] {
        check_words(name, specials);
    }
}

#[track_caller]
fn check_words(name: &str, [cls, sep]: [u32; 2]) {
    let (tokenizer, witness) = witness(name);
    for case in witness.words {
        let example = Example {
            id: "one".into(),
            input: Input::Words(case.words.clone()),
            target: Target::Unknown,
            group: None,
        };
        let encoded = tokenizer.encode(&example.input, 512).expect("ids");
        let expected = [&[cls][..], &case.pieces.concat(), &[sep]].concat();
        assert_eq!(encoded.ids, expected, "{:?}", case.words);
        let alignment = Alignment {
            piece: SubwordChoice::First,
            context: WordContext::Sentence,
            max_length: 512,
        };
        let windows = tokenizer
            .windows(&[example], &alignment, 1)
            .expect("a window");
        // Each word is scored, so one without pieces is unknown: a SentencePiece has none for a no-break space.
        let or_unknown = |pieces: &Vec<u32>| match &pieces[..] {
            [] => vec![tokenizer.unknown_id()],
            pieces => pieces.to_vec(),
        };
        let pieces: Vec<Vec<u32>> = case.pieces.iter().map(or_unknown).collect();
        let expected = [&[cls][..], &pieces.concat(), &[sep]].concat();
        assert_eq!(windows[0].encoded.ids, expected);
        let before = pieces.iter().scan(1, |place, pieces| {
            let start = *place;
            *place += pieces.len() as u32;
            Some(start)
        });
        assert_eq!(windows[0].positions, before.collect::<Vec<_>>());
    }
}

/// `python fixtures/make/tokens.py train.csv VOCAB uncased uncased.json` (and `cased`), then
/// `TOTUNE_DATA=… TOTUNE_WITNESS=FOLDER cargo test -p totune-data -- --ignored`; the vocabularies are looked for in
/// `vocab/` below the data root.
#[test]
#[ignore = "needs the real tweets and BERT's vocabularies under TOTUNE_DATA and ids under TOTUNE_WITNESS"]
fn ids_of_the_tweets_are_those_of_transformers() {
    let variable = |name| PathBuf::from(std::env::var_os(name).expect("both variables set"));
    let cards = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets");
    let catalogue = Catalogue::read(&cards).expect("the cards");
    let card = catalogue.find("disaster-tweets").expect("its card");
    let dataset = card
        .load(&variable("TOTUNE_DATA"))
        .expect("the real tweets");
    for case in ["uncased", "cased"] {
        let vocabulary = variable("TOTUNE_DATA").join(format!("vocab/bert-base-{case}-vocab.txt"));
        let tokenizer =
            Tokenizer::from_vocabulary(&vocabulary, case == "uncased").expect("the vocabulary");
        let text = std::fs::read_to_string(variable("TOTUNE_WITNESS").join(format!("{case}.json")))
            .expect("ids");
        let expected: Vec<Vec<u32>> = serde_json::from_str(&text).expect("lists of ids");
        let encoded = tokenizer
            .encode_all(&dataset.examples, 512, 2)
            .expect("ids");
        let wrong = encoded
            .iter()
            .zip(&expected)
            .filter(|(ours, theirs)| ours.ids != **theirs)
            .count();
        println!("{case}: {} rows, {wrong} differ", encoded.len());
        assert_eq!(
            (encoded.len(), expected.len(), wrong),
            (7613, 7613, 0),
            "{case}"
        );
    }
}
