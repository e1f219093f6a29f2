//! `totune compare`.

mod folder;
mod progress;
mod terminal;

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use totune_adapt::{Dtype, Strategy, Switch};
use totune_compare::{Clock, Comparison, DatasetSplits, Errors, Outcome, Request, compare, page};
use totune_data::Card;
use totune_keep::Saved;
use totune_sweep::Machine;

use self::folder::Folder;
use self::progress::Line;
use crate::command::data::{self, hints::HintArgs};
use crate::command::train;
use crate::command::train::fit::{Origin, ToSave};
use crate::command::train::options::as_options;
use crate::command::train::summary::print_saved;
use crate::context::Context;
use crate::exit;
use crate::interval::budget;
use crate::print;

/// Find the best strategy for your own data: floors first, then a race of strategies within a time budget
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune compare reviews.csv
  totune compare reviews.csv --budget 2m --encoder all-minilm-l6-v2 --strategies frozen,full
  totune compare reviews.csv --budget 30m --encoder totune-bert-mini,all-minilm-l6-v2
  totune compare reviews.csv --save my-model
  totune compare export.csv.gz --label stars --encoding windows-1252 --empty drop
  totune compare sst-2 --budget 30m --json
  totune compare sts-b --pairs separate

Takes a file as `totune data new` does (its card is written next to it), a card, or the name of a
dataset.
Strategies: frozen, full, last-<k>, two-phase, lp-ft, lora, gradual, bitfit, adapters,
prefix-tuning, auto-freeze, as in `totune train`.
Ctrl-C gives the result so far.")]
pub struct Compare {
    /// File with labelled rows, card, or name of a dataset
    what: String,
    /// Time for everything, such as 90s, 10m, 1h or 5m30s
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = budget)]
    budget: Duration,
    /// Encoder to compare them on; several by repeating it, or separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = train::ENCODER)]
    encoder: Vec<String>,
    /// Strategies to compare, separated by commas [default: all but adapters, prefix-tuning, auto-freeze and, where
    /// there are no pairs, lp-ft, as far as they fit into the budget]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    strategies: Vec<String>,
    /// Encoding of the two texts of a pair [default: separate for lp-ft, which is compared for pairs, else joint]
    #[arg(long, value_name = "ENCODING")]
    pairs: Option<train::PairsName>,
    /// Dtype of the arithmetic [default: bf16-mixed where the device multiplies it faster, else f32]
    #[arg(long, value_name = "DTYPE")]
    dtype: Option<train::DtypeName>,
    /// Seeds of the leaders, at most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    seeds: u16,
    /// Differences up to this one do not matter
    #[arg(
        long,
        value_name = "SCORE",
        default_value_t = 0.01,
        allow_negative_numbers = true
    )]
    margin: f64,
    /// Folder for the page and the numbers [default: compare/<name> below the current folder]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Replace what is in that folder, also if it is the result of other data
    #[arg(long)]
    replace: bool,
    /// New folder for the model of the chosen strategy (of the best one, where a floor was chosen), as `totune train`
    /// writes it
    #[arg(long, value_name = "FOLDER")]
    save: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hints: HintArgs,
}

/// The strategies of these names.
pub(super) fn strategies(names: &[String]) -> Result<Vec<Strategy>> {
    let known = |name: &String| {
        let parsed = name.parse();
        parsed.with_context(|| format!("--strategies: unknown strategy `{name}`"))
    };
    let mut seen = HashSet::new();
    let names = names.iter().filter(|name| seen.insert(*name));
    names.map(known).collect()
}

impl Compare {
    /// Refuses encoders without a card or without files.
    fn check_encoders(&self, context: &Context) -> Result<()> {
        let encoders = context.project.encoders()?;
        for name in &self.encoder {
            let card = encoders.find(name)?;
            let places = context.roots.of_encoder(&context.project, card.fixture);
            if let Some(missing) = card.missing(&places) {
                bail!("{missing}");
            }
        }
        Ok(())
    }

