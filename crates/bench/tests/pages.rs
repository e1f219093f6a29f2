//! The committed pages agree with their results: no figure on them was typed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

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
    let folder = root().join("results/bench");
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

/// The rows of the table of speeds on a CPU: the words that a row begins with, its benchmark, words in the names of its
/// cases, and the sides of each ratio, ours last.
const SPEEDS: &str = "\
training MiniLM on full batches | peer | MiniLM, batch; training; !512; !multilingual | pytorch-fused / totune; pytorch-tuned / totune; pytorch-compiled / totune
training BERT-base on full batches | peer | BERT-base; training | pytorch-fused / totune; pytorch-tuned / totune; pytorch-compiled / totune
training MiniLM on 8 texts of 512 tokens | peer | 512; training; !recomputed | pytorch-fused / totune; pytorch-tuned / totune; pytorch-compiled / totune
training with recomputed activations | peer | recomputed | pytorch-fused / totune; pytorch-tuned / totune
training a multilingual MiniLM | peer | multilingual | pytorch-fused / totune; pytorch-tuned / totune
inference on full batches | peer | batch; inference | pytorch / totune; pytorch-tuned / totune; pytorch-compiled / totune
training MiniLM on texts in random order | peer | shuffled; training | pytorch-fused / totune; pytorch-tuned / totune
training MiniLM on texts of similar length | peer | bucketed; training | pytorch-fused / totune; pytorch-tuned / totune
inference on texts in random order | peer | shuffled; inference | pytorch / totune; pytorch-tuned / totune
inference on texts of similar length | peer | bucketed; inference | pytorch / totune; pytorch-tuned / totune
predictions for a file | predict | rows | pipeline / totune; pipeline, best batch / totune; pipeline, sorted / totune
pre-training a BERT | pretrain | masked LM | pytorch f32 / totune f32; pytorch autocast / totune bf16
pre-training an ELMo | pretrain | biLM | pytorch f32 / totune f32; pytorch autocast / totune bf16
training MiniLM and the small BERT in bf16 | bf16 | training | pytorch autocast / totune bf16
inference of the same in bf16 | bf16 | inference | pytorch autocast / totune bf16
bf16 against f32 | bf16 | , | totune f32 / totune bf16
a step of LoRA, f32 | peft | LoRA, f32 | peft / totune
a step of LoRA, bf16 | peft | LoRA, bf16 | peft / totune
a step of BitFit, f32 | peft | BitFit, f32 | pytorch / totune
a step of BitFit, bf16 | peft | BitFit, bf16 | pytorch / totune
an epoch of the last layer | cache | last-1 | totune, not cached / totune, cached
BiMPM's head | heads | BiMPM; training | pytorch / totune
highway LSTMs | heads | highway | pytorch / totune
a CRF | crf | CRF | pytorch / totune
LSTMs and BiLSTMs on batches without padding | lstm | LSTM; !rows | pytorch / totune
LSTMs on rows of 4 to 64 steps | lstm | LSTM; rows | pytorch / totune
ELMo's recurrence at the original size, training | elmo | original; training | pytorch / totune
ELMo's recurrence at the original size, inference | elmo | original; inference | pytorch / totune
AdamW's update of all weights | update | | pytorch-fused / totune; memcpy / totune
logistic probes of 13 layers | probes | logistic | python, layers at once / totune; python, layers at once / totune, preconditioned
linear probes of 13 layers | probes | linear | python, layers at once / totune";

/// The machines of the table of speeds: the folder of their pages, and the heading of their column.
const MACHINES: [(&str, &str); 4] = [
    ("", "Xeon"),
    ("amd-zen4/", "AMD Zen 4"),
    ("amd-zen5/", "AMD Zen 5"),
    ("amd-zen3/", "AMD Zen 3"),
];

/// The rows of the table of speeds on a GPU, as [`SPEEDS`].
const GPU_SPEEDS: &str = "\
training MiniLM | gpu | MiniLM, 32 x 64, training, bf16 | pytorch-compiled / totune; pytorch / totune
training BERT-base | gpu | BERT-base, 32 x 128, training, f32 | pytorch-compiled / totune; pytorch / totune";

/// The rows of the table of goals on CPUs: the words that a row begins with, its benchmark, words in the names of its
/// cases, and the kind of the goals.
const GOALS: &str = "\
training at least 1.1 times | peer | training | faster
inference on full batches | peer | batch; inference | faster
inference on texts | peer | inference; !batch | faster
predictions for a file | predict | mixed | faster
training of MiniLM, 32 x 128 | peer | MiniLM; training | product
training of BERT-base, 32 x 128 | peer | BERT-base; training | product
a step of LoRA or BitFit | peft | , | faster
ELMo's recurrence | elmo | original; inference | faster
logistic regression | probes | logistic | faster
epochs of the last layers | cache | last- | faster";

