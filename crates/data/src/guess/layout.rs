//! Guesses of the layout of a file.

use super::{Findings, Hints, strings};
use crate::Task;
use crate::format::Quotes;
use anyhow::{Result, bail, ensure};
use serde::de::IgnoredAny;
use std::collections::BTreeSet;
use std::path::Path;

/// Rows that are examined to find separators and headers.
const ROWS: usize = 200;

/// The guessed layout of a file.
pub(super) enum FileLayout {
    /// A table.
    Table {
        /// The `format` of a card.
        format: String,
        /// The reason for the guess.
        reason: String,
    },
    /// A word and its annotations per line.
    Columns(WordColumns),
}

/// A column file.
pub(super) struct WordColumns {
    n: usize,
    separator: &'static str,
    /// The types of span in the last column.
    types: Vec<String>,
}

pub(super) fn look(file: &Path, bytes: &[u8], hints: &Hints) -> Result<FileLayout> {
    let end = file
        .extension()
        .and_then(|end| end.to_str())
        .unwrap_or_default();
    if bytes.starts_with(b"PAR1") {
        return Ok(table("{ kind = \"parquet\" }", "the file begins with PAR1"));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        let at = bytes
            .utf8_chunks()
            .next()
            .map_or(0, |chunk| chunk.valid().len());
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        bail!(
            "line {line}: not UTF-8; expected UTF-8 text or parquet; give --encoding, such as `windows-1252`"
        );
    };
    let text = text.trim_start_matches('\u{feff}');
    let first = text.trim_start();
    let line = first.lines().next().unwrap_or_default();
    let is_line = matches!(serde_json::from_str(line), Ok(serde_json::Value::Object(_)));
    if first.starts_with('[') && serde_json::from_str::<Vec<IgnoredAny>>(first).is_ok() {
        return Ok(table("{ kind = \"json\" }", "the file is one JSON array"));
    }
    let is_object = || serde_json::from_str::<IgnoredAny>(first).is_ok();
    if first.starts_with('{') && !is_line && is_object() {
        bail!("one JSON object over several lines; expected an array, or one object a line");
    }
    if is_line {
        return Ok(table(
            "{ kind = \"jsonl\" }",
            "the first line is a JSON object",
        ));
    }
    let asked = hints.separator.is_some() || hints.task.is_some_and(|task| task != Task::Tagging);
    if let Some(columns) = word_columns(text).filter(|_| !asked) {
        return Ok(FileLayout::Columns(columns));
    }
    ensure!(
        hints.task != Some(Task::Tagging),
        "no word and tag per line with blank lines between sentences; expected a column file for tagging"
    );
    delimited(text, end, hints)
}

fn table(format: &str, reason: &str) -> FileLayout {
    FileLayout::Table {
        format: format.into(),
        reason: reason.into(),
    }
}

/// A file of sentences: blank lines in it, as many columns on each other line, tags in the last one.
fn word_columns(text: &str) -> Option<WordColumns> {
    let lines = || text.lines().filter(|line| !line.starts_with("-DOCSTART-"));
    let words = || lines().filter(|line| !line.trim().is_empty());
    let blank = lines().count() - words().count();
    let tabs = words().all(|line| line.contains('\t'));
    let split = |line: &str| -> Vec<String> {
        if tabs {
            line.split('\t').map(String::from).collect()
        } else {
            line.split_whitespace().map(String::from).collect()
        }
    };
    let n = split(words().next()?).len();
    let mut types = BTreeSet::new();
    for line in words() {
        let fields = split(line);
        if fields.len() != n {
            return None;
        }
        match fields.last()?.split_once('-') {
            Some((place, name)) if place.len() == 1 && "BIESUL".contains(place) => {
                types.insert(name.to_string());
            }
            None if fields.last()? == "O" => {}
            _ => return None,
        }
    }
    (n >= 2 && blank > 0 && !types.is_empty()).then(|| WordColumns {
        n,
        separator: if tabs { "tab" } else { "white-space" },
        types: types.into_iter().collect(),
    })
}

impl WordColumns {
    pub(super) fn findings(self, hints: &Hints) -> Result<Findings> {
        let mut names: Vec<String> = (1..=self.n).map(|column| format!("c{column}")).collect();
        names[0] = "word".into();
        names[self.n - 1] = "tag".into();
        let find = |option: &str, wish: &Option<String>, otherwise: &str| -> Result<String> {
            let name = wish.as_deref().unwrap_or(otherwise);
            ensure!(
                names.iter().any(|known| known == name),
                "{option}: no column `{name}`; the columns are {}",
                super::listed(&names)
            );
            Ok(name.to_string())
        };
        let text = find("--text", &hints.text, "word")?;
        let label = find("--label", &hints.label, "tag")?;
        Ok(Findings {
            task: Task::Tagging,
            task_reason: "the last column has tags such as B-X, and blank lines end sentences"
                .into(),
            labels: self.types,
            range: None,
            unlabelled: None,
            format: format!(
                "{{ kind = \"conll\", columns = {}, separator = \"{}\" }}",
                strings(&names),
                self.separator
            ),
            format_reason: format!("each line has {} columns", self.n),
            columns: format!("{{ text = \"{text}\", label = \"{label}\" }}"),
            columns_reason: "words come first and tags last".into(),
            empty: None,
            encoding: None,
            notes: Vec::new(),
        })
    }
}

