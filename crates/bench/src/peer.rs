//! `bench peer`: training steps and inference next to PyTorch + transformers.

use anyhow::Result;

use crate::batches::{self, BATCH, TaskBatches};
use crate::comparison::{Case, Comparison, SideSpec, Steps, Target};
use crate::desk::Desk;
use crate::transformer::{Mode, Shape, Step};

/// Whether a step trains, its dropout, and the words for both.
const MODES: [(Mode, f64, &str); 3] = [
    (Mode::Train, 0.0, "training, dropout 0"),
    (Mode::Train, 0.1, "training, dropout 0.1"),
    (Mode::Inference, 0.0, "inference"),
];

/// Two shapes, two batches, training with and without dropout against both of PyTorch's AdamW, inference; and real texts
/// in batches of mixed lengths.
pub fn comparison(desk: &Desk) -> Result<Comparison> {
    let mut shapes = vec![("MiniLM", Shape::MINI_LM), ("BERT-base", Shape::BERT_BASE)];
    let mut batches = vec![(16, 64), (32, 128)];
    if desk.tiny {
        (shapes, batches) = (vec![("tiny", Shape::TINY)], vec![(2, 8)]);
    }
    let mut comparison = Comparison::new("totune next to PyTorch + transformers", &["totune"]).note(
        "f32. Training: forward, loss, backward, clipping by the global norm, AdamW over all parameters. \
         `pytorch` has PyTorch's default AdamW, `pytorch-fused` the one with `fused=True`; attention is `sdpa`.\n\
         `shuffled`: texts of a task in shuffled order, padded to the longest of each batch on every side; padding is not counted as tokens.\n\
         `memory by formula` of training is the peak memory of the program after a tiny step, measured, and the bytes of weights, moments and \
         activations, counted from the shape (`crates/bench/src/memory.rs`).",
    );
    for (name, shape) in shapes {
        for &(batch, seq) in &batches {
            for (mode, dropout, title) in MODES {
                let step = Step {
                    mode,
                    dropout,
                    ..Step::training(shape, [batch, seq], desk.threads)
                };
                let name = format!("{name}, batch {batch} x {seq}, {title}");
                let case = Case::new(name, desk.threads, sides(&step)?)
                    .counting(batch * seq, "tokens")
                    .multiplying(step.flop());
                comparison.cases.push(case);
            }
        }
    }
    if !desk.tiny {
        let (tasks, scratch) = batches::of_tasks(desk, false)?;
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
        ..Step::training(Shape::MINI_LM, [BATCH, 0], desk.threads)
    };
    let name = format!("MiniLM, {}, {BATCH} shuffled, {title}", batches.task);
    let mut case = Case::new(name, desk.threads, sides(&step)?).counting(batches.tokens, "tokens");
    case.steps = Steps::Lap(batches.n);
    if mode == Mode::Inference {
        case.targets.push(Target {
            side: "totune".to_string(),
            than: "pytorch".to_string(),
            at_least: 1.25,
        });
    }
    Ok(case)
}

/// Ours, and PyTorch's with each AdamW where there is training.
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
        sides.push(SideSpec::python("pytorch-fused", "transformer.py", step)?);
    }
    Ok(sides)
}
