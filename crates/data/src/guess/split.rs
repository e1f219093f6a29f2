//! The files of the splits, read with the findings about one of them.

use super::odd::is_number;
use super::shown::{listed, shown};
use super::spellings::is_missing;
use super::{Findings, head, layout_text, of_file, parsed};
use crate::format::Row;
use crate::hash::sha256_hex;
use crate::survey::Measured;
use crate::{Card, Target, Task};
use anyhow::{Context, Result, anyhow};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use totune_toml::near;

/// A split as it was read.
pub(super) struct Split {
    pub name: String,
    /// The path below the card's folder.
    pub path: PathBuf,
    pub sha256: String,
    /// The reason why it has no answers, if it has none.
    pub unlabelled: Option<String>,
    pub measured: Measured,
    /// The lowest and the highest score of a regression.
    pub range: Option<[f64; 2]>,
}

/// The outcome for one file.
pub(super) enum Found {
    Split(Split),
    /// It is not among the splits, for this reason.
    LeftOut(String),
}

/// Reader of the files of the splits.
pub(super) struct Reader<'a> {
    pub findings: &'a Findings,
    /// The dataset's name.
    pub name: &'a str,
    /// The file that the findings are about.
    pub file: &'a Path,
    /// The card's folder.
    pub folder: &'a Path,
}

