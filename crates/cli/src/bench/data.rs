//! `totune bench data`: reading and tokenising a file the size of MNLI beside Hugging Face's `datasets` + `tokenizers`.
//!
//! As in `bench peer`, each side is a process of its own that sleeps while the others work.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;
use totune_data::{Card, EncodedCache, Tokenizer, stream};
use totune_record::write_atomically;

use super::side::Side;
use super::table::machine;

/// What is read and how.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Case {
    /// The file.
    file: PathBuf,
    /// Its card.
    card: PathBuf,
    /// Folder with the tokenizer's files.
    vocabulary: PathBuf,
    /// A folder for what a side writes.
    scratch: PathBuf,
    /// The most ids of a row.
    max_length: usize,
    /// Threads, or processes.
    threads: usize,
    /// Of the Python side: processes instead of threads.
    processes: bool,
    /// Of our side: read the encoded texts back from the cache.
    cached: bool,
}

/// Settings of the comparison.
#[derive(Debug)]
pub struct DataOptions {
    /// Project folder, for `bench/data.py`.
    pub project: PathBuf,
    /// MNLI's `train.tsv`, or a part of it, if it is there.
    pub source: PathBuf,
    /// Folder with the tokenizer's files.
    pub vocabulary: PathBuf,
    /// Python with `datasets` and `tokenizers`.
    pub python: PathBuf,
    /// Where the results go.
    pub out: PathBuf,
    /// Rounds of alternation.
    pub rounds: usize,
    /// Rows of the file.
    pub rows: usize,
}

/// Seconds and memory of one side.
#[derive(Debug, Serialize)]
struct Timing {
    side: String,
    version: String,
    threads: usize,
    seconds: Vec<f64>,
    median: f64,
    rows_per_second: f64,
    peak_memory: u64,
    tokens: u64,
    sum: u64,
}

const MAX_LENGTH: usize = 128;
const HEADER: &str = "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label";
const CARD: &str = r#"
name = "mnli-sized"
title = "A file the size of MNLI"
task = "classification"
beside = true
metrics = ["accuracy"]
labels = ["contradiction", "entailment", "neutral"]

[[layouts]]
name = "glue"
format = { kind = "tsv" }
columns = { text = "sentence1", second = "sentence2", label = "gold_label" }
empty = "keep"
files.train.path = "train.tsv"
"#;

/// Runs the comparison and writes `data.json` and `data.md` below `options.out`.
///
/// # Errors
/// When Python or its packages are not there, a side fails, or the sides do not agree on the ids.
pub fn data(options: &DataOptions) -> Result<PathBuf> {
    let scratch = tempfile::Builder::new().prefix("totune-bench").tempdir()?;
    let file = scratch.path().join("train.tsv");
    let source = fill(&file, &options.source, options.rows)?;
    let card = scratch.path().join("mnli-sized.toml");
    fs::write(&card, CARD)?;
    let size = fs::metadata(&file)?.len();
    eprintln!("{source}, {:.0} MB", size as f64 / 1e6);
    let mut timings = Vec::new();
    for threads in [1, 2] {
        let case = |processes, cached| Case {
            file: file.clone(),
            card: card.clone(),
            vocabulary: options.vocabulary.clone(),
            scratch: scratch.path().to_path_buf(),
            max_length: MAX_LENGTH,
            threads,
            processes,
            cached,
        };
        let script = options.project.join("bench/data.py");
        let python = |name: &str, processes| {
            Side::python(
                name,
                &options.python,
                &script,
                &case(processes, false),
                threads,
            )
        };
        let mut sides = vec![
            Side::data("totune", &case(false, false), threads)?,
            Side::data("totune, second start", &case(false, true), threads)?,
            python("datasets", false)?,
        ];
        if threads > 1 {
            sides.push(python("datasets, processes", true)?);
        }
        let found = compare(sides, options, threads)?;
        for timing in &found[1..] {
            let same = (timing.tokens, timing.sum) == (found[0].tokens, found[0].sum);
            ensure!(
                same,
                "{}: {} ids of sum {}; expected {} of sum {}, as totune has them",
                timing.side,
                timing.tokens,
                timing.sum,
                found[0].tokens,
                found[0].sum
            );
        }
        timings.push(found);
        // Written after each: what was measured survives an interruption.
        write(&options.out, &source, size, options.rows, &timings)?;
    }
    Ok(options.out.join("data.md"))
}

