//! Tests of the module above.

use super::identity::id_of;
use super::schema::SCHEMA;
use super::*;
use totune_data::{Duplicates, FoldKind, KFold};

fn spec() -> RunSpec {
    RunSpec {
        paper: "hart2020".to_string(),
        experiment: "table-1".to_string(),
        arm: "tf-idf".to_string(),
        profile: "paper".to_string(),
        dataset: "disaster-tweets".to_string(),
        split: Split::KFold(KFold {
            folds: 10,
            by: FoldKind::Shuffled,
            seed: Some(0),
            duplicates: Duplicates::Keep,
        }),
        fold: 3,
        seed: 0,
        work: Work::Sparse(SparseWork {
            features: Features::TfIdf,
            logistic: LogisticSettings {
                c: 1.0,
                max_iter: 100,
                tol: 1e-4,
                solver: Solver::Lbfgs,
            },
        }),
        search: Vec::new(),
        search_trials: None,
        known_id: None,
        replaces: None,
    }
}

/// The id is what `printf '%s' '<the JSON below without `arm` and `search-trials`>' | sha256sum | cut -c1-16` prints. If this test fails,
/// results on disk no longer mean what their ids say: give the changed meaning a new name instead.
fn schema_key(schema: u64) -> String {
    format!("\"schema\":{schema}")
}

#[test]
fn the_id_of_a_spec_never_changes() {
    let json = concat!(
        r#"{"arm":"tf-idf","dataset":"disaster-tweets","experiment":"table-1","fold":3,"paper":"hart2020","#,
        r#""profile":"paper","schema":13,"search":[],"search-trials":null,"seed":0,"#,
        r#""split":{"by":"shuffled","duplicates":"keep","folds":10,"kind":"k-fold","seed":0},"#,
        r#""work":{"features":"tf-idf","kind":"sparse","logistic":{"c":1.0,"max-iter":100,"solver":"lbfgs","tol":0.0001}}}"#
    );
    assert_eq!(spec().canonical_json(), json);
    assert_eq!(spec().id(), "50cec4cd1bafe8a3");
    let earlier: Vec<String> = spec().earlier_ids().collect();
    assert_eq!(
        earlier,
        [
            "cf3043fa72f5e4c5",
            "3b0491ced1a18dfd",
            "16407e8bbffe6b10",
            "c280384576d9f13a",
            "8e904c8ecf452f9c",
            "ff74227c28a7c247",
            "38b18a2d9d7675f9",
            "58a470380dbf9644",
            "0c113a4f84e17ffb",
            "8b69013e4104981a",
            "719a8f78f7d9b82b",
            "c609787a2e6c0eaf"
        ]
    );
}

/// The same for a spec as schema 1 wrote it.
#[test]
fn a_spec_of_schema_1_is_read_in_full_and_knows_the_id_it_was_made_with() {
    let json = concat!(
        r#"{"dataset":"disaster-tweets","experiment":"table-2","fold":0,"paper":"hart2020","profile":"paper","seed":1,"#,
        r#""split":{"duplicates":"keep","kind":"hold-out","seed":13,"test":0.2},"#,
        r#""work":{"encoder":"bert-base-uncased","kind":"tune","training":{"#,
        r#""adaptation":{"embeddings":"frozen","k":2,"kind":"last-k","lr":0.00005,"pooler":"trainable"},"#,
        r#""batch-size":32,"bucketing":"off","clip":{"kind":"none"},"dropout":0.1,"dtype":"f32","epochs":3,"#,
        r#""evaluation-batch-size":64,"frozen-dropout":"on","head":{"dropout":0.1,"pooling":"pooler"},"max-length":64,"#,
        r#""optimizer":{"betas":[0.9,0.999],"epsilon":1e-8,"kind":"adam-w","no-decay":["\\.bias$","norm\\."],"weight-decay":0.01},"#,
        r#""schedule":{"end":0.0,"kind":"polynomial","power":1.0},"stop":{"kind":"epochs"}}}}"#,
    );
    let spec = RunSpec::read(json).expect("a spec");
    assert_eq!(spec.id_of_schema_1(), "5916faad31072a55");
    let earlier: Vec<String> = spec.earlier_ids().collect();
    assert_eq!(
        earlier,
        [
            "8b9558c21f227314",
            "bccbea3cf76c94c5",
            "74a1132ab8216741",
            "a89edc0b1ac04e57",
            "f85c79ae3a116ed6",
            "2899ae1d773c511d",
            "8992e84dadda8237",
            "38bd257998816242",
            "78d3345f654020be",
            "a3add02da90d1a77",
            "c5d48a441be6ceaa",
            "5916faad31072a55"
        ]
    );
    assert_eq!(spec.arm, "");
    let full = spec.canonical_json();
    for part in [
        r#""cache":{"kind":"off"}"#,
        r#""layer-decay":1.0"#,
        r#""head-lr":null"#,
        r#""head":{"dropout":0.1,"kind":"linear","layers":{"kind":"top"},"pooling":"pooler"}"#,
        r#""train-limit":null"#,
    ] {
        assert!(full.contains(part), "{part}: {full}");
    }
    assert_eq!(RunSpec::read(&full).expect("reads"), spec);
    assert_eq!(
        spec.label(),
        "table-2 · disaster-tweets · bert-base-uncased · last-2 · lr 5e-5 · hold-out · seed 1"
    );
}

