//! What is asked of a model: one of several labels, a number, or a tag for each word.

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use totune_data::Target;
use totune_model::fused::cross_entropy;
use totune_model::{Constraints, Output, Tags};
use totune_stats::Reading;

use crate::task::Examples;

/// What is asked of a model about each example.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// Which label; learned by cross-entropy.
    Class {
        /// Labels in the dataset's order; scores and predictions refer to them by index.
        labels: Vec<String>,
        /// The label that precision, recall and F1 are about, if the task has one.
        positive: Option<usize>,
    },
    /// Which number; learned by the mean squared error of the bare score.
    Score {},
    /// Which tag for each word; learned by cross-entropy, the mean over words, or where the head has a conditional random
    /// field by the negative log-likelihood of paths, the mean over sentences (AllenNLP sums over the batch).
    Tags {
        /// Tags in the scheme BIO: `O`, `B-PER`, `I-PER`, …
        labels: Vec<String>,
    },
}

/// What a model says about one example.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// 0 where nobody knows what is right.
    pub loss: f64,
    pub predicted: Target,
    /// Probability of each label, or the score alone; of words none are kept.
    pub scores: Vec<f32>,
}

impl Question {
    /// Outputs of a head that answers it.
    pub fn n_outputs(&self) -> usize {
        match self {
            Self::Class { labels, .. } | Self::Tags { labels } => labels.len(),
            Self::Score {} => 1,
        }
    }

    /// Whether it is about words.
    pub fn is_about_words(&self) -> bool {
        matches!(self, Self::Tags { .. })
    }

    /// Refuses examples whose targets are no answers to it.
    pub(crate) fn check(&self, split: &str, examples: &Examples) -> Result<()> {
        ensure!(
            !self.is_about_words() || examples.places.len() == examples.len(),
            "the {split} split has {} examples, and the places of words of {}",
            examples.len(),
            examples.places.len()
        );
        for (i, (id, target)) in examples.ids.iter().zip(&examples.targets).enumerate() {
            match (self, target) {
                (Self::Class { labels, .. }, Target::Class(class)) => ensure!(
                    *class < labels.len(),
                    "example `{id}` of the {split} split has the label {class}, expected less than {}, the number of labels",
                    labels.len()
                ),
                (Self::Score {}, Target::Value(value)) => ensure!(
                    value.is_finite(),
                    "example `{id}` of the {split} split has the score {value}, expected a finite number"
                ),
                (Self::Tags { labels }, Target::Tags(tags)) => {
                    let words = examples.places[i].starts.len();
                    ensure!(
                        tags.len() == words && tags.iter().all(|&tag| tag < labels.len()),
                        "example `{id}` of the {split} split has {words} words and the tags {tags:?}, expected one below {} for each",
                        labels.len()
                    );
                }
                (Self::Class { .. }, _) => {
                    bail!("example `{id}` of the {split} split has no label, expected one")
                }
                (Self::Score {}, _) => {
                    bail!("example `{id}` of the {split} split has no score, expected one")
                }
                (Self::Tags { .. }, _) => {
                    bail!("example `{id}` of the {split} split has no tags, expected one per word")
                }
            }
        }
        Ok(())
    }

    /// The mean loss of what a model gave against the targets at `indices`; `[1]`.
    pub(crate) fn loss(
        &self,
        output: Output,
        targets: &[Target],
        indices: &[usize],
        device: &Device,
    ) -> Tensor<1> {
        let n = indices.len();
        let of = |classes: Vec<i64>| {
            let n = classes.len();
            Tensor::<1, Int>::from_data(TensorData::new(classes, [n]), device)
        };
        match self {
            Self::Class { .. } => {
                let classes = indices.iter().map(|&i| class(&targets[i]) as i64);
                cross_entropy(output.labels(), of(classes.collect()))
            }
            Self::Score {} => {
                let values: Vec<f32> = indices.iter().map(|&i| value(&targets[i]) as f32).collect();
                let values = Tensor::<2>::from_data(TensorData::new(values, [n, 1]), device);
                (output.labels() - values).square().mean()
            }
            Self::Tags { .. } => {
                let Tags {
                    emissions,
                    mask,
                    crf,
                } = tags(output);
                let [batch, words, n_tags] = emissions.dims();
                let rows = indices.iter().map(|&i| tags_of(&targets[i]));
                if let Some(crf) = crf {
                    let gold = padded(rows, [batch, words], device);
                    return -crf.log_likelihood(emissions, gold, mask).mean();
                }
                let classes = rows.clone().flatten().map(|&tag| tag as i64);
                let places = rows.enumerate().flat_map(|(row, tags)| {
                    (0..tags.len()).map(move |word| (row * words + word) as i64)
                });
                let (classes, places) = (of(classes.collect()), of(places.collect()));
                let flat: Tensor<2> = emissions.reshape([batch * words, n_tags]);
                cross_entropy(flat.select(0, places), classes)
            }
        }
    }

