//! ELMo compared with a reference of its equations in numpy (`fixtures/make/elmo.py`), and with the outputs that were
//! published with a biLM.

mod checkpoints;

use std::path::{Path, PathBuf};

use crate::support::{Stored, devices, flat, gradients, project, spell};
use burn::module::{Module, Param};
use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};
use totune_checkpoint::{Checkpoint, ElmoOptions, Naming, Published};
use totune_model::{
    Elmo, Encoder, EncoderCatalogue, HiddenStates, LstmState, Pass, PathVisitor, TokenBatch,
    Weights, visit_by_path,
};

/// Largest difference to the reference allowed on a CPU.
const TOLERANCE: f32 = 2e-6;

type Words = Vec<String>;

/// Reference written by fixtures/make/elmo.py.
struct Reference {
    stored: Stored,
    sentences: Vec<Words>,
    cases: serde_json::Value,
}

impl Reference {
    fn read() -> Self {
        let text = std::fs::read_to_string(project("fixtures/model/elmo.json"));
        let mut json: serde_json::Value =
            serde_json::from_str(&text.expect("a committed file")).expect("JSON");
        Self {
            stored: Stored::read("fixtures/model/elmo.safetensors"),
            sentences: serde_json::from_value(json["sentences"].take()).expect("sentences"),
            cases: json["cases"].take(),
        }
    }

    fn encoder(&self, case: &str, device: &Device) -> Elmo {
        let folder = project("fixtures/encoders/fixture-elmo");
        let mut options = ElmoOptions::read(&folder.join("options.json")).expect("options");
        options.lstm = serde_json::from_value(self.cases[case].clone()).expect("a case");
        load(&options, &folder.join("weights.hdf5"), device)
    }
}

fn load(options: &ElmoOptions, file: &Path, device: &Device) -> Elmo {
    let mut weights = Published::open(file, Naming::Elmo).expect("an ELMo");
    let elmo = Elmo::load(options, &mut weights, device).expect("all weights");
    weights.finish(&[]).expect("nothing left over");
    elmo
}

/// Builds a batch of rows of one sentence, or of two that are encoded separately; `more` columns of padding behind the
/// longest.
fn batch(rows: &[Vec<&Words>], more: usize, device: &Device) -> TokenBatch {
    let length = |row: &Vec<&Words>| row.iter().map(|words| words.len()).sum::<usize>();
    let seq = rows.iter().map(length).max().expect("rows") + more;
    let n = rows.len() * seq;
    let (mut types, mut mask) = (vec![0; n], vec![false; n]);
    let mut characters = vec![0; n * 50];
    for (row, sentences) in rows.iter().enumerate() {
        let words = sentences
            .iter()
            .enumerate()
            .flat_map(|(side, words)| words.iter().map(move |word| (side as i64, word)));
        for (column, (side, word)) in words.enumerate() {
            let at = row * seq + column;
            (types[at], mask[at]) = (side, true);
            characters[at * 50..][..50].copy_from_slice(&spell(word).map(i64::from));
        }
    }
    let mut batch = TokenBatch::new(vec![0; n], types, &mask, [rows.len(), seq], device);
    let characters = TensorData::new(characters, [rows.len(), seq, 50]);
    batch.characters = Some(Tensor::<3, Int>::from_data(characters, device));
    batch.apart = rows.iter().any(|row| row.len() > 1);
    batch
}

fn singles(sentences: &[Words]) -> Vec<Vec<&Words>> {
    sentences.iter().map(|words| vec![words]).collect()
}

/// The states of `n` words of a row, from `first` on, flat.
fn part(states: &Tensor<3>, row: usize, first: usize, n: usize) -> Vec<f32> {
    let [_, _, width] = states.dims();
    flat(
        states
            .clone()
            .slice([row..row + 1, first..first + n, 0..width]),
    )
}

