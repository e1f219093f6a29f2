//! Default splits of a dataset: labelled files of its own, and parts of `train` for missing ones.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::duplicates::{n_known, repeats_note};
use crate::guess::spellings;
use crate::{Card, Dataset, Target, Task};

/// Share of `train` that is held out as dev, and the most examples: more would take time from training and add little.
const DEV: (f64, usize) = (0.15, 1000);
/// Share of `train` that is held out as test, and the most examples.
const TEST: (f64, usize) = (0.2, 2000);
/// Number of examples below which a label is rare.
const RARE: usize = 5;
/// Rare labels that a note names.
const NAMED: usize = 5;
/// Seed of the split; that of a run never changes it.
const SEED: u64 = 13;

/// The files of a dataset that have labels.
#[derive(Debug, Clone)]
pub struct LabelledFiles {
    /// The training examples, and whatever is held out of them.
    pub train: Dataset,
    /// The file of dev.
    pub dev: Option<Dataset>,
    /// The file of test.
    pub test: Option<Dataset>,
    /// Examples without a label, which are in none of them.
    n_left_out: usize,
    /// The text that stands for no label, where the card names one.
    no_label: Option<String>,
}

/// Train, dev and test examples. Parts of one file share no text and no group.
#[derive(Debug, Clone)]
pub struct Splits {
    /// The training examples.
    pub train: Dataset,
    /// The dev (validation) examples.
    pub dev: Dataset,
    /// The test examples.
    pub test: Dataset,
}

impl Card {
    /// Reads the labelled files that are there: `train`, `dev`, `test`. Examples without a label are left out.
    ///
    /// # Errors
    /// When that of `train` is missing, or one is not what the card says.
    pub fn labelled_files(&self, root: &Path) -> Result<LabelledFiles> {
        let load = |split: &str| {
            let facts = self.splits.get(split);
            let is_there =
                facts.is_none_or(|facts| facts.labelled) && !self.found(root, split).is_empty();
            is_there.then(|| self.load_split(root, split)).transpose()
        };
        let train = self.load_split(root, "train")?;
        let no_labels = self
            .layouts
            .iter()
            .filter_map(|layout| layout.unlabelled.clone());
        let files = LabelledFiles {
            no_label: no_labels.into_iter().find(|text| !text.is_empty()),
            ..LabelledFiles::new(train, load("dev")?, load("test")?)
        };
        ensure!(
            !files.train.examples.is_empty(),
            "{}: no example of train has a label; expected some",
            self.file.display()
        );
        Ok(files)
    }
}

/// A note on examples without a label, if there are some; `no_label` is the text that stands for none.
pub fn left_out(n: usize, no_label: Option<&str>) -> Option<String> {
    let meant = no_label.map_or(String::new(), |text| {
        format!(" (`{text}` means none, says the card)")
    });
    (n > 0).then(|| format!("Examples without a label are left out: {n}{meant}."))
}

/// A note on labels that may be meant as one.
fn alike(train: &Dataset) -> Option<String> {
    if matches!(train.task, Task::Regression | Task::Tagging) {
        return None;
    }
    let labels: Vec<String> = train
        .named_counts()
        .into_iter()
        .map(|(label, _)| label)
        .collect();
    let notes = spellings::alike(&labels);
    (!notes.is_empty()).then(|| format!("{}.", notes.join("; ")))
}

/// A note on texts that occur with different labels.
fn contradicting(train: &Dataset) -> Option<String> {
    let n = train.repeats().contradicting;
    let is_labelled = !matches!(train.task, Task::Regression);
    (n > 0 && is_labelled).then(|| {
        format!("Texts that occur with different labels: {n}; no model can get all of their examples right.")
    })
}

