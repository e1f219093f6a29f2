//! Files whose rows are streamed one by one: delimited text, JSON lines, parquet, lines of text, columns of words.

mod fields;
mod kind;
mod listing;
mod object;
mod words;

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use totune_data::format::{Extra, LineBreaks, Quotes, TextStream};
use totune_data::{Joined, guess};
use totune_toml::did_you_mean;

use self::fields::Column;
pub(crate) use self::fields::{Fields, Record, Row};
pub use self::kind::{Columns, Kind, ReadOptions};
pub(crate) use self::listing::quoted;
pub(crate) use self::object::Object;
use self::words::WordLines;
use crate::Manifest;

/// A file whose rows are read one by one.
pub struct Source {
    kind: Kind,
    text: TextStream,
    rows: Rows,
    /// Names of the columns of delimited text and of parquet.
    header: Vec<String>,
    /// Handling of fields beyond the last column.
    extra: Extra,
    fields: Fields,
}

/// Whether these lines have a word each rather than a text: as many columns everywhere, and tags in the last one, or
/// blank lines between groups of lines.
fn has_columns(head: &str, words: &WordLines) -> bool {
    let all: Vec<&str> = head.trim().lines().collect();
    let places = words.places(&all).into_iter();
    let lines: Vec<Vec<&str>> = places.map(|place| words.cells(all[place])).collect();
    let Some(n) = lines.first().map(Vec::len) else {
        return false;
    };
    let is_tag = |cell: &&&str| **cell == "O" || cell.starts_with("B-") || cell.starts_with("I-");
    let tags = lines.iter().filter_map(|line| line.last()).filter(is_tag);
    let has_tags = n > 1 && tags.count() == lines.len();
    // Texts, too, may have blank lines between them.
    let is_blank = |line: &str| line.trim().is_empty();
    let has_groups = all
        .windows(2)
        .any(|two| !two.iter().any(|line| is_blank(line)));
    let is_divided = has_groups && all.len() > lines.len();
    lines.iter().all(|line| line.len() == n) && (has_tags || is_divided)
}

/// Division of the text into rows.
enum Rows {
    Delimited {
        separator: u8,
        quotes: Quotes,
        /// The first row of a file without a header line, until it is returned.
        first: Option<Record>,
    },
    Lines,
    Array,
}

impl Source {
    /// Opens `path`, or standard input for `-`, to read the inputs of `manifest`'s model; with `labelled` the labels
    /// too.
    ///
    /// # Errors
    /// When the file cannot be read or lacks a column; the message lists the existing ones.
    pub fn open(
        path: &Path,
        reading: &ReadOptions,
        manifest: &Manifest,
        labelled: bool,
    ) -> Result<Self> {
        let tags_words = manifest.objective().is_about_words();
        let from_stdin = path == Path::new("-");
        let shown = if from_stdin {
            Path::new("standard input")
        } else {
            path
        };
        let kind = match reading.kind {
            Some(kind) => kind,
            None if from_stdin => {
                bail!("standard input: expected --format, which says how it is laid out")
            }
            None => Kind::of(path)?,
        };
        let shown_as = shown.display();
        ensure!(
            tags_words || kind != Kind::Words,
            "{shown_as}: the model reads texts, expected csv, tsv, json, parquet or lines"
        );
        ensure!(
            !tags_words || !matches!(kind, Kind::Csv(_) | Kind::Tsv),
            "{shown_as}: found fields, but the model tags words; expected a text on each line (.txt, or --format lines), \
             JSON with a text or a list of words in each object (.jsonl or .json), or a word on each line (.conll, or \
             --format words)"
        );
        if kind == Kind::Parquet {
            ensure!(
                !from_stdin,
                "standard input: parquet is read from its end, expected the name of a file"
            );
            let (text, columns) = TextStream::parquet(path)?;
            return Self::new(
                text,
                (shown, kind, columns),
                &reading.columns,
                manifest,
                labelled,
            );
        }
        let bytes: Box<dyn BufRead> = if from_stdin {
            Box::new(BufReader::new(stdin()))
        } else {
            let file = File::open(path);
            Box::new(BufReader::new(
                file.with_context(|| format!("{shown_as}: cannot be read"))?,
            ))
        };
        let mut text = TextStream::new(shown, bytes, reading.encoding.as_deref())?;
        let may_be_words = tags_words && reading.kind.is_none() && kind == Kind::Lines;
        let words = WordLines::of(&manifest.layout, labelled);
        let kind = if may_be_words && (labelled || has_columns(text.head()?, &words)) {
            Kind::Words
        } else {
            kind
        };
        Self::new(
            text,
            (shown, kind, Vec::new()),
            &reading.columns,
            manifest,
            labelled,
        )
    }

