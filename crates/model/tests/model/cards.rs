//! Every committed card, compared with arithmetic and, if they exist, with the real files.

use std::path::PathBuf;

use crate::support::project;
use totune_model::{
    Architecture, BertConfig, BertFamily, Described, EncoderCatalogue, PoolerKind, TokenizerKind,
};

/// Parameters by the formula one would use on paper: embeddings, layers, pooler.
fn by_hand(architecture: &Architecture) -> u64 {
    let count = match architecture {
        Architecture::Bert(bert) => {
            let h = bert.hidden_size;
            let pooler = match bert.pooler {
                PoolerKind::Tanh => h * h + h,
                PoolerKind::None => 0,
            };
            layers(bert) + bert.type_vocab_size * h + pooler
        }
        Architecture::Distilbert(config) => layers(&config.bert()),
        Architecture::Roberta(config) => {
            assert!(config.pooler == PoolerKind::None, "no card has one");
            layers(&config.bert()) + config.type_vocab_size * config.hidden_size
        }
        Architecture::Modernbert(config) => {
            let (h, wide) = (config.hidden_size, config.intermediate_size);
            let layer = 4 * h * h + 3 * h * wide + 2 * h;
            // Every layer has two norms but the first; one lies below the layers and one above.
            config.vocab_size * h + config.num_hidden_layers * layer + h
        }
        Architecture::XlmRoberta(config) => {
            layers(&config.bert()) + config.0.type_vocab_size * config.0.hidden_size
        }
        Architecture::Electra(config) => {
            let bert = config.bert();
            let (e, h) = (config.embedding_size, bert.hidden_size);
            let rows = bert.vocab_size + bert.max_position_embeddings + bert.type_vocab_size;
            // Its layers, and of the embeddings the tables, the norm and the layer behind them.
            let of_width_h = (bert.vocab_size + bert.max_position_embeddings) * h + 2 * h;
            let projection = if e == h { 0 } else { e * h + h };
            layers(&bert) - of_width_h + (rows + 2) * e + projection
        }
        Architecture::Albert(config) => {
            let bert = config.bert();
            let (e, h) = (config.embedding_size, bert.hidden_size);
            let rows = bert.vocab_size + bert.max_position_embeddings + bert.type_vocab_size;
            // One layer, the narrow embeddings with their norm and projection, and the pooler.
            let of_width_h = (bert.vocab_size + bert.max_position_embeddings) * h + 2 * h;
            layers(&bert) - of_width_h + (rows + 2) * e + (e * h + h) + (h * h + h)
        }
        Architecture::DebertaV2(config) => {
            let (h, wide) = (config.hidden_size, config.intermediate_size);
            let layer = 4 * (h * h + h) + 2 * h + (h * wide + wide) + (wide * h + h) + 2 * h;
            let relative = 2 * config.position_buckets * h + 2 * h;
            config.vocab_size * h + 2 * h + relative + config.num_hidden_layers * layer
        }
        Architecture::Elmo(elmo) => {
            let (cnn, lstm) = (&elmo.char_cnn, &elmo.lstm);
            let (dim, cell, proj) = (cnn.embedding.dim, lstm.dim, lstm.projection_dim);
            let wide: usize = cnn.filters.iter().map(|[_, n]| n).sum();
            let filters: usize = cnn.filters.iter().map(|[w, n]| n * (w * dim + 1)).sum();
            let highway = cnn.n_highway * 2 * (wide + 1) * wide;
            let one_lstm = (2 * proj + 1) * 4 * cell + cell * proj;
            261 * dim + filters + highway + (wide + 1) * proj + 2 * lstm.n_layers * one_lstm
        }
    };
    count as u64
}

fn layers(bert: &BertConfig) -> usize {
    let (h, wide) = (bert.hidden_size, bert.intermediate_size);
    let layer = 4 * (h * h + h) + 2 * h + (h * wide + wide) + (wide * h + h) + 2 * h;
    (bert.vocab_size + bert.max_position_embeddings) * h + 2 * h + bert.num_hidden_layers * layer
}

