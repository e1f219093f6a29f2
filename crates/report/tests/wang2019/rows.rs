//! One run of everything that the page selects, made by hand.

use serde_json::{Value, json};
use totune_record::{EvalRow, PredictionRow, RunRow, Tables};

use super::arms;

const FULL: &str = "full";

/// `full` with a rate of the head's own.
const FAST: &str = "full, fast head";

const FROZEN: &str = "frozen";

const STACK: &str = "stack-and-finetune";

/// An experiment whose heads are floors.
const FLOORS: &str = "floors";

/// One run at each seed of everything that the page selects, with scores drawn by hand.
pub fn synthetic_rows() -> Tables {
    let mut rows = Rows::default();
    let tagger = |layers: u32| json!({ "kind": "tagger", "recurrent-layers": layers });
    for seed in 1..=5 {
        let ner = |experiment, layers, kind, epochs, f1: f64, lr, stack| Asked {
            experiment,
            dataset: "conll2003",
            seed,
            head: tagger(layers),
            kind,
            epochs,
            // Accuracy as far above the baseline's as the paper says where F1 is.
            scores: vec![
                ("span-f1", f1),
                ("token-accuracy", 0.95 + 0.0099 * (f1 - 0.85) / 0.068),
            ],
            lr,
            stack,
        };
        for (layers, kind, epochs, f1) in [
            (0, FULL, 3, 0.85),
            (0, FULL, 6, 0.87),
            (0, FAST, 6, 0.87),
            (0, STACK, 3, 0.88),
            (2, FROZEN, 20, 0.83),
            (2, FULL, 6, 0.89),
            (2, FAST, 6, 0.895),
            (2, STACK, 3, 0.918),
        ] {
            rows.add(ner("table-2", layers, kind, epochs, f1, 2e-5, 1e-3));
        }
        if seed > 3 {
            continue;
        }
        for lr in [5e-5, 3e-5, 2e-5, 1e-5] {
            for stack in [5e-3, 2e-3, 1e-3, 5e-4, 1e-4] {
                rows.add(ner("rates", 2, STACK, 3, 0.9, lr, stack));
            }
            for layers in [0, 2] {
                // Higher rates are better, so that the highest disturbs nothing and the lowest impedes.
                rows.add(ner("rates", layers, FULL, 6, 0.85 + 400.0 * lr, lr, 0.0));
            }
        }
    }
    for seed in 1..=15 {
        let yahoo = |experiment, head: Value, kind, epochs| Asked {
            experiment,
            dataset: "yahoo-two-class",
            seed,
            head,
            kind,
            epochs,
            scores: vec![],
            lr: 2e-5,
            stack: 1e-3,
        };
        let light = json!({ "kind": "fully-connected" });
        // Errors of BERT are the same questions for every seed, more or fewer of them.
        rows.answer(yahoo("table-3", light.clone(), FULL, 3), 0);
        if seed > 5 {
            continue;
        }
        rows.answer(yahoo("table-3", light.clone(), FULL, 6), 0);
        rows.answer(yahoo("table-3", light.clone(), FAST, 6), 0);
        rows.answer(yahoo("table-3", light.clone(), FROZEN, 20), 50);
        rows.answer(yahoo("table-3", light, STACK, 3), 100);
        for (name, first, other) in [
            ("dense-text", 150, json!({ "skips": "dense" })),
            ("highway-lstm", 250, json!({ "reading": "augmented" })),
        ] {
            let head = json!({ "kind": name });
            rows.answer(yahoo("table-3", head.clone(), FROZEN, 20), first + 25);
            rows.answer(yahoo("table-3", head.clone(), FULL, 6), first + 50);
            rows.answer(yahoo("table-3", head.clone(), FAST, 6), first + 50);
            rows.answer(yahoo("table-3", head.clone(), STACK, 3), first);
            let mut reading = head;
            reading
                .as_object_mut()
                .unwrap()
                .extend(other.as_object().unwrap().clone());
            rows.answer(yahoo("readings", reading, STACK, 3), first);
        }
    }
    let bimpm = |context: &str, aggregation: &str, reading: &str| json!({ "kind": "bimpm", "context": context, "reading": reading, "aggregation": { "kind": aggregation } });
    for seed in 1..=3 {
        let mut quora = |experiment, head: &Value, kind, epochs, accuracy: f64| {
            rows.add(Asked {
                experiment,
                dataset: "quora-bimpm",
                seed,
                head: head.clone(),
                kind,
                epochs,
                scores: vec![("accuracy", accuracy), ("f1-positive", accuracy - 0.03)],
                lr: 2e-5,
                stack: 1e-3,
            });
        };
        let light = json!({ "kind": "fully-connected" });
        quora("table-4", &light, FULL, 3, 0.88);
        quora("table-4", &light, FULL, 6, 0.882);
        quora("table-4", &light, FAST, 6, 0.882);
        quora("table-4", &light, FROZEN, 20, 0.75);
        quora("table-4", &light, STACK, 3, 0.883);
        for (context, aggregation, frozen) in [
            ("bi-lstm", "bi-lstm", 0.80),
            ("none", "bi-lstm", 0.80),
            ("bi-lstm", "transformer", 0.81),
        ] {
            let head = bimpm(context, aggregation, "paper");
            let above = if aggregation == "transformer" {
                0.005
            } else {
                0.0
            };
            quora("table-4", &head, FROZEN, 20, frozen);
            quora("table-4", &head, STACK, 3, 0.885 + above);
            quora("table-4", &head, FULL, 6, 0.88);
            quora("table-4", &head, FAST, 6, 0.88);
        }
        for reading in ["allennlp", "official"] {
            let head = bimpm("bi-lstm", "bi-lstm", reading);
            quora("readings", &head, STACK, 3, 0.88);
        }
    }
    for (dataset, scores, floors) in [
        (
            "conll2003",
            ["span-f1", "token-accuracy"],
            &["majority", "word-counts"][..],
        ),
        (
            "yahoo-two-class",
            ["accuracy", "f1-macro"],
            &["majority", "word-counts", "vectors"],
        ),
        (
            "quora-bimpm",
            ["accuracy", "f1-positive"],
            &["majority", "word-counts", "vectors", "cosine"],
        ),
    ] {
        for floor in floors {
            rows.add(Asked {
                experiment: FLOORS,
                dataset,
                seed: 0,
                head: json!({ "kind": floor }),
                kind: FROZEN,
                epochs: 1,
                scores: scores.iter().map(|metric| (*metric, 0.5)).collect(),
                lr: 0.0,
                stack: 0.0,
            });
        }
    }
    rows.tables.sort();
    rows.tables
}

