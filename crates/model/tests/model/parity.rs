//! Hidden states compared with transformers, on vectors made by `fixtures/make/encoders.py`.

use std::path::Path;

use crate::support::{Stored, devices, flat, project};
use burn::tensor::Device;
use totune_checkpoint::{Naming, Published};
use totune_model::{
    AlbertConfig, AnyEncoder, Architecture, Bert, BertConfig, DistilBertConfig, ElectraConfig,
    Encoder, EncoderCatalogue, HiddenStates, Pass, Shape, TokenBatch,
};

/// Largest difference to transformers allowed on a CPU.
const TOLERANCE: f32 = 1e-5;

/// A stored batch, and its states from transformers.
struct Reference(Stored);

impl Reference {
    fn read(path: &str) -> Self {
        Self(Stored::read(path))
    }

    fn batch(&self, device: &Device) -> TokenBatch {
        let (ids, shape) = self.0.integers("ids");
        let (types, _) = self.0.integers("types");
        let mask: Vec<bool> = self.0.integers("mask").0.iter().map(|&m| m == 1).collect();
        TokenBatch::new(ids, types, &mask, shape, device)
    }

    #[track_caller]
    fn check(&self, states: &HiddenStates) {
        // Nothing reads the states of padding, and where no key is visible they follow from the bias of hidden keys.
        let (mask, [batch, _]) = self.0.integers("mask");
        let real: Vec<bool> = mask.iter().map(|&m| m == 1).collect();
        for (i, hidden) in states.hidden.iter().enumerate() {
            self.compare(&format!("hidden.{i}"), flat(hidden.clone()), &real);
        }
        if let Some(pooled) = &states.pooled {
            self.compare("pooled", flat(pooled.clone()), &vec![true; batch]);
        }
    }

    /// Compares the rows that are real with those stored as `name`.
    #[track_caller]
    fn compare(&self, name: &str, ours: Vec<f32>, rows: &[bool]) {
        let theirs = self.0.floats(name);
        assert_eq!(ours.len(), theirs.len(), "{name}");
        let width = ours.len() / rows.len();
        let both = ours.chunks(width).zip(theirs.chunks(width)).zip(rows);
        for ((ours, theirs), _) in both.filter(|(_, real)| **real) {
            for (a, b) in ours.iter().zip(theirs) {
                let near = (a - b).abs() <= TOLERANCE;
                assert!(near, "{name}: {a} instead of {b}");
            }
        }
    }
}

