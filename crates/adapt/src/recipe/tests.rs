use std::path::Path;

use super::*;
use totune_model::EncoderCatalogue;

const DATA: DataFacts = DataFacts {
    task: Task::Classification,
    loss: totune_data::ClassLoss::PLAIN,
    n_train: 1000,
    has_dev: true,
    length: 30,
};

fn card(name: &str) -> EncoderCard {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../encoders");
    let cards = EncoderCatalogue::read(&folder).expect("cards");
    cards.find(name).expect("a card").clone()
}

fn all() -> Vec<Strategy> {
    let names = Strategy::NAMES.into_iter().chain(["last-2"]);
    names.map(|name| name.parse().expect("its name")).collect()
}

#[test]
fn names_read_back_and_unknown_ones_are_answered_with_the_list() {
    for strategy in all() {
        assert_eq!(strategy.to_string().parse(), Ok(strategy));
    }
    for (name, hint) in [
        ("last-0", ""),
        ("last-k", ""),
        ("", ""),
        ("ful", "did you mean `full`? "),
        ("lats-2", "did you mean `last-2`? "),
        ("last_12", "did you mean `last-12`? "),
        ("prefix", "did you mean `prefix-tuning`? "),
    ] {
        let error = name.parse::<Strategy>().expect_err(name).to_string();
        let list = error
            .strip_prefix(hint)
            .unwrap_or_else(|| panic!("{name}: {error}"));
        assert_eq!(
            list,
            "expected one of frozen, full, two-phase, lp-ft, lora, gradual, bitfit, adapters, prefix-tuning, auto-freeze or last-<k>, such as last-2 for the last two layers"
        );
    }
}

#[test]
fn every_strategy_is_valid_for_every_encoder_and_task() {
    for encoder in [
        "totune-bert-mini",
        "roberta-base",
        "bert-large-uncased",
        "elmo-small",
    ] {
        let is_elmo = encoder.starts_with("elmo");
        let suits = |strategy: &Strategy| {
            !(is_elmo
                && matches!(
                    strategy,
                    Strategy::Lora | Strategy::Adapters | Strategy::PrefixTuning
                ))
        };
        for strategy in all().into_iter().filter(suits) {
            for task in [Task::Classification, Task::Regression, Task::Tagging] {
                for head in [HeadChoice::Simple, HeadChoice::TaskSpecific] {
                    let is_linear = task != Task::Tagging && head == HeadChoice::Simple;
                    if strategy == Strategy::LpFt && !is_linear {
                        continue; // its head has an optimum
                    }
                    let recipe = Recipe {
                        head,
                        ..Recipe::new(strategy)
                    };
                    let data = DataFacts { task, ..DATA };
                    let training = recipe.training(&card(encoder), &data).expect("settings");
                    assert_eq!(training.head.is_tagger(), task == Task::Tagging);
                    let [usual, other] = strategy.learning_rates(&card(encoder));
                    assert_eq!(training.adaptation.lr(), usual);
                    assert!((2.0..4.0).contains(&(other / usual)), "{strategy}");
                }
            }
        }
    }
}

#[test]
fn epochs_are_those_of_all_phases() {
    let encoder = card("google-bert-l4-h256");
    let phases = |name: &str, epochs: usize| -> Vec<usize> {
        let recipe = Recipe {
            epochs: Some(epochs),
            ..Recipe::new(name.parse().expect("a name"))
        };
        let training = recipe.training(&encoder, &DATA).expect("settings");
        let plan = training.plan(4).expect("phases");
        plan.phases.iter().map(|phase| phase.epochs).collect()
    };
    assert_eq!(encoder.architecture.n_layers(), 4);
    assert_eq!(phases("full", 5), [5]);
    assert_eq!(phases("two-phase", 5), [1, 4]);
    assert_eq!(phases("gradual", 7), [1, 1, 1, 1, 3]);
    let error = |name: &str, epochs: usize| {
        let recipe = Recipe {
            epochs: Some(epochs),
            ..Recipe::new(name.parse().expect("a name"))
        };
        recipe
            .training(&encoder, &DATA)
            .expect_err(name)
            .to_string()
    };
    assert_eq!(
        error("two-phase", 1),
        "epochs: found 1, expected at least 2: 1 of the head, and one in which everything is trained"
    );
    assert!(error("gradual", 4).contains("expected at least 5"));
    assert_eq!(error("full", 0), "epochs: found 0, expected at least 1");
    assert!(error("last-5", 3).contains("adaptation.k: found 5, expected from 1 to 4"));
}

#[test]
fn inputs_are_never_longer_than_the_encoder_reads() {
    let max_length = |encoder: &str, length: usize, asked: Option<usize>| {
        let recipe = Recipe {
            max_length: asked,
            ..Recipe::new(Strategy::Full)
        };
        let data = DataFacts { length, ..DATA };
        let training = recipe.training(&card(encoder), &data).expect("settings");
        training.max_length
    };
    for (encoder, length, asked, expected) in [
        ("fixture-bert", 3, None, 16),
        ("fixture-bert", 30, None, 32),
        ("fixture-bert", 300, None, 64),
        ("fixture-bert", 30, Some(500), 64),
        ("roberta-tiny", 300, None, 65), // positions begin behind that of the padding
        ("bert-base-uncased", 300, None, 256),
        ("bert-base-uncased", 300, Some(512), 512),
        ("elmo-small", 300, Some(600), 600),
    ] {
        assert_eq!(
            max_length(encoder, length, asked),
            expected,
            "{encoder} {length}"
        );
    }
}

