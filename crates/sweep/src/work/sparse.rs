//! Sparse features and logistic regression over them, on one thread.

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use totune_data::{Example, Input, Target};
use totune_record::{EvalRow, PredictionRow, RunRow};
use totune_stats::{Vectorizer, classification_scores};

use super::Outcome;
use super::splits::{Part, Splits};
use crate::{Inputs, RunSpec, SparseWork};

pub(super) fn perform(
    spec: &RunSpec,
    work: &SparseWork,
    mut run: RunRow,
    inputs: &Inputs,
) -> Result<Outcome> {
    let splits = Splits::of(spec, inputs)?;
    let dataset = splits.train.dataset;
    let labels = dataset.labels.len();
    ensure!(
        labels == 2,
        "logistic regression tells 2 labels apart; `{}` has {labels}",
        dataset.name
    );
    let (train_texts, train_classes) = texts_and_classes(&splits.train)?;
    let (test_texts, gold) = texts_and_classes(&splits.test)?;

    // The vectoriser sees the training part alone, as in scikit-learn's pipelines.
    let training = Instant::now();
    let (vectorizer, train) = Vectorizer::fit(work.features, &train_texts);
    let fitted = work.logistic.model().fit(&train, &train_classes);
    run.train_seconds = training.elapsed().as_secs_f64();

    let evaluation = Instant::now();
    let second = fitted.probability(&vectorizer.transform(&test_texts));
    let predicted: Vec<usize> = second
        .iter()
        .map(|&probability| usize::from(probability > 0.5))
        .collect();
    let mut scores = classification_scores(&gold, &predicted, labels, dataset.positive);
    run.eval_seconds = evaluation.elapsed().as_secs_f64();
    // How many texts of the test part the training part holds too: what `duplicates = "group"` prevents.
    scores.push(("leaked-texts", splits.leaked() as f64));

    run.device = "cpu".to_string();
    run.dtype = "f64".to_string();
    run.threads = 1;
    run.params_total = fitted.coef.len() as u64 + 1;
    run.params_trainable = run.params_total;
    run.steps = fitted.iterations as u64;
    run.stop_reason = if fitted.converged {
        "converged"
    } else {
        "max-iter"
    }
    .to_string();

    let eval = |(metric, value): (&str, f64)| EvalRow {
        run_id: run.run_id.clone(),
        phase: 0,
        epoch: 0,
        step: run.steps,
        split: "test".to_string(),
        metric: metric.to_string(),
        value,
        n: gold.len() as u64,
        train_seconds: run.train_seconds,
        is_final: true,
    };
    let evals = scores.into_iter().map(eval).collect();
    let prediction = |(at, &example): (usize, &usize)| PredictionRow {
        run_id: run.run_id.clone(),
        split: "test".to_string(),
        example_id: splits.test.dataset.examples[example].id.clone(),
        position: 0,
        gold: dataset.labels[gold[at]].clone(),
        predicted: dataset.labels[predicted[at]].clone(),
        scores: vec![(1.0 - second[at]) as f32, second[at] as f32],
    };
    let predictions = splits
        .test
        .indices
        .iter()
        .enumerate()
        .map(prediction)
        .collect();
    Ok(Outcome {
        run,
        evals,
        predictions,
    })
}

fn texts_and_classes<'a>(part: &Part<'a>) -> Result<(Vec<&'a str>, Vec<usize>)> {
    let dataset = part.dataset;
    let one = |&index: &usize| text_and_class(&dataset.examples[index]);
    let pairs: Vec<_> = part.indices.iter().map(one).collect::<Result<_>>()?;
    Ok(pairs.into_iter().unzip())
}

fn text_and_class(example: &Example) -> Result<(&str, usize)> {
    match (&example.input, &example.target) {
        (Input::Text(text), Target::Class(class)) => Ok((text, *class)),
        _ => bail!("example {}: expected one text with a class", example.id),
    }
}
