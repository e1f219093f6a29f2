//! `bench peft`: training steps of LoRA next to PEFT, and of BitFit next to PyTorch.

use anyhow::Result;
use totune_adapt::Dtype;

use crate::comparison::{Case, Comparison, SideSpec};
use crate::desk::Desk;
use crate::target::Target;
use crate::transformer::{Shape, Step, TrainedPart};

/// Least speed of a step, as a multiple of the other side.
const AT_LEAST: f64 = 1.2;

/// Both strategies on two shapes, in f32 and bf16.
pub fn comparison(desk: &Desk) -> Result<Comparison> {
    let mut inputs = vec![
        ("MiniLM", Shape::MINI_LM, 16, 64),
        ("MiniLM", Shape::MINI_LM, 32, 128),
        ("BERT-base", Shape::BERT_BASE, 16, 64),
    ];
    if desk.tiny {
        inputs = vec![("tiny", Shape::TINY, 2, 8)];
    }
    let mut comparison = Comparison::new("LoRA and BitFit next to PEFT and PyTorch", &["totune"]).note(
        "Forward, loss, backward, clipping by the global norm, AdamW (`fused=True` in PyTorch) over the trained parameters; \
         dropout 0.1.\n\
         LoRA: rank 8 on queries and values, without a dropout of its own, and the classifier; the other side is PEFT. \
         BitFit: biases of all layers and the classifier; the other side is `requires_grad` in PyTorch.",
    );
    for (name, shape, batch, seq) in inputs {
        for (trained, title, other) in [
            (TrainedPart::Lora, "LoRA", "peft"),
            (TrainedPart::Biases, "BitFit", "pytorch"),
        ] {
            for (dtype, of_dtype) in [(Dtype::F32, "f32"), (Dtype::Bf16Mixed, "bf16")] {
                let step = Step {
                    dtype,
                    trained,
                    ..Step::training(shape, [batch, seq], desk.threads)
                };
                let sides = vec![
                    SideSpec::ours("totune", "transformer", &step)?,
                    SideSpec::python(other, "transformer.py", &step)?,
                ];
                let case = format!("{name}, batch {batch} x {seq}, {title}, {of_dtype}");
                let mut case = Case::new(case, desk.threads, sides).counting(batch * seq, "tokens");
                case.targets = vec![Target::faster("totune", other, AT_LEAST)];
                comparison.cases.push(case);
            }
        }
    }
    Ok(comparison)
}
