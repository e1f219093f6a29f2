//! Gradient checkpointing: activations that the backward pass computes again.

use burn::tensor::Device;
use totune_adapt::{Adaptation, Adapters, Full, LastK, Lora, Outcome, Switch, Training, fit};
use totune_model::Bert;

use crate::common::{eight, elmo, encoder, run, training};

/// Settings with dropout, since a second forward pass has to drop what the first one did.
fn settings(adaptation: Adaptation, gradient_checkpointing: Switch) -> Training {
    Training {
        epochs: 3,
        dropout: 0.2,
        gradient_checkpointing,
        ..training(adaptation)
    }
}

/// Every score, to the bit.
fn numbers(outcome: &Outcome<Bert>) -> Vec<(&str, u64)> {
    let scores = outcome.scores.iter();
    let scores = scores.map(|score| (score.metric.as_str(), score.value.to_bits()));
    scores.collect()
}

#[test]
fn recomputed_activations_give_the_same_numbers() {
    for adaptation in [
        Adaptation::Full(Full::new(1e-3)),
        Adaptation::LastK(LastK::new(1, 1e-3)),
        Adaptation::Lora(Lora {
            dropout: 0.0,
            ..Lora::new(2, 1e-3)
        }),
    ] {
        let [kept, recomputed] = [Switch::Off, Switch::On]
            .map(|switch| run(&eight(), &settings(adaptation.clone(), switch), 3));
        assert!(kept.scores.len() > 6);
        assert_eq!(numbers(&kept), numbers(&recomputed));
    }
}

/// Of the two layers the upper one is trained, in two steps for each of three epochs.
#[cfg(feature = "tch")]
#[test]
#[allow(deprecated, reason = "burn 0.22 is the last release with LibTorch")]
fn only_trained_layers_are_computed_again() {
    let [kept, recomputed] = [Switch::Off, Switch::On].map(|switch| {
        let settings = settings(Adaptation::LastK(LastK::new(1, 1e-3)), switch);
        let (encoder, task) = (encoder(1, &Device::libtorch()), eight());
        let (outcome, calls) = totune_model::fused::without_cpu_kernels(|| {
            totune_model::fused::observed(|| fit(encoder, &task, &settings, 3, &mut ()))
        });
        outcome.expect("valid settings");
        let gelu = calls.iter().filter(|call| call.name == "aten::gelu");
        gelu.count()
    });
    assert_eq!(recomputed, kept + 3 * 2);
}

#[test]
fn layers_that_cannot_recompute_are_refused() {
    let mut lora = Lora::new(2, 1e-3);
    lora.dropout = 0.1;
    for adaptation in [
        Adaptation::Adapters(Adapters::new(4, 1e-3)),
        Adaptation::Lora(lora),
    ] {
        let settings = settings(adaptation, Switch::On);
        let error = fit(encoder(1, &Device::flex()), &eight(), &settings, 3, &mut ());
        let error = error.map(|_| ()).expect_err("refused").to_string();
        let expected = format!(
            "gradient-checkpointing: found \"on\" with `{}`, expected \"off\": it is not built for layers with the modules of this \
             strategy",
            settings.adaptation.label()
        );
        assert_eq!(error, expected);
    }
    let settings = settings(Adaptation::Full(Full::new(1e-3)), Switch::On);
    let error = fit(elmo(&Device::flex()), &eight(), &settings, 3, &mut ());
    assert_eq!(
        error.map(|_| ()).expect_err("refused").to_string(),
        "gradient-checkpointing: found \"on\", expected \"off\" for this encoder: it is built for BERT, DistilBERT, RoBERTa, \
         XLM-RoBERTa, ELECTRA, and ALBERT with the activation `gelu`"
    );
}
