//! `totune data new`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use totune_data::guess::draft;
use totune_disk::{folder_of, quoted_for_shell, write_atomically};

use super::hints::HintArgs;
use super::{unreadable, write_new};
use crate::context::Context;
use crate::exit;

/// Write a card for your own file, inferred from its content
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune data new reviews.csv
  totune data new data/reviews_train.tsv --text body --label stars --task regression
  totune data new letters.csv --task multi-label --label topics --label-separator ';'
  totune data new stays.csv --task ordinal --label grade --order bad,fair,good
  totune data new entities.jsonl --tags O,B-PER,I-PER
  totune data new reviews.csv --replace        the file has changed, or was read wrongly
  totune data new export.csv.gz --encoding windows-1252 --empty drop

Reads CSV, TSV, JSON arrays, JSON lines, parquet and word-per-line columns, also compressed with
gzip or zstd (names that end in .gz or .zst); files of other splits in the same folder (train, dev,
test) are added. The card of a file below the data root goes to datasets/ of the project, where
experiments find it by name; any other next to its file, and commands take its path. What is not
clear is asked for by the name of the option.")]
pub struct New {
    /// File with the training rows
    file: PathBuf,
    #[command(flatten)]
    hints: HintArgs,
    /// File to write the card to; its name is that of the dataset
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the card anew where there is one, as for a file that has changed; what was edited in it is lost
    #[arg(long)]
    replace: bool,
}

/// The whole path of the folder of a card that is to be written, which may not exist yet.
fn whole_folder_of(card: &Path) -> Result<PathBuf> {
    let folder = folder_of(card);
    let found = fs::canonicalize(folder).or_else(|_| std::path::absolute(folder));
    found.with_context(|| format!("--out: {}: cannot be looked at", folder.display()))
}

impl New {
    pub(super) fn run(self, context: &Context) -> Result<u8> {
        ensure!(self.file.is_file(), unreadable(&self.file));
        let file = fs::canonicalize(&self.file).with_context(|| unreadable(&self.file))?;
        let mut hints = self.hints.hints();
        let root = fs::canonicalize(&context.roots.data).ok();
        let is_named_there = self.out.is_none() && context.project.check().is_ok();
        let root = root.filter(|root| is_named_there && file.starts_with(root));
        let beside = root.is_none();
        let own = file.parent().unwrap_or(Path::new("/")).to_path_buf();
        let folder = match (root, &self.out) {
            (Some(root), _) => root,
            (None, Some(out)) => whole_folder_of(out)?,
            (None, None) => own.clone(),
        };
        if let (None, Some(out)) = (&hints.name, &self.out) {
            hints.name = out
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned());
        }
        let draft = draft(&file, &hints, &folder, beside)?;
        if let Some(out) = &self.out {
            // A card in the place of a data file would be the end of the data.
            ensure!(
                out.extension().is_some_and(|end| end == "toml"),
                "--out: found `{}`, expected a name that ends in .toml",
                out.display()
            );
        }
        let path = match (self.out, beside) {
            (Some(out), _) => out,
            (None, true) => folder.join(format!("{}.toml", draft.name)),
            (None, false) => {
                let cards = context.project.root.join("datasets");
                cards.join(format!("{}.toml", draft.name))
            }
        };
        let is_there = path.exists();
        ensure!(
            self.replace || !is_there,
            "{}: is already there and never overwritten without --replace; --out gives the new one another name",
            path.display()
        );
        if is_there {
            write_atomically(&path, draft.text.as_bytes())?;
        } else {
            write_new(&path, &draft.text)?;
        }
        for note in &draft.notes {
            eprintln!("{note}");
        }
        print!("{}", draft.text);
        let shown = context.shown(&path);
        let name = if beside {
            shown.as_str()
        } else {
            draft.name.as_str()
        };
        eprintln!(
            "\nwritten to {shown}; look it over, then: totune data check {}",
            quoted_for_shell(name)
        );
        if beside {
            eprintln!(
                "an experiment on it, in a project: totune experiment new {}",
                quoted_for_shell(&shown)
            );
        }
        Ok(exit::OK)
    }
}
