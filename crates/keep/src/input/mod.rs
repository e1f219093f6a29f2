//! Files whose rows pass through one by one: delimited text, JSON lines, lines of text, columns of words.

mod fields;
mod kind;
mod listing;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use csv::StringRecord;

use self::fields::Column;
pub(crate) use self::fields::{Fields, Record, Row, is_word};
pub use self::kind::{Columns, Kind};
pub(crate) use self::listing::{hint, quoted};
use crate::Manifest;

/// A file whose rows are read one by one.
pub struct Source {
    kind: Kind,
    rows: Rows,
    /// Names of the columns of delimited text.
    header: Vec<String>,
    fields: Fields,
    lines: u64,
}

enum Rows {
    Delimited(Box<csv::Reader<Box<dyn Read>>>),
    Lines(Box<dyn BufRead>),
}

impl Source {
    /// Opens `path`, or standard input for `-`, to read the inputs of `manifest`'s model; with `labelled` the labels too.
    ///
    /// # Errors
    /// When the file cannot be read or lacks a column; the message lists those it has.
    pub fn open(
        path: &Path,
        kind: Option<Kind>,
        columns: &Columns,
        manifest: &Manifest,
        labelled: bool,
    ) -> Result<Self> {
        let tags_words = manifest.objective().is_about_words();
        let from_stdin = path == Path::new("-");
        let shown = match from_stdin {
            true => "standard input".to_string(),
            false => path.display().to_string(),
        };
        let kind = match kind {
            Some(kind) => kind,
            None if from_stdin => {
                bail!("standard input: expected --format, which says how it is laid out")
            }
            None => Kind::of(path, tags_words)?,
        };
        let fits = match kind {
            Kind::Words => tags_words,
            Kind::Csv(_) | Kind::Tsv | Kind::Lines => !tags_words,
            Kind::Jsonl => true,
        };
        ensure!(
            fits,
            "{shown}: the model reads {}, expected {}",
            if tags_words {
                "lists of words"
            } else {
                "texts"
            },
            if tags_words {
                "words or jsonl"
            } else {
                "csv, tsv, jsonl or lines"
            }
        );
        let input: Box<dyn Read> = match from_stdin {
            true => Box::new(stdin()),
            false => {
                Box::new(File::open(path).with_context(|| format!("{shown}: cannot be read"))?)
            }
        };
        Self::new(input, (shown, kind), columns, manifest, labelled)
    }

    fn new(
        input: Box<dyn Read>,
        (shown, kind): (String, Kind),
        columns: &Columns,
        manifest: &Manifest,
        labelled: bool,
    ) -> Result<Self> {
        let mut header = Vec::new();
        let rows = match kind {
            Kind::Csv(_) | Kind::Tsv => {
                let separator = match kind {
                    Kind::Csv(separator) => separator,
                    _ => b'\t',
                };
                let mut reader = csv::ReaderBuilder::new()
                    .delimiter(separator)
                    .quoting(kind != Kind::Tsv)
                    .from_reader(input);
                let found = reader.headers().with_context(|| shown.clone())?;
                header = found.iter().map(String::from).collect();
                if let Some(first) = header.first_mut() {
                    *first = first.trim_start_matches('\u{feff}').to_string();
                }
                Rows::Delimited(Box::new(reader))
            }
            Kind::Jsonl | Kind::Lines | Kind::Words => Rows::Lines(Box::new(BufReader::new(input))),
        };
        let mut source = Self {
            kind,
            rows,
            header,
            fields: Fields {
                shown,
                text: Vec::new(),
                second: Vec::new(),
                label: None,
                join: manifest.columns.join.clone(),
            },
            lines: 0,
        };
        source.find(columns, manifest, labelled)?;
        Ok(source)
    }

