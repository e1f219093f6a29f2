//! The examples of an adaptation in the form that training takes, with their cached activations of frozen layers.

use anyhow::Result;
use totune_adapt::{Examples, InputEncoding, Objective, TaskData};

use super::splits::{Splits, Subset};
use crate::{Inputs, Progress, RunSpec, TuneWork};

/// Prefix, in rows, of the name of a split that is predicted without being evaluated: `test` in rows is the split that
/// a run was evaluated on, whatever its file.
pub const HIDDEN: &str = "hidden-";

/// The examples of a run, with their cached activations.
pub(super) fn task_data(
    spec: &RunSpec,
    work: &TuneWork,
    inputs: &Inputs,
    progress: &dyn Progress,
) -> Result<TaskData> {
    let splits = Splits::of(spec, inputs)?;
    // Activations of all that a run uses of a split are cached in one file.
    let of_train = splits.of_train();
    let examples = |part: &Subset| {
        let uses = match part.split {
            "train" => &of_train,
            _ => &part.indices,
        };
        examples(spec, work, (inputs, progress), (part, uses))
    };
    let predict = splits.predict.iter();
    let predict = predict.map(|part| Ok((format!("{HIDDEN}{}", part.split), examples(part)?)));
    let dataset = splits.train.dataset;
    Ok(TaskData {
        objective: Objective::of(dataset),
        metrics: dataset.metrics.clone(),
        train: examples(&splits.train)?,
        dev: splits.dev.as_ref().map(examples).transpose()?,
        test: examples(&splits.test)?,
        predict: predict.collect::<Result<_>>()?,
    })
}

/// The examples of a part, with the cached activations of all that the run `uses` of its split.
fn examples(
    spec: &RunSpec,
    work: &TuneWork,
    (inputs, progress): (&Inputs, &dyn Progress),
    (part, uses): (&Subset, &[usize]),
) -> Result<Examples> {
    let (split, dataset) = (part.split, part.dataset);
    let encoding = InputEncoding::of(&work.training, dataset);
    let rows = inputs.rows(&spec.dataset, split, &work.encoder, &encoding)?;
    let shared = inputs.shared_rows(
        (&spec.dataset, split),
        (&work.encoder, &encoding),
        (Some(uses), &part.indices),
    )?;
    let one = |&row: &usize| rows.row(row, &dataset.examples);
    Ok(Examples {
        rows: rows.rows_of(&part.indices).iter().map(one).collect(),
        cached: inputs.kept(work, &shared, progress)?,
    })
}
