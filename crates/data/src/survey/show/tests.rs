//! Tests of the module above.

use super::*;

fn tokenizer() -> (tempfile::TempDir, Tokenizer) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let pieces = [
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "fire", "##s", "no", "water",
    ];
    std::fs::write(dir.path().join("vocab.txt"), pieces.join("\n")).expect("a vocabulary");
    let tokenizer = Tokenizer::open(dir.path(), true).expect("a tokenizer");
    (dir, tokenizer)
}

fn dataset(rows: Vec<(Input, Target)>) -> Dataset {
    let examples = rows
        .into_iter()
        .enumerate()
        .map(|(index, (input, target))| Example {
            id: format!("r{index}"),
            input,
            target,
            group: None,
        });
    Dataset {
        name: "synthetic".into(),
        loss: crate::ClassLoss::PLAIN,
        task: crate::Task::Tagging,
        hash: String::new(),
        labels: vec!["O".into(), "B-X".into()],
        positive: None,
        examples: examples.collect(),
        metrics: Vec::new(),
        tagging: None,
    }
}

fn texts(dataset: &Dataset, max_length: usize) -> Vec<String> {
    let (_dir, tokenizer) = tokenizer();
    let rows: Vec<usize> = (0..dataset.examples.len()).collect();
    let shown = show(dataset, &rows, Some(&tokenizer), max_length).expect("examples");
    shown.iter().map(|shown| shown.text(40)).collect()
}

#[test]
fn pieces_ids_and_types_stand_below_each_other_and_padding_is_marked() {
    let pair = |a: &str, b: &str| (Input::Pair(a.into(), b.into()), Target::Class(1));
    let dataset = dataset(vec![
        pair("Fires", "no water"),
        pair("fires", "no"),
        pair("no", "no"),
    ]);
    let found = texts(&dataset, 16);
    assert_eq!(
        found[0],
        "example r0  label `B-X`\n  text    Fires\n  second  no water\n\
         \u{20} piece   [CLS] fire ##s [SEP] no water\n\
         \u{20} id      2     4    5   3     6  7\n\
         \u{20} type    0     0    0   0     1  1\n\
         \u{20} piece   [SEP]\n  id      3\n  type    1\n"
    );
    let padded = "  type    0     0    0   0     1  1\n  piece   [PAD]\n  id      0\n  type    0\n          pad\n";
    assert!(found[1].ends_with(padded), "{}", found[1]);
    assert_eq!(found[2].matches("[PAD]").count(), 2, "{}", found[2]);
}

#[test]
fn long_padding_is_counted_and_what_is_cut_off_is_said() {
    let text = |text: &str| (Input::Text(text.into()), Target::Unknown);
    let dataset = dataset(vec![text("no"), text(&"water ".repeat(9))]);
    let found = texts(&dataset, 8);
    assert!(found[0].starts_with("example r0  no answer\n  text    no\n"));
    assert!(
        found[0].ends_with("\n  padding 5 x [PAD], id 0, to 8 pieces\n"),
        "{}",
        found[0]
    );
    assert!(
        found[1].ends_with("\n  truncated: 3 of 11 pieces\n"),
        "{}",
        found[1]
    );
}

#[test]
fn pieces_of_a_word_carry_its_number_and_tag() {
    let words = ["no", "Fires", "here"].map(String::from).to_vec();
    let dataset = dataset(vec![(Input::Words(words), Target::Tags(vec![0, 1, 0]))]);
    assert_eq!(
        texts(&dataset, 16)[0],
        "example r0\n  word    no Fires here\n  tag     O  B-X   O\n\
         \u{20} piece   [CLS] no fire ##s [UNK] [SEP]\n\
         \u{20} id      2     6  4    5   1     3\n\
         \u{20} type    0     0  0    0   0     0\n\
         \u{20} word    -     0  1    1   2     -\n\
         \u{20} tag     -     O  B-X  B-X O     -\n"
    );
}

#[test]
fn examples_are_chosen_by_id_or_spread_over_the_file() {
    let dataset = dataset(vec![(Input::Text("a".into()), Target::Unknown); 10]);
    assert_eq!(choose(&dataset, None, 3).expect("rows"), [0, 3, 6]);
    assert_eq!(choose(&dataset, None, 99).expect("rows").len(), 10);
    assert_eq!(choose(&dataset, Some("r7"), 3).expect("a row"), [7]);
    let error = choose(&dataset, Some("x"), 3)
        .expect_err("no such row")
        .to_string();
    assert_eq!(
        error,
        "no example `x` in `synthetic`; the first is `r0`, the last `r9`"
    );
}
