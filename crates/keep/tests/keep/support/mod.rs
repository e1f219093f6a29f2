//! Models of tiny encoders with heads of random weights, and folders to save them in.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Tensor, TensorData};
use totune_adapt::{
    Adaptation, DataFacts, Examples, Outcome, Reader, Recipe, Strategy, Switch, Training,
};
use totune_data::{Example, Input, Joined, Target, Task};
use totune_keep::{DatasetFacts, InputFacts, LayoutFacts, Saved, TaskFacts, TrainedModel, save};
use totune_model::{
    AnyEncoder, Architecture, Classifier, DistilBertConfig, Encoder, EncoderCard, EncoderCatalogue,
    HeadSpec, PathMapper, RandomWeights,
};

/// A file or folder of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// A tiny encoder: a card of the repository, or `distilbert`, which has random weights and the words of `fixture-bert`.
pub struct Tiny {
    pub card: EncoderCard,
    pub encoder: AnyEncoder,
    pub dir: PathBuf,
}

impl Tiny {
    pub fn load(name: &str, device: &Device) -> Self {
        let cards = EncoderCatalogue::read(&repository("encoders")).expect("cards");
        let of = if name == "distilbert" {
            "fixture-bert"
        } else {
            name
        };
        let mut card = cards.find(of).expect("a card").clone();
        let loaded = card
            .load(&[repository("fixtures/encoders")], device)
            .expect("an encoder");
        let mut encoder = loaded.encoder;
        if name == "distilbert" {
            card.architecture = Architecture::Distilbert(DistilBertConfig {
                vocab_size: 289,
                dim: 24,
                n_layers: 2,
                n_heads: 2,
                hidden_dim: 40,
                max_position_embeddings: 64,
                dropout: 0.1,
                attention_dropout: 0.1,
            });
            let mut weights = RandomWeights::new(3, 0.3);
            encoder = card
                .architecture
                .load(&mut weights, device)
                .expect("weights of every shape");
        }
        Self {
            card,
            encoder,
            dir: loaded.dir,
        }
    }
}

/// A model without training.
pub struct Untrained {
    pub tiny: Tiny,
    pub model: Classifier<AnyEncoder>,
    pub training: Training,
    pub task: TaskFacts,
    pub sample: Examples,
    is_pair: bool,
}

/// Scales the weights of a new head by twenty, so that outputs are about 1.
struct Grow;

impl ModuleMapper for Grow {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|value| value * 20.0)
    }
}

/// Replaces the zeros of initial low-rank updates.
pub struct Fill;

impl PathMapper for Fill {
    fn map<const D: usize>(&mut self, path: &str, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if !path.ends_with(".lora.b") {
            return param;
        }
        param.map(|zeros| {
            let (shape, device) = (zeros.dims(), zeros.device());
            let n = shape.iter().product::<usize>();
            // The same bits on every device.
            let value = |i: usize| (i * 7919 % 101) as f32 / 64.0 - 0.75;
            let values: Vec<f32> = (0..n).map(value).collect();
            Tensor::from_data(TensorData::new(values, shape), &device)
        })
    }
}

