//! Rows that disagree with their card.

use super::*;

#[test]
fn rows_of_a_classification() {
    let rows = [
        (
            "a label of another case",
            &b"id,text,label\n1,one,0\n2,two,Yes\n"[..],
            "toy.csv: line 3: label `Yes` is not a label; expected one of `0`, `1`",
        ),
        (
            "a label with a space",
            b"id,text,label\n1,one,0 \n2,two,1\n",
            "toy.csv: line 2: label `0 ` is not a label",
        ),
        (
            "the label's name for its value",
            b"id,text,label\n1,one,no\n2,two,1\n",
            "toy.csv: line 2: label `no` is not a label",
        ),
        (
            "an empty text",
            b"id,text,label\n1,,0\n2,two,1\n",
            "toy.csv: line 2: ",
        ),
        (
            "an empty id twice",
            b"id,text,label\n,one,0\n,two,1\n",
            "toy.csv: line 3: id `` is already on line 2; expected it once",
        ),
        (
            "columns of another file",
            b"target,text,label\n1,one,0\n",
            "toy.csv: line 1: no column `id`; .. found `target`, `text`, `label`",
        ),
        (
            "a column with a space",
            b"id, text,label\n1,one,0\n",
            "toy.csv: line 1: no column `text`; did you mean ` text`?",
        ),
        (
            "another separator",
            b"id;text;label\n1;one;0\n",
            "toy.csv: line 1: no column `id`; found `id;text;label`",
        ),
        (
            "too many rows",
            b"id,text,label\n1,one,0\n2,two,1\n3,three,1\n",
            "toy.csv: 3 rows; expected 2",
        ),
        (
            "a text twice",
            b"id,text,label\n1,one,0\n2,one,1\n",
            "toy.csv: 1 rows repeat an earlier text; expected 0",
        ),
    ];
    all_right(
        rows.into_iter()
            .map(|(what, bytes, words)| match load(CARD, bytes) {
                Ok(()) => Some(format!("{what}: read")),
                Err(error) => differs(what, &error, words),
            }),
    );
}

#[test]
fn rows_of_a_regression() {
    let card = CARD
        .replace("\"classification\"", "\"regression\"")
        .replace("\"accuracy\"", "\"pearson\"")
        .replace(
            "labels = [\"no\", \"yes\"]\npositive = \"yes\"",
            "range = [0, 5]",
        )
        .replace("values = [\"0\", \"1\"]\n", "")
        .replace("counts = [1, 1]\n", "");
    assert_eq!(load(&card, b"id,text,label\n1,one,0\n2,two,4.5\n"), Ok(()));
    let scores = [
        "", "high", "5.1", "-0.1", "nan", "NaN", "inf", "-inf", "1e400", "4,5", "0x1", "1 2",
        "\u{664}",
    ];
    all_right(scores.into_iter().map(|score| {
        let bytes = format!("id,text,label\n1,one,0\n2,two,\"{score}\"\n");
        match load(&card, bytes.as_bytes()) {
            Ok(()) => Some(format!("`{score}`: read")),
            Err(error) => differs(
                score,
                &error,
                &format!("toy.csv: line 3: label `{score}`; expected a number from 0 to 5"),
            ),
        }
    }));
}