/// Settings of each kind of head in schema 2, and in today's schema.
#[test]
fn settings_of_heads_have_the_names_of_today_and_their_runs_the_ids_of_then() {
    for (then, today) in [
        (
            r#"{"dropout":0.1,"layers":{"kind":"top"},"pooling":"mean"}"#,
            r#""kind":"linear""#,
        ),
        (
            r#"{"boundaries":"off","dropout":0.1,"hidden":200,"init":"esim","kind":"tagger","layers":{"embeddings":true,"kind":"mix","layer-norm":false},"output":"crf","pieces":"last","projection":7,"recurrent-layers":0,"recurrent-over":"pieces"}"#,
            r#"{"boundaries":"off","dropout":0.1,"hidden":200,"init":"glorot-orthogonal","kind":"tagger","layers":{"embeddings":true,"kind":"scalar-mix","layer-norm":false},"mlp-hidden":7,"output":"crf","recurrent-layers":0,"recurrent-over":"subwords","subwords":"last"}"#,
        ),
        (
            r#"{"dropout":0.5,"hidden":3,"kind":"esim","layers":{"kind":"top"},"output":9,"projection":4}"#,
            r#""mlp-hidden":9,"projection":4"#,
        ),
        (
            r#"{"dropout":0.1,"hidden":9,"kind":"fully-connected","layers":{"kind":"top"}}"#,
            r#""mlp-hidden":9"#,
        ),
    ] {
        let json = concat!(
            r#"{"arm":"x","dataset":"d","experiment":"e","fold":0,"paper":"p","profile":"small","schema":2,"search":[],"seed":1,"#,
            r#""split":{"dev":0.0,"duplicates":"keep","kind":"hold-out","seed":13,"test":0.2,"test-limit":null,"train-limit":null},"#,
            r#""work":{"encoder":"bert","kind":"tune","training":{"#,
            r#""adaptation":{"embeddings":"frozen","k":2,"kind":"last-k","layer-decay":1.0,"lr":0.00005,"pooler":"trainable"},"#,
            r#""batch-size":32,"bucketing":"off","cache":{"kind":"off"},"clip":{"kind":"none"},"context":"sentence","dropout":0.1,"#,
            r#""dtype":"f32","epochs":3,"evaluation-batch-size":64,"frozen-dropout":"on","head":HEAD,"max-length":64,"#,
            r#""micro-batch-size":0,"optimizer":{"betas":[0.9,0.999],"epsilon":1e-8,"kind":"adam-w","no-decay":[],"weight-decay":0.01},"#,
            r#""pairs":"joint","schedule":{"end":0.0,"kind":"polynomial","power":1.0},"select":"last","state":"reset","#,
            r#""stop":{"kind":"epochs"}}}}"#,
        )
        .replace("HEAD", then);
        let spec = RunSpec::read(&json).expect("a spec of schema 2");
        let full = spec.canonical_json();
        assert!(full.contains(today), "{full}");
        assert!(full.contains(&schema_key(SCHEMA)), "{full}");
        let hashed = json.replace(r#""arm":"x","#, "");
        let id = id_of(&serde_json::from_str(&hashed).expect("JSON"));
        assert_eq!(id_under(2, &spec), id, "{full}");
    }
}

/// A spec of a fine-tuning as an earlier schema wrote it.
fn of_schema(schema: u64, adaptation: &str) -> String {
    concat!(
        r#"{"arm":"x","dataset":"d","experiment":"e","fold":0,"paper":"p","profile":"small","schema":SCHEMA,"search":[],"seed":1,"#,
        r#""split":{"dev":0.0,"duplicates":"keep","kind":"hold-out","seed":13,"test":0.2,"test-limit":null,"train-limit":null},"#,
        r#""work":{"encoder":"bert","kind":"fine-tune","training":{"#,
        r#""adaptation":ADAPTATION,"#,
        r#""batch-size":32,"bucketing":"off","cache":{"kind":"off"},"clip":{"kind":"none"},"context":"sentence","dropout":0.1,"#,
        r#""dtype":"f32","epochs":3,"evaluation-batch-size":64,"frozen-dropout":"on","#,
        r#""head":{"dropout":0.1,"kind":"linear","layers":{"kind":"top"},"pooling":"mean"},"max-length":64,"#,
        r#""micro-batch-size":0,"optimizer":{"betas":[0.9,0.999],"epsilon":1e-8,"kind":"adam-w","no-decay":[],"weight-decay":0.01},"#,
        r#""pairs":"joint","schedule":{"end":0.0,"kind":"polynomial","power":1.0},"select":"last","state":"reset","#,
        r#""stop":{"kind":"epochs"}}}}"#,
    )
    .replace("SCHEMA", &schema.to_string())
    .replace("ADAPTATION", adaptation)
}

/// The run of a stored spec, and the id that it was made with.
fn run_and_id(json: &str) -> (RunSpec, String) {
    let hashed = json.replace(r#""arm":"x","#, "");
    let id = id_of(&serde_json::from_str(&hashed).expect("JSON"));
    (RunSpec::read(json).expect("a spec"), id)
}

/// The id of a run under an earlier schema.
fn id_under(schema: u64, run: &RunSpec) -> String {
    let newer = (SCHEMA - 1 - schema) as usize;
    run.earlier_ids().nth(newer).expect("an earlier schema")
}

/// The same run with another value.
fn with(run: &RunSpec, path: &str, value: f64) -> RunSpec {
    let setting = vec![(path.to_string(), Value::from(value))];
    crate::search::apply(run, &setting).expect("a setting")
}

#[test]
fn a_head_with_a_rate_of_its_own_in_the_second_phase_makes_another_run_and_says_so() {
    let adaptation = concat!(
        r#"{"embeddings":"trainable","head-epochs":3,"head-lr":0.001,"head-stop":{"kind":"epochs"},"#,
        r#""kind":"stack-and-finetune","layer-decay":1.0,"lr":0.00002,"pooler":"frozen"}"#
    );
    let (plain, then) = run_and_id(&of_schema(5, adaptation));
    assert_eq!(id_under(5, &plain), then);
    assert!(
        plain
            .canonical_json()
            .contains(r#""finetune-head-lr":null"#)
    );

    let path = "work.training.adaptation.finetune-head-lr";
    let own = with(&plain, path, 1e-4);
    let ids: Vec<String> = own.earlier_ids().collect();
    assert!(plain.earlier_ids().all(|id| !ids.contains(&id)));
    assert_ne!(own.id(), plain.id());
    assert_eq!(
        own.label(),
        "e · d · bert · x · stack-and-finetune · lr 2e-5 · finetune-head-lr 1e-4 · hold-out · seed 1"
    );
}

#[test]
fn a_head_with_a_rate_of_its_own_makes_another_run_and_says_so() {
    let adaptation = r#"{"embeddings":"trainable","kind":"full","layer-decay":1.0,"lr":0.00002,"pooler":"trainable"}"#;
    let (plain, then) = run_and_id(&of_schema(4, adaptation));
    assert_eq!(id_under(4, &plain), then);
    assert_eq!(
        plain.label(),
        "e · d · bert · x · full · lr 2e-5 · hold-out · seed 1"
    );

    let path = "work.training.adaptation.head-lr".to_string();
    let mut fast = with(&plain, &path, 1e-3);
    let ids: Vec<String> = fast.earlier_ids().collect();
    assert!(plain.earlier_ids().all(|id| !ids.contains(&id)));
    assert_eq!(
        fast.label(),
        "e · d · bert · x · full · lr 2e-5 · head-lr 1e-3 · hold-out · seed 1"
    );
    fast.search = vec![path];
    assert_eq!(
        fast.label(),
        "e · d · bert · x · full · lr 2e-5 · head-lr 0.001 · hold-out · seed 1"
    );
    assert_eq!(
        fast.label_before_its_search(),
        "e · d · bert · x · full · lr 2e-5 · hold-out · seed 1"
    );
}

#[test]
fn a_spec_of_a_later_schema_is_refused() {
    let later = spec()
        .canonical_json()
        .replace(&schema_key(SCHEMA), &schema_key(SCHEMA + 2));
    let error = RunSpec::read(&later).expect_err("refused").to_string();
    assert_eq!(
        error,
        format!(
            "schema: found {}, expected at most {SCHEMA}: the spec is from a later version",
            SCHEMA + 2
        )
    );
}

#[test]
fn the_name_of_the_arm_is_no_part_of_the_id() {
    let mut renamed = spec();
    renamed.arm = "words".to_string();
    assert_eq!(renamed.id(), spec().id());
}

/// The same values are the same run, however many were tried to find them; a spec of schema 5 does not say.
#[test]
fn the_number_of_trials_is_no_part_of_the_id_in_any_schema() {
    let mut searched = spec();
    searched.search = vec!["work.logistic.c".to_string()];
    let mut counted = searched.clone();
    counted.search_trials = Some(6);
    assert_eq!(counted.id(), searched.id());
    assert!(counted.earlier_ids().eq(searched.earlier_ids()));
    assert!(counted.canonical_json().contains(r#""search-trials":6"#));
    let read = RunSpec::read(&counted.canonical_json()).expect("reads");
    assert_eq!(read.search_trials, Some(6));
    let of_schema_5 = counted
        .canonical_json()
        .replace(r#""search-trials":6,"#, "")
        .replace(&schema_key(SCHEMA), &schema_key(5));
    assert_eq!(RunSpec::read(&of_schema_5).expect("reads"), searched);
}

#[test]
fn every_field_is_part_of_the_id() {
    let changes: [fn(&mut RunSpec); 9] = [
        |spec| spec.search.push("x".to_string()),
        |spec| spec.paper.push('x'),
        |spec| spec.experiment.push('x'),
        |spec| spec.profile.push('x'),
        |spec| spec.dataset.push('x'),
        |spec| spec.fold += 1,
        |spec| spec.seed += 1,
        |spec| {
            let Split::KFold(split) = &mut spec.split else {
                unreachable!("a k-fold split")
            };
            split.duplicates = Duplicates::Group;
        },
        |spec| {
            let Work::Sparse(work) = &mut spec.work else {
                unreachable!("sparse work")
            };
            work.logistic.tol = 1e-3;
        },
    ];
    let mut ids = std::collections::BTreeSet::from([spec().id()]);
    for change in changes {
        let mut changed = spec();
        change(&mut changed);
        assert!(ids.insert(changed.id()), "{changed:?}");
    }
}

#[test]
fn a_spec_comes_back_from_its_json() {
    assert_eq!(
        RunSpec::read(&spec().canonical_json()).expect("reads"),
        spec()
    );
}

#[test]
fn a_label_tells_a_run_from_its_neighbours() {
    assert_eq!(
        spec().label(),
        "table-1 · disaster-tweets · tf-idf · 10 folds by shuffled · fold 3"
    );
}