/// Task facts for tests.
pub fn task(kind: Task) -> TaskFacts {
    let labels = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    match kind {
        Task::Classification => TaskFacts::Classification {
            labels: labels(&["not relevant, or spam", "01", "Zoë"]),
            positive: None,
            values: labels(&["0", "1", "2"]),
        },
        Task::MultiLabel => TaskFacts::MultiLabel {
            labels: labels(&["late, or lost", "01", "Zoë"]),
            values: labels(&["0", "1", "2"]),
        },
        Task::Ordinal => TaskFacts::Ordinal {
            labels: labels(&["low", "middle", "high"]),
            values: Vec::new(),
        },
        Task::Regression => TaskFacts::Regression {},
        Task::Tagging => TaskFacts::Tagging {
            labels: labels(&["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]),
            values: Vec::new(),
        },
    }
}

impl Untrained {
    /// A model for `kind` with the default head, or with `head`; it is compared on `inputs`.
    pub fn new(
        (name, kind): (&str, Task),
        head: Option<HeadSpec>,
        inputs: &[Input],
        device: &Device,
    ) -> Self {
        let tiny = Tiny::load(name, device);
        let data = DataFacts {
            task: kind,
            loss: totune_data::ClassLoss::PLAIN,
            n_train: 100,
            has_dev: false,
            length: 64,
        };
        let recipe = Recipe::new(Strategy::Full);
        let mut training = recipe.training(&tiny.card, &data).expect("settings");
        training.head = head.unwrap_or(training.head);
        training.max_length = 64;
        let task = task(kind);
        let n_outputs = match kind {
            Task::Ordinal => task.labels().len() - 1,
            _ => task.labels().len().max(1),
        };
        let is_pair = inputs.iter().any(|input| input.second().is_some());
        let mut model = Classifier::new(tiny.encoder.clone(), &training.head, n_outputs, 7, device)
            .expect("a head");
        model.head = model.head.map(&mut Grow);
        let input = InputFacts {
            max_length: training.max_length,
            is_pair,
            pairs: training.pairs,
            context: training.context,
        };
        let (lowercase, pad_id) = (tiny.card.vocabulary.lowercase, tiny.encoder.pad_id());
        let reader = Reader::open(&tiny.dir, &tiny.card.architecture, lowercase, pad_id);
        let examples: Vec<Example> = inputs.iter().enumerate().map(example).collect();
        let encoding = input.encoding(&examples, kind == Task::Tagging);
        let rows = reader.expect("a reader").rows(&examples, &encoding, 1);
        let rows = rows.expect("rows").all(&examples);
        Self {
            tiny,
            model,
            training,
            task,
            sample: Examples {
                rows,
                cached: Vec::new(),
            },
            is_pair,
        }
    }

    /// Saves it as `to`.
    pub fn save(&self, to: &Path, device: &Device) -> anyhow::Result<Saved> {
        let outcome = Outcome::untrained(self.model.clone());
        let second = if self.is_pair {
            vec!["second".to_string()]
        } else {
            Vec::new()
        };
        let trained = TrainedModel {
            outcome: &outcome,
            encoder: &self.tiny.card,
            dir: &self.tiny.dir,
            checkpoint: "none",
            training: &self.training,
            seed: 7,
            spec: None,
            task: self.task.clone(),
            metrics: vec!["accuracy".into()],
            layout: LayoutFacts {
                text: vec!["text".into()],
                second,
                label: Joined::One("label".into()),
                label_separator: (self.task.task() == Task::MultiLabel).then(|| ";".to_string()),
                unlabelled: None,
                join: " ".into(),
                format: None,
                trim_end: false,
            },
            dataset: DatasetFacts::default(),
            adapter: match self.training.adaptation {
                Adaptation::Lora(_) => Switch::On,
                _ => Switch::Off,
            },
            sample: &self.sample,
        };
        save(&trained, to, device)
    }
}

fn example((number, input): (usize, &Input)) -> Example {
    Example {
        id: number.to_string(),
        input: input.clone(),
        target: match input.words() {
            Some(words) => Target::Tags(vec![0; words.len()]),
            None => Target::Unknown,
        },
        group: None,
    }
}

/// The devices to test on: flex, and LibTorch where it is built in, since it has fused operations of its own, on each
/// GPU as well.
pub fn devices() -> Vec<Device> {
    let mut devices = vec![Device::flex()];
    #[cfg(feature = "tch")]
    #[allow(deprecated, reason = "burn 0.22 is the last release with LibTorch")]
    devices.push(Device::libtorch());
    devices.extend(totune_model::fused::cuda_devices());
    devices
}

/// Texts of different lengths.
pub fn texts() -> Vec<Input> {
    let texts = [
        "The twins hid two lanterns near the mill.",
        "A red kite",
        "Zoë borrowed naïve verses for 3 crowns!",
    ];
    texts.map(|text| Input::Text(text.into())).to_vec()
}

/// Pairs of texts.
pub fn pairs() -> Vec<Input> {
    let pairs = [
        (
            "The twins hid two lanterns.",
            "Two lanterns were hidden near the mill by the twins.",
        ),
        ("A red kite", "My neighbour"),
    ];
    pairs.map(|(a, b)| Input::Pair(a.into(), b.into())).to_vec()
}

/// Sentences of words.
pub fn sentences() -> Vec<Input> {
    let sentences: [&[&str]; 2] = [
        &["Zoë", "painted", "neighbours", "near", "the", "mill", "."],
        &["My", "lanterns"],
    ];
    let words = |words: &[&str]| Input::Words(words.iter().map(|word| word.to_string()).collect());
    sentences.map(words).to_vec()
}
