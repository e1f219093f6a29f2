//! `bench predict`: a saved model on the rows of a file next to transformers' pipeline.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use totune_adapt::{DataFacts, Examples, Outcome, Recipe, Strategy, Switch};
use totune_data::{Joined, Task};
use totune_keep::{
    DatasetFacts, Layout, LayoutFacts, ReadOptions, SavedModel, Source, Target, TaskFacts,
    TrainedModel, predict, save,
};
use totune_model::Classifier;

use crate::batches::ENCODER;
use crate::comparison::{Case, Comparison, SideSpec, Steps};
use crate::desk::Desk;
use crate::synthetic::Words;
use crate::target::Target as Goal;
use crate::worker::{Worker, answer};

/// Case of a prediction benchmark. `bench/predict.py` reads the same.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Predicting {
    /// The encoder of the model.
    encoder: String,
    /// Folder of the saved model; our side, which starts first, writes it.
    model: PathBuf,
    /// File with the rows.
    file: PathBuf,
    /// The most tokens of a row.
    max_length: usize,
    /// Batch size of the pipeline; without a number the fastest of several.
    batch: Option<usize>,
    /// Whether the pipeline gets the rows by their length.
    sorted: bool,
    /// Threads of the side.
    threads: usize,
}

const MAX_LENGTH: usize = 256;
/// Goal on rows of mixed lengths, against the pipeline with its fastest batch size.
const AT_LEAST: f64 = 2.0;
/// Probabilities that are compared.
const COMPARED: usize = 200;

/// A file of mixed lengths, and a long one of short rows for the memory that it takes.
pub fn comparison(desk: &Desk) -> Result<Comparison> {
    let scratch = tempfile::Builder::new().prefix("totune-bench").tempdir()?;
    let model = scratch.path().join("model");
    let encoder = if desk.tiny { "fixture-bert" } else { ENCODER };
    let mut comparison = Comparison::new(
        "Predictions for the rows of a file next to transformers' pipeline",
        &["totune"],
    )
    .note(&format!(
        "{encoder} with a linear head, saved by totune; synthetic English-like texts, at most {MAX_LENGTH} tokens; f32.\n\
         Each lap reads a csv file and writes one with the probabilities. \
         `pipeline` has its default, a row at a time; `pipeline, best batch` the fastest of 1, 4, 8, 16, 32 and 64 rows on a part of the file; \
         `pipeline, sorted` likewise, with the rows sorted by length before, and put back in their order behind.\n\
         Every side gives the same probabilities."
    ));
    let (mixed, short) = if desk.tiny {
        (40, 60)
    } else {
        (1_000, 100_000)
    };
    // Most texts are short and some are long, as in most files: a median of 8 words, a mean of 16.
    let of_mixed = |at: f64| 1 + (60.0 * at.powi(3)) as usize;
    let of_short = |at: f64| 1 + (5.0 * at) as usize;
    for (name, rows, words, steps) in [
        (
            "mixed lengths",
            mixed,
            &of_mixed as &dyn Fn(f64) -> usize,
            Steps::Timed,
        ),
        ("short texts", short, &of_short, Steps::Once),
    ] {
        let file = scratch
            .path()
            .join(format!("{}.csv", name.replace(' ', "-")));
        fill(&file, rows, words)?;
        let predicting = |batch, sorted| Predicting {
            encoder: encoder.to_string(),
            model: model.clone(),
            file: file.clone(),
            max_length: if desk.tiny { 64 } else { MAX_LENGTH },
            batch,
            sorted,
            threads: desk.threads,
        };
        let pipeline = |name, case: Predicting| SideSpec::python(name, "predict.py", &case);
        let mut sides = vec![
            SideSpec::ours("totune", "predict", &predicting(None, false))?,
            pipeline("pipeline, sorted", predicting(None, true))?,
        ];
        let mut targets = Vec::new();
        if steps == Steps::Timed {
            sides.push(pipeline("pipeline, best batch", predicting(None, false))?);
            sides.push(pipeline("pipeline", predicting(Some(1), false))?);
            targets.push(Goal::faster("totune", "pipeline, sorted", AT_LEAST));
        }
        let title = format!("{rows} rows, {name}");
        let mut case = Case::new(title, desk.threads, sides)
            .counting(rows, "rows")
            .agreeing(1e-4, 0.0);
        (case.steps, case.targets) = (steps, targets);
        comparison.cases.push(case);
    }
    comparison.scratch = Some(scratch);
    Ok(comparison)
}

