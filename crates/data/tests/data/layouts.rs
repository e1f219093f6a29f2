//! Every layout of a dataset, read and compared with the others and with the card.

use std::path::{Path, PathBuf};
use totune_data::{Card, Catalogue, Dataset, Input, Target, Task};

fn catalogue() -> Catalogue {
    let cards = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets");
    Catalogue::read(&cards).expect("valid cards")
}

fn load(name: &str, layout: &str, split: &str) -> Dataset {
    let catalogue = catalogue();
    let card = catalogue.find(name).expect("a fixture");
    card.load_layout(Path::new("nowhere"), split, layout)
        .expect("a fixture that agrees with its card")
}

fn texts(dataset: &Dataset) -> Vec<Vec<&str>> {
    let examples = dataset.examples.iter();
    examples.map(|example| example.input.texts()).collect()
}

#[test]
fn every_layout_of_a_fixture_gives_the_same_examples() {
    let catalogue = catalogue();
    let mut compared = 0;
    // Of words and tags, tests/tagging/ says what each layout has.
    let is_table = |card: &&Card| card.fixture && card.task != Task::Tagging;
    for card in catalogue.cards().iter().filter(is_table) {
        for split in card.split_names() {
            let layouts = card.found(Path::new("nowhere"), split);
            let n_layouts = layouts.len();
            let read: Vec<Dataset> = layouts
                .iter()
                .map(|(layout, _)| {
                    card.load_layout(Path::new("nowhere"), split, &layout.name)
                        .expect("a fixture that agrees with its card")
                })
                .collect();
            let grouped = |place: usize| layouts[place].0.columns_of(split).group.is_some();
            for other in 1..n_layouts {
                let (mut first, mut second) = (read[0].clone(), read[other].clone());
                if grouped(0) == grouped(other) {
                    assert_eq!(first.hash, second.hash, "{}: {split}", card.name);
                } else {
                    // The Hub leaves out genres.
                    let all = first.examples.iter_mut().chain(&mut second.examples);
                    all.for_each(|example| example.group = None);
                }
                assert_eq!(first.examples, second.examples, "{}: {split}", card.name);
                compared += 1;
            }
        }
    }
    assert!(compared >= 30, "{compared} pairs of layouts");
}

#[test]
fn what_is_a_quote_in_one_format_is_a_letter_in_another() {
    let train = load("fixture-acceptability", "glue", "train");
    let open = texts(&train)[3][0];
    assert!(
        open.contains('"') && open.matches('"').count() == 1,
        "{open}"
    );
    let quoted = load("fixture-questions", "original", "train");
    let texts = texts(&quoted);
    assert_eq!(texts[1][0], "What does \"plum\" mean, and why?");
    assert_eq!(texts[4][1], "Who asked?\nAnd where?");
}

#[test]
fn rows_without_a_text_are_dropped_where_the_card_says_so() {
    let dataset = load("fixture-questions", "original", "train");
    let ids: Vec<&str> = dataset.examples.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "0", "7", "14", "21", "28", "35", "42", "56", "63", "70", "77"
        ]
    );
}

#[test]
fn splits_are_rows_that_have_a_value_or_stand_in_a_list() {
    let parts = ["train", "dev", "test"].map(|split| load("fixture-entailment", "release", split));
    let ids = |dataset: &Dataset| -> Vec<usize> {
        let ids = dataset.examples.iter().map(|row| row.id.parse());
        ids.collect::<Result<_, _>>().expect("numbers")
    };
    assert_eq!(ids(&parts[0]), [1, 3, 6, 7, 9, 12, 13, 15, 18]);
    assert_eq!(ids(&parts[1]), [4, 10, 16]);
    assert_eq!(ids(&parts[2]), [2, 5, 8, 11, 14, 17]);
    let [known, held_out] =
        ["train", "dev"].map(|split| load("fixture-paraphrase", "original", split));
    assert_eq!((known.examples.len(), held_out.examples.len()), (10, 4));
}

#[test]
fn fields_are_joined_without_the_empty_ones_and_written_line_breaks_become_real() {
    let test = load("fixture-topics", "zhang", "test");
    let train = load("fixture-topics", "zhang", "train");
    let all: Vec<&str> = [texts(&test), texts(&train)].concat().concat();
    let whole = all.concat();
    assert!(whole.contains("\n\nHope that helps,\nZoë"), "{whole}");
    assert!(
        whole.contains("c:\\maps <br />") && !whole.contains("\\n"),
        "{whole}"
    );
    assert!(
        all.iter()
            .all(|text| !text.contains("  ") && text.trim() == *text)
    );
}

