//! Linear probing: the optimum of a linear head on the features of the frozen encoder.

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use burn::module::Module;
use burn::tensor::TensorData;
use totune_data::{BatchPlan, Target};
use totune_model::{Classifier, Encoder};
use totune_stats::{Matrix, Scaler, Solver, logistic_cv, ridge_cv};

use crate::batch::Batches;
use crate::examples::Examples;
use crate::objective::Objective;
use crate::parameters::device_of;
use crate::phase::LinearProbe;
use crate::regression::Regression;
use crate::task::TaskData;
use crate::training::Training;

/// Returns the model with the head that is best on the training examples while the encoder is frozen, and the seconds
/// this took: a logistic regression for labels (one for each label of several, one for each step of an order), a ridge
/// regression for scores, with a penalty chosen by cross-validation.
///
/// # Errors
/// When a label has no training example, or there are fewer examples than folds.
pub(super) fn probed<E: Encoder>(
    model: Classifier<E>,
    (task, training): (&TaskData, &Training),
    probe: &LinearProbe,
) -> Result<(Classifier<E>, f64)> {
    let settings = &probe.regression;
    let clock = Instant::now();
    let train = &task.train;
    ensure!(
        train.len() >= settings.folds,
        "adaptation.probe.folds: found {}, expected at most {}, the number of training examples",
        settings.folds,
        train.len()
    );
    let mut x = features(&model, train, training.evaluation_batch_size)?;
    let width = x.view().n_columns();
    let scaler = probe.standardise.then(|| Scaler::fit(&x));
    if let Some(scaler) = &scaler {
        x = scaler.apply(&x);
    }
    let mut outputs = optimum(&x, task, settings)?;
    if let Some(scaler) = &scaler {
        for (weights, bias) in &mut outputs {
            (*weights, *bias) = scaler.fold_into(weights, *bias);
        }
    }
    let n = outputs.len();
    let weights: Vec<f32> = outputs
        .iter()
        .flat_map(|(weights, _)| weights.iter().map(|w| *w as f32))
        .collect();
    let biases: Vec<f32> = outputs.iter().map(|(_, bias)| *bias as f32).collect();
    let weight = TensorData::new(weights, [n, width]);
    let head = model
        .head
        .with_linear(weight, TensorData::new(biases, [n]))?;
    Ok((Classifier { head, ..model }, clock.elapsed().as_secs_f64()))
}

/// The features that the linear layer of a model reads, `[examples, width]`, without dropout.
fn features<E: Encoder>(
    model: &Classifier<E>,
    examples: &Examples,
    batch_size: usize,
) -> Result<Matrix<f32>> {
    let model = model.valid();
    model.encoder.reset_state();
    let device = device_of(&model.encoder)?;
    let batches = Batches::new(examples, None, &device);
    let plan = BatchPlan {
        size: batch_size,
        bucketing: true,
    };
    let mut rows = vec![Vec::new(); examples.len()];
    for indices in plan.sequential(&examples.lengths()) {
        let features = batches.features(&model, &indices)?;
        let [_, width] = features.dims();
        let values: Vec<f32> = features
            .into_data()
            .try_to_vec()
            .ok()
            .context("features are not 32-bit floats")?;
        for (index, row) in indices.iter().zip(values.chunks(width)) {
            rows[*index] = row.to_vec();
        }
    }
    let width = rows.first().map_or(0, Vec::len);
    Ok(Matrix::new(rows.concat(), width))
}

/// Weights and bias of each output of the head that is best on the features `x` of the training examples.
fn optimum(
    x: &Matrix<f32>,
    task: &TaskData,
    settings: &Regression,
) -> Result<Vec<(Vec<f64>, f64)>> {
    let train = &task.train;
    let targets = train.rows.iter().map(|row| &row.target);
    match &task.objective {
        Objective::Class { labels, .. } => {
            let classes: Option<Vec<usize>> = targets.map(Target::class).collect();
            let classes = classes.context("a training example has no label")?;
            let missing = (0..labels.len()).find(|class| !classes.contains(class));
            if let Some(class) = missing {
                bail!(
                    "adaptation.kind: found `lp-ft`, but no training example has the label `{}`, so its probe has no \
                     optimum",
                    labels[class]
                );
            }
            let logistic = settings.logistic(Solver::Preconditioned);
            let y = (&classes[..], labels.len());
            let chosen = logistic_cv(x, y, &logistic, &settings.c, settings.folds);
            let outputs: Vec<(&[f64], f64)> = chosen.model.outputs().collect();
            Ok(softmax_outputs(&outputs))
        }
        Objective::Labels { labels } => {
            let sets: Option<Vec<&[usize]>> = targets.map(Target::labels).collect();
            let sets = sets.context("a training example has no labels")?;
            let mut outputs = Vec::new();
            for (label, name) in labels.iter().enumerate() {
                let applies = sets.iter().map(|set| set.contains(&label));
                outputs.push(sigmoid_output(x, applies, settings, name)?);
            }
            Ok(outputs)
        }
        Objective::Ordinal { labels } => {
            let classes: Option<Vec<usize>> = targets.map(Target::class).collect();
            let classes = classes.context("a training example has no label")?;
            let mut outputs = Vec::new();
            for (step, name) in labels.iter().skip(1).enumerate() {
                let reached = (0..classes.len()).filter(|&at| classes[at] >= step);
                let reached: Vec<usize> = reached.collect();
                let passed = reached.iter().map(|&at| classes[at] > step);
                outputs.push(sigmoid_output(&x.select(&reached), passed, settings, name)?);
            }
            Ok(outputs)
        }
        Objective::Score {} => {
            let values: Option<Vec<f64>> = targets.map(Target::value).collect();
            let values = values.context("a training example has no score")?;
            let chosen = ridge_cv(x, &values, &settings.alpha, settings.folds);
            Ok(vec![(chosen.model.coef, chosen.model.intercept)])
        }
        Objective::Tags { .. } => {
            bail!("adaptation.kind: found `lp-ft`, which is for labels or scores of whole texts")
        }
    }
}

/// Weights and bias of one sigmoid output, fitted to the rows of `x`, of which some are positive.
///
/// # Errors
/// When all rows are alike, or there are fewer than folds.
fn sigmoid_output(
    x: &Matrix<f32>,
    positive: impl Iterator<Item = bool>,
    settings: &Regression,
    label: &str,
) -> Result<(Vec<f64>, f64)> {
    let classes: Vec<usize> = positive.map(usize::from).collect();
    ensure!(
        classes.contains(&0) && classes.contains(&1) && classes.len() >= settings.folds,
        "adaptation.kind: found `lp-ft`, but the training examples are all alike in the label `{label}`, or fewer than {} \
         tell of it, so its probe has no optimum",
        settings.folds
    );
    let logistic = settings.logistic(Solver::Preconditioned);
    let chosen = logistic_cv(x, (&classes, 2), &logistic, &settings.c, settings.folds);
    let (weights, bias) = chosen.model.outputs().next().context("one output")?;
    Ok((weights.to_vec(), bias))
}

/// Weights and bias of each output of a softmax: the single one of two classes is half of the difference of both.
fn softmax_outputs(outputs: &[(&[f64], f64)]) -> Vec<(Vec<f64>, f64)> {
    let scaled = |(weights, bias): (&[f64], f64), by: f64| {
        let weights = weights.iter().map(|w| w * by).collect();
        (weights, bias * by)
    };
    match outputs {
        [single] => vec![scaled(*single, -0.5), scaled(*single, 0.5)],
        several => several.iter().map(|output| scaled(*output, 1.0)).collect(),
    }
}
