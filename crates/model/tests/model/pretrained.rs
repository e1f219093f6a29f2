//! Masked language models that `totune pretrain` exported, compared with transformers: `fixtures/make/pretrained.py`.

#![cfg_attr(feature = "tch", allow(deprecated))]

use crate::support::project;
use burn::tensor::{Device, Tensor, TensorData};
use serde::Deserialize;
use totune_checkpoint::Checkpoint;
use totune_model::{
    BertConfig, Encoder, MaskedLm, MaskedLmConfig, Pass, PoolerKind, TokenBatch, Weights,
};

/// Largest difference to transformers allowed on a CPU.
const TOLERANCE: f32 = 1e-5;

/// Reference states and logits from transformers for some ids.
#[derive(Deserialize)]
struct Reference {
    ids: Vec<Vec<i64>>,
    /// States of real tokens of each layer, one after the other.
    hidden: Vec<Vec<f32>>,
    /// Logits of `[MASK]`, whose id is 4, over the vocabulary.
    logits: Vec<f32>,
}

/// A checkpoint whose tensors are taken under the names they have.
struct AsStored(Checkpoint);

impl Weights for AsStored {
    fn take(&mut self, name: &str, shape: &[usize]) -> anyhow::Result<TensorData> {
        let tensor = self.0.tensor(name)?;
        assert_eq!(tensor.shape, shape, "{name}");
        Ok(TensorData::new(tensor.values, tensor.shape))
    }
}

fn load(folder: &str, device: &Device) -> MaskedLm {
    let folder = project(folder);
    let config = std::fs::read_to_string(folder.join("config.json")).expect("a committed file");
    let config: BertConfig = serde_json::from_str(&config).expect("as transformers has it");
    assert_eq!(config.pooler, PoolerKind::None);
    let file = Checkpoint::open(&folder.join("model.safetensors")).expect("a committed file");
    let model = MaskedLmConfig::new(config).load(&mut AsStored(file), device);
    model.expect("all its tensors")
}

#[track_caller]
fn check(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let worst = found.iter().zip(expected);
    let worst = worst.fold(0f32, |worst, (a, b)| worst.max((a - b).abs()));
    let scale = expected.iter().fold(1f32, |most, x| most.max(x.abs()));
    assert!(worst <= TOLERANCE * scale, "{what}: {worst}");
}

#[test]
fn an_exported_encoder_gives_the_states_and_logits_of_transformers() {
    compare("fixtures/encoders", "fixture-mlm");
}

#[test]
fn the_encoder_that_comes_along_gives_the_states_and_logits_of_transformers() {
    compare("encoders", "totune-bert-mini");
}

fn compare(root: &str, name: &str) {
    let text = std::fs::read_to_string(project(&format!("fixtures/model/{name}.json")));
    let reference: Reference = serde_json::from_str(&text.expect("committed")).expect("JSON");
    let shape = [reference.ids.len(), reference.ids[0].len()];
    let ids: Vec<i64> = reference.ids.concat();
    let mask: Vec<bool> = ids.iter().map(|&id| id != 0).collect();
    let real: Vec<i64> = (0..ids.len() as i64)
        .filter(|&i| mask[i as usize])
        .collect();
    let masked: Vec<i64> = (0..ids.len() as i64)
        .filter(|&i| ids[i as usize] == 4)
        .collect();
    let devices = [
        Device::flex(),
        #[cfg(feature = "tch")]
        Device::libtorch(),
    ];
    for device in devices {
        let model = load(&format!("{root}/{name}"), &device);
        let batch = TokenBatch::new(ids.clone(), vec![0; ids.len()], &mask, shape, &device);
        let places = |places: &[i64]| {
            let n = places.len();
            Tensor::<1, burn::tensor::Int>::from_data(
                TensorData::new(places.to_vec(), [n]),
                &device,
            )
        };
        let states = model.encoder.encode(&batch, &Pass::evaluation());
        assert_eq!(states.hidden.len(), reference.hidden.len());
        for (layer, (state, expected)) in states.hidden.iter().zip(&reference.hidden).enumerate() {
            let [rows, seq, hidden] = state.dims();
            let flat: Tensor<2> = state.clone().reshape([rows * seq, hidden]);
            let found = flat.select(0, places(&real)).into_data();
            let found: Vec<f32> = found.try_to_vec().expect("f32");
            check(&found, expected, &format!("layer {layer}"));
        }
        let logits = model.logits(&batch, places(&masked), &Pass::evaluation());
        let logits: Vec<f32> = logits.into_data().try_to_vec().expect("f32");
        check(&logits, &reference.logits, "logits");
    }
}
