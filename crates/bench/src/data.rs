//! `bench data`: reading and tokenising a file the size of MNLI next to Hugging Face's `datasets` + `tokenizers`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use totune_data::{Card, EncodedCache, Tokenizer};

use crate::batches::ENCODER;
use crate::comparison::{Case, Comparison, SideSpec};
use crate::desk::Desk;
use crate::synthetic::Words;
use crate::worker::{Worker, answer};

/// A file to read and encode, with the settings. `bench/data.py` reads the same.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InputFile {
    /// The file.
    file: PathBuf,
    /// Its card.
    card: PathBuf,
    /// Folder with the tokenizer's files.
    vocabulary: PathBuf,
    /// A folder for a side's files.
    scratch: PathBuf,
    /// The most ids of a row.
    max_length: usize,
    /// Threads, or processes.
    threads: usize,
    /// Processes instead of threads, on the Python side.
    processes: bool,
    /// True if our side reads the encoded texts back from the cache.
    cached: bool,
}

const MAX_LENGTH: usize = 128;
const ROWS: usize = 400_000;
const HEADER: &str = "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label";
const CARD: &str = r#"
name = "mnli-sized"
title = "A file the size of MNLI"
task = "classification"
relative-to-card = true
metrics = ["accuracy"]
labels = ["contradiction", "entailment", "neutral"]

[[layouts]]
name = "glue"
format = { kind = "tsv" }
columns = { text = "sentence1", second = "sentence2", label = "gold_label" }
empty = "keep"
files.train.path = "train.tsv"
"#;

/// One thread and two, threads and processes, with encoded texts and without.
pub fn comparison(desk: &Desk) -> Result<Comparison> {
    let rows = if desk.tiny { 40 } else { ROWS };
    let scratch = tempfile::Builder::new().prefix("totune-bench").tempdir()?;
    let folder = scratch.path();
    let (file, card) = (folder.join("train.tsv"), folder.join("mnli-sized.toml"));
    let source = fill(&file, &desk.roots.data.join("glue/MNLI/train.tsv"), rows)?;
    fs::write(&card, CARD)?;
    let megabytes = fs::metadata(&file)?.len() as f64 / 1e6;
    let title = "Reading and tokenising next to Hugging Face's datasets + tokenizers";
    let mut comparison = Comparison::new(title, &["totune"]).note(&format!(
        "File: {source}, {megabytes:.0} MB, tab-separated; at most {MAX_LENGTH} ids a row.\n\
         `datasets` reads into a new cache folder each time, and only the columns that are needed.\n\
         All sides have the same number of ids, and the same ids in the rows that were not truncated.\n\
         Ours also takes the SHA-256 of the file and of what was read from it.\n\
         A second start reads the ids back from the cache and does all else again."
    ));
    let vocabulary = vocabulary(desk)?;
    for threads in [1, 2] {
        let reading = |processes, cached| InputFile {
            file: file.clone(),
            card: card.clone(),
            vocabulary: vocabulary.clone(),
            scratch: folder.to_path_buf(),
            max_length: MAX_LENGTH,
            threads,
            processes,
            cached,
        };
        let mut sides = vec![
            SideSpec::ours("totune", "data", &reading(false, false))?,
            SideSpec::ours("totune, second start", "data", &reading(false, true))?,
            SideSpec::python("datasets", "data.py", &reading(false, false))?,
        ];
        if threads > 1 {
            let processes = reading(true, false);
            sides.push(SideSpec::python(
                "datasets, processes",
                "data.py",
                &processes,
            )?);
        }
        let case = Case::new("reading and tokenising", threads, sides);
        comparison
            .cases
            .push(case.counting(rows, "rows").agreeing(0.0, 0.0));
    }
    comparison.scratch = Some(scratch);
    Ok(comparison)
}

/// The folder with the tokenizer of all-MiniLM-L6-v2, or a fixture's.
fn vocabulary(desk: &Desk) -> Result<PathBuf> {
    let encoders = desk.project.encoders()?;
    let found = encoders
        .find(ENCODER)?
        .locate(std::slice::from_ref(&desk.roots.encoders));
    Ok(found
        .filter(|_| !desk.tiny)
        .unwrap_or_else(|| desk.project.root.join("fixtures/data")))
}

/// Writes `rows` rows to `file`: those of `source` again and again, or synthetic ones if it is not there.
fn fill(file: &Path, source: &Path, rows: usize) -> Result<String> {
    let mut out = BufWriter::new(File::create(file)?);
    let Ok(text) = fs::read_to_string(source) else {
        synthetic(&mut out, rows)?;
        return Ok(format!(
            "{rows} synthetic rows of MNLI's shape (MNLI was not found)"
        ));
    };
    let (header, body) = text.split_once('\n').context("a header line")?;
    let lines: Vec<&str> = body.lines().filter(|line| !line.is_empty()).collect();
    ensure!(!lines.is_empty(), "{}: no rows", source.display());
    writeln!(out, "{}", header.trim_end())?;
    for line in lines.iter().cycle().take(rows) {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(format!(
        "MNLI's {} rows here, repeated to {rows}",
        lines.len()
    ))
}

/// Rows of 12 columns.
fn synthetic(out: &mut impl Write, rows: usize) -> Result<()> {
    let mut words = Words::new("bench data");
    writeln!(out, "{HEADER}")?;
    for row in 0..rows {
        let (first, second) = (words.next(6 + row % 29), words.next(4 + row % 13));
        let label = ["contradiction", "entailment", "neutral"][row % 3];
        writeln!(
            out,
            "{row}\t{row}\t{row}\tsynthetic\t( {first} )\t( {second} )\t(S {first})\t(S {second})\t{first}.\t{second}.\t{label}\t{label}"
        )?;
    }
    Ok(out.flush()?)
}

/// Reads and encodes the file on request; returns the number of ids, and the sum of those in rows that were not
/// truncated.
pub fn work(case: &InputFile, _: &Worker) -> Result<()> {
    let card = Card::read(&case.card)?;
    let tokenizer = Tokenizer::open(&case.vocabulary, true)?;
    let cache = EncodedCache::new(&case.scratch.join(format!("cache-{}", case.threads)));
    let version = format!("totune {}", env!("CARGO_PKG_VERSION"));
    answer(&version, || {
        let dataset = card.load_split(&case.scratch, "train")?;
        let (length, threads) = (case.max_length, case.threads);
        let encoded = if case.cached {
            cache.encode_all(&tokenizer, &dataset, length, threads)?.0
        } else {
            tokenizer.encode_all(&dataset.examples, length, threads)?
        };
        let tokens = encoded.iter().map(|row| row.ids.len()).sum::<usize>();
        let whole = encoded.iter().filter(|row| row.ids.len() < length);
        let sum = whole.flat_map(|row| &row.ids).map(|&id| u64::from(id));
        Ok(vec![tokens as f64, sum.sum::<u64>() as f64])
    })
}