#[track_caller]
fn near(what: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let pairs = found.iter().zip(expected);
    let worst = pairs.fold(0f32, |m, (a, b)| m.max((a - b).abs()));
    assert!(worst <= tolerance, "{what} differs by {worst}");
}

/// Compares row `row` of some states with the stored states of a sentence.
#[track_caller]
fn check(reference: &Reference, case: &str, sentence: usize, states: &HiddenStates, row: usize) {
    let n = reference.sentences[sentence].len();
    for (layer, hidden) in states.hidden.iter().enumerate() {
        let name = format!("{case}.{sentence}.{layer}");
        near(
            &name,
            &part(hidden, row, 0, n),
            &reference.stored.floats(&name),
            TOLERANCE,
        );
        let [_, seq, _] = hidden.dims();
        let padding = part(hidden, row, n, seq - n);
        assert!(padding.iter().all(|&x| x == 0.0), "{name}: padding");
    }
}

#[test]
fn states_match_numpy_with_skip_connections_and_without() {
    let reference = Reference::read();
    for device in devices() {
        for case in ["skip", "tight"] {
            let elmo = reference.encoder(case, &device);
            assert_eq!((elmo.n_layers(), elmo.hidden()), (2, 16));
            let batch = batch(&singles(&reference.sentences), 0, &device);
            let states = elmo.encode(&batch, &Pass::evaluation());
            assert_eq!(states.hidden.len(), 3);
            for sentence in 0..reference.sentences.len() {
                check(&reference, case, sentence, &states, sentence);
            }
        }
    }
}

#[test]
fn gradients_of_all_parameters_match_pytorch() {
    let reference = Reference::read();
    for device in devices() {
        for case in ["skip", "tight"] {
            let device = device.clone().autodiff();
            let elmo = reference.encoder(case, &device);
            let batch = batch(&singles(&reference.sentences), 1, &device);
            let states = elmo.encode(&batch, &Pass::training(1));
            let mut sum = Tensor::<1>::zeros([1], &device);
            let mut count = 0;
            for (row, words) in reference.sentences.iter().enumerate() {
                for hidden in &states.hidden {
                    let n = words.len() * elmo.hidden();
                    let weights: Vec<f32> = (count..count + n)
                        .map(|n| (0.7 * n as f64).cos() as f32)
                        .collect();
                    count += n;
                    let own = [row..row + 1, 0..words.len(), 0..elmo.hidden()];
                    let own = hidden.clone().slice(own).reshape([n]);
                    let weights = Tensor::from_data(TensorData::new(weights, [n]), &device);
                    sum = sum + (own * weights).sum();
                }
            }
            let gradients = gradients(&elmo, &sum.backward());
            assert_eq!(gradients.len(), 1 + 3 * 2 + 2 * 4 + 2 + 2 * 2 * 4);
            for (path, found) in &gradients {
                let expected = reference.stored.floats(&format!("{case}.grad.{path}"));
                let scale = expected.iter().fold(1f32, |m, x| m.max(x.abs()));
                near(path, found, &expected, TOLERANCE * scale);
            }
        }
    }
}

#[test]
fn more_padding_and_other_rows_change_nothing() {
    let reference = Reference::read();
    for device in devices() {
        let elmo = reference.encoder("skip", &device);
        let encode = |rows: &[Vec<&Words>], more| {
            elmo.encode(&batch(rows, more, &device), &Pass::evaluation())
        };
        for words in &reference.sentences {
            let n = words.len();
            let alone = encode(&[vec![words]], 0);
            let empty = Words::new();
            let among = encode(
                &[vec![&empty], vec![&reference.sentences[2]], vec![words]],
                5,
            );
            for (a, b) in alone.hidden.iter().zip(&among.hidden) {
                // Products of other sizes are summed in another order.
                near("a row", &part(a, 0, 0, n), &part(b, 2, 0, n), 5e-7);
                let [_, seq, _] = b.dims();
                assert!(part(b, 0, 0, seq).iter().all(|&x| x == 0.0));
            }
        }
    }
}

