//! Predictions as rows of a file: those of the input, followed by the prediction.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Map, Value};
use totune_data::{Target, label_sets};

use crate::input::{Kind, Record, Row, Source, is_word};
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
    pub fn of(kind: Kind, out: &Path, json: bool) -> Self {
        let end = out.extension().and_then(|end| end.to_str()).unwrap_or("");
        match (kind, end) {
            _ if json => Self::Jsonl,
            (Kind::Json, _) | (_, "json" | "jsonl" | "ndjson") => Self::Jsonl,
            (Kind::Words, _) => Self::Words,
            (_, "tsv") => Self::Delimited(b'\t'),
            (Kind::Csv(separator), _) => Self::Delimited(separator.unwrap_or(b',')),
            (Kind::Tsv, "" | "txt") => Self::Delimited(b'\t'),
            (Kind::Tsv | Kind::Lines, _) => Self::Delimited(b','),
        }
    }
}

/// Name of the predicted column.
const PREDICTED: &str = "predicted";

/// Writer of rows with their predictions.
pub(crate) struct Sink<'a> {
    layout: Layout,
    labels: &'a [String],
    header: Vec<String>,
}

impl<'a> Sink<'a> {
    /// Writer for predictions of `manifest`'s model for the rows of `source`.
    ///
    /// # Errors
    /// When the file has a column with the name of the prediction, such as one that was predicted before.
    pub fn new(layout: Layout, source: &Source, manifest: &'a Manifest) -> Result<Self> {
        let header = source.header();
        ensure!(
            !header.iter().any(|name| name == PREDICTED),
            "{}: has a column `{PREDICTED}`; expected none, since that is the name of the predictions: rename it, or predict \
             the original file",
            source.fields().shown
        );
        Ok(Self {
            layout,
            labels: manifest.task.labels(),
            header,
        })
    }

    /// Header line above the rows.
    pub fn head(&self) -> Result<Vec<u8>> {
        let Layout::Delimited(separator) = self.layout else {
            return Ok(Vec::new());
        };
        let probabilities = self.labels.iter().map(|label| format!("p_{label}"));
        let names = self.header.iter().cloned();
        let names = names.chain([PREDICTED.to_string()]).chain(probabilities);
        let mut writer = delimited(separator);
        writer.write_record(names)?;
        Ok(writer.into_inner()?)
    }

    /// Formats rows with their predictions.
    pub fn rows(&self, window: &[(Record, Prediction)]) -> Result<Vec<u8>> {
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
                    let object = object(record, prediction, self.labels, &self.header);
                    serde_json::to_writer(&mut out, &object)?;
                    out.push(b'\n');
                }
            }
            Layout::Words => {
                for (record, prediction) in window {
                    self.words(&mut out, record, prediction)?;
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
            Row::Object(_) | Row::Sentence(_) => {}
        }
        writer.write_field(shown(&prediction.predicted, self.labels))?;
        if !self.labels.is_empty() {
            let scores = prediction.scores.iter();
            scores
                .map(|p| p.to_string())
                .try_for_each(|p| writer.write_field(p))?;
        }
        Ok(writer.write_record(None::<&[u8]>)?)
    }

    fn words(&self, out: &mut Vec<u8>, record: &Record, prediction: &Prediction) -> Result<()> {
        let Row::Sentence(lines) = &record.row else {
            unreachable!("only words come out as words");
        };
        let mut tags = prediction.predicted.tags().unwrap_or_default().iter();
        for line in lines {
            // Aligned with the columns before it.
            let between = if line.contains('\t') { '\t' } else { ' ' };
            match is_word(line).then(|| tags.next()).flatten() {
                Some(tag) => writeln!(out, "{line}{between}{}", self.labels[*tag])?,
                None => writeln!(out, "{line}")?,
            }
        }
        Ok(writeln!(out)?)
    }
}

fn delimited(separator: u8) -> csv::Writer<Vec<u8>> {
    let mut builder = csv::WriterBuilder::new();
    builder.delimiter(separator).from_writer(Vec::new())
}

/// A row as a JSON object with its prediction.
fn object(
    record: &Record,
    prediction: &Prediction,
    labels: &[String],
    header: &[String],
) -> Map<String, Value> {
    let mut object = match &record.row {
        Row::Object(object) => object.clone(),
        Row::Fields(fields) => {
            let named = header.iter().cloned().zip(fields.iter());
            named
                .map(|(name, field)| (name, field.as_str().into()))
                .collect()
        }
        Row::Line(text) => Map::from_iter([("text".to_string(), text.clone().into())]),
        Row::Sentence(lines) => Map::from_iter([("lines".to_string(), lines.clone().into())]),
    };
    let predicted: Value = match &prediction.predicted {
        Target::Value(value) => (*value).into(),
        Target::Labels(places) | Target::Tags(places) => {
            places.iter().map(|&at| labels[at].clone()).collect()
        }
        other => shown(other, labels).into(),
    };
    object.insert(PREDICTED.to_string(), predicted);
    if let Target::Class(_) | Target::Labels(_) = prediction.predicted {
        let named = labels.iter().cloned().zip(&prediction.scores);
        let named: Map<String, Value> = named.map(|(label, p)| (label, (*p).into())).collect();
        object.insert("probabilities".to_string(), named.into());
    }
    object
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