impl Reader<'_> {
    /// Reads the file of `split`.
    ///
    /// # Errors
    /// When the file of the findings cannot be read, or when answers of another one are not as those in it. A file
    /// without answers is none.
    pub(super) fn read(&self, split: &str, path: &Path) -> Result<Found> {
        let bytes =
            std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let labelled = self.read_as(split, path, &bytes, true);
        let error = match labelled {
            Ok(found) if path == self.file || self.has_answers(&found) => {
                return Ok(Found::Split(found));
            }
            Err(error) if path == self.file => return Err(error),
            Ok(_) => anyhow!("{}: no answers were found in it", path.display()),
            Err(error) => error,
        };
        let Ok(mut found) = self.read_as(split, path, &bytes, false) else {
            return Ok(Found::LeftOut(of_file(path, &error)));
        };
        // The rest of it can be read, so that its answers are missing or wrong.
        let card = self.card(split, path, true)?;
        match self.hidden(&card, path, &bytes) {
            Some(reason) if split != "train" => {
                found.unlabelled = Some(reason);
                Ok(Found::Split(found))
            }
            Some(reason) => Ok(Found::LeftOut(format!("{}: {reason}", path.display()))),
            None => Err(self.wrong(&card, path, &bytes, error)),
        }
    }

    /// A card for the file of `split` only.
    fn card(&self, split: &str, path: &Path, labelled: bool) -> Result<Card> {
        let labelled = if labelled { "" } else { "labelled = false\n" };
        // Scores of another file may be lower or higher.
        let range = self.findings.range.map(|_| [f64::MIN, f64::MAX]);
        let text = format!(
            "{}\n[splits.{split}]\nrows = 0\n{labelled}\n{}",
            head(self.name, false, self.findings, range),
            layout_text(self.findings, &[(split, self.below(path), None)])
        );
        parsed(&text, self.name, self.folder)
    }

    fn below<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(self.folder).unwrap_or(path)
    }

    fn read_as(&self, split: &str, path: &Path, bytes: &[u8], labelled: bool) -> Result<Split> {
        let card = self.card(split, path, labelled)?;
        let layout = card.layouts.first().context("one layout was written")?;
        let (examples, tagging) = card.read_as(self.folder, layout, split, path, bytes)?;
        let dataset = card.dataset(examples, tagging);
        let scores = dataset.examples.iter().map(|example| &example.target);
        let range = scores.fold(None, |range: Option<[f64; 2]>, target| match target {
            Target::Value(score) => {
                let [low, high] = range.unwrap_or([*score; 2]);
                Some([low.min(*score), high.max(*score)])
            }
            _ => range,
        });
        Ok(Split {
            name: split.to_string(),
            path: self.below(path).to_path_buf(),
            sha256: sha256_hex(bytes),
            unlabelled: None,
            measured: Measured::of(&dataset),
            range,
        })
    }

    /// Returns whether a split has an answer that is not one placeholder in each row.
    fn has_answers(&self, split: &Split) -> bool {
        let is_one_outside = |([low, high], [least, most]): ([f64; 2], [f64; 2])| {
            low == high && (low < least || high > most)
        };
        let ranges = split.range.zip(self.findings.range);
        let Measured {
            rows, unlabelled, ..
        } = split.measured;
        unlabelled < rows && !(rows > 1 && ranges.is_some_and(is_one_outside))
    }

    /// The reason why a file has no answers: no column for them, or the same placeholder in each row.
    fn hidden(&self, card: &Card, path: &Path, bytes: &[u8]) -> Option<String> {
        let layout = card.layouts.first()?;
        let bytes = layout.contents(path, bytes).ok()?;
        let columns = &layout.columns;
        let names = columns.label.names();
        let without = || Some(format!("it has no column {}", listed(names)));
        let mut values: BTreeSet<String> = BTreeSet::new();
        let mut n = 0;
        if card.task == Task::Tagging {
            let read = |labelled: bool| layout.format.sentences(path, &bytes, columns, labelled);
            match read(true) {
                Ok(sentences) => {
                    for sentence in sentences.all {
                        values.extend(sentence.tags.into_iter().flatten());
                        n += 1;
                    }
                }
                Err(error) => {
                    let first = read(false).ok()?.all.first()?.line;
                    return (error.line <= first).then(without)?;
                }
            }
        } else {
            let is_list = |name: &str| columns.is_list(card.task, name);
            let table = layout
                .format
                .table_with_lists(path, &bytes, None, &is_list)
                .ok()?;
            let place = |name: &String| table.columns().iter().position(|column| column == name);
            let places: Vec<usize> = names.iter().filter_map(place).collect();
            if places.is_empty() {
                return without();
            }
            for row in table.rows() {
                values.extend(places.iter().map(|&at| row.fields[at].to_string()));
                n += 1;
            }
        }
        let value = values.first().filter(|_| values.len() == 1)?;
        let is_placeholder = value.is_empty() || value == "-1" || is_missing(value) || n > 1;
        (is_placeholder && !card.labels.contains(value)).then(|| match value.trim() {
            "" => format!("{} is empty in each row", listed(names)),
            _ => format!("{} is `{}` in each row", listed(names), shown(value)),
        })
    }

    /// The error about the first answer that is not as those of the findings; `error` is that of the card's reader.
    fn wrong(&self, card: &Card, path: &Path, bytes: &[u8], error: anyhow::Error) -> anyhow::Error {
        let own = self.file.file_name().unwrap_or_default().to_string_lossy();
        let end = "; correct that row, or move the file elsewhere to leave it out";
        self.first_wrong(card, path, bytes, &own).map_or_else(
            || anyhow!("{error:#}, as in {own}{end}"),
            |error| anyhow!("{error}{end}"),
        )
    }

    /// The first answer of a task with one answer for each row that the findings do not have.
    fn first_wrong(&self, card: &Card, path: &Path, bytes: &[u8], own: &str) -> Option<String> {
        let is_score = card.task == Task::Regression;
        let has_one = is_score || matches!(card.task, Task::Classification | Task::Ordinal);
        let layout = card.layouts.first().filter(|_| has_one)?;
        let bytes = layout.contents(path, bytes).ok()?;
        let name = layout.columns.label.first();
        let table = layout.format.table(path, &bytes, Some(&[name])).ok()?;
        let column = table.index(name);
        let is_known = |row: &Row| {
            let value = row.fields[column].as_ref();
            layout.unlabelled.as_deref() == Some(value)
                || is_score && is_number(value)
                || card.labels.iter().any(|label| label == value)
        };
        let row = table.rows().find(|row| !is_known(row))?;
        let known = table.rows().filter(is_known).count();
        let value = row.fields[column].as_ref();
        let found = match value {
            "" => format!("`{}` is empty", shown(name)),
            _ if is_score => format!("`{}` in `{}` is no number", shown(value), shown(name)),
            _ => format!("`{}` is no label of {own}", shown(value)),
        };
        let labels = card.labels.iter().map(String::as_str);
        let hint = near(value, labels)
            .filter(|_| !value.is_empty())
            .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        let expected = if is_score {
            "a number".to_string()
        } else {
            format!("one of {}", listed(&card.labels))
        };
        let n = table.n_rows();
        let problem = format!("{found}{hint}; expected {expected}, as {known} of {n} rows have");
        Some(table.error(row.line, problem).to_string())
    }
}
