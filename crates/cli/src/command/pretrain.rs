//! `totune pretrain`: train an encoder on plain text.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use totune_disk::{create_folder, write_atomically};
use totune_model::Weights;
use totune_pretrain::export::Exported;
use totune_pretrain::objective::Objective;
use totune_pretrain::page::{Run, write_page};
use totune_pretrain::perplexity::{EvaluatedLm, perplexity};
use totune_pretrain::{Checkpoint, Ended, Event, Folder, Job, Places, Settings, Text, Trainer};
use totune_record::{PerplexityRow, read_pretraining, write_perplexity, write_pretraining};
use totune_sweep::Machine;

use crate::context::Context;
use crate::exit;
use crate::progress::Steps;

/// Pre-train an encoder on plain text, or continue the pre-training of one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune pretrain fixture-mlm                  a tiny encoder on committed text, in seconds
  totune pretrain totune-bert-mini             settings of experiments/pretraining/
  totune pretrain totune-bert-mini --resume    continue, to the same losses bit for bit
  totune pretrain totune-bert-mini --export    write the encoder as it is now

Checkpoints, the vocabulary and the log go to runs/pretraining/<name>/. At the end, or with
--export, the log and the perplexity of held-out text are written to results/pretraining/<name>/,
and the encoder with its card to runs/pretraining/<name>/encoder/, which transformers loads.")]
pub struct Pretrain {
    /// A file, or the name of one in experiments/pretraining/ without `.toml`
    #[arg(required_unless_present = "page")]
    config: Option<String>,
    /// Continue from the newest checkpoint
    #[arg(long)]
    resume: bool,
    /// Write the encoder and its perplexity from the newest checkpoint, without training
    #[arg(long, conflicts_with = "resume")]
    export: bool,
    /// Write a page over all runs, results/pretraining/README.md with figures of their losses
    #[arg(long, conflicts_with_all = ["config", "resume", "export", "to", "steps"])]
    page: bool,
    /// Folder for the encoder [default: runs/pretraining/<name>/encoder]
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
    /// Stop after this many steps, as Ctrl-C would
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
}

impl Pretrain {
    /// Trains, and writes the results.
    pub fn run(self, context: &Context) -> Result<u8> {
        let root = &context.project.root;
        let Some(config) = &self.config else {
            return page(context);
        };
        let (settings, json) = Settings::read(&path(config, context)?)?;
        let folder = Folder::open(&root.join("runs/pretraining").join(&settings.name))?;
        let _lock = if self.export {
            None
        } else {
            Some(folder.lock()?)
        };
        let latest = folder.latest()?.map(|checkpoint| checkpoint.about.step);
        match latest {
            Some(step) => ensure!(
                self.resume || self.export,
                "{}: has a run that took {step} steps; `--resume` continues it, removing the folder starts over",
                folder.path.display()
            ),
            None => ensure!(
                !self.export,
                "{}: has no checkpoint to export",
                folder.path.display()
            ),
        }
        let machine = context.machine()?;
        let encoders = context.roots.of_encoder(&context.project, false);
        let places = Places {
            card_folders: &context.project.card_folders,
            data: &context.roots.data,
            encoders: &encoders,
        };
        if !context.global.quiet {
            eprintln!("reading {}", settings.texts.join(", "));
        }
        let job = Job::prepare(settings, json, places, &folder)?;
        if !context.global.quiet {
            eprintln!("{}", job.text.described());
        }
        let settings = &job.settings;
        let desk = Desk {
            context,
            machine: &machine,
            job: &job,
            folder: &folder,
        };
        match &job.text {
            Text::Wordpieces(pieces) => {
                let objective = pieces.objective(settings)?;
                let start = pieces.start(objective.initial())?;
                let export = |checkpoint: &Checkpoint, to: &Path| pieces.export(checkpoint, to);
                self.carry_out(&desk, &objective, start, &export)
            }
            Text::Words(words) => {
                let objective = words.objective(settings)?;
                let export = |checkpoint: &Checkpoint, to: &Path| words.export(checkpoint, to);
                self.carry_out(&desk, &objective, objective.initial(), &export)
            }
        }
    }

    /// Trains unless only the encoder is requested, and writes the results when all steps are done.
    fn carry_out<O: Objective>(
        &self,
        desk: &Desk,
        objective: &O,
        start: Box<dyn Weights>,
        export: &dyn Fn(&Checkpoint, &Path) -> Result<Exported>,
    ) -> Result<u8> {
        if self.export {
            if let Some(checkpoint) = desk.folder.latest()? {
                let code = totune_sweep::code(&desk.context.project.root);
                let about = desk.job.about(&code, &desk.machine.device_name);
                about.check(&checkpoint.about)?;
            }
        } else {
            let ended = self.train(desk, objective, start)?;
            if !ended.finished {
                desk.write_log()?;
                eprintln!(
                    "interrupted after step {} of {}; rerun with --resume to continue",
                    ended.step,
                    objective.steps()
                );
                return Ok(exit::STOPPED);
            }
        }
        let folder = desk.folder.path.join("encoder");
        desk.publish(objective, export, self.to.as_deref().unwrap_or(&folder))
    }

