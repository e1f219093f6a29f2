//! `totune data fetch` and `totune encoders fetch`: bring what the cards say can be fetched.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use clap::Args;
use indicatif::HumanBytes;
use serde::Serialize;
use totune_checkpoint::Format;
use totune_data::{Card, Catalogue};
use totune_fetch::{
    Allow, Fetch, Fetcher, Job, Kind, Progress, Settings, Sha256, Silent, Source, State,
};
use totune_model::{EncoderCard, EncoderCatalogue};

use crate::context::Context;
use crate::download_progress::Shown;
use crate::{exit, signals};

const EXIT: &str = "\
Exit codes:
  0    everything asked for is there and verified; with --dry-run: nothing is missing
  1    something is missing, could not be fetched, or has no public download (its instructions are
       printed)
  2    unknown name, or a card that cannot be read
  130  interrupted by Ctrl-C or SIGTERM; rerun the same command to resume";

/// Fetch the files of datasets, verify them and put them where they belong
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:\n  totune data fetch --dry-run\n  totune data fetch rte\n\n{EXIT}"))]
pub struct FetchDatasets {
    /// Datasets to fetch; all that can be fetched when none is named
    pub names: Vec<String>,
    /// How.
    #[command(flatten)]
    pub how: How,
}

/// Fetch pretrained encoders into the Hub's cache, which Python's tools share
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:\n  totune encoders fetch --dry-run\n  totune encoders fetch bert-base-uncased\n\n{EXIT}"))]
pub struct FetchEncoders {
    /// Encoders to fetch; all that can be fetched when none is named
    pub names: Vec<String>,
    /// How.
    #[command(flatten)]
    pub how: How,
}

/// How things are fetched.
#[derive(Debug, Args)]
pub struct How {
    /// Say what would be fetched, from where and how large it is, and fetch nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print a JSON document instead of lines
    #[arg(long)]
    pub json: bool,
    /// Open no socket: say what is there and what is missing (also HF_HUB_OFFLINE=1)
    #[arg(long)]
    pub offline: bool,
    /// Take files whose card has no SHA-256 as they come, and print the hash that they have
    #[arg(long)]
    pub accept_unverified: bool,
    /// Replace files that lie in the place of a download and are not it
    #[arg(long)]
    pub replace: bool,
}

/// What a card wants, and what there is by hand.
struct Wanted {
    name: String,
    instructions: String,
    jobs: Vec<Job>,
    /// The files, where all of them are there in a way of their own, such as in another layout.
    otherwise: Option<Vec<PathBuf>>,
}

/// What became of one card.
#[derive(Debug, Serialize)]
struct Outcome {
    name: String,
    files: Vec<FileOutcome>,
    /// How to get it by hand, where it cannot be fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
}

/// What became of one download.
#[derive(Debug, Default, Serialize)]
struct FileOutcome {
    file: String,
    /// `verified`, `unverified`, `fetched`, `missing`, `wrong` or `failed`.
    state: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Size of the download.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Bytes that came over the wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<u64>,
    /// The hash that the card lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl FetchDatasets {
    /// Fetches.
    pub fn run(self, context: &Context) -> Result<u8> {
        let catalogue = Catalogue::read(&context.project.root.join("datasets"))?;
        let cards: Vec<&Card> = match self.names.is_empty() {
            true => catalogue
                .cards()
                .iter()
                .filter(|card| !card.fetch.is_empty())
                .collect(),
            false => self
                .names
                .iter()
                .map(|name| catalogue.find(name))
                .collect::<Result<_>>()?,
        };
        let settings = self.how.settings();
        let wanted = cards
            .into_iter()
            .map(|card| of_dataset(context, &settings, card))
            .collect::<Result<_>>()?;
        self.how.run(context, settings, wanted)
    }
}

impl FetchEncoders {
    /// Fetches.
    pub fn run(self, context: &Context) -> Result<u8> {
        let catalogue = EncoderCatalogue::read(&context.project.root.join("encoders"))?;
        let names: Vec<&str> = match self.names.is_empty() {
            true => catalogue.names(),
            false => self.names.iter().map(String::as_str).collect(),
        };
        let mut wanted = Vec::new();
        for name in names {
            let card = catalogue.find(name)?;
            if !self.names.is_empty() || !card.fetch.is_empty() {
                wanted.push(of_encoder(context, card));
            }
        }
        self.how.run(context, self.how.settings(), wanted)
    }
}

