//! The committed pages agree with their results: no figure on them was typed.

use std::fs;
use std::path::{Path, PathBuf};

use totune_bench::{ALL, Results, Target, markdown, regret, scale};

/// Files of results below a folder, those of the machines that have a folder of their own too.
fn results(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(results(&path));
        } else if path.extension().is_some_and(|ending| ending == "json") {
            found.push(path);
        }
    }
    found
}

/// `TOTUNE_WRITE_PAGES=1` writes the pages again, where the page has changed and not the results.
#[test]
fn every_committed_page_is_written_from_its_results() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/bench");
    let files = results(&folder);
    assert!(files.len() >= 10, "found {}", files.len());
    for file in files {
        let shown = file.display();
        let written = if file.ends_with("compare.json") {
            let results = regret::Regret::read(&file);
            regret::markdown(&results.unwrap_or_else(|error| panic!("{error:#}")))
        } else if file.ends_with("scale.json") {
            let results = scale::Scale::read(&file);
            scale::markdown(&results.unwrap_or_else(|error| panic!("{error:#}")))
        } else {
            let results = Results::read(&file).unwrap_or_else(|error| panic!("{error:#}"));
            let known = ALL
                .iter()
                .any(|benchmark| benchmark.name == results.benchmark);
            assert!(known, "{shown}: of no benchmark");
            markdown(&results)
        };
        let page = file.with_extension("md");
        if std::env::var_os("TOTUNE_WRITE_PAGES").is_some() {
            fs::write(&page, &written).expect("written");
        }
        let text = fs::read_to_string(&page).expect("a page next to its results");
        assert_eq!(text, written, "{shown}");
    }
}

/// The rows of the table of speeds: the words that a row begins with, its file, words in the names of its cases, and
/// the sides of each ratio, ours last.
const SPEEDS: &str = "\
training MiniLM | peer | MiniLM; training | pytorch-fused / totune
training BERT-base | peer | BERT-base; training | pytorch-fused / totune
inference | peer | inference | pytorch / totune
training MiniLM on full batches | amd/peer | batch; training | pytorch-fused / totune
inference on the same batches | amd/peer | batch; inference | pytorch / totune
training MiniLM on real texts | amd/peer | shuffled; training | pytorch-fused / totune
inference on the same texts | amd/peer | shuffled; inference | pytorch / totune
training MiniLM and BERT-base on full batches | amd-avx512/peer | batch; training; !512 | pytorch-fused / totune
training MiniLM on 8 texts of 512 tokens | amd-avx512/peer | 512; training; !recomputed | pytorch-fused / totune
the same with recomputed activations | amd-avx512/peer | recomputed | pytorch-fused / totune
inference on full batches | amd-avx512/peer | batch; inference | pytorch / totune
training MiniLM on real texts | amd-avx512/peer | shuffled; training | pytorch-fused / totune
inference on the same texts | amd-avx512/peer | shuffled; inference | pytorch / totune
predictions for a file | amd/predict | rows | pipeline / totune
predictions for a file | amd-avx512/predict | rows | pipeline / totune
training MiniLM on a GPU | gpu | MiniLM, 32 x 64, training, bf16 | pytorch-compiled / totune; pytorch / totune
training BERT-base on a GPU | gpu | BERT-base, 32 x 128, training, f32 | pytorch-compiled / totune; pytorch / totune
pre-training a BERT | amd/pretrain | masked LM | pytorch f32 / totune f32; pytorch autocast / totune bf16
pre-training an ELMo | amd/pretrain | biLM | pytorch f32 / totune f32; pytorch autocast / totune bf16
a step of LoRA, f32 | amd/peft | LoRA, f32 | peft / totune
a step of LoRA, f32 | amd-avx512/peft | LoRA, f32 | peft / totune
a step of LoRA, bf16 | amd/peft | LoRA, bf16 | peft / totune
a step of LoRA, bf16 | amd-avx512/peft | LoRA, bf16 | peft / totune
a step of BitFit, f32 | amd/peft | BitFit, f32 | pytorch / totune
a step of BitFit, f32 | amd-avx512/peft | BitFit, f32 | pytorch / totune
a step of BitFit, bf16 | amd/peft | BitFit, bf16 | pytorch / totune
a step of BitFit, bf16 | amd-avx512/peft | BitFit, bf16 | pytorch / totune
an epoch of the last layer | cache | last-1 | totune, not cached / totune, cached
an epoch of the last layer | amd-avx512/cache | last-1 | totune, not cached / totune, cached
BiMPM's matching | heads | BiMPM; training | pytorch / totune
BiMPM's matching | amd-avx512/heads | BiMPM; training | pytorch / totune
highway LSTMs | amd-avx512/heads | highway | pytorch / totune
bf16 against f32, both ours, training and inference | bf16 | , | totune f32 / totune bf16
bf16 against f32, both ours, on one thread | amd/bf16 | , | totune f32 / totune bf16
LSTMs and BiLSTMs on batches without padding | lstm | LSTM; !rows | pytorch / totune
LSTMs on rows of 4 to 64 steps | lstm | LSTM; rows | pytorch / totune
LSTMs and BiLSTMs on batches without padding | amd-avx512/lstm | LSTM; !rows | pytorch / totune
LSTMs on rows of 4 to 64 steps | amd-avx512/lstm | LSTM; rows | pytorch / totune
ELMo's recurrence at the original size, training | elmo | original; training | pytorch / totune
ELMo's recurrence at the original size, inference | elmo | original; inference | pytorch / totune
ELMo's recurrence at the original size, training | amd-avx512/elmo | original; training | pytorch / totune
ELMo's recurrence at the original size, inference | amd-avx512/elmo | original; inference | pytorch / totune
AdamW's update of all weights | amd-avx512/update | | pytorch-fused / totune; memcpy / totune
logistic and linear probes | probes | regression | python / totune
logistic probes | probes | logistic | python, layers at once / totune; python, layers at once / totune, preconditioned
logistic and linear probes | amd-avx512/probes | regression | python / totune
logistic probes | amd-avx512/probes | logistic | python, layers at once / totune; python, layers at once / totune, preconditioned";

