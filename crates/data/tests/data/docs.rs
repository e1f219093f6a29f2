//! `docs/data.md` shows exactly what these functions print on the fixtures.

use std::path::{Path, PathBuf};

use totune_data::guess::{Hints, draft};
use totune_data::survey::{Statistics, check, choose, listed, places_table, show, statistics_text};
use totune_data::{Card, Catalogue, Tokenizer};

/// Columns of the terminal of the page.
const WIDTH: usize = 100;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn card(name: &str) -> Card {
    let cards = Catalogue::read(&root().join("datasets")).expect("valid cards");
    cards.find(name).expect("a fixture").clone()
}

fn tokenizer() -> Tokenizer {
    let folder = root().join("fixtures/encoders/fixture-bert");
    Tokenizer::open(&folder, true).expect("the fixture's tokenizer")
}

#[track_caller]
fn stands_in_the_page(text: &str) {
    let page = std::fs::read_to_string(root().join("docs/data.md")).expect("the page");
    assert!(
        page.contains(text.trim_end()),
        "docs/data.md does not have:\n{text}"
    );
}

/// A path from the root of the project.
fn shown(path: &Path) -> String {
    let parts: Vec<String> = path
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let at = parts
        .iter()
        .rposition(|part| part == "fixtures")
        .unwrap_or(0);
    parts[at..].join("/")
}

#[test]
fn the_list() {
    let cards = ["fixture-tweets", "fixture-ner"].map(card);
    let all: Vec<_> = cards
        .iter()
        .map(|card| listed(card, Path::new("nowhere")))
        .collect();
    stands_in_the_page(&places_table(&all, &shown));
}

#[test]
fn the_check() {
    for checked in check(&card("fixture-tweets"), Path::new("nowhere")) {
        stands_in_the_page(&checked.text(&shown(&checked.path)));
    }
}

#[test]
fn the_statistics() {
    let dataset = card("fixture-tweets")
        .load(Path::new("nowhere"))
        .expect("the fixture");
    let statistics = Statistics::of(&dataset, "train", Some(&tokenizer()), 1).expect("statistics");
    stands_in_the_page(&statistics_text(&[statistics], &[], WIDTH));
}

#[test]
fn the_examples() {
    let dataset = card("fixture-tweets")
        .load(Path::new("nowhere"))
        .expect("the fixture");
    let rows = choose(&dataset, None, 2).expect("two rows");
    for example in show(&dataset, &rows, Some(&tokenizer()), 24).expect("examples") {
        stands_in_the_page(&example.text(WIDTH));
    }
}

#[test]
fn the_new_card_and_what_is_said_of_another_file() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let write =
        |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("a file");
    let new = |name: &str| draft(&dir.path().join(name), &Hints::default(), dir.path(), true);
    let train = "id,text,label\n1,a fine film,good\n2,a dull film,bad\n3,\"fine, for once\",good\n";
    write("reviews_train.csv", train);
    write(
        "reviews_test.csv",
        "id,text,label\n1,a fine book,good\n2,a bad book,bad\n",
    );
    let draft = new("reviews_train.csv").expect("a card");
    stands_in_the_page(&draft.text);

    write("reviews.toml", &draft.text);
    write(
        "reviews_train.csv",
        &train.replace("once\",good", "once\",mixed"),
    );
    let card = Card::read(&dir.path().join("reviews.toml")).expect("the card");
    let folder = format!("{}/", dir.path().display());
    for checked in check(&card, Path::new("nowhere")) {
        let name = checked
            .path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        stands_in_the_page(&checked.text(&name).replace(&folder, ""));
    }

    write("vague.csv", "alpha,beta\nx,y\nz,w\n");
    let error = format!("{:#}", new("vague.csv").expect_err("nothing to guess"));
    stands_in_the_page(&error.replace(&folder, ""));
}
