//! Files of other splits, whose answers may be hidden or wrong, and files that a card cannot name.

use super::*;

const TRAIN: &str = "text,label\na fine film,good\na poor film,bad\nfine indeed,good\n";

/// The error about the test file of reviews, without its folder.
fn refused_test(train: &str, test: &str) -> String {
    let files = [("rv_train.csv", train), ("rv_test.csv", test)];
    let error = refused(&files, &Hints::default());
    let (_, after) = error.split_once("rv_test.csv: ").expect(&error);
    after.to_string()
}

#[test]
fn an_unknown_label_in_another_split_is_an_error_with_its_line() {
    let rows: String = (0..50)
        .map(|at| format!("a film {at},{}\n", ["good", "bad"][at % 2]))
        .collect();
    assert_eq!(
        refused_test(TRAIN, &format!("text,label\n{rows}a film,maybe\n")),
        "line 52: `maybe` is no label of rv_train.csv; expected one of `bad`, `good`, as 50 of 51 rows have; correct that row, or \
         move the file elsewhere to leave it out"
    );
    for (test, says) in [
        (
            "text,label\na,good\nb,Bad\n",
            "line 3: `Bad` is no label of rv_train.csv; did you mean `bad`?",
        ),
        (
            "text,label\na,good\nb,\n",
            "line 3: `label` is empty; expected one of `bad`, `good`, as 1 of 2 rows have",
        ),
        ("text,label\na,fair\n", "line 2: `fair` is no label"),
    ] {
        let error = refused_test(TRAIN, test);
        assert!(error.starts_with(says), "{says}: {error}");
    }
    let scores = "text,score\na film,1.5\nb film,4.25\n";
    let error = refused_test(scores, "text,score\na film,2.5\nb film,high\n");
    let says =
        "line 3: `high` in `score` is no number; expected a number, as 1 of 2 rows have; correct";
    assert!(error.starts_with(says), "{error}");
    let sets = "text,labels\na film,x|y\nb film,y\nc film,x\n";
    let error = refused_test(sets, "text,labels\na film,x|z\nb film,y\n");
    assert!(
        error.starts_with("line 2: labels `z` is not a label"),
        "{error}"
    );
    assert!(
        error.contains(", as in rv_train.csv; correct that row"),
        "{error}"
    );
    let words = "Nils B-PER\nsang O\n\nit O\nrained O\n\n";
    let files = [
        ("ner_train.txt", words),
        ("ner_dev.txt", "Oslo B-LOC\n\nit O\n\n"),
    ];
    let error = refused(&files, &Hints::default());
    assert!(
        error.contains("ner_dev.txt: line 1: ") && error.contains("B-LOC"),
        "{error}"
    );
}

#[test]
fn a_split_is_without_answers_where_all_are_missing_or_hidden() {
    let sets = "text,labels\na film,x|y\nb film,y\nc film,x\n";
    let some = "text,label\na fine film,good\na poor film,bad\nfine indeed,good\nwhat,\n";
    let scores = "text,score\na film,1.5\nb film,4.25\n";
    for (train, test, reason) in [
        (TRAIN, "text\na film\n", "it has no column `label`"),
        (
            TRAIN,
            "text,label\na film,\nb film,\n",
            "`label` is empty in each row",
        ),
        (
            TRAIN,
            "text,label\na film,-1\nb film,-1\n",
            "`label` is `-1` in each row",
        ),
        (
            TRAIN,
            "text,label\na film,-1\n",
            "`label` is `-1` in each row",
        ),
        (
            some,
            "text,label\na film,\nb film,\n",
            "`label` is empty in each row",
        ),
        (
            scores,
            "text,score\na film,-1\nb film,-1\n",
            "`score` is `-1` in each row",
        ),
        (
            sets,
            "text,labels\na film,?\nb film,?\n",
            "`labels` is `?` in each row",
        ),
    ] {
        let files = [("rv_train.csv", train), ("rv_test.csv", test)];
        let (draft, card) = drafted(&files, &Hints::default());
        assert!(!card.splits["test"].labelled, "{}", draft.text);
        let line = format!("labelled = false  # no answers were found in it: {reason}\n");
        assert!(draft.text.contains(&line), "{line}{}", draft.text);
    }
    let words = "Nils B-PER\nsang O\n\nit O\nrained O\n\n";
    for test in ["Oslo\n\nit\nis\n\n", "Oslo ?\n\nit ?\n\n"] {
        let files = [("ner_train.txt", words), ("ner_test.txt", test)];
        let (_, card) = drafted(&files, &Hints::default());
        assert!(!card.splits["test"].labelled, "{test}");
    }
}

