//! Outcomes of downloads, as lines and as JSON.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use indicatif::HumanBytes;
use serde::Serialize;
use totune_fetch::{Fetcher, Job, State};

use crate::context::Context;

/// Outcome of one card.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) name: String,
    pub(super) files: Vec<FileOutcome>,
    /// Instructions for a manual download, where the files cannot be fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instructions: Option<String>,
}

/// Outcome of one download.
#[derive(Debug, Default, Serialize)]
pub(super) struct FileOutcome {
    pub(super) file: String,
    /// `verified`, `unverified`, `fetched`, `missing`, `wrong` or `failed`.
    pub(super) state: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) paths: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
    /// Size of the download.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<u64>,
    /// Bytes received over the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) received: Option<u64>,
    /// The hash that the card lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// State of a download on disk, and the steps that fetching it would take.
pub(super) fn look(fetcher: &Fetcher, job: &Job, stop: &AtomicBool) -> FileOutcome {
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
    pub(super) fn print(&self, context: &Context) {
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

pub(super) fn size(bytes: Option<u64>) -> String {
    bytes.map_or_else(
        || "size unknown".to_string(),
        |bytes| HumanBytes(bytes).to_string(),
    )
}

pub(super) fn print_total(outcomes: &[Outcome]) {
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
