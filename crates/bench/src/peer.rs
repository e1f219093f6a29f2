//! `bench peer`: training steps and inference next to PyTorch + transformers.

use anyhow::Result;
use totune_adapt::Dtype;

use crate::comparison::{Case, Comparison, SideSpec};
use crate::desk::Desk;
use crate::transformer::{Case as Step, Head, Mode, Shape, TrainedPart};

/// Two shapes, two batches, training with and without dropout against both of PyTorch's AdamW, inference.
pub fn comparison(desk: &Desk) -> Result<Comparison> {
    let mut shapes = vec![("MiniLM", Shape::MINI_LM), ("BERT-base", Shape::BERT_BASE)];
    let mut batches = vec![(16, 64), (32, 128)];
    if desk.tiny {
        (shapes, batches) = (vec![("tiny", Shape::TINY)], vec![(2, 8)]);
    }
    let mut comparison = Comparison::new("totune next to PyTorch + transformers", &["totune"]).note(
        "f32. Training: forward, loss, backward, clipping by the global norm, AdamW over all parameters. \
         `pytorch` has PyTorch's default AdamW, `pytorch-fused` the one with `fused=True`; attention is `sdpa`.\n\
         `memory by formula` of training is the peak memory of the program after a tiny step, measured, and the bytes of weights, moments and \
         activations, counted from the shape (`crates/bench/src/memory.rs`).",
    );
    for (name, shape) in shapes {
        for &(batch, seq) in &batches {
            for (mode, dropout, title) in [
                (Mode::Train, 0.0, "training, dropout 0"),
                (Mode::Train, 0.1, "training, dropout 0.1"),
                (Mode::Inference, 0.0, "inference"),
            ] {
                let step = |optimizer: &str| Step {
                    mode,
                    head: Head::Classifier,
                    shape,
                    batch,
                    seq,
                    dropout,
                    attention_dropout: None,
                    threads: desk.threads,
                    dtype: Dtype::F32,
                    batches: None,
                    optimizer: optimizer.to_string(),
                    trained: TrainedPart::All,
                };
                let (default, fused) = (step("default"), step("fused"));
                let mut sides = vec![
                    SideSpec::ours("totune", "transformer", &default)?,
                    SideSpec::python("pytorch", "transformer.py", &default)?,
                ];
                if mode == Mode::Train {
                    sides.push(SideSpec::python("pytorch-fused", "transformer.py", &fused)?);
                }
                let case = format!("{name}, batch {batch} x {seq}, {title}");
                let case = Case::new(case, desk.threads, sides)
                    .counting(batch * seq, "tokens")
                    .multiplying(default.flop());
                comparison.cases.push(case);
            }
        }
    }
    Ok(comparison)
}
