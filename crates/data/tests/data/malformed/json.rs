//! Lines of JSON.

use super::*;

#[test]
fn jsonl() {
    check(
        "kind = 'jsonl'",
        &[
            (
                "nothing",
                b"",
                "line 1: the file is empty; expected a JSON object on each line",
            ),
            (
                "line ends alone",
                b"\n\r\n \n",
                "line 1: the file is empty; expected a JSON object on each line",
            ),
            ("text", b"hello\n", "line 1: column 1: expected value"),
            (
                "a list",
                b"[1]\n",
                "line 1: column .. invalid type: sequence, expected an object",
            ),
            (
                "a string",
                b"\"a\"\n",
                "line 1: column .. invalid type: string \"a\", expected an object",
            ),
            (
                "null",
                b"null\n",
                "line 1: column .. invalid type: null, expected an object",
            ),
            (
                "an object over two lines",
                b"{\"a\":\n1}\n",
                "line 1: column .. EOF",
            ),
            (
                "two objects on a line",
                b"{\"a\":1}{\"a\":2}\n",
                "line 1: column 8: trailing characters",
            ),
            (
                "a comma after an object",
                b"{\"a\":1},\n{\"a\":2}\n",
                "line 1: column 8: trailing characters",
            ),
            (
                "a comma within",
                b"{\"a\":1,}\n",
                "line 1: column .. trailing comma",
            ),
            (
                "single quotes",
                b"{'a':1}\n",
                "line 1: column 2: key must be a string",
            ),
            (
                "a key without quotes",
                b"{a:1}\n",
                "line 1: column 2: key must be a string",
            ),
            (
                "a comment",
                b"{\"a\":1} // x\n",
                "line 1: column .. trailing characters",
            ),
            (
                "a key twice",
                b"{\"a\":1}\n{\"a\":1,\"a\":2}\n",
                "line 2: column .. key `a` is there twice; expected it once",
            ),
            (
                "a key twice in the first line",
                b"{\"a\":1,\"a\":2}\n",
                "line 1: ",
            ),
            (
                "a list for a value",
                b"{\"a\":1}\n{\"a\":[]}\n",
                "line 2: column .. invalid type: sequence, expected `a` to be a string",
            ),
            (
                "an object for a value",
                b"{\"a\":1}\n{\"a\":{}}\n",
                "line 2: column .. invalid type: map, expected `a` to be a string",
            ),
            (
                "not a number",
                b"{\"a\":NaN}\n",
                "line 1: column .. expected value",
            ),
            (
                "a number too large",
                b"{\"a\":1}\n{\"a\":1e999}\n",
                "line 2: column .. number out of range",
            ),
            (
                "a number with a zero before it",
                b"{\"a\":01}\n",
                "line 1: column .. invalid number",
            ),
            (
                "half of a surrogate pair",
                b"{\"a\":\"\\ud800\"}\n",
                "line 1: column .. hex escape",
            ),
            (
                "an unknown escape",
                b"{\"a\":\"\\x41\"}\n",
                "line 1: column .. invalid escape",
            ),
            (
                "a tab in a string",
                b"{\"a\":\"\t\"}\n",
                "line 1: column .. control character",
            ),
            (
                "Latin-1",
                b"{\"a\":1}\n{\"a\":\"\xe9\"}\n",
                "line 2: byte 0xe9 is not UTF-8",
            ),
            (
                "cut within a line",
                b"{\"a\":1}\n\n{\"a\":\"tw",
                "line 3: column .. EOF",
            ),
            (
                "a JSON document",
                b"{\n  \"a\": 1\n}\n",
                "line 1: column .. EOF",
            ),
        ],
    );
    let deep = [&b"{\"a\":1,\"b\":"[..], &b"[".repeat(100_000)].concat();
    check(
        "kind = 'jsonl'",
        &[(
            "a hundred thousand brackets",
            deep.leak(),
            "line 1: column .. recursion limit exceeded",
        )],
    );
}

#[test]
fn jsonl_of_words() {
    let columns: Columns =
        toml::from_str("text = 'word'\nlabel = 'ner'").expect("columns as in a card");
    let format: Format = toml::from_str("kind = 'jsonl'").expect("a format as in a card");
    let rows: [Row; 12] = [
        (
            "text",
            b"hello\n",
            "line 1: column 1: not JSON; expected an object",
        ),
        ("a list", b"[]\n", "line 1: .. expected an object"),
        (
            "words missing",
            b"{\"ner\":[]}\n",
            "line 1: no key `word` .. found `ner`",
        ),
        (
            "tags missing",
            b"{\"word\":[\"a\"]}\n",
            "line 1: no key `ner` .. found `word`",
        ),
        (
            "words that are text",
            b"{\"word\":\"a b\",\"ner\":[]}\n",
            "line 1: `word` is a string; expected a list",
        ),
        (
            "words that are null",
            b"{\"word\":null,\"ner\":[]}\n",
            "line 1: `word` is .. expected a list",
        ),
        (
            "a word that is null",
            b"{\"word\":[null],\"ner\":[0]}\n",
            "line 1: `word` has .. in its list; expected strings or integers",
        ),
        (
            "a tag that is a fraction",
            b"{\"word\":[\"a\"],\"ner\":[0.5]}\n",
            "line 1: `ner` has .. in its list; expected strings or integers",
        ),
        (
            "no words",
            b"{\"word\":[],\"ner\":[]}\n",
            "line 1: no words; expected at least one",
        ),
        (
            "an empty word",
            b"\n{\"word\":[\"a\",\"\"],\"ner\":[0,0]}\n",
            "line 2: word 2 of 2 is empty; expected none to be",
        ),
        (
            "a tag too few",
            b"{\"word\":[\"a\",\"b\"],\"ner\":[0]}\n",
            "line 1: 1 tags for 2 words; expected one for each",
        ),
        (
            "cut within a line",
            b"{\"word\":[\"a\"],\"ner\":[0]}\n{\"word\":[\"a",
            "line 2: column .. not JSON",
        ),
    ];
    let path = Path::new("some/file");
    all_right(rows.iter().map(|(what, bytes, words)| {
        match format.sentences(path, bytes, &columns, true) {
            Ok(found) => Some(format!("{what}: read as {found:?}")),
            Err(error) => differs(what, &error.to_string(), &format!("some/file: {words}")),
        }
    }));
}
