//! `totune data show`.

use anyhow::{Context as _, Result};
use clap::Args;
use totune_data::survey::{choose, show};

use super::{Wordpieces, at_least_one, columns};
use crate::context::Context;
use crate::exit;
use crate::print;

/// Show a few examples, as text and as model input
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune data show fixture-tweets
  totune data show fixture-tweets --encoder fixture-bert --rows 2 --max-length 32
  totune data show conll2003 --split dev --id 12 --encoder bert-base-cased")]
pub struct Show {
    /// Dataset, or path of a card
    name: String,
    /// Split to show [default: train, or else the first that is found]
    #[arg(long)]
    split: Option<String>,
    /// Examples to show, spread over the file
    #[arg(long, value_name = "N", default_value_t = 3)]
    rows: usize,
    /// The example with this id, instead of several
    #[arg(long, conflicts_with = "rows")]
    id: Option<String>,
    #[command(flatten)]
    wordpieces: Wordpieces,
    /// Wordpieces of an example, special tokens included; longer ones are truncated
    #[arg(long, value_name = "L", default_value_t = 128)]
    max_length: usize,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(self, context: &Context) -> Result<u8> {
        at_least_one(self.rows, "--rows")?;
        let card = super::card(context, &self.name)?;
        let tokenizer = self.wordpieces.open(context)?;
        let splits = super::splits(context, &card, self.split.as_deref())?;
        let split = splits.first().context("a split is there")?;
        let dataset = card.load_split(&context.roots.data, split)?;
        let rows = choose(&dataset, self.id.as_deref(), self.rows)?;
        let shown = show(&dataset, &rows, tokenizer.as_ref(), self.max_length)?;
        if self.json {
            print::json(&shown)?;
            return Ok(exit::OK);
        }
        let texts: Vec<String> = shown.iter().map(|shown| shown.text(columns())).collect();
        println!(
            "{} of {} examples of {} {split}\n",
            rows.len(),
            dataset.examples.len(),
            card.name
        );
        print!("{}", texts.join("\n"));
        Ok(exit::OK)
    }
}
