//! `totune compare`.

use std::fs;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use totune_adapt::{StepEvent, Strategy};
use totune_compare::{
    Answer, Clock, Errors, Found, Listener, Moment, Question, Request, compare, page,
};
use totune_data::guess::{Wishes, draft};
use totune_data::{Card, Catalogue, near};

use crate::command::train;
use crate::context::Context;
use crate::exit;

/// Which strategy for your own data: floors first, then a race within a budget, and an answer
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  totune compare reviews.csv
  totune compare reviews.csv --budget 2m --encoder all-minilm-l6-v2 --strategies frozen,full
  totune compare sst-2 --budget 30m --json

Takes a file (a card is drafted and kept beside the results), a card, or the name of a dataset.
Strategies: frozen, full, last-<k>, two-phase, lora, gradual, bitfit, as in `totune train`.
Ctrl-C gives the answer so far.")]
pub struct Compare {
    /// File with labelled rows, card, or name of a dataset
    what: String,
    /// Time for everything, such as 90s, 10m or 1h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time)]
    budget: Duration,
    /// Encoder to compare them on
    #[arg(long, value_name = "NAME", default_value = train::ENCODER)]
    encoder: String,
    /// Strategies to compare, separated by commas [default: all that fit into the budget]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    strategies: Vec<String>,
    /// Seeds of the leaders, at most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    seeds: u16,
    /// Differences up to this one do not matter
    #[arg(long, value_name = "SCORE", default_value_t = 0.01)]
    margin: f64,
    /// Column of the text of a file
    #[arg(long, value_name = "COLUMN")]
    text: Option<String>,
    /// Column of the second text of a pair
    #[arg(long, value_name = "COLUMN")]
    second: Option<String>,
    /// Column of the label or the score
    #[arg(long, value_name = "COLUMN")]
    label: Option<String>,
    /// Folder for the page and the numbers [default: compare/<name> below the current folder]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

fn time(text: &str) -> Result<Duration, String> {
    let expected = || format!("found `{text}`, expected a time such as 90s, 10m or 1h");
    let (number, seconds) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => return Err(expected()),
    };
    let number: f64 = number.parse().map_err(|_| expected())?;
    let seconds = number * seconds;
    match (1.0..=30.0 * 86_400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(expected()),
    }
}

impl Compare {
    /// Compares, prints the answer and writes the page.
    pub fn run(self, context: &Context, start: Instant) -> Result<u8> {
        ensure!(
            self.margin.is_finite() && self.margin >= 0.0,
            "--margin: found {}, expected 0 or more",
            self.margin
        );
        let strategies = self.asked()?;
        let machine = context.machine()?;
        let card = self.card(context)?;
        let question = Question::read(&card, &context.roots.data)?;
        let out = self.out.clone();
        let out = out.unwrap_or_else(|| Path::new("compare").join(&question.name));
        let voice = Voice::new(context.global.quiet || self.json);
        let request = Request {
            encoder: self.encoder.clone(),
            strategies,
            clock: Clock::new(start, self.budget),
            most_seeds: usize::from(self.seeds),
            margin: self.margin,
        };
        let found = compare(&question, context.environment(&machine), &request, &voice)?;
        voice.bar.finish_and_clear();
        let train = self.train_command(&found.answer, &card);
        self.write(&found, &out, train.as_deref())?;
        if self.json {
            println!("{}", serde_json::to_string_pretty(&found.answer)?);
        } else {
            print!("{}", shown(&found.answer));
            if let Some(train) = &train {
                println!("\nTo train and keep this model:\n  {train}");
            }
            println!("\n{}", out.join("index.html").display());
        }
        Ok(match (found.answer.stopped, &found.answer.chosen) {
            (true, _) => exit::STOPPED,
            (false, Some(_)) => exit::OK,
            (false, None) => exit::SOME_FAILED,
        })
    }

    /// The strategies that were asked for.
    fn asked(&self) -> Result<Vec<Strategy>> {
        let known = |name: &String| {
            name.parse().with_context(|| {
                let hint = near(name, Strategy::NAMES);
                let hint = hint.map(|near| format!("; did you mean `{near}`?"));
                let hint = hint.unwrap_or_default();
                format!("--strategies: unknown strategy `{name}`{hint}")
            })
        };
        self.strategies.iter().map(known).collect()
    }

    /// The command that trains the chosen model and keeps it; none where a floor was chosen.
    fn train_command(&self, answer: &Answer, card: &Card) -> Option<String> {
        let chosen = answer.chosen.as_ref()?;
        let row = answer.rows.iter().find(|row| row.name == *chosen)?;
        let path = Path::new(&self.what);
        let named = !path.is_file();
        let file = card.file.display().to_string();
        let dataset = if named { &self.what } else { &file };
        Some(train::command(dataset, &self.encoder, row.recipe.as_ref()?))
    }