fn compare(mut sides: Vec<Side>, options: &DataOptions, threads: usize) -> Result<Vec<Timing>> {
    for side in &mut sides {
        side.run(1)?; // warm-up
    }
    let mut seconds = vec![Vec::new(); sides.len()];
    for _ in 0..options.rounds {
        for (side, seconds) in sides.iter_mut().zip(&mut seconds) {
            seconds.extend(side.run(1)?);
        }
    }
    let timing = |(side, seconds): (Side, Vec<f64>)| {
        let (name, version) = (side.name.clone(), side.version.clone());
        let end = side.finish()?;
        let number = |key: &str| end[key].as_u64().unwrap_or(0);
        let median = super::median(&seconds);
        let timing = Timing {
            side: name,
            version,
            threads,
            median,
            rows_per_second: options.rows as f64 / median,
            seconds,
            peak_memory: number("peak_memory"),
            tokens: number("tokens"),
            sum: number("sum"),
        };
        eprintln!(
            "  {} thread(s)  {:<22} {:>7.2} s  {:>6.0} MB",
            threads,
            timing.side,
            timing.median,
            timing.peak_memory as f64 / 1e6
        );
        Ok(timing)
    };
    sides.into_iter().zip(seconds).map(timing).collect()
}

/// Writes `rows` rows to `file`: those of `source` again and again, or made-up ones where it is not there.
fn fill(file: &Path, source: &Path, rows: usize) -> Result<String> {
    let mut out = BufWriter::new(File::create(file)?);
    let Ok(text) = fs::read_to_string(source) else {
        made_up(&mut out, rows)?;
        return Ok(format!(
            "{rows} made-up rows of MNLI's shape (MNLI was not found)"
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

/// Rows of 12 columns; words are made of syllables and drawn so that few of them are frequent, as in a language.
fn made_up(out: &mut impl Write, rows: usize) -> Result<()> {
    use rand_chacha::rand_core::Rng;
    let mut rng = stream(1, "bench data", 0);
    let syllables = [
        "ka", "lo", "ter", "ing", "ma", "shi", "ne", "ro", "ed", "un", "pre", "so",
    ];
    let mut words = |n: usize| {
        let mut text = String::new();
        for at in 0..n {
            let draw = f64::from(rng.next_u32()) / f64::from(u32::MAX);
            // The rank of a word falls off as in Zipf's law; there are 20,736 words.
            let mut rank = (20_736f64.powf(draw)) as usize;
            text += if at == 0 { "" } else { " " };
            for _ in 0..1 + rank % 4 {
                text += syllables[rank % syllables.len()];
                rank /= syllables.len();
            }
        }
        text
    };
    writeln!(out, "{HEADER}")?;
    for row in 0..rows {
        let (first, second) = (words(6 + row % 29), words(4 + row % 13));
        let label = ["contradiction", "entailment", "neutral"][row % 3];
        writeln!(
            out,
            "{row}\t{row}\t{row}\tmade-up\t( {first} )\t( {second} )\t(S {first})\t(S {second})\t{first}.\t{second}.\t{label}\t{label}"
        )?;
    }
    Ok(out.flush()?)
}

/// Our side: reads and encodes the file when asked on standard input.
pub fn worker(case: &str) -> Result<()> {
    let case: Case = serde_json::from_str(case).context("not a case")?;
    let card = Card::read(&case.card)?;
    let tokenizer = Tokenizer::open(&case.vocabulary, true)?;
    let cache = EncodedCache::new(&case.scratch.join(format!("cache-{}", case.threads)));
    let mut out = std::io::stdout();
    let mut say = |value: serde_json::Value| -> Result<()> {
        writeln!(out, "{value}")?;
        Ok(out.flush()?)
    };
    say(json!({ "version": format!("totune {}", env!("CARGO_PKG_VERSION")) }))?;
    let (mut tokens, mut sum) = (0, 0);
    for line in std::io::stdin().lock().lines() {
        let n: usize = line?.trim().parse().context("not a number of runs")?;
        let mut seconds = Vec::with_capacity(n);
        for _ in 0..n {
            let start = Instant::now();
            let dataset = card.load_split(&case.scratch, "train")?;
            let encoded = match case.cached {
                true => {
                    cache
                        .encode_all(&tokenizer, &dataset, case.max_length, case.threads)?
                        .0
                }
                false => tokenizer.encode_all(&dataset.examples, case.max_length, case.threads)?,
            };
            seconds.push(start.elapsed().as_secs_f64());
            tokens = encoded.iter().map(|row| row.ids.len()).sum::<usize>();
            let whole = encoded.iter().filter(|row| row.ids.len() < case.max_length);
            sum = whole
                .flat_map(|row| &row.ids)
                .map(|&id| u64::from(id))
                .sum::<u64>();
        }
        say(json!({ "seconds": seconds }))?;
    }
    say(json!({ "peak_memory": crate::memory::peak(), "tokens": tokens, "sum": sum }))
}

fn write(out: &Path, source: &str, size: u64, rows: usize, all: &[Vec<Timing>]) -> Result<()> {
    fs::create_dir_all(out)?;
    let machine = machine();
    let json = json!({
        "machine": machine, "source": source, "bytes": size, "rows": rows, "max_length": MAX_LENGTH, "timings": all,
    });
    let json = format!("{}\n", serde_json::to_string_pretty(&json)?);
    write_atomically(&out.join("data.json"), json.as_bytes())?;
    let mut text =
        String::from("# Reading and tokenising beside Hugging Face's datasets + tokenizers\n\n");
    let _ = writeln!(text, "Written by `./justw bench data`.");
    let _ = writeln!(text, "Machine: {machine}.");
    let _ = writeln!(
        text,
        "File: {source}, {:.0} MB, tab-separated; at most {MAX_LENGTH} ids a row.",
        size as f64 / 1e6
    );
    if let Some(timing) = all
        .iter()
        .flatten()
        .find(|timing| timing.side == "datasets")
    {
        let _ = writeln!(
            text,
            "Peer: {}, each time into a new cache folder, only the columns that are needed.",
            timing.version
        );
    }
    text.push_str(
        "Each side runs alone while the others sleep; rounds alternate; medians over all rounds after the warm-up.\n\
         All sides have the same number of ids, and the same ids in the rows that were not cut off.\n\
         Ours also takes the SHA-256 of the file and of what was read from it.\n\
         A second start reads the ids back from the cache and does all else again.\n\
         A ratio above 1 means that totune is faster.\n\n\
         | threads | side | median | rows/s | peak memory | side / totune |\n|--:|---|--:|--:|--:|--:|\n",
    );
    for timings in all {
        for (at, timing) in timings.iter().enumerate() {
            let ratio = match at {
                0 => String::new(),
                _ => format!("{:.2}", timing.median / timings[0].median),
            };
            let _ = writeln!(
                text,
                "| {} | {} | {:.2} s | {:.0} | {:.0} MB | {ratio} |",
                timing.threads,
                timing.side,
                timing.median,
                timing.rows_per_second,
                timing.peak_memory as f64 / 1e6
            );
        }
    }
    write_atomically(&out.join("data.md"), text.as_bytes())
}
