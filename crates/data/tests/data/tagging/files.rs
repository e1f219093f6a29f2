//! Files of words and tags in every scheme, some of them faulty.

use totune_data::{Card, Dataset};

use super::project;

const CARD: &str = r#"name = "toy"
title = "Toy"
task = "tagging"
metrics = ["span-f1"]
labels = ["PER", "LOC"]

[[layouts]]
name = "own"
format = { kind = "conll", columns = ["word", "ner"] }
columns = { text = "word", label = "ner" }
files.train = { path = "toy.txt" }
"#;

/// Writes a card and its file; returns the sentences as text, or the error without the folder.
fn load(card: &str, bytes: impl AsRef<[u8]>) -> Result<String, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("toy.toml");
    std::fs::write(&path, card).expect("a card");
    std::fs::write(folder.path().join("toy.txt"), bytes).expect("a file");
    let dataset = Card::read(&path).and_then(|card| card.load(folder.path()));
    dataset
        .map(|dataset| shown(&dataset))
        .map_err(|error| format!("{error:#}").replace(&format!("{}/", folder.path().display()), ""))
}

fn shown(dataset: &Dataset) -> String {
    let examples = dataset.examples.iter().map(|example| {
        let tags = example.target.tags().map_or(Vec::new(), |tags| {
            tags.iter()
                .map(|&tag| dataset.labels[tag].as_str())
                .collect()
        });
        format!("{} {}", example.id, tags.join(" "))
    });
    let tagging = dataset.tagging.as_ref().expect("a tagging dataset");
    format!(
        "{}, {} ill-formed: {}",
        tagging.file.name(),
        tagging.ill_formed,
        examples.collect::<Vec<_>>().join("; ")
    )
}