    /// Looks for the columns that are read.
    fn find(&mut self, asked: &Columns, manifest: &Manifest, labelled: bool) -> Result<()> {
        if matches!(self.kind, Kind::Lines | Kind::Words) {
            ensure!(
                !labelled || self.kind == Kind::Words,
                "{}: lines of text have no labels, expected csv, tsv or jsonl",
                self.fields.shown
            );
            ensure!(
                !manifest.input.is_pair,
                "{}: the model reads pairs of texts, expected csv, tsv or jsonl with a column for each",
                self.fields.shown
            );
            return Ok(());
        }
        let known = &manifest.columns;
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
        // A file with one column leaves no doubt, whatever that is called.
        if let ([only], true) = (&self.header[..], asked.text.is_empty()) {
            text = vec![only.clone()];
        }
        self.fields.text = self.columns(&text, "--text")?;
        self.fields.second = self.columns(&second, "--second")?;
        if labelled {
            let label = asked.label.as_ref().unwrap_or(&known.label);
            self.fields.label = self.columns(std::slice::from_ref(label), "--label")?.pop();
        }
        Ok(())
    }

    /// Columns by their names; `option` is what names another one.
    fn columns(&self, names: &[String], option: &str) -> Result<Vec<Column>> {
        let column = |name: &String| {
            let place = self.header.iter().position(|column| column == name);
            // The keys of objects may be others in every line.
            if place.is_none() && self.kind != Kind::Jsonl {
                bail!(
                    "{}: no column `{name}`{}found {}; {option} names another one",
                    self.fields.shown,
                    hint(name, &self.header),
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

    /// Which columns are read of its rows.
    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// How the file is laid out.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Names of the columns of delimited text; of lines of text `text`.
    pub(crate) fn header(&self) -> Vec<String> {
        match self.kind {
            Kind::Lines => vec!["text".to_string()],
            _ => self.header.clone(),
        }
    }

    /// The next row, until there is none.
    ///
    /// # Errors
    /// When a row cannot be read; its line is named.
    pub(crate) fn next(&mut self) -> Result<Option<Record>> {
        if let Rows::Delimited(reader) = &mut self.rows {
            let mut fields = StringRecord::new();
            let read = reader
                .read_record(&mut fields)
                .with_context(|| self.fields.shown.clone())?;
            let line = fields.position().map_or(0, csv::Position::line);
            let row = Row::Fields(fields);
            return Ok(read.then_some(Record { line, row }));
        }
        if self.kind == Kind::Words {
            return self.sentence();
        }
        while let Some(text) = self.line()? {
            let line = self.lines;
            if self.kind == Kind::Lines {
                let row = Row::Line(text);
                return Ok(Some(Record { line, row }));
            }
            if text.trim().is_empty() {
                continue;
            }
            let object = serde_json::from_str(&text);
            let object = object.with_context(|| {
                format!("{}: line {line}: expected a JSON object", self.fields.shown)
            })?;
            let row = Row::Object(object);
            return Ok(Some(Record { line, row }));
        }
        Ok(None)
    }

    fn sentence(&mut self) -> Result<Option<Record>> {
        let (mut lines, mut first) = (Vec::new(), 0);
        while let Some(text) = self.line()? {
            match (text.trim().is_empty(), lines.is_empty()) {
                (true, true) => {}
                (true, false) => break,
                (false, empty) => {
                    if empty {
                        first = self.lines;
                    }
                    lines.push(text);
                }
            }
        }
        let row = Row::Sentence(lines);
        let empty = matches!(&row, Row::Sentence(lines) if lines.is_empty());
        Ok((!empty).then_some(Record { line: first, row }))
    }

    /// The next line without its end.
    fn line(&mut self) -> Result<Option<String>> {
        let Rows::Lines(reader) = &mut self.rows else {
            return Ok(None);
        };
        let mut text = String::new();
        let n = reader.read_line(&mut text);
        let n = n.with_context(|| format!("{}: line {}", self.fields.shown, self.lines + 1))?;
        if n == 0 {
            return Ok(None);
        }
        self.lines += 1;
        let end = text.trim_end_matches(['\n', '\r']).len();
        text.truncate(end);
        if self.lines == 1 {
            text = text.trim_start_matches('\u{feff}').to_string();
        }
        Ok(Some(text))
    }
}
