//! `bench lstm`, `elmo`, `crf` and `heads`: recurrent layers, CRFs and task-specific heads next to PyTorch's and burn's.

mod heads;
mod layers;
mod squares;

use anyhow::Result;
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::comparison::{Case, Comparison, SideSpec};
use crate::desk::Desk;
use crate::target::Target;
use crate::worker::{Worker, answer};

/// The contents of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The mean square of the hidden states, and its gradient in the input and in all weights.
    LstmTrain,
    /// The hidden states, without a graph.
    LstmStates,
    /// Like `LstmTrain`, of an LSTM with a projection and clipping.
    ElmoTrain,
    /// Like `LstmStates`, of such an LSTM.
    ElmoStates,
    /// The mean negative log likelihood, and its gradient in emissions and transitions.
    CrfLoss,
    /// The best path of each row, on the CPU.
    CrfDecode,
    /// The mean square of a head's scores, and its gradient in the hidden states and in all weights.
    HeadTrain,
    /// The scores, without a graph.
    HeadScores,
}

/// The implementation of the layers in our process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// `totune_model`'s.
    Totune,
    /// `burn::nn`'s, on the same device.
    Burn,
}

/// A case to time. The scripts of `bench/` read the same.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Layer {
    /// The contents of a step.
    step: Step,
    /// The implementation of the layers, on our side.
    body: Body,
    /// The head, where one is timed.
    head: Option<heads::Head>,
    /// One direction, or both.
    bidirectional: bool,
    /// Real steps of each row; all the same if nothing is padded.
    lengths: Vec<usize>,
    /// Width of the input; with a projection, of the hidden states too.
    input: usize,
    /// Width of the hidden states; with a projection, of the cells.
    hidden: usize,
    /// Tags of the CRF.
    tags: usize,
    /// Threads of all sides.
    threads: usize,
}

impl Layer {
    fn new(step: Step, lengths: Vec<usize>, desk: &Desk) -> Self {
        let width = if desk.tiny { 8 } else { 200 };
        Self {
            step,
            body: Body::Totune,
            head: None,
            bidirectional: false,
            lengths,
            input: width,
            hidden: width,
            tags: 9,
            threads: desk.threads,
        }
    }