/// A run as its experiment asks for it.
struct Asked {
    experiment: &'static str,
    dataset: &'static str,
    seed: u64,
    head: Value,
    kind: &'static str,
    epochs: u32,
    /// On test, but for what the seed adds.
    scores: Vec<(&'static str, f64)>,
    lr: f64,
    stack: f64,
}

#[derive(Default)]
struct Rows {
    tables: Tables,
}

/// Questions that are answered.
const QUESTIONS: u64 = 1000;

impl Rows {
    /// A run that answers all questions but for some from number `first` on: five to seven, three less for a network in
    /// two phases, one more or less at some seeds.
    fn answer(&mut self, mut asked: Asked, first: u64) {
        let seed = asked.seed;
        let network = asked.head["kind"] != "fully-connected" && asked.kind == STACK;
        let less = u64::from(seed == 4) + if network { 3 + u64::from(seed == 2) } else { 0 };
        let wrong = first..first + 5 + seed % 5 / 2 + u64::from(seed == 1) - less;
        // As many of either class, so that F1 of the two is near accuracy; computed here as the run would.
        let classes = ["health", "science"];
        let gold = |number: u64| (number % 2) as usize;
        let predicted = |number: u64| (gold(number) + usize::from(wrong.contains(&number))) % 2;
        let count =
            |of: &dyn Fn(u64) -> bool| (0..QUESTIONS).filter(|&number| of(number)).count() as f64;
        let f1 = |class: usize| {
            let hits = count(&|number| gold(number) == class && predicted(number) == class);
            2.0 * hits
                / (count(&|number| gold(number) == class)
                    + count(&|number| predicted(number) == class))
        };
        let accuracy = count(&|number| gold(number) == predicted(number)) / QUESTIONS as f64;
        asked.scores = vec![("accuracy", accuracy), ("f1-macro", 0.5 * (f1(0) + f1(1)))];
        let run_id = self.run(&asked, 0.0);
        for number in 0..QUESTIONS {
            let sure = 0.9;
            let mut scores = vec![1.0 - sure; 2];
            scores[predicted(number)] = sure;
            self.tables.predictions.push(PredictionRow {
                run_id: run_id.clone(),
                split: "test".into(),
                example_id: format!("{number:03}"),
                position: 0,
                gold: classes[gold(number)].into(),
                predicted: classes[predicted(number)].into(),
                scores,
            });
        }
    }

