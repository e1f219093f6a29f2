//! The page of every paper and profile on the runs of its plan, none of which ran: each table, figure and claim finds runs
//! and scores for all that it shows.

mod rows;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rayon::prelude::*;
use regex::RegexSet;
use totune_report::{Request, Written, report_of};
use totune_sweep::Project;

/// Words of a page without a run, or without one that has a score.
const EMPTY: &str =
    "no run|no score|not scored|without (a|this) score|without `|because|not every side has";

/// Lines with such words that are right.
const LEFT_OUT: [&str; 15] = [
    // Two seeds decide nothing.
    "at least 3 are needed",
    "^wang2019 mini table-3-ensemble.md: .*(no run|fewer than 3 seeds)",
    // Sentences of tags have no vector, and single texts no cosine.
    r"^peters2019 \w+ table-2.md: .*Floor: (regression on|cosine of) frozen vectors",
    r"^wang2023 \w+ rates.md: .*Floor: cosine of frozen vectors",
    r"^strategies \w+ scores-\d+.md: .*(Linear probe|frozen vectors).*CoNLL-2003",
    // Two of four tasks have too few examples to estimate information.
    r"^peters2019 fixture (figure-2[-\w]*|claims)\.(md|svg): .*(no run|without `mi)",
    "^peters2019 mini search-(bert|elmo).svg: .*no run",
    // Some of the rates show that the table works.
    "^wang2019 (fixture|small|mini) rates.md: .*(no run|left out)",
    // Taggers and ensembles have no predictions here that could be resampled.
    r"^wang2019 \w+ (phases|second|together-fair).md: left out, .*over test examples",
    // The first and the last depth show the two ends.
    "^wang2023 (base|mini|small) (batch|schedule).md: .*Last [234] layers",
    // Each depth has a rate of its own from a search.
    "^wang2023 base (takeaway|rates|ranks|low-rate).*(All layers, 1e-3|layers?, 2e-5)",
    "^wang2023 base tuned-lr.md: .*tuned learning rate",
    // Five times its 85 million steps would be too many.
    "^wang2023 paper tuned-lr.md: .*tuned learning rate",
    // An effect size takes three seeds.
    "^wang20(19|23) .*: left out, because no row has a value: Hedges’ g",
    // One task shows that the tables work.
    "^wang2023 fixture (bf16|frozen-dropout).md: .* on (MRPC|STS-B)(: empty|; )",
];

/// Lines that these runs give.
const SHOWN: [&str; 6] = [
    "^wang2019 paper phases-ner-epochs.svg: .*phase 1 ends above",
    "^wang2019 paper phases-ner-epochs.svg: .*start of phase 2",
    r"^wang2019 paper phases-ner-epochs-ends.md: .*1 \(2 runs\), 2 \(3 runs\)",
    "^wang2019 paper curves-ner.svg: .*phase 2 begins",
    r"^wang2019 paper table-3-ensemble.md: \| Three networks, majority +\| +\*?\*?\d\.\d\d",
    r"^peters2019 fixture search-elmo.svg: .*\(format check, not a result\)",
];

#[test]
fn every_table_figure_and_claim_finds_planned_runs_in_every_profile() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let project = Project::open(&root).expect("the repository");
    let mut pages = Vec::new();
    for paper in project.papers().expect("papers") {
        let experiments = project.experiments(&paper).expect("experiments");
        let profiles = experiments.iter().flat_map(|each| each.profiles());
        let profiles: BTreeSet<&str> = profiles.collect();
        pages.extend(
            profiles
                .into_iter()
                .map(|profile| (paper.clone(), profile.to_owned())),
        );
    }
    // A page takes seconds to write, so they are written side by side.
    let lines: Vec<String> = pages
        .par_iter()
        .flat_map_iter(|page| lines(&project, &root, page))
        .collect();
    let of = |regexes: &[&str]| RegexSet::new(regexes).expect("regular expressions");
    let (empty, left_out, shown) = (of(&[EMPTY]), of(&LEFT_OUT), of(&SHOWN));
    let wrong = |line: &&String| empty.is_match(line) && !left_out.is_match(line);
    let wrong: Vec<&String> = lines.iter().filter(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for all in [left_out, shown] {
        let seen: BTreeSet<usize> = lines.iter().flat_map(|line| all.matches(line)).collect();
        let unseen = (0..all.len()).filter(|at| !seen.contains(at));
        let unseen: Vec<&String> = unseen.map(|at| &all.patterns()[at]).collect();
        assert!(unseen.is_empty(), "no line says {unseen:#?}");
    }
}

/// The lines of the tables and figures of a page: `<paper> <profile> <file>: <line>`.
fn lines(project: &Project, root: &Path, (paper, profile): &(String, String)) -> Vec<String> {
    let experiments = project
        .experiments_with(paper, profile)
        .expect("experiments");
    let runs = experiments
        .iter()
        .flat_map(|each| each.expand(profile).expect("expands"));
    let rows = rows::tables(
        &runs.collect::<Vec<_>>(),
        &project.datasets().expect("cards"),
    );
    let place = tempfile::tempdir().expect("a folder");
    for folder in ["experiments", "encoders", "datasets"] {
        let target = fs::canonicalize(root.join(folder)).expect(folder);
        symlink(target, place.path().join(folder)).expect("a link");
    }
    let request = Request {
        project_root: place.path().to_owned(),
        shipped: None,
        paper: paper.clone(),
        profile: profile.clone(),
    };
    let Written { files, .. } = report_of(&request, Some(rows.into())).expect("a page");
    let mut lines = Vec::new();
    for file in files {
        let name = file.file_name().expect("a name").to_string_lossy();
        if name.ends_with(".md") || name.ends_with(".svg") {
            let text = fs::read_to_string(&file).expect("a file");
            let of_file = text.lines();
            lines.extend(of_file.map(|line| format!("{paper} {profile} {name}: {line}")));
        }
    }
    lines
}
