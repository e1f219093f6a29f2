//! Initial LSTM states of an ELMo's batches: zero, or the final state of the batch before.

use burn::tensor::Device;
use totune_adapt::{Adaptation, Frozen, Full, LstmState, Outcome, Score, Training, fit};
use totune_model::{Elmo, Encoder, Pooling};

use crate::common::{devices, eight, elmo, encoder, linear, spelled, training};

fn settings(adaptation: Adaptation, state: LstmState) -> Training {
    let mut settings = training(adaptation);
    linear(&mut settings).pooling = Pooling::Mean;
    settings.state = state;
    settings.evaluation_batch_size = 4; // two batches
    settings
}

fn run(device: &Device, training: &Training) -> Outcome<Elmo> {
    fit(elmo(device), &spelled(), training, 7, &mut ()).expect("a run")
}

/// Every score of a run.
fn scores(outcome: &Outcome<Elmo>) -> Vec<f64> {
    outcome
        .scores
        .iter()
        .map(|score: &Score| score.value)
        .collect()
}

#[test]
fn carried_states_change_the_scores_and_are_the_same_each_time() {
    for device in devices() {
        for adaptation in [
            Adaptation::Frozen(Frozen::new(1e-2)),
            Adaptation::Full(Full::new(1e-2)),
        ] {
            let label = format!("{} on {device:?}", adaptation.label());
            let of = |state| scores(&run(&device, &settings(adaptation.clone(), state)));
            let carried = of(LstmState::Carry);
            assert_eq!(carried, of(LstmState::Carry), "{label}");
            assert_ne!(carried, of(LstmState::Reset), "{label}");
            assert!(carried.iter().all(|score| score.is_finite()), "{label}");
        }
    }
}

/// Checks that a split's scores do not depend on the splits scored before it.
#[test]
fn the_scoring_of_a_part_begins_with_nothing() {
    let device = Device::flex();
    let mut settings = settings(Adaptation::Frozen(Frozen::new(1e-2)), LstmState::Carry);
    settings.epochs = 1;
    let mut task = spelled();
    task.dev = Some(task.test.clone());
    let outcome = fit(elmo(&device), &task, &settings, 7, &mut ()).expect("a run");
    let loss = |split| {
        let mut scores = outcome.scores.iter();
        let found = scores.find(|score| score.split == split && score.metric == "loss");
        found.expect("a loss").value
    };
    assert_eq!(loss("dev"), loss("test"));
}

#[test]
fn an_encoder_without_recurrent_layers_has_nothing_to_carry() {
    let device = Device::flex();
    let bert = encoder(1, &device);
    assert!(!bert.has_state() && elmo(&device).has_state());
    let settings = settings(Adaptation::Full(Full::new(1e-2)), LstmState::Carry);
    let error = fit(bert, &eight(), &settings, 7, &mut ()).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "state: found \"carry\", which needs an encoder with recurrent layers, such as ELMo; expected \"reset\" for this one"
    );
}