    /// Compares, prints the result and writes the page.
    pub fn run(self, context: &Context, start: Instant) -> Result<u8> {
        ensure!(
            (0.0..1.0).contains(&self.margin),
            "--margin: found {}, expected 0 or more and less than 1; five points are 0.05",
            self.margin
        );
        let strategies = strategies(&self.strategies)?;
        let mut seen = HashSet::new();
        let mut encoders = self.encoder.clone();
        encoders.retain(|name| seen.insert(name.clone()));
        if let Some(folder) = &self.save {
            totune_keep::check_free(folder)?;
        }
        let machine = context.machine()?;
        self.check_encoders(context)?; // before a card is written
        let card = data::card_of(context, &self.what, &self.hints.hints())?;
        let pairs = train::pairs(self.pairs, &card)?;
        let data = DatasetSplits::read(&card, &context.roots.data)?;
        let out = self.out.clone();
        let out = out.unwrap_or_else(|| Path::new("compare").join(&data.name));
        let folder = Folder::open(&out, &data, self.replace)?; // before the minutes that follow
        // With `--json` only what a program asked for.
        let line = Line::new(context.global.quiet || (self.json && !print::is_json()));
        let request = Request {
            encoders,
            pairs,
            dtype: self
                .dtype
                .map_or_else(|| Dtype::fastest(&machine.device), Dtype::from),
            strategies,
            clock: Clock::new(start, self.budget),
            most_seeds: usize::from(self.seeds),
            margin: self.margin,
            keeps_model: self.save.is_some(),
        };
        let outcome = compare(&data, context.environment(&machine), &request, &line)
            .map_err(|error| as_options(error, &[("adaptation.k", "--strategies")]))?;
        line.finish();
        let comparison = &outcome.comparison;
        let train = self.train_command(comparison, &card);
        let html = html(&outcome, &context.global.words, train.as_deref())?;
        // Before anything is printed: whoever reads that may go away.
        let written = folder.write(comparison, &html)?;
        let (is_saved, saved) = self.saved(context, &machine, (&card, &data), &outcome)?;
        if self.json {
            print::json(comparison)?;
        } else {
            print!("{}", terminal::table(comparison));
            if let (Some(train), None) = (&train, &self.save) {
                println!("\nTo train and keep this model:\n  {train}");
            }
        }
        if let (Some(page), false) = (written, self.json) {
            println!("\n{}", page.display());
        }
        match &saved {
            Some(saved) if self.json => eprintln!("saved {}", saved.dir.display()),
            Some(saved) => print_saved(saved),
            None => {}
        }
        Ok(match (comparison.stopped, &comparison.chosen) {
            (true, _) => exit::STOPPED,
            (false, Some(_)) if is_saved => exit::OK,
            (false, _) => exit::SOME_FAILED,
        })
    }

    /// Saves the model, if requested; returns true if nothing is missing, and what was saved.
    fn saved(
        &self,
        context: &Context,
        machine: &Machine,
        (card, data): (&Card, &DatasetSplits),
        outcome: &Outcome,
    ) -> Result<(bool, Option<Saved>)> {
        let Some(folder) = &self.save else {
            return Ok((true, None));
        };
        let Some(model) = &outcome.model else {
            let shown = folder.display();
            let why = if outcome.comparison.stopped {
                "interrupted"
            } else {
                "no strategy was trained to its end within the budget"
            };
            eprintln!("no model was saved as {shown}: {why}");
            return Ok((false, None));
        };
        let comparison = &outcome.comparison;
        if let Some(kept) = comparison.kept()
            && Some(&kept.name) != comparison.chosen.as_ref()
        {
            eprintln!(
                "what was chosen trains no encoder; the model that is saved is that of the best strategy, `{}`",
                kept.name
            );
        }
        let encoders = context.project.encoders()?;
        let train = data.splits.train();
        let saved = ToSave {
            outcome: &model.outcome,
            sample: &model.sample,
            sizes: model.sizes,
            metrics: &train.metrics,
            origin: Origin {
                spec: &model.run,
                is_listed: false,
                card,
                train,
                hash: &data.hash,
                encoder: encoders.find(model.encoder()?)?,
            },
            dir: &model.dir,
            checkpoint: &model.checkpoint,
            adapter: Switch::Off,
        }
        .save(context, machine, folder)?;
        Ok((true, Some(saved)))
    }

    /// The command that trains the chosen model and saves it; `None` where a floor was chosen.
    fn train_command(&self, comparison: &Comparison, card: &Card) -> Option<String> {
        let chosen = comparison.chosen.as_ref()?;
        let row = comparison.rows.iter().find(|row| row.name == *chosen)?;
        let path = Path::new(&self.what);
        let named = !path.is_file();
        let file = card.file.display().to_string();
        let dataset = if named { &self.what } else { &file };
        Some(train::command(
            dataset,
            row.encoder.as_ref()?,
            row.recipe.as_ref()?,
        ))
    }
}

/// The page of the command line `words`; `train` is the command that trains the chosen model.
fn html(outcome: &Outcome, words: &[OsString], train: Option<&str>) -> Result<String> {
    let test = outcome.test.as_ref();
    let errors = test.map_or_else(Errors::default, |(test, predictions)| {
        Errors::of(test, predictions)
    });
    let words = words
        .iter()
        .map(|word| totune_disk::quoted_for_shell(&word.to_string_lossy()));
    let command = words.collect::<Vec<_>>().join(" ");
    page(&outcome.comparison, &errors, &command, train)
}
