//! What can be typed.

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

use crate::command::{
    bench, collect, curves, data, doctor, encoders, papers, pretrain, report, reproduce, submit,
    sweep,
};
use crate::device::Wish;
use crate::exit;

/// Freeze it, fine-tune it, tune its top layers, or train a head first? Reproduces papers that argue about this.
#[derive(Debug, Parser)]
#[command(name = "totune", version, after_help = format!("{EXAMPLES}\n\n{}", exit::HELP), arg_required_else_help = true)]
pub struct Args {
    /// What every command shares.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  totune reproduce hart2020 fixture     a whole paper on tiny committed data, offline
  totune reproduce hart2020 small       real data, a small real encoder
  totune report hart2020 small          tables and figures again, without training
  totune curves wang2023 mnli           time against score, one line per strategy
  totune doctor                         what this machine has and lacks";

/// What every command shares.
#[derive(Debug, clap::Args)]
pub struct Global {
    /// Root of the checkout [default: the nearest folder with `experiments` in it, here or above]
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        help_heading = "Global options"
    )]
    pub project: Option<PathBuf>,

    /// Folder with dataset files [default: data/ in the project]
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        env = "TOTUNE_DATA",
        help_heading = "Global options"
    )]
    pub data: Option<PathBuf>,

    /// Folder with pretrained encoders [default: the Hugging Face cache]
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        env = "TOTUNE_ENCODERS",
        help_heading = "Global options"
    )]
    pub encoders: Option<PathBuf>,

    /// Folder where encoded texts are kept for the next start, or `off` [default: .cache/ in the project]
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        env = "TOTUNE_CACHE",
        help_heading = "Global options"
    )]
    pub cache: Option<PathBuf>,

    /// Encode texts anew and keep nothing, as `--cache off`
    #[arg(long, global = true, help_heading = "Global options")]
    pub no_cache: bool,

    /// auto, cpu, cuda, cuda:<n> or flex; auto prefers CUDA, then LibTorch on the processor, then flex
    #[arg(long, global = true, value_name = "DEVICE", default_value_t = Wish::Auto, help_heading = "Global options")]
    pub device: Wish,

    /// Threads for arithmetic and reading [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Global options")]
    pub threads: Option<u16>,

    /// Megabytes that kept states of frozen layers may take, below `runs/states`
    #[arg(
        long,
        global = true,
        value_name = "MIB",
        env = "TOTUNE_STATES_BUDGET",
        default_value_t = 4096,
        help_heading = "Global options"
    )]
    pub states_budget: u64,

    /// Print results and errors only
    #[arg(long, short, global = true, help_heading = "Global options")]
    pub quiet: bool,
}

impl Global {
    /// Where encoded texts are kept; nowhere where that was switched off.
    pub fn cache_folder(&self, project: &Path) -> Option<PathBuf> {
        let asked = self.cache.as_deref();
        let off = self.no_cache || asked.is_some_and(|folder| folder == Path::new("off"));
        (!off).then(|| asked.map_or_else(|| project.join(".cache"), Path::to_path_buf))
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Reproduce(reproduce::Reproduce),
    Report(report::Report),
    Curves(curves::Curves),
    #[command(subcommand)]
    Sweep(sweep::Sweep),
    Collect(collect::Collect),
    Papers(papers::Papers),
    Pretrain(pretrain::Pretrain),
    #[command(subcommand)]
    Data(data::Data),
    #[command(subcommand)]
    Encoders(encoders::Encoders),
    Doctor(doctor::Doctor),
    Submit(submit::Submit),
    #[command(subcommand)]
    Bench(bench::Bench),
}
