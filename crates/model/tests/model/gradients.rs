//! Gradients of every parameter compared with transformers', on numbers made by `fixtures/make/gradients.py`.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor};
use serde::Deserialize;
use totune_model::{AnyEncoder, Encoder, EncoderCatalogue, Pass, TokenBatch};

use crate::support::{Stored, devices, flat, project};

/// Numbers of an encoder by transformers.
#[derive(Deserialize)]
struct Reference {
    loss: f64,
    /// Number of values, length of the gradient, and product of the gradient with the values; by length.
    parameters: Vec<(usize, f64, f64)>,
}

/// The same numbers of a module's parameters.
struct Products<'a> {
    grads: &'a Gradients,
    found: Vec<(usize, f64, f64)>,
}

impl ModuleVisitor for Products<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(grad) = param.val().grad(self.grads) else {
            return;
        };
        let pairs = flat(grad).into_iter().zip(flat(param.val().inner()));
        let pairs: Vec<(f64, f64)> = pairs.map(|(g, w)| (g.into(), w.into())).collect();
        let length = pairs.iter().map(|(g, _)| g * g).sum::<f64>().sqrt();
        let product = pairs.iter().map(|(g, w)| g * w).sum();
        self.found.push((pairs.len(), length, product));
    }
}

/// The sum of `values`, each times the cosine of its index, over the rows that are real.
fn weighted<const D: usize>(values: Tensor<D>, real: &[bool]) -> Tensor<1> {
    let n: usize = values.dims().iter().product();
    let width = n / real.len();
    let factor = |i: usize| f64::from(u8::from(real[i / width])) * (i as f64).cos();
    let factors: Vec<f32> = (0..n).map(|i| factor(i) as f32).collect();
    let factors = Tensor::<1>::from_data(factors.as_slice(), &values.device());
    (values.reshape([n]) * factors).sum()
}

/// The loss of the script and the gradients of all parameters, for the batch of `<name>.safetensors`.
fn gradients(name: &str, encoder: AnyEncoder, device: &Device) -> (f64, Vec<(usize, f64, f64)>) {
    let stored = Stored::read(&format!("fixtures/model/{name}.safetensors"));
    let (ids, shape) = stored.integers("ids");
    let (types, _) = stored.integers("types");
    let real = stored.integers("mask").0;
    let real: Vec<bool> = real.iter().map(|&m| m == 1).collect();
    let encoder = encoder.train();
    let batch = TokenBatch::new(ids, types, &real, shape, device);
    let states = encoder.encode(&batch, &Pass::evaluation());
    let mut loss = weighted(states.top(), &real);
    if let Some(pooled) = states.pooled {
        loss = loss + weighted(pooled, &vec![true; shape[0]]);
    }
    let grads = loss.backward();
    let mut products = Products {
        grads: &grads,
        found: Vec::new(),
    };
    encoder.visit(&mut products);
    let mut found = products.found;
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    (f64::from(loss.into_scalar::<f32>()), found)
}

#[test]
fn gradients_of_all_parameters_match_transformers() {
    let text = std::fs::read_to_string(project("fixtures/model/gradients.json"));
    let references: BTreeMap<String, Reference> =
        serde_json::from_str(&text.expect("a committed file")).expect("numbers");
    assert_eq!(references.len(), 6);
    let catalogue = EncoderCatalogue::read(&project("encoders")).expect("cards");
    for (name, reference) in references {
        let card = catalogue.find(&name).expect("a card");
        for device in devices() {
            let roots = [project("fixtures/encoders")];
            let encoder = card.load(&roots, &device).expect("a checkpoint").encoder;
            let (loss, found) = gradients(&name, encoder, &device);
            let what = format!("{name} on {device:?}");
            assert!((loss - reference.loss).abs() < 1e-3, "{what}: {loss}");
            // A gradient that is zero but for rounding (that of the biases of keys) is left out on both sides.
            let largest = reference.parameters.last().expect("parameters").1;
            let counts = |(_, length, _): &&(usize, f64, f64)| *length > 1e-5 * largest;
            let found: Vec<_> = found.iter().filter(counts).collect();
            let theirs: Vec<_> = reference.parameters.iter().filter(counts).collect();
            assert_eq!(found.len(), theirs.len(), "{what}");
            for (ours, theirs) in found.iter().zip(theirs) {
                let near = |a: f64, b: f64| (a - b).abs() < 1e-4 * theirs.1.max(1e-3 * largest);
                assert!(
                    ours.0 == theirs.0 && near(ours.1, theirs.1) && near(ours.2, theirs.2),
                    "{what}: {ours:?} instead of {theirs:?}"
                );
            }
        }
    }
}
