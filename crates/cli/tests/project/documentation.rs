//! Every path and every command that the documentation and `--help` name exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};
use regex::Regex;
use totune_data::{Catalogue, TextCatalogue};
use totune_model::EncoderCatalogue;
use totune_sweep::Project;

/// Names in the documentation for things that the reader makes.
const OWN: [&str; 7] = [
    "mine",
    "reviews",
    "NAME",
    "FOLDER",
    "my-encoder",
    "tiny",
    "example",
];
/// Folders whose files are part of the checkout.
const FOLDERS: &str =
    "crates|docs|results|experiments|datasets|encoders|fixtures|bench|setup|reports|fuzz";
/// Commands behind `just` recipes; the others are not commands of totune.
const RECIPES: [(&str, &[&str]); 7] = [
    ("reproduce", &["reproduce"]),
    ("report", &["report"]),
    ("curves", &["curves"]),
    ("plan", &["sweep", "plan"]),
    ("totune", &[]),
    ("doctor", &["doctor"]),
    ("bench", &["bench"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A page with its path from the root.
struct Page {
    path: PathBuf,
    text: String,
}

fn pages() -> Vec<Page> {
    let names = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs"];
    let mut paths: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    let mut pages = Vec::new();
    while let Some(path) = paths.pop() {
        let full = root().join(&path);
        if full.is_dir() {
            let entries = fs::read_dir(&full).expect("a folder");
            paths.extend(entries.map(|entry| path.join(entry.expect("an entry").file_name())));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            let text = fs::read_to_string(&full).expect("a page");
            pages.push(Page { path, text });
        }
    }
    assert!(pages.len() > 15, "found {} pages", pages.len());
    pages
}

/// All pages, and the help of each command as a page of its own.
fn pages_and_help() -> Vec<Page> {
    let mut pages = pages();
    for (name, mut command) in commands() {
        pages.push(Page {
            path: PathBuf::from(format!("{name} --help")),
            text: command.render_long_help().to_string(),
        });
    }
    pages
}

/// Every visible command, with the words that call it.
fn commands() -> Vec<(String, Command)> {
    let mut root = totune_cli::command();
    root.build();
    let mut found = Vec::new();
    let mut rest = vec![("totune".to_string(), root)];
    while let Some((name, command)) = rest.pop() {
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        let shown = shown.filter(|sub| sub.get_name() != "help");
        rest.extend(shown.map(|sub| (format!("{name} {}", sub.get_name()), sub.clone())));
        found.push((name, command));
    }
    found
}

#[test]
fn links_lead_to_files() {
    let link = Regex::new(r#"\]\(([^)\s]+)(?:\s+"[^"]*")?\)"#).expect("a pattern");
    let mut wrong = Vec::new();
    for page in pages() {
        let folder = page.path.parent().unwrap_or(Path::new(""));
        for found in link.captures_iter(&page.text) {
            let target = found[1].split('#').next().unwrap_or_default();
            let outside = target.contains("://") || target.starts_with("mailto:");
            if !outside && !target.is_empty() && !root().join(folder).join(target).exists() {
                wrong.push(format!("{}: {target}", page.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn paths_exist() {
    let pattern = format!(
        r"(?:^|[\s`(])((?:{FOLDERS})/[^\s`),;:'{QUOTE}]*)",
        QUOTE = '"'
    );
    let path = Regex::new(&pattern).expect("a pattern");
    let mut wrong = Vec::new();
    for page in pages_and_help() {
        for found in path.captures_iter(&page.text) {
            let file = found[1].split('#').next().unwrap_or_default();
            let named = file.trim_end_matches(['.', '/']);
            // `results/<paper>/`, `experiments/<paper>/{report.toml,claims.toml}`, `crates/*` and the like are
            // placeholders.
            let placeholder = named.contains(['<', '{', '*', '…', '$']) || named.contains("NAME");
            let made = fs::read_to_string(root().join(".gitignore")).expect("a list");
            let made = made.lines().any(|line| matches(line, named));
            let own = OWN
                .iter()
                .any(|own| named.split(['/', '.']).any(|part| part == *own));
            // A help says where a command writes.
            let help = page.path.to_string_lossy().ends_with("--help");
            let written = help && (named.starts_with("results/") || named.starts_with("reports/"));
            let known = placeholder || made || own || written;
            if !known && !root().join(named).exists() {
                wrong.push(format!("{}: {named}", page.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// True if a line of .gitignore covers a path, which then is made by running something.
fn matches(line: &str, path: &str) -> bool {
    let line = line.trim_matches('/');
    let pattern = regex::escape(line).replace(r"\*", "[^/]*");
    let pattern = Regex::new(&format!("^{pattern}(/|$)")).expect("a pattern");
    !line.is_empty() && !line.starts_with('#') && pattern.is_match(path)
}

/// Commands in a page, as typed after `totune`; recipes as the command that they run.
fn typed(page: &Page, wrong: &mut Vec<String>) -> Vec<Vec<String>> {
    let justfile = fs::read_to_string(root().join("justfile")).expect("the recipes");
    let span = Regex::new(r"`([^`\n]+)`").expect("a pattern");
    let mut texts = blocks(page);
    texts.extend(
        span.captures_iter(&page.text)
            .map(|found| found.get(1).expect("a group").as_str()),
    );
    let start = Regex::new(
        r"^(?:\$ |time |(?:[A-Z_]+=\S* )|target/release/|\s)*((?:\./justw|\./totune|totune) .*)$",
    );
    let start = start.expect("a pattern");
    let mut all = Vec::new();
    for text in texts {
        let Some(found) = start.captures(text) else {
            continue;
        };
        // The command ends at several spaces, `#`, `>` or `&`.
        let line = found[1].split("  ").next().unwrap_or_default();
        let line = line.split(" > ").next().unwrap_or_default();
        let line = line.trim_end_matches(" in a new clone");
        let Some(words) = shlex::split(line.split(" #").next().unwrap_or_default()) else {
            continue;
        };
        let words: Vec<String> = words.into_iter().filter(|word| word != "&").collect();
        if words[0] != "./justw" {
            all.push(words[1..].to_vec());
            continue;
        }
        let recipe = Regex::new(&format!(r"(?m)^{}[ :]", regex::escape(&words[1])));
        if !recipe.expect("a pattern").is_match(&justfile) {
            wrong.push(format!("{}: {line}: no such recipe", page.path.display()));
        }
        let of_totune = RECIPES.iter().find(|(recipe, _)| *recipe == words[1]);
        let cargo = words.get(2).is_some_and(|word| word == "micro");
        if let Some((_, command)) = of_totune.filter(|_| !cargo) {
            let command = command.iter().map(ToString::to_string);
            all.push(command.chain(words[2..].iter().cloned()).collect());
        }
    }
    all
}

/// The lines of a page's code blocks; for a help page, the indented ones.
fn blocks(page: &Page) -> Vec<&str> {
    let help = page.path.to_string_lossy().ends_with("--help");
    let mut inside = false;
    let lines = page.text.lines().filter(|line| {
        inside ^= line.trim_start().starts_with("```");
        inside || help && line.starts_with("  ")
    });
    lines.collect()
}

/// All names that arguments can refer to.
struct Names {
    papers: BTreeSet<String>,
    datasets: BTreeSet<String>,
    /// Datasets, texts and encoders.
    comparable: BTreeSet<String>,
    encoders: BTreeSet<String>,
    pretraining: BTreeSet<String>,
}

impl Names {
    fn read() -> Self {
        let project = Project::open(&root()).expect("the repository");
        let datasets = Catalogue::read(&root().join("datasets")).expect("cards");
        let texts = TextCatalogue::read(&root().join("datasets/texts")).expect("cards");
        let encoders = EncoderCatalogue::read(&root().join("encoders")).expect("cards");
        let own = |names: Vec<&str>| names.into_iter().map(String::from).collect();
        let runs = fs::read_dir(root().join("experiments/pretraining")).expect("settings");
        let stem = |path: PathBuf| {
            path.file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
        };
        Self {
            papers: project.papers().expect("papers").into_iter().collect(),
            datasets: own([datasets.names(), texts.names()].concat()),
            comparable: own([datasets.names(), texts.names(), encoders.names()].concat()),
            encoders: own(encoders.names()),
            pretraining: runs
                .filter_map(|run| stem(run.expect("an entry").path()))
                .collect(),
        }
    }

    /// Values of a command that are not the name of anything.
    fn unknown(&self, command: &str, matches: &ArgMatches) -> Vec<String> {
        let kinds: &[(&str, &BTreeSet<String>)] = match command {
            "data list" | "data check" | "data fetch" => &[("names", &self.datasets)],
            "data overlap" => &[("names", &self.comparable)],
            "data stats" | "data show" => &[("name", &self.datasets), ("encoder", &self.encoders)],
            "encoders check" | "encoders fetch" => &[("names", &self.encoders)],
            "encoders convert" => &[("from", &self.encoders)],
            "reproduce" | "report" | "curves" | "collect" | "sweep plan" | "sweep run"
            | "sweep time" => &[("paper", &self.papers)],
            "compare" => &[("what", &self.datasets), ("encoder", &self.encoders)],
            "pretrain" => &[("config", &self.pretraining)],
            _ => &[],
        };
        let mut unknown = Vec::new();
        for (id, known) in kinds {
            let values = matches.try_get_raw(id).ok().flatten().into_iter().flatten();
            for value in values.map(|value| value.to_string_lossy()) {
                let own = OWN.contains(&value.as_ref()) || value.contains(['/', '.', '<', '~']);
                if !own && !known.contains(value.as_ref()) {
                    unknown.push(value.into_owned());
                }
            }
        }
        unknown
    }
}

#[test]
fn commands_are_accepted_and_what_they_name_exists() {
    let names = Names::read();
    let (mut wrong, mut n) = (Vec::new(), 0);
    for page in pages_and_help() {
        for words in typed(&page, &mut wrong) {
            let shown = format!("{}: totune {}", page.path.display(), words.join(" "));
            // Just `totune curves` is a placeholder for the command, and so is one with placeholders.
            let general = words.iter().any(|word| word.contains(['<', '…', '$']));
            let mut command = totune_cli::command();
            let found = command.try_get_matches_from_mut(
                std::iter::once("totune".to_string()).chain(words.iter().cloned()),
            );
            n += 1;
            match found {
                Ok(matches) => {
                    let mut path = Vec::new();
                    let mut of = &matches;
                    while let Some((name, sub)) = of.subcommand() {
                        path.push(name);
                        of = sub;
                    }
                    for unknown in names.unknown(&path.join(" "), of) {
                        wrong.push(format!("{shown}: there is no `{unknown}`"));
                    }
                }
                Err(_) if general || is_command(&words) => {}
                Err(error) => wrong.push(format!("{shown}: {error}")),
            }
        }
    }
    assert!(n > 100, "found {n} commands");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// True if the words are just the name of a command.
fn is_command(words: &[String]) -> bool {
    let name = format!("totune {}", words.join(" "));
    commands().iter().any(|(known, _)| *known == name)
}

#[test]
fn every_help_has_an_example_and_fits_100_columns() {
    let mut wrong = Vec::new();
    for (name, mut command) in commands() {
        let help = command.render_long_help().to_string();
        let wide = help.lines().filter(|line| line.chars().count() > 100);
        wrong.extend(wide.map(|line| format!("{name}: wider than 100 columns: {line}")));
        let after = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        // clap would break longer lines where a terminal has 100 columns, and examples with them.
        let long = after.lines().filter(|line| line.chars().count() > 100);
        wrong.extend(long.map(|line| format!("{name}: wider than 100 columns: {line}")));
        let leaf = command
            .get_subcommands()
            .all(|sub| sub.get_name() == "help");
        if (leaf || name == "totune") && !after.contains("Example") {
            wrong.push(format!("{name}: no example"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
