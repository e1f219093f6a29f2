//! A dataset as read: examples whose counts agree with the card.

use crate::filter::Lists;
use crate::hash::{FieldHash, sha256_hex};
use crate::layout::Layout;
use crate::loss::ClassLoss;
use crate::tags::Tagging;
use crate::{Card, Example, Input, Repeats, SplitFacts, Target, Task};
use anyhow::{Context, Result, anyhow, ensure};
use std::path::Path;
use totune_disk::quoted_for_shell;
use totune_toml::quoted;

/// The examples of one file of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// The card's name.
    pub name: String,
    /// The kind of its targets.
    pub task: Task,
    /// Hash of the content: SHA-256 of the label names, and of id, text, label and group of every example. Two files
    /// with the same examples have the same hash, and a card that reads the same file differently has another.
    pub hash: String,
    /// Label names in the order of their indices; empty for a regression; for a tagging dataset its tags: `O`, `B-PER`,
    /// `I-PER`, …
    pub labels: Vec<String>,
    /// The index of the positive label, where the card names one.
    pub positive: Option<usize>,
    /// Metrics to report, the main one first.
    pub metrics: Vec<String>,
    /// Weighting of the loss that the card asks for.
    pub loss: ClassLoss,
    /// Examples in file order.
    pub examples: Vec<Example>,
    /// The tags of a tagging dataset, and facts about those of the file.
    pub tagging: Option<Tagging>,
}

impl Card {
    /// Reads the `train` split; most datasets here have no other labelled one.
    pub fn load(&self, root: &Path) -> Result<Dataset> {
        self.load_split(root, "train")
    }

    /// Reads `split` below `root`, and refuses it unless its SHA-256, its rows, its labels and its repeated texts are
    /// what the card says.
    pub fn load_split(&self, root: &Path, split: &str) -> Result<Dataset> {
        let known = self.split_names();
        if !known.contains(split) {
            let known = quoted(known);
            let card = self.file.display();
            return Err(anyhow!("{card}: no split `{split}`; expected {known}"));
        }
        let (layout, path) = self.locate(root, split).ok_or_else(|| {
            anyhow!(
                self.missing(root, &[split])
                    .unwrap_or_else(|| format!("dataset `{}`: split `{split}` is gone", self.name))
            )
        })?;
        self.load_file(root, layout, split, &path)
    }

    /// Reads `split` as [`Card::load_split`] does, but in the layout called `name`.
    pub fn load_layout(&self, root: &Path, split: &str, name: &str) -> Result<Dataset> {
        let places = self.places(root, split);
        let place = places.iter().find(|(layout, _)| layout.name == name);
        let (layout, path) = place.ok_or_else(|| {
            let known = quoted(places.iter().map(|(layout, _)| layout.name.as_str()));
            let card = self.file.display();
            anyhow!("{card}: no layout `{name}` with a split `{split}`; expected one of {known}")
        })?;
        self.load_file(root, layout, split, path)
    }

    fn load_file(&self, root: &Path, layout: &Layout, split: &str, path: &Path) -> Result<Dataset> {
        let bytes =
            std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let read = self.read_as(root, layout, split, path, &bytes);
        let file = layout.files.get(split);
        let expected = file.and_then(|file| file.sha256.as_ref());
        let found = sha256_hex(&bytes);
        if let Some(expected) = expected.filter(|expected| **expected != found) {
            let why = read.err().map_or_else(String::new, |error| {
                format!("\nit cannot be read either: {error:#}")
            });
            if self.relative_to_card {
                return Err(anyhow!(
                    "{}{why}",
                    self.has_changed(root, path, [&found, expected])
                ));
            }
            let card = self.file.display();
            return Err(anyhow!(
                "{}: sha256 {found}; expected {expected} ({card}){why}",
                path.display()
            ));
        }
        let (examples, tagging) = read?;
        let stated = file.and_then(|file| file.ill_formed);
        if let (Some(tagging), Some(stated)) = (&tagging, stated) {
            ensure!(
                tagging.ill_formed == stated,
                "{}: {} tags are ill-formed in the scheme `{}`; expected {stated}",
                path.display(),
                tagging.ill_formed,
                tagging.file.name()
            );
        }
        let dataset = self.dataset(examples, tagging);
        if let Some(facts) = self.splits.get(split) {
            facts
                .agree(&dataset)
                .with_context(|| path.display().to_string())
                .map_err(|error| anyhow!("{error:#}"))?;
        }
        Ok(dataset)
    }

