//! `totune bench lstm`, `elmo`, `crf` and `heads`: recurrent layers, conditional random fields and whole heads beside
//! PyTorch's and burn's.

mod heads;
mod page;
mod worker;

use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use super::median;
use super::side::Side;

pub use worker::worker;

/// What is measured, and how long.
#[derive(Debug)]
pub struct RecurrentOptions {
    /// Name of the files of results, and which cases.
    pub what: What,
    /// Project folder, for `bench/recurrent.py`.
    pub project: PathBuf,
    /// Python with torch.
    pub python: PathBuf,
    /// Where the results go.
    pub out: PathBuf,
    /// Rounds of alternation.
    pub rounds: usize,
    /// Steps of each side in a round.
    pub steps: usize,
    /// Threads of all sides.
    pub threads: usize,
    /// Only cases whose name contains one of these; all where there is none.
    pub only: Vec<String>,
}

/// Which comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// LSTM and BiLSTM.
    Lstm,
    /// The LSTM of ELMo, with a projection and clipping.
    Elmo,
    /// Conditional random field.
    Crf,
    /// BiMPM and highway LSTMs.
    Heads,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            Self::Lstm => "lstm",
            Self::Elmo => "elmo",
            Self::Crf => "crf",
            Self::Heads => "heads",
        }
    }

    /// PyTorch's side.
    fn script(self) -> &'static str {
        match self {
            Self::Elmo => "bench/elmo.py",
            Self::Heads => "bench/heads.py",
            Self::Lstm | Self::Crf => "bench/recurrent.py",
        }
    }
}

/// What one step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The mean square of the states, and its gradient in the input and in all weights.
    LstmTrain,
    /// The states, without a graph.
    LstmStates,
    /// As `LstmTrain`, of an LSTM with a projection and clipping.
    ElmoTrain,
    /// As `LstmStates`, of such an LSTM.
    ElmoStates,
    /// The mean negative log likelihood, and its gradient in emissions and transitions.
    CrfLoss,
    /// The best path of each row, in main memory.
    CrfDecode,
    /// The mean square of a head's scores, and its gradient in the states and in all weights.
    HeadTrain,
    /// The scores, without a graph.
    HeadScores,
}

/// Whose layers run in our process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// `totune_model`'s.
    Totune,
    /// `burn::nn`'s, on the same device.
    Burn,
}

/// What is timed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Case {
    /// For tables.
    pub name: String,
    /// What a step does.
    pub step: Step,
    /// Whose layers run, on our side.
    pub body: Body,
    /// Which head, where one is timed.
    pub head: Option<heads::Head>,
    /// One direction, or both side by side.
    pub bidirectional: bool,
    /// Real steps of each row; all the same where nothing is padded.
    pub lengths: Vec<usize>,
    /// Width of the input; with a projection, of the states too.
    pub input: usize,
    /// Width of the states; with a projection, of the cells.
    pub hidden: usize,
    /// Tags of the field.
    pub tags: usize,
    /// Threads of all sides.
    pub threads: usize,
}