/// Writes `rows` rows of synthetic text; `words` makes a number of words of one between 0 and 1.
fn fill(file: &Path, rows: usize, words: &dyn Fn(f64) -> usize) -> Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    let mut text = Words::new("bench predict");
    writeln!(out, "id,text")?;
    for row in 0..rows {
        let at = (row as f64 * 0.618_033_988_749_894_9).fract();
        writeln!(out, "{row},{}", text.next(words(at)))?;
    }
    Ok(out.flush()?)
}

/// Saves the encoder of `case` with a new head.
fn write(case: &Predicting, worker: &Worker) -> Result<()> {
    let (encoders, device) = (worker.project.encoders()?, &worker.machine.device);
    let card = encoders.find(&case.encoder)?;
    let fixtures = worker.project.root.join("fixtures/encoders");
    let loaded = card.load(&[worker.roots.encoders.clone(), fixtures], device)?;
    let data = DataFacts {
        task: Task::Classification,
        loss: totune_data::ClassLoss::PLAIN,
        n_train: 1000,
        has_dev: false,
        length: case.max_length,
    };
    let mut training = Recipe::new(Strategy::Full).training(card, &data)?;
    training.max_length = case.max_length;
    let labels = vec!["no".to_string(), "yes".to_string()];
    let model = Classifier::new(loaded.encoder, &training.head, labels.len(), 1, device)?;
    let outcome = Outcome::untrained(model);
    let trained = TrainedModel {
        outcome: &outcome,
        encoder: card,
        dir: &loaded.dir,
        checkpoint: "none",
        training: &training,
        seed: 1,
        spec: None,
        task: TaskFacts::Classification {
            labels,
            positive: None,
            values: Vec::new(),
        },
        metrics: vec!["accuracy".to_string()],
        layout: LayoutFacts {
            text: vec!["text".to_string()],
            label: Joined::One("label".to_string()),
            label_separator: None,
            join: " ".to_string(),
            ..LayoutFacts::default()
        },
        dataset: DatasetFacts::default(),
        adapter: Switch::Off,
        sample: &Examples::default(),
    };
    save(&trained, &case.model, device)?;
    Ok(())
}

/// Predicts the file at each request; returns the probabilities of the second label of the first rows.
pub fn work(case: &Predicting, worker: &Worker) -> Result<()> {
    if !case.model.exists() {
        write(case, worker)?;
    }
    let model = SavedModel::open(&case.model, &worker.machine.device, case.threads)?;
    let version = format!("totune {}", env!("CARGO_PKG_VERSION"));
    answer(&version, || {
        let mut source = Source::open(&case.file, &ReadOptions::default(), &model.manifest, false)?;
        let layout = Layout::of(source.kind(), &case.file, false)?;
        let out = case.file.with_extension("out.csv");
        let target = Target::stream(BufWriter::new(File::create(&out)?));
        let ended = predict(&model, &mut source, (target, layout), &mut |_| {
            ControlFlow::Continue(())
        })?;
        ensure!(ended.complete, "predicting ended early");
        let rows = std::fs::read_to_string(&out)?;
        let last = |row: &str| row.rsplit(',').next().and_then(|field| field.parse().ok());
        let rows = rows.lines().skip(1).take(COMPARED).map(last);
        rows.collect::<Option<Vec<f64>>>()
            .context("a row ends without a probability")
    })
}
