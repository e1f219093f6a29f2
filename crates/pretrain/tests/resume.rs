//! A run that is interrupted and resumed takes the same steps as one that is not, bit for bit.

#![cfg_attr(feature = "tch", allow(deprecated))]

use std::ops::ControlFlow;
use std::path::Path;

use burn::tensor::Device;
use totune_model::Weights;
use totune_pretrain::objective::Objective;
use totune_pretrain::perplexity::{EvaluatedLm, perplexity};
use totune_pretrain::{Checkpoint, Event, Folder, Job, Places, Settings, Text, Trainer};
use totune_record::{PerplexityRow, PretrainingRow};

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// LibTorch where it is built in, which is the faster device.
fn device() -> Device {
    #[cfg(feature = "tch")]
    let device = Device::libtorch();
    #[cfg(not(feature = "tch"))]
    let device = Device::flex();
    device
}

/// Prepares the job of a fixture, with some of its settings changed.
fn job(fixture: &str, folder: &Folder, change: impl Fn(&mut serde_json::Value)) -> Job {
    let path = project().join(format!("experiments/pretraining/{fixture}.toml"));
    let (_, mut json) = Settings::read(&path).expect("the fixture's settings");
    change(&mut json);
    let settings = serde_json::from_value(json.clone()).expect("settings");
    let places = Places {
        card_folders: &[project().to_path_buf()],
        data: Path::new("nowhere"),
        encoders: &[],
    };
    Job::prepare(settings, json, places, folder).expect("the fixture's text")
}

/// Rows of the log, and the names and bits of all weights.
type Trace = (Vec<PretrainingRow>, Vec<u8>);

/// Trains until at most `most` further steps are taken.
fn train(
    fixture: &str,
    folder: &Folder,
    device: &Device,
    most: usize,
    change: impl Fn(&mut serde_json::Value),
) -> anyhow::Result<Trace> {
    let job = job(fixture, folder, change);
    match &job.text {
        Text::Wordpieces(pieces) => {
            let objective = pieces.objective(&job.settings)?;
            let start = pieces.start(objective.initial())?;
            take_steps(&job, &objective, start, (folder, device, most))
        }
        Text::Words(words) => {
            let objective = words.objective(&job.settings)?;
            let start = objective.initial();
            take_steps(&job, &objective, start, (folder, device, most))
        }
    }
}

