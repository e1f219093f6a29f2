//! `bench peer`: training steps and inference next to PyTorch + transformers.

use anyhow::Result;

use crate::batches::{self, BATCH, TaskBatches};
use crate::comparison::{Case, Comparison, SideSpec, Steps};
use crate::desk::Desk;
use crate::target::Target;
use crate::transformer::{Mode, Shape, Step};

/// Whether a step trains, its dropout, and the words for both.
const MODES: [(Mode, f64, &str); 3] = [
    (Mode::Train, 0.0, "training, dropout 0"),
    (Mode::Train, 0.1, "training, dropout 0.1"),
    (Mode::Inference, 0.0, "inference"),
];

/// Rows and tokens of the larger batch.
const LARGER: (usize, usize) = (32, 128);
/// Short texts in small batches, whose steps are mostly the update of all weights.
const SMALL_BATCHES: (&str, usize) = ("cola", 16);
/// Rows and tokens of a batch of long texts.
const LONG: [usize; 2] = [8, 512];
/// Largest difference between the logits of the sides, or between their losses in the first three steps, and as a share of
/// them. A loss falls by about a thousand times as much in a step.
const AGREES: f64 = 1e-5;
/// Goal of training, against PyTorch with fused AdamW.
const TRAINING: f64 = 1.1;
/// Goal of inference, against PyTorch.
const INFERENCE: f64 = 1.25;

