//! Tests of the module above.

use super::*;
use crate::columns::Joined;
use proptest::prelude::*;

fn format(columns: &str, separator: Separator, comment: Option<&str>) -> Conll {
    Conll {
        columns: columns.split(' ').map(String::from).collect(),
        separator,
        comment: comment.map(String::from),
    }
}

fn read(format: &Conll, text: &[u8], labelled: bool) -> Result<Vec<Sentence>, FormatError> {
    let columns = Columns {
        id: None,
        number_from: 1,
        text: Joined::One("word".into()),
        second: None,
        label: crate::Joined::One("ner".into()),
        label_separator: None,
        group: None,
        join: " ".into(),
    };
    let sentences = format.read(Path::new("t.txt"), text, &columns, labelled)?;
    Ok(sentences.all)
}

/// Line, document, words and tags of each sentence, as `3 [1] Ann/I-PER ran/O`.
fn shown(sentences: &[Sentence]) -> Vec<String> {
    let one = |sentence: &Sentence| {
        let words = sentence
            .words
            .iter()
            .enumerate()
            .map(|(word, text)| match &sentence.tags {
                Some(tags) => format!(" {text}/{}", tags[word]),
                None => format!(" {text}"),
            });
        let document = sentence.document.as_deref().unwrap_or("");
        format!(
            "{} [{document}]{}",
            sentence.line,
            words.collect::<String>()
        )
    };
    sentences.iter().map(one).collect()
}

const SPACE: &str = "word pos ner";

#[track_caller]
fn check(format: &Conll, text: &str, labelled: bool, expected: &[&str]) {
    let sentences = read(format, text.as_bytes(), labelled).expect("a readable file");
    assert_eq!(shown(&sentences), expected);
}

#[test]
fn blank_lines_part_sentences_and_docstart_in_any_form_parts_documents() {
    let spaces = format(SPACE, Separator::Space, None);
    check(
        &spaces,
        "-DOCSTART- -X- -X- O\n\nAnn N I-PER\nran V O\n\n \t \n\nHi U O\n-DOCSTART- -X- O\nYo U O\n\n-DOCSTART-\n\n\
         -DOCSTART- O O O\n\nBo N I-PER",
        true,
        &[
            "3 [1] Ann/I-PER ran/O",
            "8 [1] Hi/O",
            "10 [2] Yo/O",
            "16 [4] Bo/I-PER",
        ],
    );
    check(
        &spaces,
        "a N O\n\n-DOCSTART- x\nb N O\n",
        true,
        &["1 [0] a/O", "4 [1] b/O"],
    );
    check(&spaces, "a N O\n\nb N O\n", true, &["1 [] a/O", "3 [] b/O"]);
    check(
        &spaces,
        "-DOCSTARTS- N O\nx N -DOCSTART-\n",
        true,
        &["1 [] -DOCSTARTS-/O x/-DOCSTART-"],
    );
    for empty in ["", "\n\n", "\u{feff}", "-DOCSTART- -X- O O\n\n"] {
        check(&spaces, empty, true, &[]);
    }
}

#[test]
fn a_mark_crlf_and_runs_of_spaces_mean_nothing() {
    let spaces = format(SPACE, Separator::Space, None);
    check(
        &spaces,
        "\u{feff}-DOCSTART- -X- O\r\n\r\n Ann   N  I-PER \r\nran V O\r\n\r\nHi U O",
        true,
        &["3 [] Ann/I-PER ran/O", "6 [] Hi/O"],
    );
}

#[test]
fn a_tab_file_may_have_spaces_in_fields_and_empty_ones_that_are_not_read() {
    let tabs = format(SPACE, Separator::Tab, None);
    check(
        &tabs,
        "-DOCSTART- -X- O\n\nNew York\t\tB-LOC\n\u{a0}\tN\tO\n\n\t\t\n a \tN\tO\n",
        true,
        &["3 [] New York/B-LOC \u{a0}/O", "7 [] a/O"],
    );
}

#[test]
fn white_space_is_spaces_and_tabs_alike() {
    let both = format(SPACE, Separator::WhiteSpace, None);
    check(
        &both,
        "-DOCSTART-\t-X-\tO\n\nAnn N\t I-PER\n\u{a0} N O\t\n",
        true,
        &["3 [] Ann/I-PER \u{a0}/O"],
    );
}

