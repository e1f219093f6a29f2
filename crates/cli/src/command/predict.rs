//! `totune predict` and `totune evaluate`: a saved model on the rows of a file.

use std::fs;
use std::io::{BufWriter, stdout};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde_json::json;
use totune_adapt::Interrupted;
use totune_data::{WordContext, left_out, uncompressed};
use totune_keep::{
    Columns, Evaluated, Kind, Layout, ReadOptions, RowCount, SavedModel, Source, Target, evaluate,
    predict,
};
use totune_sweep::Machine;

use crate::command::data::hints::separator;
use crate::exit;
use crate::global::Global;
use crate::print;

/// Predict the rows of a file with a saved model
///
/// Rows pass through one window at a time, so that a file of any length takes the same memory.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune predict my-model new.csv --out predictions.csv
  totune predict my-model new.csv --text body --out predictions.jsonl
  cat new.txt | totune predict my-model - --format lines --json | head

Every row comes out as it went in, with the label in the column `predicted` and the probability of
each label in `p_<label>`; a number or tags only in `predicted`. JSON objects get `predicted` and
`probabilities` as their last keys, words in columns (.conll) the tag as the last column; rows of
parquet come out as JSON objects, or as the fields of a .csv or .tsv. A row with an empty text is
predicted like any other.

Where words are tagged, a text (a line of a .txt, or a string in JSON) is divided into words at
white space. A .txt with as many columns on every line, and blank lines between groups of lines,
has a word on each line.

An interrupted command leaves FILE.part; the same command resumes it, and FILE has the same bytes
as without the interruption.")]
pub struct Predict {
    #[command(flatten)]
    what: What,
    /// File to write; it is FILE.part until it is complete [default: standard output]
    #[arg(
        long,
        value_name = "FILE",
        default_value = "-",
        hide_default_value = true
    )]
    out: PathBuf,
    /// Replace FILE where it is already there
    #[arg(long)]
    replace: bool,
    /// Discard the FILE.part that an interrupted command left, instead of resuming it
    #[arg(long)]
    restart: bool,
    /// Write JSON lines
    #[arg(long)]
    json: bool,
}

/// Score a saved model on a labelled file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune evaluate my-model test.csv
  totune evaluate my-model test.csv --text body --label stars --json")]
