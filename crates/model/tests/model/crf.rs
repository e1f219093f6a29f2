//! The CRF compared with an enumeration of every path, and with PyTorch on vectors made by `fixtures/make/crf.py`.

use crate::support::{devices, flat};
use burn::module::{Module, Param};
use burn::tensor::{Device, Int, Tensor, TensorData};
use serde_json::Value;
use totune_model::{Constraints, Crf};

fn numbers(value: &Value) -> Vec<f32> {
    let list = value.as_array().expect("a list").iter();
    list.map(|v| v.as_f64().expect("a number") as f32).collect()
}

fn places(value: &Value) -> Vec<usize> {
    let list = value.as_array().expect("a list").iter();
    list.map(|v| v.as_u64().expect("a place") as usize)
        .collect()
}

fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn mask(lengths: &[usize], words: usize, device: &Device) -> Tensor<2> {
    let values = lengths
        .iter()
        .flat_map(|&n| (0..words).map(move |i| f32::from(i < n)));
    tensor(values.collect(), [lengths.len(), words], device)
}

#[track_caller]
fn near(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let worst = (found.iter().zip(expected)).fold(0f32, |m, (a, b)| m.max((a - b).abs()));
    assert!(worst <= 1e-5, "{what} differs by {worst}");
}

struct Case {
    crf: Crf,
    emissions: Vec<f32>,
    tags: Vec<i64>,
    lengths: Vec<usize>,
    words: usize,
    n_tags: usize,
    stored: Value,
    forbidden: Constraints,
}

/// The cases of the file, on `device`.
fn cases(device: &Device) -> Vec<Case> {
    let text = include_str!("../../../../fixtures/model/crf.json");
    let file: Value = serde_json::from_str(text).expect("JSON");
    let n_tags = file["n_tags"].as_u64().expect("a number") as usize;
    let lengths = places(&file["lengths"]);
    let words = *lengths.iter().max().expect("rows");
    let mut forbidden = Constraints::none(n_tags);
    for tag in places(&file["forbidden"]["start"]) {
        forbidden.start[tag] = false;
    }
    for tag in places(&file["forbidden"]["end"]) {
        forbidden.end[tag] = false;
    }
    for pair in file["forbidden"]["from_to"].as_array().expect("pairs") {
        let [from, to] = places(pair)[..] else {
            panic!("a pair");
        };
        forbidden.from_to[from * n_tags + to] = false;
    }
    let list = file["cases"].as_array().expect("a list").iter();
    list.map(|stored| {
        let boundary = |name: &str| {
            let values = stored.get(name).map(numbers)?;
            Some(Param::from_tensor(tensor(values, [n_tags], device)))
        };
        let transitions = numbers(&stored["transitions"]);
        Case {
            crf: Crf {
                transitions: Param::from_tensor(tensor(transitions, [n_tags, n_tags], device)),
                start: boundary("start"),
                end: boundary("end"),
            },
            emissions: numbers(&stored["emissions"]),
            tags: places(&stored["tags"])
                .iter()
                .map(|&tag| tag as i64)
                .collect(),
            lengths: lengths.clone(),
            words,
            n_tags,
            stored: stored.clone(),
            forbidden: forbidden.clone(),
        }
    })
    .collect()
}

impl Case {
    /// Emissions and tags with the rows `extra` words longer, all of it padding.
    fn padded(&self, extra: usize, device: &Device) -> (Tensor<3>, Tensor<2, Int>, Tensor<2>) {
        let (rows, words) = (self.lengths.len(), self.words + extra);
        let mut emissions = vec![77.0; rows * words * self.n_tags];
        let mut tags = vec![-100; rows * words];
        for (row, &n) in self.lengths.iter().enumerate() {
            let (from, to) = (row * self.words, row * words);
            tags[to..to + n].copy_from_slice(&self.tags[from..from + n]);
            let [from, to, n] = [from, to, n].map(|i| i * self.n_tags);
            emissions[to..to + n].copy_from_slice(&self.emissions[from..from + n]);
        }
        (
            tensor(emissions, [rows, words, self.n_tags], device),
            Tensor::from_data(TensorData::new(tags, [rows, words]), device),
            mask(&self.lengths, words, device),
        )
    }
}

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    for device in devices() {
        for case in cases(&device) {
            let (_, tags, mask) = case.padded(0, &device);
            let shape = [case.lengths.len(), case.words, case.n_tags];
            let emissions = tensor(case.emissions.clone(), shape, &device);
            let expected = numbers(&case.stored["log_likelihood"]);
            let found = case
                .crf
                .log_likelihood(emissions, tags.clone(), mask.clone());
            near(&flat(found), &expected, "log likelihood without a graph");

            let crf = case.crf.clone().train();
            let emissions =
                tensor(case.emissions.clone(), shape, &device.clone().autodiff()).require_grad();
            let found = crf.log_likelihood(emissions.clone(), tags, mask);
            near(&flat(found.clone()), &expected, "log likelihood");
            let scale = Tensor::<1>::from_data([1.0, 2.0, 3.0], &device);
            let grads = (found * scale).sum().backward();
            let check = |grad: Option<Vec<f32>>, name: &str| {
                near(&grad.expect(name), &numbers(&case.stored[name]), name);
            };
            check(emissions.grad(&grads).map(flat), "emissions_grad");
            check(crf.transitions.grad(&grads).map(flat), "transitions_grad");
            for (param, name) in [(&crf.start, "start_grad"), (&crf.end, "end_grad")] {
                if let Some(param) = param {
                    check(param.grad(&grads).map(flat), name);
                }
            }
        }
    }
}