    fn new(
        mut text: TextStream,
        (shown, kind, header): (&Path, Kind, Vec<String>),
        columns: &Columns,
        manifest: &Manifest,
        labelled: bool,
    ) -> Result<Self> {
        let head = text.head()?;
        let (kind, rows) = match kind {
            Kind::Json if head.trim_start().starts_with('[') => (kind, Rows::Array),
            Kind::Json | Kind::Parquet | Kind::Lines | Kind::Words => (kind, Rows::Lines),
            Kind::Csv(_) | Kind::Tsv => {
                let end = if kind == Kind::Tsv { "tsv" } else { "csv" };
                let (guessed, mut quotes) = guess::fields(head, end)?;
                let separator = match kind {
                    Kind::Csv(Some(separator)) => separator,
                    _ => u8::try_from(guessed).context("a separator is a byte")?,
                };
                // What the card of the training file says of quotes is known, not guessed.
                let known = manifest.layout.delimited();
                let same = known.filter(|(own, _)| *own == char::from(separator));
                if let Some(said) = same.and_then(|(_, settings)| settings.quotes) {
                    quotes = said;
                }
                let kind = match kind {
                    Kind::Tsv => kind,
                    _ => Kind::Csv(Some(separator)),
                };
                let first = None;
                (
                    kind,
                    Rows::Delimited {
                        separator,
                        quotes,
                        first,
                    },
                )
            }
        };
        let settings = manifest.layout.delimited().map(|(_, settings)| settings);
        let mut source = Self {
            kind,
            text,
            rows,
            header,
            fields: Fields {
                shown: shown.display().to_string(),
                unit: if kind == Kind::Parquet { "row" } else { "line" },
                text: Vec::new(),
                second: Vec::new(),
                label: Vec::new(),
                label_columns: false,
                label_separator: manifest.layout.label_separator.clone(),
                join: manifest.layout.join.clone(),
                of_words: manifest.objective().is_about_words(),
                unlabelled: manifest.layout.unlabelled.clone(),
                words: WordLines::of(&manifest.layout, labelled),
                escaped_breaks: settings.is_some_and(|s| s.line_breaks == LineBreaks::BackslashN),
                trim_end: manifest.layout.trim_end,
            },
            extra: settings.map_or(Extra::Refuse, |settings| settings.extra),
        };
        source.read_header(columns, manifest)?;
        source.find(columns, manifest, labelled)?;
        Ok(source)
    }

    /// Reads the header line of delimited text. A file without one is recognised by the training file, which had none
    /// either: the first line has as many fields as that, with the labels or without, and none of the requested column
    /// names.
    fn read_header(&mut self, columns: &Columns, manifest: &Manifest) -> Result<()> {
        let Rows::Delimited {
            separator,
            quotes,
            first,
        } = &mut self.rows
        else {
            return Ok(());
        };
        let Some((line, names)) = self.text.record(*separator, *quotes)? else {
            bail!(
                "{}: the file is empty, expected a header line",
                self.fields.shown
            );
        };
        let labels = manifest.layout.label.names();
        let without_labels = |known: &Vec<String>| {
            let is_label = |name: &&String| labels.contains(name);
            known
                .iter()
                .filter(|name| !is_label(name))
                .cloned()
                .collect()
        };
        let known = manifest.layout.delimited();
        let known = known.and_then(|(_, settings)| settings.header.as_ref());
        let known = known.map(|known| [known.clone(), without_labels(known)]);
        let known = known
            .into_iter()
            .flatten()
            .find(|known| known.len() == names.len());
        let asked = match &columns.text[..] {
            [] => &manifest.layout.text,
            asked => asked,
        };
        let is_named = names.iter().any(|name| asked.contains(name));
        match known.filter(|_| !is_named) {
            Some(known) => {
                self.header = known;
                let row = Row::Fields(names);
                *first = Some(Record { line, row });
            }
            None => self.header = names,
        }
        Ok(())
    }

    /// Finds the columns that are used.
    fn find(&mut self, asked: &Columns, manifest: &Manifest, labelled: bool) -> Result<()> {
        if matches!(self.kind, Kind::Lines | Kind::Words) {
            ensure!(
                !labelled || self.kind == Kind::Words,
                "{}: lines of text have no labels, expected {}",
                self.fields.shown,
                if self.fields.of_words {
                    "words or json"
                } else {
                    "csv, tsv or json"
                }
            );
            ensure!(
                !manifest.input.is_pair,
                "{}: the model reads pairs of texts, expected csv, tsv or json with a column for each",
                self.fields.shown
            );
            if self.kind == Kind::Words {
                self.fields.words.choose(asked)?;
            }
            return Ok(());
        }
        let known = &manifest.layout;
        let or = |asked: &[String], known: &[String]| match asked {
            [] => known.to_vec(),
            asked => asked.to_vec(),
        };
        let mut text = or(&asked.text, &known.text);
        let second = or(&asked.second, &known.second);
        ensure!(
            asked.second.is_empty() || manifest.input.is_pair,
            "--second: `{}`, but the model reads single texts",
            asked.second.join(",")
        );
        // With a single column there is no doubt, whatever its name.
        if let ([only], true) = (&self.header[..], asked.text.is_empty()) {
            ensure!(
                text.contains(only) || !only.contains([';', '\t']),
                "{}: one column, `{only}`; if a character in it divides the fields, name it with --separator",
                self.fields.shown
            );
            // The first text of a file without a header would be lost as its name.
            ensure!(
                text.contains(only) || only.split_whitespace().count() <= 4,
                "{}: found one column whose first line is `{only}`, expected its name there, such as `{}`; if it is the name, \
                 give it with --text, and texts without one can be the lines of a .txt file",
                self.fields.shown,
                text.join(",")
            );
            text = vec![only.clone()];
        }
        self.fields.text = self.columns(&text, "--text")?;
        self.fields.second = self.columns(&second, "--second")?;
        if labelled {
            let label = match &asked.label {
                Some(label) => std::slice::from_ref(label),
                None => known.label.names(),
            };
            self.fields.label = self.columns(label, "--label")?;
            let several = matches!(known.label, Joined::Several(_));
            self.fields.label_columns = asked.label.is_none() && several;
        }
        Ok(())
    }

