//! `bench gpu`: steps on a GPU next to PyTorch, eager and compiled, in f32 and with bf16 matmuls.

use anyhow::{Result, ensure};
use totune_adapt::Dtype;

use crate::comparison::{Case, Comparison, SideSpec};
use crate::desk::Desk;
use crate::target::Target;
use crate::transformer::{Mode, Shape, Step};

/// A network, the rows of a batch and the tokens of each row.
type Size = (&'static str, Shape, usize, usize);

/// From one text to as many as a large GPU needs to be busy, and from short texts to the longest.
const SIZES: [Size; 8] = [
    ("MiniLM", Shape::MINI_LM, 1, 128),
    ("MiniLM", Shape::MINI_LM, 32, 64),
    ("MiniLM", Shape::MINI_LM, 256, 64),
    ("MiniLM", Shape::MINI_LM, 128, 128),
    ("BERT-base", Shape::BERT_BASE, 1, 128),
    ("BERT-base", Shape::BERT_BASE, 32, 128),
    ("BERT-base", Shape::BERT_BASE, 128, 128),
    ("BERT-base", Shape::BERT_BASE, 32, 512),
];

/// Training and inference of every size, in both dtypes.
pub fn comparison(desk: &Desk) -> Result<Comparison> {
    ensure!(
        desk.tiny || desk.on_gpu(),
        "gpu: found the device {}, expected a GPU: --device cuda",
        desk.device
    );
    let mut comparison = Comparison::new("totune on a GPU next to PyTorch + transformers", &["totune"]).note(
        "Training: forward, loss, backward, clipping by the global norm, AdamW over all parameters, dropout 0.1. \
         `bf16`: matmuls in bf16; weights, normalisation, softmax, loss and updates are f32 on all sides, by `torch.autocast` on PyTorch's. TF32 is off.\n\
         `pytorch` is eager, `pytorch-compiled` what `torch.compile` makes of it; both have AdamW with `fused=True` and attention by `sdpa`.\n\
         `GPU memory (MB)` is what the driver counts for the process after the last step, with what it keeps for later steps.",
    );
    comparison.square = 8192; // which a GPU needs to reach its full speed
    let tiny = [("tiny", Shape::TINY, 2, 8)];
    let sizes: &[Size] = if desk.tiny { &tiny } else { &SIZES };
    for &(name, shape, batch, seq) in sizes {
        for (mode, dropout, title) in [
            (Mode::Train, 0.1, "training"),
            (Mode::Inference, 0.0, "inference"),
        ] {
            for dtype in [Dtype::F32, Dtype::Bf16Mixed] {
                let step = Step {
                    mode,
                    dropout,
                    dtype,
                    ..Step::training(shape, [batch, seq], desk.threads)
                };
                let compiled = Step {
                    compiled: true,
                    ..step.clone()
                };
                let sides = vec![
                    SideSpec::ours("totune", "transformer", &step)?,
                    SideSpec::python("pytorch", "transformer.py", &step)?,
                    SideSpec::python("pytorch-compiled", "transformer.py", &compiled)?,
                ];
                let dtype = match dtype {
                    Dtype::F32 => "f32",
                    Dtype::Bf16Mixed => "bf16",
                };
                let name = format!("{name}, {batch} x {seq}, {title}, {dtype}");
                let mut case = Case::new(name, desk.threads, sides)
                    .counting(batch * seq, "tokens")
                    .multiplying(step.flop());
                case.targets = vec![Target::faster("totune", "pytorch-compiled", 1.0)];
                comparison.cases.push(case);
            }
        }
    }
    Ok(comparison)
}