#[test]
fn the_best_paths_are_those_of_trying_every_one() {
    for device in devices() {
        for case in cases(&device) {
            let (emissions, _, mask) = case.padded(2, &device);
            let none = Constraints::none(case.n_tags);
            for (allowed, name) in [(&none, "best"), (&case.forbidden, "best_allowed")] {
                let found = case.crf.decode(emissions.clone(), mask.clone(), allowed);
                let rows = case.stored[name].as_array().expect("rows").iter();
                assert_eq!(found, rows.map(places).collect::<Vec<_>>(), "{name}");
            }
        }
    }
}

#[test]
fn padding_more_never_changes_a_result() {
    for device in devices() {
        for case in cases(&device) {
            let run = |extra| {
                let (emissions, tags, mask) = case.padded(extra, &device);
                flat(case.crf.log_likelihood(emissions, tags, mask))
            };
            let short = run(0);
            near(&run(1), &short, "one more");
            near(&run(9), &short, "nine more");
            near(
                &short,
                &numbers(&case.stored["log_likelihood"]),
                "other padding",
            );
        }
    }
}

#[test]
fn the_probabilities_of_all_paths_sum_to_one() {
    let (n_tags, words) = (3, 4);
    let n_paths = 81;
    for device in devices() {
        for boundaries in [false, true] {
            let crf = Crf::new(n_tags, boundaries, 11, &device);
            assert_eq!(crf.num_params(), 9 + if boundaries { 6 } else { 0 });
            let row: Vec<f32> = (0..words * n_tags)
                .map(|i| ((i * 29) % 17) as f32 / 5.0 - 1.5)
                .collect();
            let emissions = tensor(row.repeat(n_paths), [n_paths, words, n_tags], &device);
            let tags: Vec<i64> = (0..n_paths as i64)
                .flat_map(|path| [path / 27, path / 9 % 3, path / 3 % 3, path % 3])
                .collect();
            let paths = Tensor::<2, Int>::from_data(
                TensorData::new(tags.clone(), [n_paths, words]),
                &device,
            );
            let mask = mask(&vec![words; n_paths], words, &device);
            let log_p = flat(crf.log_likelihood(emissions.clone(), paths, mask.clone()));
            let sum: f32 = log_p.iter().map(|p| p.exp()).sum();
            assert!((sum - 1.0).abs() < 1e-5, "{sum}");

            let best = (0..n_paths).max_by(|&a, &b| log_p[a].total_cmp(&log_p[b]));
            let best = best.expect("paths");
            let found = &crf.decode(emissions, mask, &Constraints::none(n_tags))[0];
            let expected = &tags[best * words..][..words];
            assert!(found.iter().zip(expected).all(|(&a, &b)| a as i64 == b));
        }
    }
}

#[test]
fn where_nothing_is_allowed_the_least_forbidden_path_is_taken() {
    let device = Device::flex();
    let crf = Crf::new(2, false, 1, &device);
    let mut allowed = Constraints::none(2);
    allowed.start = vec![false, false];
    allowed.from_to = vec![false, false, false, true];
    let emissions = tensor(vec![9.0, 0.0, 9.0, 0.0, 9.0, 0.0], [1, 3, 2], &device);
    let found = crf.decode(emissions, mask(&[3], 3, &device), &allowed);
    assert_eq!(found, [[1, 1, 1]]);
}

#[test]
fn a_new_field_depends_on_its_seed_alone() {
    let device = Device::flex();
    let of = |seed| flat(Crf::new(9, true, seed, &device).transitions.val());
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
    let crf = Crf::new(40, true, 1, &device);
    let variance = flat(crf.transitions.val())
        .iter()
        .map(|x| x * x)
        .sum::<f32>()
        / 1600.0;
    // Of 1600 normal numbers with variance 1/40; the standard error is 3.5 %.
    assert!((variance * 40.0 - 1.0).abs() < 0.14, "{variance}");
}
