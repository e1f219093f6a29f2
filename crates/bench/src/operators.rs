//! `bench operators`: the operators that a GPU would get in a training step, next to PyTorch.
//!
//! They are counted on the CPU, where the observer of LibTorch sees them too. Our side leaves out what it does on the CPU
//! alone ([`without_cpu_kernels`]).

use anyhow::Result;
use totune_model::fused::{Calls, observed, without_cpu_kernels};

use crate::comparison::{Case, Comparison, Measure, SideSpec, Steps as Laps};
use crate::desk::Desk;
use crate::side::LastWords;
use crate::target::Target;
use crate::transformer::{Shape, Step, Steps};
use crate::worker::{Worker, answer_with, last_words};

/// Goal: operators of ours / PyTorch's.
const AT_MOST: f64 = 0.8;

/// Two shapes, with dropout everywhere and with none in attention.
pub fn comparison(desk: &Desk) -> Result<Comparison> {
    let mut shapes = vec![("MiniLM", Shape::MINI_LM), ("BERT-base", Shape::BERT_BASE)];
    let (mut batch, mut seq) = (32, 128);
    if desk.tiny {
        (shapes, batch, seq) = (vec![("tiny", Shape::TINY)], 2, 8);
    }
    let mut comparison = Comparison::new("Operators of a training step", &["pytorch"]).note(
        "One training step in f32 after another to warm up: forward, loss, backward, clipping by the global norm, AdamW over all parameters; \
         PyTorch's AdamW has `fused=True`, attention is `sdpa`, and both sides read the loss once.\n\
         Counted on the CPU by one observer of LibTorch (`at::RecordFunction`), which both sides load: every call of an `aten::` operator through the \
         dispatcher, also one made by another operator. Of these, `outermost` ones are not made by another operator, and `innermost` ones make no other \
         call: they compute, allocate or make a view.\n\
         totune takes the path of a GPU, where a layer is made of LibTorch's operators; on the CPU, kernels of its own compute most of a layer in one call.\n\
         On a GPU, attention with dropout is one operator for both sides. LibTorch has none of that kind for the CPU, and either side takes it apart; so \
         what a GPU gets is what the cases without dropout in attention have, there as one operator, too.",
    );
    comparison.measure = Measure::Operators;
    for (name, shape) in shapes {
        for (attention_dropout, title) in [
            (Some(0.0), "dropout 0.1, none in attention"),
            (None, "dropout 0.1"),
        ] {
            let step = Step {
                attention_dropout,
                ..Step::training(shape, [batch, seq], desk.threads)
            };
            let sides = vec![
                SideSpec::ours("totune", "operators", &step)?,
                SideSpec::python("pytorch", "operators.py", &step)?,
            ];
            let title = format!("{name}, batch {batch} x {seq}, {title}");
            let mut case = Case::new(title, desk.threads, sides);
            case.steps = Laps::Cold(2);
            case.targets = vec![Target::operators("totune", "pytorch", AT_MOST)];
            comparison.cases.push(case);
        }
    }
    Ok(comparison)
}

/// Takes steps on request, and sends the operators of the last one.
pub fn work(case: &Step, worker: &Worker) -> Result<()> {
    let mut steps = Steps::new(case, &worker.machine.device)?;
    let step = || {
        let (_, calls) = without_cpu_kernels(|| observed(|| steps.step()));
        Ok(Calls::by_name(&calls))
    };
    answer_with(&worker.machine.device_name, step, |operators| LastWords {
        operators,
        ..last_words(Vec::new(), Default::default())
    })
}