/// A note on labels with fewer than [`RARE`] training examples.
fn rare(train: &Dataset) -> Option<String> {
    if matches!(train.task, Task::Regression | Task::Tagging) {
        return None;
    }
    let counts = train.named_counts().into_iter();
    let rare: Vec<(String, usize)> = counts.filter(|(_, n)| (1..RARE).contains(n)).collect();
    let mut named: Vec<String> = rare
        .iter()
        .take(NAMED)
        .map(|(label, n)| format!("`{label}` ({n})"))
        .collect();
    let more = rare.len().saturating_sub(NAMED);
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    (!rare.is_empty()).then(|| {
        format!(
            "Labels with fewer than {RARE} examples, too few to be learned and scored: {}.",
            named.join(", ")
        )
    })
}

/// A note on texts of the file `split` that train has too, if there are some.
fn seen_note(train: &Dataset, name: &str, split: &Dataset) -> Option<String> {
    let [inputs, known] = [split, train].map(|of| of.examples.iter().map(|one| &one.input));
    let (n, all) = (n_known(inputs, known), split.examples.len());
    (n > 0).then(|| {
        format!("Texts of {name} that train has too: {n} of {all}; a model can know their labels by heart.")
    })
}

impl LabelledFiles {
    /// These files without the examples that have no label.
    pub fn new(train: Dataset, dev: Option<Dataset>, test: Option<Dataset>) -> Self {
        let mut n_left_out = 0;
        let mut labelled = |split: Dataset| {
            let has_label = |at: &usize| split.examples[*at].target != Target::Unknown;
            let kept: Vec<usize> = (0..split.examples.len()).filter(has_label).collect();
            if kept.len() == split.examples.len() {
                return split;
            }
            n_left_out += split.examples.len() - kept.len();
            split.part(&kept, &split.name)
        };
        Self {
            train: labelled(train),
            dev: dev.map(&mut labelled),
            test: test.map(&mut labelled),
            n_left_out,
            no_label: None,
        }
    }

    /// Notes on what nobody should overlook: examples that were left out, a dev file that is used as test, labels that may be
    /// meant as one, equal texts with different labels, labels that are too rare to be learned and scored, and texts of dev
    /// or test that train has too.
    pub fn notes(&self) -> Vec<String> {
        let seen = |name: &str, split: &Option<Dataset>| {
            let split = split.as_ref();
            split.and_then(|split| seen_note(&self.train, name, split))
        };
        let is_test = self.dev.is_some() && self.test.is_none();
        let dev_is_test = "There is a file for dev and none with labels for test: its examples are the test examples, and dev is held out of train.";
        let notes = [
            left_out(self.n_left_out, self.no_label.as_deref()),
            is_test.then(|| dev_is_test.to_owned()),
            alike(&self.train),
            contradicting(&self.train),
            rare(&self.train),
            seen("dev", &self.dev),
            seen("test", &self.test),
        ];
        notes.into_iter().flatten().collect()
    }

    /// A note on many repeated texts in train, where something is held out of it.
    pub fn repeats_note(&self) -> Option<String> {
        let repeats = || repeats_note(self.train.repeats().rows, self.train.examples.len());
        let holds_out = self.dev.is_none() || self.test.is_none();
        holds_out.then(repeats).flatten()
    }

