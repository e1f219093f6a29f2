//! Word counts: a regression on them, or the most frequent tag of each word.

use std::rc::Rc;

use std::collections::HashMap;

use anyhow::Result;
use totune_adapt::Regression;
use totune_data::Input;
use totune_stats::{Csr, Features, Solver, Vectorizer};

use super::majority::most_frequent;
use super::regression::Model;
use super::{FloorSplit, Predicted, Predictor};
use crate::work::gold::GoldTargets;

pub(super) fn fit<'a>(train: &FloorSplit, regression: &Regression) -> Result<Predictor<'a>> {
    if let GoldTargets::Tags(tags) = &train.answers {
        return Ok(tag_of_each_word(train, tags));
    }
    // The words are those of the training part, as in scikit-learn's pipelines.
    let texts: Vec<&str> = train.inputs().flat_map(Input::texts).collect();
    let (vectorizer, _) = Vectorizer::fit(Features::Count, &texts);
    let answers = (&train.answers, train.dataset().labels.len());
    let model = Model::fit(
        &features(&vectorizer, train),
        answers,
        regression,
        Solver::Lbfgs,
    )?;
    let (steps, stop) = model.end();
    Ok(Predictor {
        trained: model.n_parameters(),
        encoder: 0,
        steps,
        stop,
        chosen: model.chosen(),
        saved: Rc::default(),
        predict: Box::new(move |part| Ok(model.predict(&features(&vectorizer, part)))),
    })
}

/// Count of each word in each text. A pair has the counts of its first text, those of its second, for each word the
/// smaller of both, and finally the share of its words that occur in both.
fn features(vectorizer: &Vectorizer, part: &FloorSplit) -> Csr {
    let firsts: Vec<&str> = part.inputs().map(|input| input.texts()[0]).collect();
    let seconds: Vec<&str> = part.inputs().filter_map(Input::second).collect();
    let first = vectorizer.transform(&firsts);
    if seconds.is_empty() {
        return first;
    }
    let (second, n) = (vectorizer.transform(&seconds), first.n_columns());
    let mut pairs = Csr::new(3 * n + 1);
    let mut entries = Vec::new();
    for (first, second) in first.rows().zip(second.rows()) {
        let block = |(columns, values): (&[u32], &[f64]), from: usize| -> Vec<(u32, f64)> {
            let columns = columns.iter().map(|column| column + from as u32);
            columns.zip(values.iter().copied()).collect()
        };
        let shared = shared(first, second);
        let different = first.0.len() + second.0.len() - shared.len();
        entries.clear();
        entries.extend(block(first, 0));
        entries.extend(block(second, n));
        entries.extend(
            shared
                .iter()
                .map(|&(column, n_both)| (column + 2 * n as u32, n_both)),
        );
        if !shared.is_empty() {
            entries.push((3 * n as u32, shared.len() as f64 / different as f64));
        }
        pairs.push_row(&mut entries);
    }
    pairs
}

/// The columns that two rows share, with the smaller of both values.
fn shared(first: (&[u32], &[f64]), second: (&[u32], &[f64])) -> Vec<(u32, f64)> {
    let of_second = |column: &u32| Some(second.1[second.0.binary_search(column).ok()?]);
    let pairs = first.0.iter().zip(first.1);
    pairs
        .filter_map(|(column, value)| Some((*column, value.min(of_second(column)?))))
        .collect()
}