    /// What a model gave, as answers to the examples at `indices`.
    pub(crate) fn answers(
        &self,
        output: Output,
        targets: &[Target],
        indices: &[usize],
    ) -> Result<Vec<Answer>> {
        let targets = indices.iter().map(|&i| &targets[i]);
        match self {
            Self::Class { .. } | Self::Score {} => {
                let rows = self.report(output.labels()).into_data();
                let rows: Vec<f32> = rows.try_to_vec().ok().context(NO_FLOATS)?;
                let rows = rows.chunks(self.n_outputs());
                Ok(rows
                    .zip(targets)
                    .map(|(row, target)| self.answer(row, target))
                    .collect())
            }
            Self::Tags { labels } => {
                let Tags {
                    emissions,
                    mask,
                    crf,
                } = tags(output);
                let [_, words, n_tags] = emissions.dims();
                if let Some(crf) = crf {
                    let allowed = Constraints::of_tags(labels)?;
                    let rows = targets
                        .clone()
                        .map(|target| target.tags().unwrap_or_default());
                    let shape = [indices.len(), words];
                    let gold = padded(rows, shape, &emissions.device());
                    let paths = crf.decode(emissions.clone(), mask.clone(), &allowed);
                    let of_gold = crf.log_likelihood(emissions, gold, mask).into_data();
                    let of_gold: Vec<f32> = of_gold.try_to_vec().ok().context(NO_FLOATS)?;
                    let answer = |((path, log_p), target): ((Vec<usize>, f32), &Target)| Answer {
                        loss: if *target == Target::Unknown {
                            0.0
                        } else {
                            -f64::from(log_p)
                        },
                        predicted: Target::Tags(path),
                        scores: Vec::new(),
                    };
                    let answers = paths.into_iter().zip(of_gold).zip(targets);
                    return Ok(answers.map(answer).collect());
                }
                let scores = log_softmax(emissions, 2).into_data();
                let scores: Vec<f32> = scores.try_to_vec().ok().context(NO_FLOATS)?;
                let rows = scores.chunks((words * n_tags).max(1));
                let answer = |(row, target): (&[f32], &Target)| tagged(row, labels.len(), target);
                Ok(rows.zip(targets).map(answer).collect())
            }
        }
    }

    /// What is kept of `outputs` `[batch, n_outputs]`: log-probabilities of the labels, or the scores as they are.
    fn report(&self, outputs: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Score {} => outputs,
            _ => log_softmax(outputs, 1),
        }
    }

    /// The answer of one example from its row of [`Question::report`].
    fn answer(&self, row: &[f32], target: &Target) -> Answer {
        let known = *target != Target::Unknown;
        let loss = |loss: &dyn Fn() -> f64| if known { loss() } else { 0.0 };
        match self {
            Self::Score {} => {
                let found = f64::from(row[0]);
                Answer {
                    loss: loss(&|| (found - value(target)).powi(2)),
                    predicted: Target::Value(found),
                    scores: row.to_vec(),
                }
            }
            _ => Answer {
                loss: loss(&|| -f64::from(row[class(target)])),
                predicted: Target::Class(largest(row)),
                scores: row.iter().map(|log_p| log_p.exp()).collect(),
            },
        }
    }

    /// Every metric of the answers, by the names of result rows; some are there only if `asked` for.
    pub(crate) fn scores(
        &self,
        examples: &Examples,
        predicted: &[Target],
        asked: &[String],
    ) -> Vec<(String, f64)> {
        let gold = &examples.targets;
        let owned = |scores: Vec<(&str, f64)>| {
            let scores = scores.into_iter();
            scores
                .map(|(name, value)| (name.to_string(), value))
                .collect()
        };
        match self {
            Self::Class { labels, positive } => owned(totune_stats::classification_scores_with(
                &gold.iter().map(class).collect::<Vec<_>>(),
                &predicted.iter().map(class).collect::<Vec<_>>(),
                labels.len(),
                *positive,
                asked.iter().map(String::as_str),
            )),
            Self::Score {} => owned(totune_stats::regression_scores(
                &gold.iter().map(value).collect::<Vec<_>>(),
                &predicted.iter().map(value).collect::<Vec<_>>(),
            )),
            Self::Tags { labels } => totune_stats::tagging_scores(
                &sentences(&examples.ids, gold, labels),
                &sentences(&examples.ids, predicted, labels),
                Reading::Conlleval,
            ),
        }
    }
}