#[test]
fn a_modernbert_has_updates_of_its_own_layers_and_no_biases_to_train() {
    let training = |strategy| Recipe::new(strategy).training(&card("modernbert-base"), &DATA);
    let lora = training(Strategy::Lora).expect("settings").adaptation;
    assert_eq!(lora.label(), "lora-8 of attention.query_key_value");
    let error = training(Strategy::BitFit).expect_err("refused");
    assert_eq!(
        format!("{error:#}"),
        "strategy: found `bitfit`, expected another strategy: `modernbert` has no biases"
    );
}

#[test]
fn lp_ft_is_for_a_head_with_an_optimum() {
    let recipe = Recipe {
        head: HeadChoice::TaskSpecific,
        ..Recipe::new(Strategy::LpFt)
    };
    let error = recipe.training(&card("totune-bert-mini"), &DATA);
    assert_eq!(
        error.expect_err("refused").to_string(),
        "head: found `fully-connected`, expected `linear` or `siamese` on the top layer, whose optimum `lp-ft` computes"
    );
}

#[test]
fn separate_texts_of_pairs_have_a_head_that_compares_their_vectors() {
    let strategies = [
        Strategy::Frozen,
        Strategy::Full,
        Strategy::Lora,
        Strategy::LpFt,
    ];
    for strategy in strategies {
        for head in [HeadChoice::Simple, HeadChoice::TaskSpecific] {
            let recipe = Recipe {
                head,
                pairs: Pairs::Separate,
                ..Recipe::new(strategy)
            };
            let training = recipe.training(&card("totune-bert-mini"), &DATA);
            let training = training.expect("settings");
            assert_eq!(training.head.label(), "siamese");
            assert_eq!(training.pairs, Pairs::Separate);
        }
    }
}

#[test]
fn an_elmo_has_no_place_for_updates_adapters_and_prefixes() {
    for (strategy, label) in [
        (
            Strategy::Lora,
            "lora-8 of attention.query and attention.value",
        ),
        (
            Strategy::Adapters,
            "adapters-64 after attention and feed-forward",
        ),
        (Strategy::PrefixTuning, "prefix-20"),
    ] {
        let training = Recipe::new(strategy).training(&card("elmo-small"), &DATA);
        let error = training.expect_err("refused");
        assert_eq!(
            format!("{error:#}"),
            format!(
                "strategy: found `{label}`, expected another strategy: `elmo` has no layers of a transformer"
            )
        );
    }
}

#[test]
fn an_elmo_has_no_gradient_checkpointing() {
    let recipe = Recipe {
        gradient_checkpointing: Switch::On,
        ..Recipe::new(Strategy::Full)
    };
    let error = recipe.training(&card("elmo-small"), &DATA);
    assert_eq!(
        error.expect_err("refused").to_string(),
        "gradient-checkpointing: found \"on\", expected \"off\" for this encoder: it is built for BERT, DistilBERT, RoBERTa, \
         XLM-RoBERTa, ELECTRA, and ALBERT with the activation `gelu`"
    );
    let training = recipe.training(&card("roberta-base"), &DATA);
    let training = training.expect("valid settings");
    assert_eq!(training.gradient_checkpointing, Switch::On);
}

#[test]
fn a_deberta_whose_scores_depend_on_distances_takes_no_prefix() {
    let training = Recipe::new(Strategy::PrefixTuning).training(&card("deberta-v3-small"), &DATA);
    assert_eq!(
        format!("{:#}", training.expect_err("refused")),
        "strategy: found `prefix-20`, expected another strategy: `deberta-v2` has no attention without relative positions"
    );
}

#[test]
fn an_albert_has_no_layers_to_choose_among() {
    let of = |name: &str| {
        let strategy = name.parse().expect("a name");
        Recipe::new(strategy).training(&card("albert-base-v2"), &DATA)
    };
    for (name, label) in [
        ("last-1", "last-1"),
        ("gradual", "gradual-unfreezing, rates x0.9"),
        ("prefix-tuning", "prefix-20"),
        ("auto-freeze", "auto-freeze 0.5"),
    ] {
        assert_eq!(
            format!("{:#}", of(name).expect_err("refused")),
            format!(
                "strategy: found `{label}`, expected another strategy: `albert` has no layers with parameters of their own"
            )
        );
    }
    for name in [
        "frozen",
        "full",
        "two-phase",
        "lp-ft",
        "lora",
        "bitfit",
        "adapters",
    ] {
        of(name).expect(name);
    }
}

#[test]
fn a_head_reads_what_the_classes_of_transformers_read_unless_the_first_token_is_the_sentence() {
    for (name, expected) in [
        ("bert-base-uncased", Pooling::Pooler),
        ("distilbert-base-uncased", Pooling::First),
        ("bge-small-en-v1.5", Pooling::First),
        ("e5-small-v2", Pooling::Pooler),
        ("elmo-small", Pooling::Mean),
    ] {
        let training = Recipe::new(Strategy::Frozen).training(&card(name), &DATA);
        let head = training.expect("settings").head;
        let HeadSpec::Linear(spec) = head else {
            panic!("{name}: found {head:?}");
        };
        assert_eq!(spec.pooling, expected, "{name}");
    }
}