#[test]
fn files_in_any_scheme_become_bio() {
    for (scheme, text, expected) in [
        (
            "",
            "a I-PER\nb B-PER\nc I-LOC\n\nd I-PER\n",
            "iob1, 0 ill-formed: 1 B-PER B-PER B-LOC; 2 B-PER",
        ),
        (
            "",
            "a B-PER\nb I-PER\nc O\n",
            "bio, 0 ill-formed: 1 B-PER I-PER O",
        ),
        (
            "",
            "a B-PER\nb E-PER\nc S-LOC\n",
            "bioes, 0 ill-formed: 1 B-PER I-PER B-LOC",
        ),
        (
            "",
            "a B-PER\nb L-PER\nc U-LOC\n",
            "bioul, 0 ill-formed: 1 B-PER I-PER B-LOC",
        ),
        (
            "",
            "a I-PER\nb E-PER\nc E-PER\n",
            "ioe2, 0 ill-formed: 1 B-PER I-PER B-PER",
        ),
        ("", "a O\n", "bio, 0 ill-formed: 1 O"),
        (
            "scheme = \"bio\"",
            "a O\nb I-PER\nc I-LOC\n",
            "bio, 2 ill-formed: 1 O B-PER B-LOC",
        ),
        (
            "scheme = \"bilou\"",
            "a I-PER\nb U-PER\n",
            "bioul, 1 ill-formed: 1 B-PER B-PER",
        ),
    ] {
        let card = CARD.replace("files.train", &format!("{scheme}\nfiles.train"));
        assert_eq!(load(&card, text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn a_broken_file_is_refused_with_its_line() {
    for (text, expected) in [
        (
            "a O\n\nb B-PRE\n",
            "toy.txt: line 3: tag `B-PRE`: `PRE` is not a type; did you mean `PER`? expected one of `PER`, `LOC`",
        ),
        (
            "a O\nb PER\n",
            "toy.txt: line 2: tag `PER` has no type; expected `O`, or one of `B`, `I` with a type, such as `B-PER`",
        ),
        (
            "a S-PER\nb U-PER\n",
            "toy.txt: line 2: tag `U-PER` is not of the scheme `bioes`; expected `O`, or one of `B`, `I`, `E`, `S` with a type, such as `B-PER`",
        ),
        (
            "a O\nb I-PER\n\nc B-PER\nd I-PER\n",
            "toy.txt: line 2: tag `I-PER` where the scheme `bio` has `B-PER`, and 1 such in all; no scheme writes the tags as they are, so expected the layout in the card to declare one, such as `scheme = \"bio\"`; --scheme bio writes that into a new card",
        ),
        (
            "a O\nb\n",
            "toy.txt: line 2: 1 columns; expected 2: `word`, `ner`",
        ),
    ] {
        assert_eq!(load(CARD, text).expect_err(expected), expected);
    }
}

#[test]
fn a_card_that_cannot_be_meant_is_refused() {
    let text = "a O\nb I-PER\n";
    for (from, to, expected) in [
        (
            "[[layouts]]",
            "[splits.train]\nrows = 2\nwords = 2\n[[layouts]]",
            "toy.txt: 1 rows; expected 2",
        ),
        (
            "[[layouts]]",
            "[splits.train]\nrows = 1\nwords = 3\n[[layouts]]",
            "toy.txt: 2 words; expected 3",
        ),
        (
            "[[layouts]]",
            "[splits.train]\nrows = 1\ncounts = [1, 1]\n[[layouts]]",
            "toy.txt: 0 spans are `LOC`; expected 1",
        ),
        (
            "\"toy.txt\"",
            "\"toy.txt\", ill-formed = 1",
            "toy.txt: 0 tags are ill-formed in the scheme `iob1`; expected 1",
        ),
        (
            "{ kind = \"conll\", columns = [\"word\", \"ner\"] }",
            "{ kind = \"csv\" }",
            "toy.toml: layouts.own: files.train: format: a table of texts; expected words and tags, so `conll`, `jsonl` or `parquet`, since the task is tagging",
        ),
        (
            "task = \"tagging\"",
            "task = \"classification\"",
            "toy.toml: layouts.own: files.train: format: words and tags; expected a table, such as `csv`, unless the task is tagging",
        ),
        (
            "text = \"word\"",
            "text = \"words\"",
            "toy.toml: layouts.own: files.train: columns.text: `words` is not one of the format's columns; did you mean `word`? expected one of `word`, `ner`",
        ),
        (
            "[\"word\", \"ner\"]",
            "[\"word\", \"ner\", \"ner\"]",
            "toy.toml: layouts.own: format.columns: `ner` is listed twice; expected once",
        ),
        (
            "label = \"ner\"",
            "label = \"ner\", group = \"doc\"",
            "toy.toml: layouts.own: files.train: columns: an `id` or a `group`; expected none, since sentences are numbered and documents start at -DOCSTART-",
        ),
        (
            "[\"word\", \"ner\"] }",
            "[\"word\", \"ner\"], comment = \" \" }",
            "toy.toml: layouts.own: format.comment: blank; expected how a comment begins, such as `# `",
        ),
    ] {
        assert!(CARD.contains(from));
        let found = load(&CARD.replacen(from, to, 1), text).expect_err(expected);
        assert_eq!(found, expected);
    }
}

/// Files that `fixtures/make/ner.py` wrote with pyarrow, each with something in it that is not as usual.
#[test]
fn lists_in_parquet_are_read_or_refused_with_their_row() {
    let card = CARD
        .replace(
            "{ kind = \"conll\", columns = [\"word\", \"ner\"] }",
            "{ kind = \"parquet\" }",
        )
        .replace("text = \"word\"", "text = \"tokens\"")
        .replace(
            "label = \"ner\"",
            "label = \"tags\", id = \"id\", group = \"doc\"",
        );
    let named = card.replace(
        "files.train",
        "values = [\"O\", \"B-PER\", \"I-PER\"]\nfiles.train",
    );
    let folder = project().join("fixtures/data/ner/odd");
    for (file, card, expected) in [
        ("strings", &card, "iob1, 0 ill-formed: 7 B-PER B-PER; 9 O"),
        (
            "strings",
            &named,
            "toy.txt: row 1: tag `I-PER`; expected an integer from 0 to 2, a place in `values`",
        ),
        ("integers", &named, "bio, 0 ill-formed: a B-PER I-PER; b O"),
        (
            "integers",
            &card,
            "toy.txt: row 1: tag `1` has no type; expected `O`, or one of `B`, `I` with a type, such as `B-PER`",
        ),
        (
            "beyond",
            &named,
            "toy.txt: row 2: tag `3`; expected an integer from 0 to 2, a place in `values`",
        ),
        (
            "null-word",
            &card,
            "toy.txt: row 2: `tokens` has something else in its list; expected strings or integers",
        ),
        (
            "null-list",
            &card,
            "toy.txt: row 2: `tokens` is not a list; expected a list of strings or integers",
        ),
        (
            "no-list",
            &card,
            "toy.txt: row 1: `tokens` is not a list; expected a list of strings or integers",
        ),
        (
            "ragged",
            &card,
            "toy.txt: row 2: 1 tags for 2 words; expected one for each",
        ),
        (
            "empty",
            &card,
            "toy.txt: row 2: no words; expected at least one",
        ),
        (
            "twice",
            &card,
            "toy.txt: row 2: id `7` is already on row 1; expected it once",
        ),
        (
            "unnamed",
            &card,
            "toy.txt: row 1: no column `tokens`; did you mean `token`? found `id`, `doc`, `token`, `tags`",
        ),
    ] {
        let bytes =
            std::fs::read(folder.join(format!("{file}.parquet"))).expect("a committed file");
        let found = load(card, &bytes).unwrap_or_else(|error| error);
        assert_eq!(found, expected, "{file}");
    }
}

#[test]
fn a_broken_parquet_file_is_an_error_and_never_a_panic() {
    let card = CARD
        .replace(
            "{ kind = \"conll\", columns = [\"word\", \"ner\"] }",
            "{ kind = \"parquet\" }",
        )
        .replace("text = \"word\"", "text = \"tokens\"")
        .replace("label = \"ner\"", "label = \"tags\"");
    let path = project().join("fixtures/data/ner/odd/strings.parquet");
    let whole = std::fs::read(path).expect("a committed file");
    let mut refused = 0;
    for place in (0..whole.len()).step_by(7) {
        let error = load(&card, &whole[..place]).expect_err("a part of a file");
        assert!(error.starts_with("toy.txt: row 1: "), "{error}");
        let mut changed = whole.clone();
        changed[place] ^= 0x55;
        refused += usize::from(load(&card, &changed).is_err());
    }
    assert!(refused > 0);
}
