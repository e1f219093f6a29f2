//! `bench bf16`: bf16 matmuls against f32, ours and PyTorch's, on synthetic and on real batches.

use std::path::PathBuf;

use anyhow::Result;
use totune_adapt::Dtype;
use totune_model::fused;

use crate::batches::{self, BATCH};
use crate::comparison::{Case, Comparison, SideSpec, Steps};
use crate::desk::Desk;
use crate::target::Target;
use crate::transformer::{Head, Mode, Shape, Step};

/// A network and the batches it is timed on.
struct Input {
    name: String,
    seq: usize,
    head: Head,
    shape: Shape,
    /// File with real batches.
    file: Option<PathBuf>,
    /// Batches, and their tokens.
    lap: (usize, usize),
}

impl Input {
    fn synthetic(name: &str, seq: usize, head: Head, shape: Shape) -> Self {
        Self {
            name: format!("{name}, {BATCH} x {seq}"),
            seq,
            head,
            shape,
            file: None,
            lap: (1, BATCH * seq),
        }
    }
}

/// Training and inference on one thread and on all, of synthetic batches and of real ones whose files are there.
pub fn comparison(desk: &Desk) -> Result<Comparison> {
    let mut comparison = Comparison::new("bf16 matmuls against f32", &["totune bf16", "totune f32"])
        .note(&format!("Here {}.", fused::products()))
        .note(&format!(
            "MiniLM: 6 layers, 384 wide, with a linear classifier. Masked LM: 6 layers, 256 wide, every {}th token predicted.\n\
             Training: all parameters, dropout 0.1, AdamW. Weights, normalisation, softmax, loss and updates are f32 on all sides.\n\
             `pytorch autocast` is `torch.autocast(\"cpu\", torch.bfloat16)`; AdamW is fused. Padding is not counted as tokens.",
            Step::MASKED
        ));
    let (inputs, scratch) = inputs(desk)?;
    comparison.scratch = scratch;
    let mut threads = vec![1, desk.threads];
    threads.dedup();
    for input in &inputs {
        for (mode, dropout, title) in [
            (Mode::Train, 0.1, "training"),
            (Mode::Inference, 0.0, "inference"),
        ] {
            for &threads in &threads {
                let step = |dtype| Step {
                    mode,
                    head: input.head,
                    dropout,
                    dtype,
                    batches: input.file.clone(),
                    ..Step::training(input.shape, [BATCH, input.seq], threads)
                };
                let sides = sides(&step(Dtype::F32), &step(Dtype::Bf16Mixed))?;
                let name = format!("{}, {title}", input.name);
                let mut case = Case::new(name, threads, sides)
                    .counting(input.lap.1, "tokens")
                    .multiplying(step(Dtype::F32).flop());
                if input.lap.0 > 1 {
                    case.steps = Steps::Lap(input.lap.0);
                }
                case.targets = targets(mode);
                comparison.cases.push(case);
            }
        }
    }
    Ok(comparison)
}

/// Ours and PyTorch's, in both dtypes.
pub fn sides(f32: &Step, bf16: &Step) -> Result<Vec<SideSpec>> {
    Ok(vec![
        SideSpec::ours("totune f32", "transformer", f32)?,
        SideSpec::ours("totune bf16", "transformer", bf16)?,
        SideSpec::python("pytorch f32", "transformer.py", f32)?,
        SideSpec::python("pytorch autocast", "transformer.py", bf16)?,
    ])
}

fn targets(mode: Mode) -> Vec<Target> {
    let target = |than, at_least| Target::faster("totune bf16", than, at_least);
    let over_f32 = if mode == Mode::Train { 1.5 } else { 1.8 };
    vec![
        target("totune f32", over_f32),
        target("pytorch autocast", 1.1),
    ]
}

/// The inputs, and the folder with the files of the real ones, which are left out with a note where there are none.
fn inputs(desk: &Desk) -> Result<(Vec<Input>, Option<tempfile::TempDir>)> {
    if desk.tiny {
        let tiny = |name, head| Input::synthetic(name, 8, head, Shape::TINY);
        let inputs = vec![
            tiny("tiny classifier", Head::Classifier),
            tiny("tiny masked LM", Head::MaskedLm),
        ];
        return Ok((inputs, None));
    }
    let masked = Shape {
        vocab: 30_522,
        heads: 8,
        ..Shape::BERT_MINI
    };
    let mut inputs = vec![
        Input::synthetic("MiniLM", 64, Head::Classifier, Shape::MINI_LM),
        Input::synthetic("MiniLM", 128, Head::Classifier, Shape::MINI_LM),
        Input::synthetic("6 x 256 masked LM", 128, Head::MaskedLm, masked),
    ];
    let scratch = tempfile::Builder::new().prefix("totune-bench").tempdir()?;
    let tasks = batches::TASKS.map(|task| (task, BATCH));
    let tasks = batches::of_tasks(desk, &tasks, true, scratch.path());
    inputs.extend(tasks.into_iter().map(|batches| Input {
        name: format!("MiniLM, {}, {BATCH} bucketed", batches.task),
        seq: 0,
        head: Head::Classifier,
        shape: Shape::MINI_LM,
        file: Some(batches.file),
        lap: (batches.n, batches.tokens),
    }));
    Ok((inputs, Some(scratch)))
}
