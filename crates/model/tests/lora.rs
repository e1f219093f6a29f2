//! Low-rank updates compared with PEFT, on vectors made by `fixtures/make/lora.py`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor, TensorData};
use safetensors::SafeTensors;
use totune_checkpoint::{Naming, Published};
use totune_model::{
    Bert, BertConfig, Encoder, LowRankSpec, Pass, Shape, TokenBatch, add_low_rank, merge_low_rank,
};

/// Largest difference to PEFT, for gradients as a share of the largest of their tensor.
const TOLERANCE: f32 = 1e-5;

/// A rate at which no element is dropped and an update is nevertheless added to its layer's output instead of to its
/// weight.
const BESIDE: f64 = 1e-9;

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn devices() -> Vec<Device> {
    vec![
        #[cfg(feature = "tch")]
        #[allow(deprecated)]
        Device::libtorch(),
        Device::flex(),
    ]
}

/// Reference computed by PEFT.
struct Reference(Vec<u8>);

impl Reference {
    fn read() -> Self {
        Self(std::fs::read(project("fixtures/model/lora.safetensors")).expect("a committed file"))
    }

    fn floats(&self, name: &str) -> (Vec<f32>, Vec<usize>) {
        let file = SafeTensors::deserialize(&self.0).expect("safetensors");
        let view = file.tensor(name).expect("a stored tensor");
        let values = view.data().chunks_exact(4);
        let values = values.map(|b| f32::from_le_bytes(b.try_into().expect("four bytes")));
        (values.collect(), view.shape().to_vec())
    }

    fn integers(&self, name: &str) -> (Vec<i64>, Vec<usize>) {
        let file = SafeTensors::deserialize(&self.0).expect("safetensors");
        let view = file.tensor(name).expect("a stored tensor");
        let values = view.data().chunks_exact(8);
        let values = values.map(|b| i64::from_le_bytes(b.try_into().expect("eight bytes")));
        (values.collect(), view.shape().to_vec())
    }

    fn batch(&self, device: &Device) -> TokenBatch {
        let (ids, shape) = self.integers("ids");
        let (types, _) = self.integers("types");
        let mask: Vec<bool> = self.integers("mask").0.iter().map(|&m| m == 1).collect();
        let shape = shape.try_into().expect("two dimensions");
        TokenBatch::new(ids, types, &mask, shape, device)
    }
}

fn odd(device: &Device) -> Bert {
    let text = std::fs::read_to_string(project("fixtures/model/odd.json")).expect("a shape");
    let config: BertConfig = serde_json::from_str(&text).expect("a shape");
    let path = project("fixtures/model/odd.f32.safetensors");
    let mut checkpoint = Published::open(&path, Naming::Bert).expect("a checkpoint");
    let bert = config.load(&mut checkpoint, device);
    bert.expect("a whole checkpoint").with_dropout(0.0)
}

fn spec(targets: &[&str], dropout: f64) -> LowRankSpec {
    LowRankSpec {
        rank: 3,
        alpha: 5.0,
        dropout,
        targets: targets.iter().map(ToString::to_string).collect(),
        layers: 0..2,
    }
}

/// The network with PEFT's updates.
fn updated(device: &Device, reference: &Reference, dropout: f64) -> Bert {
    let targets = ["query", "attention.value", "feed_forward.output"];
    let bert = add_low_rank(odd(device), &spec(&targets, dropout), 1);
    let bert = bert.expect("layers of these names").train();
    let mut fill = Fill {
        path: Vec::new(),
        reference,
        filled: 0,
    };
    let bert = bert.map(&mut fill);
    assert_eq!(fill.filled, 12);
    bert
}

/// Gives the updates their stored values, and requires gradients only of these.
struct Fill<'a> {
    path: Vec<String>,
    reference: &'a Reference,
    filled: usize,
}

/// The stored name of an update's parameter: `1.attention.query.a` for `layers.1.attention.query.lora.a`.
fn stored(path: &str) -> Option<String> {
    let rest = path.strip_prefix("layers.")?;
    rest.contains(".lora.").then(|| rest.replace(".lora.", "."))
}