/// The rows of the table of other goals whose figures are on a page, as [`GOALS`].
const OTHER_GOALS: &str = "\
at most 0.80 of PyTorch's operators | operators | batch | operators
at least as fast as `torch.compile` | gpu | training | faster";

/// Held by each test that reads the documentation, which two of them may write.
static DOCUMENTATION: Mutex<()> = Mutex::new(());

/// Whether all of these words are in the name of a case, and none of those behind a `!`.
fn has_words(case: &str, words: &str) -> bool {
    words.split("; ").all(|word| match word.strip_prefix('!') {
        Some(word) => !case.contains(word),
        None => case.contains(word),
    })
}

/// Ratios of medians over the cases with these words, as the table has them: `1.03-1.53`, or one where they are the same,
/// a line each, and a dash for sides that were not measured; a dash alone where none was.
fn ratios(results: &Results, words: &str, sides: &str) -> String {
    let of_pair = |pair: &str| {
        let (other, ours) = pair.split_once(" / ").expect("two sides");
        let cases = results
            .outcomes
            .iter()
            .filter(|outcome| has_words(&outcome.case, words));
        range(cases.filter_map(|case| case.ratio(other, ours)).collect())
    };
    let all: Vec<String> = sides.split("; ").map(of_pair).collect();
    if all.iter().all(|one| one == NONE) {
        return NONE.to_string();
    }
    all.join("<br>")
}

/// A cell without a figure.
const NONE: &str = "-";

/// The smallest and the largest, or one where they are the same.
fn range(mut all: Vec<f64>) -> String {
    all.sort_by(f64::total_cmp);
    let [Some(least), Some(most)] = [all.first(), all.last()].map(|one| one.map(two)) else {
        return NONE.to_string();
    };
    if least == most {
        least
    } else {
        // A hyphen at which no browser breaks the line.
        format!("{least}\u{2011}{most}")
    }
}

fn two(ratio: &f64) -> String {
    format!("{ratio:.2}")
}

/// The cells of a row.
fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

/// The root of the checkout.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The headings of the tables of speeds, on CPUs and on a GPU.
fn headings() -> [String; 2] {
    let machines = MACHINES.map(|(_, shown)| shown).join(" | ");
    [format!("| what | {machines} |"), "| what | H100 |".into()]
}

/// The rows of the table with this heading.
fn rows_below(page: &str, heading: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).expect(page);
    let table = text.lines().skip_while(|line| *line != heading);
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.replace("](../", "](")).collect()
}

#[test]
fn the_speeds_in_readme_are_some_of_those_in_the_documentation() {
    let _alone = DOCUMENTATION.lock();
    for heading in headings() {
        let all = rows_below("docs/benchmarks.md", &heading);
        let some = rows_below("README.md", &heading);
        assert!(!some.is_empty(), "{heading}");
        for row in some {
            assert!(all.contains(&row), "not in docs/benchmarks.md: {row}");
        }
    }
}

/// The results of a benchmark on the machine with its pages in this folder, and the page, where there are any.
fn page_of(folder: &str, benchmark: &str) -> Option<(Results, String)> {
    let page = format!("results/bench/{folder}{benchmark}.md");
    let file = root().join(&page).with_extension("json");
    if !file.exists() {
        return None;
    }
    let results = Results::read(&file).unwrap_or_else(|error| panic!("{error:#}"));
    Some((results, page))
}

/// The figures of a row of [`SPEEDS`] on the machine with its pages in this folder, linked to their page.
fn speed(folder: &str, benchmark: &str, words: &str, sides: &str) -> String {
    let Some((results, page)) = page_of(folder, benchmark) else {
        return NONE.to_string();
    };
    match ratios(&results, words, sides) {
        none if none == NONE => none,
        ratios => format!("[{ratios}]({page})"),
    }
}