impl Case {
    /// Steps of the longest row.
    pub fn seq(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    /// Whether rows differ in length.
    pub fn is_padded(&self) -> bool {
        self.lengths.iter().any(|&n| n != self.seq())
    }
}

const BATCH: usize = 32;
const SEQ: usize = 64;

/// Each case with whether `burn::nn` has it too.
fn cases(what: What, threads: usize) -> Vec<(Case, bool)> {
    let full = vec![SEQ; BATCH];
    // From 4 to 64 steps in no order, 33 in the mean.
    let mixed: Vec<usize> = (0..BATCH).map(|i| SEQ - (i * 37) % (SEQ - 3)).collect();
    let case = |name: &str, step, bidirectional, lengths: &Vec<usize>| Case {
        name: name.to_string(),
        step,
        body: Body::Totune,
        head: None,
        bidirectional,
        lengths: lengths.clone(),
        input: 200,
        hidden: 200,
        tags: 9,
        threads,
    };
    match what {
        What::Lstm => vec![
            (case("LSTM, training", Step::LstmTrain, false, &full), true),
            (case("BiLSTM, training", Step::LstmTrain, true, &full), true),
            (
                case(
                    "BiLSTM, rows of 4 to 64, training",
                    Step::LstmTrain,
                    true,
                    &mixed,
                ),
                false,
            ),
            (
                case("LSTM, inference", Step::LstmStates, false, &full),
                true,
            ),
            (
                case("BiLSTM, inference", Step::LstmStates, true, &full),
                true,
            ),
            (
                case(
                    "BiLSTM, rows of 4 to 64, inference",
                    Step::LstmStates,
                    true,
                    &mixed,
                ),
                false,
            ),
        ],
        What::Elmo => elmo_cases(threads),
        What::Heads => heads::cases(threads),
        What::Crf => vec![
            (
                case("CRF, loss and gradient", Step::CrfLoss, false, &full),
                false,
            ),
            (
                case(
                    "CRF, rows of 4 to 64, loss and gradient",
                    Step::CrfLoss,
                    false,
                    &mixed,
                ),
                false,
            ),
            (
                case("CRF, best paths", Step::CrfDecode, false, &full),
                false,
            ),
            (
                case(
                    "CRF, rows of 4 to 64, best paths",
                    Step::CrfDecode,
                    false,
                    &mixed,
                ),
                false,
            ),
        ],
    }
}

/// One direction of one layer of the fixture, of the small ELMo and of the original, over sentences of 5 to 24 words and
/// the mark before them.
fn elmo_cases(threads: usize) -> Vec<(Case, bool)> {
    let mut cases = Vec::new();
    for (name, input, hidden, batch) in [
        ("fixture, 8 and 16", 8, 16, 16),
        ("small, 128 and 1024", 128, 1024, 32),
        ("original, 512 and 4096", 512, 4096, 16),
    ] {
        for (mode, step) in [
            ("training", Step::ElmoTrain),
            ("inference", Step::ElmoStates),
        ] {
            let case = Case {
                name: format!("{name}, {mode}"),
                step,
                body: Body::Totune,
                head: None,
                bidirectional: false,
                lengths: (0..batch).map(|i| 25 - (i * 7) % 20).collect(),
                input,
                hidden,
                tags: 0,
                threads,
            };
            cases.push((case, true));
        }
    }
    cases
}

/// Seconds of one side over all rounds.
#[derive(Debug, Clone, Serialize)]
struct Timing {
    side: String,
    version: String,
    seconds: Vec<f64>,
    median: f64,
    /// The last step's loss, or sum of what it gave, from the same weights and input on every side.
    result: f64,
    peak_memory: u64,
}

#[derive(Debug, Clone, Serialize)]
struct Outcome {
    case: Case,
    timings: Vec<Timing>,
}

/// Runs the comparison and writes `lstm.json` and `lstm.md`, or those of another [`What`], below `options.out`.
///
/// # Errors
/// When Python or torch are not there, a side fails, or two sides give different results.
pub fn recurrent(options: &RecurrentOptions) -> Result<PathBuf> {
    let name = options.what.name();
    let mut outcomes = Vec::new();
    for (case, in_burn) in cases(options.what, options.threads) {
        if !options.only.is_empty() && !options.only.iter().any(|only| case.name.contains(only)) {
            continue;
        }
        eprintln!("{}", case.name);
        let outcome = compare(options, case, in_burn)?;
        for timing in &outcome.timings {
            eprintln!("  {:<8} {:>9.3} ms", timing.side, timing.median * 1e3);
        }
        outcomes.push(outcome);
        // Written after each case: what was measured survives an interruption.
        page::write(&options.out, name, &outcomes)?;
    }
    if outcomes.is_empty() {
        bail!("--only: no case matches");
    }
    Ok(options.out.join(format!("{name}.md")))
}

fn compare(options: &RecurrentOptions, case: Case, in_burn: bool) -> Result<Outcome> {
    let threads = case.threads;
    let globals = ["--threads", &threads.to_string(), "--device", "cpu"].map(Into::into);
    let ours = |name: &str, body| {
        let case = Case {
            body,
            ..case.clone()
        };
        Side::worker(name, &globals, "recurrent-worker", &case, threads)
    };
    let script = options.project.join(options.what.script());
    let mut sides = vec![
        ours("totune", Body::Totune)?,
        Side::python("pytorch", &options.python, &script, &case, threads)?,
    ];
    if in_burn {
        sides.push(ours("burn", Body::Burn)?);
    }
    for side in &mut sides {
        side.run(options.steps.min(5))?; // warm-up
    }
    let mut seconds = vec![Vec::new(); sides.len()];
    for _ in 0..options.rounds {
        for (side, seconds) in sides.iter_mut().zip(&mut seconds) {
            seconds.extend(side.run(options.steps)?);
        }
    }
    let mut timings = Vec::new();
    for (side, seconds) in sides.into_iter().zip(seconds) {
        let (name, version) = (side.name.clone(), side.version.clone());
        let last = side.finish()?;
        timings.push(Timing {
            side: name,
            version,
            median: median(&seconds),
            seconds,
            result: last["result"].as_f64().unwrap_or(f64::NAN),
            peak_memory: last["peak_memory"].as_u64().unwrap_or(0),
        });
    }
    check(&case, &timings)?;
    Ok(Outcome { case, timings })
}

/// That the sides computed the same thing.
fn check(case: &Case, timings: &[Timing]) -> Result<()> {
    let ours = timings[0].result;
    // burn's LSTM neither projects nor clips: of ELMo's it is a measure of time alone.
    let projected = matches!(case.step, Step::ElmoTrain | Step::ElmoStates);
    let same = timings[1..]
        .iter()
        .filter(|other| !(projected && other.side == "burn"));
    for other in same {
        let apart = (ours - other.result).abs();
        if apart.is_nan() || apart > 1e-4 * ours.abs() {
            bail!(
                "{}: {} gives {}, totune {ours}",
                case.name,
                other.side,
                other.result
            );
        }
    }
    Ok(())
}
