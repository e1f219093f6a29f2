//! Reports on synthetic runs of the papers: their arms, as the experiments would name them, and a project to write into.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use totune_record::Tables;
use totune_report::{Request, report};

/// Writes the report of a paper on `rows` into a project called `name`, and returns its folder.
pub fn write_report([paper, profile, name]: [&str; 3], rows: &Tables) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(paper)
        .join(name);
    let experiments = root.join("experiments").join(paper);
    let results = root.join("results").join(paper).join(profile);
    fs::create_dir_all(&experiments).unwrap();
    fs::create_dir_all(&results).unwrap();
    let by_hand = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    for file in ["report.toml", "claims.toml", "README.md"] {
        fs::copy(by_hand.join(paper).join(file), experiments.join(file)).unwrap();
    }
    rows.write(&results).unwrap();
    let request = Request {
        project_root: root,
        shipped: None,
        paper: paper.into(),
        profile: profile.into(),
    };
    report(&request).unwrap().index.parent().unwrap().to_owned()
}

/// The spec with its arm in it.
pub fn with_arm(mut spec: Value) -> Value {
    let experiment = text(&spec["experiment"]).trim_end_matches("-search");
    let work = &spec["work"];
    let arm = match text(&spec["paper"]) {
        _ if experiment == "floors" => floor(work),
        "hart2020" => hart2020(work),
        "peters2019" => peters2019(experiment, work),
        "wang2019" => wang2019(experiment, &work["training"]),
        "wang2023" => wang2023(experiment, &work["training"]),
        other => panic!("found paper {other}, expected one of the four"),
    };
    spec["arm"] = arm.into();
    spec
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn floor(work: &Value) -> String {
    match text(&work["floor"]["kind"]) {
        "vectors" => "mean-vectors",
        kind => kind,
    }
    .to_owned()
}

fn hart2020(work: &Value) -> String {
    match text(&work["training"]["adaptation"]["kind"]) {
        "" => text(&work["features"]),
        "full" => "unfrozen",
        "last-k" => "last-2",
        kind => kind,
    }
    .to_owned()
}

fn peters2019(experiment: &str, work: &Value) -> String {
    let training = &work["training"];
    let (head, kind) = (&training["head"], text(&training["adaptation"]["kind"]));
    let side = match kind {
        "frozen" => "features",
        _ => "fine-tuned",
    };
    match experiment {
        "table-2" | "table-2-elmo" => format!("{side}-pairs"),
        "table-3" => format!("attention-{}", text(&head["attention"])),
        "table-4" if training["pairs"] == "separate" => format!("{side}-separate"),
        "table-4" => format!("{side}-joint"),
        "table-5" => {
            let how = match kind {
                "frozen" => "features",
                "full" => "full",
                _ => "unfrozen",
            };
            let bilstm = if head["recurrent-layers"] == 2 {
                "bilstm-"
            } else {
                ""
            };
            format!("{how}-{bilstm}crf")
        }
        "table-6" => side.to_owned(),
        "choices" if head["recurrent-over"] == "words" => "words-lstm-over-words".to_owned(),
        "choices" if head["kind"] == "tagger" => format!("words-{}", text(&head["pieces"])),
        "choices" if training["adaptation"]["layer-decay"] == 1.0 => "texts-equal-rates".to_owned(),
        "choices" => format!("texts-{}", text(&head["pooling"])),
        "layers" | "layers-elmo" => text(&work["states"]).to_owned(),
        "choices-probe" => format!("{}-{}", text(&work["states"]), text(&work["input"])),
        other => other.to_owned(),
    }
}

fn wang2019(experiment: &str, training: &Value) -> String {
    let (head, adaptation) = (&training["head"], &training["adaptation"]);
    let network = match (text(&head["kind"]), text(&head["context"])) {
        ("tagger", _) if head["recurrent-layers"] == 2 => "bilstm",
        ("tagger" | "fully-connected", _) => "light",
        ("dense-text", _) => "densenet",
        ("highway-lstm", _) => "highway",
        (_, "none") => "no-context",
        _ if head["aggregation"]["kind"] == "transformer" => "sim-transformer",
        _ => "bimpm",
    };
    let way = match text(&adaptation["kind"]) {
        "frozen" => "frozen",
        "full" if adaptation["head-lr"].is_number() => "joint-fast-head",
        "full" => "joint",
        _ => "two-phase",
    };
    let number = |key: &str| adaptation[key].as_f64().unwrap_or_default();
    match (experiment, network, way) {
        ("readings", "densenet", _) => "densenet-dense".to_owned(),
        ("readings", "highway", _) => "highway-augmented".to_owned(),
        ("readings", ..) => format!("bimpm-{}", text(&head["reading"])),
        ("rates", ..) => {
            let rates = [5e-5, 3e-5, 2e-5, 1e-5];
            let rate = rates.iter().position(|rate| *rate == number("lr"));
            let rate = rate.expect("a rate of the paper") + 1;
            match (network, way) {
                ("light", _) => format!("light-rate-{rate}"),
                (_, "joint") => format!("joint-rate-{rate}"),
                _ => format!("two-phase-{:e}-rate-{rate}", number("head-lr")),
            }
        }
        (_, "light", "joint") if training["epochs"] == 3 => "light-tuned".to_owned(),
        (_, "light", "joint") => "light-tuned-long".to_owned(),
        _ => format!("{network}-{way}"),
    }
}

fn wang2023(experiment: &str, training: &Value) -> String {
    let adaptation = &training["adaptation"];
    let (name, own_lr) = match adaptation["k"].as_u64() {
        Some(k) => (format!("last-{k}"), 1e-3),
        None => ("full".to_owned(), 2e-5),
    };
    match experiment {
        "bf16" => text(&training["dtype"]).to_owned(),
        "frozen-dropout" => format!("{name}-{}", text(&training["frozen-dropout"])),
        _ if adaptation["lr"] == own_lr => name,
        _ => format!("{name}-other-lr"),
    }
}