impl ModuleMapper for Fill<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(name) = stored(&self.path.join(".")) else {
            return param.set_require_grad(false);
        };
        self.filled += 1;
        let (values, shape) = self.reference.floats(&name);
        param.map(|value| {
            assert_eq!(value.dims().to_vec(), shape, "{name}");
            let plain = Tensor::from_data(TensorData::new(values, shape), &value.inner().device());
            Tensor::from_inner(plain).require_grad()
        })
    }
}

/// The gradients of the updates, by their stored names.
struct Collect<'a> {
    path: Vec<String>,
    gradients: &'a Gradients,
    found: BTreeMap<String, Vec<f32>>,
}

impl ModuleVisitor for Collect<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let gradient = param.val().grad(self.gradients);
        match stored(&self.path.join(".")) {
            Some(name) => {
                let gradient = gradient.expect("an update has a gradient");
                self.found.insert(name, flat(gradient));
            }
            None => assert!(gradient.is_none(), "{}", self.path.join(".")),
        }
    }
}

fn flat<const D: usize>(t: Tensor<D>) -> Vec<f32> {
    t.into_data().try_to_vec().expect("f32")
}

/// The largest difference, and the largest expected value.
fn worst(found: &[f32], expected: &[f32]) -> (f32, f32) {
    assert_eq!(found.len(), expected.len());
    let pairs = found.iter().zip(expected);
    let worst = pairs.fold(0f32, |m, (a, b)| m.max((a - b).abs()));
    (worst, expected.iter().fold(0f32, |m, x| m.max(x.abs())))
}

#[track_caller]
fn check_states(bert: &Bert, reference: &Reference, device: &Device, pass: &Pass) {
    let states = bert.encode(&reference.batch(device), pass);
    for (i, hidden) in states.hidden.into_iter().enumerate() {
        let (worst, _) = worst(&flat(hidden), &reference.floats(&format!("hidden.{i}")).0);
        assert!(worst <= TOLERANCE, "layer {i} differs by {worst}");
    }
    let pooled = flat(states.pooled.expect("a pooler"));
    let (worst, _) = worst(&pooled, &reference.floats("pooled").0);
    assert!(worst <= TOLERANCE, "pooled differs by {worst}");
}

#[test]
fn states_are_those_of_peft_with_the_update_in_the_weight_and_beside_it() {
    let reference = Reference::read();
    for device in devices() {
        for dropout in [0.0, BESIDE] {
            let bert = updated(&device, &reference, dropout);
            check_states(&bert, &reference, &device, &Pass::training(1));
            check_states(&bert.valid(), &reference, &device, &Pass::evaluation());
        }
    }
}

#[test]
fn gradients_are_those_of_peft_with_the_update_in_the_weight_and_beside_it() {
    let reference = Reference::read();
    let (weights, shape) = reference.floats("weights");
    for device in devices() {
        for dropout in [0.0, BESIDE] {
            let bert = updated(&device, &reference, dropout);
            let states = bert.encode(&reference.batch(&device), &Pass::training(1));
            let weights = TensorData::new(weights.clone(), shape.clone());
            let weights = Tensor::<3>::from_data(weights, &device);
            let loss = (states.top() * Tensor::from_inner(weights)).sum();
            let mut collect = Collect {
                path: Vec::new(),
                gradients: &loss.backward(),
                found: BTreeMap::new(),
            };
            bert.visit(&mut collect);
            assert_eq!(collect.found.len(), 12);
            for (name, found) in collect.found {
                let (worst, scale) = worst(&found, &reference.floats(&format!("grad.{name}")).0);
                assert!(
                    worst <= TOLERANCE * scale.max(1.0),
                    "{name} differs by {worst} where the largest is {scale}, dropout {dropout}, {device:?}"
                );
            }
        }
    }
}

