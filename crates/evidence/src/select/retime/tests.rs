use super::*;
use totune_record::Tables;

/// Two runs of two phases and one of another arm, on one dataset.
fn tables() -> Tables {
    let synthetic = totune_synthetic::tables();
    let run = |id: &str, arm: &str| RunRow {
        run_id: id.into(),
        experiment: "table-1".into(),
        spec: format!(r#"{{"arm":"{arm}","work":{{"kind":"fine-tune"}}}}"#),
        dataset: "letters".into(),
        encoder: "tiny".into(),
        epochs: 3,
        train_seconds: 99.0,
        ..synthetic.runs[0].clone()
    };
    let eval = |id: &str, epoch: u32, phase: u32| totune_record::EvalRow {
        run_id: id.into(),
        epoch,
        phase,
        train_seconds: 33.0 * f64::from(epoch),
        ..synthetic.evals[0].clone()
    };
    let runs = ["a", "b", "c"].map(|id| run(id, if id == "c" { "other" } else { "two" }));
    let evals = ["a", "b", "c"].map(|id| [(1, 0), (2, 1), (3, 1)].map(|(e, p)| eval(id, e, p)));
    Tables {
        runs: runs.to_vec(),
        evals: evals.concat(),
        predictions: vec![],
    }
}

fn timing(arm: &str, phase: u32, epoch_seconds: f64, cache_seconds: f64) -> TimingRow {
    TimingRow {
        experiment: "table-1".into(),
        arm: arm.into(),
        dataset: "letters".into(),
        encoder: "tiny".into(),
        phase,
        epochs: 3,
        epoch_seconds,
        cpu_seconds: Some(epoch_seconds),
        cache_seconds,
        quiet: true,
        threads: 1,
        machine: "a processor, 2 cores".into(),
        ..TimingRow::default()
    }
}

fn retime_all(tables: &mut Tables, timing: &[TimingRow]) -> Retimed {
    retime(&mut tables.runs, &mut tables.evals, timing)
}

fn seconds(tables: &Tables) -> Vec<f64> {
    tables.evals.iter().map(|eval| eval.train_seconds).collect()
}

#[test]
fn seconds_add_up_over_phases_and_caches() {
    let mut found = tables();
    let rows = [
        timing("two", 0, 1.0, 0.5),
        timing("two", 1, 10.0, 0.0),
        timing("other", 0, 2.0, 0.0),
        timing("other", 1, 3.0, 4.0),
    ];
    let said = retime_all(&mut found, &rows);
    let two = [1.5, 11.5, 21.5];
    assert_eq!(seconds(&found), [two, two, [2.0, 9.0, 12.0]].concat());
    let of_runs = found
        .runs
        .iter()
        .map(|run| (run.train_seconds, run.cache_seconds));
    assert_eq!(
        of_runs.collect::<Vec<_>>(),
        [(21.5, 0.5), (21.5, 0.5), (12.0, 4.0)]
    );
    assert_eq!(said.lines, ["3 runs: a processor, 2 cores, 1 thread"]);
}

#[test]
fn what_is_compared_has_seconds_of_one_kind() {
    let two = || vec![timing("two", 0, 1.0, 0.5), timing("two", 1, 10.0, 0.0)];
    let mut one_phase = two();
    one_phase.push(timing("other", 0, 2.0, 0.0));
    let mut noisy = one_phase.clone();
    noisy.push(TimingRow {
        quiet: false,
        ..timing("other", 1, 2.0, 0.0)
    });
    for (rows, why) in [
        (vec![], "none was timed"),
        (two(), "an arm was not timed"),
        (one_phase, "a phase was not timed"),
        (noisy, "the machine was not quiet"),
    ] {
        let mut found = tables();
        let said = retime_all(&mut found, &rows);
        assert!(
            said.lines.is_empty() && said.incomparable.is_empty(),
            "{why}"
        );
        assert_eq!(found, tables(), "{why}");
    }
}

#[test]
fn seconds_of_a_gpu_count_where_all_are_of_it_and_nothing_else_ran() {
    let on = |device: [&str; 3], load: f64| {
        let mut tables = tables();
        for (run, device) in tables.runs.iter_mut().zip(device) {
            run.threads = 1;
            run.cache_seconds = 0.0;
            run.cpu_seconds = Some(run.train_seconds);
            run.device = device.into();
            run.load_average = Some(load);
        }
        retime_all(&mut tables, &[]).incomparable.len()
    };
    let gpu = "cuda:0 (a GPU, LibTorch 2.11.0)";
    assert_eq!(on([gpu; 3], 1.1), 0);
    assert_eq!(on([gpu; 3], 15.8), 3, "by many processes");
    assert_eq!(on([gpu, gpu, "cpu (LibTorch 2.11.0)"], 1.1), 3);
    let other = "cuda:1 (a GPU, LibTorch 2.11.0)";
    assert_eq!(on([gpu, gpu, other], 1.1), 0, "another of the same kind");
    let faster = "cuda:0 (a faster GPU, LibTorch 2.11.0)";
    assert_eq!(on([gpu, gpu, faster], 1.1), 3);
    // The load of a CPU says less than the processor time of the run.
    assert_eq!(on(["cpu", "cpu", "cpu (LibTorch 2.11.0)"], 15.8), 0);
}

#[test]
fn seconds_beside_other_jobs_do_not_count() {
    let busy = |share: f64| {
        let mut tables = tables();
        for run in &mut tables.runs {
            run.threads = 1;
            run.cache_seconds = 0.0;
            run.cpu_seconds = Some(run.train_seconds);
        }
        tables.runs[2].cpu_seconds = Some(share * 99.0);
        tables
    };
    assert_eq!(
        retime_all(&mut busy(0.95), &[]).incomparable,
        BTreeSet::new()
    );
    // The others are compared with it.
    let all: BTreeSet<String> = ["a", "b", "c"].map(str::to_owned).into();
    let said = retime_all(&mut busy(0.5), &[]);
    assert_eq!(said.incomparable, all);
    assert!(said.notes()[0].starts_with("The seconds of 3 runs are unreliable"));
    let [two, other] = ["two", "other"].map(|arm| [0, 1].map(|phase| timing(arm, phase, 1.0, 0.0)));
    let said = retime_all(&mut busy(0.5), &[two.clone(), other].concat());
    assert_eq!(said.incomparable, BTreeSet::new());
    assert_eq!(said.notes().len(), 1);
    // Where its own seconds are no measure, an arm that was timed has those of the pass, and the other none.
    let mut tables = busy(0.5);
    let said = retime_all(&mut tables, &two);
    assert_eq!(said.incomparable, BTreeSet::from(["c".to_owned()]));
    assert_eq!(said.lines, ["2 runs: a processor, 2 cores, 1 thread"]);
    assert_eq!(tables.runs[0].train_seconds, 3.0);
}

#[test]
fn seconds_of_a_probe_are_not_compared_with_those_of_a_pass() {
    let mut tables = tables();
    for run in &mut tables.runs {
        run.threads = 1;
        run.cpu_seconds = Some(run.train_seconds);
    }
    tables.runs[2].spec = r#"{"arm":"other","work":{"kind":"probe"}}"#.into();
    let rows = [0, 1].map(|phase| timing("two", phase, 1.0, 0.0));
    let said = retime_all(&mut tables, &rows);
    assert_eq!(said.incomparable, BTreeSet::from(["c".to_owned()]));
    assert_eq!(said.notes().len(), 2);
}

#[test]
fn trials_of_a_search_are_of_the_kind_of_what_they_are_for() {
    let mut found = tables();
    found.runs[2].experiment = "table-1-search".into();
    found.runs[2].spec = found.runs[0].spec.clone();
    let rows = [timing("two", 0, 1.0, 0.0), timing("two", 1, 1.0, 0.0)];
    retime_all(&mut found, &rows);
    assert_eq!(seconds(&found), [1.0, 2.0, 3.0].repeat(3));
    // A run that trained no encoder needs no timing.
    let mut found = tables();
    found.runs[2].spec = r#"{"arm":"words","work":{"kind":"sparse"}}"#.into();
    retime_all(&mut found, &rows);
    assert_eq!(
        found
            .runs
            .iter()
            .map(|run| run.train_seconds)
            .collect::<Vec<_>>(),
        [3.0, 3.0, 99.0]
    );
}