/// `TOTUNE_WRITE_PAGES=1` writes the figures of the rows, here and in the README.
#[test]
fn the_speeds_in_the_documentation_are_those_of_the_results() {
    let _alone = DOCUMENTATION.lock();
    let of_cpus = MACHINES.map(|(folder, _)| folder);
    let folders = [&of_cpus[..], &[""]];
    let tables = headings().into_iter().zip([SPEEDS, GPU_SPEEDS]);
    for ((heading, specs), folders) in tables.zip(folders) {
        let table = rows_below("docs/benchmarks.md", &heading);
        let rows = specs.lines().count();
        assert_eq!(table.len(), rows, "rows of {heading} and of this test");
        for (row, spec) in table.into_iter().zip(specs.lines()) {
            let [begins, benchmark, words, sides] = cells(spec)[..] else {
                panic!("{spec}: found other than four cells");
            };
            let what = cells(&row)[0].to_string();
            assert!(what.starts_with(begins), "found {what}, expected {begins}");
            let figures = folders.iter();
            let figures = figures.map(|folder| speed(folder, benchmark, words, sides));
            let written = format!("| {what} | {} |", figures.collect::<Vec<_>>().join(" | "));
            check_row(&["docs/benchmarks.md", "README.md"], &what, &row, &written);
        }
    }
}

/// Compares a row with what it should be, or where pages are to be written puts that in its place.
fn check_row(pages: &[&str], what: &str, row: &str, expected: &str) {
    if std::env::var_os("TOTUNE_WRITE_PAGES").is_none() {
        assert_eq!(row, expected);
        return;
    }
    for page in pages {
        let up = if page.contains('/') { "](../" } else { "](" };
        let expected = expected.replace("](", up);
        let text = fs::read_to_string(root().join(page)).expect(page);
        let start = format!("| {what} |");
        let written = text.lines().map(|line| {
            let is_it = line.starts_with(&start);
            format!("{}\n", if is_it { &expected } else { line })
        });
        fs::write(root().join(page), written.collect::<String>()).expect("written");
    }
}

/// The figures of all cases with these words that have a goal of this kind, how many reach it, and how many there are.
fn found(results: &Results, words: &str, kind: &str) -> (String, usize, usize) {
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
    let figures = range(found.iter().map(|(found, _)| *found).collect());
    let reached = found.iter().filter(|(_, is_reached)| *is_reached).count();
    (figures, reached, found.len())
}

/// The figures of a row of [`GOALS`] on the machine with its pages in this folder, linked to their page, and how many
/// cases reach the goal.
fn reached(folder: &str, benchmark: &str, words: &str, kind: &str) -> String {
    let Some((results, page)) = page_of(folder, benchmark) else {
        return NONE.to_string();
    };
    match found(&results, words, kind) {
        (_, _, 0) => NONE.to_string(),
        (figures, reached, all) => format!("[{figures}]({page})<br>{reached} of {all}"),
    }
}

#[test]
fn the_other_goals_in_the_documentation_stand_where_the_results_say() {
    let _alone = DOCUMENTATION.lock();
    let heading = "| goal | found | machine | page or command | reached |";
    let table = rows_below("docs/benchmarks.md", heading);
    for line in OTHER_GOALS.lines() {
        let [begins, benchmark, words, kind] = cells(line)[..] else {
            panic!("{line}: found other than four cells");
        };
        let row = table
            .iter()
            .find(|row| row.starts_with(&format!("| {begins}")));
        let row = row.unwrap_or_else(|| panic!("{begins}: found no row"));
        let (results, page) = page_of("", benchmark).expect("a page");
        let (figures, n, all) = found(&results, words, kind);
        let reached = match n {
            0 => "no",
            n if n == all => "yes",
            _ => "partly",
        };
        let cells = cells(row);
        let figures = format!("{figures}, {n} of {all} cases").replace('\u{2011}', "-");
        assert!(cells[1].starts_with(&figures), "{row}: expected {figures}");
        assert_eq!(cells[4], reached, "{row}");
        assert!(cells[3].contains(&format!("({page})")), "{row}");
    }
}

/// `TOTUNE_WRITE_PAGES=1` writes the cells.
#[test]
fn the_goals_in_the_documentation_stand_where_the_results_say() {
    let _alone = DOCUMENTATION.lock();
    let machines = MACHINES.map(|(_, shown)| shown).join(" | ");
    let table = rows_below("docs/benchmarks.md", &format!("| goal | {machines} |"));
    assert_eq!(table.len(), GOALS.lines().count());
    for (row, spec) in table.into_iter().zip(GOALS.lines()) {
        let [begins, benchmark, words, kind] = cells(spec)[..] else {
            panic!("{spec}: found other than four cells");
        };
        let what = cells(&row)[0].to_string();
        assert!(what.starts_with(begins), "found {what}, expected {begins}");
        let found = MACHINES.map(|(folder, _)| reached(folder, benchmark, words, kind));
        let written = format!("| {what} | {} |", found.join(" | "));
        check_row(&["docs/benchmarks.md"], &what, &row, &written);
    }
}