fn odd(file: &str, device: &Device) -> anyhow::Result<Bert> {
    let text = std::fs::read_to_string(project("fixtures/model/odd.json"))?;
    let config: BertConfig = serde_json::from_str(&text)?;
    let path = project(&format!("fixtures/model/{file}"));
    let mut checkpoint = Published::open(&path, Naming::Bert)?;
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

/// The tiny BERT of `fixtures/checkpoint`.
fn tiny() -> BertConfig {
    let text = std::fs::read_to_string(project("fixtures/checkpoint/safetensors/config.json"));
    serde_json::from_str(&text.expect("a committed file")).expect("a shape")
}

#[test]
fn every_format_gives_the_states_of_transformers_and_of_one_another() {
    let reference = Reference::read("fixtures/checkpoint/bert.reference.safetensors");
    for device in devices() {
        let mut first: Option<Vec<Vec<f32>>> = None;
        for name in [
            "safetensors",
            "safetensors-sharded",
            "pytorch",
            "pytorch-sharded",
            "pytorch-legacy",
            "views.bin",
            "tensorflow",
        ] {
            let path = project(&format!("fixtures/checkpoint/{name}"));
            let mut weights = Published::open(&path, Naming::Bert).expect("a checkpoint");
            let bert = tiny().load(&mut weights, &device).expect("a BERT");
            let heads = ["cls.", "classifier.", "embeddings.position_ids"];
            weights
                .finish(&heads.map(String::from))
                .expect("nothing left over");
            let states = bert.encode(&reference.batch(&device), &Pass::evaluation());
            reference.check(&states);
            let states: Vec<Vec<f32>> = states
                .hidden
                .iter()
                .map(|hidden| hidden.to_data().try_to_vec().expect("f32"))
                .collect();
            assert_eq!(first.get_or_insert(states.clone()), &states, "{name}");
        }
    }
}

#[test]
fn distilbert_matches_transformers() {
    let config = DistilBertConfig {
        vocab_size: 17,
        dim: 8,
        n_layers: 2,
        n_heads: 2,
        hidden_dim: 12,
        max_position_embeddings: 10,
        dropout: 0.1,
        attention_dropout: 0.1,
    };
    let reference = Reference::read("fixtures/checkpoint/distilbert.reference.safetensors");
    for device in devices() {
        let path = project("fixtures/checkpoint/distilbert");
        let mut weights = Published::open(&path, Naming::DistilBert).expect("a checkpoint");
        let bert = config.load(&mut weights, &device).expect("a BERT");
        let heads = ["vocab_transform.", "vocab_layer_norm.", "vocab_projector."];
        weights
            .finish(&heads.map(String::from))
            .expect("nothing left over");
        let states = bert.encode(&reference.batch(&device), &Pass::evaluation());
        assert_eq!(states.hidden.len(), 3);
        assert!(states.pooled.is_none());
        reference.check(&states);
        let head = totune_model::HeadSpec::Linear(totune_model::LinearSpec {
            pooling: totune_model::Pooling::Pooler,
            layers: totune_model::Layers::Top,
            dropout: 0.1,
        });
        let error = totune_model::Classifier::new(bert, &head, 2, 1, &device)
            .expect_err("nothing to pool with");
        assert!(error.to_string().contains("needs an encoder with a pooler"));
    }
}

/// The fixture ELECTRA.
fn electra() -> ElectraConfig {
    let text = std::fs::read_to_string(project("fixtures/encoders/electra-tiny/config.json"));
    serde_json::from_str(&text.expect("a committed file")).expect("a shape")
}

#[test]
fn a_shape_lists_the_tensors_that_are_taken() {
    /// Accepts any shape; records the tensors that are requested.
    #[derive(Default)]
    struct RequestedTensors(Vec<(String, Vec<usize>)>);

    impl totune_model::Weights for RequestedTensors {
        fn take(
            &mut self,
            name: &str,
            shape: &[usize],
        ) -> anyhow::Result<burn::tensor::TensorData> {
            self.0.push((name.to_string(), shape.to_vec()));
            let zeros = vec![0f32; shape.iter().product()];
            Ok(burn::tensor::TensorData::new(zeros, shape.to_vec()))
        }
    }

    let mut bare = tiny();
    bare.type_vocab_size = 0;
    bare.pooler = totune_model::PoolerKind::None;
    let narrow = electra();
    let wide = ElectraConfig {
        embedding_size: narrow.hidden_size,
        ..narrow.clone()
    };
    let is_projection = |(name, _): &(String, Vec<usize>)| name.starts_with("embeddings_project.");
    let text = std::fs::read_to_string(project("fixtures/encoders/albert-tiny/config.json"));
    let albert: AlbertConfig =
        serde_json::from_str(&text.expect("a committed file")).expect("a shape");
    let square = AlbertConfig {
        embedding_size: albert.hidden_size,
        ..albert.clone()
    };
    for (config, projected) in [
        (Architecture::Albert(albert), true),
        (Architecture::Albert(square), true),
        (Architecture::Bert(tiny()), false),
        (Architecture::Bert(bare), false),
        (Architecture::Electra(narrow), true),
        (Architecture::Electra(wide), false),
    ] {
        let mut asked = RequestedTensors::default();
        let bert = config.load(&mut asked, &Device::flex()).expect("a BERT");
        let mut listed = config.tensors();
        assert_eq!(listed.iter().any(is_projection), projected);
        assert_eq!(bert.hidden(), config.hidden());
        listed.sort();
        asked.0.sort();
        assert_eq!(asked.0, listed);
        let n: usize = listed
            .iter()
            .map(|(_, shape)| shape.iter().product::<usize>())
            .sum();
        assert_eq!(burn::module::Module::num_params(&bert), n);
    }
}

#[test]
fn the_fixture_encoder_matches_transformers() {
    check_card(
        "fixture-bert",
        &project("fixtures/encoders"),
        "fixture-bert.safetensors",
    );
}

#[test]
fn roberta_matches_transformers_whatever_the_segments_are() {
    let reference = check_card(
        "roberta-tiny",
        &project("fixtures/encoders"),
        "roberta-tiny.safetensors",
    );
    for device in devices() {
        let roberta = fixture("roberta-tiny", &device);
        let mut batch = reference.batch(&device);
        batch.type_ids = batch.type_ids.ones_like();
        reference.check(&roberta.encode(&batch, &Pass::evaluation()));
    }
}

#[test]
fn xlm_roberta_matches_transformers() {
    check_card(
        "xlm-roberta-tiny",
        &project("fixtures/encoders"),
        "xlm-roberta-tiny.safetensors",
    );
}

#[test]
fn electra_matches_transformers_from_its_narrower_embeddings_on() {
    check_card(
        "electra-tiny",
        &project("fixtures/encoders"),
        "electra-tiny.safetensors",
    );
}

#[test]
fn a_roberta_reads_texts_apart_as_if_each_stood_alone() {
    check_apart("roberta-tiny", [&[0, 9, 8, 2], &[0, 70, 2]]);
}

/// Checks that the states of two texts that share a row, masked from each other, are those of each alone.
#[track_caller]
fn check_apart(name: &str, texts: [&[i64]; 2]) {
    for device in devices() {
        let encoder = fixture(name, &device);
        let states = |ids: &[i64], types: Vec<i64>, lengths: &[usize]| -> Vec<f32> {
            let (shape, mask) = ([1, ids.len()], vec![true; ids.len()]);
            let mut batch = TokenBatch::new(ids.to_vec(), types, &mask, shape, &device);
            if let &[first, second] = lengths {
                batch.apart = true;
                batch.texts = vec![vec![1..first - 1, first + 1..first + second - 1]];
            }
            flat(encoder.encode(&batch, &Pass::evaluation()).top())
        };
        let lengths = texts.map(<[i64]>::len);
        let types = [vec![0; lengths[0]], vec![1; lengths[1]]].concat();
        let both = states(&texts.concat(), types, &lengths);
        let alone = texts.map(|ids| states(ids, vec![0; ids.len()], &[]));
        for (together, alone) in both.iter().zip(alone.concat()) {
            assert!(
                (together - alone).abs() <= TOLERANCE,
                "{together} instead of {alone}"
            );
        }
    }
}

/// A fixture encoder.
fn fixture(name: &str, device: &Device) -> AnyEncoder {
    let catalogue = EncoderCatalogue::read(&project("encoders")).expect("cards");
    let card = catalogue.find(name).expect("a card");
    let roots = [project("fixtures/encoders")];
    card.load(&roots, device).expect("a checkpoint").encoder
}

#[test]
fn modernbert_matches_transformers_beyond_its_window() {
    let reference = check_card(
        "modernbert-tiny",
        &project("fixtures/encoders"),
        "modernbert-tiny.safetensors",
    );
    // Longer than the 7 tokens that local attention sees.
    assert!(reference.batch(&Device::flex()).shape()[1] > 14);
}

#[test]
fn a_modernbert_reads_texts_apart_as_if_each_stood_alone() {
    let texts: [&[i64]; 2] = [
        &[323, 9, 8, 7, 6, 5, 70, 71, 324],
        &[323, 70, 9, 80, 81, 324],
    ];
    check_apart("modernbert-tiny", texts);
}

#[test]
fn deberta_matches_transformers_beyond_its_buckets() {
    let reference = check_card(
        "deberta-tiny",
        &project("fixtures/encoders"),
        "deberta-tiny.safetensors",
    );
    // Distances above 4 share buckets.
    assert!(reference.batch(&Device::flex()).shape()[1] > 30);
}

#[test]
fn albert_matches_transformers_after_each_use_of_its_layer() {
    let folder = project("fixtures/encoders");
    let reference = check_card("albert-tiny", &folder, "albert-tiny.safetensors");
    let text = std::fs::read_to_string(folder.join("albert-tiny/config.json"));
    let config: AlbertConfig =
        serde_json::from_str(&text.expect("a committed file")).expect("a shape");
    assert_eq!(config.num_hidden_layers, 4);
    for device in devices() {
        let batch = reference.batch(&device);
        let real: Vec<bool> = reference
            .0
            .integers("mask")
            .0
            .iter()
            .map(|&m| m == 1)
            .collect();
        for n in 1..4 {
            let shallow = AlbertConfig {
                num_hidden_layers: n,
                ..config.clone()
            };
            let path = folder.join("albert-tiny/model.safetensors");
            let mut weights = Published::open(&path, Naming::Albert).expect("a checkpoint");
            let encoder = shallow.load(&mut weights, &device).expect("an ALBERT");
            let states = encoder.encode(&batch, &Pass::evaluation());
            assert_eq!(states.hidden.len(), 2, "the embeddings and the layer");
            let name = format!("after.{n}");
            reference.compare(&name, flat(states.top()), &real);
        }
    }
}

#[test]
fn an_albert_reads_texts_apart_as_if_each_stood_alone() {
    check_apart("albert-tiny", [&[2, 9, 8, 7, 70, 71, 3], &[2, 70, 9, 3]]);
}

#[test]
fn a_deberta_reads_texts_apart_as_if_each_stood_alone() {
    let texts: [&[i64]; 2] = [&[1, 9, 8, 7, 6, 5, 70, 71, 2], &[1, 70, 9, 80, 81, 2]];
    check_apart("deberta-tiny", texts);
}

#[test]
#[ignore = "needs the real checkpoints under TOTUNE_ENCODERS"]
fn the_real_minilm_matches_transformers() {
    let root = std::env::var_os("TOTUNE_ENCODERS").expect("TOTUNE_ENCODERS");
    check_card(
        "all-minilm-l6-v2",
        Path::new(&root),
        "all-minilm-l6-v2.safetensors",
    );
}

#[track_caller]
fn check_card(name: &str, root: &Path, reference: &str) -> Reference {
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
    reference
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