/// Rows and tokens of a batch of a network whose words are most of its weights.
const MANY_WORDS: [usize; 2] = [16, 64];
/// A network and its goal in training: the share of the plain product on the larger batch.
type Network = (&'static str, Shape, f64);

/// Two shapes, two batches, training with and without dropout against both of PyTorch's AdamW, inference; and real texts
/// in batches of mixed lengths.
pub fn comparison(desk: &Desk) -> Result<Comparison> {
    let mut networks: Vec<Network> = vec![
        ("MiniLM", Shape::MINI_LM, 0.80),
        ("BERT-base", Shape::BERT_BASE, 0.85),
    ];
    let mut batches = vec![(16, 64), LARGER];
    if desk.tiny {
        (networks, batches) = (vec![("tiny", Shape::TINY, 0.80)], vec![(2, 8)]);
    }
    let mut comparison = Comparison::new("totune next to PyTorch + transformers", &["totune"]).note(
        "f32. Training: forward, loss, backward, clipping by the global norm, AdamW over all parameters. \
         `pytorch` has PyTorch's default AdamW, `pytorch-fused` the one with `fused=True`; attention is `sdpa`. `pytorch-tuned` is \
         `pytorch-fused`, in inference `pytorch`, with glibc told to keep freed memory, as totune tells it, and `pytorch-compiled` that with `torch.compile`.\n\
         Without dropout all sides have the same weights and batches, and their logits, or their losses in the first three steps, agree to 1e-5.\n\
         `recomputed`: the backward pass computes inner results of layers again, in PyTorch by `gradient_checkpointing_enable`.\n\
         `shuffled`: texts of a task in shuffled order, `bucketed`: texts of similar length together. PyTorch pads each batch to its longest text and \
         computes the padding too, totune leaves it out; it is not counted as tokens.\n\
         totune updates the rows of the word embeddings that a batch reads, and the others at the end of an epoch, which is a part of each lap of \
         `shuffled`, `bucketed` and the multilingual MiniLM; elsewhere it is not timed.\n\
         `memory by formula` of training is the peak memory of the program after a tiny step, measured, and the bytes of weights, moments and \
         activations, counted from the shape (`crates/bench/src/memory.rs`). `tensors by formula` are the latter alone, `tensors` the most bytes of \
         tensors that were alive at once, counted where LibTorch allocates them.",
    );
    for (name, shape, of_product) in networks {
        for &(batch, seq) in &batches {
            for (mode, dropout, title) in MODES {
                let step = Step {
                    mode,
                    dropout,
                    ..Step::training(shape, [batch, seq], desk.threads)
                };
                let name = format!("{name}, batch {batch} x {seq}, {title}");
                let mut case = case(desk, name, &step)?.counting(batch * seq, "tokens");
                if mode == Mode::Train && (batch, seq) == LARGER {
                    case.targets.push(Target::product("totune", of_product));
                }
                comparison.cases.push(case);
            }
        }
    }
    for mode in &MODES[..2] {
        comparison.cases.push(many_words(desk, *mode)?);
    }
    for recomputed in [false, true] {
        comparison.cases.push(long(desk, recomputed)?);
    }
    if !desk.tiny {
        let scratch = tempfile::Builder::new().prefix("totune-bench").tempdir()?;
        let usual = batches::TASKS.map(|task| (task, BATCH));
        let tasks: Vec<_> = usual.into_iter().chain([SMALL_BATCHES]).collect();
        let mut all = batches::of_tasks(desk, &tasks, false, scratch.path());
        all.extend(batches::of_tasks(desk, &usual, true, scratch.path()));
        for batches in &all {
            for mode in [MODES[1], MODES[2]] {
                comparison.cases.push(real(desk, batches, mode)?);
            }
        }
        comparison.scratch = Some(scratch);
    }
    Ok(comparison)
}

/// Training of a multilingual MiniLM, whose gradient has few of the rows of its word embeddings.
fn many_words(desk: &Desk, (mode, dropout, title): (Mode, f64, &str)) -> Result<Case> {
    let (name, shape, [batch, seq]) = if desk.tiny {
        (
            "tiny, more words",
            Shape {
                vocab: 5000,
                ..Shape::TINY
            },
            [2, 8],
        )
    } else {
        ("multilingual MiniLM", Shape::MULTILINGUAL, MANY_WORDS)
    };
    let step = Step {
        mode,
        dropout,
        ..Step::training(shape, [batch, seq], desk.threads)
    };
    let name = format!("{name}, batch {batch} x {seq}, {title}");
    let tokens = Step::EPOCH * batch * seq;
    // The plain product is for steps that are timed one by one.
    let case = case(desk, name, &step)?.multiplying(None);
    let mut case = case.counting(tokens, "tokens");
    case.steps = Steps::Lap(Step::EPOCH);
    Ok(case)
}

/// Training of a MiniLM on long texts, with kept activations or with recomputed ones (PyTorch's gradient checkpointing).
fn long(desk: &Desk, recomputed: bool) -> Result<Case> {
    let (name, shape, [batch, seq]) = if desk.tiny {
        ("tiny", Shape::TINY, [2, 16])
    } else {
        ("MiniLM", Shape::MINI_LM, LONG)
    };
    let step = Step {
        recomputed,
        ..Step::training(shape, [batch, seq], desk.threads)
    };
    let how = if recomputed { ", recomputed" } else { "" };
    let name = format!("{name}, batch {batch} x {seq}, {}{how}", MODES[1].2);
    Ok(case(desk, name, &step)?.counting(batch * seq, "tokens"))
}

/// A MiniLM on texts of a task.
fn real(
    desk: &Desk,
    batches: &TaskBatches,
    (mode, dropout, title): (Mode, f64, &str),
) -> Result<Case> {
    let step = Step {
        mode,
        dropout,
        batches: Some(batches.file.clone()),
        ..Step::training(Shape::MINI_LM, [batches.size, 0], desk.threads)
    };
    let name = format!(
        "MiniLM, {}, {} {}, {title}",
        batches.task, batches.size, batches.order
    );
    let mut case = case(desk, name, &step)?.counting(batches.tokens, "tokens");
    case.steps = Steps::Lap(batches.n);
    Ok(case)
}

/// The case of a step, with its goal. Without dropout its sides compute the same thing.
fn case(desk: &Desk, name: String, step: &Step) -> Result<Case> {
    let mut case = Case::new(name, desk.threads, sides(step)?).multiplying(step.flop());
    if step.dropout == 0.0 {
        case = case.agreeing(AGREES, AGREES);
    }
    case.targets = vec![faster(step.mode)];
    Ok(case)
}

/// The speed-up to reach.
fn faster(mode: Mode) -> Target {
    match mode {
        Mode::Train => Target::faster("totune", "pytorch-fused", TRAINING),
        Mode::Inference => Target::faster("totune", "pytorch", INFERENCE),
    }
}

/// Environment variable by which glibc keeps freed memory, as `crates/cli/src/memory.rs` asks of it for totune.
const KEPT_MEMORY: [(&str, &str); 1] = [(
    "GLIBC_TUNABLES",
    "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=18446744073709551615",
)];

/// Ours, and PyTorch's: with each AdamW where there is training, with our setting of the allocator, and compiled where all
/// batches have one shape.
fn sides(step: &Step) -> Result<Vec<SideSpec>> {
    let python = |name, step: &Step| SideSpec::python(name, "transformer.py", step);
    let default = Step {
        optimizer: "default".to_string(),
        ..step.clone()
    };
    let mut sides = vec![
        SideSpec::ours("totune", "transformer", step)?,
        python("pytorch", &default)?,
    ];
    if step.mode == Mode::Train {
        sides.push(python("pytorch-fused", step)?);
    }
    sides.push(python("pytorch-tuned", step)?.with(&KEPT_MEMORY));
    if step.batches.is_none() && !step.recomputed {
        let compiled = Step {
            compiled: true,
            ..step.clone()
        };
        sides.push(python("pytorch-compiled", &compiled)?.with(&KEPT_MEMORY));
    }
    Ok(sides)
}
