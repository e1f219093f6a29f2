//! Options of every command.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use totune_sweep::{Machine, Roots};

use crate::device::DeviceRequest;
use crate::signals;

/// Options of every command.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Project or checkout [default: the nearest folder with `experiments` in it, here or above]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub project: Option<PathBuf>,

    /// Folder with dataset files [default: data/ in the project]
    #[arg(long, global = true, value_name = "FOLDER", env = "TOTUNE_DATA")]
    pub data: Option<PathBuf>,

    /// Folder with pretrained encoders [default: the Hugging Face cache]
    #[arg(long, global = true, value_name = "FOLDER", env = "TOTUNE_ENCODERS")]
    pub encoders: Option<PathBuf>,

    /// Folder that caches encoded texts, or `off` [default: .cache/ in the project]
    #[arg(long, global = true, value_name = "FOLDER", env = "TOTUNE_CACHE")]
    pub cache: Option<PathBuf>,

    /// Do not cache encoded texts, as `--cache off`
    #[arg(long, global = true)]
    pub no_cache: bool,

    /// auto, cpu, cuda, cuda:<n> or flex; auto prefers CUDA, then LibTorch on the CPU, then flex
    #[arg(long, global = true, value_name = "DEVICE", default_value_t = DeviceRequest::Auto)]
    pub device: DeviceRequest,

    /// Threads for computing and reading [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// Maximum MiB of cached activations of frozen layers, which lie in runs/activations
    #[arg(
        long,
        global = true,
        value_name = "MIB",
        env = "TOTUNE_CACHE_BUDGET",
        default_value_t = 4096,
        allow_negative_numbers = true
    )]
    pub cache_budget: u64,

    /// Format of standard error: text, or one JSON object per line with time, level, event and its fields
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// Print results and errors only
    #[arg(long, short, global = true)]
    pub quiet: bool,

    /// The whole command line, the program's name first.
    #[arg(skip)]
    pub words: Vec<OsString>,
}

/// Format of standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Lines and bars for people
    Text,
    /// Lines of JSON for programs
    Json,
}

/// Whether a command line that clap refuses asks for `--log-format json`, so that the error has that format, too.
pub fn wants_json(words: &[OsString]) -> bool {
    let is_option = |word: &OsString| word == "--log-format";
    let options = words.split(|word| word == "--").next().unwrap_or_default();
    let pairs = options.iter().zip(options.iter().skip(1));
    let mut values = pairs.filter_map(|(word, next)| is_option(word).then_some(next));
    values.any(|value| value == "json") || options.iter().any(|word| word == "--log-format=json")
}

impl Global {
    /// Folders of datasets and encoders for a project at `project`.
    pub fn roots(&self, project: &Path) -> Roots {
        let encoders = || totune_fetch::Settings::of_process().hub_cache;
        Roots {
            data: self.data.clone().unwrap_or_else(|| project.join("data")),
            encoders: self.encoders.clone().unwrap_or_else(encoders),
            cache: self.cache_folder(project),
        }
    }

    /// The requested device, and a flag that Ctrl-C or a request to end sets.
    pub fn machine(&self) -> Result<Machine> {
        let threads = self.threads();
        let chosen = self.device.choose(threads)?;
        Ok(Machine {
            device: chosen.device,
            device_name: chosen.name,
            threads,
            cache_budget: self.cache_budget << 20,
            checkpoint_every: None,
            stop: signals::stop_flag()?,
        })
    }

    /// Starts the threads that commands share; to be called once, before anything is done in parallel.
    pub fn start_threads(&self) -> Result<()> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads());
        pool.build_global().context("cannot start threads")
    }

    /// Number of threads requested, or one for each core.
    pub fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
        self.threads.map_or_else(cores, usize::from)
    }

    /// Folder of cached encoded texts; `None` where the cache is off.
    fn cache_folder(&self, project: &Path) -> Option<PathBuf> {
        let asked = self.cache.as_deref();
        let off = self.no_cache || asked.is_some_and(|folder| folder == Path::new("off"));
        (!off).then(|| asked.map_or_else(|| project.join(".cache"), Path::to_path_buf))
    }
}
