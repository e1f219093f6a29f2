//! Settings of the unit tests, which include this file, and of the numeric ones.

use totune_adapt::{
    Adaptation, Cache, ClassLoss, Clip, Dtype, LstmState, Optimizer, Schedule, Select, StopRule,
    Switch, TestScores, Training, schedule,
};
use totune_data::{Pairs, WordContext};
use totune_model::{HeadSpec, Layers, LinearSpec, Pooling};

/// The linear head of some settings.
pub fn linear(settings: &mut Training) -> &mut LinearSpec {
    match &mut settings.head {
        HeadSpec::Linear(spec) => spec,
        _ => unreachable!("these settings have a linear head"),
    }
}

/// Plain settings around one adaptation.
pub fn training(adaptation: Adaptation) -> Training {
    Training {
        head: HeadSpec::Linear(LinearSpec {
            pooling: Pooling::Pooler,
            layers: Layers::Top,
            dropout: 0.1,
        }),
        adaptation,
        optimizer: Optimizer::adamw(),
        schedule: Schedule::Constant(schedule::Constant { warmup: 0.0 }),
        batch_size: 4,
        evaluation_batch_size: 8,
        epochs: 1,
        loss: ClassLoss::default(),
        l2_sp: 0.0,
        standardise_scores: Switch::Off,
        restarts: 0,
        stop: StopRule::Epochs {},
        max_length: 16,
        dropout: 0.1,
        frozen_dropout: Switch::On,
        clip: Clip::GlobalNorm { max: 1.0 },
        bucketing: Switch::Off,
        dtype: Dtype::F32,
        cache: Cache::Off,
        pairs: Pairs::Joint,
        context: WordContext::Sentence,
        micro_batch_size: 0,
        gradient_checkpointing: Switch::Off,
        select: Select::Last,
        test_scores: TestScores::EachEpoch,
        state: LstmState::Reset,
    }
}