#[test]
fn comments_are_skipped_where_declared_and_only_before_a_sentence() {
    let plain = "# sample text\n#tag N O\n\n# 2 x\n\nb N O\n# N O\n";
    let comment = format(SPACE, Separator::Space, Some("# "));
    check(&comment, plain, true, &["2 [] #tag/O", "6 [] b/O #/O"]);
    let none = format(SPACE, Separator::Space, None);
    check(
        &none,
        plain,
        true,
        &["1 [] #/text #tag/O", "4 [] #/x", "6 [] b/O #/O"],
    );
}

#[test]
fn an_unlabelled_file_may_have_a_column_of_tags_or_not() {
    let spaces = format(SPACE, Separator::Space, None);
    check(&spaces, "a N\n\nb N\n", false, &["1 [] a", "3 [] b"]);
    check(&spaces, "a N ?\n\nb N ?\n", false, &["1 [] a", "3 [] b"]);
    let error = read(&spaces, b"a N\nb N O\n", false).expect_err("one way or the other");
    assert_eq!(
        error.to_string(),
        "t.txt: line 2: 3 columns; expected 2: `word`, `pos`"
    );
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (separator, text, expected) in [
        (
            Separator::Space,
            &b"a N O\n\nb O\n"[..],
            "line 3: 2 columns; expected 3: `word`, `pos`, `ner`",
        ),
        (
            Separator::Space,
            b"a\tN\tO\n",
            "line 1: 1 columns; expected 3: `word`, `pos`, `ner`; the line has tabs, is `separator = \"tab\"` meant?",
        ),
        (
            Separator::Tab,
            b"a N O\n",
            "line 1: 1 columns; expected 3: `word`, `pos`, `ner`; the line has no tab, is `separator = \"space\"` meant?",
        ),
        (
            Separator::Tab,
            b"a\tN\tO\n\tN\tO\n",
            "line 2: `word` is empty; expected a word",
        ),
        (
            Separator::Tab,
            b"a\tN\tO\nb\tN\t \n",
            "line 2: `ner` is empty; expected a tag",
        ),
        (
            Separator::Space,
            b"a N O\n\xff N O\n",
            "line 2: byte 0xff is not UTF-8; expected UTF-8 text",
        ),
    ] {
        let error = read(&format(SPACE, separator, None), text, true).expect_err(expected);
        assert_eq!(error.to_string(), format!("t.txt: {expected}"));
    }
}

proptest! {
    /// Written sentences are read back, each word on its line, whatever the line ends and the gaps are.
    #[test]
    fn written_sentences_are_read_back(
        documents in prop::collection::vec(
            prop::collection::vec(prop::collection::vec("[a-z#é\u{200b}-]{1,4}", 1..5), 1..4), 1..4),
        crlf in any::<bool>(),
        tab in any::<bool>(),
        last in any::<bool>(),
    ) {
        let (end, gap) = (if crlf { "\r\n" } else { "\n" }, if tab { "\t" } else { "  " });
        let mut text = String::new();
        let mut expected = Vec::new();
        for (number, document) in documents.iter().enumerate() {
            text += &format!("-DOCSTART-{gap}-X-{gap}O{end}{end}");
            for words in document {
                // Of a single document nothing is known.
                let name = if documents.len() > 1 { (number + 1).to_string() } else { String::new() };
                expected.push((text.lines().count() + 1, name, words.clone()));
                for word in words {
                    text += &format!("{word}{gap}N{gap}O{end}");
                }
                text += end;
            }
        }
        let text = if last { text.as_str() } else { text.trim_end() };
        let separator = if tab { Separator::Tab } else { Separator::Space };
        let read = read(&format(SPACE, separator, None), text.as_bytes(), true).expect("what was written");
        let found: Vec<_> = read
            .into_iter()
            .map(|sentence| (sentence.line, sentence.document.unwrap_or_default(), sentence.words))
            .collect();
        prop_assert_eq!(found, expected);
    }

    /// Any bytes give sentences with as many tags as words, or an error, never a panic.
    #[test]
    fn no_bytes_panic(
        bytes in prop::collection::vec(prop::sample::select(b"aO# \t\r\n-\xef\xbb\xbf\xff".to_vec()), 0..40),
        labelled in any::<bool>(),
        tab in any::<bool>(),
    ) {
        let separator = if tab { Separator::Tab } else { Separator::Space };
        if let Ok(sentences) = read(&format("word ner", separator, Some("#")), &bytes, labelled) {
            for sentence in sentences {
                prop_assert!(!sentence.words.is_empty() && !sentence.words.contains(&String::new()));
                prop_assert_eq!(sentence.tags.map(|tags| tags.len()), labelled.then_some(sentence.words.len()));
            }
        }
    }
}
