//! `totune data fetch` and `totune encoders fetch`: download the files that cards list.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use clap::Args;
use totune_data::Card;
use totune_fetch::{Allow, Fetch, Fetcher, Job, Kind, Progress, Settings, Silent, State};
use totune_model::EncoderCard;

use crate::context::Context;
use crate::download_progress::DownloadProgress;
use crate::print;
use crate::{exit, signals};

mod outcome;
mod wanted;

use outcome::{FileOutcome, Outcome, look, print_total};
use wanted::{Wanted, no_names, of_dataset, of_encoder};

const EXIT: &str = "\
Exit codes:
  0    everything asked for is there and verified; with --dry-run: nothing is missing
  1    something is missing, could not be fetched, or has no public download (its instructions are
       printed)
  2    unknown name, no name, or a card that cannot be read
  75   ended by SIGTERM, SIGUSR1 or SIGUSR2; rerun the same command to resume
  129  ended by SIGHUP, as when the terminal is closed; rerun the same command to resume
  130  interrupted by Ctrl-C; rerun the same command to resume";

/// Fetch the files of datasets, verify them and put them where they belong
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:\n  totune data fetch --dry-run\n  totune data fetch rte\n\n{EXIT}"))]
pub struct FetchDatasets {
    /// Datasets to fetch; without names --dry-run and --offline look at all that can be fetched
    #[arg(conflicts_with = "all")]
    pub names: Vec<String>,
    /// Options of the download.
    #[command(flatten)]
    pub how: How,
}

/// Fetch pretrained encoders into the Hub's cache, which Python's tools share
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:\n  totune encoders fetch --dry-run\n  totune encoders fetch bert-base-uncased\n\n{EXIT}"))]
pub struct FetchEncoders {
    /// Encoders to fetch; without names --dry-run and --offline look at all that can be fetched
    #[arg(conflicts_with = "all")]
    pub names: Vec<String>,
    /// Options of the download.
    #[command(flatten)]
    pub how: How,
}

/// Options of downloads.
#[derive(Debug, Args)]
pub struct How {
    /// Fetch all that can be fetched
    #[arg(long)]
    pub all: bool,
    /// List what would be fetched, from where and how large it is, and fetch nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print a JSON document instead of lines
    #[arg(long)]
    pub json: bool,
    /// Open no socket; only say what is there and what is missing (also HF_HUB_OFFLINE=1)
    #[arg(long)]
    pub offline: bool,
    /// Accept files without a SHA-256 in their card, and print their hash
    #[arg(long)]
    pub accept_unverified: bool,
    /// Replace existing files that differ from the download
    #[arg(long)]
    pub replace: bool,
}

impl FetchDatasets {
    /// Fetches the datasets.
    pub fn run(self, context: &Context) -> Result<u8> {
        let catalogue = context.project.datasets()?;
        let mut broken = exit::OK;
        let cards: Vec<&Card> = if self.names.is_empty() {
            broken = exit::broken_cards(catalogue.broken());
            let cards = catalogue.cards().iter();
            let cards: Vec<&Card> = cards.filter(|card| !card.fetch.is_empty()).collect();
            let listed = cards
                .iter()
                .map(|card| (card.name.as_str(), &card.fetch[..]));
            self.how.check_all("datasets", listed)?;
            cards
        } else {
            self.names
                .iter()
                .map(|name| catalogue.find(name))
                .collect::<Result<_>>()?
        };
        let settings = self.how.settings();
        let wanted = cards
            .into_iter()
            .map(|card| of_dataset(context, &settings, card))
            .collect::<Result<_>>()?;
        Ok(broken.max(self.how.run(context, settings, wanted)?))
    }
}

impl FetchEncoders {
    /// Fetches the encoders.
    pub fn run(self, context: &Context) -> Result<u8> {
        let catalogue = context.project.encoders()?;
        let mut broken = exit::OK;
        let names: Vec<&str> = if self.names.is_empty() {
            broken = exit::broken_cards(catalogue.broken());
            catalogue.names()
        } else {
            self.names.iter().map(String::as_str).collect()
        };
        let cards = names.into_iter().map(|name| catalogue.find(name));
        let mut cards: Vec<&EncoderCard> = cards.collect::<Result<_>>()?;
        if self.names.is_empty() {
            cards.retain(|card| !card.fetch.is_empty());
            let listed = cards
                .iter()
                .map(|card| (card.name.as_str(), &card.fetch[..]));
            self.how.check_all("encoders", listed)?;
        }
        let wanted = cards.into_iter().map(|card| of_encoder(context, card));
        let wanted = wanted.collect();
        Ok(broken.max(self.how.run(context, self.how.settings(), wanted)?))
    }
}

impl How {
    /// Refuses to fetch everything where that was not asked for.
    fn check_all<'a>(
        &self,
        what: &str,
        cards: impl Iterator<Item = (&'a str, &'a [Fetch])>,
    ) -> Result<()> {
        if self.all || self.dry_run || self.settings().offline {
            return Ok(());
        }
        match no_names(what, cards) {
            Some(message) => bail!(message),
            None => Ok(()),
        }
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings::of_process();
        settings.offline |= self.offline;
        settings
    }

    fn run(&self, context: &Context, settings: Settings, wanted: Vec<Wanted>) -> Result<u8> {
        let stop = signals::stop_flag()?;
        let fetcher = Fetcher::new(settings);
        let progress: Box<dyn Progress> = if context.global.quiet || self.dry_run {
            Box::new(Silent)
        } else {
            Box::new(DownloadProgress::new())
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
            print::json(&outcomes)?;
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
            files.push(if self.dry_run {
                look(fetcher, job, stop)
            } else {
                self.fetch(fetcher, job, progress, stop)
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
                state: match (&fetched.from, &job.download.sha256) {
                    (Some(_), _) => "fetched",
                    (None, Some(_)) => "verified",
                    // The Hub's own hash may be known.
                    (None, None) => match fetcher.look(job) {
                        Ok(State::Unverified(_)) => "unverified",
                        _ => "verified",
                    },
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
