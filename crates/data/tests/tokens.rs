//! Wordpiece ids against transformers' `BertTokenizerFast`; `fixtures/make/tokens.py` wrote what is expected.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use totune_data::{Catalogue, Input, Tokenizer};

/// What `tokens.py` writes.
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

/// `python fixtures/make/tokens.py train.csv VOCAB uncased uncased.json` (and `cased`), then
/// `TOTUNE_DATA=… TOTUNE_WITNESS=FOLDER cargo test -p totune-data -- --ignored`; the vocabularies are looked for in
/// `vocab/` below the data root.
#[test]
#[ignore = "needs the real tweets and BERT's vocabularies under TOTUNE_DATA and ids under TOTUNE_WITNESS"]
fn ids_of_the_real_tweets_are_those_of_transformers() {
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
