//! Guesses of the layout of a file.

use super::word_columns::{WordColumns, word_columns};
use super::{Hints, strings};
use crate::Task;
use crate::format::Quotes;
use anyhow::{Result, bail, ensure};
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::path::Path;

/// Rows that are examined to find separators and headers.
const ROWS: usize = 200;

/// Separators that are looked for.
const SEPARATORS: [char; 4] = ['\t', ',', ';', '|'];

/// So many of so many lines show a separator, although the others have fewer or more fields.
const NEARLY: (usize, usize) = (9, 10);

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

pub(super) fn look(file: &Path, bytes: &[u8], hints: &Hints) -> Result<FileLayout> {
    let end = file
        .extension()
        .and_then(|end| end.to_str())
        .unwrap_or_default();
    if bytes.starts_with(b"PAR1") {
        return Ok(table("{ kind = \"parquet\" }", "the file begins with PAR1"));
    }
    let text = text(bytes, hints)?;
    ensure!(
        !text.trim().is_empty(),
        "has only blank lines, expected rows"
    );
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
    // A first line that is broken is an error of the reader, which names it.
    if is_line || ["jsonl", "ndjson"].contains(&end) {
        let reason = if is_line {
            "the first line is a JSON object"
        } else {
            "the file is named so"
        };
        return Ok(table("{ kind = \"jsonl\" }", reason));
    }
    let asked = hints.separator.is_some() || hints.task.is_some_and(|task| task != Task::Tagging);
    let is_expected = hints.task.is_some() || end == "conll";
    if !asked && let Some(columns) = word_columns(text, is_expected)? {
        return Ok(FileLayout::Columns(columns));
    }
    ensure!(
        hints.task != Some(Task::Tagging),
        "no word and tag per line with blank lines between sentences; expected a column file for tagging"
    );
    delimited(text, end, hints)
}

/// The bytes of a file as text without a byte order mark.
///
/// # Errors
/// When they are none; the message has the line.
fn text<'b>(bytes: &'b [u8], hints: &Hints) -> Result<&'b str> {
    let line = |at: usize| 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        let how = match &hints.encoding {
            Some(encoding) => format!("expected text in {}", super::shown(encoding)),
            None => "expected UTF-8 text or parquet; of UTF-16 give --encoding utf-16le".into(),
        };
        bail!(
            "line {}: found a NUL byte, which no text has; {how}",
            line(at)
        );
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        let chunk = bytes.utf8_chunks().next();
        bail!(
            "line {}: not UTF-8; expected UTF-8 text or parquet; give --encoding, such as `windows-1252`",
            line(chunk.map_or(0, |chunk| chunk.valid().len()))
        );
    };
    Ok(text.trim_start_matches('\u{feff}'))
}

