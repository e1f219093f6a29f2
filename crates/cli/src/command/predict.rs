//! `totune predict` and `totune evaluate`: a saved model on the rows of a file.

use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::json;
use totune_keep::{Columns, Evaluated, Kind, Layout, SavedModel, Source, evaluate, predict};
use totune_sweep::Machine;

use crate::exit;
use crate::global::Global;

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
each label in `p_<label>`; a number or tags in `predicted` alone. Words in columns (.conll) get the
tag as the last column.")]
pub struct Predict {
    #[command(flatten)]
    what: What,
    /// File to write; it appears when it is complete [default: standard output]
    #[arg(long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
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
    /// File with the rows: .csv, .tsv, .jsonl, .txt or .conll; `-` for standard input
    file: PathBuf,
    /// How the file is laid out: csv, tsv, jsonl, lines (a text each) or words (a word each, a blank line between
    /// sentences) [default: as its name says]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Kind>,
    /// What stands between the fields of a csv
    #[arg(long, value_name = "CHARACTER")]
    separator: Option<char>,
    /// Column of the text, or of the words; several with commas between are joined [default: as in training]
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    text: Vec<String>,
    /// Column of the second text of a pair [default: as in training]
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    second: Vec<String>,
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
        let columns = Columns {
            text: self.text,
            second: self.second,
            label,
        };
        let kind = match (self.format, self.separator) {
            (None | Some(Kind::Csv(_)), Some(separator)) => {
                let separator = u8::try_from(separator).ok().filter(u8::is_ascii);
                Some(Kind::Csv(
                    separator.context("--separator: expected an ASCII character")?,
                ))
            }
            (format, _) => format,
        };
        // The file before the model: a wrong name shows at once.
        let source = Source::open(&self.file, kind, &columns, &manifest, labelled)?;
        let machine = global.machine()?;
        let model = SavedModel::open(&self.model, &machine.device, machine.threads)?;
        Ok((model, source, machine))
    }
}

/// Counts rows on standard error, and stops where that was asked for.
fn counting(machine: &Machine, quiet: bool) -> impl FnMut(usize) -> ControlFlow<()> + '_ {
    let began = std::time::Instant::now();
    move |rows| {
        if !quiet {
            let rate = rows as f64 / began.elapsed().as_secs_f64().max(1e-9);
            eprintln!("{rows} rows, {rate:.0} a second");
        }
        match machine.stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

impl Predict {
    /// Writes the predictions.
    pub fn run(self, global: &Global) -> Result<u8> {
        let (out, json) = (self.out, self.json);
        let mut target = Target::open(&out)?;
        let (model, mut source, machine) = self.what.open(global, None, false)?;
        let layout = Layout::of(source.kind(), &out, json);
        let mut progress = counting(&machine, global.quiet);
        let ended = predict(
            &model,
            &mut source,
            (&mut target.writer, layout),
            &mut progress,
        )?;
        if !ended.complete {
            eprintln!(
                "interrupted after {} rows; {} was not written",
                ended.rows,
                out.display()
            );
            return Ok(exit::STOPPED);
        }
        target.publish()?;
        Ok(exit::OK)
    }
}

/// Where predictions go: standard output, or a file that gets its name when it is complete.
struct Target {
    writer: Box<dyn Write>,
    /// The temporary file and its name to be.
    file: Option<(tempfile::TempPath, PathBuf)>,
}

impl Target {
    fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            let writer = Box::new(BufWriter::new(stdout()));
            return Ok(Self { writer, file: None });
        }
        let failed = || format!("{}: cannot be written", path.display());
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        anyhow::ensure!(
            !path.is_dir(),
            "{}: is a folder, expected the name of a file",
            path.display()
        );
        let (file, temporary) = tempfile::Builder::new()
            .prefix(".predictions-")
            .tempfile_in(folder)
            .with_context(failed)?
            .into_parts();
        Ok(Self {
            writer: Box::new(BufWriter::new(file)),
            file: Some((temporary, path.to_path_buf())),
        })
    }

    fn publish(mut self) -> Result<()> {
        self.writer
            .flush()
            .context("predictions: cannot be written")?;
        drop(self.writer);
        let Some((temporary, path)) = self.file else {
            return Ok(());
        };
        let shown = || format!("{}: cannot be written", path.display());
        File::open(&temporary)
            .and_then(|file| file.sync_all())
            .with_context(shown)?;
        // A temporary file is for its owner only.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let permissions = std::fs::Permissions::from_mode(0o644);
            std::fs::set_permissions(&temporary, permissions).with_context(shown)?;
        }
        temporary.persist(&path).with_context(shown)?;
        Ok(())
    }
}

impl Evaluate {
    /// Prints the scores.
    pub fn run(self, global: &Global) -> Result<u8> {
        let json = self.json;
        let (model, mut source, machine) = self.what.open(global, self.label, true)?;
        let mut progress = counting(&machine, global.quiet);
        let found = evaluate(&model, &mut source, &mut progress)?;
        let labels = model.manifest.task.labels();
        if json {
            let scores: serde_json::Map<_, _> = found
                .metrics
                .iter()
                .map(|(name, value)| (name.clone(), json!(value)))
                .collect();
            let confusion = json!({ "labels": labels, "counts": found.confusion });
            let found = json!({ "rows": found.rows, "scores": scores, "confusion": confusion });
            println!("{}", serde_json::to_string_pretty(&found)?);
        } else {
            print_evaluated(&found, labels);
        }
        Ok(exit::OK)
    }
}

/// The scores, and for up to ten labels which was taken for which.
fn print_evaluated(found: &Evaluated, labels: &[String]) {
    println!("{} rows", found.rows);
    for (name, value) in &found.metrics {
        println!("{name:<20} {value:.4}");
    }
    if found.confusion.is_empty() || labels.len() > 10 {
        return;
    }
    let short = |label: &str| -> String { label.chars().take(14).collect() };
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