fn take_steps<O: Objective>(
    job: &Job,
    objective: &O,
    mut start: Box<dyn Weights>,
    (folder, device, most): (&Folder, &Device, usize),
) -> anyhow::Result<Trace> {
    let trainer = Trainer {
        objective,
        settings: &job.settings,
        folder,
        device,
        about: job.about("test", "test"),
        guessing: job.text.guessing(),
    };
    let mut taken = 0;
    trainer.run(&mut *start, &mut |event| {
        taken += usize::from(event.is_none());
        if taken >= most && !matches!(event, Some(Event::Saved(_))) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    let checkpoint = folder.latest()?.expect("a checkpoint at the end");
    let weights = checkpoint.weights.iter();
    let bits = weights.flat_map(|(name, data)| [name.as_bytes(), data.as_bytes()].concat());
    let bits = bits.collect();
    Ok((totune_record::read_pretraining(&folder.path)?, bits))
}

fn losses(rows: &[PretrainingRow]) -> Vec<(u64, u64, u64)> {
    let bits = |row: &PretrainingRow| (row.step, row.tokens, row.loss.to_bits());
    rows.iter().map(bits).collect()
}

#[track_caller]
fn check_parts(fixture: &str, change: impl Fn(&mut serde_json::Value) + Copy, steps: usize) {
    let device = device();
    let (straight, in_parts) = (tempfile::tempdir(), tempfile::tempdir());
    let [straight, in_parts] = [straight, in_parts].map(|dir| dir.expect("a folder"));
    let folder = Folder::open(straight.path()).expect("a folder");
    let (rows, weights) =
        train(fixture, &folder, &device, usize::MAX, change).expect("a whole run");
    assert_eq!(rows.len(), steps, "a row for each step");

    let folder = Folder::open(in_parts.path()).expect("a folder");
    let mut last = (Vec::new(), Vec::new());
    for most in [4, 9, 100] {
        last = train(fixture, &folder, &device, most, change).expect("a part of a run");
    }
    assert_eq!(losses(&last.0), losses(&rows));
    assert!(last.1 == weights, "the weights differ");
}

#[test]
fn an_interrupted_masked_lm_goes_on_bit_for_bit_over_stages_and_with_dropout() {
    // Rows at every step, so that those of both runs cover the same steps.
    let change = |json: &mut serde_json::Value| {
        json["log-every"] = 1.into();
        json["dropout"] = 0.1.into();
        json["stage"][0]["tokens"] = 5_120.into(); // 10 steps, then those of the second stage
    };
    check_parts("fixture-mlm", change, 30);
}

#[test]
fn an_interrupted_bilm_goes_on_bit_for_bit() {
    let change = |json: &mut serde_json::Value| {
        json["log-every"] = 1.into();
        json["stage"][0]["tokens"] = 9_600.into(); // 20 steps
    };
    check_parts("fixture-bilm", change, 20);
}

#[test]
fn steps_that_a_crash_took_are_taken_again_from_the_checkpoint_before() {
    let change = |json: &mut serde_json::Value| {
        json["log-every"] = 1.into();
        json["checkpoint-every"] = 5.into();
        json["stage"][0]["tokens"] = 5_120.into();
    };
    let device = device();
    let dir = tempfile::tempdir().expect("a folder");
    let folder = Folder::open(dir.path()).expect("a folder");
    let (rows, weights) =
        train("fixture-mlm", &folder, &device, usize::MAX, change).expect("a whole run");
    // The newest checkpoint never came to be, but its row was written.
    let newest = dir.path().join("step-00000030.safetensors");
    std::fs::remove_file(newest).expect("the last checkpoint");
    let again =
        train("fixture-mlm", &folder, &device, usize::MAX, change).expect("the rest of the run");
    assert_eq!(losses(&again.0), losses(&rows));
    assert!(again.1 == weights, "the weights differ");
}

#[test]
fn a_changed_setting_is_refused_by_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = Folder::open(dir.path()).expect("a folder");
    let device = device();
    train("fixture-mlm", &folder, &device, 2, |_| ()).expect("two steps");
    let error = train("fixture-mlm", &folder, &device, 2, |json| {
        json["learning-rate"] = 0.5.into();
    });
    let message = format!("{:#}", error.expect_err("another rate"));
    assert!(
        message.contains("`learning-rate` was 0.004, found 0.5"),
        "{message}"
    );
    train("fixture-mlm", &folder, &device, 1, |json| {
        json["log-every"] = 3.into()
    })
    .expect("only the log differs");
}

#[test]
fn a_diverging_run_says_at_which_step_and_keeps_the_checkpoint_before() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = Folder::open(dir.path()).expect("a folder");
    let change = |json: &mut serde_json::Value| {
        json["learning-rate"] = 1e4.into();
        json["clip"] = serde_json::json!({ "kind": "none" });
        json["schedule"] = serde_json::json!({ "kind": "constant", "warmup": 0.2 });
        json["checkpoint-every"] = 1.into();
    };
    let error = train("fixture-mlm", &folder, &device(), usize::MAX, change);
    let message = format!("{:#}", error.expect_err("no run survives this rate"));
    assert!(message.contains("training diverged at step"), "{message}");
    let kept = folder.latest().expect("a readable checkpoint");
    assert!(kept.expect("one from before").about.step > 0);
}

/// Perplexity on held-out text after the whole run: trained, with random weights, and of word frequencies.
fn perplexities(fixture: &str) -> [f64; 3] {
    let device = device();
    let dir = tempfile::tempdir().expect("a folder");
    let folder = Folder::open(dir.path()).expect("a folder");
    train(fixture, &folder, &device, usize::MAX, |_| ()).expect("a whole run");
    let job = job(fixture, &folder, |_| ());
    let checkpoint = folder.latest().expect("readable").expect("one at the end");
    let rows = match &job.text {
        Text::Wordpieces(pieces) => {
            let objective = pieces.objective(&job.settings).expect("enough text");
            score(&objective, &checkpoint, &device)
        }
        Text::Words(words) => {
            let objective = words.objective(&job.settings).expect("enough text");
            score(&objective, &checkpoint, &device)
        }
    };
    ["trained", "random-weights", "unigram"].map(|model| {
        let row = rows.iter().find(|row| row.model == model);
        row.expect("a row for each model").perplexity
    })
}

fn score<O: Objective>(
    objective: &O,
    checkpoint: &Checkpoint,
    device: &Device,
) -> Vec<PerplexityRow> {
    let model = objective.load(&mut &*checkpoint, device).expect("a model");
    let trained = EvaluatedLm {
        model: &model,
        step: checkpoint.about.step,
    };
    perplexity("fixture", objective, &trained, device, &mut |_| ()).expect("rows")
}

#[test]
fn a_masked_lm_predicts_better_than_word_frequencies_and_random_weights() {
    let [trained, random, unigram] = perplexities("fixture-mlm");
    assert!(trained < unigram, "{trained} {unigram}");
    let guessing = 500.0..800.0; // one of 600 wordpieces, and an untrained preference
    assert!(guessing.contains(&random), "{random}");
}

#[test]
fn a_bilm_predicts_better_than_word_frequencies_and_random_weights() {
    let [trained, random, unigram] = perplexities("fixture-bilm");
    assert!(
        trained < unigram && unigram < random,
        "{trained} {unigram} {random}"
    );
}