#[test]
fn every_card_says_how_many_parameters_its_architecture_has() {
    let catalogue = EncoderCatalogue::read(&project("encoders")).expect("cards");
    assert_eq!(Vec::from_iter(catalogue.broken()), []);
    assert!(catalogue.names().len() >= 17);
    for name in catalogue.names() {
        let card = catalogue.find(name).expect("a card");
        assert_eq!(by_hand(&card.architecture), card.parameters, "{name}");
        assert_eq!(card.architecture.parameters(), card.parameters, "{name}");
        for hash in card.sha256.values() {
            let is_hex = hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
            assert!(is_hex, "{name}: {hash}");
        }
    }
}

#[test]
fn the_published_counts_are_met() {
    let catalogue = EncoderCatalogue::read(&project("encoders")).expect("cards");
    for (name, published) in [
        ("bert-base-uncased", 109_482_240),
        ("bert-base-cased", 108_310_272),
        ("roberta-base", 124_055_040),
        // 149,655,232 with the head of masked words: a layer, its norm, and a bias for each token.
        ("modernbert-base", 149_655_232 - (768 * 768 + 768 + 50_368)),
        ("xlm-roberta-base", 277_453_056),
        ("electra-small-discriminator", 13_483_008),
        ("electra-base-discriminator", 108_891_648),
        ("deberta-v3-base", 183_831_552),
        ("albert-base-v2", 11_683_584),
        ("elmo-original", 93_600_848),
    ] {
        let card = catalogue.find(name).expect("a card");
        assert_eq!(card.parameters, published, "{name}");
    }
}

#[test]
fn a_checkpoint_that_fits_its_card_has_no_differences_and_one_that_does_not_has_each() {
    let catalogue = EncoderCatalogue::read(&project("encoders")).expect("cards");
    let card = catalogue.find("fixture-bert").expect("a card");
    let (_, _, file) = card
        .find(&[project("fixtures/encoders")])
        .expect("one file")
        .expect("a committed file");
    let check = card.check(&file).expect("a checkpoint");
    assert_eq!(check.lines(), Vec::<String>::new());

    let mut other = card.clone();
    other.parameters += 1;
    other
        .sha256
        .values_mut()
        .for_each(|hash| *hash = "0".repeat(64));
    if let Architecture::Bert(config) = &mut other.architecture {
        config.num_hidden_layers = 3;
        config.vocab_size += 1;
    }
    let lines = other.check(&file).expect("a checkpoint").lines();
    let count = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!(count("sha-256"), 1, "{lines:#?}");
    assert_eq!(count("parameters"), 1);
    assert_eq!(count("shape       embeddings.word_embeddings.weight"), 1);
    assert_eq!(count("unexpected  encoder.layer.3."), 16);
    assert_eq!(lines.len(), 19);
}

#[test]
fn an_architecture_is_recognised_by_its_config_and_held_against_its_card() {
    let catalogue = EncoderCatalogue::read(&project("encoders")).expect("cards");
    for (name, tokenizer) in [
        ("roberta-tiny", TokenizerKind::ByteLevelBpe),
        ("modernbert-tiny", TokenizerKind::ModernBertBpe),
        ("deberta-tiny", TokenizerKind::DebertaUnigram),
        ("albert-tiny", TokenizerKind::AlbertUnigram),
    ] {
        let file = project(&format!("fixtures/encoders/{name}/model.safetensors"));
        let card = catalogue.find(name).expect("a card");
        assert_eq!(
            card.check(&file).expect("a checkpoint").lines(),
            Vec::<String>::new()
        );
        let described = Described::beside(&file).expect("a description");
        assert_eq!(described.architecture, card.architecture);
        assert_eq!(described.architecture.tokenizer(), tokenizer);
        let check = described.check(&file).expect("a checkpoint");
        assert_eq!(check.lines(), Vec::<String>::new());
    }
}