    /// Columns by their names; `option` is the option to name another column.
    fn columns(&self, names: &[String], option: &str) -> Result<Vec<Column>> {
        let column = |name: &String| {
            let mut places = (0..self.header.len()).filter(|&at| self.header[at] == *name);
            let place = places.next();
            ensure!(
                place.is_none() || places.next().is_none() || self.kind == Kind::Json,
                "{}: column `{name}` is named twice; expected it once",
                self.fields.shown
            );
            // The keys of JSON objects may differ between lines.
            if place.is_none() && self.kind != Kind::Json {
                bail!(
                    "{}: no column `{name}`{}found {}; {option} names another one",
                    self.fields.shown,
                    did_you_mean(name, self.header.iter().map(String::as_str)),
                    quoted(&self.header)
                );
            }
            Ok(Column {
                name: name.clone(),
                place: place.unwrap_or(0),
            })
        };
        names.iter().map(column).collect()
    }

    /// Fields of its rows that are used.
    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Format of the file.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The unit of its rows in messages: `row` or `line`.
    pub fn unit(&self) -> &'static str {
        self.fields.unit
    }

    /// Names of the columns of delimited text and of parquet; `text` for lines of text.
    pub(crate) fn header(&self) -> Vec<String> {
        match self.kind {
            Kind::Lines => vec!["text".to_string()],
            _ => self.header.clone(),
        }
    }

    /// The next row, until there is none.
    ///
    /// # Errors
    /// When a row cannot be read; the message names its line.
    pub(crate) fn next(&mut self) -> Result<Option<Record>> {
        match &mut self.rows {
            Rows::Delimited {
                separator,
                quotes,
                first,
            } => {
                if let Some(first) = first.take() {
                    return Ok(Some(first));
                }
                let found = self.text.record(*separator, *quotes)?;
                let record = found.map(|(line, fields)| Record {
                    line,
                    row: Row::Fields(fields),
                });
                record.map(|record| self.whole(record)).transpose()
            }
            Rows::Array => {
                let element = self.text.element()?;
                element
                    .map(|(line, text)| self.object(line, &text))
                    .transpose()
            }
            Rows::Lines if self.kind == Kind::Words => self.sentence(),
            Rows::Lines => {
                while let Some((line, text)) = self.text.line()? {
                    if self.kind == Kind::Lines {
                        let row = Row::Line(text);
                        return Ok(Some(Record { line, row }));
                    }
                    if !text.trim().is_empty() {
                        return self.object(line, &text).map(Some);
                    }
                }
                Ok(None)
            }
        }
    }

    /// Checks that a row has a field for each column; those beyond the last are left out where they were in training.
    fn whole(&self, mut record: Record) -> Result<Record> {
        if let (Row::Fields(fields), Extra::Ignore) = (&mut record.row, self.extra) {
            fields.truncate(self.header.len());
        }
        if let Row::Fields(fields) = &record.row {
            let (found, expected) = (fields.len(), self.header.len());
            ensure!(
                found == expected,
                self.fields.at(
                    &record,
                    &format!(
                        "fields: found {found}, expected {expected}: {}",
                        quoted(&self.header)
                    )
                )
            );
        }
        Ok(record)
    }

    fn object(&self, line: usize, text: &str) -> Result<Record> {
        let object = Object::new(text);
        let shown = &self.fields.shown;
        let object =
            object.with_context(|| format!("{shown}: line {line}: expected a JSON object"))?;
        let row = Row::Object(object);
        Ok(Record { line, row })
    }

    /// The lines of the next sentence, after those that begin its document.
    fn sentence(&mut self) -> Result<Option<Record>> {
        let (mut lines, mut first) = (Vec::<String>::new(), 0);
        while let Some((line, text)) = self.text.line()? {
            let is_blank = text.trim().is_empty();
            if is_blank && lines.is_empty() {
                continue;
            }
            if is_blank && !self.fields.words.places(&lines).is_empty() {
                break;
            }
            if lines.is_empty() {
                first = line;
            }
            lines.push(text);
        }
        let row = Row::Sentence(lines);
        let empty = matches!(&row, Row::Sentence(lines) if lines.is_empty());
        Ok((!empty).then_some(Record { line: first, row }))
    }
}