/// The separator of the fields of a line, and the reason.
fn separator(sample: &Sample, end: &str, hints: &Hints) -> Result<(char, String)> {
    Ok(match (hints.separator, end) {
        (Some(separator), _) => (separator, "as --separator says".to_string()),
        (None, "csv") if !divides(sample, ',') && divides(sample, ';') => (
            // Some programs write `;` or tabs into files they call csv, and commas are in texts.
            ';',
            "semicolons divide each line into as many fields, and commas do not".to_string(),
        ),
        (None, "csv") if !divides(sample, ',') && divides(sample, '\t') => (
            '\t',
            "tabs divide each line into as many fields, and commas do not".to_string(),
        ),
        (None, "csv") => (',', "the name ends in .csv".to_string()),
        (None, "tsv") => ('\t', "the name ends in .tsv".to_string()),
        (None, _) => {
            let fits = |separator: &char| divides(sample, *separator);
            let fitting: Vec<char> = ['\t', ',', ';', '|'].into_iter().filter(fits).collect();
            match fitting[..] {
                [separator] => (
                    separator,
                    format!("{separator:?} divides each line into as many fields"),
                ),
                [] => bail!("no separator divides each line into as many fields; give --separator"),
                _ => {
                    bail!("{fitting:?} all divide each line into as many fields; give --separator")
                }
            }
        }
    })
}

/// The separator of the fields of delimited text that begins with `head`, and the use of quotes; `end` is the ending of
/// its name.
///
/// # Errors
/// When several separators are as likely.
pub fn fields(head: &str, end: &str) -> Result<(char, Quotes)> {
    let sample = sample(head);
    let (separator, _) = separator(&sample, end, &Hints::default())?;
    let quotes = if separator != '\t' || quotes_enclose(&sample) {
        Quotes::Doubled
    } else {
        Quotes::None
    };
    Ok((separator, quotes))
}

/// The lines that are examined.
struct Sample {
    text: String,
    /// True if more lines follow, so that it may end within a quoted field.
    is_cut: bool,
}

fn sample(text: &str) -> Sample {
    Sample {
        text: text.lines().take(ROWS).collect::<Vec<_>>().join("\n"),
        is_cut: text.lines().nth(ROWS).is_some(),
    }
}

/// Whether a separator divides each line into as many fields, more than one.
fn divides(sample: &Sample, separator: char) -> bool {
    let rows = rows(sample, separator);
    rows[0].len() > 1 && rows.iter().all(|row| row.len() == rows[0].len())
}

/// Returns whether fields of a tab-separated file are enclosed in quotes. Quotes are letters there, unless fields begin
/// and end with them.
fn quotes_enclose(sample: &Sample) -> bool {
    let fields = || sample.text.lines().flat_map(|line| line.split('\t'));
    let closed = |field: &&str| field.len() > 1 && field.starts_with('"') && field.ends_with('"');
    let opened = |field: &&str| field.starts_with('"');
    let (closed, opened) = (
        fields().filter(closed).count(),
        fields().filter(opened).count(),
    );
    closed > 0 && closed == opened
}

/// The settings of delimited text: separator, quotes, header line.
fn delimited(text: &str, end: &str, hints: &Hints) -> Result<FileLayout> {
    let sample = sample(text);
    let (separator, mut reason) = separator(&sample, end, hints)?;
    let kind = if separator == '\t' { "tsv" } else { "csv" };
    let own = !matches!(separator, ',' | '\t');
    let quoted = kind == "tsv" && quotes_enclose(&sample);
    let rows = rows(&sample, separator);
    let header = match hints.header {
        Some(header) => {
            reason += ", header as --header says";
            header
        }
        None => {
            let (header, why) = has_header(&rows)?;
            reason += &format!(", {why}");
            header
        }
    };
    let mut format = format!("{{ kind = \"{kind}\"");
    if own {
        format += &format!(", separator = {}", super::string(&separator.to_string()));
    }
    if quoted {
        format += ", quotes = \"doubled\"";
        reason += ", quotes enclose fields";
    }
    if !header {
        let names: Vec<String> = (1..=rows[0].len())
            .map(|column| format!("c{column}"))
            .collect();
        format += &format!(", header = {}", strings(&names));
    }
    Ok(FileLayout::Table {
        format: format + " }",
        reason,
    })
}

/// The fields of each line, quoted or not; never empty.
fn rows(sample: &Sample, separator: char) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(u8::try_from(separator).unwrap_or(b','))
        .quoting(separator != '\t')
        .from_reader(sample.text.as_bytes());
    let records = reader.records().flatten();
    let mut rows: Vec<Vec<String>> = records
        .map(|row| row.iter().map(String::from).collect())
        .collect();
    if sample.is_cut {
        rows.pop();
    }
    if rows.is_empty() {
        rows.push(vec![sample.text.clone()]);
    }
    rows
}

/// Returns whether the first row has names, and the reason.
fn has_header(rows: &[Vec<String>]) -> Result<(bool, String)> {
    let first = &rows[0];
    let number = |field: &String| field.trim().parse::<f64>().is_ok();
    if let Some(known) = first.iter().find(|field| super::names::is_telling(field)) {
        return Ok((true, format!("the first line has the name `{known}`")));
    }
    if let Some(field) = first.iter().find(|field| number(field)) {
        return Ok((
            false,
            format!(
                "no header, since the first line has the number {}",
                field.trim()
            ),
        ));
    }
    if first
        .iter()
        .any(|field| field.split_whitespace().count() > 4)
    {
        return Ok((
            false,
            "no header, since the first line has a whole sentence".into(),
        ));
    }
    let below = |column: usize| rows[1..].iter().filter_map(move |row| row.get(column));
    let numbers = (0..first.len()).any(|column| rows.len() > 1 && below(column).all(number));
    if numbers {
        return Ok((true, "a column has numbers below the first line".into()));
    }
    let separator = match &first[..] {
        [only] if only.contains([';', '\t']) => ", and --separator if a character divides it",
        _ => "",
    };
    bail!(
        "the first line may be names or a row: {}; give --header yes or --header no{separator}",
        super::listed(first)
    )
}
