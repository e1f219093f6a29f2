//! Files that disagree with their card.

use totune_data::sha256_hex;

use super::{CARD, GOOD, load};

#[test]
fn a_broken_file_is_refused_with_its_line_what_was_found_and_what_was_expected() {
    let cases: &[(&str, &[u8], &str)] = &[
        (
            "missing column",
            b"id,txt,label\n1,one,0\n2,two,1\n",
            "toy.csv: line 1: no column `text`; did you mean `txt`? found `id`, `txt`, `label`",
        ),
        (
            "column named twice",
            b"id,text,text,label\n1,a,b,0\n",
            "toy.csv: line 1: column `text` is named twice; expected it once",
        ),
        (
            "wrong label",
            b"id,text,label\n1,one,0\n2,two,maybe\n",
            "toy.csv: line 3: label `maybe` is not a label; expected one of `0`, `1`",
        ),
        (
            "wrong label after a line break in quotes",
            b"id,text,label\n1,\"on\ne\",0\n2,two,2\n",
            "toy.csv: line 4: label `2` is not a label; expected one of `0`, `1`",
        ),
        (
            "empty label",
            b"id,text,label\n1,one,\n2,two,1\n",
            "toy.csv: line 2: label `` is not a label; expected one of `0`, `1`",
        ),
        (
            "empty file",
            b"",
            "toy.csv: line 1: the file is empty; expected a header line",
        ),
        (
            "only blank lines",
            b"\n\r\n\n",
            "toy.csv: line 1: the file is empty; expected a header line",
        ),
        (
            "only a mark",
            b"\xef\xbb\xbf",
            "toy.csv: line 1: the file is empty; expected a header line",
        ),
        (
            "header only",
            b"id,text,label\n",
            "toy.csv: 0 rows; expected 2",
        ),
        (
            "row missing",
            b"id,text,label\n1,one,0\n",
            "toy.csv: 1 rows; expected 2",
        ),
        (
            "labels differ from the card",
            b"id,text,label\n1,one,0\n2,two,0\n",
            "toy.csv: 2 rows are `no`; expected 1",
        ),
        (
            "repeats differ from the card",
            b"id,text,label\n1,one,0\n2,one,1\n",
            "toy.csv: 1 rows repeat an earlier text; expected 0",
        ),
        (
            "id twice",
            b"id,text,label\n1,one,0\n1,two,1\n",
            "toy.csv: line 3: id `1` is already on line 2; expected it once",
        ),
        (
            "truncated quotes",
            b"id,text,label\n1,one,0\n2,\"two,1\n",
            "toy.csv: line 3: a quoted field opens here and the file ends before it closes; expected a closing quote",
        ),
        (
            "truncated after a doubled quote",
            b"id,text,label\n1,one,0\n2,\"say \"\"hi",
            "toy.csv: line 3: a quoted field opens here and the file ends before it closes; expected a closing quote",
        ),
        (
            "a closing quote lost",
            b"id,text,label\n1,\"one,0\n2,\"two\",1\n",
            "toy.csv: line 3: 't' follows the quote that closes the field opened on line 2; expected a comma, a line end or a doubled quote",
        ),
        (
            "bad UTF-8",
            b"id,text,label\n1,one,0\n2,tw\xf6,1\n",
            "toy.csv: line 3: byte 0xf6 is not UTF-8; expected UTF-8 text",
        ),
        (
            "cut within a character",
            b"id,text,label\n1,one,0\n2,\xc3",
            "toy.csv: line 3: byte 0xc3 is not UTF-8; expected UTF-8 text",
        ),
        (
            "UTF-16",
            b"\xff\xfei\0d\0",
            "toy.csv: line 1: byte 0xff is not UTF-8; expected UTF-8 text",
        ),
        (
            "too few fields",
            b"id,text,label\n1,one,0\n2,two\n",
            "toy.csv: line 3: fields: found 2, expected 3: `id`, `text`, `label`",
        ),
        (
            "too many fields",
            b"id,text,label\n1,one,0\r\n2,two,2,1\n",
            "toy.csv: line 3: fields: found 4, expected 3: `id`, `text`, `label`",
        ),
        (
            "another separator",
            b"id;text;label\n1;one;0\n",
            "toy.csv: line 1: no column `id`; found `id;text;label`",
        ),
    ];
    for (case, bytes, expected) in cases {
        assert_eq!(load(CARD, bytes).expect_err(case), *expected, "{case}");
    }
}

#[test]
fn a_byte_order_mark_crlf_and_blank_lines_are_read_as_if_they_were_not_there() {
    for bytes in [
        GOOD.to_string(),
        format!("\u{feff}{GOOD}"),
        GOOD.replace('\n', "\r\n"),
        format!("\u{feff}{}", GOOD.replace('\n', "\r\n\r\n")),
        GOOD.trim_end().to_string(),
        GOOD.replace("one", "\"one\""),
    ] {
        assert_eq!(
            load(CARD, bytes.as_bytes()),
            Ok(vec!["one".to_string(), "two".to_string()]),
            "{bytes:?}"
        );
    }
}

#[test]
fn a_changed_file_is_refused_with_both_hashes() {
    let card = CARD.replace("SHA", &sha256_hex(GOOD.as_bytes()));
    // printf 'id,text,label\\n1,one,0\\n2,two,1\\n' | sha256sum, and the same with `too`
    let good = "470e95e0d20b16cb4ea6f4a28d32a59364b63e18809d816d1f3af6e4810be66d";
    let bad = "2942060bfcd4b0c013fadb86192c456688c890767f41fccf645dc21b7188e86c";
    let error = load(&card, b"id,text,label\n1,one,0\n2,too,1\n").expect_err("a changed file");
    assert_eq!(
        error,
        format!("toy.csv: sha256 {bad}; expected {good} (toy.toml)")
    );
    let error = load(&card, b"id,text,label\n1,\"one").expect_err("a truncated file");
    assert!(error.ends_with("\nit cannot be read either: toy.csv: line 2: a quoted field opens here and the file ends before it closes; expected a closing quote"), "{error}");
}