pub struct Evaluate {
    #[command(flatten)]
    what: What,
    /// Column of the label, the score or the tags [default: as in training]
    #[arg(long, value_name = "COLUMN")]
    label: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The model and the file.
#[derive(Debug, Args)]
struct What {
    /// Folder that `totune train` saved
    model: PathBuf,
    /// File with the rows: .csv, .tsv, .jsonl, .json, .parquet, .txt or .conll, each also as .gz or .zst; `-` for standard input
    file: PathBuf,
    /// Format of the file: csv, tsv, json (objects, one a line or in an array), parquet, lines (a text each) or words (a word
    /// each, a blank line between sentences) [default: from its name]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Kind>,
    /// Separator of the fields of a csv; `tab` for a tab [default: a comma, or a semicolon where that divides each line]
    #[arg(long, value_name = "CHARACTER", value_parser = separator)]
    separator: Option<char>,
    /// Encoding of the file, such as windows-1252 [default: from its byte order mark, or UTF-8]
    #[arg(long, value_name = "ENCODING")]
    encoding: Option<String>,
    /// Column of the text, or of the words; several with commas between are joined [default: as in training]
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    text: Vec<String>,
    /// Column of the second text of a pair [default: as in training]
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    second: Vec<String>,
    /// Maximum number of tokens of an input; longer ones are truncated [default: as in training]
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
}

impl What {
    /// The model and the opened file.
    fn open(
        self,
        global: &Global,
        label: Option<String>,
        labelled: bool,
    ) -> Result<(SavedModel, Source, Machine)> {
        let manifest = totune_keep::Manifest::read(&self.model)?;
        let kind = match (self.format, self.separator) {
            (None | Some(Kind::Csv(_)), Some(separator)) => {
                let separator =
                    u8::try_from(separator).context("--separator: expected an ASCII character")?;
                Some(Kind::Csv(Some(separator)))
            }
            (format, _) => format,
        };
        let reading = ReadOptions {
            kind,
            encoding: self.encoding,
            columns: Columns {
                text: self.text,
                second: self.second,
                label,
            },
        };
        // The file before the model, so that a wrong name is reported at once.
        let source = Source::open(&self.file, &reading, &manifest, labelled)?;
        if manifest.input.context == WordContext::Document && !global.quiet {
            eprintln!(
                "note: the model was trained to read each sentence with those around it; here it reads each alone, so that tags \
                 and scores can differ"
            );
        }
        let machine = global.machine()?;
        let model = SavedModel::open(&self.model, &machine.device, machine.threads)?;
        let mut model = model.with_stop(machine.stop.clone());
        if let Some(max_length) = self.max_length {
            model = model.with_max_length(max_length).context("--max-length")?;
        }
        Ok((model, source, machine))
    }
}

/// Counts rows on standard error, `before` of which another process predicted, and stops on request.
fn counting(
    machine: &Machine,
    before: usize,
    quiet: bool,
) -> impl FnMut(usize) -> ControlFlow<()> + '_ {
    let began = std::time::Instant::now();
    move |rows| {
        if !quiet {
            let rate = (rows - before) as f64 / began.elapsed().as_secs_f64().max(1e-9);
            eprintln!("{rows} rows, {rate:.0} a second");
        }
        if machine.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

impl Predict {
    /// Writes the predictions.
    pub fn run(self, global: &Global) -> Result<u8> {
        let (out, json) = (self.out, self.json);
        let to_stdout = out == Path::new("-");
        ensure!(
            uncompressed(&out) == out,
            "--out: `{}`, but predictions are not compressed; expected another ending",
            out.display()
        );
        let same = |file: &Path| fs::canonicalize(file).ok();
        ensure!(
            to_stdout || same(&out).is_none() || same(&out) != same(&self.what.file),
            "--out: `{}` is the file that is read; expected another one",
            out.display()
        );
        ensure!(
            self.replace || !out.is_file(),
            "--out: `{}` is already there; expected another one, or --replace",
            out.display()
        );
        let (model, mut source, machine) = self.what.open(global, None, false)?;
        let layout = Layout::of(source.kind(), &out, json)?;
        let target = if to_stdout {
            Target::stream(BufWriter::new(stdout()))
        } else {
            let quiet = global.quiet;
            Target::file(&out, self.restart)?.when_resuming(move |rows| {
                if !quiet {
                    eprintln!("resuming after {rows} rows");
                }
            })
        };
        let mut progress = counting(&machine, target.resumed(), global.quiet);
        let ended = predict(&model, &mut source, (target, layout), &mut progress);
        if to_stdout && ended.as_ref().is_err_and(print::is_broken_pipe) {
            return Ok(exit::OK); // its reader has what it wanted
        }
        let ended = ended?;
        if !ended.complete {
            let how = if to_stdout {
                ""
            } else {
                "; rerun the same command to resume"
            };
            eprintln!("interrupted after {} rows{how}", ended.rows);
            return Ok(exit::STOPPED);
        }
        note_empty((ended.empty, source.unit()), "predicted", global.quiet);
        note_full((ended.full, source.unit()), &model, global.quiet);
        Ok(exit::OK)
    }
}

/// Warns about rows without text, which are rarely intended.
fn note_empty((empty, unit): (RowCount, &str), done: &str, quiet: bool) {
    if empty.rows > 0 && !quiet {
        let (rows, first) = (empty.rows, empty.first);
        eprintln!(
            "note: an empty text in {rows} rows, first on {unit} {first}; they were {done} like any other"
        );
    }
}

/// Warns about texts that the model may not have read to their ends.
fn note_full((full, unit): (RowCount, &str), model: &SavedModel, quiet: bool) {
    if full.rows > 0 && !quiet {
        let (rows, first, most) = (full.rows, full.first, model.manifest.input.max_length);
        eprintln!(
            "note: texts that fill the {most} tokens that the model reads: {rows}, the first on {unit} {first}; what follows in \
             them, if anything, was not read (--max-length sets the number of tokens)"
        );
    }
}

impl Evaluate {
    /// Prints the scores.
    pub fn run(self, global: &Global) -> Result<u8> {
        let json = self.json;
        let (model, mut source, machine) = self.what.open(global, self.label, true)?;
        let mut progress = counting(&machine, 0, global.quiet);
        let found = match evaluate(&model, &mut source, &mut progress) {
            Err(error) if error.is::<Interrupted>() => {
                eprintln!("{error}");
                return Ok(exit::STOPPED);
            }
            found => found?,
        };
        if let Some(note) = left_out(found.unlabelled, None).filter(|_| !global.quiet) {
            eprintln!("{note}");
        }
        note_empty((found.empty, source.unit()), "scored", global.quiet);
        note_full((found.full, source.unit()), &model, global.quiet);
        let labels = model.manifest.task.labels();
        if json {
            let scores: serde_json::Map<_, _> = found
                .metrics
                .iter()
                .map(|(name, value)| (name.clone(), json!(value)))
                .collect();
            let confusion = json!({ "labels": labels, "counts": found.confusion });
            let of_labels = found.of_labels.iter().zip(labels).map(|(of, label)| {
                json!({ "label": label, "precision": of.precision, "recall": of.recall, "f1": of.f1, "n": of.support })
            });
            let of_labels: Vec<_> = of_labels.collect();
            let found = json!({
                "rows": found.rows, "scores": scores, "labels": of_labels, "confusion": confusion,
            });
            print::json(&found)?;
        } else {
            print_evaluated(&found, labels);
        }
        Ok(exit::OK)
    }
}

/// A label in at most 14 characters, its middle left out where it is longer: labels often differ at their ends.
fn short(label: &str) -> String {
    let all: Vec<char> = label.chars().collect();
    match all.len() {
        0..=14 => label.to_string(),
        n => all[..7]
            .iter()
            .chain(&['\u{2026}'])
            .chain(&all[n - 6..])
            .collect(),
    }
}

/// Prints the scores, and the confusion matrix for up to ten labels.
fn print_evaluated(found: &Evaluated, labels: &[String]) {
    let s = if found.rows == 1 { "" } else { "s" };
    println!("{} row{s}", found.rows);
    for (name, value) in &found.metrics {
        println!("{name:<20} {value:.4}");
    }
    if !found.of_labels.is_empty() {
        println!("\n{:14} precision    recall        f1    rows", "");
    }
    for (label, of) in labels.iter().zip(&found.of_labels) {
        let (precision, recall, f1) = (of.precision, of.recall, of.f1);
        println!(
            "{:14} {precision:>9.4} {recall:>9.4} {f1:>9.4} {:>7}",
            short(label),
            of.support
        );
    }
    if found.confusion.is_empty() || labels.len() > 10 {
        return;
    }
    println!("\nrows are the file's labels, columns the model's");
    let head: String = labels
        .iter()
        .map(|label| format!(" {:>14}", short(label)))
        .collect();
    println!("{:14}{head}", "");
    for (label, counts) in labels.iter().zip(&found.confusion) {
        let cells: String = counts.iter().map(|n| format!(" {n:>14}")).collect();
        println!("{:14}{cells}", short(label));
    }
}