const NO_FLOATS: &str = "the scores of a batch are not 32-bit floats";

/// The most probable tag of each word, from rows of log-probabilities.
fn tagged(row: &[f32], n_tags: usize, target: &Target) -> Answer {
    let gold = target.tags().unwrap_or_default();
    let words = row.chunks(n_tags);
    let losses = words
        .clone()
        .zip(gold)
        .map(|(word, &tag)| -f64::from(word[tag]));
    Answer {
        loss: losses.sum::<f64>() / gold.len().max(1) as f64,
        predicted: Target::Tags(words.take(gold.len()).map(largest).collect()),
        scores: Vec::new(),
    }
}

/// The names of the tags of whole sentences: a long one is several rows of one name.
fn sentences<'a>(ids: &[String], rows: &[Target], labels: &'a [String]) -> Vec<Vec<&'a str>> {
    let mut sentences: Vec<Vec<&str>> = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        if i == 0 || ids[i] != ids[i - 1] {
            sentences.push(Vec::new());
        }
        let sentence = sentences.last_mut().expect("just begun");
        sentence.extend(tags_of(row).iter().map(|&tag| labels[tag].as_str()));
    }
    sentences
}

/// Rows of tags as `[batch, words]`, zeros behind the shorter ones.
fn padded<'a>(
    rows: impl Iterator<Item = &'a [usize]>,
    [batch, words]: [usize; 2],
    device: &Device,
) -> Tensor<2, Int> {
    let mut padded = vec![0i64; batch * words];
    for (row, to) in rows.zip(padded.chunks_mut(words.max(1))) {
        for (&tag, to) in row.iter().zip(to) {
            *to = tag as i64;
        }
    }
    Tensor::from_data(TensorData::new(padded, [batch, words]), device)
}

fn tags(output: Output) -> Tags {
    match output {
        Output::Tags(tags) => tags,
        Output::Labels(_) => panic!("a question about words needs a tagger"),
    }
}

/// The tags of a target that [`Question::check`] has seen.
fn tags_of(target: &Target) -> &[usize] {
    target.tags().expect("checked to be tags")
}

/// The label of a target that [`Question::check`] has seen.
fn class(target: &Target) -> usize {
    target.class().expect("checked to be a label")
}

/// The score of a target that [`Question::check`] has seen.
fn value(target: &Target) -> f64 {
    match target {
        Target::Value(value) => *value,
        other => unreachable!("checked to be a score, found {other:?}"),
    }
}