fn of_dataset(context: &Context, settings: &Settings, card: &Card) -> Result<Wanted> {
    let files = card.layouts.iter().flat_map(|layout| layout.files.values());
    let known: BTreeMap<String, Sha256> = files
        .filter_map(|file| {
            let sha256 = Sha256::try_from(file.sha256.clone()?).ok()?;
            Some((file.path.to_str()?.to_string(), sha256))
        })
        .collect();
    let job = |download| Job {
        download,
        root: context.roots.data.clone(),
        cache: settings.hub_cache.clone(),
        folders: Vec::new(),
        known: known.clone(),
    };
    let splits: Vec<&str> = card.split_names().into_iter().collect();
    let there = splits
        .iter()
        .map(|split| Some(card.locate(&context.roots.data, split)?.1))
        .collect();
    Ok(Wanted {
        name: card.name.clone(),
        instructions: card.instructions.trim().to_string(),
        jobs: card
            .fetch
            .iter()
            .flat_map(Fetch::downloads)
            .map(job)
            .collect(),
        otherwise: there,
    })
}

fn of_encoder(context: &Context, card: &EncoderCard) -> Wanted {
    // What is fetched goes into the user's folder.
    let mut places = context.roots.of_encoder(&context.project, card.fixture);
    let root = places.remove(0);
    let job = |mut download: totune_fetch::Download| {
        if let (Source::Hub { path, .. }, None) = (&download.source, &download.sha256) {
            // Of weights in one file the card knows the hash.
            let format = Format::ALL
                .into_iter()
                .find(|format| format.file_name() == path.as_str());
            download.sha256 = format
                .and_then(|format| card.sha256.get(&format).cloned())
                .and_then(|sha256| Sha256::try_from(sha256).ok());
        }
        Job {
            download,
            root: root.clone(),
            cache: root.clone(),
            folders: card
                .folders
                .iter()
                .map(|folder| root.join(folder))
                .collect(),
            known: BTreeMap::new(),
        }
    };
    Wanted {
        name: card.name.clone(),
        instructions: card.instructions.trim().to_string(),
        jobs: card
            .fetch
            .iter()
            .flat_map(Fetch::downloads)
            .map(job)
            .collect(),
        otherwise: card
            .locate(std::slice::from_ref(&root))
            .map(|folder| vec![folder])
            .filter(|_| card.fetch.is_empty()),
    }
}

impl How {
    fn settings(&self) -> Settings {
        let mut settings = Settings::of_process();
        settings.offline |= self.offline;
        settings
    }

    fn run(&self, context: &Context, settings: Settings, wanted: Vec<Wanted>) -> Result<u8> {
        let stop = signals::stop_flag()?;
        let fetcher = Fetcher::new(settings);
        let progress: Box<dyn Progress> = match context.global.quiet || self.dry_run {
            true => Box::new(Silent),
            false => Box::new(Shown::new()),
        };
        if wanted.is_empty() && !self.json {
            println!("no card says where it can be fetched; name one for its instructions");
        }
        let mut code = exit::OK;
        let mut outcomes = Vec::new();
        for card in &wanted {
            let outcome = self.card(&fetcher, card, progress.as_ref(), &stop);
            let well =
                |file: &FileOutcome| matches!(file.state, "verified" | "unverified" | "fetched");
            if !outcome.files.iter().all(well) || outcome.instructions.is_some() {
                code = exit::SOME_FAILED;
            }
            if !self.json {
                outcome.print(context);
            }
            outcomes.push(outcome);
            if stop.load(Ordering::Relaxed) {
                code = exit::STOPPED;
                break;
            }
        }
        if self.json {
            println!("{}", serde_json::to_string_pretty(&outcomes)?);
        } else if self.dry_run {
            print_total(&outcomes);
        }
        Ok(code)
    }

