//! Hidden states against transformers, on vectors made by `fixtures/make/encoders.py`.

use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor};
use safetensors::SafeTensors;
use totune_model::{
    Bert, BertConfig, Checkpoint, Encoder, EncoderCatalogue, Pass, States, TokenBatch,
};

/// Largest difference to transformers allowed on a CPU.
const TOLERANCE: f32 = 1e-5;

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

/// A stored batch, and what transformers makes of it.
struct Reference(Vec<u8>);

impl Reference {
    fn read(path: &str) -> Self {
        Self(std::fs::read(project(path)).expect("a committed file"))
    }

    fn floats(&self, name: &str) -> Vec<f32> {
        let file = SafeTensors::deserialize(&self.0).expect("safetensors");
        let view = file.tensor(name).expect("a stored tensor");
        view.data()
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes(b.try_into().expect("four bytes")))
            .collect()
    }

    fn integers(&self, name: &str) -> (Vec<i64>, [usize; 2]) {
        let file = SafeTensors::deserialize(&self.0).expect("safetensors");
        let view = file.tensor(name).expect("a stored tensor");
        let values = view
            .data()
            .chunks_exact(8)
            .map(|b| i64::from_le_bytes(b.try_into().expect("eight bytes")))
            .collect();
        (values, view.shape().try_into().expect("two dimensions"))
    }

    fn batch(&self, device: &Device) -> TokenBatch {
        let (ids, shape) = self.integers("ids");
        let (types, _) = self.integers("types");
        let mask: Vec<bool> = self.integers("mask").0.iter().map(|&m| m == 1).collect();
        TokenBatch::new(ids, types, &mask, shape, device)
    }

    #[track_caller]
    fn check(&self, states: &States) {
        let compare = |name: &str, ours: Vec<f32>| {
            let theirs = self.floats(name);
            assert_eq!(ours.len(), theirs.len(), "{name}");
            let worst = ours
                .iter()
                .zip(&theirs)
                .fold(0f32, |m, (a, b)| m.max((a - b).abs()));
            assert!(worst <= TOLERANCE, "{name} differs by {worst}");
        };
        fn flat<const D: usize>(t: &Tensor<D>) -> Vec<f32> {
            t.clone().into_data().try_to_vec().expect("f32")
        }
        for (i, hidden) in states.hidden.iter().enumerate() {
            compare(&format!("hidden.{i}"), flat(hidden));
        }
        compare("pooled", flat(states.pooled.as_ref().expect("a pooler")));
    }
}

fn odd(file: &str, device: &Device) -> anyhow::Result<Bert> {
    let text = std::fs::read_to_string(project("fixtures/model/odd.json"))?;
    let config: BertConfig = serde_json::from_str(&text)?;
    let mut checkpoint = Checkpoint::open(&project(&format!("fixtures/model/{file}")), "bert.")?;
    let bert = config.load(&mut checkpoint, device)?;
    checkpoint.finish(&["cls.".to_string()])?;
    Ok(bert)
}

#[track_caller]
fn check_odd(file: &str, reference: &str) {
    let reference = Reference::read(&format!("fixtures/model/{reference}"));
    for device in devices() {
        let bert = odd(file, &device).expect("a whole checkpoint");
        reference.check(&bert.encode(&reference.batch(&device), &Pass::evaluation()));
    }
}

#[test]
fn odd_sizes_match_transformers() {
    check_odd("odd.f32.safetensors", "odd.reference.safetensors");
}

#[test]
fn a_prefix_in_the_checkpoint_makes_no_difference() {
    check_odd("odd.prefixed.safetensors", "odd.reference.safetensors");
}

#[test]
fn half_precision_checkpoints_are_widened() {
    check_odd("odd.f16.safetensors", "odd.f16.reference.safetensors");
    check_odd("odd.bf16.safetensors", "odd.bf16.reference.safetensors");
}

#[test]
fn heads_of_pretraining_are_left_out_by_name() {
    check_odd(
        "odd.pretraining.safetensors",
        "odd.pretraining.reference.safetensors",
    );
}

#[test]
fn the_fixture_encoder_matches_transformers() {
    check_card(
        "fixture-bert",
        &project("fixtures/encoders"),
        "fixture-bert.safetensors",
    );
}

/// Needs the real weights: set `TOTUNE_ENCODERS` to a folder that has them, else it says that it was passed over.
#[test]
fn minilm_matches_transformers_where_its_weights_are() {
    let Some(root) = std::env::var_os("TOTUNE_ENCODERS") else {
        eprintln!("passed over: TOTUNE_ENCODERS is not set");
        return;
    };
    check_card(
        "all-minilm-l6-v2",
        Path::new(&root),
        "all-minilm-l6-v2.safetensors",
    );
}

#[track_caller]
fn check_card(name: &str, root: &Path, reference: &str) {
    let catalogue = EncoderCatalogue::read(&project("encoders")).expect("cards");
    let card = catalogue.find(name).expect("a card");
    let reference = Reference::read(&format!("fixtures/model/{reference}"));
    for device in devices() {
        let loaded = card
            .load(&[root.to_owned()], &device)
            .expect("a checkpoint");
        let states = loaded
            .encoder
            .encode(&reference.batch(&device), &Pass::evaluation());
        reference.check(&states);
    }
}

#[test]
fn padding_more_changes_no_real_token() {
    for device in devices() {
        let bert = odd("odd.f32.safetensors", &device).expect("a whole checkpoint");
        let top = |pad: usize| {
            let mut ids = vec![5, 9, 2];
            ids.resize(3 + pad, 0);
            let mask: Vec<bool> = (0..3 + pad).map(|i| i < 3).collect();
            let batch = TokenBatch::new(ids, vec![0; 3 + pad], &mask, [1, 3 + pad], &device);
            let states = bert.encode(&batch, &Pass::evaluation());
            states
                .top()
                .narrow(1, 0, 3)
                .into_data()
                .try_to_vec::<f32>()
                .expect("f32")
        };
        let (short, long) = (top(0), top(6));
        let worst = short
            .iter()
            .zip(&long)
            .fold(0f32, |m, (a, b)| m.max((a - b).abs()));
        assert!(worst < 1e-5, "{worst}");
    }
}