    /// Steps of the longest row.
    fn seq(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    /// Returns whether rows differ in length.
    fn is_padded(&self) -> bool {
        self.lengths.iter().any(|&n| n != self.seq())
    }

    /// 1 where a row has a step, `[batch, seq]`.
    fn mask(&self, device: &Device) -> Tensor<2> {
        let seq = self.seq();
        let rows = self.lengths.iter();
        let values: Vec<f32> = rows
            .flat_map(|&n| (0..seq).map(move |i| f32::from(i < n)))
            .collect();
        Tensor::from_data(TensorData::new(values, [self.lengths.len(), seq]), device)
    }

    /// The case with our side, PyTorch's `script` and, if burn has such a layer, burn's.
    fn case(&self, name: String, script: &'static str, in_burn: Option<Compared>) -> Result<Case> {
        let mut sides = vec![
            SideSpec::ours("totune", "recurrent", self)?,
            SideSpec::python("pytorch", script, self)?,
        ];
        let burn = Self {
            body: Body::Burn,
            ..self.clone()
        };
        match in_burn {
            Some(Compared::Yes) => sides.push(SideSpec::ours("burn", "recurrent", &burn)?),
            Some(Compared::No) => {
                sides.push(SideSpec::ours("burn", "recurrent", &burn)?.not_compared());
            }
            None => {}
        }
        Ok(Case::new(name, self.threads, sides).agreeing(0.0, 1e-4))
    }
}

/// The comparison of values with burn's layer: made only where it computes the same.
#[derive(Clone, Copy)]
enum Compared {
    Yes,
    No,
}

/// A step, which returns what sides are compared by.
type Stepping = Box<dyn FnMut() -> Vec<f64>>;

/// Takes steps on request.
pub fn work(layer: &Layer, worker: &Worker) -> Result<()> {
    let device = &worker.machine.device_name;
    let version = match layer.body {
        Body::Totune => device.clone(),
        Body::Burn => format!("burn::nn on {device}"),
    };
    let mut step = layers::prepare(layer, &worker.machine.device)?;
    answer(&version, || Ok(step()))
}

const SAME: &str = "All sides have the same weights and input, and their results agree to 1e-4: losses, scores or paths, and in training the squares of the gradients of input and weights.";

/// Rows of the same length, and of 4 to 64 steps in no order, 33 on average.
fn lengths(desk: &Desk) -> [Vec<usize>; 2] {
    if desk.tiny {
        [vec![5; 3], vec![5, 3, 4]]
    } else {
        [vec![64; 32], (0..32).map(|i| 64 - (i * 37) % 61).collect()]
    }
}

/// LSTMs and BiLSTMs.
pub fn lstm(desk: &Desk) -> Result<Comparison> {
    let [full, mixed] = lengths(desk);
    let mut comparison = Comparison::new("LSTM layers: totune next to PyTorch and burn", &["totune"])
        .note("Input 200, hidden 200, batch 32, 64 steps, f32. `rows of 4 to 64` are packed in PyTorch; burn has no mask.")
        .note(SAME);
    for (mode, step) in [
        ("training", Step::LstmTrain),
        ("inference", Step::LstmStates),
    ] {
        for (name, both, lengths) in [
            ("LSTM", false, &full),
            ("BiLSTM", true, &full),
            ("BiLSTM, rows of 4 to 64", true, &mixed),
        ] {
            let layer = Layer {
                bidirectional: both,
                ..Layer::new(step, lengths.clone(), desk)
            };
            let in_burn = (!layer.is_padded()).then_some(Compared::Yes);
            let case = layer.case(format!("{name}, {mode}"), "recurrent.py", in_burn)?;
            comparison.cases.push(case);
        }
    }
    Ok(comparison)
}

/// Cells of the original ELMo.
const ORIGINAL: usize = 4096;
/// Goal of inference at that size, against PyTorch's loop.
const AT_LEAST: f64 = 1.1;

/// One direction of one layer of the fixture, of the small ELMo and of the original, over sentences of 5 to 24 words and
/// the boundary token before them.
pub fn elmo(desk: &Desk) -> Result<Comparison> {
    let title = "ELMo's LSTM with projection and clipping: totune next to PyTorch and burn";
    let mut comparison = Comparison::new(title, &["totune"])
        .note(
            "One direction of one layer; widths of hidden states and cells as named, sentences of 5 to 24 words and a boundary token, f32.\n\
             PyTorch has no such layer: its side is the loop over steps with autograd.\n\
             burn's side is `burn::nn::Lstm` with the same input and as many cells, over padded rows; it neither projects nor clips, so its result is not compared.",
        )
        .note(SAME);
    let sizes: &[(&str, usize, usize, usize)] = if desk.tiny {
        &[("tiny, 4 and 6", 4, 6, 3)]
    } else {
        &[
            ("fixture, 8 and 16", 8, 16, 16),
            ("small, 128 and 1024", 128, 1024, 32),
            ("original, 512 and 4096", 512, ORIGINAL, 16),
        ]
    };
    for &(name, input, hidden, batch) in sizes {
        for (mode, step) in [
            ("training", Step::ElmoTrain),
            ("inference", Step::ElmoStates),
        ] {
            let lengths = (0..batch).map(|i| 25 - (i * 7) % 20).collect();
            let layer = Layer {
                input,
                hidden,
                ..Layer::new(step, lengths, desk)
            };
            let name = format!("{name}, {mode}");
            let mut case = layer.case(name, "elmo.py", Some(Compared::No))?;
            if step == Step::ElmoStates && hidden == ORIGINAL {
                case.targets = vec![Target::faster("totune", "pytorch", AT_LEAST)];
            }
            comparison.cases.push(case);
        }
    }
    Ok(comparison)
}

/// Loss and decoding of a CRF.
pub fn crf(desk: &Desk) -> Result<Comparison> {
    let [full, mixed] = lengths(desk);
    let mut comparison = Comparison::new("CRF: totune next to PyTorch", &["totune"])
        .note(
            "9 tags, batch 32, 64 words, f32. PyTorch has no CRF: its side is written with tensors over all rows and pairs of tags, one step for each word.",
        )
        .note(SAME);
    for (mode, step) in [
        ("loss and gradient", Step::CrfLoss),
        ("Viterbi decoding", Step::CrfDecode),
    ] {
        for (name, lengths) in [("CRF", &full), ("CRF, rows of 4 to 64", &mixed)] {
            let layer = Layer::new(step, lengths.clone(), desk);
            let mut case = layer.case(format!("{name}, {mode}"), "recurrent.py", None)?;
            if step == Step::CrfDecode {
                // A path is right or wrong.
                case = case.agreeing(0.0, 0.0);
            }
            comparison.cases.push(case);
        }
    }
    Ok(comparison)
}

/// Whole heads on as many texts or pairs as a batch of the paper's profile has.
pub fn heads(desk: &Desk) -> Result<Comparison> {
    use heads::Head;
    let mut comparison = Comparison::new("Heads of wang2019: totune next to PyTorch", &["totune"])
        .note(
            "Hidden states of width 768, 32 texts or pairs of 64 tokens, f32; a step is the whole head, dropout off.\n\
             BiMPM: all four matchings, BiLSTMs of 100; PyTorch's side has all tokens, pairs of tokens and perspectives at once.\n\
             Highway LSTM: two layers of 200 in each direction; PyTorch has no such layer, its side is the loop over steps with autograd.",
        )
        .note(SAME);
    for (name, head, hidden) in [
        ("BiMPM, 20 perspectives, 2 x 64", Head::Bimpm, 100),
        ("highway LSTM, depth-gated", Head::DepthGated, 200),
        ("highway LSTM, AllenNLP's", Head::Augmented, 200),
    ] {
        for (mode, step) in [
            ("training", Step::HeadTrain),
            ("inference", Step::HeadScores),
        ] {
            let lengths = if desk.tiny { vec![4; 2] } else { vec![64; 32] };
            let layer = Layer {
                head: Some(head),
                bidirectional: true,
                input: if desk.tiny { 8 } else { 768 },
                hidden: if desk.tiny { 4 } else { hidden },
                ..Layer::new(step, lengths, desk)
            };
            let case = layer.case(format!("{name}, {mode}"), "heads.py", None)?;
            comparison.cases.push(case);
        }
    }
    Ok(comparison)
}
