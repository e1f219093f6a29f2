//! Labels: several of a row, an order, missing ones, spellings.

use super::*;

const TEXTS: [&str; 4] = [
    "the parcel is late",
    "it broke and came late",
    "all is well here",
    "the lid broke off",
];

/// A table with these fields behind the texts.
fn table(header: &str, fields: [&str; 4]) -> String {
    let rows = TEXTS.iter().zip(fields);
    let rows = rows.map(|(text, fields)| format!("{text},{fields}\n"));
    [format!("text,{header}\n")]
        .into_iter()
        .chain(rows)
        .collect()
}

#[test]
fn several_labels_of_a_row_are_found_in_each_layout() {
    let lists = TEXTS
        .iter()
        .zip(["[\"late\"]", "[\"broken\", \"late\"]", "[]", "[\"broken\"]"]);
    let lists =
        lists.map(|(text, labels)| format!("{{\"text\": \"{text}\", \"labels\": {labels}}}\n"));
    for (name, text, reason, columns) in [
        (
            "a.csv",
            table(
                "topics,shop",
                ["late,north", "broken|late,east", ",south", "broken,west"],
            ),
            "`topics` has 2 labels: `|` stands between the labels of a row",
            "label = \"topics\", label-separator = \"|\"",
        ),
        (
            "a.jsonl",
            lists.collect(),
            "`labels` has 2 labels: its fields are lists",
            "label = \"labels\" }",
        ),
        (
            "a.csv",
            table("broken,late", ["0,1", "1,1", "0,0", "1,0"]),
            "`broken`, `late`: columns of only 0 and 1",
            "label = [\"broken\", \"late\"]",
        ),
    ] {
        let label = text.contains("topics").then(|| "topics".to_string());
        let hints = Hints {
            label,
            ..Hints::default()
        };
        let (draft, card) = drafted(&[(name, &text)], &hints);
        assert_eq!(card.task, Task::MultiLabel);
        assert_eq!(card.labels, ["broken", "late"]);
        assert_eq!(card.splits["train"].counts, Some(vec![2, 2]));
        assert!(
            draft
                .text
                .contains(&format!("task = \"multi-label\"  # {reason}")),
            "{}",
            draft.text
        );
        assert!(draft.text.contains(columns), "{}", draft.text);
    }
}

#[test]
fn a_comma_between_labels_is_asked_about_and_one_label_in_each_row_is_a_class() {
    let commas = table(
        "labels",
        ["late", "\"broken,late\"", "\"fine,late\"", "broken"],
    );
    let file = ("a.csv", &*commas);
    let (draft, card) = drafted(&[file], &Hints::default());
    assert_eq!(
        card.task,
        Task::Classification,
        "a comma may be part of a name"
    );
    assert_eq!(
        draft.notes,
        [
            "`labels` has commas in 2 of 4 labels, such as `broken,late`, which is taken for one label; if commas stand between several, give --label labels --task multi-label"
        ]
    );
    let asked = |task: Option<Task>, separator: Option<&str>| Hints {
        task,
        label_separator: separator.map(String::from),
        ..Hints::default()
    };
    for hints in [asked(Some(Task::MultiLabel), None), asked(None, Some(","))] {
        let (_, card) = drafted(&[file], &hints);
        assert_eq!((card.task, card.labels.len()), (Task::MultiLabel, 3));
    }
    let topics = commas.replace("labels", "topics");
    let (_, card) = drafted(&[("a.csv", &*topics)], &asked(Some(Task::MultiLabel), None));
    assert_eq!(card.labels.len(), 3, "the only other column");
    // A column that is taken for the label since only it has few values.
    let few = table(
        "id,mood,shop",
        ["1,late|x,a", "2,late|x,b", "3,x,c", "4,late,d"],
    );
    let (_, card) = drafted(&[("a.csv", &few)], &Hints::default());
    assert_eq!(
        (card.task, card.labels.join(" ")),
        (Task::MultiLabel, "late x".to_string())
    );
    assert_eq!(card.layouts[0].columns.id.as_deref(), Some("id"));
    let plain = table("labels", ["late", "broken", "late", "broken"]);
    let hints = asked(Some(Task::MultiLabel), None);
    assert_eq!(
        refused(&[("a.csv", &plain)], &hints)
            .replace('\\', "/")
            .split(": ")
            .last(),
        Some(
            "`labels` has no list and none of `|`, `;` and `,` in any field; give --label-separator"
        )
    );
    let both = table("labels", ["late", "broken|late;x", "x;late", "broken"]);
    assert!(
        refused(&[("a.csv", &both)], &hints)
            .ends_with("all divide fields of `labels`; give --label-separator")
    );
}

#[test]
fn labels_have_an_order_only_where_it_is_asked_for() {
    let stars = table("stars", ["5", "1", "10", "1"]);
    let file = ("a.csv", &*stars);
    let (draft, card) = drafted(&[file], &Hints::default());
    assert_eq!(card.task, Task::Classification);
    assert_eq!(draft.notes.len(), 1);
    assert!(
        draft.notes[0].ends_with("give --task ordinal"),
        "{}",
        draft.notes[0]
    );
    let hints = |order: Option<&[&str]>| Hints {
        task: Some(Task::Ordinal),
        order: order.map(|order| order.iter().map(ToString::to_string).collect()),
        ..Hints::default()
    };
    let (_, card) = drafted(&[file], &hints(None));
    assert_eq!(
        (card.task, card.labels.join(" ")),
        (Task::Ordinal, "1 5 10".to_string())
    );
    assert_eq!(card.metrics[0], "quadratic-kappa");
    let scale = table("mood", ["-1", "1", "0", "1"]);
    let (_, card) = drafted(&[("a.csv", &scale)], &hints(None));
    assert_eq!(
        (card.labels.join(" "), &card.layouts[0].unlabelled),
        ("-1 0 1".to_string(), &None)
    );
    let words = table("rating", ["good", "bad", "fair", "bad"]);
    let file = ("a.csv", &*words);
    let error = refused(&[file], &hints(None));
    assert!(
        error.contains("their order is not known: `bad`, `fair`, `good`; give --order"),
        "{error}"
    );
    let error = refused(&[file], &hints(Some(&["bad", "fine", "good"])));
    assert!(
        error.contains("--order: `rating` has `fair`, which is not in it"),
        "{error}"
    );
    let (_, card) = drafted(&[file], &hints(Some(&["bad", " fair", " good", " best"])));
    assert_eq!(card.labels, ["bad", "fair", "good", "best"]);
    assert_eq!(card.splits["train"].counts, Some(vec![2, 1, 1, 0]));
}

