//! Predictions as rows of a file: those of the input, followed by the prediction.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail, ensure};
use serde_json::{Map, Value};
use totune_data::{Target, label_sets};

use crate::input::{Kind, Object, Record, Row, Source};
use crate::{Manifest, Prediction};

/// Format of predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Separated fields under a header line: the columns of the input, `predicted` (several labels with `|` between them),
    /// and for labels the probability of each, `p_<label>`.
    Delimited(u8),
    /// A JSON object per line: the keys of the input, `predicted`, and for labels `probabilities`.
    Jsonl,
    /// The lines of the input, each followed by its tag.
    Words,
}

impl Layout {
    /// The format for rows of this kind in a file of this name; with `json`, JSON lines.
    ///
    /// # Errors
    /// When the name is that of another format than rows of this kind can be written in.
    pub fn of(kind: Kind, out: &Path, json: bool) -> Result<Self> {
        let end = out.extension().and_then(|end| end.to_str()).unwrap_or("");
        ensure!(
            !json || !matches!(end, "csv" | "tsv"),
            "--out: `{}`, but --json writes JSON lines; expected a name that ends in .jsonl",
            out.display()
        );
        let is_delimited = matches!(kind, Kind::Csv(_) | Kind::Tsv | Kind::Parquet | Kind::Lines);
        let known = ["", "csv", "tsv", "txt", "jsonl", "ndjson"];
        ensure!(
            json || !is_delimited || known.contains(&end),
            "--out: `{}`, which names no format that rows are written in; expected a name that ends in .csv, .tsv or .jsonl",
            out.display()
        );
        let (rows, expected) = match kind {
            Kind::Json => ("JSON objects", ".jsonl or .json"),
            _ => ("lines with a word each", ".conll, or .jsonl"),
        };
        ensure!(
            json || !matches!(kind, Kind::Json | Kind::Words) || !matches!(end, "csv" | "tsv"),
            "--out: `{}`, but {rows} do not come out as the fields of a {end}; expected a name that ends in {expected}",
            out.display()
        );
        Ok(match (kind, end) {
            _ if json => Self::Jsonl,
            (Kind::Json, _) | (_, "json" | "jsonl" | "ndjson") => Self::Jsonl,
            (Kind::Words, _) => Self::Words,
            (_, "tsv") => Self::Delimited(b'\t'),
            (Kind::Parquet, "csv") => Self::Delimited(b','),
            (Kind::Parquet, _) => Self::Jsonl,
            (Kind::Csv(separator), _) => Self::Delimited(separator.unwrap_or(b',')),
            (Kind::Tsv, "" | "txt") => Self::Delimited(b'\t'),
            (Kind::Tsv | Kind::Lines, _) => Self::Delimited(b','),
        })
    }
}

/// Name of the predicted column.
const PREDICTED: &str = "predicted";
/// Key of the probabilities of the labels.
const PROBABILITIES: &str = "probabilities";

/// Writer of rows with their predictions.
pub(crate) struct Sink<'a> {
    layout: Layout,
    labels: &'a [String],
    header: Vec<String>,
    /// Names of the columns or keys that are added.
    added: Vec<String>,
}

impl<'a> Sink<'a> {
    /// Writer for predictions of `manifest`'s model for the rows of `source`.
    ///
    /// # Errors
    /// When the file has a column with the name of one that is added, such as a file that was predicted before.
    pub fn new(layout: Layout, source: &Source, manifest: &'a Manifest) -> Result<Self> {
        let header = source.header();
        let labels = manifest.task.labels();
        let has_probabilities = !labels.is_empty() && !source.fields().of_words;
        let probabilities = match layout {
            _ if !has_probabilities => Vec::new(),
            Layout::Delimited(_) => labels.iter().map(|label| format!("p_{label}")).collect(),
            Layout::Jsonl | Layout::Words => vec![PROBABILITIES.to_string()],
        };
        let added: Vec<String> = [PREDICTED.to_string()]
            .into_iter()
            .chain(probabilities)
            .collect();
        if let Some(name) = added.iter().find(|name| header.contains(name)) {
            bail!("{}: has a column {}", source.fields().shown, taken(name));
        }
        Ok(Self {
            layout,
            labels,
            header,
            added,
        })
    }

    /// Header line above the rows.
    pub fn head(&self) -> Result<Vec<u8>> {
        let Layout::Delimited(separator) = self.layout else {
            return Ok(Vec::new());
        };
        let mut writer = delimited(separator);
        writer.write_record(self.header.iter().chain(&self.added))?;
        Ok(writer.into_inner()?)
    }

