//! Predictions of a test set in the benchmark's format.

use crate::{Card, Target, Task};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;

/// A file to send in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Its name, which identifies the task for the benchmark.
    pub file: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Card {
    /// The predictions of `split` as GLUE's site takes them: a header line `index` and `prediction`, and a line for each
    /// example in the order of its index, with the value that the files have for a class, or a score with three
    /// decimals.
    ///
    /// `ids` are those of the examples, `predicted` the answers in the same order. Every example must be there once.
    pub fn submission<'a>(
        &self,
        split: &str,
        ids: impl IntoIterator<Item = &'a str>,
        predicted: &[Target],
    ) -> Result<Submission> {
        let card = self.file.display();
        let file = self.submission.get(split).with_context(|| {
            format!("{card}: submission.{split}: not given; expected the name of a file, such as `RTE.tsv`")
        })?;
        let ids: Vec<&str> = ids.into_iter().collect();
        assert_eq!(ids.len(), predicted.len(), "one prediction for each id");
        let mut rows = BTreeMap::new();
        for (id, answer) in ids.iter().zip(predicted) {
            let index: usize = id
                .parse()
                .with_context(|| format!("id `{id}`; expected a number from 0"))?;
            let answer = self
                .answer(split, answer)
                .with_context(|| format!("id `{id}`"))?;
            ensure!(
                rows.insert(index, answer).is_none(),
                "id `{id}` is predicted twice; expected it once"
            );
        }
        let expected = self
            .splits
            .get(split)
            .map_or(rows.len(), |facts| facts.rows);
        ensure!(
            rows.len() == expected,
            "{} predictions; expected {expected}, one for each example of `{split}`",
            rows.len()
        );
        if let Some(absent) = (0..expected).find(|index| !rows.contains_key(index)) {
            bail!(
                "no prediction for id `{absent}`; expected one for each from 0 to {}",
                expected - 1
            );
        }
        let lines = rows
            .iter()
            .map(|(index, answer)| format!("{index}\t{answer}\n"));
        let text: String = ["index\tprediction\n".to_string()]
            .into_iter()
            .chain(lines)
            .collect();
        Ok(Submission {
            file: file.clone(),
            bytes: text.into_bytes(),
        })
    }

    fn answer(&self, split: &str, answer: &Target) -> Result<String> {
        let layout = self
            .layouts
            .iter()
            .find(|layout| layout.files.contains_key(split));
        let values = layout.map_or(&self.labels, |layout| {
            if layout.values.is_empty() {
                &self.labels
            } else {
                &layout.values
            }
        });
        match (self.task, answer) {
            (Task::Classification | Task::Ordinal, Target::Class(class)) => {
                let value = values.get(*class);
                let n = values.len();
                value
                    .cloned()
                    .with_context(|| format!("class {class}; expected one below {n}"))
            }
            (Task::Regression, Target::Value(score)) => {
                ensure!(score.is_finite(), "score {score}; expected a finite number");
                Ok(format!("{score:.3}"))
            }
            (Task::Classification | Task::Ordinal, _) => bail!("no class; expected one"),
            (Task::Regression, _) => bail!("no score; expected one"),
            (Task::MultiLabel, _) => {
                bail!("several labels; expected a classification or a regression")
            }
            (Task::Tagging, _) => bail!("tags; expected a classification or a regression"),
        }
    }
}