#[test]
fn minus_one_is_no_label_only_where_it_is_rare_and_classes_are_counted() {
    let of = |values: &[(&str, usize)]| {
        let rows = values
            .iter()
            .flat_map(|(value, n)| std::iter::repeat_n(*value, *n));
        let lines = rows
            .enumerate()
            .map(|(at, value)| format!("a text of some words {at},{value}\n"));
        format!("text,label\n{}", lines.collect::<String>())
    };
    let draft = |values: &[(&str, usize)], task: Option<Task>| {
        let hints = Hints {
            task,
            ..Hints::default()
        };
        let (draft, card) = drafted(&[("a.csv", &of(values))], &hints);
        (
            card.labels.join(" "),
            card.layouts[0].unlabelled.clone(),
            draft.notes.join("; "),
        )
    };
    let (labels, none, notes) = draft(&[("0", 20), ("1", 20), ("2", 20), ("-1", 2)], None);
    assert_eq!((&*labels, none.as_deref()), ("0 1 2", Some("-1")));
    assert!(
        notes.contains("-1 in 2 of 62 rows, which is taken for no label"),
        "{notes}"
    );
    for (values, expected) in [
        (&[("-1", 20), ("0", 20), ("1", 20)][..], "-1 0 1"),
        (&[("-1", 2), ("1", 40)], "-1 1"),
        (&[("-2", 20), ("-1", 2), ("0", 20)], "-2 -1 0"),
    ] {
        let (labels, none, _) = draft(values, None);
        assert_eq!((&*labels, none), (expected, None));
    }
    let scores = [("-1", 2), ("0", 20), ("1", 20)];
    let hints = Hints {
        task: Some(Task::Regression),
        ..Hints::default()
    };
    let (draft, card) = drafted(&[("a.csv", &of(&scores))], &hints);
    assert_eq!(card.layouts[0].unlabelled, None);
    assert!(draft.text.contains("range = [-1.0, 1.0]"), "{}", draft.text);
    let empty = of(&[("good", 3), ("bad", 3), ("", 2)]);
    let (draft, card) = drafted(&[("a.csv", &empty)], &Hints::default());
    let (none, notes) = (card.layouts[0].unlabelled.clone(), draft.notes.join("; "));
    assert_eq!(none.as_deref(), Some(""));
    assert!(notes.contains("`label` is empty in 2 of 8 rows"), "{notes}");
}

#[test]
fn labels_that_differ_only_in_case_or_spaces_are_noted() {
    let rows = ["Good", "good", "good ", "bad", "so so", "so  So"];
    let text = |row: &&str| {
        (0..3)
            .map(|at| format!("a text of words {row} {at},{row}\n"))
            .collect::<String>()
    };
    let file = format!("text,label\n{}", rows.iter().map(text).collect::<String>());
    let (draft, card) = drafted(&[("a.csv", &file)], &Hints::default());
    assert_eq!(card.labels.len(), 6);
    let end = "differ only in case, in spaces or in how a number is written, and are different labels; write them alike in the file if they are meant to be one";
    let noted = [
        format!("`Good`, `good`, `good ` {end}"),
        format!("`so  So`, `so so` {end}"),
    ];
    assert_eq!(draft.notes, noted);
    let (draft, _) = drafted(
        &[("a.csv", "text,label\na b,x\nc d,y\n")],
        &Hints::default(),
    );
    assert_eq!(draft.notes, [""; 0]);
}

#[test]
fn lists_of_zeros_and_ones_have_no_names_of_labels() {
    let lists = TEXTS
        .iter()
        .zip(["[0, 1, 1]", "[1, 0, 0]", "[0, 0, 1]", "[0.0, 1.0, 1.0]"]);
    let text: String = lists
        .map(|(text, flags)| format!("{{\"text\": \"{text}\", \"labels\": {flags}}}\n"))
        .collect();
    let error = refused(&[("a.jsonl", &text)], &Hints::default());
    assert!(
        error.contains("lists of 3 numbers that are 0 or 1"),
        "{error}"
    );
}

#[test]
fn what_else_may_be_the_label_and_rows_without_any_are_noted() {
    let text = table("category,rating", ["a,1", "b,2", "a,1", "b,2"]);
    let (draft, _) = drafted(&[("a.csv", &text)], &Hints::default());
    let note = "`category` is taken for the label, although `rating` may be it by name, too";
    assert!(
        draft.notes.iter().any(|found| found.starts_with(note)),
        "{:?}",
        draft.notes
    );
    let text = table("labels", ["late", "broken|late", "", "broken"]);
    let (draft, _) = drafted(&[("b.csv", &text)], &Hints::default());
    let note = "`labels` is empty in 1 of 4 rows, to which none of the labels applies then";
    assert!(
        draft.notes.iter().any(|found| found.starts_with(note)),
        "{:?}",
        draft.notes
    );
}