#[test]
fn the_range_is_that_of_all_splits() {
    let files = [
        ("sim_train.csv", "text,score\na film,1.5\nb film,4.25\n"),
        ("sim_dev.csv", "text,score\na film,5.0\nb film,3\n"),
    ];
    let (_, card) = drafted(&files, &Hints::default());
    assert_eq!(card.range, Some([1.5, 5.0]));
    assert!(card.splits["dev"].labelled);
}

#[test]
fn a_file_that_is_broken_elsewhere_is_left_out_with_a_note() {
    let files = [
        ("rv_train.csv", TRAIN),
        ("rv_dev.csv", "text,label\n,good\n"),
    ];
    let (draft, card) = drafted(&files, &Hints::default());
    assert_eq!(card.split_names().len(), 1);
    let note = draft.notes.join("; ");
    assert!(
        note.starts_with("left out ") && note.contains("rv_dev.csv: line 2: an empty text"),
        "{note}"
    );
}

#[test]
fn a_folder_is_no_file_and_other_folders_need_a_link() {
    let dir = folder(&[("reviews.csv", REVIEWS)]);
    let root = std::fs::canonicalize(dir.path()).expect("a path");
    std::fs::create_dir_all(root.join("dir.csv")).expect("a folder");
    let of = |file: &Path, folder: &Path| {
        let hints = Hints {
            label: Some("stars".into()),
            ..Hints::default()
        };
        draft(file, &hints, folder, true).map_err(|error| format!("{error:#}"))
    };
    let file = root.join("dir.csv");
    assert_eq!(
        of(&file, &root).expect_err("a folder"),
        format!("{}: is a folder, expected a file", file.display())
    );
    let (file, other) = (root.join("reviews.csv"), root.join("other"));
    std::fs::create_dir_all(&other).expect("a folder");
    let (shown, of_card) = (file.display(), other.display());
    assert_eq!(
        of(&file, &other).expect_err("another folder"),
        format!(
            "{shown}: is not below {of_card}, the folder of the card, and a card's files lie below its folder; write the card \
             next to the file, or copy the file to {of_card} or link it there: ln -s {shown} {of_card}"
        )
    );
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&file, other.join("linked.csv")).expect("a link");
        let draft = of(&file, &other).expect("a draft");
        assert!(
            draft.text.contains("path = \"linked.csv\""),
            "{}",
            draft.text
        );
    }
}

#[test]
fn neighbouring_files_are_found_in_the_case_of_the_named_one() {
    let text = "text,label\na fine day,good\na dull day,bad\n";
    let files = [("Train.csv", text), ("Test.csv", text), ("Valid.csv", text)];
    let (_, card) = drafted(&files, &Hints::default());
    let names: Vec<&str> = card.split_names().into_iter().collect();
    assert_eq!(names, ["dev", "test", "train"]);
    let (_, card) = drafted(
        &[("Train.csv", text), ("test.csv", text)],
        &Hints::default(),
    );
    let names: Vec<&str> = card.split_names().into_iter().collect();
    assert_eq!(names, ["test", "train"]);
    // Without a file to train on it is the one that was named.
    let (_, card) = drafted(&[("dev.csv", text), ("test.csv", text)], &Hints::default());
    let names: Vec<&str> = card.split_names().into_iter().collect();
    assert_eq!(names, ["test", "train"]);
}
