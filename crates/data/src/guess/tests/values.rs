//! Values that look like missing ones, and those that are no numbers among numbers.

use super::*;

/// Rows with these values, each with a text of its own.
fn rows(name: &str, values: &[(&str, usize)]) -> String {
    let values = values
        .iter()
        .flat_map(|(value, n)| std::iter::repeat_n(*value, *n));
    let lines = values
        .enumerate()
        .map(|(at, value)| format!("a text of some words {at},{value}\n"));
    format!("text,{name}\n{}", lines.collect::<String>())
}

fn asked(task: Option<Task>) -> Hints {
    Hints {
        task,
        ..Hints::default()
    }
}

#[test]
fn a_value_that_is_no_number_among_scores_is_named_with_its_line() {
    let scores: Vec<String> = (0..199).map(|at| format!("{}.5", at % 90)).collect();
    let mut values: Vec<(&str, usize)> = scores.iter().map(|score| (&**score, 1)).collect();
    let one = |values: &mut Vec<(&str, usize)>, odd: &'static str| {
        values.insert(50, (odd, 1));
        let text = rows("score", values);
        values.remove(50);
        text
    };
    for odd in ["NaN", "N/A", "high", "inf", " "] {
        let text = one(&mut values, odd);
        let error = refused(&[("a.csv", &text)], &asked(None));
        let says = format!(
            "a.csv: `score`: 199 of 200 values are numbers, but line 52 has `{odd}`; expected a number in each row, or an empty \
             field where there is none; if they are labels, give --task classification"
        );
        assert!(error.ends_with(&says), "{error}");
        let error = refused(&[("a.csv", &text)], &asked(Some(Task::Regression)));
        let says = format!(
            "--task regression: `score`: 199 of 200 values are numbers, but line 52 has `{odd}`; expected"
        );
        assert!(error.contains(&says), "{error}");
    }
    let error = refused(
        &[(
            "a.csv",
            &rows("score", &[("1.5", 3), ("2.25", 3), ("NaN", 3)]),
        )],
        &asked(None),
    );
    assert!(
        error.contains("6 of 9 values are numbers, but line 8 has `NaN`"),
        "{error}"
    );
    let steps = rows("stars", &[("1", 5), ("2", 5), ("null", 1)]);
    let error = refused(&[("a.csv", &steps)], &asked(Some(Task::Ordinal)));
    assert!(
        error.contains(
            "--task ordinal: `stars`: 10 of 11 values are numbers, but line 12 has `null`"
        ),
        "{error}"
    );
    // An empty field has no score.
    let (_, card) = drafted(&[("a.csv", &one(&mut values, ""))], &asked(None));
    assert_eq!(card.task, Task::Regression);
    assert_eq!(card.layouts[0].unlabelled.as_deref(), Some(""));
}

#[test]
fn labels_that_look_like_missing_ones_or_have_spaces_are_noted() {
    for (values, expected) in [
        (
            &[("good", 3), ("N/A", 2), ("bad", 3)][..],
            "`label` is `N/A` in 2 of 8 rows, first on line 5, which is taken for a label; if it means that there is none, \
             leave the field empty",
        ),
        (
            &[("0", 3), ("1", 3), ("NaN", 1)],
            "`label` is `NaN` in 1 of 7 rows, first on line 8, which is taken",
        ),
        (
            &[("good", 3), ("  ", 2), ("bad", 3)],
            "`label` is only white space in 2 of 8 rows, first on line 5, which is taken",
        ),
        (
            &[("good", 3), (" very positive ", 2), ("bad", 3)],
            "`label` has white space around 1 of 3 labels, such as ` very positive ` on line 5, which is part of the label; \
             take it away in the file if it is not meant",
        ),
        (
            &[("x|y", 3), ("None", 1), ("x", 2), ("y", 2)],
            "`label` is `None` in 1 of 8 rows, first on line 5, which is taken",
        ),
    ] {
        let (draft, _) = drafted(&[("a.csv", &rows("label", values))], &asked(None));
        assert_eq!(draft.notes.len(), 1, "{:?}", draft.notes);
        assert!(draft.notes[0].starts_with(expected), "{}", draft.notes[0]);
    }
    let lines = "{\"text\": \"a film\", \"label\": \"null\"}\n{\"text\": \"b film\", \"label\": \"x\"}\n{\"text\": \"c film\", \"label\": \"y\"}\n";
    let (draft, _) = drafted(&[("a.jsonl", lines)], &asked(None));
    assert!(
        draft.notes[0].starts_with("`label` is `null` in 1 of 3 rows, first on line 1,"),
        "{:?}",
        draft.notes
    );
}
