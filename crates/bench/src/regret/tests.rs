//! The page of `bench regret`.

use super::*;
use crate::machine::Machine;

fn part(job: Job, setting: &str, dev: f64, test: Option<f64>, seconds: f64) -> JobResult {
    JobResult {
        job,
        setting: setting.to_string(),
        dev: Some(dev),
        test,
        n_test: 100,
        seconds,
        threads: 1,
        device: "cpu".to_string(),
        dtype: "f32".to_string(),
        load: None,
        commit: "abc".to_string(),
        machine: Machine::default(),
    }
}

fn grid(strategy: &str, lr: f64, dev: f64, test: Option<f64>) -> JobResult {
    let strategy = strategy.to_string();
    part(
        Job::Grid {
            strategy,
            lr,
            seed: 1,
        },
        "",
        dev,
        test,
        50.0,
    )
}

fn case(compared: f64) -> CaseParts {
    let compare = Job::Compare {
        budget: 600,
        strategies: Vec::new(),
    };
    CaseParts {
        dataset: "x".to_string(),
        fixture: false,
        metric: "accuracy".to_string(),
        rows: 500,
        n_test: 100,
        missing: 0,
        parts: vec![
            part(compare, "lora 3e-3", 0.8, Some(compared), 580.0),
            part(Job::Vectors, "", 0.0, Some(0.7), 2.0),
            part(Job::ExampleScript { seed: 1 }, "", 0.0, None, 9.0),
            // The learning rate is chosen on dev, the best strategy on test.
            grid("full", 1e-4, 0.81, Some(0.82)),
            grid("full", 3e-4, 0.80, Some(0.99)),
            grid("lora", 1e-3, 0.82, Some(0.80)),
            grid("lora", 3e-3, 0.10, None),
        ],
    }
}

/// The page of these cases has these lines.
#[track_caller]
fn shows(cases: Vec<CaseParts>, lines: &[&str]) {
    let page = markdown(&Regret {
        benchmark: "regret".to_string(),
        encoder: "an-encoder".to_string(),
        budget: 600,
        seeds: 1,
        cases,
    });
    for line in lines {
        assert!(
            page.lines().any(|found| found == *line),
            "expected {line} in\n{page}"
        );
    }
}

#[test]
fn regret_is_from_the_best_strategy_on_test_at_the_better_rate_on_dev() {
    let open = CaseParts {
        missing: 3,
        rows: 2000,
        ..case(0.5)
    };
    shows(
        vec![case(0.815), case(0.80), open],
        &[
            "Threads of each process: 1.",
            "Commit: abc.",
            "| x | 500 | 100 | accuracy | 82.0, full 1e-4 | 81.5 (0.5), lora 3e-3 | 80.0 (2.0), lora 1e-3 | 80.0 (2.0), lora 1e-3 | 70.0 (12.0) | no score |",
            "| `compare` | 2 | 1 of 2 | 1.25 | 1.25 | 2.00 | 580 |",
            "| its choice, trained at length | 2 | 0 of 2 | 2.00 | 2.00 | 2.00 | 680 |",
            "| best on dev of the grid | 2 | 0 of 2 | 2.00 | 2.00 | 2.00 | 200 |",
            "| regression on frozen vectors | 2 | 0 of 2 | 12.00 | 12.00 | 12.00 | 2 |",
            "| example script's defaults | 2 | 0 of 2, no score in 2 |  |  |  | 9 |",
            "| full | 2 | 2 of 2 | 0.00 | 0.00 | 0.00 | 100 |",
            "| lora | 2 | 0 of 2 | 2.00 | 2.00 | 2.00 | 100 |",
            "- x, 2000 rows: 7 of 10 parts are done",
            "Device of the parts: cpu.",
        ],
    );
}

#[test]
fn seconds_of_a_gpu_are_in_no_mean() {
    let mut on_gpu = case(0.80);
    for part in &mut on_gpu.parts[3..5] {
        part.device = "cuda:0".to_string();
    }
    shows(
        vec![on_gpu],
        &[
            "Device of the parts: cpu or cuda:0.",
            "| `compare` | 1 | 0 of 1 | 2.00 | 2.00 | 2.00 | 580 |",
            "| best on dev of the grid | 1 | 0 of 1 | 2.00 | 2.00 | 2.00 |  |",
            "| full | 1 | 1 of 1 | 0.00 | 0.00 | 0.00 |  |",
            "| lora | 1 | 0 of 1 | 2.00 | 2.00 | 2.00 | 100 |",
        ],
    );
}