    /// The error about a person's own file that is not the one its card was written for.
    fn has_changed(&self, root: &Path, path: &Path, [now, then]: [&str; 2]) -> String {
        let short = |hash: &str| hash.chars().take(8).collect::<String>();
        let train = self.places(root, "train").into_iter().next();
        let train = train.map_or(path.to_path_buf(), |(_, train)| train);
        let card = quoted_for_shell(&self.relative_to.display().to_string());
        let file = train.file_name().map(|name| name.to_string_lossy());
        let has_its_name = file.is_some_and(|file| file.split('.').next() == Some(&self.name));
        let out = if has_its_name {
            String::new()
        } else {
            format!(" --out {card}")
        };
        format!(
            "{} has changed since its card {card} was written (sha256 {} now, {} then): `totune data new {}{out} --replace` \
             describes it as it is now, with the options that it was first described with",
            path.display(),
            short(now),
            short(then),
            quoted_for_shell(&train.display().to_string())
        )
    }

    /// Reads `bytes`, which came from `path`, the file of `split` in `layout`: the rows that belong to the split, or
    /// the card's sample of them; for a tagging dataset also the scheme and the number of ill-formed tags.
    pub(crate) fn read_as(
        &self,
        root: &Path,
        layout: &Layout,
        split: &str,
        path: &Path,
        bytes: &[u8],
    ) -> Result<(Vec<Example>, Option<Tagging>)> {
        let bytes = &*layout.contents(path, bytes)?;
        if self.task == Task::Tagging {
            let (examples, tagging) = self.tagged(layout, split, path, bytes)?;
            return Ok((examples, Some(tagging)));
        }
        let lists = match layout.files.get(split) {
            Some(file) => Lists::read(self, root, file)?,
            None => Lists::default(),
        };
        let examples = self.examples(layout, split, &lists, path, bytes)?;
        let Some(sample) = self.sample.get(split) else {
            return Ok((examples, None));
        };
        let drawn = sample
            .draw(split, &self.labels, examples)
            .with_context(|| path.display().to_string())
            .map_err(|error| anyhow!("{error:#}"))?;
        Ok((drawn, None))
    }

    pub(crate) fn dataset(&self, examples: Vec<Example>, tagging: Option<Tagging>) -> Dataset {
        let tags = tagging.as_ref().map(|tagging| tagging.set.labels());
        let labels = tags.unwrap_or(&self.labels).to_vec();
        let hash = content_hash(self.task, &labels, &examples);
        Dataset {
            name: self.name.clone(),
            task: self.task,
            hash,
            labels,
            positive: self.positive_index(),
            metrics: self.metrics.clone(),
            loss: self.loss,
            examples,
            tagging,
        }
    }
}

impl Dataset {
    /// Returns whether examples are pairs of texts.
    pub fn is_of_pairs(&self) -> bool {
        let mut inputs = self.examples.iter().map(|example| &example.input);
        inputs.any(|input| input.second().is_some())
    }