    /// The usual splits: the files, and for missing ones 15 % of `train` (at most 1,000 examples) as dev and 20 % (at
    /// most 2,000) as test, as [`Dataset::split_by_shares`] samples them. A single file in addition to `train` is test,
    /// whatever its name.
    ///
    /// # Errors
    /// When there are too few examples to hold some out.
    pub fn splits(self) -> Result<Splits> {
        let Self {
            train, dev, test, ..
        } = self;
        let n = train.examples.len();
        let share = |(share, most): (f64, usize)| f64::min(share, most as f64 / n as f64);
        let held_out = |shares: &[f64]| {
            let rest = 1.0 - shares.iter().sum::<f64>();
            let shares: Vec<f64> = [rest].into_iter().chain(shares.iter().copied()).collect();
            let parts = train.split_by_shares(&shares, SEED)?;
            let parts = parts.iter().map(|part| train.part(part, &train.name));
            anyhow::Ok(parts.collect::<Vec<_>>().into_iter())
        };
        let expected = "as many parts as shares";
        Ok(match (dev, test) {
            (Some(dev), Some(test)) => Splits { train, dev, test },
            (Some(test), None) | (None, Some(test)) => {
                let mut parts = held_out(&[share(DEV)])?;
                let mut next = || parts.next().context(expected);
                Splits {
                    train: next()?,
                    dev: next()?,
                    test,
                }
            }
            (None, None) => {
                let mut parts = held_out(&[share(DEV), share(TEST)])?;
                let mut next = || parts.next().context(expected);
                Splits {
                    train: next()?,
                    dev: next()?,
                    test: next()?,
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::shares::tests::dataset;

    #[test]
    fn examples_without_a_label_are_left_out_and_counted() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let card = |rows: &str| {
            std::fs::write(dir.path().join("a.csv"), format!("text,label\n{rows}"))
                .expect("a file");
            let text = "name = 'a'\ntitle = 'a'\ntask = 'classification'\nmetrics = ['accuracy']\nrelative-to-card = true\n\
                        labels = ['good', 'bad']\n[[layouts]]\nname = 'own'\nformat = { kind = 'csv' }\n\
                        columns = { text = 'text', label = 'label' }\nunlabelled = ''\n[layouts.files]\ntrain = { path = 'a.csv' }\n";
            Card::parse(text, &dir.path().join("a.toml")).expect("a card")
        };
        let files = card("fine,good\nfair,\npoor,bad\nso so,\n")
            .labelled_files(dir.path())
            .expect("files");
        assert_eq!((files.train.examples.len(), files.n_left_out), (2, 2));
        assert_eq!(
            files.notes()[..],
            [
                "Examples without a label are left out: 2.".to_string(),
                "Labels with fewer than 5 examples, too few to be learned and scored: `good` (1), `bad` (1).".to_string()
            ]
        );
        let enough = "fine,good\npoor,bad\n".repeat(5);
        let files = card(&enough).labelled_files(dir.path()).expect("files");
        assert_eq!(files.notes(), Vec::<String>::new());
        let files = card(&format!("{enough}fine,bad\n"))
            .labelled_files(dir.path())
            .expect("files");
        assert_eq!(
            files.notes(),
            [
                "Texts that occur with different labels: 1; no model can get all of their examples right."
            ]
        );
        let error = card("fine,\npoor,\n")
            .labelled_files(dir.path())
            .expect_err("no label");
        assert!(
            error
                .to_string()
                .ends_with("no example of train has a label; expected some"),
            "{error}"
        );
    }

    #[test]
    fn texts_of_test_that_train_has_are_counted() {
        let of = |range: std::ops::Range<usize>| {
            let all = dataset(40, |_| None);
            all.part(&range.collect::<Vec<_>>(), "own")
        };
        let files = LabelledFiles::new(of(0..32), None, Some(of(30..38)));
        assert_eq!(
            files.notes(),
            ["Texts of test that train has too: 2 of 8; a model can know their labels by heart."]
        );
        let apart = LabelledFiles::new(of(0..30), None, Some(of(30..38)));
        assert_eq!(apart.notes(), Vec::<String>::new());
    }

    #[test]
    fn what_no_file_has_is_held_out_of_train() {
        let of = |n: usize| dataset(n, |_| None);
        for (n, dev, test, sizes) in [
            (2000, None, None, [1300, 300, 400]),
            (20_000, None, None, [17_000, 1000, 2000]),
            (2000, None, Some(300), [1700, 300, 300]),
            (2000, Some(200), None, [1700, 300, 200]),
            (500, Some(60), Some(70), [500, 60, 70]),
            (500, None, None, [325, 75, 100]),
        ] {
            let files = LabelledFiles::new(of(n), dev.map(of), test.map(of));
            let Splits { train, dev, test } = files.splits().expect("enough examples");
            let found = [train, dev, test].map(|part| part.examples.len());
            assert_eq!(found, sizes, "{n}");
        }
    }
}