/// The rows of the table of goals whose figures are on a page: the words that a row begins with, its file, words in the
/// names of its cases, and the kind of the goals.
const GOALS: &str = "\
training at least 1.1 times as fast as PyTorch | amd/peer | training | faster
training at least 1.1 times as fast, in every case (Xeon) | peer | training | faster
training at least 1.1 times as fast, in every case (AMD, AVX-512) | amd-avx512/peer | training | faster
inference on full batches at least 1.25 times as fast (AMD, AVX-512) | amd-avx512/peer | batch; inference | faster
inference on shuffled, padded texts (AMD, AVX-512) | amd-avx512/peer | shuffled; inference | faster
training of MiniLM, 32 x 128 (AMD, AVX-512) | amd-avx512/peer | MiniLM; training | product
inference on full batches at least 1.25 times as fast as PyTorch | amd/peer | batch; inference | faster
inference on full batches at least 1.25 times as fast (Xeon) | peer | batch; inference | faster
inference on texts in shuffled | amd/peer | shuffled; inference | faster
predictions for a file | amd/predict | rows | faster
training of MiniLM, 32 x 128 | amd/peer | MiniLM; training | product
ELMo's recurrence | elmo | original; inference | faster
ELMo's recurrence in inference (AMD, AVX-512) | amd-avx512/elmo | original; inference | faster
logistic regression | probes | logistic | faster
logistic regression over frozen vectors (AMD, AVX-512) | amd-avx512/probes | logistic | faster
epochs of the last layers | cache | last- | faster
the same (AMD, AVX-512) | amd-avx512/cache | last- | faster
at most 0.80 of PyTorch's operators | operators | batch | operators
at least as fast as `torch.compile` | gpu | training | faster";

/// Whether all of these words are in the name of a case, and none of those behind a `!`.
fn has_words(case: &str, words: &str) -> bool {
    words.split("; ").all(|word| match word.strip_prefix('!') {
        Some(word) => !case.contains(word),
        None => case.contains(word),
    })
}

/// Ratios of medians over the cases with these words, as the table has them: `1.03-1.53`, or one where they are the same.
fn ratios(results: &Results, words: &str, sides: &str) -> String {
    let of_pair = |pair: &str| {
        let (other, ours) = pair.split_once(" / ").expect("two sides");
        let cases = results
            .outcomes
            .iter()
            .filter(|outcome| has_words(&outcome.case, words));
        range(cases.filter_map(|case| case.ratio(other, ours)).collect())
    };
    sides
        .split("; ")
        .map(of_pair)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The smallest and the largest, or one where they are the same.
fn range(mut all: Vec<f64>) -> String {
    all.sort_by(f64::total_cmp);
    let [least, most] = [all.first(), all.last()].map(|one| format!("{:.2}", one.expect("a case")));
    if least == most {
        least
    } else {
        format!("{least}-{most}")
    }
}

/// The cells of a row.
fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

/// The rows of the table of speeds of a page, with links as from the root.
fn speeds(page: &str) -> Vec<String> {
    rows_below(page, "| what | ratio | page |")
}

/// The rows of the table with this heading.
fn rows_below(page: &str, heading: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join(page)).expect(page);
    let table = text.lines().skip_while(|line| *line != heading);
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.replace("](../", "](")).collect()
}