    /// Formats rows of `source` with their predictions.
    ///
    /// # Errors
    /// When a JSON object has a key with the name of one that is added.
    pub fn rows(&self, source: &Source, window: &[(Record, Prediction)]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        match self.layout {
            Layout::Delimited(separator) => {
                let mut writer = delimited(separator);
                for (record, prediction) in window {
                    self.delimited(&mut writer, record, prediction)?;
                }
                return Ok(writer.into_inner()?);
            }
            Layout::Jsonl => {
                for (record, prediction) in window {
                    writeln!(out, "{}", self.object(source, record, prediction)?)?;
                }
            }
            Layout::Words => {
                for (record, prediction) in window {
                    self.words(&mut out, source, (record, prediction))?;
                }
            }
        }
        Ok(out)
    }

    fn delimited(
        &self,
        writer: &mut csv::Writer<Vec<u8>>,
        record: &Record,
        prediction: &Prediction,
    ) -> Result<()> {
        match &record.row {
            Row::Fields(fields) => fields
                .iter()
                .try_for_each(|field| writer.write_field(field))?,
            Row::Line(text) => writer.write_field(text)?,
            // Of parquet, whose objects have all columns.
            Row::Object(object) => {
                for name in &self.header {
                    let value = object.get(name)?.unwrap_or_default();
                    writer.write_field(field(&value))?;
                }
            }
            Row::Sentence(_) => {}
        }
        writer.write_field(shown(&prediction.predicted, self.labels))?;
        if self.added.len() > 1 {
            let scores = prediction.scores.iter();
            scores
                .map(|p| p.to_string())
                .try_for_each(|p| writer.write_field(p))?;
        }
        Ok(writer.write_record(None::<&[u8]>)?)
    }

    /// A row as a JSON object with its prediction.
    fn object(&self, source: &Source, record: &Record, prediction: &Prediction) -> Result<String> {
        let more = predicted(prediction, self.labels);
        let own: Vec<(&str, Value)> = match &record.row {
            Row::Object(object) => {
                let keys = object.keys();
                if let Some(name) = self.added.iter().find(|name| keys.contains(name)) {
                    let problem = format!("has a key {}", taken(name));
                    return Err(source.fields().at(record, &problem));
                }
                return Ok(object.with(&more));
            }
            Row::Fields(fields) => {
                let named = self.header.iter().zip(fields.iter());
                named
                    .map(|(name, field)| (name.as_str(), field.as_str().into()))
                    .collect()
            }
            Row::Line(text) => vec![("text", text.as_str().into())],
            Row::Sentence(lines) => vec![("lines", lines.clone().into())],
        };
        Ok(Object::of(&own).with(&more))
    }

    fn words(
        &self,
        out: &mut Vec<u8>,
        source: &Source,
        (record, prediction): (&Record, &Prediction),
    ) -> Result<()> {
        let Row::Sentence(lines) = &record.row else {
            unreachable!("only words come out as words");
        };
        let mut tags = prediction.predicted.tags().unwrap_or_default().iter();
        let words = source.fields().words.places(lines);
        for (place, line) in lines.iter().enumerate() {
            // Aligned with the columns before it.
            let between = if line.contains('\t') { '\t' } else { ' ' };
            let tag = words.binary_search(&place).ok().and_then(|_| tags.next());
            match tag {
                Some(tag) => writeln!(out, "{line}{between}{}", self.labels[*tag])?,
                None => writeln!(out, "{line}")?,
            }
        }
        Ok(writeln!(out)?)
    }
}

/// A value as a field: a text without its quotes, nothing where there is no value, and all else as JSON.
fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn delimited(separator: u8) -> csv::Writer<Vec<u8>> {
    let mut builder = csv::WriterBuilder::new();
    builder.delimiter(separator).from_writer(Vec::new())
}

/// End of the message about a file that has a name already.
fn taken(name: &str) -> String {
    format!(
        "`{name}`; expected none, since predictions get this name: rename it, or predict the original file"
    )
}

/// The keys of a prediction in an object.
fn predicted(prediction: &Prediction, labels: &[String]) -> Map<String, Value> {
    let predicted: Value = match &prediction.predicted {
        Target::Value(value) => (*value).into(),
        Target::Labels(places) | Target::Tags(places) => {
            places.iter().map(|&at| labels[at].clone()).collect()
        }
        other => shown(other, labels).into(),
    };
    let mut keys = Map::from_iter([(PREDICTED.to_string(), predicted)]);
    if let Target::Class(_) | Target::Labels(_) = prediction.predicted {
        let named = labels.iter().cloned().zip(&prediction.scores);
        let named: Map<String, Value> = named.map(|(label, p)| (label, (*p).into())).collect();
        keys.insert(PROBABILITIES.to_string(), named.into());
    }
    keys
}

/// A prediction as text: the label's name, the names of several with `|` between them, the number, or the tags with spaces between.
fn shown(predicted: &Target, labels: &[String]) -> String {
    match predicted {
        Target::Class(class) => labels[*class].clone(),
        Target::Labels(several) => label_sets::joined(several, labels),
        Target::Value(value) => (*value as f32).to_string(),
        Target::Tags(tags) => {
            let names: Vec<&str> = tags.iter().map(|&tag| labels[tag].as_str()).collect();
            names.join(" ")
        }
        Target::Unknown => String::new(),
    }
}
