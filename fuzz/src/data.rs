//! The readers of `totune-data`: cards and raw formats.

#[path = "refusal.rs"]
mod refusal;

use std::path::Path;
use std::sync::Once;

use totune_data::format::Format;
use totune_data::{Card, Columns};

type Target = fn(&[u8]);

/// The targets of this file, by the names of their folders of seeds.
pub const TARGETS: &[(&str, Target)] = &[
    ("card", card),
    ("conll", conll),
    ("csv", csv),
    ("jsonl", jsonl),
    ("parquet", parquet),
    ("trees", trees),
    ("tsv", tsv),
    ("quora", quora),
    ("yahoo", yahoo),
];

/// A dataset card, with everything that is checked of it before a file is opened.
pub fn card(bytes: &[u8]) {
    thread_local! {
        static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("a temporary folder");
    }
    FOLDER.with(|folder| {
        let path = folder.path().join("toy.toml");
        std::fs::write(&path, bytes).expect("a temporary file");
        match Card::read(&path) {
            Ok(card) => assert_eq!(card.name, "toy"),
            Err(error) => refusal::check(&format!("{error:#}"), &path.display().to_string(), bytes),
        }
    });
}

/// Comma-separated values with quotes; what is read is what the `csv` crate reads.
pub fn csv(bytes: &[u8]) {
    let rows = table("kind = 'csv'", bytes);
    compare(rows, csv::ReaderBuilder::new().has_headers(false), bytes);
}

/// Tabs, a header line, and quotes that are letters, as in GLUE and SICK; in some files with fields beyond the last.
pub fn tsv(bytes: &[u8]) {
    let strict = table("kind = 'tsv'", bytes);
    let loose = table("kind = 'tsv'\nextra = 'ignore'", bytes);
    if strict.is_some() {
        assert_eq!(strict, loose, "{}", bytes.escape_ascii());
    }
}

/// Tabs and quotes, as in Quora's own file.
pub fn quora(bytes: &[u8]) {
    let rows = table("kind = 'tsv'\nquotes = 'doubled'", bytes);
    let mut reader = csv::ReaderBuilder::new();
    compare(rows, reader.delimiter(b'\t').has_headers(false), bytes);
}

/// Commas and quotes without a header line, and line breaks as a backslash and the letter n, as in Yahoo Answers.
pub fn yahoo(bytes: &[u8]) {
    let format = "kind = 'csv'\nheader = ['class', 'title', 'content', 'answer']\nline-breaks = 'backslash-n'";
    for row in table(format, bytes).unwrap_or_default() {
        assert!(row.iter().all(|field| !field.contains("\\n")), "{row:?}");
    }
}

/// JSON lines, as a table and as lists of words and tags.
pub fn jsonl(bytes: &[u8]) {
    table("kind = 'jsonl'", bytes);
    sentences("kind = 'jsonl'", bytes);
}

/// Parquet, of texts and of lists of words. Its decoder may panic, which the reader catches; what is left to find is
/// memory and time.
pub fn parquet(bytes: &[u8]) {
    static QUIET: Once = Once::new();
    // Neither a line for each panic that is caught, nor libFuzzer's end at the first of them.
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    table("kind = 'parquet'", bytes);
    sentences("kind = 'parquet'", bytes);
}

/// Sentiment trees: all phrases or whole sentences, five classes or two.
pub fn trees(bytes: &[u8]) {
    let rows = |phrases, granularity| {
        let settings = format!("phrases = '{phrases}'\ngranularity = '{granularity}'");
        table(&format!("kind = 'sentiment-trees'\n{settings}"), bytes)
    };
    let all = rows("all", "five-class").map(|rows| rows.len());
    let most = rows("whole", "five-class").map(|rows| rows.len());
    assert_eq!(all.is_some(), most.is_some());
    assert!(most <= all && rows("whole", "two-class").map(|rows| rows.len()) <= most);
}

/// CoNLL's column files, with spaces and with tabs, with and without tags.
pub fn conll(bytes: &[u8]) {
    let columns = "columns = ['word', 'pos', 'chunk', 'ner']";
    sentences(&format!("kind = 'conll'\n{columns}"), bytes);
    sentences(
        &format!("kind = 'conll'\n{columns}\nseparator = 'tab'\ncomment = '# '"),
        bytes,
    );
}

/// Reads sentences with and without tags: each has words, none of them empty, and a tag for each.
fn sentences(format: &str, bytes: &[u8]) {
    let format: Format = toml::from_str(format).expect("a format as in a card");
    let columns: Columns =
        toml::from_str("text = 'word'\nlabel = 'ner'").expect("columns as in a card");
    for labelled in [true, false] {
        match format.sentences(Path::new("some/file"), bytes, &columns, labelled) {
            Ok(sentences) => {
                let mut line = 0;
                for sentence in &sentences.all {
                    let n = sentence.words.len();
                    assert!(n > 0 && sentence.words.iter().all(|word| !word.is_empty()));
                    assert_eq!(sentence.tags.as_ref().map(Vec::len), labelled.then_some(n));
                    assert!(sentence.line > line, "line {} after {line}", sentence.line);
                    line = sentence.line;
                }
            }
            Err(error) => refusal::check(&error.to_string(), "some/file", bytes),
        }
    }
}

/// Compares records with those of the `csv` crate.
fn compare(rows: Option<Vec<Vec<String>>>, other: &mut csv::ReaderBuilder, bytes: &[u8]) {
    let Some(rows) = rows else { return };
    // A byte order mark is left out by that crate too.
    let theirs: Vec<Vec<String>> = other
        .from_reader(bytes)
        .records()
        .map(|record| {
            let record = record.unwrap_or_else(|error| panic!("{error}: {}", bytes.escape_ascii()));
            record.iter().map(str::to_string).collect()
        })
        .collect();
    assert_eq!(rows, theirs, "{}", bytes.escape_ascii());
}

/// Reads `bytes` in a format as a card declares it: the header, if it is in the file, and the rows; nothing where it is
/// refused. Asking for one column gives that column of the same rows.
fn table(format: &str, bytes: &[u8]) -> Option<Vec<Vec<String>>> {
    let format: Format = toml::from_str(format).expect("a format as in a card");
    let file = Path::new("some/file");
    let table = match format.table(file, bytes, None) {
        Ok(table) => table,
        Err(error) => {
            refusal::check(&error.to_string(), "some/file", bytes);
            return None;
        }
    };
    let columns = table.columns().to_vec();
    let mut line = 0;
    let mut rows = Vec::with_capacity(table.n_rows() + 1);
    for row in table.rows() {
        assert_eq!(row.fields.len(), columns.len(), "line {}", row.line);
        let one_a_line = !matches!(&format, Format::SentimentTrees(_));
        assert!(
            row.line >= line + usize::from(one_a_line),
            "line {} after {line}",
            row.line
        );
        line = row.line;
        rows.push(row.fields.iter().map(|field| field.to_string()).collect());
    }
    if let Some(last) = columns.last() {
        match format.table(file, bytes, Some(&[last])) {
            Ok(one) => assert!(
                one.column(0).eq(table.column(columns.len() - 1)),
                "`{last}`"
            ),
            Err(error) => assert!(error.problem.contains("named twice"), "{error}"),
        }
    }
    if matches!(&format, Format::Csv(d) | Format::Tsv(d) if d.header.is_none()) {
        rows.insert(0, columns);
    }
    Some(rows)
}