#[test]
fn the_sides_of_a_pair_are_read_as_if_each_stood_alone() {
    let reference = Reference::read();
    let [a, b, ..] = &reference.sentences[..] else {
        unreachable!()
    };
    for device in devices() {
        let elmo = reference.encoder("skip", &device);
        let rows = [vec![a, b], vec![b, a]];
        let states = elmo.encode(&batch(&rows, 2, &device), &Pass::evaluation());
        for (layer, hidden) in states.hidden.iter().enumerate() {
            for (row, sides) in [[0, 1], [1, 0]].into_iter().enumerate() {
                let mut first = 0;
                for sentence in sides {
                    let name = format!("skip.{sentence}.{layer}");
                    let n = reference.sentences[sentence].len();
                    let found = part(hidden, row, first, n);
                    near(&name, &found, &reference.stored.floats(&name), TOLERANCE);
                    first += n;
                }
            }
        }
    }
}

#[test]
fn passing_on_from_kept_states_is_the_same() {
    let reference = Reference::read();
    for device in devices() {
        let elmo = reference.encoder("skip", &device);
        let batch = batch(&singles(&reference.sentences), 0, &device);
        let pass = Pass::evaluation();
        let whole = elmo.encode(&batch, &pass);
        for block in 0..=elmo.n_layers() {
            let kept = elmo.forward_to(block, &batch, &pass);
            let above = elmo.forward_from(kept, block, &batch, &pass);
            assert_eq!(above.hidden.len(), elmo.n_layers() + 1 - block);
            for (a, b) in above.hidden.into_iter().zip(&whole.hidden[block..]) {
                near("a layer", &flat(a), &flat(b.clone()), 5e-7);
            }
        }
    }
}

#[test]
fn what_is_frozen_has_no_gradient_and_gives_the_same() {
    let reference = Reference::read();
    for device in devices() {
        let device = device.autodiff();
        let elmo = reference.encoder("skip", &device);
        let batch = batch(&singles(&reference.sentences), 0, &device);
        let whole = elmo.encode(&batch, &Pass::training(1));
        for frozen in 1..=2 {
            let states = elmo.encode(&batch, &Pass::training(1).frozen(frozen, true));
            for (a, b) in states.hidden.iter().zip(&whole.hidden) {
                let (a, b) = (a.clone().inner(), b.clone().inner());
                near("a layer", &flat(a), &flat(b), 5e-7);
            }
            let grads = states.top().sum().backward();
            let moved = Moved {
                grads: &grads,
                found: Vec::new(),
            };
            let moved = visit_by_path(&elmo, moved);
            let lowest = format!("layers.{}.", frozen - 1);
            assert!(moved.found.iter().all(|path| *path >= lowest), "{frozen}");
            assert_eq!(moved.found.len(), (3 - frozen) * 2 * 4);
        }
    }
}

struct Moved<'a> {
    grads: &'a Gradients,
    found: Vec<String>,
}

impl PathVisitor for Moved<'_> {
    fn visit<const D: usize>(&mut self, path: &str, param: &Param<Tensor<D>>) {
        if param.val().grad(self.grads).is_some() {
            self.found.push(path.to_string());
        }
    }
}

#[test]
fn carried_states_go_on_from_the_batch_before_until_they_are_forgotten() {
    let reference = Reference::read();
    for device in devices() {
        let elmo = reference
            .encoder("skip", &device)
            .with_state(LstmState::Carry);
        for _ in 0..2 {
            for first in [0, 2] {
                let rows = singles(&reference.sentences[first..first + 2]);
                let states = elmo.encode(&batch(&rows, 0, &device), &Pass::evaluation());
                for row in 0..2 {
                    check(&reference, "carry", first + row, &states, row);
                }
            }
            elmo.reset_state();
        }
    }
}