/// The keys that matter of the published files; that of ModernBERT is in the form of transformers 4.
#[test]
fn published_configs_have_the_shapes_of_their_cards() {
    let catalogue = EncoderCatalogue::read(&project("encoders")).expect("cards");
    let modernbert = r#"{ "model_type": "modernbert", "attention_bias": false, "attention_dropout": 0.0,
        "embedding_dropout": 0.0, "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0,
        "hidden_activation": "gelu", "hidden_size": 768, "intermediate_size": 1152, "layer_norm_eps": 1e-05,
        "local_attention": 128, "local_rope_theta": 10000.0, "max_position_embeddings": 8192, "mlp_bias": false,
        "mlp_dropout": 0.0, "norm_bias": false, "norm_eps": 1e-05, "num_attention_heads": 12,
        "num_hidden_layers": 22, "pad_token_id": 50283, "vocab_size": 50368 }"#;
    let deberta = r#"{ "model_type": "deberta-v2", "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072,
        "max_position_embeddings": 512, "relative_attention": true, "position_buckets": 256,
        "norm_rel_ebd": "layer_norm", "share_att_key": true, "pos_att_type": "p2c|c2p", "layer_norm_eps": 1e-7,
        "max_relative_positions": -1, "position_biased_input": false, "num_attention_heads": 12,
        "num_hidden_layers": 12, "type_vocab_size": 0, "vocab_size": 128100 }"#;
    let albert = r#"{ "model_type": "albert", "attention_probs_dropout_prob": 0, "bos_token_id": 2,
        "classifier_dropout_prob": 0.1, "down_scale_factor": 1, "embedding_size": 128, "eos_token_id": 3,
        "gap_size": 0, "hidden_act": "gelu_new", "hidden_dropout_prob": 0, "hidden_size": 768,
        "initializer_range": 0.02, "inner_group_num": 1, "intermediate_size": 3072, "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512, "net_structure_type": 0, "num_attention_heads": 12,
        "num_hidden_groups": 1, "num_hidden_layers": 12, "num_memory_blocks": 0, "pad_token_id": 0,
        "type_vocab_size": 2, "vocab_size": 30000 }"#;
    for (name, config) in [
        ("modernbert-base", modernbert),
        ("deberta-v3-base", deberta),
        ("albert-base-v2", albert),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("config.json"), config).expect("a file");
        let described = Described::beside(&folder.path().join("model.safetensors"));
        let card = catalogue.find(name).expect("a card");
        assert_eq!(described.expect(name).architecture, card.architecture);
    }
}

#[test]
fn an_architecture_that_is_not_known_is_answered_with_those_that_are() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("config.json");
    std::fs::write(&path, r#"{ "model_type": "longformer" }"#).expect("a file");
    let error = Described::beside(&folder.path().join("model.safetensors")).expect_err("unknown");
    let error = format!("{error:#}");
    assert!(
        error.contains(r#"model_type: found "longformer", expected one of `bert`"#)
            && error.contains("`roberta`")
            && !error.contains("elmo"),
        "{error}"
    );
}

/// The defaults of transformers' `BertConfig`, `RobertaConfig` and so on.
#[test]
fn a_config_without_the_epsilon_of_its_normalisations_has_that_of_its_family() {
    for (name, expected) in [
        ("roberta-tiny", 1e-12),
        ("xlm-roberta-tiny", 1e-12),
        ("electra-tiny", 1e-12),
        ("albert-tiny", 1e-12),
        ("deberta-tiny", 1e-7),
    ] {
        let own = project(&format!("fixtures/encoders/{name}/config.json"));
        let own = std::fs::read_to_string(own).expect("a committed file");
        let mut config: serde_json::Value = serde_json::from_str(&own).expect("JSON");
        let keys = config.as_object_mut().expect("keys");
        assert!(keys.remove("layer_norm_eps").is_some(), "{name}");
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("config.json"), config.to_string()).expect("a file");
        let described = Described::beside(&folder.path().join("model.safetensors"));
        let architecture = described.expect(name).architecture;
        let read = serde_json::to_value(&architecture).expect("JSON");
        assert_eq!(read["layer_norm_eps"], expected, "{name}");
    }
}

