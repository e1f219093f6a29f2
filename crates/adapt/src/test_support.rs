//! Helpers of the unit tests of several files.

use std::path::Path;

use totune_model::{Architecture, EncoderCatalogue};

use crate::phase::{Assignment, Plan};
use crate::strategy::Adaptation;
use crate::training::Training;

#[path = "../tests/adapt/common/settings.rs"]
mod settings;

pub(crate) use settings::{linear, training};

/// Architecture of the encoder with this card.
pub(crate) fn architecture(encoder: &str) -> Architecture {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../encoders");
    let cards = EncoderCatalogue::read(&folder).expect("cards");
    cards.find(encoder).expect("a card").architecture.clone()
}

/// The paths of an encoder of `n_layers` layers and its head, two for each part.
pub(crate) fn paths(n_layers: usize) -> Vec<String> {
    let layers = (0..n_layers).map(|i| format!("encoder.layers.{i}.attention.query"));
    let parts = [
        "encoder.embeddings.norm",
        "encoder.pooler.dense",
        "head.output",
    ];
    let parts = parts.map(String::from).into_iter().chain(layers);
    let both = parts.flat_map(|part| ["weight", "bias"].map(|name| format!("{part}.{name}")));
    both.collect()
}

/// Parameters of such a model that each phase of a plan trains.
pub(crate) fn assignments(plan: &Plan, n_layers: usize) -> Vec<Assignment> {
    let assigned = plan.assign(&paths(n_layers), n_layers);
    assigned.expect("patterns match")
}

/// Parameters of such a model that the first phase of these settings trains.
pub(crate) fn assigned(settings: &Training, n_layers: usize) -> Assignment {
    let plan = settings.plan(n_layers).expect("a valid strategy");
    assignments(&plan, n_layers).swap_remove(0)
}

/// Checks the one phase of a strategy: which patterns are trained, all at its learning rate, and what lies frozen
/// below.
#[track_caller]
pub(crate) fn check_plan(
    adaptation: Adaptation,
    n_layers: usize,
    frozen_below: usize,
    patterns: &[&str],
) {
    let settings = training(adaptation);
    let plan = settings.plan(n_layers).expect("a valid strategy");
    let [phase] = &plan.phases[..] else {
        panic!("expected one phase, found {}", plan.phases.len());
    };
    let found: Vec<&str> = phase.groups.iter().map(|g| g.pattern.as_str()).collect();
    assert_eq!(found, patterns);
    let lr = settings.adaptation.lr();
    assert!(
        phase
            .groups
            .iter()
            .all(|g| g.lr == lr && g.weight_decay == 0.01)
    );
    assert_eq!(assigned(&settings, n_layers).frozen_below, frozen_below);
    assert_eq!(phase.schedule, settings.schedule);
    assert_eq!(phase.epochs, settings.epochs);
}