/// Index of the first largest value.
fn largest(values: &[f32]) -> usize {
    let mut best = 0;
    for (i, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = i;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_scores_is_predicted() {
        assert_eq!(largest(&[0.1, 0.7, 0.2]), 1);
        assert_eq!(largest(&[0.5, 0.5]), 0);
    }

    #[test]
    fn a_score_is_learned_by_its_squared_error() {
        let device = Device::flex();
        let outputs = Tensor::<2>::from_data([[1.0], [4.0], [9.0]], &device);
        let targets = [Target::Value(2.0), Target::Value(0.0), Target::Value(2.0)];
        let question = Question::Score {};
        let two = Output::Labels(outputs.clone().narrow(0, 0, 2));
        let loss = question.loss(two, &targets, &[2, 0], &device);
        assert_eq!(loss.into_scalar::<f32>(), 2.5); // ((1 - 2)² + (4 - 2)²) / 2
        let Answer {
            loss,
            predicted,
            scores,
        } = question.answer(&[9.0], &targets[1]);
        assert_eq!(
            (loss, predicted, scores),
            (81.0, Target::Value(9.0), vec![9.0])
        );
    }

    #[test]
    fn the_loss_of_tags_is_the_mean_over_words_and_padding_has_none() {
        let device = Device::flex();
        // Two rows of 2 and 1 words, 2 tags.
        let emissions = Tensor::<3>::from_data(
            [[[0.0, 0.0], [0.0, 3.0]], [[2.0, 0.0], [9.0, -9.0]]],
            &device,
        );
        let mask = Tensor::from_data([[1.0, 1.0], [1.0, 0.0]], &device);
        let targets = [Target::Tags(vec![0, 1]), Target::Tags(vec![1])];
        let question = Question::Tags {
            labels: vec!["O".into(), "B-A".into()],
        };
        let output = || {
            Output::Tags(Tags {
                emissions: emissions.clone(),
                mask: mask.clone(),
                crf: None,
            })
        };
        let nll = |right: f64, wrong: f64| (1.0 + (wrong - right).exp()).ln();
        let expected = [nll(0.0, 0.0), nll(3.0, 0.0), nll(0.0, 2.0)];
        let loss = question.loss(output(), &targets, &[0, 1], &device);
        let loss = f64::from(loss.into_scalar::<f32>());
        assert!(
            (loss - expected.iter().sum::<f64>() / 3.0).abs() < 1e-6,
            "{loss}"
        );
        let answers = question
            .answers(output(), &targets, &[0, 1])
            .expect("answers");
        assert_eq!(answers[0].predicted, Target::Tags(vec![0, 1]));
        assert_eq!(answers[1].predicted, Target::Tags(vec![0]));
        assert!((answers[1].loss - expected[2]).abs() < 1e-6);
    }

    #[test]
    fn a_field_is_learned_and_answered_by_paths() {
        let device = Device::flex();
        let crf = totune_model::Crf {
            transitions: burn::module::Param::from_tensor(Tensor::from_data(
                [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]],
                &device,
            )),
            start: None,
            end: None,
        };
        // `O I-A` alone would be best for each word, but no path goes there; `B-A I-A` has 1 + 3 + 2, `O O` has 1.5.
        let emissions = Tensor::<3>::from_data([[[1.5, 1.0, 0.0], [0.0, 0.0, 3.0]]], &device);
        let output = || {
            Output::Tags(Tags {
                emissions: emissions.clone(),
                mask: Tensor::ones([1, 2], &device),
                crf: Some(crf.clone()),
            })
        };
        let question = Question::Tags {
            labels: ["O", "B-A", "I-A"].map(String::from).to_vec(),
        };
        let targets = [Target::Tags(vec![1, 2])];
        let answers = question.answers(output(), &targets, &[0]).expect("answers");
        assert_eq!(answers[0].predicted, Target::Tags(vec![1, 2]));
        let loss = question.loss(output(), &targets, &[0], &device);
        let loss = f64::from(loss.into_scalar::<f32>());
        assert!((loss - answers[0].loss).abs() < 1e-6);
        // All nine paths, by hand: emissions, and 2 for B-A before I-A.
        let first = [1.5f64, 1.0, 0.0];
        let second = [0.0, 0.0, 3.0];
        let mut total = 0.0;
        for (i, a) in first.iter().enumerate() {
            for (j, b) in second.iter().enumerate() {
                total += (a + b + if (i, j) == (1, 2) { 2.0 } else { 0.0 }).exp();
            }
        }
        assert!((loss - (total.ln() - 6.0)).abs() < 1e-5, "{loss}");
    }

    #[test]
    fn parts_of_a_sentence_are_scored_as_one() {
        let question = Question::Tags {
            labels: vec!["O".into(), "B-A".into(), "I-A".into()],
        };
        let rows = |tags: [&[usize]; 3]| tags.map(|tags| Target::Tags(tags.to_vec())).to_vec();
        let examples = Examples {
            ids: ["a", "a", "b"].map(String::from).to_vec(),
            targets: rows([&[0, 1], &[2], &[1]]),
            ..Examples::default()
        };
        let f1 =
            |predicted: [&[usize]; 3]| question.scores(&examples, &rows(predicted), &[])[0].clone();
        assert_eq!(f1([&[0, 1], &[2], &[1]]), ("span-f1".to_string(), 1.0));
        assert_eq!(f1([&[0, 1], &[0], &[1]]), ("span-f1".to_string(), 0.5));
    }

    #[test]
    fn a_target_of_another_kind_names_the_example() {
        let classes = Question::Class {
            labels: vec!["no".into(), "yes".into()],
            positive: None,
        };
        for (question, target, expected) in [
            (
                &classes,
                Target::Value(1.0),
                "example `a` of the dev split has no label, expected one",
            ),
            (
                &classes,
                Target::Unknown,
                "example `a` of the dev split has no label, expected one",
            ),
            (
                &classes,
                Target::Class(2),
                "example `a` of the dev split has the label 2, expected less than 2, the number of labels",
            ),
            (
                &Question::Score {},
                Target::Class(0),
                "example `a` of the dev split has no score, expected one",
            ),
            (
                &Question::Score {},
                Target::Value(f64::NAN),
                "example `a` of the dev split has the score NaN, expected a finite number",
            ),
        ] {
            let examples = Examples {
                ids: vec!["a".to_string()],
                targets: vec![target],
                ..Examples::default()
            };
            let error = question.check("dev", &examples).expect_err(expected);
            assert_eq!(error.to_string(), expected);
        }
    }
}