#[test]
fn phrases_of_a_tree_belong_to_its_sentence_and_what_is_neutral_is_left_out() {
    let phrases = load("fixture-phrases", "ptb", "train");
    let groups: Vec<&str> = phrases
        .examples
        .iter()
        .filter_map(|row| row.group.as_deref())
        .collect();
    assert_eq!(groups.len(), phrases.examples.len());
    assert!(groups.is_sorted_by_key(|group| group.parse::<usize>().expect("a number")));
    assert!(texts(&phrases).iter().any(|text| !text[0].contains(' ')));
    let whole = load("fixture-trees", "ptb", "train");
    assert_eq!(whole.examples.len(), 8);
}

#[test]
fn a_split_without_labels_can_be_read() {
    for layout in ["glue", "hub"] {
        let test = load("fixture-inference", layout, "test-matched");
        assert!(
            test.examples
                .iter()
                .all(|row| row.target == Target::Unknown)
        );
        assert!(matches!(&test.examples[0].input, Input::Pair(..)));
    }
}

#[test]
fn scores_are_read_alike_from_text_and_from_floats() {
    let expected = [5.0, 2.6, 4.333, 3.8, 1.25, 0.0];
    for layout in ["glue", "original", "hub"] {
        for row in load("fixture-similarity", layout, "train").examples {
            let Target::Value(score) = row.target else {
                panic!("{layout}: {:?}", row.target)
            };
            assert!(expected.contains(&score), "{layout}: {score}");
        }
    }
}

/// Files below the data root that differ from the card's, and the error for each: subsets in the place of the whole,
/// and a public copy of MRPC that lacks a pair.
const STAND_INS: [(&str, &str, &str, &str); 16] = [
    ("mnli", "glue", "train", "15130 rows; expected 392702"),
    ("mnli", "glue", "dev-matched", "1000 rows; expected 9815"),
    ("mnli-fiction", "glue", "train", "3018 rows; expected 77348"),
    (
        "mnli-fiction",
        "glue",
        "dev-matched",
        "201 rows; expected 1973",
    ),
    (
        "mnli-government",
        "glue",
        "train",
        "2948 rows; expected 77350",
    ),
    (
        "mnli-government",
        "glue",
        "dev-matched",
        "183 rows; expected 1945",
    ),
    ("mnli-slate", "glue", "train", "3031 rows; expected 77306"),
    (
        "mnli-slate",
        "glue",
        "dev-matched",
        "210 rows; expected 1955",
    ),
    (
        "mnli-telephone",
        "glue",
        "train",
        "3232 rows; expected 83348",
    ),
    (
        "mnli-telephone",
        "glue",
        "dev-matched",
        "190 rows; expected 1966",
    ),
    ("mnli-travel", "glue", "train", "2901 rows; expected 77350"),
    (
        "mnli-travel",
        "glue",
        "dev-matched",
        "216 rows; expected 1976",
    ),
    ("qnli", "glue", "train", "9833 rows; expected 104743"),
    ("qqp", "glue", "train", "10117 rows; expected 363846"),
    ("qqp", "glue", "dev", "1000 rows; expected 40430"),
    ("mrpc", "glue", "train", "3667 rows; expected 3668"),
];

#[test]
#[ignore = "needs the real files under TOTUNE_DATA"]
fn every_real_file_that_is_found_is_what_its_card_says() {
    let root = PathBuf::from(std::env::var_os("TOTUNE_DATA").expect("TOTUNE_DATA"));
    let catalogue = catalogue();
    let mut read = 0;
    for card in catalogue.cards().iter().filter(|card| !card.fixture) {
        for split in card.split_names() {
            for (layout, path) in card.found(&root, split) {
                read += 1;
                check_real(card, &root, split, &layout.name, &path);
            }
        }
    }
    assert!(read > 0, "{}: nothing of any card is there", root.display());
    eprintln!("{read} files of {} cards", catalogue.cards().len());
}

fn check_real(card: &Card, root: &Path, split: &str, layout: &str, path: &Path) {
    let loaded = card.load_layout(root, split, layout);
    let stand_in = STAND_INS.iter().find(|(name, of_layout, of_split, _)| {
        (*name, *of_layout, *of_split) == (&card.name, layout, split)
    });
    match (loaded, stand_in) {
        (Ok(dataset), _) => assert_eq!(dataset.name, card.name),
        (Err(error), Some((.., says))) if error.to_string().ends_with(says) => {}
        (Err(error), _) => panic!("{}: {split} at {}: {error:#}", card.name, path.display()),
    }
}