    /// The card that was named, or one of the file that was named.
    fn card(&self, context: &Context) -> Result<Card> {
        let path = Path::new(&self.what);
        if path.extension().is_some_and(|end| end == "toml") {
            return Card::read(path);
        }
        if !path.is_file() && path.components().count() == 1 && path.extension().is_none() {
            let datasets = Catalogue::read(&context.project.root.join("datasets"))?;
            return datasets.find(&self.what).cloned();
        }
        let file = fs::canonicalize(path)
            .with_context(|| format!("{}: cannot be read", path.display()))?;
        let folder = file.parent().unwrap_or(Path::new("/"));
        let wishes = Wishes {
            text: self.text.clone(),
            second: self.second.clone(),
            label: self.label.clone(),
            ..Wishes::default()
        };
        let draft = draft(&file, &wishes, folder, true)?;
        let beside = folder.join(format!("{}.toml", draft.name));
        if beside.is_file() {
            return Card::read(&beside);
        }
        for note in &draft.notes {
            eprintln!("{note}");
        }
        fs::write(&beside, &draft.text)
            .with_context(|| format!("{}: cannot be written", beside.display()))?;
        eprintln!("card written to {}", beside.display());
        Card::read(&beside)
    }

    /// Writes the page and the numbers.
    fn write(&self, found: &Found, out: &Path, train: Option<&str>) -> Result<()> {
        let errors = found.reported.as_ref();
        let errors =
            errors.map_or_else(Errors::default, |(part, answers)| Errors::of(part, answers));
        let command = std::env::args().collect::<Vec<_>>().join(" ");
        let html = page(&found.answer, &errors, &command, train)?;
        let json = serde_json::to_string_pretty(&found.answer)?;
        fs::create_dir_all(out).with_context(|| format!("{}: cannot be made", out.display()))?;
        for (name, text) in [("index.html", html), ("answer.json", json)] {
            let path = out.join(name);
            fs::write(&path, text)
                .with_context(|| format!("{}: cannot be written", path.display()))?;
        }
        Ok(())
    }
}

/// The answer as a person reads it in a terminal.
fn shown(answer: &Answer) -> String {
    let mut lines = vec![answer.sentence.clone(), String::new()];
    let width = answer
        .rows
        .iter()
        .map(|row| row.title.len())
        .max()
        .unwrap_or(0);
    lines.push(format!(
        "  {:width$}  {:>6}  {:>6}  {:^16}  {:>8}  {}",
        "", "dev", "test", "95 % interval", "seconds", "models"
    ));
    for row in &answer.rows {
        let number =
            |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
        let interval = row
            .test
            .map(|test| format!("[{:.3}, {:.3}]", test.low, test.high));
        let chosen = answer.chosen.as_ref() == Some(&row.name);
        let models = match (row.is_strategy, row.seeds) {
            (true, 0) => String::new(),
            (true, n) => format!("{n} x {} x {}", row.examples, row.epochs),
            _ => String::new(),
        };
        let seconds = row
            .train_seconds
            .map_or(String::new(), |seconds| format!("{seconds:.1}"));
        let line = format!(
            "{} {:width$}  {:>6}  {:>6}  {:^16}  {:>8}  {models}  {}",
            if chosen { "*" } else { " " },
            row.title,
            number(row.dev),
            number(row.test.map(|test| test.value)),
            interval.unwrap_or_default(),
            seconds,
            row.note.clone().unwrap_or_default(),
        );
        lines.push(line.trim_end().to_string());
    }
    lines.push(String::new());
    lines.extend(answer.notes.iter().cloned());
    lines.join("\n") + "\n"
}

/// One line that says what is going on, and how much of the budget is left.
struct Voice {
    bar: ProgressBar,
}

impl Voice {
    fn new(quiet: bool) -> Self {
        let bar = match quiet || !std::io::stderr().is_terminal() {
            true => ProgressBar::hidden(),
            false => ProgressBar::no_length(),
        };
        let style = ProgressStyle::with_template("{spinner} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self { bar }
    }

    fn say(&self, moment: &Moment, more: &str) {
        let left = (moment.budget - moment.spent).max(0.0);
        let left = Duration::from_secs(left as u64);
        self.bar
            .set_message(format!("{left:?} left, {}{more}", moment.what));
        self.bar.tick();
    }
}

impl Listener for Voice {
    fn hear(&self, moment: &Moment) {
        self.say(moment, "");
    }

    fn step(&self, moment: &Moment, step: &StepEvent) {
        self.say(moment, &format!(", step {}/{}", step.step, step.steps));
    }

    fn ended(&self, moment: &Moment, dev: Option<f64>, seconds: f64) {
        let dev = dev.map_or("no score".to_string(), |dev| format!("{dev:.3} on dev"));
        self.bar
            .println(format!("  {}: {dev}, {seconds:.1} s", moment.what));
    }
}
