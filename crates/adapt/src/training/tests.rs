//! Tests of the module above.

use super::*;
use totune_data::{ClassWeights, Task};
use totune_model::{TagOutput, TaggerSpec};

use crate::optimizer::Adam;
use crate::schedule::Linear;
use crate::strategy::{Frozen, Full, LastK};
use crate::test_support::{linear, training};

const TOML: &str = r#"
    batch-size = 32
    evaluation-batch-size = 64
    epochs = 3
    max-length = 64
    dropout = 0.1
    frozen-dropout = "on"
    bucketing = "off"
    dtype = "f32"
    head = { pooling = "pooler", dropout = 0.1 }
    adaptation = { kind = "last-k", k = 2, lr = 5e-5, pooler = "trainable", embeddings = "frozen" }
    schedule = { kind = "linear", warmup = 0.1 }
    stop = { kind = "epochs" }
    clip = { kind = "global-norm", max = 1.0 }

    [optimizer]
    kind = "bert-adam"
    betas = [0.9, 0.999]
    epsilon = 1e-6
    weight-decay = 0.01
    no-decay = ['\.bias(_[ih]h)?$', 'norm\.']
"#;

#[test]
fn settings_read_as_they_are_written() {
    let read: Training = toml::from_str(TOML).expect("valid settings");
    let mut expected = training(Adaptation::LastK(LastK::new(2, 5e-5)));
    expected.optimizer = Optimizer::BertAdam(Adam {
        epsilon: 1e-6,
        ..expected.optimizer.adam().clone()
    });
    expected.schedule = Schedule::Linear(Linear { warmup: 0.1 });
    expected.batch_size = 32;
    expected.evaluation_batch_size = 64;
    expected.epochs = 3;
    expected.max_length = 64;
    assert_eq!(read, expected);
    let written = toml::to_string(&read).expect("settings are plain data");
    assert_eq!(toml::from_str::<Training>(&written).expect("same"), read);
}

#[test]
fn misspelt_and_missing_keys_are_refused() {
    for (good, bad, expected) in [
        ("epochs = 3", "epoch = 3", "unknown field `epoch`"),
        ("epochs = 3", "", "missing field `epochs`"),
        ("warmup = 0.1", "warm-up = 0.1", "unknown field `warm-up`"),
        (
            "lr = 5e-5, ",
            "lr = 5e-5, layers = 2, ",
            "unknown field `layers`",
        ),
        (
            r#""last-k""#,
            r#""last""#,
            "unknown variant `last`, expected one of `frozen`, `full`, `last-k`, `gradual-unfreezing`, `stack-and-finetune`, `bitfit`, `lora`",
        ),
        ("epsilon = 1e-6", "eps = 1e-6", "unknown field `eps`"),
        (
            r#"kind = "epochs""#,
            r#"kind = "epochs", patience = 2"#,
            "unknown field `patience`",
        ),
        ("max = 1.0", "norm = 1.0", "unknown field `norm`"),
    ] {
        assert!(TOML.contains(good), "{good}");
        let error = toml::from_str::<Training>(&TOML.replacen(good, bad, 1))
            .expect_err("refused")
            .to_string();
        assert!(error.contains(expected), "{bad}: {error}");
    }
}