    fn train<O: Objective>(
        &self,
        desk: &Desk,
        objective: &O,
        mut start: Box<dyn Weights>,
    ) -> Result<Ended<O::Model>> {
        let Desk {
            context,
            machine,
            job,
            folder,
        } = desk;
        let code = totune_sweep::code(&context.project.root);
        let trainer = Trainer {
            objective,
            settings: &job.settings,
            folder,
            device: &machine.device,
            about: job.about(&code, &machine.device_name),
            guessing: job.text.guessing(),
        };
        let mut bar = Steps::new(objective.steps(), context.global.quiet);
        let (mut taken, most) = (0, self.steps.unwrap_or(usize::MAX));
        trainer.run(&mut *start, &mut |event| {
            match event {
                None => taken += 1,
                Some(Event::Row(row)) => bar.row(row),
                Some(Event::Saved(step)) => bar.saved(step),
            }
            if machine.stop.load(Ordering::Relaxed) || taken >= most {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
    }
}

/// The named file, or the project's file of that name.
fn path(config: &str, context: &Context) -> Result<PathBuf> {
    let typed = PathBuf::from(config);
    if typed.extension().is_some_and(|ending| ending == "toml") {
        return Ok(typed);
    }
    context.project.check()?;
    let folder = context.project.root.join("experiments/pretraining");
    let path = folder.join(format!("{config}.toml"));
    if path.is_file() {
        return Ok(path);
    }
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.strip_suffix(".toml").map(String::from)
        })
        .collect();
    names.sort();
    let found = if names.is_empty() {
        "none".to_string()
    } else {
        names.join(", ")
    };
    bail!(
        "unknown pre-training run `{config}`; in {} there are: {found}",
        folder.display()
    )
}

/// Writes the page over all runs.
fn page(context: &Context) -> Result<u8> {
    let root = &context.project.root;
    let results = root.join("results/pretraining");
    let configs = root.join("experiments/pretraining");
    let runs = Run::all(&results, &[&configs, &configs.join("sweep")])?;
    write_page(&results, &runs)?;
    println!("{}", context.shown(&results.join("README.md")));
    Ok(exit::OK)
}

/// Resources shared by the parts of the command.
struct Desk<'a> {
    context: &'a Context,
    machine: &'a Machine,
    job: &'a Job,
    folder: &'a Folder,
}

impl Desk<'_> {
    /// Copies the log to the folder of results, which it returns.
    fn write_log(&self) -> Result<PathBuf> {
        let name = &self.job.settings.name;
        let results = self
            .context
            .project
            .root
            .join("results/pretraining")
            .join(name);
        create_folder(&results)?;
        write_pretraining(&results, &read_pretraining(&self.folder.path)?)?;
        Ok(results)
    }

    /// Writes encoder, log and perplexity of the newest checkpoint, and prints them.
    fn publish<O: Objective>(
        &self,
        objective: &O,
        export: &dyn Fn(&Checkpoint, &Path) -> Result<Exported>,
        encoder: &Path,
    ) -> Result<u8> {
        let name = &self.job.settings.name;
        let device = &self.machine.device;
        let latest = self.folder.latest()?;
        let checkpoint = latest.context("a checkpoint was just there")?;
        let model = objective.load(&mut &checkpoint, device)?;
        let trained = EvaluatedLm {
            model: &model,
            step: checkpoint.about.step,
        };
        let exported = export(&checkpoint, encoder)?;
        let card = self.job.card(&checkpoint, &exported, encoder);
        write_atomically(&encoder.join("card.toml"), card.as_bytes())?;
        let results = self.write_log()?;
        let rows = perplexity(name, objective, &trained, device, &mut |text| {
            if !self.context.global.quiet {
                eprintln!("perplexity of {text}");
            }
        })?;
        write_perplexity(&results, &rows)?;
        print_perplexity(&rows);
        println!();
        println!("{}", self.context.shown(&results));
        println!(
            "{} ({} parameters, {:.1} MB, sha-256 {})",
            self.context.shown(encoder),
            exported.parameters,
            exported.bytes as f64 / 1e6,
            exported.sha256
        );
        Ok(exit::OK)
    }
}

/// A line for each text: the perplexity of the model, of random weights and of unigrams.
fn print_perplexity(rows: &[PerplexityRow]) {
    println!(
        "{:<28} {:>10} {:>10} {:>10} {:>12}",
        "held-out text", "trained", "random", "unigram", "predictions"
    );
    for of_text in rows.chunk_by(|a, b| a.text == b.text) {
        let of = |model: &str| {
            let row = of_text.iter().find(|row| row.model == model);
            row.map_or(f64::NAN, |row| row.perplexity)
        };
        println!(
            "{:<28} {:>10.1} {:>10.0} {:>10.1} {:>12}",
            of_text[0].text,
            of("trained"),
            of("random-weights"),
            of("unigram"),
            of_text[0].n
        );
    }
}