#[test]
fn a_variant_of_a_network_that_is_not_known_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = std::fs::read_to_string(project("fixtures/encoders/electra-tiny/config.json"));
    let own = own.expect("a committed file");
    for (known, other, expected) in [
        (
            r#""gelu""#,
            r#""relu""#,
            r#"hidden_act: found "relu", expected "gelu""#,
        ),
        (
            r#""is_decoder": false"#,
            r#""is_decoder": true"#,
            "is_decoder: found true, expected false",
        ),
        (
            r#""model_type""#,
            r#""position_embedding_type": "relative_key", "model_type""#,
            r#"position_embedding_type: found "relative_key", expected "absolute""#,
        ),
    ] {
        let path = folder.path().join("config.json");
        std::fs::write(&path, own.replacen(known, other, 1)).expect("a file");
        let error = Described::beside(&folder.path().join("model.safetensors"));
        let error = error.expect_err("another variant").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn an_albert_has_one_of_two_activations_and_one_layer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = std::fs::read_to_string(project("fixtures/encoders/albert-tiny/config.json"));
    let own = own.expect("a committed file");
    let described = |known: &str, other: &str| {
        assert!(own.contains(known), "{known}");
        let path = folder.path().join("config.json");
        std::fs::write(&path, own.replacen(known, other, 1)).expect("a file");
        Described::beside(&folder.path().join("model.safetensors"))
    };
    described(r#""gelu_new""#, r#""gelu""#).expect("the activation of version 1");
    for (known, other, expected) in [
        (
            r#""gelu_new""#,
            r#""relu""#,
            "unknown variant `relu`, expected `gelu` or `gelu_new`",
        ),
        (
            r#""inner_group_num": 1"#,
            r#""inner_group_num": 2"#,
            "inner_group_num: found 2, expected 1: one layer that is applied `num_hidden_layers` times",
        ),
        (
            r#""num_hidden_groups": 1"#,
            r#""num_hidden_groups": 3"#,
            "num_hidden_groups: found 3, expected 1",
        ),
        (
            r#""num_hidden_layers": 4"#,
            r#""num_hidden_layers": 0"#,
            "num_hidden_layers: found 0, expected at least 1",
        ),
    ] {
        let error = described(known, other).expect_err("another variant");
        let error = format!("{error:#}");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_folder_of_ones_own_is_held_against_what_lies_in_it() {
    for (folder, weights) in [
        ("safetensors", "model.safetensors"),
        ("tensorflow", "bert_model.ckpt.index"),
        ("elmo", "tiny_weights.hdf5"),
    ] {
        let file = project(&format!("fixtures/checkpoint/{folder}/{weights}"));
        let described = Described::beside(&file).expect("a description");
        let check = described.check(&file).expect("a checkpoint");
        assert_eq!(check.lines(), Vec::<String>::new(), "{folder}");
        assert_eq!(check.parameters, described.architecture.parameters());
    }
    let bare = project("fixtures/checkpoint/pytorch/pytorch_model.bin");
    let error = Described::beside(&bare).expect_err("nothing beside it");
    assert!(
        error.to_string().contains("neither `config.json`"),
        "{error}"
    );
}

#[test]
#[ignore = "needs the real checkpoints under TOTUNE_ENCODERS"]
fn real_checkpoints_fit_what_lies_beside_them() {
    let root = PathBuf::from(std::env::var_os("TOTUNE_ENCODERS").expect("TOTUNE_ENCODERS"));
    for file in [
        "all-MiniLM-L6-v2/model.safetensors",
        "formats/camphr_ner_bert/pytorch_model.bin",
        "formats/keras_bert_test_checkpoint/bert_model.ckpt.index",
        "elmo-tiny/lm_weights.hdf5",
    ] {
        let file = root.join(file);
        let described = Described::beside(&file).expect("a description");
        let mut lines = described.check(&file).expect("a checkpoint").lines();
        if file.ends_with("camphr_ner_bert/pytorch_model.bin") {
            // It was saved without a pooler, as taggers are.
            lines.retain(|line| !line.starts_with("missing     pooler.dense."));
        }
        assert_eq!(lines, Vec::<String>::new(), "{}", file.display());
    }
}