#[test]
fn a_merged_network_gives_the_same_without_updates() {
    let reference = Reference::read();
    for device in devices() {
        let bert = updated(&device, &reference, 0.0).valid();
        let merged = merge_low_rank(bert.clone());
        assert_eq!(
            Module::num_params(&merged),
            Module::num_params(&odd(&device))
        );
        check_states(&merged, &reference, &device, &Pass::evaluation());
        let top = |bert: &Bert| {
            let states = bert.encode(&reference.batch(&device), &Pass::evaluation());
            flat(states.top())
        };
        let (worst, _) = worst(&top(&merged), &top(&bert));
        assert!(worst <= 1e-6, "{worst}");
    }
}

#[test]
fn a_new_update_changes_nothing_and_begins_as_pefts_do() {
    let reference = Reference::read();
    for device in devices() {
        let plain = odd(&device);
        let bert = add_low_rank(plain.clone(), &spec(&["intermediate"], 0.0), 1);
        let bert = bert.expect("a layer of this name");
        let top = |bert: &Bert| {
            let states = bert.encode(&reference.batch(&device), &Pass::evaluation());
            flat(states.top())
        };
        assert_eq!(top(&bert), top(&plain));
        // 2 layers, A [3, 21] and B [37, 3] each.
        let added = Module::num_params(&bert) - Module::num_params(&plain);
        assert_eq!(added, 2 * 3 * (21 + 37));
    }
}

#[test]
fn a_is_kaiming_uniform_and_depends_on_the_seed_and_the_layer() {
    struct Values(BTreeMap<String, Vec<f32>>, Vec<String>);
    impl ModuleVisitor for Values {
        fn enter_module(&mut self, name: &str, _container_type: &str) {
            self.1.push(name.into());
        }
        fn exit_module(&mut self, _name: &str, _container_type: &str) {
            self.1.pop();
        }
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let path = self.1.join(".");
            self.0.insert(path, flat(param.val()));
        }
    }
    let drawn = |seed, rank| {
        let spec = LowRankSpec {
            rank,
            ..spec(&["query"], 0.0)
        };
        let bert = add_low_rank(odd(&Device::flex()), &spec, seed).expect("a layer of this name");
        let mut values = Values(BTreeMap::new(), Vec::new());
        bert.visit(&mut values);
        let a = |i: usize| values.0[&format!("layers.{i}.attention.query.lora.a")].clone();
        (a(0), a(1))
    };
    let (first, second) = drawn(1, 500);
    assert_ne!(first, second);
    assert_ne!(first, drawn(2, 500).0);
    assert_eq!(first, drawn(1, 500).0);
    // Uniform within ±1/√21: its variance is a third of the squared bound.
    let bound = 21f32.powf(-0.5);
    assert!(first.iter().all(|a| a.abs() <= bound));
    let variance = first.iter().map(|a| a * a).sum::<f32>() / first.len() as f32;
    assert!(
        (variance / (bound * bound / 3.0) - 1.0).abs() < 0.05,
        "{variance}"
    );
}

#[test]
fn dropout_of_an_update_drops_out_of_the_update_alone() {
    let reference = Reference::read();
    for device in devices() {
        let bert = updated(&device, &reference, 0.5);
        let top = |pass: &Pass| flat(bert.encode(&reference.batch(&device), pass).top());
        let (a, b) = (top(&Pass::training(1)), top(&Pass::training(2)));
        assert_ne!(a, b);
        assert_eq!(a, top(&Pass::training(1)));
        // With everything below block 3 frozen and its dropout off, nothing is dropped.
        let still = top(&Pass::training(1).frozen(3, false));
        assert_eq!(still, top(&Pass::training(2).frozen(3, false)));
    }
}

#[test]
fn a_target_that_does_not_exist_is_answered_with_those_that_do() {
    let error = add_low_rank(odd(&Device::flex()), &spec(&["query", "querry"], 0.0), 1);
    assert_eq!(
        error
            .map(|_| ())
            .expect_err("there is no `querry`")
            .to_string(),
        "found `querry`, expected one of attention.query, attention.key, attention.value, attention.output, \
         feed_forward.intermediate, feed_forward.output"
    );
}