#[test]
fn the_speeds_in_readme_are_some_of_those_in_the_documentation() {
    let all = speeds("docs/benchmarks.md");
    let some = speeds("README.md");
    assert!(some.len() > 3, "{some:?}");
    for row in some {
        assert!(all.contains(&row), "not in docs/benchmarks.md: {row}");
    }
}

#[test]
fn the_speeds_in_the_documentation_are_those_of_the_results() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = speeds("docs/benchmarks.md");
    assert_eq!(
        table.len(),
        SPEEDS.lines().count(),
        "rows of docs/benchmarks.md and of this test"
    );
    for (found, expected) in table.into_iter().zip(SPEEDS.lines()) {
        let [begins, file, words, sides] = cells(expected)[..] else {
            panic!("{expected}: found other than four cells");
        };
        let results = Results::read(&root.join(format!("results/bench/{file}.json")));
        let results = results.unwrap_or_else(|error| panic!("{error:#}"));
        // A GPU is named by the versions of the sides that ran on it.
        let mut versions = results.outcomes.iter().flat_map(|outcome| &outcome.sides);
        let machine = if versions.any(|side| side.version.contains("H100")) {
            Some("H100")
        } else {
            let machine = &results.machine;
            let family = if file.starts_with("amd-avx512/") {
                "AMD, AVX-512"
            } else if machine.flags.iter().any(|flag| flag == "avx512_bf16") {
                "AMD, family 26"
            } else {
                "AMD, family 25"
            };
            let mut known = [("AMD", family), ("Xeon", "Xeon")].into_iter();
            let known = known.find(|(name, _)| machine.model.contains(name));
            known.map(|(_, shown)| shown)
        };
        let machine = machine.expect("a machine of a known kind");
        let written = format!("({machine}) | {} | ", ratios(&results, words, sides));
        assert!(
            found.starts_with(&format!("| {begins}")),
            "found {found}, expected {begins}"
        );
        assert!(
            found.contains(&written),
            "found {found}, expected {written}"
        );
        assert!(
            found.contains(&format!("(results/bench/{file}.md)")),
            "found {found}"
        );
    }
}

#[test]
fn the_goals_in_the_documentation_stand_where_the_results_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let heading = "| goal | found | machine | page or command | reached |";
    let table = rows_below("docs/benchmarks.md", heading);
    for line in GOALS.lines() {
        let [begins, file, words, kind] = cells(line)[..] else {
            panic!("{line}: found other than four cells");
        };
        let row = table
            .iter()
            .find(|row| row.starts_with(&format!("| {begins}")));
        let row = row.unwrap_or_else(|| panic!("{begins}: found no row"));
        let results = Results::read(&root.join(format!("results/bench/{file}.json")));
        let results = results.unwrap_or_else(|error| panic!("{error:#}"));
        let cases = results.outcomes.iter();
        let cases = cases.filter(|outcome| has_words(&outcome.case, words));
        let of_kind = |target: &&Target| match target {
            Target::Faster { .. } => kind == "faster",
            Target::Product { .. } => kind == "product",
            Target::Operators { .. } => kind == "operators",
        };
        let found: Vec<(f64, bool)> = cases
            .flat_map(|case| {
                let found = move |target: &Target| {
                    let found = case.found(target)?;
                    Some((found, target.is_reached(found)))
                };
                case.targets.iter().filter(of_kind).filter_map(found)
            })
            .collect();
        let (n, all) = (found.iter().filter(|(_, is)| *is).count(), found.len());
        let figures = range(found.iter().map(|(found, _)| *found).collect());
        let reached = match n {
            0 => "no",
            n if n == all => "yes",
            _ => "partly",
        };
        let cells = cells(row);
        assert!(cells[1].starts_with(&figures), "{row}: expected {figures}");
        let cases = format!("{n} of {all} cases");
        assert!(cells[1].contains(&cases), "{row}: expected {cases}");
        assert_eq!(cells[4], reached, "{row}");
        let link = format!("(results/bench/{file}.md)");
        assert!(cells[3].contains(&link), "{row}: expected {link}");
    }
}