    fn card(
        &self,
        fetcher: &Fetcher,
        card: &Wanted,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Outcome {
        let mut files = Vec::new();
        for job in &card.jobs {
            files.push(match self.dry_run {
                true => look(fetcher, job, stop),
                false => self.fetch(fetcher, job, progress, stop),
            });
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        if let (true, Some(paths)) = (card.jobs.is_empty(), &card.otherwise) {
            files.push(FileOutcome {
                file: card.name.clone(),
                state: "unverified",
                paths: paths.clone(),
                ..FileOutcome::default()
            });
        }
        let by_hand = card.jobs.is_empty() && card.otherwise.is_none();
        Outcome {
            name: card.name.clone(),
            files,
            instructions: by_hand.then(|| card.instructions.clone()),
        }
    }

    fn fetch(
        &self,
        fetcher: &Fetcher,
        job: &Job,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> FileOutcome {
        let file = job.name();
        let allow = Allow {
            unverified: self.accept_unverified,
            replacing: self.replace,
        };
        match fetcher.fetch(job, allow, progress, stop) {
            Ok(fetched) => FileOutcome {
                file,
                state: if fetched.from.is_some() {
                    "fetched"
                } else {
                    "verified"
                },
                paths: fetched.files,
                received: fetched.from.is_some().then_some(fetched.bytes),
                from: fetched.from,
                size: job.download.size,
                sha256: fetched.sha256,
                error: None,
            },
            Err(error) => {
                let hint = match error.kind {
                    Kind::Unverified => " (--accept-unverified)",
                    Kind::InTheWay => " (--replace)",
                    _ => "",
                };
                let state = if error.kind == Kind::Offline {
                    "missing"
                } else {
                    "failed"
                };
                FileOutcome {
                    file,
                    state,
                    error: Some(format!("{error}{hint}")),
                    ..FileOutcome::default()
                }
            }
        }
    }
}

/// What is there of a download, and what fetching it would mean.
fn look(fetcher: &Fetcher, job: &Job, stop: &AtomicBool) -> FileOutcome {
    let from = Some(job.origin(&fetcher.settings().endpoint));
    let outcome = FileOutcome {
        file: job.name(),
        from,
        ..FileOutcome::default()
    };
    match fetcher.look(job) {
        Ok(State::Verified(paths)) => FileOutcome {
            state: "verified",
            paths,
            ..outcome
        },
        Ok(State::Unverified(paths)) => FileOutcome {
            state: "unverified",
            paths,
            ..outcome
        },
        Ok(State::Missing) => FileOutcome {
            state: "missing",
            size: fetcher.size(job, stop),
            ..outcome
        },
        Ok(State::Wrong {
            path,
            found,
            expected,
        }) => FileOutcome {
            state: "wrong",
            error: Some(format!("{}: {found}; expected {expected}", path.display())),
            ..outcome
        },
        Err(error) => FileOutcome {
            state: "failed",
            error: Some(error.to_string()),
            ..outcome
        },
    }
}

impl Outcome {
    fn print(&self, context: &Context) {
        println!("{}", self.name);
        for file in &self.files {
            let place = match (&file.paths[..], &file.error, &file.from) {
                (_, Some(error), _) => error.clone(),
                ([], None, Some(from)) => format!("{} from {from}", size(file.size)),
                ([], None, None) => String::new(),
                ([one], None, _) => context.shown(one),
                ([first, rest @ ..], None, _) => {
                    format!("{} and {} more", context.shown(first), rest.len())
                }
            };
            println!("  {:<10} {:<28} {place}", file.state, file.file);
            if let Some(received) = file.received {
                let from = file.from.as_deref().unwrap_or_default();
                println!(
                    "  {:<10} {:<28} {} from {from}",
                    "",
                    "",
                    HumanBytes(received)
                );
            }
            if let Some(sha256) = &file.sha256 {
                println!(
                    "  {:<10} {:<28} for the card: sha256 = \"{sha256}\"",
                    "", ""
                );
            }
        }
        if let Some(instructions) = &self.instructions {
            println!("  no public download; by hand:");
            for line in instructions.lines() {
                println!("    {line}");
            }
        }
    }
}

fn size(bytes: Option<u64>) -> String {
    bytes.map_or_else(
        || "size unknown".to_string(),
        |bytes| HumanBytes(bytes).to_string(),
    )
}

fn print_total(outcomes: &[Outcome]) {
    let missing = || {
        outcomes
            .iter()
            .flat_map(|outcome| &outcome.files)
            .filter(|file| file.state == "missing")
    };
    let known: u64 = missing().filter_map(|file| file.size).sum();
    let unknown = missing().filter(|file| file.size.is_none()).count();
    let and = if unknown > 0 {
        format!(", and {unknown} of unknown size")
    } else {
        String::new()
    };
    println!(
        "{} files to fetch, {}{and}",
        missing().count(),
        HumanBytes(known)
    );
}
