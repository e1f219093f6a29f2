//! Sparse features and logistic regression over them, on one thread.

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use cpu_time::ThreadTime;
use totune_data::{Example, Input, Target};
use totune_record::{PredictionRow, RunRow};
use totune_stats::{Vectorizer, classification_scores};

use super::splits::{Splits, Subset};
use super::{Outcome, final_score};
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
        labels == 2 && dataset.task.has_one_label(),
        "logistic regression tells 2 labels apart; `{}` has {labels} and is {}",
        dataset.name,
        dataset.task.word()
    );
    let (train_texts, train_classes) = texts_and_classes(&splits.train)?;
    let (test_texts, gold) = texts_and_classes(&splits.test)?;

    // The vectoriser sees only the training part, as in scikit-learn's pipelines. Such runs go on in parallel, each on
    // one thread.
    let (training, processor) = (Instant::now(), ThreadTime::try_now().ok());
    let (vectorizer, train) = Vectorizer::fit(work.features, &train_texts);
    let fitted = work.logistic.model().fit(&train, &train_classes);
    run.train_seconds = training.elapsed().as_secs_f64();
    let processor = processor.and_then(|since| since.try_elapsed().ok());
    run.cpu_seconds = processor.map(|spent| spent.as_secs_f64());

    let evaluation = Instant::now();
    let second = fitted.probability(&vectorizer.transform(&test_texts));
    let predicted: Vec<usize> = second
        .iter()
        .map(|&probability| usize::from(probability > 0.5))
        .collect();
    let mut scores = classification_scores(&gold, &predicted, labels, dataset.positive);
    run.eval_seconds = evaluation.elapsed().as_secs_f64();
    // Number of test texts that are in the training part too, which `duplicates = "group"` prevents.
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

    let eval = |(metric, value)| final_score(&run, ("test", gold.len()), metric, value);
    let evals = scores.into_iter().map(eval).collect();
    let predictions = predictions(&run.run_id, &splits.test, &predicted, &second)?;
    Ok(Outcome {
        run,
        evals,
        predictions,
    })
}

/// Predicted classes of the test examples and the probabilities of the second class, as rows.
fn predictions(
    run_id: &str,
    test: &Subset,
    predicted: &[usize],
    second: &[f64],
) -> Result<Vec<PredictionRow>> {
    let labels = &test.dataset.labels;
    let found = predicted.iter().zip(second);
    let rows = test.indices.iter().zip(found);
    rows.map(|(&index, (&class, &second))| {
        let example = &test.dataset.examples[index];
        let (_, gold) = text_and_class(example)?;
        Ok(PredictionRow {
            run_id: run_id.to_string(),
            split: "test".to_string(),
            example_id: example.id.clone(),
            position: 0,
            gold: labels[gold].clone(),
            predicted: labels[class].clone(),
            scores: vec![(1.0 - second) as f32, second as f32],
        })
    })
    .collect()
}

fn texts_and_classes<'a>(part: &Subset<'a>) -> Result<(Vec<&'a str>, Vec<usize>)> {
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