/// The tag that each word has most often in the training part, the first of several; for an unknown word the most
/// frequent tag of all.
fn tag_of_each_word<'a>(train: &FloorSplit, tags: &[Vec<usize>]) -> Predictor<'a> {
    let n_tags = train.dataset().labels.len();
    let mut of_all = vec![0usize; n_tags];
    let mut of_word: HashMap<String, Vec<usize>> = HashMap::new();
    for (input, tags) in train.inputs().zip(tags) {
        for (word, &tag) in input.words().unwrap_or_default().iter().zip(tags) {
            of_all[tag] += 1;
            let counts = of_word.entry(word.clone());
            counts.or_insert_with(|| vec![0; n_tags])[tag] += 1;
        }
    }
    let of_words = of_word.into_iter();
    let of_word: HashMap<String, usize> = of_words
        .map(|(word, counts)| (word, most_frequent(&counts)))
        .collect();
    let other = most_frequent(&of_all);
    Predictor::computed(of_word.len() + 1, move |part| {
        let tag = |word: &String| of_word.get(word).copied().unwrap_or(other);
        let words = part.inputs().map(|input| input.words().unwrap_or_default());
        Ok(Predicted::Tags {
            tags: words.map(|words| words.iter().map(tag).collect()).collect(),
            probabilities: Vec::new(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::splits;
    use totune_data::{Dataset, Example, Target};

    fn dataset(inputs: Vec<(Input, Target)>, labels: &[&str]) -> Dataset {
        let example = |(n, (input, target)): (usize, (Input, Target))| Example {
            id: n.to_string(),
            input,
            target,
            group: None,
        };
        Dataset {
            name: "d".to_string(),
            loss: totune_data::ClassLoss::PLAIN,
            task: if labels.is_empty() {
                totune_data::Task::Regression
            } else {
                totune_data::Task::Tagging
            },
            hash: String::new(),
            labels: labels.iter().map(ToString::to_string).collect(),
            positive: None,
            metrics: Vec::new(),
            examples: inputs.into_iter().enumerate().map(example).collect(),
            tagging: None,
        }
    }

    fn part(dataset: &Dataset) -> splits::Subset<'_> {
        splits::Subset {
            split: "train",
            dataset,
            indices: (0..dataset.examples.len()).collect(),
        }
    }

    #[test]
    fn a_pair_has_its_counts_and_those_of_both() {
        let pair = |a: &str, b: &str| (Input::Pair(a.into(), b.into()), Target::Value(1.0));
        let pairs = vec![pair("fire fire here", "fire now now"), pair("here", "now")];
        let dataset = dataset(pairs, &[]);
        let of = part(&dataset);
        let part = FloorSplit::new("train", &of).expect("a part");
        let (vectorizer, _) = Vectorizer::fit(Features::Count, &["fire here now"]);
        let matrix = features(&vectorizer, &part);
        assert_eq!(matrix.n_columns(), 10);
        // fire: 2 and 1, of which 1 is in both; here: 1 and 0; now: 0 and 2; of three words one is in both.
        let (columns, values) = matrix.row(0);
        assert_eq!(columns, [0, 1, 3, 5, 6, 9]);
        assert_eq!(values, [2.0, 1.0, 1.0, 2.0, 1.0, 1.0 / 3.0]);
        assert_eq!(matrix.row(1), (&[1, 5][..], &[1.0, 1.0][..]));
    }

    #[test]
    fn a_word_has_its_most_frequent_tag_and_a_new_one_that_of_all() {
        let sentence = |words: &str, tags: &[usize]| {
            let words = words.split(' ').map(String::from).collect();
            (Input::Words(words), Target::Tags(tags.to_vec()))
        };
        let sentences = vec![
            sentence("in Rome", &[0, 1]),
            sentence("to Rome", &[0, 1]),
            sentence("AS Rome", &[2, 2]),
        ];
        let mut dataset = dataset(sentences, &["O", "B-LOC", "B-ORG"]);
        let (train, new) = (part(&dataset), vec![sentence("Rome in Bonn", &[1, 0, 1])]);
        let train = FloorSplit {
            name: "train",
            of: &train,
            answers: GoldTargets::Tags(vec![vec![0, 1], vec![0, 1], vec![2, 2]]),
        };
        let GoldTargets::Tags(tags) = &train.answers else {
            unreachable!("tags")
        };
        let predictor = tag_of_each_word(&train, tags);
        dataset.examples = new
            .into_iter()
            .map(|(input, target)| Example {
                id: "new".to_string(),
                input,
                target,
                group: None,
            })
            .collect();
        let of = part(&dataset);
        let new = FloorSplit {
            name: "test",
            of: &of,
            answers: GoldTargets::Tags(vec![vec![1, 0, 1]]),
        };
        let Predicted::Tags { tags, .. } = (predictor.predict)(&new).expect("predicts") else {
            unreachable!("tags")
        };
        // O, B-LOC and B-ORG are equally frequent.
        assert_eq!(tags, [[1, 0, 0]]);
    }
}
