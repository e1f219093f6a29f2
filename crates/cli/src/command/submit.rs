//! `totune submit`: predictions of an unlabelled test set, in the form in which the benchmark takes them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clap::Args;
use totune_data::{Card, Target, Task};
use totune_disk::{create_folder, write_atomically};
use totune_record::PredictionRow;
use totune_sweep::HIDDEN;

use crate::context::Context;
use crate::exit;

/// Write a run's predictions on an unlabelled test set in the format of GLUE's site
///
/// A run predicts such a set if its split names it:
/// `split = { kind = "files", test = "dev", predict = ["test"], … }`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  totune submit 5f2c9a1be07d4433 --to submission/")]
pub struct Submit {
    /// Id of the run, as `totune sweep plan` lists it
    pub run: String,
    /// Folder for the files; created if it does not exist
    #[arg(long, value_name = "FOLDER", default_value = "submission")]
    pub to: PathBuf,
}

impl Submit {
    /// Writes a file for each unlabelled split that the run predicted.
    pub fn run(self, context: &Context) -> Result<u8> {
        ensure!(
            context.store.folder(&self.run).is_dir(),
            "there is no run `{}`; `totune sweep plan` lists them by their ids",
            self.run
        );
        let tables = context.store.tables(&self.run)?;
        let run = tables.runs.first();
        let run = run.with_context(|| format!("run {}: its table of runs is empty", self.run))?;
        let cards = context.project.datasets()?;
        let card = cards.find(&run.dataset)?;
        let mut splits: BTreeMap<&str, Vec<&PredictionRow>> = BTreeMap::new();
        for row in &tables.predictions {
            if let Some(split) = row.split.strip_prefix(HIDDEN) {
                splits.entry(split).or_default().push(row);
            }
        }
        ensure!(
            !splits.is_empty(),
            "run {}: found predictions of no unlabelled split, expected one under `predict` in the split of its experiment",
            self.run
        );
        let mut files = Vec::new();
        for (split, rows) in splits {
            let answers = rows.iter().map(|row| answer(card, row));
            let answers = answers.collect::<Result<Vec<_>>>()?;
            let ids = rows.iter().map(|row| row.example_id.as_str());
            files.push(card.submission(split, ids, &answers)?);
        }
        create_folder(&self.to)?;
        for file in files {
            let path = self.to.join(file.file);
            write_atomically(&path, &file.bytes)?;
            println!("{}", path.display());
        }
        Ok(exit::OK)
    }
}

/// The prediction of a row as a target.
fn answer(card: &Card, row: &PredictionRow) -> Result<Target> {
    let found = &row.predicted;
    let target = match card.task {
        Task::Regression => found.parse().ok().map(Target::Value),
        Task::Classification | Task::Ordinal => {
            let class = card.labels.iter().position(|label| label == found);
            class.map(Target::Class)
        }
        Task::MultiLabel | Task::Tagging => bail!(
            "dataset `{}`: the task is {}; expected a classification or a regression, which benchmarks take files of",
            card.name,
            card.task.word()
        ),
    };
    target.ok_or_else(|| {
        anyhow!(
            "example `{}`: `{found}` is no answer of dataset `{}`",
            row.example_id,
            card.name
        )
    })
}