#[test]
fn values_out_of_range_name_their_key() {
    let check = |change: fn(&mut Training), expected: &str| {
        let mut settings = training(Adaptation::Full(Full::new(1e-3)));
        settings.validate().expect("in range");
        change(&mut settings);
        let error = settings.validate().expect_err(expected).to_string();
        assert_eq!(error, expected);
    };
    check(
        |t| t.batch_size = 0,
        "batch-size: found 0, expected at least 1",
    );
    check(
        |t| t.evaluation_batch_size = 0,
        "evaluation-batch-size: found 0, expected at least 1",
    );
    check(|t| t.epochs = 0, "epochs: found 0, expected at least 1");
    check(
        |t| t.max_length = 2,
        "max-length: found 2, expected at least 3 (`[CLS]`, one wordpiece, `[SEP]`)",
    );
    check(
        |t| t.dropout = 1.0,
        "dropout: found 1, expected from 0 to less than 1",
    );
    check(
        |t| {
            t.state = LstmState::Carry;
            t.cache = Cache::On {
                dtype: StoredDtype::F32,
            };
        },
        "state: found \"carry\" with a cache, expected cache = { kind = \"off\" }: the states of an example then depend on \
         the batches before it, which are others in each epoch, so none can be kept",
    );
    check(
        |t| linear(t).dropout = -0.1,
        "head.dropout: found -0.1, expected from 0 to less than 1",
    );
    check(
        |t| t.clip = Clip::GlobalNorm { max: 0.0 },
        "clip.max: found 0, expected more than 0",
    );
    check(
        |t| t.adaptation = Adaptation::Frozen(Frozen::new(0.0)),
        "adaptation.lr: found 0, expected more than 0",
    );
    check(
        |t| t.adaptation = Adaptation::LastK(LastK::new(0, 1.0)),
        "adaptation.k: found 0, expected at least 1 (the strategy without trainable layers is `frozen`)",
    );
    check(
        |t| t.schedule = Schedule::Linear(Linear { warmup: -0.1 }),
        "schedule.warmup: found -0.1, expected a share of the steps, from 0 to less than 1",
    );
    check(
        |t| t.optimizer = with_adam(|adam| adam.betas = [0.9, 1.0]),
        "optimizer.betas: found 1, expected from 0 to less than 1",
    );
    check(
        |t| t.optimizer = with_adam(|adam| adam.epsilon = 0.0),
        "optimizer.epsilon: found 0, expected more than 0",
    );
    check(
        |t| t.optimizer = with_adam(|adam| adam.weight_decay = -1.0),
        "optimizer.weight-decay: found -1, expected 0 or more",
    );
    check(
        |t| t.optimizer = with_adam(|adam| adam.no_decay = vec!["(".into()]),
        "optimizer.no-decay: found `(`, expected a regular expression",
    );
}

#[test]
fn a_metric_of_which_less_is_better_decides_nothing() {
    let mut settings = training(Adaptation::Full(Full::new(1e-3)));
    settings.stop = StopRule::EarlyStopping {
        patience: 1,
        threshold: 0.0,
        metric: Some("loss".into()),
    };
    let error = settings.validate().expect_err("a loss").to_string();
    let expected = "stop.metric: found `loss`, expected a metric of which more is better";
    assert_eq!(error, expected);
}

#[test]
fn a_loss_over_words_or_weights_is_no_mean_of_examples() {
    let mut settings = training(Adaptation::Full(Full::new(1e-3)));
    settings.micro_batch_size = 2;
    settings
        .check_micro_batches(Task::Classification)
        .expect("a mean");
    let refused = |settings: &Training, task| {
        let error = settings.check_micro_batches(task).expect_err("refused");
        error.to_string()
    };
    assert_eq!(
        refused(&settings, Task::Ordinal),
        "micro-batch-size: found 2, expected 0: the loss of a batch is divided by the number of steps that its examples reach"
    );
    let tagger = |output| {
        HeadSpec::Tagger(TaggerSpec {
            output,
            ..TaggerSpec::default()
        })
    };
    settings.head = tagger(TagOutput::Crf);
    settings.check_micro_batches(Task::Tagging).expect("a mean");
    settings.head = tagger(TagOutput::Softmax);
    assert!(refused(&settings, Task::Tagging).ends_with("by the number of its words"));
    settings.loss.class_weights = ClassWeights::Balanced;
    assert!(refused(&settings, Task::Tagging).ends_with("by the weights of its examples"));
}

fn with_adam(change: fn(&mut crate::optimizer::Adam)) -> Optimizer {
    let mut adam = Optimizer::adamw().adam().clone();
    change(&mut adam);
    Optimizer::AdamW(adam)
}
