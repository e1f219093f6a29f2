use super::*;
use crate::fixture;
use serde_json::Value;
use totune_evidence::select::runs::Runs;
use totune_evidence::toml_file::parse;
use totune_record::{RunRow, TimingRow};

#[test]
fn a_takeaway_in_markdown_and_csv() {
    let few = built("groups = ['last-2', 'last-1']");
    insta::assert_snapshot!("a_takeaway_in_markdown", few.markdown());
    let hot = built("groups = ['last-2', 'full-hot', 'full']");
    insta::assert_snapshot!("a_takeaway_in_csv", hot.csv.text());
}

#[test]
fn a_group_without_runs_is_a_row_without_numbers() {
    let table = built("groups = ['last-3']\ntasks = ['letters']");
    assert_eq!(
        table.lead[0],
        "No group can be compared with all layers yet."
    );
    let row = &table.parts[0].rows[1];
    assert_eq!([1, 3, 7].map(|at| row[at].main.as_str()), ["", "", "0"]);
    let why = "Last three layers has no score on Letters: no run has";
    assert!(table.notes[0].starts_with(why), "{:?}", table.notes);
}

#[test]
fn a_task_without_a_run_is_left_out() {
    let two = built("groups = ['last-2']\ntasks = ['letters', 'sounds']");
    let plan = fixture::task_plan();
    let text = "title = 'What to take'\nbaseline = 'full'\ngroups = ['last-2']\ntasks = ['letters', 'sounds']\n";
    let asked: TakeawayPlan = parse(text, "report.toml").unwrap();
    let sounds = plan.tasks["sounds"].datasets.clone();
    let score = |table: &RenderedTable| table.parts[0].rows[0][1].main.clone();
    let full = r#""kind":"full""#;
    for (of_arm, what) in [("", "a run"), (full, "a score of all layers")] {
        let mut tables = totune_synthetic::task_tables();
        let gone = |run: &RunRow| sounds.contains(&run.dataset) && run.spec.contains(of_arm);
        assert!(tables.runs.iter().any(gone));
        tables.runs.retain(|run| !gone(run));
        let runs = Runs::new(tables).unwrap();
        let scope = Scope::new(&plan, &runs, "report.toml");
        let one = asked.render(&scope).unwrap().table;
        let note = format!("Without {what} yet, and left out here: Sounds");
        assert_eq!(one.notes, [note]);
        assert_ne!(score(&one), "");
        assert_ne!(score(&one), score(&two));
    }
}

#[test]
fn tasks_that_a_group_has_no_run_on_are_one_note() {
    let text = "title = 'What to take'\nbaseline = 'full'\ngroups = ['last-2']\n";
    let (asked, plan): (TakeawayPlan, _) =
        (parse(text, "report.toml").unwrap(), fixture::task_plan());
    let mut tables = totune_synthetic::task_tables();
    let datasets = ["letters", "sounds"]
        .map(|task| plan.tasks[task].datasets.clone())
        .concat();
    tables
        .runs
        .retain(|run| !(run.spec.contains("last-2") && datasets.contains(&run.dataset)));
    let runs = Runs::new(tables).unwrap();
    let scope = Scope::new(&plan, &runs, "report.toml");
    let notes = asked.render(&scope).unwrap().table.notes;
    let without: Vec<_> = notes
        .iter()
        .filter(|note| note.contains("no run on"))
        .collect();
    assert_eq!(
        without,
        ["Last two layers has no run on Letters and Sounds"]
    );
}

#[test]
fn a_group_that_lacks_runs_is_compared_only_where_all_do() {
    for (complete, expected) in [
        ([true, false, true], [Some('a'), None, Some('c')]),
        ([true; 3], ['a', 'b', 'c'].map(Some)),
        ([false; 3], ['a', 'b', 'c'].map(Some)),
    ] {
        let found = complete.into_iter().zip(['a', 'b', 'c']).map(Some);
        let found = [None].into_iter().chain(found);
        let left: Vec<_> = comparable(found.collect()).collect();
        assert_eq!(left, [&[None], &expected[..]].concat());
    }
}

#[test]
fn a_row_counts_what_was_lost_and_compares_what_is_left() {
    let table = built("groups = ['full-hot']");
    let runs = table.parts[0].rows[1].last().unwrap();
    assert_eq!((runs.main.as_str(), runs.detail.as_str()), ("11", "1 lost"));
    let lost = "All layers, high rate on Sounds: 1 diverged".to_owned();
    assert!(table.notes.contains(&lost));
    assert!(table.lead.last().unwrap().contains("2 to 3 seeds"));
}

#[test]
fn memory_is_a_column_where_it_was_counted() {
    let mut tables = totune_synthetic::task_tables();
    for run in &mut tables.runs {
        run.spec = run.spec.replace(r#""tune""#, r#""fine-tune""#);
    }
    // Not of sounds, and half as much of two layers.
    let counted = tables
        .runs
        .iter()
        .filter(|run| run.dataset != "synthetic-sounds");
    let timing = counted.map(|run| TimingRow {
        experiment: run.experiment.clone(),
        arm: serde_json::from_str::<Value>(&run.spec).unwrap()["arm"]
            .as_str()
            .unwrap()
            .to_owned(),
        dataset: run.dataset.clone(),
        encoder: run.encoder.clone(),
        tensor_memory: Some(if run.spec.contains("last-k") { 5 } else { 10 }),
        ..TimingRow::default()
    });
    let folder = tempfile::tempdir().unwrap();
    totune_record::write_timing(folder.path(), &timing.collect::<Vec<_>>()).unwrap();
    let runs = Runs::read(&[], folder.path(), tables.into()).unwrap();
    let table = of_runs("groups = ['last-2', 'full']", &runs);
    let titles: Vec<&str> = table
        .columns
        .iter()
        .map(|column| column.title.as_str())
        .collect();
    let at = titles
        .iter()
        .position(|title| *title == "Memory (%)")
        .unwrap();
    let cells: Vec<&str> = table.parts[0]
        .rows
        .iter()
        .map(|row| row[at].main.as_str())
        .collect();
    assert_eq!(cells, ["50", "100"]);
    assert!(
        table
            .notes
            .contains(&"memory was counted on 3 of 4 tasks only".to_owned())
    );
    assert!(table.legend.contains("times and memory"));
    let without = built("groups = ['last-2', 'full']");
    assert!(!without.markdown().contains("emory"));
}

fn built(rest: &str) -> RenderedTable {
    of_runs(rest, &Runs::new(totune_synthetic::task_tables()).unwrap())
}

fn of_runs(rest: &str, runs: &Runs) -> RenderedTable {
    let text = format!("title = 'What to take'\nbaseline = 'full'\n{rest}\n");
    let asked: TakeawayPlan = parse(&text, "report.toml").unwrap();
    let plan = fixture::task_plan();
    asked.check(&plan, "report.toml: takeaway").unwrap();
    let scope = Scope::new(&plan, runs, "report.toml");
    asked.render(&scope).unwrap().table
}