    /// The number of examples of each label. An example of several labels counts for each, and one without for none.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.labels.len()];
        for example in &self.examples {
            match &example.target {
                Target::Class(class) => counts[*class] += 1,
                Target::Labels(labels) => labels.iter().for_each(|&label| counts[label] += 1),
                Target::Unknown | Target::Value(_) | Target::Tags(_) => {}
            }
        }
        counts
    }

    /// The number of spans of each type; empty unless this is a tagging dataset.
    pub fn span_counts(&self) -> Vec<usize> {
        let Some(Tagging { set, .. }) = &self.tagging else {
            return Vec::new();
        };
        let mut counts = vec![0; set.types().len()];
        for tags in self
            .examples
            .iter()
            .filter_map(|example| example.target.tags())
        {
            for span in set.spans(tags) {
                counts[span.class] += 1;
            }
        }
        counts
    }

    /// The counts that a card states, by name: examples of each label, or for a tagging dataset spans of each type.
    pub fn named_counts(&self) -> Vec<(String, usize)> {
        match &self.tagging {
            Some(Tagging { set, .. }) => {
                let types = set.types().iter().cloned();
                types.zip(self.span_counts()).collect()
            }
            None => self.labels.iter().cloned().zip(self.counts()).collect(),
        }
    }

    /// The number of words; 0 unless this is a tagging dataset.
    pub fn n_words(&self) -> usize {
        let words = |example: &Example| example.input.words().map_or(0, <[String]>::len);
        self.examples.iter().map(words).sum()
    }

    /// Counts repeated texts.
    pub fn repeats(&self) -> Repeats {
        Repeats::of(&self.examples)
    }
}

impl SplitFacts {
    /// Checks `dataset` against this card entry.
    fn agree(&self, dataset: &Dataset) -> Result<()> {
        let rows = dataset.examples.len();
        ensure!(rows == self.rows, "{rows} rows; expected {}", self.rows);
        if let Some(tagging) = &dataset.tagging {
            return self.agree_on_spans(dataset, tagging);
        }
        for ((label, found), expected) in dataset
            .labels
            .iter()
            .zip(dataset.counts())
            .zip(self.counts.iter().flatten())
        {
            ensure!(
                found == *expected,
                "{found} rows are `{label}`; expected {expected}"
            );
        }
        self.agree_on_repeats(dataset)
    }

    fn agree_on_spans(&self, dataset: &Dataset, tagging: &Tagging) -> Result<()> {
        if let Some(expected) = self.words {
            let words = dataset.n_words();
            ensure!(words == expected, "{words} words; expected {expected}");
        }
        let found = dataset.span_counts();
        for ((name, found), expected) in tagging
            .set
            .types()
            .iter()
            .zip(found)
            .zip(self.counts.iter().flatten())
        {
            ensure!(
                found == *expected,
                "{found} spans are `{name}`; expected {expected}"
            );
        }
        self.agree_on_repeats(dataset)
    }

    fn agree_on_repeats(&self, dataset: &Dataset) -> Result<()> {
        if let Some(expected) = self.repeats {
            let repeats = dataset.repeats().rows;
            ensure!(
                repeats == expected,
                "{repeats} rows repeat an earlier text; expected {expected}"
            );
        }
        Ok(())
    }
}

fn content_hash(task: Task, labels: &[String], examples: &[Example]) -> String {
    let mut hash = FieldHash::new();
    // The targets of the other tasks say which one it is.
    if task == Task::Ordinal {
        hash.add("ordinal");
    }
    hash.add(&labels.len().to_string());
    labels.iter().for_each(|label| hash.add(label));
    for example in examples {
        hash.add(&example.id);
        match &example.input {
            Input::Text(text) => {
                hash.add("text");
                hash.add(text);
            }
            Input::Pair(first, second) => {
                hash.add("pair");
                hash.add(first);
                hash.add(second);
            }
            Input::Words(words) => {
                hash.add(&format!("words {}", words.len()));
                words.iter().for_each(|word| hash.add(word));
            }
        }
        match &example.target {
            Target::Unknown => hash.add("unknown"),
            Target::Class(class) => hash.add(&format!("class {class}")),
            // The shortest text that reads back as the same number.
            Target::Value(value) => hash.add(&format!("value {value}")),
            Target::Labels(labels) => hash.add(&format!("labels {labels:?}")),
            Target::Tags(tags) => hash.add(&format!("tags {tags:?}")),
        }
        match &example.group {
            Some(group) => hash.add(&format!("group {group}")),
            None => hash.add("no group"),
        }
    }
    hash.finish()
}
