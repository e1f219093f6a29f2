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
/// Goal of training, against PyTorch with fused AdamW.
const TRAINING: f64 = 1.1;
/// Goal of inference, against PyTorch.
const INFERENCE: f64 = 1.25;

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
         `pytorch-fused` with glibc told to keep freed memory, as totune tells it.\n\
         `recomputed`: the backward pass computes inner results of layers again, in PyTorch by `gradient_checkpointing_enable`.\n\
         `shuffled`: texts of a task in shuffled order, padded to the longest of each batch on every side; padding is not counted as tokens.\n\
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
                let mut case = Case::new(name, desk.threads, sides(&step)?)
                    .counting(batch * seq, "tokens")
                    .multiplying(step.flop());
                case.targets = vec![faster(mode)];
                if mode == Mode::Train && (batch, seq) == LARGER {
                    case.targets.push(Target::product("totune", of_product));
                }
                comparison.cases.push(case);
            }
        }
    }
    for recomputed in [false, true] {
        comparison.cases.push(long(desk, recomputed)?);
    }
    if !desk.tiny {
        let usual = batches::TASKS.map(|task| (task, BATCH)).into_iter();
        let tasks: Vec<_> = usual.chain([SMALL_BATCHES]).collect();
        let (tasks, scratch) = batches::of_tasks(desk, &tasks, false)?;
        for batches in &tasks {
            for (mode, dropout, title) in [MODES[1], MODES[2]] {
                comparison
                    .cases
                    .push(shuffled(desk, batches, mode, dropout, title)?);
            }
        }
        comparison.scratch = Some(scratch);
    }
    Ok(comparison)
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
    let mut case = Case::new(name, desk.threads, sides(&step)?)
        .counting(batch * seq, "tokens")
        .multiplying(step.flop());
    case.targets = vec![faster(Mode::Train)];
    Ok(case)
}

/// A MiniLM on texts of a task in shuffled order.
fn shuffled(
    desk: &Desk,
    batches: &TaskBatches,
    mode: Mode,
    dropout: f64,
    title: &str,
) -> Result<Case> {
    let step = Step {
        mode,
        dropout,
        batches: Some(batches.file.clone()),
        ..Step::training(Shape::MINI_LM, [batches.size, 0], desk.threads)
    };
    let name = format!(
        "MiniLM, {}, {} shuffled, {title}",
        batches.task, batches.size
    );
    let mut case = Case::new(name, desk.threads, sides(&step)?).counting(batches.tokens, "tokens");
    case.steps = Steps::Lap(batches.n);
    case.targets = vec![faster(mode)];
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

/// Ours, and PyTorch's with each AdamW where there is training, the faster one also with our setting of the allocator.
fn sides(step: &Step) -> Result<Vec<SideSpec>> {
    let default = Step {
        optimizer: "default".to_string(),
        ..step.clone()
    };
    let mut sides = vec![
        SideSpec::ours("totune", "transformer", step)?,
        SideSpec::python("pytorch", "transformer.py", &default)?,
    ];
    if step.mode == Mode::Train {
        let fused = |name| SideSpec::python(name, "transformer.py", step);
        sides.push(fused("pytorch-fused")?);
        sides.push(fused("pytorch-tuned")?.with(&KEPT_MEMORY));
    }
    Ok(sides)
}