    /// A run with its scores, up to four ten-thousandths off.
    fn add(&mut self, asked: Asked) {
        let number = self.tables.runs.len() as u64;
        // Fibonacci hashing: four bits that do not repeat with the order of runs.
        let bits = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60;
        self.run(&asked, 0.00005 * (bits as f64 - 7.5));
    }

    fn run(&mut self, asked: &Asked, off: f64) -> String {
        let Asked {
            experiment,
            dataset,
            seed,
            head,
            kind,
            epochs,
            scores,
            lr,
            stack,
        } = asked;
        let number = self.tables.runs.len() as u64;
        let run_id = format!("{number:016x}");
        // Phase 1 is over after two epochs or three.
        let first_phase = if *kind == STACK {
            2 + (seed % 2) as u32
        } else {
            0
        };
        let kind = if *kind == FAST { &FULL } else { kind };
        let mut adaptation = json!({ "kind": kind, "lr": lr });
        if asked.kind == FAST {
            adaptation["head-lr"] = json!(1e-3);
        }
        if *kind == STACK {
            adaptation["head-lr"] = json!(stack);
            adaptation["head-stop"] =
                json!({ "kind": "generalisation-gap", "max-gap": 0.02, "min-improvement": 0.002 });
        }
        let work = match *experiment {
            FLOORS => json!({ "kind": "floor", "floor": head }),
            _ => {
                json!({ "kind": "tune", "encoder": "bert-base-uncased", "training": { "adaptation": adaptation, "epochs": epochs, "head": head } })
            }
        };
        let spec = arms::with_arm(json!({
            "paper": "wang2019", "experiment": experiment, "profile": "paper", "dataset": dataset,
            "split": { "kind": "files", "test": "test" }, "fold": 0, "seed": seed, "work": work,
        }));
        let total = first_phase + epochs;
        let row = totune_synthetic::row(run_id.clone(), &spec);
        self.tables.runs.push(RunRow {
            epochs: total,
            steps: u64::from(total),
            train_seconds: f64::from(total),
            started: row.started + number,
            ..row
        });
        for epoch in 1..=total {
            let (left, phase) = (
                total - epoch,
                u32::from(*kind == STACK && epoch > first_phase),
            );
            let mut push = |split: &str, metric: &str, value: f64, is_final: bool| {
                self.tables.evals.push(EvalRow {
                    run_id: run_id.clone(),
                    phase,
                    epoch,
                    step: u64::from(epoch),
                    split: split.into(),
                    metric: metric.into(),
                    value,
                    n: QUESTIONS,
                    train_seconds: f64::from(epoch),
                    is_final,
                });
            };
            for (metric, score) in scores {
                let score = score + off - 0.01 * f64::from(left.min(5));
                push("test", metric, score, left == 0);
                push("dev", metric, score - 0.001, left == 0);
            }
            if *kind == STACK && phase == 0 {
                // Always as far apart at the end of the phase.
                let gap = 0.03 - 0.01 * f64::from(first_phase - epoch);
                push("train", "gap", gap, false);
            }
        }
        run_id
    }
}