fn table(format: &str, reason: &str) -> FileLayout {
    FileLayout::Table {
        format: format.into(),
        reason: reason.into(),
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
        (None, "csv") if !divides(sample, ',') && divides(sample, '|') => (
            '|',
            "`|` divides each line into as many fields, and commas do not".to_string(),
        ),
        (None, "csv") => (',', "the name ends in .csv".to_string()),
        (None, "tsv") => ('\t', "the name ends in .tsv".to_string()),
        (None, _) => {
            let fits = |separator: &char| divides(sample, *separator);
            let fitting: Vec<char> = SEPARATORS.into_iter().filter(fits).collect();
            match fitting[..] {
                [separator] => (
                    separator,
                    format!("{separator:?} divides each line into as many fields"),
                ),
                [] => bail!(
                    "no separator divides each line into as many fields; {}give --separator",
                    uneven(sample).unwrap_or_default()
                ),
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
    is_even(&records(sample, separator, separator != '\t'))
}

/// Whether all records have as many fields, more than one.
fn is_even(records: &[csv::StringRecord]) -> bool {
    let n = records.first().map_or(0, csv::StringRecord::len);
    n > 1 && records.iter().all(|record| record.len() == n)
}

/// Returns whether fields of a tab-separated file are enclosed in quotes. Quotes are letters there, unless fields begin
/// and end with them, or hold tabs and line breaks that would otherwise divide them.
fn quotes_enclose(sample: &Sample) -> bool {
    let fields = || sample.text.lines().flat_map(|line| line.split('\t'));
    let closed = |field: &&str| field.len() > 1 && field.starts_with('"') && field.ends_with('"');
    let opened = |field: &&str| field.starts_with('"');
    let (closed, opened) = (
        fields().filter(closed).count(),
        fields().filter(opened).count(),
    );
    let hold_separators = || {
        let [plain, enclosed] = [false, true].map(|quoting| records(sample, '\t', quoting));
        !is_even(&plain) && is_even(&enclosed)
    };
    opened > 0 && (closed == opened || hold_separators())
}

/// The settings of delimited text: separator, quotes, header line.
fn delimited(text: &str, end: &str, hints: &Hints) -> Result<FileLayout> {
    let sample = sample(text);
    let first = sample.text.lines().next().unwrap_or_default();
    ensure!(
        !(first.starts_with("sep=") && first.chars().count() == 5),
        "line 1: `{first}`, which spreadsheets read as the separator and other programs as a row; remove that line"
    );
    let (separator, mut reason) = separator(&sample, end, hints)?;
    let kind = if separator == '\t' { "tsv" } else { "csv" };
    let own = !matches!(separator, ',' | '\t');
    let quoted = kind == "tsv" && quotes_enclose(&sample);
    let rows = rows(&sample, separator, quoted || separator != '\t');
    let header = match hints.header {
        Some(header) => {
            reason += ", header as --header says";
            header
        }
        None => {
            let (header, why) = match asked_for(&rows, hints) {
                Some(option) => (
                    true,
                    format!("the first line has the name that {option} gives"),
                ),
                None => has_header(&rows)?,
            };
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

/// A note on the first line that a separator divides into fewer or more fields than nearly all others.
fn uneven(sample: &Sample) -> Option<String> {
    let note = |separator: char| {
        let records = records(sample, separator, separator != '\t');
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for record in &records {
            *counts.entry(record.len()).or_default() += 1;
        }
        let (n, lines) = counts.into_iter().max_by_key(|(_, lines)| *lines)?;
        let is_nearly = n > 1 && lines * NEARLY.1 >= records.len() * NEARLY.0;
        let other = records.iter().find(|record| record.len() != n);
        let other = other.filter(|_| is_nearly)?;
        let (line, found) = (other.position()?.line(), other.len());
        Some(format!(
            "{separator:?} divides line {line} into {found} and {lines} of {} lines into {n}; correct that line, or ",
            records.len()
        ))
    };
    SEPARATORS.into_iter().find_map(note)
}

/// The fields of each line, quoted or not; never empty.
fn rows(sample: &Sample, separator: char, quoting: bool) -> Vec<Vec<String>> {
    let records = records(sample, separator, quoting);
    let mut rows: Vec<Vec<String>> = records
        .iter()
        .map(|row| row.iter().map(String::from).collect())
        .collect();
    if rows.is_empty() {
        rows.push(vec![sample.text.clone()]);
    }
    rows
}

/// The records of the lines that are whole.
fn records(sample: &Sample, separator: char, quoting: bool) -> Vec<csv::StringRecord> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(u8::try_from(separator).unwrap_or(b','))
        .quoting(quoting)
        .from_reader(sample.text.as_bytes());
    let mut records: Vec<csv::StringRecord> = reader.records().flatten().collect();
    if sample.is_cut {
        records.pop();
    }
    records
}

/// The option that names a field of the first row, unless a field below it is the same: a value of the column is no name of
/// it.
fn asked_for(rows: &[Vec<String>], hints: &Hints) -> Option<&'static str> {
    let is_first = |name: &String| {
        let place = rows[0].iter().position(|field| field.trim() == name);
        let below = |place: usize| rows[1..].iter().filter_map(move |row| row.get(place));
        place.is_some_and(|place| !below(place).any(|field| field.trim() == name))
    };
    let found = hints.columns().find(|(_, name)| is_first(name));
    found.map(|(option, _)| option)
}

/// Returns whether the first row has names, and the reason.
fn has_header(rows: &[Vec<String>]) -> Result<(bool, String)> {
    let first = &rows[0];
    let number = |field: &String| field.trim().parse::<f64>().is_ok();
    let below = |column: usize| rows[1..].iter().filter_map(move |row| row.get(column));
    // A value of the column is no name of it.
    let recurs = |column: usize| below(column).any(|field| field.trim() == first[column].trim());
    let mut named = (0..first.len()).filter(|&column| super::names::is_telling(&first[column]));
    if let Some(column) = named.find(|&column| !recurs(column)) {
        let known = &first[column];
        return Ok((true, format!("the first line has the name `{known}`")));
    }
    let counts = first.iter().skip_while(|field| field.trim().is_empty());
    let counts = (0..)
        .zip(counts)
        .all(|(n, field)| field.trim() == n.to_string());
    let has_text = |column: usize| below(column).any(|field| !number(field));
    if counts && first.len() > 1 && (0..first.len()).any(has_text) {
        return Ok((true, "the first line counts the columns".into()));
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
    let numbers = (0..first.len()).any(|column| rows.len() > 1 && below(column).all(number));
    if numbers {
        return Ok((true, "a column has numbers below the first line".into()));
    }
    let n_words = |field: &String| field.split_whitespace().count();
    // The question of a form stands above its short answers.
    let asks = |column: &usize| {
        let is_short = |field: &String| n_words(field) <= 2;
        n_words(&first[*column]) > 4 && rows.len() > 2 && below(*column).all(is_short)
    };
    if (0..first.len()).any(|column| asks(&column)) {
        return Ok((
            true,
            "a column has short answers below its first field".into(),
        ));
    }
    if first.iter().any(|field| n_words(field) > 4) {
        return Ok((
            false,
            "no header, since the first line has a whole sentence".into(),
        ));
    }
    let separator = match &first[..] {
        [only] if only.contains([';', '\t', '|']) => ", and --separator if a character divides it",
        _ => "",
    };
    bail!(
        "the first line may be names or a row: {}; give --header yes or --header no{separator}",
        super::listed(first)
    )
}
